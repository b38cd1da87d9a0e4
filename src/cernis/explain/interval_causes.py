"""Why a list of intervals has a point: the intervals it was made of, operation by operation."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from cernis.check.model import Relation
from cernis.explain.body_proofs import Unexplained, match_all, span_at, terms
from cernis.explain.explanation_tree import Reason
from cernis.explain.histories import Instance, Interval
from cernis.explain.point_texts import interval_text
from cernis.explain.static_proofs import ComputedList, PairList, StaticProof, is_related
from cernis.knowledge.ground_values import term_of
from cernis.syntax import show

if TYPE_CHECKING:
    from cernis.explain.causes import CauseTrees


class IntervalCauses:
    """Takes the intervals of statically determined fluents apart."""

    def __init__(self, causes: CauseTrees) -> None:
        self._causes = causes

    def reasons(
        self, relation: Relation, instance: Instance, time: int, span: Interval, depth: int
    ) -> list[Reason]:
        """Why a pair that a rule over intervals defines holds at a point."""
        actual = (*terms(instance[0]), term_of(instance[1]))
        try:
            for rule in self._causes.definitions.statics:
                known = (
                    match_all((*rule.pair.args, rule.pair.value), actual, {})
                    if rule.pair.relation == relation
                    else None
                )
                for proof in () if known is None else self._causes.statics.prove(rule, known):
                    if proof.failed is None and _contains(proof, rule.output, time):
                        return [self._by_rule(proof, time, depth)]
        except Unexplained as trouble:
            return [
                self._causes.unexplained(
                    str(trouble), span[0], min(span[1], self._causes.history.end)
                )
            ]
        return [
            self._causes.unexplained(
                "this interval", span[0], min(span[1], self._causes.history.end)
            )
        ]

    def _by_rule(self, proof: StaticProof, time: int, depth: int) -> Reason:
        rule = proof.rule
        hidden = set(proof.lists)
        reason = self._causes.rule_reason(rule.span, proof.bindings, hidden)
        reason.reasons += [self._causes.goal(each, proof.bindings) for each in proof.goals]
        reason.reasons += self._list(proof, rule.output, time, None, depth + 1)
        return reason

    def _list(
        self, proof: StaticProof, name: str, time: int, over: Interval | None, depth: int
    ) -> list[Reason]:
        """Why a list has a point, or, if `over` is an interval, has all of it."""
        part = proof.lists[name]
        if isinstance(part, PairList):
            relation = part.literal.pair.relation
            if over is None:
                return [self._causes.pair(relation, part.instance, time, depth)]
            pieces = _pieces_within(part.spans, (over[0], min(over[1], self._causes.history.end)))
            return [
                self._causes.pair(relation, part.instance, start, depth, until)
                for start, until in pieces
            ]
        operator = part.literal.operator
        if part.spans is None:
            return [self._operator_note(part), *self._operands(proof, part, depth)]
        if operator == "union_all" and over is None:
            chosen = next(each for each in part.inputs if _contains(proof, each, time))
            return self._list(proof, chosen, time, None, depth)
        if operator in ("union_all", "intersect_all"):
            lists = (self._list(proof, each, time, over, depth) for each in part.inputs)
            return list(chain.from_iterable(lists))
        is_chosen = operator.startswith("intDur") or part.literal.filter is not None
        if is_chosen or operator == "allen":
            points = [time] if over is None else [p for p, _ in _pieces_within(part.spans, over)]
            one = self._duration if is_chosen else self._allen
            return [reason for each in points for reason in one(proof, part, each, depth)]
        present = part.inputs[:1] if operator == "relative_complement_all" else ()
        reasons = [r for each in present for r in self._list(proof, each, time, over, depth)]
        for each in part.inputs[len(present) :]:
            reasons += self._absent_list(proof, each, time, depth)
        return reasons

    def _duration(
        self, proof: StaticProof, part: ComputedList, time: int, depth: int
    ) -> list[Reason]:
        span = span_at(part.spans or [], time)
        assert span is not None
        if part.literal.filter is not None:
            source = self._causes.source_text(part.literal.span)
            text = f"{interval_text(span)} is one of {source}"
        else:
            word = "longer" if part.literal.operator == "intDurGreater" else "shorter"
            text = f"{interval_text(span)} is {word} than {show(part.parameters[0])}"
        reason = Reason("condition", text, self._causes.place(part.literal.span), interval=span)
        reason.reasons += self._whole(proof, part.inputs[0], span, depth + 1)
        return [reason]

    def _allen(self, proof: StaticProof, part: ComputedList, time: int, depth: int) -> list[Reason]:
        """Two intervals that stand in a relation; of those that do, some that have the point."""
        relation, mode, *closed = (show(each).strip("'") for each in part.parameters)
        tick = self._causes.history.tick if closed else 0
        pairs = [
            (s, t) for s in part.related[0] for t in part.related[1]
            if is_related(relation, s, t, tick)
        ]  # fmt: skip
        wanted = {"source": (0,), "target": (1,), "intersect": (0, 1), "complement": (0,),
                  "complement_inv": (1,)}.get(mode, ())  # fmt: skip
        reasons: list[Reason] = []
        for side in wanted or _sides_with(pairs, time):
            source, target = next(pair for pair in pairs if span_at([pair[side]], time))
            text = f"{interval_text(source)} {relation} {interval_text(target)}"
            place = self._causes.place(part.literal.span)
            reason = Reason("condition", text, place, interval=source)
            if any(each.text == text for each in reasons):
                continue
            for name, span in zip(part.inputs, (source, target), strict=True):
                reason.reasons += self._whole(proof, name, span, depth + 1)
            reasons.append(reason)
        return reasons

    def _whole(self, proof: StaticProof, name: str, span: Interval, depth: int) -> list[Reason]:
        """Why a list has an interval, its end included."""
        reasons = self._list(proof, name, span[0], span, depth)
        part = proof.lists[name]
        if isinstance(part, PairList):
            relation = part.literal.pair.relation
            reasons += self._causes.ended_reasons(relation, part.instance, span, depth)
        return reasons

    def _absent_list(self, proof: StaticProof, name: str, time: int, depth: int) -> list[Reason]:
        part = proof.lists[name]
        if isinstance(part, PairList):
            relation = part.literal.pair.relation
            return [self._causes.absent_pair(relation, part.instance, time, depth)]
        lists = (self._absent_list(proof, each, time, depth) for each in part.inputs)
        return list(chain.from_iterable(lists))

    def _operands(self, proof: StaticProof, part: ComputedList, depth: int) -> list[Reason]:
        reasons: list[Reason] = []
        for name in part.inputs:
            spans = proof.lists[name].spans
            for start, end in (spans or [])[-3:]:
                reasons += self._list(proof, name, start, (start, end), depth + 1)
        return reasons

    def _operator_note(self, part: ComputedList) -> Reason:
        text = f"{part.literal.operator} is not taken apart yet; it rests on its operands:"
        return Reason("note", text, self._causes.place(part.literal.span))


def _contains(proof: StaticProof, name: str, time: int) -> bool:
    spans = proof.lists[name].spans
    return spans is None or span_at(spans, time) is not None


def _sides_with(pairs: list[tuple[Interval, Interval]], time: int) -> tuple[int, ...]:
    """The first side of some pair that has a point."""
    sides = (side for side in (0, 1) for pair in pairs if span_at([pair[side]], time))
    return (next(sides),)


def _pieces_within(spans: list[Interval], over: Interval) -> list[Interval]:
    """The part of each interval that is within another one."""
    return [
        (max(start, over[0]), min(end, over[1]))
        for start, end in spans
        if start < over[1] and end > over[0]
    ]
