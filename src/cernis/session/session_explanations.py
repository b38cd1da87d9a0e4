"""Explains what a session answers, from the records that its window holds.

The records are those of the working memory, so they have no lines any more. What rests on records
that the window has forgotten is said to do so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cernis.errors import DataError
from cernis.explain.explaining import RunLimits, explain, last_span_point
from cernis.explain.explanation_tree import Explanation, Reason
from cernis.explain.histories import Interval, decoded_rows, formed
from cernis.explain.point_texts import interval_text, point_asked, point_text
from cernis.explain.questions import Question, read_question
from cernis.explain.reachable_records import is_any_of
from cernis.explain.uncertain_explanations import explain_uncertain
from cernis.kernels.array_types import Array, Booleans
from cernis.knowledge.ground_values import value
from cernis.records.record_columns import (
    Coded,
    Column,
    RecordColumns,
    RecordForm,
    RecordKind,
    Records,
    SourceLines,
)
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import INFINITY

if TYPE_CHECKING:
    from cernis.check.model import Relation
    from cernis.evaluate.working_memory import WorkingMemory
    from cernis.plan.builder import Plan
    from cernis.session.session import Session


class WindowLines(SourceLines):
    """In place of sources: records of a window have no lines."""

    def line(self, place: int) -> tuple[str, int]:
        """The window; a record in it has no line."""
        return "window", 0


@dataclass(frozen=True, slots=True)
class WindowAnswer:
    """What is known of an answer where only the records of its window are left."""

    records: Records
    """The records of the window."""
    spans: list[Interval]
    """The intervals that the pair of the question has in the answer."""
    edge: int
    """The last point whose records are forgotten."""
    is_forgotten: bool
    """Has anything been forgotten yet?"""
    is_uncertain: bool = False
    """May records be uncertain?"""


def explain_session(session: Session, text: str, time: int | str | None) -> Explanation:
    """Why a pair holds at a time in the answer of a session, or why not; or an event."""
    if session.last is None or session.start is None:
        raise DataError("the session has answered no query yet: ask after `query`")
    question = read_question(text, session.written_plan.checked)
    edge = max(session.start, session.edge(session.last))
    limits = RunLimits(start=edge, end=session.last, tick=session.tick, ties=session.ties)
    is_uncertain = session.uncertain_input is not None
    known = WindowAnswer(
        window_records(session.memory, session.dated),
        [] if is_uncertain else answer_spans(session, question), edge, edge > session.start,
        is_uncertain,
    )  # fmt: skip
    return explain_window(session.written_plan, question, time, known, limits, session.times.text)


def explain_window(
    plan: Plan, question: Question, time: int | str | None, known: WindowAnswer,
    limits: RunLimits, show_time: Callable[[int], str],
) -> Explanation:  # fmt: skip
    """Explain an answer from the records of its window; what rests on others is said to do so."""
    assert limits.end is not None
    if isinstance(time, str):
        time = point_asked(time, plan.checked.definitions.settings.time, limits.end)
    if time is None and question.value is not None and not known.is_uncertain:
        time = last_span_point(known.spans, limits.end)
    if known.is_uncertain:
        return _uncertain_in_window(plan, question, time, known, limits, show_time)
    explanation = explain(plan, known.records, str(question), time, limits, show_time)
    if question.value is not None and known.is_forgotten:
        _tell_forgotten(explanation, known.spans, known.edge)
        explanation.write_times(show_time)
    return explanation


def _uncertain_in_window(
    plan: Plan, question: Question, time: int | None, known: WindowAnswer, limits: RunLimits,
    show_time: Callable[[int], str],
) -> Explanation:  # fmt: skip
    explanation = explain_uncertain(plan, known.records, str(question), time, limits, show_time)
    if known.is_forgotten:
        text = (
            f"records up to {point_text(known.edge)}, which the window has forgotten, are not seen"
        )
        explanation.tree.reasons.append(Reason("forgotten", text))
        explanation.write_times(show_time)
    return explanation


def _tell_forgotten(explanation: Explanation, spans: list[Interval], edge: int) -> None:
    """Say where the answer of the session rests on records that the window has forgotten."""
    span = next((s for s in spans if s[0] <= explanation.time < s[1]), None)
    if span == explanation.tree.interval and (span is not None) == explanation.holds:
        return
    text = f"it rests on records up to {point_text(edge)}, which the window has forgotten"
    forgotten = Reason("forgotten", text)
    if span is not None and not explanation.holds:
        tree = Reason(
            "pair", f"{explanation.question} holds on {interval_text(span)}", interval=span
        )
        ended = [each for each in explanation.tree.reasons if each.kind == "ended"]
        tree.reasons = [forgotten, *ended]
        explanation.tree, explanation.holds = tree, True
    elif span is not None:
        explanation.tree.text += f"; since {point_text(span[0])} in the answer of the session"
        explanation.tree.reasons.append(forgotten)
    elif explanation.holds:
        text = f"{explanation.question} does not hold at {point_text(explanation.time)}"
        explanation.tree = Reason("pair", text, reasons=[
            Reason("note", "the records of the window alone would make it hold"), forgotten,
        ])  # fmt: skip
        explanation.holds = False


def window_records(memory: WorkingMemory, dated: bool = False) -> Records:
    """The records that a working memory holds, as an input."""
    parts: dict[RecordForm, RecordColumns] = {}
    count = 0
    for relation, store in memory.stores.items():
        rows = store.rows(store.shelf.everything())
        columns = [_column(*each) for each in zip(rows.arguments, store.domains, strict=True)]
        places = np.arange(count + 1, count + len(rows) + 1)
        count += len(rows)
        if not len(rows):
            continue
        if not store.has_intervals:
            times = rows.columns[0]
            form = RecordForm(relation, RecordKind.EVENT)
            chances = rows.columns[-1] if memory.has_chances else None
            parts[form] = RecordColumns(form, [times, times], columns, places, chances=chances)
            continue
        starts, ends, values, is_point = rows.columns[:4]
        held = _column(values, store.value_domain)
        whole = RecordColumns(
            RecordForm(relation, RecordKind.INTERVAL), [starts, starts, ends], [held, *columns],
            places, chances=rows.columns[-1] if memory.has_chances else None,
        )  # fmt: skip
        _add_fluent(parts, relation, whole, is_point == 1)
    return Records(parts, count=count, sources=WindowLines(), dated=dated)


def _add_fluent(
    parts: dict[RecordForm, RecordColumns], relation: Relation, whole: RecordColumns,
    is_point: Booleans,
) -> None:  # fmt: skip
    if is_point.any():
        form = RecordForm(relation, RecordKind.POINT)
        points = whole.take(is_point)
        parts[form] = replace(points, form=form, times=points.times[:2])
    if not is_point.all():
        parts[whole.form] = whole.take(~is_point)


def _column(data: Array, domain: Domain | None) -> Column:
    return data if domain is None else Coded(domain.values, data)


def answer_spans(session: Session, question: Question) -> list[Interval]:
    """The intervals of a pair in the answer of a session."""
    table = session.evaluator.answer().fluents.get(question.relation)
    if table is None or question.value is None:
        return []
    chosen = np.ones(len(table), np.bool_)
    wanted = (*map(value, question.args), value(question.value))
    for (data, domain), each in zip(table.columns(), wanted, strict=True):
        chosen &= is_any_of(_column(data, domain), [each])
    groups = np.flatnonzero(chosen)
    rows = decoded_rows([(data[groups], domain) for data, domain in table.columns()], len(groups))
    spans: list[Interval] = []
    for group, row in zip(groups.tolist(), rows, strict=True):
        if formed(row) == formed(wanted):
            low, high = int(table.offsets[group]), int(table.offsets[group + 1])
            starts, ends = table.starts[low:high].tolist(), table.ends[low:high].tolist()
            spans += zip(starts, ends, strict=True)
    return [(start, min(end, INFINITY)) for start, end in spans]
