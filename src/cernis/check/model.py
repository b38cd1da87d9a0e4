"""What a program says, once its clauses have been understood: relations, literals and rules.

The model is closer to the meaning than the syntax tree (the older forms of rules, `iff` and the
four-argument `initiatedAt` are gone) and keeps the span of every part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from cernis.source import NOWHERE, Span
from cernis.syntax.printer import show
from cernis.syntax.time_scale import TimeScale
from cernis.syntax.tree import Atom, Compound, PatternRule, Term, Text, Variable

DIALECTS = ("cernis", "rtec")
"""How a program may be read."""

ANY_VALUE = "*"
"""The value of a vertex that stands for whatever value a variable takes."""

EDGES = {
    ("start", 1): "start", ("end", 1): "end", ("startI", 1): "startI", ("endI", 1): "end",
}  # fmt: skip
"""Events that an interval of a fluent has, as they are written, and which edge each is."""

OPERATORS = frozenset({"+", "-", "*", "/", "//", "mod", "**", "^", ",", "=", ":"})
"""Functors of terms that are arguments as they are: they are no part of a relation's name."""


@dataclass(frozen=True, slots=True, order=True)
class Relation:
    """An event, fluent or predicate: its name and number of arguments.

    A compound argument is part of the name: `obl(pay(C, M))` belongs to `obl(pay(_,_))/2`.
    """

    name: str
    arity: int

    def __str__(self) -> str:
        return f"{self.name}/{self.arity}"


def flatten(
    term: Term, computing: Collection[tuple[str, int]] = ()
) -> tuple[Relation, tuple[Term, ...]]:
    """The relation of a term and its arguments, those of nested terms in place.

    A nested term is an argument as it is if it is written with an operator, or if its functor is
    among those that are `computing`.

    >>> from cernis.syntax import parse_term
    >>> relation, args = flatten(parse_term("obl(pay(C, iServer), 3)"))
    >>> str(relation), [show(arg) for arg in args]
    ('obl(pay(_,_),_)/3', ['C', 'iServer', '3'])
    """
    if not isinstance(term, Compound):
        return Relation(show(term), 0), ()
    args: list[Term] = []
    shapes = [_shape(arg, args, computing) for arg in term.args]
    nested = any(shape != "_" for shape in shapes)
    name = f"{term.functor}({','.join(shapes)})" if nested else term.functor
    return Relation(name, len(args)), tuple(args)


def _shape(term: Term, args: list[Term], computing: Collection[tuple[str, int]]) -> str:
    if (
        not isinstance(term, Compound)
        or term.functor in OPERATORS
        or (term.functor, len(term.args)) in computing
    ):
        args.append(term)
        return "_"
    return f"{term.functor}({','.join(_shape(arg, args, computing) for arg in term.args)})"


@dataclass(frozen=True, slots=True)
class Event:
    """An event with its arguments."""

    relation: Relation
    args: tuple[Term, ...]
    span: Span = field(default=NOWHERE, compare=False)
    term: Term = field(default=Variable("_"), compare=False, repr=False)

    def __str__(self) -> str:
        return show(self.term)


@dataclass(frozen=True, slots=True)
class Pair:
    """A fluent with its arguments and value: `location(X)=pub`."""

    relation: Relation
    args: tuple[Term, ...]
    value: Term
    span: Span = field(default=NOWHERE, compare=False)
    term: Term = field(default=Variable("_"), compare=False, repr=False)

    def __str__(self) -> str:
        return show(self.term)

    @property
    def value_name(self) -> str:
        """The value as text, or `*` if it is a variable. A string is the atom of its text."""
        if isinstance(self.value, Text):
            return show(Atom(self.value.value))
        return ANY_VALUE if isinstance(self.value, Variable) else show(self.value)


