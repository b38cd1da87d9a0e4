"""A program sorted by what its clauses are for: rules about time, and everything else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from cernis.errors import UnsupportedError
from cernis.syntax.tree import (
    Atom,
    Clause,
    Compound,
    Directive,
    Item,
    Number,
    PatternRule,
    Sequence,
    Term,
    Variable,
    functor,
    variables,
)

from . import arithmetic, iff, phrases
from .terms import Env, Renamer, substitute
from .validity import timely

FLUENT_KINDS = frozenset({"initiatedAt", "terminatedAt", "initially", "fi", "ft"})


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One rule about time, in its plain form, with variables no other rule has.

    `kind` is the head's predicate: initiatedAt, terminatedAt, initially, happensAt, holdsFor,
    fi or ft. `head` is the fluent-value pair or the event; `at` the time variable, or the
    interval variable of holdsFor; `window` the outer two arguments of the four-argument form.
    For fi, `effect` is the pair initiated, for fi and ft `delay` is how much later. `committed` is
    how many goals of the body stand before its first cut; None if it has none.
    """

    kind: str
    head: Term
    body: tuple[Term, ...]
    at: Term | None = None
    window: tuple[Term, Term] | None = None
    effect: Term | None = None
    delay: Term | None = None
    committed: int | None = None

    @property
    def changes(self) -> Term:
        """The pair a rule of a simple fluent initiates or terminates."""
        return self.head if self.effect is None else self.effect


@dataclass(slots=True)
class Program:
    """The rules about time, and what surrounds them."""

    rules: list[Rule] = field(default_factory=list)
    background: list[Clause] = field(default_factory=list)
    grounding: list[Clause] = field(default_factory=list)
    declared_values: list[Term] = field(default_factory=list)
    postponable: list[Clause] = field(default_factory=list)
    domains: set[tuple[str, int]] = field(default_factory=set)
    on_intervals: list[Term] = field(default_factory=list)
    at_points: list[Term] = field(default_factory=list)
    declared: list[Term] = field(default_factory=list)
    tick: int = 1
    ties: str = "break"
    dialect: str = "cernis"
    memory: float = 0

    @property
    def is_rtec(self) -> bool:
        """Is it read as the released RTEC reads it, section 11 of the semantics?"""
        return self.dialect == "rtec"

    def names(self, pair: Term) -> bool:
        """Does the head of a rule of the pair's fluent, or a grounding, name the pair's value?

        So does `simpleFluent(F=V)`, which otherwise means nothing.
        """
        heads = [rule.head for rule in self.rules if rule.kind in FLUENT_KINDS]
        heads += self.declared_values
        heads += [rule.effect for rule in self.rules if rule.effect is not None]
        heads += [clause.head for clause in self.grounding if is_pair(clause.head)]
        shape, value = _shape(fluent_of(pair)), value_of(pair)
        return any(value_of(head) == value and _shape(fluent_of(head)) == shape for head in heads)


def _shape(term: Term) -> object:
    """The fluent without its arguments: functors, those inside included."""
    if isinstance(term, Compound):
        return functor(term), tuple(_shape(arg) for arg in term.args if isinstance(arg, Compound))
    return functor(term)


def is_pair(term: Term) -> bool:
    """Is it a fluent-value pair `F=V`?"""
    return functor(term) == ("=", 2)


def is_edge(event: Term) -> bool:
    """Is it `start(F=V)`, `end(F=V)` or `startI(F=V)`?"""
    named = functor(event) in (("start", 1), ("end", 1), ("startI", 1))
    return isinstance(event, Compound) and named and is_pair(event.args[0])


def fluent_of(pair: Term) -> Term:
    """The F of `F=V`."""
    assert isinstance(pair, Compound)
    return pair.args[0]


def value_of(pair: Term) -> Term:
    """The V of `F=V`."""
    assert isinstance(pair, Compound)
    return pair.args[1]


UNUSED = "_unused"
"""How the names of variables begin that nothing else in their rule has."""


def is_unused(term: Term) -> bool:
    """Is it a variable that stands in one place only?"""
    return isinstance(term, Variable) and term.name.startswith(UNUSED)


def read_program(items: Iterable[Item]) -> Program:
    """Sort the items of a program. Other directives say nothing here."""
    program = Program()
    renamer = Renamer()
    for item in timely(phrases.plain(items)):
        if isinstance(item, PatternRule):
            raise UnsupportedError("event patterns are not part of this evaluator")
        if isinstance(item, Directive):
            _directive(program, item.goal)
        else:
            _clause(program, renamer.clause(_unfold(item)))
    return program


def _directive(program: Program, goal: Term) -> None:
    if not isinstance(goal, Compound) or len(goal.args) != 1:
        return
    value = goal.args[0]
    if goal.functor in ("event", "fluent"):
        program.declared += value.items if isinstance(value, Sequence) else [value]
    if goal.functor == "tick" and isinstance(value, Number):
        program.tick = int(value.value)
    if goal.functor == "ties" and isinstance(value, Atom):
        program.ties = value.name
    if goal.functor == "dialect" and isinstance(value, Atom):
        program.dialect = value.name
    if goal.functor == "memory":
        program.memory = arithmetic.evaluate(value, {})


