"""Why not: for each rule that could have made it, how far it came, and what it missed by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cernis.check.catalogue import pattern_head
from cernis.check.checker import Checked
from cernis.check.model import (
    Boundary,
    ChangeRule,
    Condition,
    EventRule,
    Happens,
    Holds,
    Literal,
    Relation,
    StaticRule,
)
from cernis.errors import KnowledgeError
from cernis.explain.body_proofs import Bindings, Failure, Unexplained, match_all, terms
from cernis.explain.causes import CauseTrees
from cernis.explain.explanation_tree import Reason
from cernis.explain.histories import Instance, formed
from cernis.explain.interval_misses import interval_misses
from cernis.explain.patterns.pattern_misses import pattern_misses
from cernis.explain.phrase_causes import came_in_time
from cernis.explain.point_texts import point_text
from cernis.explain.question_faults import (
    after_run,
    before_run,
    unknown_value,
    unnamed_arguments,
)
from cernis.explain.questions import Question
from cernis.explain.record_moves import smallest_move
from cernis.explain.smallest_changes import constant_changes, fact_changes
from cernis.knowledge.ground_values import is_ground, term_of, value
from cernis.knowledge.terms import substitute
from cernis.records.record_columns import Records
from cernis.syntax import show
from cernis.syntax.tree import Compound, Number, Variable

_MOST_POINTS = 2000
"""So many points, the latest ones, are looked at for each rule."""

_NUMERIC = ("<", ">", "=<", ">=", "=:=")


@dataclass(frozen=True, slots=True)
class Attempt:
    """How far a rule came at a point."""

    time: int
    failure: Failure
    gap: float | None = None
    """By how much the comparison that failed missed."""

    @property
    def rank(self) -> tuple[int, float, int]:
        """Attempts that came farther rank higher, then those that missed by less, then later."""
        gap = float("inf") if self.gap is None else self.gap
        return len(self.failure.supports), -gap, self.time


class Misses:
    """Explains why a pair does not hold, or an event does not happen."""

    def __init__(
        self, causes: CauseTrees, records: Records | None = None,
        would_hold: Callable[[Checked, Records | None], bool] | None = None,
    ) -> None:  # fmt: skip
        self._would_hold = would_hold
        self._causes = causes
        self._history = causes.history
        self._records = records

    def tree(self, question: Question, time: int) -> Reason:
        """Why a question is not true at a point."""
        verb = "does not happen at" if question.is_event else "does not hold at"
        tree = Reason("pair", f"{question} {verb} {point_text(time)}")
        before = before_run(self._history, time)
        if before is not None:
            tree.reasons.append(before)
            return tree
        checked = self._history.plan.checked
        tree.reasons += unnamed_arguments(self._records, checked, question.args)
        tree.reasons += unknown_value(checked.definitions, question)
        if question.value is None:
            tree.reasons += self._event(question, time)
        else:
            tree.reasons += self._pair(question, time)
        tree.reasons += after_run(self._history, time)
        tree.reasons += self._set_aside(question)
        return tree

    def _pair(self, question: Question, time: int) -> Iterator[Reason]:
        assert question.value is not None
        relation = question.relation
        instance = tuple(map(value, question.args)), value(question.value)
        before = [s for s in self._history.fluent(relation).get(instance) if s[1] <= time]
        if before:
            yield from self._causes.ended_reasons(relation, instance, before[-1], 0)
        since = before[-1][1] - self._history.tick if before else self._history.start
        yield from self._grounding(question)
        definitions = self._causes.definitions
        is_defined = False
        for rule in definitions.changes:
            if rule.initiates and rule.pair.relation == relation:
                is_defined = True
                yield from self._change(rule, question, since, time)
        for static in definitions.statics:
            if static.pair.relation == relation:
                is_defined = True
                yield from interval_misses(self._causes, static, question, time)
        if not is_defined:
            yield self._no_record(question, relation, instance, time)

    def _no_record(
        self, question: Question, relation: Relation, instance: Instance, time: int
    ) -> Reason:
        known = [
            r
            for r in self._history.records_of(relation)
            if formed((r.args, r.value)) == formed(instance)
        ]
        if not known:
            return Reason("failed", f"no record says that {question}")
        near = min(known, key=lambda r: min(abs(r.start - time), abs(r.end - time)))
        return Reason("miss", f"the nearest record is {near.text}", near.place, record=near)

    def _event(self, question: Question, time: int) -> Iterator[Reason]:
        rules = [
            r for r in self._causes.definitions.events if r.event.relation == question.relation
        ]
        for rule in rules:
            known = match_all(rule.event.args, question.args, {})
            if known is None:
                yield self._unfit(rule)
                continue
            attempts = self._attempts(rule, known, time - self._history.tick, time)
            yield self._rule(question, rule, attempts, known, time - self._history.tick, time)
        patterns = [
            r for r in self._causes.definitions.patterns
            if pattern_head(r).relation == question.relation
        ]  # fmt: skip
        for pattern in patterns:
            yield pattern_misses(self._causes.patterns, pattern, question.args, time)
        happenings = self._history.events(question.relation)
        times = [h.time for h in happenings if terms(h.args) == question.args]
        if times:
            near = min(times, key=lambda each: abs(each - time))
            yield Reason("miss", f"the nearest one happens at {point_text(near)}")
        elif not rules and not patterns:
            yield Reason("failed", f"no {question} happens at any time")

    def _change(
        self, rule: ChangeRule, question: Question, since: int, time: int
    ) -> Iterator[Reason]:
        assert question.value is not None
        known = match_all((*rule.pair.args, rule.pair.value), (*question.args, question.value), {})
        if known is None:
            # Rules for other values of the fluent could not have made it.
            return
        yield self._rule(
            question, rule, self._attempts(rule, known, since, time - 1), known, since, time
        )

    def _unfit(self, rule: EventRule) -> Reason:
        return Reason("failed", "the head of the rule is about other arguments", self._place(rule))

    def _rule(
        self, question: Question, rule: ChangeRule | EventRule, attempts: list[Attempt],
        bindings: Bindings, since: int, time: int,
    ) -> Reason:  # fmt: skip
        reason = Reason("rule", "the rule did not fire", self._place(rule))
        fired = [each for each in attempts if each.failure.literal is None]
        if fired:
            last = fired[-1].time
            reason.text = f"the rule fired at {point_text(last)}, but something broke it there"
            reason.reasons += self._broken(rule, question, last)
        elif attempts:
            reason.reasons += self._best(max(attempts, key=lambda each: each.rank), attempts)
        else:
            first = next((x for x in rule.body if not isinstance(x, Condition)), rule.body[0])
            name = self._causes.literal_text(first, bindings)
            definitions = self._causes.definitions
            text = came_in_time(definitions, self._history, first, bindings, time)
            if text is not None:
                reason.reasons.append(Reason("failed", text))
                return reason
            when = f"after {point_text(since)} and before {point_text(time)}"
            if isinstance(rule, EventRule):
                when = f"at {point_text(time)}"
            text = f"no {name} {when}"
            reason.reasons.append(Reason("failed", text))
            reason.reasons += self._nearest(first, bindings, since, time)
        if not fired:
            first_point = since + self._history.tick if isinstance(rule, EventRule) else since
            last_point = time + self._history.tick if isinstance(rule, EventRule) else time
            reason.reasons += self._move(rule, bindings, first_point, last_point)
        return reason

    def _broken(
        self, rule: ChangeRule | EventRule, question: Question, point: int
    ) -> Iterator[Reason]:
        if isinstance(rule, ChangeRule) and question.value is not None:
            instance = tuple(map(value, question.args)), value(question.value)
            made = self._causes.termination(question.relation, instance, point, 1)
            if made:
                made.text = f"broken at the same point, {point_text(point)}: {made.text}"
                yield made

    def _attempts(
        self, rule: ChangeRule | EventRule, bindings: Bindings, since: int, last: int
    ) -> list[Attempt]:
        """How far a rule came at each point after `since` and up to `last`, in order."""
        points = [p for p in self._points(rule.body, bindings) if since < p <= last]
        attempts = []
        for point in points[-_MOST_POINTS:]:
            failure = Failure()
            bound = {**bindings, rule.time: term_of(point)}
            try:
                if next(self._causes.prover.prove(rule.body, bound, point, failure), None):
                    failure = Failure()
            except Unexplained:
                continue
            attempts.append(Attempt(point, failure, self._gap(failure)))
        return attempts

    def _points(self, body: tuple[Literal, ...], bindings: Bindings) -> list[int]:
        """The points at which the first positive literal over time of a body is true."""
        for literal in body:
            if isinstance(literal, Happens) and not literal.negated:
                return sorted(
                    {
                        each.time
                        for each in self._history.events(literal.event.relation)
                        if match_all(literal.event.args, terms(each.args), bindings) is not None
                    }
                )
            if isinstance(literal, Boundary) and not literal.negated:
                return sorted(set(self._edges(literal, bindings)))
        return sorted({record.start for record in self._history.all_records()})

    def _edges(self, literal: Boundary, bindings: Bindings) -> Iterator[int]:
        pair, tick = literal.pair, self._history.tick
        for (args, held), spans in self._history.fluent(pair.relation).items():
            actual = (*terms(args), term_of(held))
            if match_all((*pair.args, pair.value), actual, bindings) is not None:
                for start, end in spans:
                    yield {"end": end - tick, "startI": start}.get(literal.edge, start - tick)

    def _nearest(
        self, literal: Literal, bindings: Bindings, since: int, time: int
    ) -> Iterator[Reason]:
        points = (
            self._points((literal,), bindings) if isinstance(literal, (Happens, Boundary)) else []
        )
        if points:
            near = min(points, key=lambda p: max(since - p, p - time))
            yield Reason("miss", f"the nearest one is at {point_text(near)}")

    def _best(self, best: Attempt, attempts: list[Attempt]) -> Iterator[Reason]:
        failure = best.failure
        assert failure.literal is not None
        yield Reason("note", f"it came farthest at {point_text(best.time)}")
        for support in failure.supports:
            yield from self._causes.support(support, best.time, 58)
        text = self._causes.literal_text(failure.literal, dict(failure.bindings or {}))
        yield Reason("failed", f"failed: {self._failed_text(failure, text)}")
        if best.gap is not None:
            yield from self._miss(best, attempts)
            changes = list(self._change_of_fact(failure)) or list(self._change_of_rule(failure))
            yield from changes

    def _change_of_fact(self, failure: Failure) -> Iterator[Reason]:
        """The change of a fact that, as a run with it shows, would have made the answer."""
        left, right = self._sides(failure)
        if left is None or right is None or self._would_hold is None:
            return
        checked = self._history.plan.checked
        for change in fact_changes(failure, left, right, checked):
            if self._would_hold(change.apply(checked), None):
                before, after = show(change.before.head), show(change.after.head)
                place = self._causes.place(change.before.span)
                yield Reason("change", f"with {after} in place of {before}, it would hold", place)
                return

    def _change_of_rule(self, failure: Failure) -> Iterator[Reason]:
        """The change of a constant in the rule that would have made the answer, as a run shows."""
        left, right = self._sides(failure)
        if left is None or right is None or self._would_hold is None:
            return
        checked = self._history.plan.checked
        for change in constant_changes(failure, left, right):
            if self._would_hold(change.apply(checked), None):
                before, after = show(change.before.goal), show(change.after.goal)
                place = self._causes.place(change.before.span)
                yield Reason("change", f"with {after} in place of {before}, it would hold", place)
                return

    def _move(
        self, rule: ChangeRule | EventRule, bindings: Bindings, since: int, time: int
    ) -> Iterator[Reason]:
        """The smallest move of one record that would have made the answer, as a run shows."""
        would_hold = self._would_hold
        if would_hold is None:
            return
        checked = self._history.plan.checked
        move = smallest_move(
            self._history, rule.body, bindings, since, time,
            lambda records: would_hold(checked, records),
        )  # fmt: skip
        if move is not None:
            start = move.record.start + move.by
            text = f"with the record {move.record.text} at {point_text(start)}, it would hold"
            yield Reason("change", text, move.record.place)

    def _failed_text(self, failure: Failure, text: str) -> str:
        literal = failure.literal
        negated = getattr(literal, "negated", False)
        if isinstance(literal, Happens):
            return f"{text} happens" if negated else f"no {text} at this point"
        if isinstance(literal, Holds):
            return f"{text} holds" if negated else f"{text} does not hold"
        if isinstance(literal, Condition):
            return f"{text} is true" if negated else f"{text} is not true"
        return f"{text} happens" if negated else f"{text} does not happen"

    def _miss(self, best: Attempt, attempts: list[Attempt]) -> Iterator[Reason]:
        """The nearest miss of a comparison, over all attempts that failed there."""
        literal = best.failure.literal
        assert isinstance(literal, Condition)
        assert isinstance(literal.goal, Compound)
        same = [a for a in attempts if a.failure.literal is literal and a.gap is not None]
        left, right = self._sides(best.failure)
        assert left is not None
        assert right is not None
        first = point_text(same[0].time)
        yield Reason(
            "miss", f"no {show(literal.goal.args[0])} {literal.goal.functor} {_plain(right)} since "
            f"{first}; closest {_plain(left)} at {point_text(best.time)}",
        )  # fmt: skip

    def _gap(self, failure: Failure) -> float | None:
        left, right = self._sides(failure)
        return None if left is None or right is None else abs(left - right)

    def _sides(self, failure: Failure) -> tuple[float | None, float | None]:
        """The two numbers of a comparison that failed."""
        literal = failure.literal
        if not isinstance(literal, Condition) or literal.negated:
            return None, None
        goal = substitute(literal.goal, failure.bindings or {})
        if not isinstance(goal, Compound) or goal.functor not in _NUMERIC or not is_ground(goal):
            return None, None
        left, right = (self._number(each) for each in goal.args)
        return left, right

    def _number(self, term: object) -> float | None:
        goal = Compound("is", (Variable("X"), term))  # type: ignore[arg-type]
        try:
            answer = next(self._history.knowledge.solve(goal, 1), {})
        except KnowledgeError:
            return None
        found_number = answer.get("X")
        return found_number.value if isinstance(found_number, Number) else None

    def _grounding(self, question: Question) -> Iterator[Reason]:
        """Is the pair one that grounding keeps out?"""
        assert question.value is not None
        rules = [
            each for each in self._causes.definitions.groundings
            if each.entity.relation == question.relation
        ]  # fmt: skip
        for rule in rules:
            entity = rule.entity
            parts = (*entity.args, getattr(entity, "value", Variable("_")))
            known = match_all(parts, (*question.args, question.value), {})
            if known is None:
                continue
            body = tuple(Condition(goal, False) for goal in rule.goals)
            try:
                if next(self._causes.prover.prove(body, known, self._history.start), None):
                    return
            except Unexplained:
                return
        definitions = self._causes.definitions
        heads = {rule.pair.relation for rule in definitions.changes}
        heads |= {rule.pair.relation for rule in definitions.statics}
        # The grounding of input keeps nothing out.
        if rules and question.relation in heads:
            place = self._causes.place(rules[0].span)
            yield Reason("failed", f"no grounding allows {question}", place)

    def _set_aside(self, question: Question) -> Iterator[Reason]:
        """Records that could not be read and name an argument of the question."""
        names = {show(arg) for arg in question.args}
        for aside in self._records.set_aside if self._records else ():
            if names & set(aside.text.split("|")):
                yield Reason("note", f"set aside: {aside.text} ({aside.reason})", str(aside.line))

    def _place(self, rule: ChangeRule | EventRule | StaticRule) -> str:
        return self._causes.place(rule.span)


def _plain(number: float) -> str:
    return f"{number:g}" if isinstance(number, float) else str(number)