# -- literals of rules over time-points ------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Happens:
    """`[not] happensAt(event, T)`."""

    event: Event
    negated: bool
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Boundary:
    """`[not] happensAt(start(F=V), T)` or `end`: the fluent begins or ceases to hold after T.

    The edge `startI` is the first time-point at which it holds.
    """

    edge: str
    pair: Pair
    negated: bool
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Holds:
    """`[not] holdsAt(F=V, T)`."""

    pair: Pair
    negated: bool
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Changes:
    """`[not] initiatedAt(F=V, T)` or `terminatedAt` in a body: at the very same point."""

    initiates: bool
    pair: Pair
    negated: bool
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Condition:
    """A goal that no time enters: background predicate, comparison, arithmetic."""

    goal: Term
    negated: bool
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Either:
    """A disjunction with literals over time in it."""

    branches: tuple[tuple[Literal, ...], ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Unless:
    """The negation of a conjunction with literals over time in it."""

    body: tuple[Literal, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Collect:
    """`findall(template, body, result)` over literals of time, or an aggregate of them.

    `kind` is `findall`, `bagof`, `setof`, `count`, `sum`, `min`, `max`, `avg`, `set`, or, with a
    template of two, `min_with` or `max_with`. `by` are the variables for each value of which there
    is an answer of its own (`bagof` and `setof`).
    """

    kind: str
    template: Term
    body: tuple[Literal, ...]
    result: Term
    span: Span = field(default=NOWHERE, compare=False)
    by: tuple[str, ...] = ()


Literal: TypeAlias = Happens | Boundary | Holds | Changes | Condition | Either | Unless | Collect
Temporal: TypeAlias = Happens | Boundary | Holds | Changes


def temporal(body: tuple[Literal, ...]) -> Iterator[Temporal]:
    """The literals over time of a body, at any depth, in order."""
    for literal in body:
        if isinstance(literal, (Happens, Boundary, Holds, Changes)):
            yield literal
        elif isinstance(literal, Either):
            for branch in literal.branches:
                yield from temporal(branch)
        elif isinstance(literal, (Unless, Collect)):
            yield from temporal(literal.body)


# -- literals of rules over intervals --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HoldsFor:
    """`holdsFor(F=V, I)`: the maximal intervals of the pair."""

    pair: Pair
    intervals: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class IntervalFilter:
    """Conditions on the intervals of a list, over names for the start and the end of each."""

    start: str
    end: str
    conditions: tuple[Condition, ...]

    @property
    def bounds(self) -> frozenset[str]:
        """The two names."""
        return frozenset((self.start, self.end))

    @property
    def goals(self) -> tuple[Term, ...]:
        """The goals of the conditions."""
        return tuple(condition.goal for condition in self.conditions)


@dataclass(frozen=True, slots=True)
class IntervalOperation:
    """An operation from lists of intervals to one: union, complement, duration filter, Allen.

    `findall((S, E), (member((S, E), I0), Conditions), I)` is one, too, with a filter.
    """

    operator: str
    inputs: tuple[str, ...]
    output: str
    parameters: tuple[Term, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)
    filter: IntervalFilter | None = None


@dataclass(frozen=True, slots=True)
class NotEmpty:
    r"""`I \= []`: without intervals in I the rule gives none. Negated: with any, it gives none."""

    intervals: str
    span: Span = field(default=NOWHERE, compare=False)
    negated: bool = False


StaticLiteral: TypeAlias = HoldsFor | IntervalOperation | NotEmpty | Condition


def goals_of(literal: StaticLiteral) -> tuple[Term, ...]:
    """The goals that no time enters in a literal over intervals."""
    if isinstance(literal, Condition):
        return (literal.goal,)
    is_filter = isinstance(literal, IntervalOperation) and literal.filter is not None
    return literal.filter.goals if is_filter else ()  # type: ignore[union-attr]


# -- rules -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChangeRule:
    """`initiatedAt(F=V, T) :- body` or `terminatedAt`."""

    initiates: bool
    pair: Pair
    time: str
    body: tuple[Literal, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class EventRule:
    """`happensAt(event, T) :- body`."""

    event: Event
    time: str
    body: tuple[Literal, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class StaticRule:
    """`holdsFor(F=V, I) :- body`; `output` names the list of intervals that I is."""

    pair: Pair
    body: tuple[StaticLiteral, ...]
    output: str
    span: Span = field(default=NOWHERE, compare=False)
    cut: int | None = None
    """How many literals stand before the `!`, if there is one."""


@dataclass(frozen=True, slots=True)
class InitialRule:
    """`initially(F=V) :- goals`."""

    pair: Pair
    goals: tuple[Term, ...]
    probability: float | None = None
    span: Span = field(default=NOWHERE, compare=False)
    starts_effects: bool = True
    """Do delayed effects follow, as after an initiation at the start of the run?"""


@dataclass(frozen=True, slots=True)
class DelayedEffect:
    """`fi(F=V, F=V', R) :- goals`, or `ft(F=V, R)` when there is no target."""

    source: Pair
    target: Pair | None
    delay: Term
    goals: tuple[Term, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Postponable:
    """`p(F=V) :- goals`: a re-initiation of F=V moves its delayed effect."""

    pair: Pair
    goals: tuple[Term, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)
    until_due: bool = False
    """Does one at the very point at which the effect is due move it, too?"""

    @property
    def is_of_all(self) -> bool:
        """Is it about all instances?"""
        return not self.goals and has_open_arguments(self.pair)


def has_open_arguments(pair: Pair) -> bool:
    """Are the arguments of a pair variables, each another one?"""
    names = [arg.name for arg in pair.args if isinstance(arg, Variable)]
    named = [name for name in names if name != "_"]
    return len(names) == len(pair.args) and len(named) == len(set(named))


@dataclass(frozen=True, slots=True)
class Grounding:
    """`grounding(F=V) :- goals`, or of an event."""

    entity: Pair | Event
    goals: tuple[Term, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


Rule: TypeAlias = ChangeRule | EventRule | StaticRule


class FluentKind(StrEnum):
    """Where a fluent's intervals come from."""

    SIMPLE = "simple"
    STATIC = "statically determined"
    INPUT = "input"


class InputShape(StrEnum):
    """How the records of an input fluent come."""

    POINTS = "points"
    INTERVALS = "intervals"
    UNSAID = "points or intervals"


@dataclass(frozen=True, slots=True)
class Preference:
    """Which of the matches that a policy takes for equal is chosen.

    `longer` and `shorter` go by their length, `greatest` and `least` by the value of a variable.
    """

    kind: str
    variable: str = ""
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.kind}({self.variable})" if self.variable else self.kind


@dataclass(frozen=True, slots=True)
class Consumption:
    """Which matches are combined."""

    policy: str = "unrestricted"
    preference: Preference | None = None

    def __str__(self) -> str:
        return self.policy if self.preference is None else f"{self.policy}({self.preference})"


@dataclass(frozen=True, slots=True)
class ProgramSettings:
    """What directives set for the whole program."""

    tick: int = 1
    ties: str = "break"
    memory: int | None = 0
    """How far back from a window's edge relations between intervals see; None for all the way."""
    ties_said: bool = False
    """Did a directive say so?"""
    consumption: Consumption = field(default_factory=Consumption)
    consumption_of: tuple[tuple[str, Consumption], ...] = ()
    dialect: str | None = None
    """What a directive says, then what holds."""
    exact: int | None = None
    """Over how many points, at least, probabilities are exact; 0 for the whole window, None for as
    long as it takes no more than one point."""
    time: TimeScale = field(default_factory=TimeScale)
    """The unit of time-points, and the zone of times without one."""


@dataclass(frozen=True, slots=True)
class Validity:
    """Facts that are valid for a time: which arguments are left when the times are taken away.

    Without `until`, a fact is valid until the next with the same values at the places `by`; without
    these, for good.
    """

    facts: Relation
    arguments: tuple[int, ...]
    since: int
    until: int | None
    by: tuple[int, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    names: tuple[str, ...] = ()
    """What the directive calls the arguments of the facts."""

    @property
    def looked_up(self) -> Relation:
        """The predicate that rules ask for."""
        return Relation(self.facts.name, len(self.arguments))

    @property
    def table(self) -> Relation:
        """The facts with both times after the other arguments."""
        return Relation(f"{self.facts.name} valid", len(self.arguments) + 2)


@dataclass(slots=True)
class Definitions:
    """Everything the clauses of a program define, sorted by what they are."""

    changes: list[ChangeRule] = field(default_factory=list)
    events: list[EventRule] = field(default_factory=list)
    statics: list[StaticRule] = field(default_factory=list)
    initials: list[InitialRule] = field(default_factory=list)
    effects: list[DelayedEffect] = field(default_factory=list)
    postponables: list[Postponable] = field(default_factory=list)
    groundings: list[Grounding] = field(default_factory=list)
    domains: list[tuple[Relation, Span]] = field(default_factory=list)
    patterns: list[PatternRule] = field(default_factory=list)
    shapes: dict[Relation, InputShape] = field(default_factory=dict)
    declared_events: dict[Relation, Event] = field(default_factory=dict)
    declared_fluents: dict[Relation, Pair] = field(default_factory=dict)
    outputs: set[Relation] = field(default_factory=set)
    auxiliary: set[Relation] = field(default_factory=set)
    """Fluents and events that phrases are made of; they are no part of a program's results."""
    declared_values: list[Pair] = field(default_factory=list)
    """Pairs that `simpleFluent` declares: RTEC takes their values for those that end others."""
    ending_values: dict[Relation, tuple[Term, ...]] = field(default_factory=dict)
    """Of simple fluents some values of which end no other: the values that do."""
    declared_strictly: set[str] = field(default_factory=set)
    dynamic: set[Relation] = field(default_factory=set)
    tables: list[tuple[Relation, str, Span]] = field(default_factory=list)
    ontologies: list[tuple[str, Span]] = field(default_factory=list)
    validities: list[Validity] = field(default_factory=list)
    settings: ProgramSettings = field(default_factory=ProgramSettings)

    def keep_ending_values(self, relation: Relation, part: Relation) -> None:
        """Let a part of a fluent have the same values that end others."""
        if relation in self.ending_values:
            self.ending_values[part] = self.ending_values[relation]