def _unfold(clause: Clause) -> Clause:
    """`iff` and the older forms of rules, in the plain form."""
    head = clause.head
    if isinstance(head, Compound) and functor(head) == ("iff", 2):
        return iff.expand(*head.args)
    if functor(head) in (("initiates", 3), ("terminates", 3)):
        assert isinstance(head, Compound)
        event, pair, time = head.args
        time = Variable("Time of initiates") if time == Variable("_") else time
        plain = "initiatedAt" if head.functor == "initiates" else "terminatedAt"
        happens = Compound("happensAt", (event, time))
        return Clause(Compound(plain, (pair, time)), (happens, *clause.body))
    return clause


def _clause(program: Program, clause: Clause) -> None:
    name, arity = functor(clause.head)
    args = clause.head.args if isinstance(clause.head, Compound) else ()
    rule = _rule(name, args, _with_unused(clause))
    if rule is not None:
        program.rules.append(rule)
    elif (name, arity) == ("grounding", 1):
        program.grounding.append(Clause(args[0], clause.body))
    elif (name, arity) == ("p", 1) and is_pair(args[0]):
        program.postponable.append(Clause(args[0], clause.body))
    elif (name, arity) == ("dynamicDomain", 1):
        program.domains.add(functor(args[0]))
    elif (name, arity) == ("collectGrounds", 2):
        program.domains.add(functor(args[1]))
        assert isinstance(args[0], Sequence)
        program.grounding.extend(Clause(entity, (args[1],)) for entity in args[0].items)
    elif (name, arity) == ("simpleFluent", 1):
        program.declared_values += [args[0]] if is_pair(args[0]) else []
    elif (name, arity) == ("collectIntervals", 1):
        program.on_intervals.append(args[0])
    elif (name, arity) in (("buildFromPoints", 1), ("points", 1)):
        program.at_points.append(args[0])
    elif (name, arity) not in (("index", 2), ("needsGrounding", 3), ("dgrounded", 2)):
        program.background.append(clause)


def _rule(name: str, args: tuple[Term, ...], body: tuple[Term, ...]) -> Rule | None:
    """The rule about time with this head and body; None if the head is of another kind."""
    goals = tuple(_plain(goal) for goal in body if goal != Atom("!"))
    match name, len(args):
        case (("initiatedAt" | "terminatedAt" | "happensAt" | "holdsFor"), 2):
            cut = body.index(Atom("!")) if Atom("!") in body else None
            return Rule(name, args[0], goals, at=args[1], committed=cut)
        case "initiatedAt", 4 if args[2] == Number(-1):
            return Rule("initially", args[0], _without_bounds(goals, args))
        case (("initiatedAt" | "terminatedAt"), 4):
            return Rule(name, args[0], goals, at=args[2], window=(args[1], args[3]))
        case "initially", 1:
            return Rule(name, args[0], goals)
        case "fi", 3:
            return Rule(name, args[0], goals, effect=args[1], delay=args[2])
        case "ft", 2 if is_pair(args[0]):
            return Rule(name, args[0], goals, delay=args[1])
    return None


def _without_bounds(goals: tuple[Term, ...], args: tuple[Term, ...]) -> tuple[Term, ...]:
    """The goals that do not only say how -1 lies to the bounds of the window."""
    bounds = {arg.name for arg in (args[1], args[3]) if isinstance(arg, Variable)}
    asked = [{variable.name for variable in variables(goal)} for goal in goals]
    return tuple(goal for goal, own in zip(goals, asked, strict=True) if not own or own - bounds)


def _with_unused(clause: Clause) -> tuple[Term, ...]:
    """The body, in which variables that occur once have names that say so."""
    terms = (clause.head, *clause.body)
    names = Counter(variable.name for term in terms for variable in variables(term))
    once: Env = {name: Variable(UNUSED + name) for name in names if names[name] == 1}
    return tuple(substitute(goal, once) for goal in clause.body)


def _plain(goal: Term) -> Term:
    """The goal with four-argument initiatedAt and terminatedAt cut down to two; endI is end."""
    if isinstance(goal, Compound):
        args = tuple(_plain(arg) for arg in goal.args)
        if functor(goal) == ("endI", 1) and is_pair(args[0]):
            return Compound("end", args)
        if goal.functor in ("initiatedAt", "terminatedAt") and len(args) == 4:
            return Compound(goal.functor, (args[0], args[2]))
        return Compound(goal.functor, args)
    if isinstance(goal, Sequence):
        tail = None if goal.tail is None else _plain(goal.tail)
        return Sequence(tuple(_plain(item) for item in goal.items), tail)
    return goal
