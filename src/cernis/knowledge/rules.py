"""Clauses as rules for bottom-up evaluation, or the reason why they are none.

A rule is range-restricted in reading order: each comparison, computation and negation finds its
variables bound by what stands in front of it, and the head's variables are bound in the end. So
left-to-right resolution and bottom-up evaluation mean the same by it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, TypeAlias

from cernis.knowledge.call_graph import NEGATIONS
from cernis.knowledge.ground_values import Key, Value, is_ground, label, told_apart, value
from cernis.knowledge.modes import names
from cernis.knowledge.resolution.builtins import BUILTINS, BuiltinKind
from cernis.knowledge.resolution.prolog_arithmetic import COMPARISONS
from cernis.knowledge.terms import FAIL, TRUE, spoken
from cernis.syntax.printer import show
from cernis.syntax.tree import Compound, Term, Variable, functor

MOST_RULES: Final = 256
"""Rules one clause may become when its disjunctions are multiplied out."""


class NotDatalog(Exception):
    """Raised for a clause that cannot be evaluated bottom-up; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A value in the place of an argument."""

    value: Value


Arg: TypeAlias = str | Constant
"""The name of a variable, `_` for one that is not looked at, or a constant."""


@dataclass(frozen=True, slots=True)
class RowLiteral:
    """A look-up in the rows of a predicate."""

    key: Key
    args: tuple[Arg, ...]


@dataclass(frozen=True, slots=True)
class Equal:
    """`X = Y`, with at least one side bound by what stands in front of it."""

    left: Arg
    right: Arg


@dataclass(frozen=True, slots=True)
class Computed:
    """`X is Expression`"""

    target: Arg
    expression: Term


@dataclass(frozen=True, slots=True)
class Test:
    """A comparison, or a test of a value's type, of bound arguments."""

    goal: Compound


@dataclass(frozen=True, slots=True)
class NegatedParts:
    r"""`\+ (...)`: no way to make the parts hold. Variables not bound outside are local."""

    parts: tuple[Part, ...]


Part: TypeAlias = RowLiteral | Equal | Computed | Test | NegatedParts


@dataclass(frozen=True, slots=True)
class Rule:
    """A head and the parts of its body, in reading order."""

    key: Key
    head: tuple[Arg, ...]
    parts: tuple[Part, ...]

    def calls(self, keys: Collection[Key]) -> list[int]:
        """The places of the literals of these predicates."""
        return [
            place for place, part in enumerate(self.parts)
            if isinstance(part, RowLiteral) and part.key in keys
        ]  # fmt: skip


def looked_up(parts: Iterable[Part]) -> Iterator[Key]:
    """The predicates whose rows parts ask for."""
    for part in parts:
        if isinstance(part, RowLiteral):
            yield part.key
        elif isinstance(part, NegatedParts):
            yield from looked_up(part.parts)


def needed(part: Part) -> frozenset[str]:
    """The variables a part mentions, those local to a negation left out only if named `_`."""
    if isinstance(part, RowLiteral):
        args: Sequence[Arg] = part.args
        return frozenset(arg for arg in args if isinstance(arg, str) and arg != "_")
    if isinstance(part, Equal):
        return frozenset(arg for arg in (part.left, part.right) if isinstance(arg, str))
    if isinstance(part, Computed):
        target = {part.target} if isinstance(part.target, str) else set()
        return names(part.expression) | target
    if isinstance(part, Test):
        return names(part.goal)
    return frozenset().union(*map(needed, part.parts))


def read_rules(
    head: Term, body: Term, tables: Collection[Key], group: Collection[Key]
) -> Iterator[Rule]:
    """The rules of a clause whose body is expanded; raises `NotDatalog` if it has none.

    `tables` are the predicates whose rows can be had, `group` those that are defined together
    with the head's and may be used without negation.
    """
    for goals in _alternatives(body):
        yield _Reader(tables, group).rule(head, goals)


def _alternatives(goal: Term) -> list[list[Term]]:
    """The goal as alternatives of conjunctions, negations left as they are."""
    if isinstance(goal, Compound) and goal.functor == ";":
        if any(functor(arg) == ("->", 2) for arg in goal.args):
            raise NotDatalog("commits to the first answer of a condition")
        alternatives = [each for arg in goal.args for each in _alternatives(arg)]
    elif isinstance(goal, Compound) and goal.functor == ",":
        parts = [_alternatives(arg) for arg in goal.args]
        size = 1
        for part in parts:
            size *= len(part)
        _see_size(size)
        alternatives = [[goal for part in choice for goal in part] for choice in product(*parts)]
    else:
        alternatives = [] if goal == FAIL else [[]] if goal == TRUE else [[goal]]
    _see_size(len(alternatives))
    return alternatives


def _see_size(count: int) -> None:
    if count > MOST_RULES:
        raise NotDatalog(f"its disjunctions multiply out to more than {MOST_RULES} rules")


