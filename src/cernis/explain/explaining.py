"""Explains: cuts records to those that matter, evaluates them again, and asks for causes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cernis.check.checker import Checked
from cernis.evaluate.answer import Answer
from cernis.evaluate.query_loop import garbage_collection_paused
from cernis.evaluate.run import Run
from cernis.explain.body_proofs import span_at, terms
from cernis.explain.causes import CauseTrees
from cernis.explain.explanation_tree import Explanation, Reason
from cernis.explain.histories import History, Interval, formed
from cernis.explain.misses import Misses
from cernis.explain.phrase_causes import with_timers
from cernis.explain.point_texts import point_asked
from cernis.explain.questions import Question, read_question
from cernis.explain.reachable_records import pattern_relations, reachable
from cernis.explain.replays import missing_reason, missing_records, only
from cernis.explain.traces.traced_rules import traced
from cernis.knowledge.ground_values import Value, same, value
from cernis.plan.builder import Plan, make_plan
from cernis.records.record_columns import Records


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The run whose answer is explained: its windows and its bounds; None as in a run."""

    window: int | None = None
    step: int | None = None
    start: int | None = None
    end: int | None = None
    tick: int | None = None
    ties: str | None = None


def explain(
    plan: Plan, records: Records, text: str, time: int | str | None = None,
    limits: RunLimits | None = None, show_time: Callable[[int], str] = str,
) -> Explanation:  # fmt: skip
    """Why a pair held, or an event happened, at a time-point; or why not.

    Without a time, it is the last point at which it did, or the end of the run. A time of day is
    the last one up to the end of the run. Only the records that rules can reach from the question
    are evaluated again.
    """
    with garbage_collection_paused():
        return _explained(plan, records, text, time, limits or RunLimits(), show_time)


def _explained(
    plan: Plan, records: Records, text: str, time: int | str | None, limits: RunLimits,
    show_time: Callable[[int], str],
) -> Explanation:  # fmt: skip
    question = read_question(text, plan.checked)
    history = history_of(plan, records, question, limits)
    if isinstance(time, str):
        time = point_asked(time, plan.checked.definitions.settings.time, history.end)
    point = last_point(history, question) if time is None else time
    explanation = explain_history(history, question, point, records, limits)
    within = replace(limits, start=history.start, end=history.end)

    def gives_answer(numbers: set[int]) -> bool:
        again = _evaluated(plan, only(history.records, numbers), question, within)
        return is_true(again, question, point)

    if explanation.holds:
        _complete(explanation, history, gives_answer)
        explanation.check = gives_answer
    explanation.write_times(show_time)
    return explanation


def _complete(
    explanation: Explanation, history: History, gives_answer: Callable[[set[int]], bool]
) -> None:
    """Let the records that an explanation names be enough to give its answer again."""
    named = {record.number for record in explanation.records}
    if not gives_answer(named):
        others = [each for each in history.all_records() if each.number not in named]
        others.sort(key=lambda each: each.start)
        missing = missing_records(named, others, gives_answer)
        explanation.tree.reasons.append(missing_reason(missing))


def history_of(plan: Plan, records: Records, question: Question, limits: RunLimits) -> History:
    """Evaluate the records that a question can reach, within the bounds of the whole run."""
    tick = limits.tick or plan.checked.definitions.settings.tick
    first, last = records.first, records.last(tick)
    start = limits.start
    if start is None:
        start = (tick if first is None else first) - tick
    end = limits.end if limits.end is not None else start if last is None else last
    within = replace(limits, start=start, end=max(start, end))
    return _evaluated(plan, reachable(plan, records, question), question, within)


def _evaluated(plan: Plan, near: Records, question: Question, limits: RunLimits) -> History:
    """Evaluate records that a question can reach, between bounds."""
    start, end = limits.start, limits.end
    assert start is not None
    assert end is not None

    def evaluate(other: Plan) -> Answer:
        run = Run(with_timers(other), limits.tick, limits.ties)
        return run.over(near, start, end, limits.window, limits.step)

    patterns = pattern_relations(plan, question)
    program = traced(plan.checked, patterns) if patterns else None
    answer = evaluate(plan if program is None else make_plan(program.checked))
    traces = () if program is None else program.rules
    tick = limits.tick or plan.checked.definitions.settings.tick
    return History(plan, near, answer, start, end, tick, traces, evaluate)


def explain_history(
    history: History, question: Question, time: int, records: Records | None = None,
    limits: RunLimits | None = None,
) -> Explanation:  # fmt: skip
    """Explain a question at a time-point from the history of its entities."""
    causes = CauseTrees(history)
    args = tuple(map(value, question.args))
    tree = _event_tree(causes, question, time) if question.value is None else None
    if question.value is not None and is_held(history, question, time):
        instance = args, value(question.value)
        tree = causes.pair(question.relation, instance, time)
        span = tree.interval
        if span is not None:
            tree.reasons += causes.ended_reasons(question.relation, instance, span, 0)
    if tree is not None:
        return Explanation(str(question), time, True, tree)
    within = replace(limits or RunLimits(), start=history.start, end=history.end)

    def would_hold(checked: Checked, moved: Records | None) -> bool:
        other = history.plan if moved is not None else make_plan(checked)
        until = within if moved is None else replace(within, end=max(history.end, time))
        changed = history_of(other, moved or history.records, question, until)
        return is_true(changed, question, time)

    reason = Misses(causes, records, would_hold).tree(question, time)
    return Explanation(str(question), time, False, reason)


def is_true(history: History, question: Question, time: int) -> bool:
    """Does the pair of a question hold at a point, or its event happen?"""
    if question.value is not None:
        return is_held(history, question, time)
    happenings = history.events_at(question.relation, time)
    return any(all(map(same, terms(each.args), question.args)) for each in happenings)


def is_held(history: History, question: Question, time: int) -> bool:
    """Does the pair of a question hold at a point?"""
    assert question.value is not None
    instance = tuple(map(value, question.args)), value(question.value)
    return span_at(history.fluent(question.relation).get(instance), time) is not None


def _event_tree(causes: CauseTrees, question: Question, time: int) -> Reason | None:
    for happening in causes.history.events_at(question.relation, time):
        if all(map(same, terms(happening.args), question.args)):
            return causes.event(question.relation, happening)
    return None


def last_point(history: History, question: Question) -> int:
    """The last point at which a question is true, or the end of the run if there is none."""
    args: tuple[Value, ...] = tuple(map(value, question.args))
    if question.value is None:
        times = [
            each.time
            for each in history.events(question.relation)
            if formed(each.args) == formed(args)
        ]
        return max(times, default=history.end)
    spans = history.fluent(question.relation).get((args, value(question.value)))
    return last_span_point(spans, history.end)


def last_span_point(spans: list[Interval], end: int) -> int:
    """The last point of some intervals up to an end; the end itself if there is none."""
    last = max(spans, default=None)
    return end if last is None else max(last[0], min(last[1] - 1, end))
