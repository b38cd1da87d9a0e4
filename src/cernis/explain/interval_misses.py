"""Why not, for rules over intervals: which lists have the point, and what took it away."""

from __future__ import annotations

from collections.abc import Iterator

from cernis.check.model import Condition, StaticRule
from cernis.explain.body_proofs import Unexplained, match_all, span_at, terms
from cernis.explain.causes import CauseTrees
from cernis.explain.explanation_tree import Reason
from cernis.explain.phrase_causes import held_so_far, is_ground_pair, timer_of
from cernis.explain.point_texts import interval_text, point_text
from cernis.explain.questions import Question
from cernis.explain.static_proofs import ComputedList, PairList, StaticProof
from cernis.knowledge.ground_values import term_of
from cernis.syntax import show
from cernis.tables.interval_tables import INFINITY

_MOST_SHOWN = 3
"""Of so many ways in which a rule could have given a point something is said, the nearest ones."""


def interval_misses(
    causes: CauseTrees, rule: StaticRule, question: Question, time: int
) -> Iterator[Reason]:
    """Why a rule over intervals does not give a pair at a point."""
    yield from _IntervalMisses(causes).reasons(rule, question, time)


class _IntervalMisses:
    def __init__(self, causes: CauseTrees) -> None:
        self._causes = causes
        self._history = causes.history

    def reasons(self, rule: StaticRule, question: Question, time: int) -> Iterator[Reason]:
        assert question.value is not None
        known = match_all((*rule.pair.args, rule.pair.value), (*question.args, question.value), {})
        if known is None:
            return
        reason = Reason("rule", "the rule does not give this point", self._causes.place(rule.span))
        try:
            proofs = list(self._causes.statics.prove(rule, known))
        except Unexplained as trouble:
            reason.reasons.append(Reason("note", f"not explained yet: {trouble}"))
            proofs = []
        full = [proof for proof in proofs if proof.failed is None]
        nearest = sorted(full or proofs, key=lambda proof: _distance(proof, time))
        for proof in nearest[:_MOST_SHOWN]:
            reason.reasons += self._static_miss(proof, time)
        yield reason

    def _static_miss(self, proof: StaticProof, time: int) -> Iterator[Reason]:
        if proof.failed is not None:
            failed = proof.failed
            if isinstance(failed, Condition):
                text = self._causes.literal_text(failed, proof.bindings)
                yield Reason("failed", f"failed: {text} is not true")
            else:
                text = self._history.plan.checked.sources.text(failed.span)
                yield Reason("failed", f"failed: {text}")
        removed = _removed(proof)
        for title, part in proof.lists.items():
            if isinstance(part, PairList):
                yield self._timer(part, time) or self._operand(part, time, title in removed)
            else:
                yield from self._operation(proof, part, time)

    def _timer(self, part: PairList, time: int) -> Reason | None:
        """That a pair has not held for long enough, if that is what is asked for."""
        args, held = part.instance
        definitions, relation = self._causes.definitions, part.literal.pair.relation
        timer = timer_of(definitions, relation, terms(args), term_of(held))
        if timer is None or not is_ground_pair(timer.about):
            return None
        if any(start <= time < end for start, end in part.spans):
            return None
        name = self._causes.name(timer.about.relation, timer.instance)
        return Reason("failed", f"{name} {held_so_far(timer, self._history, time)}")

    def _operand(self, part: PairList, time: int, is_removed: bool) -> Reason:
        name = self._causes.name(part.literal.pair.relation, part.instance)
        holds = any(start <= time < end for start, end in part.spans)
        if is_removed:
            if holds:
                return Reason("failed", f"{name} holds, and the rule takes it away")
            return Reason("condition", f"{name} does not hold, as the rule asks")
        if holds:
            return Reason("condition", f"{name} holds")
        reason = Reason("failed", f"{name} does not hold")
        if part.spans:
            near = min(part.spans, key=lambda s: max(s[0] - time, time - s[1] + 1))
            text = f"; the nearest interval is [{point_text(near[0])},{point_text(near[1])})"
            reason.text += text
        return reason

    def _operation(self, proof: StaticProof, part: ComputedList, time: int) -> Iterator[Reason]:
        """An interval that has the point, and that an operation left out."""
        inputs = [proof.lists[name].spans or [] for name in part.inputs]
        span = span_at(inputs[0], time) if inputs else None
        if span is None or part.spans is None or span_at(part.spans, time):
            return
        place = self._causes.place(part.literal.span)
        if part.literal.operator in ("intDurGreater", "intDurLess"):
            end = self._history.end
            length = (end if span[1] >= INFINITY else span[1]) - span[0]
            word = "longer" if part.literal.operator == "intDurGreater" else "shorter"
            text = f"{interval_text(span)} is {length} long, not {word} than"
            yield Reason("failed", f"failed: {text} {show(part.parameters[0])}", place)
        elif part.literal.filter is not None:
            conditions = ", ".join(
                self._causes.source_text(each.span) for each in part.literal.filter.conditions
            )
            text = f"failed: {conditions} is not true of {interval_text(span)}"
            yield Reason("failed", text, place)
        elif part.literal.operator == "allen":
            relation = show(part.parameters[0])
            others = ", ".join(map(interval_text, inputs[1][-5:])) or "none"
            text = f"failed: {interval_text(span)} {relation} no interval of {others}"
            yield Reason("failed", text, place)


def _distance(proof: StaticProof, time: int) -> int:
    """How far from a point the intervals of a rule's pairs are, all in all."""
    total = 0
    for part in proof.lists.values():
        if isinstance(part, PairList):
            gaps = (max(start - time, time - end + 1, 0) for start, end in part.spans)
            total += min(gaps, default=1 << 60)
    return total


def _removed(proof: StaticProof) -> set[str]:
    """The lists whose points a rule takes away from others."""
    removed: set[str] = set()
    for title, part in reversed(list(proof.lists.items())):
        if not isinstance(part, PairList):
            operator = part.literal.operator
            first = {"relative_complement_all": 1, "complement_all": 0}.get(operator)
            if first is not None:
                removed.update(part.inputs[first:])
            elif title in removed:
                removed.update(part.inputs)
    return removed