class _Reader:
    """Reads one rule, keeping what is bound, what was computed and what is yet to be equal."""

    def __init__(self, tables: Collection[Key], group: Collection[Key]) -> None:
        self._tables = tables
        self._group = group
        self._bound: set[str] = set()
        self._computed: set[str] = set()
        self._pending: list[tuple[str, str]] = []

    def rule(self, head: Term, goals: Sequence[Term]) -> Rule:
        args = tuple(map(_arg, head.args if isinstance(head, Compound) else ()))
        parts = self._parts(goals, names(head))
        rule = Rule(functor(head), args, tuple(parts))
        self._see_head(rule)
        return rule

    def _see_head(self, rule: Rule) -> None:
        recursive = bool(rule.calls(self._group))
        for arg in rule.head:
            if isinstance(arg, str) and arg not in self._bound:
                shown = "`_`" if arg == "_" else arg
                raise NotDatalog(f"its body does not bind {shown} of its head")
            if recursive and arg in self._computed:
                raise NotDatalog(f"computes a new {arg} in each step of its recursion")

    def _parts(self, goals: Sequence[Term], outside: frozenset[str]) -> list[Part]:
        parts = []
        for place, goal in enumerate(goals):
            others = [*goals[:place], *goals[place + 1 :]]
            elsewhere = outside.union(*map(names, others))
            parts += self._part(goal, functor(goal), elsewhere)
            self._settle()
        if self._pending:
            raise NotDatalog(f"nothing binds {spoken(self._pending[0])}")
        return parts

    def _part(self, goal: Term, key: Key, elsewhere: frozenset[str]) -> list[Part]:
        if key in self._tables or key in self._group:
            return [self._literal(goal, key)]
        if not isinstance(goal, Compound):
            raise NotDatalog(f"uses {label(key)}")
        if key in NEGATIONS:
            return self._absent(goal.args[0], elsewhere)
        if key == ("=", 2):
            return [self._equal(goal)]
        if key == ("is", 2):
            return [self._is(goal)]
        return [self._test(goal, key)]

    def _literal(self, goal: Term, key: Key) -> RowLiteral:
        literal = RowLiteral(key, tuple(map(_arg, goal.args if isinstance(goal, Compound) else ())))
        self._bound |= needed(literal)
        return literal

    def _equal(self, goal: Compound) -> Equal:
        equal = Equal(_arg(goal.args[0]), _arg(goal.args[1]))
        variables = sorted(needed(equal))
        if "_" in variables:
            raise NotDatalog("compares with `_`")
        if self._computed.intersection(variables):
            self._computed.update(variables)
        if len(variables) == 2:
            self._pending.append((variables[0], variables[1]))
        else:
            self._bound.update(variables)
        return equal

    def _settle(self) -> None:
        """What is equal to something bound is bound."""
        waiting = None
        while waiting != self._pending:
            waiting = self._pending
            for pair in waiting:
                if self._bound.intersection(pair):
                    self._bound.update(pair)
            self._pending = [pair for pair in waiting if not self._bound.issuperset(pair)]

    def _is(self, goal: Compound) -> Computed:
        self._see_bound(goal, names(goal.args[1]))
        target = _arg(goal.args[0])
        if isinstance(target, str):
            if target not in self._bound:
                self._computed.add(target)
            self._bound.add(target)
        return Computed(target, goal.args[1])

    def _test(self, goal: Compound, key: Key) -> Test:
        known = BUILTINS.get(key)
        if known is None:
            raise NotDatalog(f"calls {label(key)}")
        if known.kind is not BuiltinKind.COMPARISON or key[0] in (
            "between",
            "succ",
            "plus",
            "compare",
        ):
            raise NotDatalog(f"uses {label(key)}")
        if key[0] not in COMPARISONS:
            for arg in goal.args:
                _arg(arg)
        self._see_bound(goal, names(goal))
        return Test(goal)

    def _absent(self, inner: Term, elsewhere: frozenset[str]) -> list[Part]:
        loose = (names(inner) & elsewhere) - self._bound
        if loose:
            raise NotDatalog(f"negates {spoken(loose)} before it is bound")
        absent: list[Part] = []
        for goals in _alternatives(inner):
            reader = _Reader(self._tables, ())
            reader._bound = set(self._bound)
            for goal in goals:
                if functor(goal) in self._group:
                    raise NotDatalog("negates its own recursion")
            absent.append(NegatedParts(tuple(reader._parts(goals, frozenset()))))
        return absent

    def _see_bound(self, goal: Compound, wanted: frozenset[str]) -> None:
        loose = wanted - self._bound
        if loose or any(isinstance(arg, Variable) and arg.name == "_" for arg in goal.args):
            raise NotDatalog(f"`{show(goal)}` stands before {spoken(loose or ['_'])} is bound")


def _arg(term: Term) -> Arg:
    if isinstance(term, Variable):
        return term.name
    if not is_ground(term):
        raise NotDatalog("takes terms apart or builds them")
    return Constant(told_apart(value(term)))
