"""Evaluates the body of a rule over intervals for bound arguments, list by list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from cernis.check.model import (
    Condition,
    HoldsFor,
    IntervalFilter,
    IntervalOperation,
    NotEmpty,
    StaticLiteral,
    StaticRule,
)
from cernis.explain.body_proofs import (
    Bindings,
    BodyProver,
    Unexplained,
    is_ready,
    match_all,
    terms,
)
from cernis.explain.histories import Instance, Interval, united
from cernis.knowledge.ground_values import Value, is_ground, term_of, value
from cernis.knowledge.terms import substitute
from cernis.syntax import show
from cernis.syntax.tree import Atom, Compound, Number, Term, Variable
from cernis.tables.interval_tables import INFINITY


@dataclass(frozen=True, slots=True)
class PairList:
    """The intervals of one pair."""

    literal: HoldsFor
    instance: Instance
    spans: list[Interval]


@dataclass(frozen=True, slots=True)
class ComputedList:
    """The outcome of an operation; `spans` is None where it is not computed here."""

    literal: IntervalOperation
    inputs: tuple[str, ...]
    spans: list[Interval] | None
    parameters: tuple[Term, ...]
    related: tuple[list[Interval], list[Interval]] = ([], [])
    """Of a relation between intervals: those of the two lists that stand in it."""


@dataclass(frozen=True, slots=True)
class StaticProof:
    """Bindings of a rule over intervals, its lists by name, and the goals that were true."""

    rule: StaticRule
    bindings: Bindings
    lists: Mapping[str, PairList | ComputedList]
    goals: tuple[Condition, ...]
    failed: StaticLiteral | None = None
    """The first condition that was not true, in a proof that failed."""


class StaticProver:
    """Evaluates rules over intervals on a history."""

    def __init__(self, prover: BodyProver) -> None:
        self._prover = prover
        self._history = prover.history

    def prove(self, rule: StaticRule, bindings: Bindings) -> Iterator[StaticProof]:
        """All ways in which the conditions of a rule are true, and those in which they fail."""
        yield from self._rest(list(rule.body), StaticProof(rule, bindings, {}, ()))

    def _rest(self, left: list[StaticLiteral], proof: StaticProof) -> Iterator[StaticProof]:
        if not left:
            yield proof
            return
        place = next((n for n, each in enumerate(left) if _is_ready(each, proof)), 0)
        literal, others = left[place], [*left[:place], *left[place + 1 :]]
        is_true = False
        for known in self._literal(literal, proof):
            is_true = True
            yield from self._rest(others, known)
        if not is_true:
            rule = proof.rule
            yield StaticProof(rule, proof.bindings, proof.lists, proof.goals, literal)

    def _literal(self, literal: StaticLiteral, proof: StaticProof) -> Iterator[StaticProof]:
        if isinstance(literal, HoldsFor):
            for known, fetched in self._fetch(literal, proof.bindings):
                yield _with(proof, known, literal.intervals, fetched)
        elif isinstance(literal, IntervalOperation):
            yield _with(proof, proof.bindings, literal.output, self._operate(literal, proof))
        elif isinstance(literal, NotEmpty):
            spans = proof.lists[literal.intervals].spans
            if spans is None or bool(spans) != literal.negated:
                yield proof
        else:
            yield from self._condition(literal, proof)

    def _condition(self, literal: Condition, proof: StaticProof) -> Iterator[StaticProof]:
        goals = (*proof.goals, literal)
        try:
            answers = list(self._prover.solve(literal.goal, proof.bindings))
        except Unexplained:
            if not _has_open_instance(proof):
                raise
            # A condition on an instance of which there is nothing may have no answer.
            return
        if literal.negated:
            if not answers:
                yield StaticProof(proof.rule, proof.bindings, proof.lists, goals)
            return
        for known in answers:
            yield StaticProof(proof.rule, known, proof.lists, goals)

    def _fetch(self, literal: HoldsFor, bindings: Bindings) -> Iterator[tuple[Bindings, PairList]]:
        pair = literal.pair
        wanted = tuple(substitute(part, bindings) for part in (*pair.args, pair.value))
        is_known = False
        for (args, pair_value), spans in self._history.fluent(pair.relation).items():
            known = match_all(wanted, (*terms(args), term_of(pair_value)), bindings)
            if known is not None:
                is_known = True
                yield known, PairList(literal, (args, pair_value), spans)
        if not (is_known and all(map(is_ground, wanted))):
            # Of further instances, which other literals may name, there are no intervals.
            *args_asked, value_asked = map(_value_or_open, wanted)
            yield bindings, PairList(literal, (tuple(args_asked), value_asked), [])

    def _operate(self, literal: IntervalOperation, proof: StaticProof) -> ComputedList:
        inputs = [proof.lists[name].spans for name in literal.inputs]
        parameters = tuple(self._computed(each, proof.bindings) for each in literal.parameters)
        known = [spans for spans in inputs if spans is not None]
        if len(known) < len(inputs):
            return ComputedList(literal, literal.inputs, None, parameters)
        if literal.filter is not None:
            spans = [
                each for each in known[0] if self.is_kept(each, literal.filter, proof.bindings)
            ]
            return ComputedList(literal, literal.inputs, spans, parameters)
        if literal.operator == "allen":
            related = self._related(parameters, known)
            return ComputedList(
                literal, literal.inputs, _by_mode(parameters, *related), parameters, related
            )
        spans_made = self._spans(literal.operator, known, parameters)
        return ComputedList(literal, literal.inputs, spans_made, parameters)

    def _computed(self, parameter: Term, bindings: Bindings) -> Term:
        """A parameter as a number, if it is an expression that can be evaluated."""
        term = substitute(parameter, bindings)
        if not isinstance(term, Compound) or not is_ground(term):
            return term
        goal = Compound("is", (Variable("Result"), term))
        return next(self._prover.solve(goal, {}), {}).get("Result", term)

    def is_kept(self, span: Interval, chosen: IntervalFilter, bindings: Bindings) -> bool:
        """Are the conditions on the intervals of a list true of one?"""
        end = Atom("inf") if span[1] >= INFINITY else Number(span[1])
        known: Bindings = {**bindings, chosen.start: Number(span[0]), chosen.end: end}
        for condition in chosen.conditions:
            answer = next(self._prover.solve(condition.goal, known), None)
            if (answer is None) != condition.negated:
                return False
            known = answer or known
        return True

    def _related(
        self, parameters: tuple[Term, ...], inputs: list[list[Interval]]
    ) -> tuple[list[Interval], list[Interval]]:
        """The intervals of two lists that stand in a relation to one of the other list."""
        relation, _, *closed = (show(each).strip("'") for each in parameters)
        tick = self._history.tick if closed else 0
        sources, targets = inputs
        pairs = [(s, t) for s in sources for t in targets if is_related(relation, s, t, tick)]
        chosen = [s for s in sources if any(s == pair[0] for pair in pairs)]
        return chosen, [t for t in targets if any(t == pair[1] for pair in pairs)]

    def _spans(
        self, operator: str, inputs: list[list[Interval]], parameters: tuple[Term, ...]
    ) -> list[Interval] | None:
        if operator == "union_all":
            return united([span for spans in inputs for span in spans])
        if operator == "intersect_all":
            return _intersected(inputs)
        if operator == "relative_complement_all":
            return _without(inputs[0], inputs[1:])
        if operator == "complement_all":
            return _without([(self._history.start + self._history.tick, INFINITY)], inputs)
        least = parameters[0] if parameters else None
        if operator == "intDurGreater" and isinstance(least, Number):
            end = self._history.end
            return [s for s in inputs[0] if _length(s, end) > least.value]
        if operator == "intDurLess" and isinstance(least, Number):
            return [s for s in inputs[0] if s[1] < INFINITY and s[1] - s[0] < least.value]
        return None


def is_related(relation: str, source: Interval, target: Interval, tick: int = 0) -> bool:
    """Does an interval stand in one of Allen's relations to another?

    With a tick, they are taken as closed, and a single point meets nothing.
    """
    a, c = source[0], target[0]
    b, d = (each[1] if each[1] >= INFINITY else each[1] - tick for each in (source, target))
    if relation == "meets":
        return b == c and (not tick or b > a)
    return {
        "before": b < c, "starts": a == c and b < d, "finishes": b == d and a > c,
        "during": c < a and b < d, "overlaps": a < c < b < d, "equal": (a, b) == (c, d),
    }[relation]  # fmt: skip


def _by_mode(
    parameters: tuple[Term, ...], sources: list[Interval], targets: list[Interval]
) -> list[Interval]:
    mode = show(parameters[1])
    if mode == "source":
        return sources
    if mode == "target":
        return targets
    if mode == "union":
        return united([*sources, *targets])
    if mode == "intersect":
        return _intersected([united(sources), united(targets)])
    first, second = (sources, targets) if mode == "complement" else (targets, sources)
    return _without(united(first), [second])


def _has_open_instance(proof: StaticProof) -> bool:
    """Is one of the lists that of an instance whose arguments are not all known?"""
    pairs = (part for part in proof.lists.values() if isinstance(part, PairList))
    parts = (each for pair in pairs for each in (*pair.instance[0], pair.instance[1]))
    return any(not is_ground(term_of(each)) for each in parts)


def _value_or_open(term: Term) -> Value:
    """The value of a term; a variable, or what has one, stands for itself."""
    return value(term) if is_ground(term) else cast("Value", term)


def _length(span: Interval, end: int) -> int:
    """How long an interval is; an open one is measured to the end of the run."""
    return (end if span[1] >= INFINITY else span[1]) - span[0]


def _intersected(inputs: list[list[Interval]]) -> list[Interval]:
    left = inputs[0]
    for right in inputs[1:]:
        pieces = [(max(a, c), min(b, d)) for a, b in left for c, d in right]
        left = sorted(span for span in pieces if span[0] < span[1])
    return left


def _without(spans: list[Interval], inputs: list[list[Interval]]) -> list[Interval]:
    for start, end in united([span for each in inputs for span in each]):
        pieces = [p for a, b in spans for p in ((a, min(b, start)), (max(a, end), b))]
        spans = sorted({(a, b) for a, b in pieces if a < b})
    return spans


def _is_ready(literal: StaticLiteral, proof: StaticProof) -> bool:
    if isinstance(literal, IntervalOperation):
        return all(name in proof.lists for name in literal.inputs)
    if isinstance(literal, NotEmpty):
        return literal.intervals in proof.lists
    if isinstance(literal, Condition):
        return is_ready(literal, proof.bindings, [])
    return True


def _with(
    proof: StaticProof, bindings: Bindings, name: str, made: PairList | ComputedList
) -> StaticProof:
    return StaticProof(proof.rule, bindings, {**proof.lists, name: made}, proof.goals)
