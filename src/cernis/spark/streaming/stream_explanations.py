"""Explains what a stream reported, from its checkpoint, and from its input where that is given.

A checkpoint has the records of the window, in the states of buckets, and the intervals that were
recognised. With the input, what the window has forgotten is explained, too: the queries of the
stream are answered again over the records that rules can reach from the question. What that gives
is compared with the state, and a difference is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cernis.errors import DataError
from cernis.explain.body_proofs import span_at
from cernis.explain.explaining import RunLimits, explain
from cernis.explain.explanation_tree import Explanation, Reason
from cernis.explain.histories import Interval
from cernis.explain.point_texts import interval_text
from cernis.explain.questions import Question, read_question
from cernis.explain.reachable_records import reachable
from cernis.explain.uncertain_explanations import explain_uncertain
from cernis.knowledge.ground_values import value
from cernis.plan.builder import Plan
from cernis.program import Program
from cernis.records.record_columns import RecordColumns, RecordForm, Records, one_below_the_other
from cernis.records.record_sources import Events, read_events
from cernis.records.times import call_time
from cernis.session.session_explanations import (
    WindowAnswer,
    WindowLines,
    answer_spans,
    explain_window,
    window_records,
)
from cernis.spark.exchange.batch_job import plan_in_zone
from cernis.spark.streaming.saved_stream import SavedStream


def explain_stream(
    program: Program, checkpoint: str | Path, question: str, time: Any = None, *,
    events: Events | None = None, mapping: str | Path | Mapping[str, Any] | None = None,
    zone: str | None = None,
) -> Explanation:  # fmt: skip
    """Why a pair such as `level(b7)=critical` holds at a time in a stream, or why not; or an event.

    It is the answer of the last query, by the checkpoint. Without `events`, it is explained from
    the records that the window holds; what rests on records that the window has forgotten is said
    to do so. With the events that the stream has read, such as its files, all of it is explained.
    `zone` is the zone that Spark's session had for times without one; by default it is that of the
    session there is.
    """
    plans = _plans(program.plan, zone)
    return explain_plan(plans, Path(checkpoint), question, time, events=events, mapping=mapping)


def explain_plan(
    plans: Iterable[Plan], checkpoint: Path, question: str, time: Any = None, *,
    events: Events | None = None, mapping: str | Path | Mapping[str, Any] | None = None,
) -> Explanation:  # fmt: skip
    """As `explain_stream`, by whichever of some plans the stream recognises with."""
    stream = SavedStream.of(checkpoint, plans)
    target = read_question(question, stream.plan.checked)
    if not isinstance(time, str | None):
        time = call_time(time, stream.plan.checked.definitions.settings.time)
    spans = _spans(stream, target)
    if events is None:
        return _from_state(stream, target, time, spans)
    if stream.ids:
        raise DataError(
            f"records of this stream have ids, in the column {stream.ids}: leave the input out, "
            "and it is explained from the records of the window"
        )
    is_uncertain = stream.job.likely is not None
    records = read_events(events, stream.plan.checked, mapping, uncertain=is_uncertain)
    return _from_input(stream, target, time, spans, records)


def _plans(plan: Plan, zone: str | None) -> Iterator[Plan]:
    """The plans that a stream of a program may have: its times may be in a zone of Spark's."""
    yield plan
    if zone is None:
        from pyspark.sql import SparkSession

        session = SparkSession.getActiveSession()
        zone = None if session is None else session.conf.get("spark.sql.session.timeZone")
    if zone is not None:
        yield plan_in_zone(plan, zone)


def _limits(stream: SavedStream) -> RunLimits:
    chosen = stream.job.job.settings
    return RunLimits(end=stream.query, tick=chosen.tick, ties=chosen.ties)


def _spans(stream: SavedStream, question: Question) -> list[Interval] | None:
    """The intervals of a pair as the state has them; None where they are not in it as such."""
    if question.value is None or stream.job.likely is not None:
        return None
    row = (*map(value, question.args), value(question.value))
    home = stream.home(question.relation, row)
    return None if home is None else answer_spans(stream.session(*home), question)


def _from_state(
    stream: SavedStream, question: Question, time: int | str | None, spans: list[Interval] | None
) -> Explanation:
    dated = stream.times.dated
    parts = [
        reachable(stream.plan, window_records(session.memory, dated), question)
        for session in stream.sessions()
    ]
    is_uncertain = stream.job.likely is not None
    known = WindowAnswer(
        _each_once(parts, dated), spans or [], stream.edge,
        stream.edge > stream.start and (spans is not None or is_uncertain), is_uncertain,
    )  # fmt: skip
    limits = replace(_limits(stream), start=stream.edge)
    return explain_window(stream.plan, question, time, known, limits, stream.times.text)


def _each_once(parts: Iterable[Records], dated: bool) -> Records:
    """The records of all buckets together; what several have is there once."""
    by_form: dict[RecordForm, list[RecordColumns]] = {}
    for part in parts:
        for form, columns in part.relations.items():
            by_form.setdefault(form, []).append(columns)
    relations, count = {}, 0
    for form, several in by_form.items():
        whole = one_below_the_other(several)
        first = {whole.text(row): row for row in reversed(range(len(whole)))}
        whole = whole.take(np.array(sorted(first.values()), np.int64))
        places = np.arange(count + 1, count + len(whole) + 1)
        relations[form] = replace(whole, places=places)
        count += len(whole)
    return Records(relations, count=count, sources=WindowLines(), dated=dated)


def _from_input(
    stream: SavedStream, question: Question, time: int | str | None,
    spans: list[Interval] | None, records: Records,
) -> Explanation:  # fmt: skip
    job = stream.job
    limits = replace(_limits(stream), window=job.window, step=job.step, start=stream.start)
    explain_one = explain if job.likely is None else explain_uncertain
    explanation = explain_one(stream.plan, records, str(question), time, limits, stream.times.text)
    if spans is not None and explanation.time > stream.edge:
        _compare(explanation, spans)
        explanation.write_times(stream.times.text)
    return explanation


def _compare(explanation: Explanation, spans: list[Interval]) -> None:
    """Tell where the stream has another interval than its queries give over the input."""
    span = span_at(spans, explanation.time)
    if span == (explanation.tree.interval if explanation.holds else None):
        return
    there = "that it does not hold" if span is None else f"the interval {interval_text(span)}"
    text = f"the stream has {there}: it has read other records, or read some after their query"
    explanation.tree.reasons.append(Reason("note", text))
