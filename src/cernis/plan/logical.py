"""Logical operators: what is done to answer a rule, without saying how.

A rule over time-points is a pipeline: a scan makes rows, each further operator filters or widens
them, and the rows that come out are the points of the head. A rule over intervals is a sequence
of named lists of intervals. Operators keep the span of the literal they come from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from cernis.check.model import (
    Boundary,
    Changes,
    DelayedEffect,
    Event,
    Grounding,
    Pair,
    Postponable,
    Relation,
)
from cernis.source import NOWHERE, Span
from cernis.syntax.tree import Term, Variable

if TYPE_CHECKING:
    from cernis.plan.pattern_steps import StepUse
    from cernis.plan.properties.cycle_causes import Cause
    from cernis.plan.properties.interval_needs import IntervalNeeds
    from cernis.plan.properties.recursion_plans import RecursionPlan

Occurrence: TypeAlias = Event | Boundary | Changes
"""What can happen at a point: an event, a fluent's start or end, an initiation or termination."""


# -- over time-points ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scan:
    """One row for each happening, with its arguments and its time, which a variable may name."""

    occurrence: Occurrence
    time: str = ""
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class EventJoin:
    """The rows at whose time something else happens too, joined on the shared variables."""

    occurrence: Occurrence
    on: tuple[str, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    once: bool = False
    """Are equal happenings joined once, though several rules derive them? It is so for counts."""


@dataclass(frozen=True, slots=True)
class EventAntiJoin:
    """The rows at whose time something does not happen."""

    occurrence: Occurrence
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Stab:
    """The rows at whose time the pair holds; `binds` are variables that get their value so."""

    pair: Pair
    binds: tuple[str, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AntiStab:
    """The rows at whose time the pair does not hold."""

    pair: Pair
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which a comparison is true."""

    condition: Term
    negated: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Compute:
    """The rows with a further column: the value of an expression."""

    variable: str
    expression: Term
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    is_number: bool = True


@dataclass(frozen=True, slots=True)
class Lookup:
    """The rows joined with a table of background knowledge; `rank` names the table's row."""

    goal: Term
    on: tuple[str, ...]
    binds: tuple[str, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    rank: str = ""


@dataclass(frozen=True, slots=True)
class Exclude:
    """The rows for which a table of background knowledge has no match."""

    goal: Term
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Resolve:
    """The rows joined with the answers to a goal, asked once for each distinct question.

    `rank` names the number of the answer.
    """

    goal: Term
    negated: bool
    binds: tuple[str, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    rank: str = ""


@dataclass(frozen=True, slots=True)
class Branches:
    """The rows that come out of any of several pipelines.

    `rank` names the place of a row among all of them, where those of each branch come in the order
    of the columns that `orders` has for it.
    """

    branches: tuple[tuple[PointOperator, ...], ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    rank: str = ""
    orders: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Except:
    """The rows that come out of no row of a pipeline."""

    body: tuple[PointOperator, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The rows with the aggregate of what a pipeline makes of each.

    A list is in the order of some columns, `order`; there is one for each value of the columns
    `by`.
    """

    kind: str
    template: Term
    result: Term
    body: tuple[PointOperator, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    order: tuple[str, ...] = ()
    by: tuple[str, ...] = ()


PointOperator: TypeAlias = (
    Scan | EventJoin | EventAntiJoin | Stab | AntiStab | Filter | Compute | Lookup | Exclude
    | Resolve | Branches | Except | Aggregate
)  # fmt: skip


# -- over intervals --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fetch:
    """The maximal intervals of a pair."""

    pair: Pair
    output: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Combine:
    """An operation on lists of intervals: union, intersection, complement, duration, Allen.

    `findall` keeps the intervals for which the steps have an answer, `bounds` being names for their
    starts and ends.
    """

    operator: str
    inputs: tuple[str, ...]
    parameters: tuple[Term, ...]
    output: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    bounds: tuple[str, ...] = ()
    steps: tuple[PointOperator, ...] = ()


@dataclass(frozen=True, slots=True)
class Require:
    """Nothing comes out for arguments whose list of intervals is empty; or, negated, is not."""

    intervals: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    negated: bool = False


IntervalOperator: TypeAlias = (
    Fetch | Combine | Require | Filter | Compute | Lookup | Exclude | Resolve | Branches
)


# -- rules, strata, stages -------------------------------------------------------------------


@dataclass(frozen=True)
class PointRule:
    """Points of an initiation, a termination or a derived event."""

    kind: str
    head: Pair | Event
    steps: tuple[PointOperator, ...]
    open_variables: tuple[str, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @cached_property
    def names_from(self) -> tuple[frozenset[str], ...]:
        """For each step: the variables that it, the steps after it and the head name.

        There is one entry more, of the head alone.
        """
        names = frozenset(names_in(self.head))
        later = [names]
        for step in reversed(self.steps):
            later.append(later[-1].union(names_in(step)))
        return tuple(reversed(later))

    @cached_property
    def leaves_arguments_open(self) -> bool:
        """Does the head, a pair, leave an argument open, and not only its value?"""
        names = {arg.name for arg in self.head.args if isinstance(arg, Variable)}
        return bool(names & set(self.open_variables)) or "_" in names


@dataclass(frozen=True)
class IntervalRule:
    """Intervals of a statically determined pair."""

    head: Pair
    steps: tuple[IntervalOperator, ...]
    output: str
    open_variables: tuple[str, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @cached_property
    def needs(self) -> IntervalNeeds:
        """What the rule needs to give a result."""
        from cernis.plan.properties.interval_needs import interval_needs

        return interval_needs(self)


@dataclass(frozen=True, slots=True)
class InitialPoints:
    """A pair that holds from the start of the run."""

    head: Pair
    steps: tuple[PointOperator, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Delay:
    """A delayed effect of the initiations of a pair."""

    effect: DelayedEffect
    moved_by: tuple[Postponable, ...]
    """A further initiation postpones the effect for the instances that any of these is about."""
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    follows_initial: bool = True
    """Does it follow what holds initially, as an initiation at the start of the run?"""


@dataclass(frozen=True, slots=True)
class Match:
    """Occurrences of an event pattern."""

    head: Event
    part: StepUse
    consumption: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


RulePlan: TypeAlias = PointRule | IntervalRule | InitialPoints | Delay | Match


@dataclass(frozen=True)
class Definition:
    """All that defines one fluent or event: its rules, and the groundings that restrict it."""

    relation: Relation
    kind: str
    values: tuple[str, ...]
    rules: tuple[RulePlan, ...]
    groundings: tuple[Grounding, ...] = ()
    ending_values: tuple[Term, ...] | None = None
    """The values whose initiation ends others; None if each one does."""

    @cached_property
    def point_rules(self) -> tuple[PointRule, ...]:
        """The rules that give points."""
        return tuple(rule for rule in self.rules if isinstance(rule, PointRule))

    @cached_property
    def open_rules(self) -> tuple[PointRule, ...]:
        """The rules of a simple fluent whose heads leave arguments open."""
        return tuple(rule for rule in self.point_rules if rule.leaves_arguments_open)

    @cached_property
    def closed_rules(self) -> tuple[PointRule, ...]:
        """The rules of a simple fluent whose heads leave no argument open."""
        return tuple(rule for rule in self.point_rules if not rule.leaves_arguments_open)

    @cached_property
    def delays(self) -> tuple[Delay, ...]:
        """The delayed effects of a fluent."""
        return tuple(rule for rule in self.rules if isinstance(rule, Delay))


@dataclass(frozen=True)
class Stratum:
    """A component of the dependency graph: its definitions, evaluated together."""

    level: int
    cyclic: bool
    immediate: bool
    delayed: bool
    order: tuple[str, ...]
    definitions: tuple[Definition, ...]
    keys: tuple[tuple[Relation, tuple[int, ...]], ...] = ()
    """For a cycle: the key of each relation by which its rules can be evaluated apart, if any."""

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """The relations it defines."""
        return tuple(definition.relation for definition in self.definitions)

    @cached_property
    def recursion(self) -> RecursionPlan | None:
        """For patterns that depend on themselves: how rounds evaluate them; None without any."""
        from cernis.plan.properties.recursion_plans import recursion_plan

        return recursion_plan(self)

    @cached_property
    def causes(self) -> tuple[Cause, ...] | None:
        """For a cycle: its rules as causes, by which one walk through time decides it.

        None if a rule does not allow that.
        """
        from cernis.plan.properties.cycle_causes import UnfitError, causes_of

        try:
            return tuple(causes_of(self))
        except UnfitError:
            return None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A relation that a stage reads: from the input or an earlier stage, by which arguments.

    `demanded_by` names the relation whose rows say which of it are wanted, where it carries only
    part of the key.
    """

    relation: str
    origin: str
    key: tuple[str, ...]
    demanded_by: str = ""


@dataclass(frozen=True, slots=True)
class Stage:
    """Strata evaluated with one partition key; without a key, by links or in one partition."""

    number: int
    key: tuple[str, ...]
    exchanges: tuple[Exchange, ...]
    strata: tuple[Stratum, ...]
    keys: tuple[tuple[Relation, tuple[int, ...]], ...] = ()
    """The arguments of relations that are the key, of those that carry all of it."""
    linked_by: tuple[str, ...] | None = None
    """Evaluated by components of entities: the input whose records link them."""


def parts_of(node: object) -> Iterator[object]:
    """Something of a plan or program, and all that it is made of: a whole before its parts."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, tuple):
            waiting.extend(reversed(part))
        else:
            # Where dataclasses have their fields: to ask each node for them would take long.
            names = reversed(getattr(part, "__dataclass_fields__", {}))
            waiting.extend(getattr(part, name) for name in names)


def names_in(node: object) -> Iterator[str]:
    """The names of all variables in some steps."""
    return (part.name for part in parts_of(node) if isinstance(part, Variable))
