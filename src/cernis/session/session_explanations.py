"""Explains what a session answers, from the records that its window holds.

The records are those of the working memory, so they have no lines any more. What rests on records
that the window has forgotten is said to do so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cernis.errors import DataError
from cernis.explain.explaining import RunLimits, explain, last_span_point
from cernis.explain.explanation_tree import Explanation, Reason
from cernis.explain.histories import Interval
from cernis.explain.point_texts import interval_text, point_text
from cernis.explain.questions import Question, read_question
from cernis.explain.reachable_records import is_any_of
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
    from cernis.session.session import Session


class WindowLines(SourceLines):
    """In place of sources: records of a window have no lines."""

    def line(self, place: int) -> tuple[str, int]:
        """The window; a record in it has no line."""
        return "window", 0


def explain_session(session: Session, text: str, time: int | None) -> Explanation:
    """Why a pair holds at a time in the answer of a session, or why not; or an event."""
    if session.last is None or session.start is None:
        raise DataError("the session has answered no query yet: ask after `query`")
    question = read_question(text, session.plan.checked)
    edge = max(session.start, session.edge(session.last))
    spans = _answer_spans(session, question)
    if time is None and question.value is not None:
        time = last_span_point(spans, session.last)
    limits = RunLimits(start=edge, end=session.last, tick=session.tick, ties=session.ties)
    records = window_records(session.memory, session.dated)
    explanation = explain(session.plan, records, text, time, limits, session.times.text)
    if question.value is not None and edge > session.start:
        _tell_forgotten(explanation, spans, edge)
        explanation.write_times(session.times.text)
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
            parts[form] = RecordColumns(form, [times, times], columns, places)
            continue
        starts, ends, values, is_point = rows.columns[:4]
        held = _column(values, store.value_domain)
        whole = RecordColumns(
            RecordForm(relation, RecordKind.INTERVAL), [starts, starts, ends], [held, *columns],
            places,
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
        parts[form] = RecordColumns(form, points.times[:2], points.columns, points.places)
    if not is_point.all():
        parts[whole.form] = whole.take(~is_point)


def _column(data: Array, domain: Domain | None) -> Column:
    return data if domain is None else Coded(domain.values, data)


def _answer_spans(session: Session, question: Question) -> list[Interval]:
    """The intervals of a pair in the answer of a session."""
    table = session.evaluator.answer().fluents.get(question.relation)
    if table is None or question.value is None:
        return []
    chosen = np.ones(len(table), np.bool_)
    wanted = (*question.args, question.value)
    for (data, domain), term in zip(table.columns(), wanted, strict=True):
        chosen &= is_any_of(_column(data, domain), [value(term)])
    spans: list[Interval] = []
    for group in np.flatnonzero(chosen).tolist():
        low, high = int(table.offsets[group]), int(table.offsets[group + 1])
        spans += zip(table.starts[low:high].tolist(), table.ends[low:high].tolist(), strict=True)
    return [(start, min(end, INFINITY)) for start, end in spans]
