"""Proves the body of a rule over time-points, at one point: which bindings make it true, and why.

Literals are taken in the order of the text, except that one waits while variables that it needs
are not bound. Where no order works, the literals that are left are taken as they stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import TypeAlias

from cernis.check.model import (
    Boundary,
    ChangeRule,
    Changes,
    Collect,
    Condition,
    Either,
    Event,
    Happens,
    Holds,
    Literal,
    Pair,
    Unless,
)
from cernis.errors import KnowledgeError
from cernis.explain.histories import Happening, History, Instance, Interval
from cernis.knowledge.ground_values import Value, is_ground, same, term_of
from cernis.knowledge.terms import substitute
from cernis.syntax import show
from cernis.syntax.tree import Atom, Compound, Number, Sequence, Term, Variable, variables

Bindings: TypeAlias = dict[str, Term]

_NEED_SOME = frozenset({"bagof", "setof", "min", "max", "avg", "min_with", "max_with"})
"""Collections that have no answer where there is nothing to collect."""

_COMPARISONS = frozenset({"<", ">", "=<", ">=", "=:=", "=\\=", "\\=", "==", "\\==", "@<", "@>"})


@dataclass(frozen=True, slots=True)
class Support:
    """What made one literal true: a happening, an interval of an instance, or nothing but a goal.

    `literal` is the literal, `bindings` those after it.
    """

    literal: Literal
    bindings: Mapping[str, Term]
    happening: Happening | None = None
    instance: Instance | None = None
    interval: Interval | None = None
    nested: tuple[Support, ...] = ()


@dataclass(frozen=True, slots=True)
class Proof:
    """Bindings that make a whole body true, and what supports each of its literals."""

    bindings: Bindings
    supports: tuple[Support, ...]


@dataclass(slots=True)
class Failure:
    """How far a body came: the literals that were true, and the first that was not."""

    supports: tuple[Support, ...] = ()
    literal: Literal | None = None
    bindings: Mapping[str, Term] | None = None


class Unexplained(Exception):
    """A body has something that cannot be explained yet."""


def match(pattern: Term, actual: Term, bindings: Bindings) -> Bindings | None:
    """The bindings with which a pattern is a ground term; None if there are none."""
    if isinstance(pattern, Variable):
        if pattern.name == "_":
            return bindings
        if pattern.name in bindings:
            return bindings if alike(bindings[pattern.name], actual) else None
        return {**bindings, pattern.name: actual}
    if is_ground(pattern):
        return bindings if alike(pattern, actual) else None
    if isinstance(pattern, Compound) and isinstance(actual, Compound):
        if pattern.functor != actual.functor or len(pattern.args) != len(actual.args):
            return None
        return match_all(pattern.args, actual.args, bindings)
    if not isinstance(pattern, Sequence) or not isinstance(actual, Sequence):
        return None
    is_fit = pattern.tail is None and len(pattern.items) == len(actual.items)
    return match_all(pattern.items, actual.items, bindings) if is_fit else None


def match_all(
    patterns: tuple[Term, ...], actual: tuple[Term, ...], bindings: Bindings
) -> Bindings | None:
    """As `match`, for several terms."""
    known: Bindings | None = bindings
    for pattern, each in zip(patterns, actual, strict=True):
        if known is None:
            return None
        known = match(pattern, each, known)
    return known


def alike(left: Term, right: Term) -> bool:
    """Are two ground terms equal?"""
    return same(left, right)


def terms(values: tuple[Value, ...]) -> tuple[Term, ...]:
    """The terms of some values."""
    return tuple(map(term_of, values))


class BodyProver:
    """Proves bodies at time-points of a history."""

    def __init__(self, history: History, changes: list[ChangeRule]) -> None:
        self.history = history
        self._changes = changes

    def prove(
        self, body: tuple[Literal, ...], bindings: Bindings, time: int,
        failure: Failure | None = None,
    ) -> Iterator[Proof]:  # fmt: skip
        """The proofs of a body; how far it came is entered into `failure`."""
        yield from self._rest(list(body), bindings, time, (), failure or Failure())

    def _rest(
        self, left: list[Literal], bindings: Bindings, time: int, done: tuple[Support, ...],
        failure: Failure,
    ) -> Iterator[Proof]:  # fmt: skip
        if not left:
            yield Proof(bindings, done)
            return
        place = next((n for n, each in enumerate(left) if is_ready(each, bindings, left)), 0)
        literal, others = left[place], [*left[:place], *left[place + 1 :]]
        is_true = False
        for known, support in self._literal(literal, bindings, time):
            is_true = True
            yield from self._rest(others, known, time, (*done, support), failure)
        if not is_true and (failure.literal is None or len(done) >= len(failure.supports)):
            failure.supports, failure.literal, failure.bindings = done, literal, bindings

    def _literal(
        self, literal: Literal, bindings: Bindings, time: int
    ) -> Iterator[tuple[Bindings, Support]]:
        if isinstance(literal, Either):
            for branch in literal.branches:
                for proof in self.prove(branch, bindings, time):
                    yield proof.bindings, Support(literal, proof.bindings, nested=proof.supports)
        elif isinstance(literal, Unless):
            if next(self.prove(literal.body, bindings, time), None) is None:
                yield bindings, Support(literal, bindings)
        elif isinstance(literal, Collect):
            yield from self._collected(literal, bindings, time)
        elif literal.negated:
            if next(self._positive(literal, bindings, time), None) is None:
                yield bindings, Support(literal, bindings)
        else:
            yield from self._positive(literal, bindings, time)

    def _collected(
        self, literal: Collect, bindings: Bindings, time: int
    ) -> Iterator[tuple[Bindings, Support]]:
        """What all solutions of a body collect to, one answer for each value of `by`."""
        inside = {name: each for name, each in bindings.items() if name not in literal.by}
        groups: dict[str, list[Proof]] = (
            {} if literal.by or literal.kind in _NEED_SOME else {"": []}
        )
        for proof in self.prove(literal.body, inside, time):
            key = show(Sequence(tuple(proof.bindings.get(n, Atom("_")) for n in literal.by)))
            groups.setdefault(key if literal.by else "", []).append(proof)
        for proofs in groups.values():
            fixed = {n: proofs[0].bindings[n] for n in literal.by if proofs} if proofs else {}
            known = match_all(
                tuple(map(Variable, fixed)), tuple(fixed.values()), bindings
            )  # fmt: skip
            result = collected(literal, [substitute(literal.template, p.bindings) for p in proofs])
            bound = (
                None if known is None or result is None else _equal(literal.result, result, known)
            )
            if bound is not None:
                supports = tuple(each for proof in proofs for each in proof.supports)
                yield bound, Support(literal, bound, nested=supports)

    def _positive(
        self, literal: Happens | Boundary | Holds | Changes | Condition, bindings: Bindings,
        time: int,
    ) -> Iterator[tuple[Bindings, Support]]:  # fmt: skip
        if isinstance(literal, Condition):
            for known in self.solve(literal.goal, bindings):
                yield known, Support(literal, known)
        elif isinstance(literal, Happens):
            yield from self._happens(literal, bindings, time)
        elif isinstance(literal, Changes):
            yield from self._changed(literal, bindings, time)
        else:
            yield from self._held(literal, bindings, time)

    def solve(self, goal: Term, bindings: Bindings) -> Iterator[Bindings]:
        """The bindings with which background knowledge proves a goal, each once."""
        wanted = substitute(goal, bindings)
        seen: set[str] = set()
        try:
            for answer in self.history.knowledge.solve(wanted, 1000):
                new = {name: each for name, each in answer.items() if is_ground(each)}
                if str(new) not in seen:
                    seen.add(str(new))
                    yield {**bindings, **new}
        except KnowledgeError as error:
            raise Unexplained(f"the condition cannot be evaluated by itself: {error}") from None

    def _happens(
        self, literal: Happens, bindings: Bindings, time: int
    ) -> Iterator[tuple[Bindings, Support]]:
        for happening in self.history.events_at(literal.event.relation, time):
            known = match_all(literal.event.args, terms(happening.args), bindings)
            if known is not None:
                yield known, Support(literal, known, happening)

    def _held(
        self, literal: Holds | Boundary, bindings: Bindings, time: int
    ) -> Iterator[tuple[Bindings, Support]]:
        for (args, value), spans in self.history.fluent(literal.pair.relation).items():
            known = _match_pair(literal.pair, args, value, bindings)
            span = None if known is None else self._span(literal, spans, time)
            if known is not None and span is not None:
                yield known, Support(literal, known, instance=(args, value), interval=span)

    def _span(self, literal: Holds | Boundary, spans: list[Interval], time: int) -> Interval | None:
        if isinstance(literal, Holds):
            return span_at(spans, time)
        later = time + self.history.tick
        if literal.edge == "end":
            return next((span for span in spans if span[1] == later), None)
        first = time if literal.edge == "startI" else later
        return next((span for span in spans if span[0] == first), None)

    def _changed(
        self, literal: Changes, bindings: Bindings, time: int
    ) -> Iterator[tuple[Bindings, Support]]:
        """An initiation or termination at the very point, by a rule or by a delayed effect."""
        for rule in self._changes:
            if rule.initiates == literal.initiates and rule.pair.relation == literal.pair.relation:
                for proof in self.prove(rule.body, {rule.time: term_of(time)}, time):
                    head = tuple(substitute(arg, proof.bindings) for arg in _parts(rule.pair))
                    if all(map(is_ground, head)):
                        known = match_all(_parts(literal.pair), head, bindings)
                        if known is not None:
                            yield known, Support(literal, known, nested=proof.supports)
        if literal.initiates:
            yield from self._begun(literal, bindings, time)

    def _begun(
        self, literal: Changes, bindings: Bindings, time: int
    ) -> Iterator[tuple[Bindings, Support]]:
        """The pairs that hold from the next point on, by no rule but by a delayed effect."""
        first = time + self.history.tick
        targets = {e.target.relation for e in self.history.effects if e.target is not None}
        if literal.pair.relation not in targets:
            return
        for instance, spans in self.history.fluent(literal.pair.relation).items():
            span = next((each for each in spans if each[0] == first), None)
            known = None if span is None else _match_pair(literal.pair, *instance, bindings)
            if known is not None:
                yield known, Support(literal, known, instance=instance, interval=span)


def collected(literal: Collect, values: list[Term]) -> Term | None:
    """The list or number that a collection or an aggregate makes of the values of its template."""
    kind = literal.kind
    if kind in ("findall", "bagof"):
        return Sequence(tuple(values))
    distinct = {show(each): each for each in values}
    if kind in ("setof", "set"):
        return Sequence(tuple(sorted(distinct.values(), key=_standard_order)))
    if kind == "count":
        return Number(len(values))
    if kind in ("min_with", "max_with"):
        return None
    numbers = [each.value for each in values if isinstance(each, Number)]
    if len(numbers) < len(values) or (not numbers and kind != "sum"):
        return None
    if kind == "sum":
        return Number(sum(numbers))
    return Number({"min": min, "max": max}[kind](numbers) if kind != "avg" else fmean(numbers))


def _standard_order(term: Term) -> tuple[int, float, str]:
    if isinstance(term, Number):
        return 0, term.value, ""
    return 1, 0.0, show(term)


def _equal(wanted: Term, result: Term, bindings: Bindings) -> Bindings | None:
    """The bindings with which what is wanted is a result; numbers are compared by their size."""
    asked_for = substitute(wanted, bindings)
    if isinstance(asked_for, Number) and isinstance(result, Number):
        return bindings if asked_for.value == result.value else None
    return match(asked_for, result, bindings)


def _parts(pair: Pair) -> tuple[Term, ...]:
    return (*pair.args, pair.value)


def _match_pair(
    pair: Pair, args: tuple[Value, ...], value: Value, bindings: Bindings
) -> Bindings | None:
    return match_all(_parts(pair), (*terms(args), term_of(value)), bindings)


def span_at(spans: list[Interval], time: int) -> Interval | None:
    """The interval that a time-point lies in."""
    return next((span for span in spans if span[0] <= time < span[1]), None)


def is_ready(literal: Literal, bindings: Mapping[str, Term], left: list[Literal]) -> bool:
    """Is all bound that a literal needs?"""
    if isinstance(literal, Condition) and not literal.negated:
        return _goal_is_ready(literal.goal, bindings)
    if isinstance(literal, (Either, Collect)):
        return True
    if isinstance(literal, Unless) or literal.negated:
        others = {name for each in left if each is not literal for name in binders(each)}
        return not (_names(literal) - bindings.keys()) & others
    return True


def _goal_is_ready(goal: Term, bindings: Mapping[str, Term]) -> bool:
    if not isinstance(goal, Compound):
        return True
    if goal.functor in _COMPARISONS:
        return all(v.name in bindings for v in variables(goal))
    if goal.functor == "is":
        return all(v.name in bindings for v in variables(goal.args[1]))
    return True


def binders(literal: Literal) -> set[str]:
    """The variables that a literal can bind."""
    if isinstance(literal, Either):
        return {name for branch in literal.branches for each in branch for name in binders(each)}
    if isinstance(literal, (Unless, Collect)) or literal.negated:
        return set()
    return _names(literal)


def _names(literal: Literal) -> set[str]:
    if isinstance(literal, Condition):
        return {v.name for v in variables(literal.goal)}
    if isinstance(literal, Either):
        return {name for branch in literal.branches for each in branch for name in _names(each)}
    if isinstance(literal, (Unless, Collect)):
        return {name for each in literal.body for name in _names(each)}
    entity: Event | Pair = literal.event if isinstance(literal, Happens) else literal.pair
    parts = entity.args if isinstance(entity, Event) else _parts(entity)
    return {v.name for part in parts for v in variables(part)} - {"_"}
