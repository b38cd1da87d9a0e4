"""Packing: records of a part of the input as rows for the buckets they go to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cernis.kernels.array_types import Integers
from cernis.plan.properties.routes import Ask, Demand, Positions, Way
from cernis.records.record_columns import (
    INFINITE,
    Coded,
    Column,
    RecordColumns,
    RecordForm,
    RecordKind,
    Records,
    taken,
)
from cernis.records.seen_forms import forms_in, slots_of
from cernis.spark.exchange.batch_job import Job, Survey
from cernis.spark.exchange.blobs import packed_column, packed_records
from cernis.spark.exchange.entity_components import linked_by
from cernis.spark.exchange.exchange_rows import LAST, Row
from cernis.spark.exchange.exchange_rows import Kind as Blob

Piece = tuple[int, int, RecordColumns]
"""The number of a bucket, the number of the piece for that bucket, and the records."""

MOST_ROWS = 1 << 17
"""Records in one blob, so that it has a few megabytes at most."""


def pack(records: Records, job: Job, home: bool = True) -> Iterator[Row]:
    """The rows of an exchange for some unresolved records: the records, a survey and a report.

    Without `home`, all records go to step 0, equal ones to the same bucket.
    """
    yield from sent_home(records, job, home)
    if home:
        yield from demands(records, job)
    survey = surveyed(records, job)
    first = job.loaded.plan.routes.steps[0] if home and job.loaded.plan.routes.steps else 0
    for bucket in range(job.buckets):
        yield Row(bucket, first, Blob.SURVEY, survey)
    yield Row(0, LAST, Blob.REPORT, report_of(records, job))


def sent_home(records: Records, job: Job, home: bool = True) -> Iterator[Row]:
    """The rows that bring records to their home; without `home`, see `pack`."""
    waiting: dict[tuple[int, int, int], list[Any]] = {}
    since: dict[tuple[int, int, int], int] = {}
    for part in records.relations.values():
        for step, (bucket, number, piece) in _addressed(part, job, home):
            # The first pieces of all relations are one row, the second pieces the next.
            key = step, bucket, number
            waiting.setdefault(key, []).append(packed_records(piece))
            since[key] = min(since.get(key, INFINITE), first_of(piece))
    for key, content in waiting.items():
        yield Row(key[1], key[0], Blob.RECORDS, content, since[key])


def pack_links(records: Records, job: Job) -> Iterator[Row]:
    """The entities that some records link, for each step with links."""
    for step, links in job.loaded.plan.routes.linked.items():
        yield Row(0, step, Blob.LINKS, linked_by(records, links).packed())


def _addressed(part: RecordColumns, job: Job, home: bool) -> Iterator[tuple[int, Piece]]:
    """The records of one form by step and bucket."""
    delivery = job.loaded.plan.routes.home(part.form.relation)
    if not home:
        columns = [*part.times[1:], *part.columns]
        where = job.spread(0).of(columns, len(part))
        yield from ((0, piece) for piece in by_bucket(part, where, job))
    elif delivery.way is Way.EVERYWHERE:
        yield from ((delivery.step, piece) for piece in to_all(part, job))
    else:
        links = () if delivery.way is Way.ONE else delivery.links[0]
        arguments = arguments_at(part, links)
        where = job.placed(delivery.step, arguments, len(part), delivery.kinds)
        yield from ((delivery.step, piece) for piece in by_bucket(part, where, job))


def first_of(part: RecordColumns) -> int:
    """The first time of some records."""
    return int(part.times[1].min()) if len(part) else INFINITE


def arguments_at(part: RecordColumns, positions: Positions) -> list[Column]:
    """The columns of some arguments."""
    skipped = part.form.width - part.form.relation.arity
    return [part.columns[skipped + position] for position in positions]


def by_bucket(part: RecordColumns, where: Integers, job: Job) -> Iterator[Piece]:
    """The records of each bucket in pieces of limited size: bucket, number of the piece, records.

    Records keep their order, unless buckets evaluate slices: then they are in the order of time.
    """
    if not len(part):
        return
    part, where = _in_time(part, where, job)
    order = np.argsort(where.astype(np.uint16), kind="stable")
    bounds = np.append(0, np.cumsum(np.bincount(where)))
    most = piece_size(job)
    for bucket in np.flatnonzero(np.diff(bounds)).tolist():
        for low in range(int(bounds[bucket]), int(bounds[bucket + 1]), most):
            high = min(low + most, int(bounds[bucket + 1]))
            yield bucket, (low - int(bounds[bucket])) // most, take(part, order[low:high])


def _in_time(part: RecordColumns, where: Integers, job: Job) -> tuple[RecordColumns, Integers]:
    times = part.times[1]
    if job.at_once is None or bool(np.all(times[1:] >= times[:-1])):
        return part, where
    order = np.argsort(times, kind="stable")
    return take(part, order), where[order]


def piece_size(job: Job) -> int:
    """How many records are in one piece: a slice has several pieces."""
    return MOST_ROWS if job.at_once is None else min(MOST_ROWS, max(job.at_once // 8, 1))


def take(part: RecordColumns, rows: Integers) -> RecordColumns:
    """Some of the records. If one array is both arrivals and occurrences, it is so afterwards."""
    at_once = part.times[0] is part.times[1]
    times = [time[rows] for time in part.times[1:]]
    return RecordColumns(
        part.form,
        [times[0] if at_once else part.times[0][rows], *times],
        [taken(column, rows) for column in part.columns],
        part.places[rows],
        None if part.retracts is None else part.retracts[rows],
        None if part.gone is None else part.gone[rows],
        None if part.chances is None else part.chances[rows],
        ids=None if part.ids is None else taken(part.ids, rows),
    )


def to_all(part: RecordColumns, job: Job) -> Iterator[Piece]:
    """All records for each bucket, in pieces like those of `by_bucket`."""
    for _, number, piece in by_bucket(part, np.zeros(len(part), np.int64), job):
        yield from ((bucket, number, piece) for bucket in range(job.buckets))


# -- demand ------------------------------------------------------------------------------------


def demands(records: Records, job: Job) -> Iterator[Row]:
    """The keys that buckets demand of others because of these records, each once."""
    demanded: dict[Demand, list[tuple[list[Column], Integers]]] = {}
    for form, part in records.relations.items():
        for ask in job.loaded.plan.routes.asks:
            if ask.driver == form.relation and len(part):
                demanded.setdefault(ask.demand, []).append(_demanded_by(part, ask, job))
    for demand, parts in demanded.items():
        yield from _demand_rows(demand, parts, job)


def _demanded_by(part: RecordColumns, ask: Ask, job: Job) -> tuple[list[Column], Integers]:
    targets = job.spread(ask.demand.step).of(arguments_at(part, ask.key), len(part))
    return arguments_at(part, ask.positions), targets


def _demand_rows(
    demand: Demand, parts: list[tuple[list[Column], Integers]], job: Job
) -> Iterator[Row]:
    from cernis.records.record_columns import joined

    columns = [joined(pieces) for pieces in zip(*(columns for columns, _ in parts), strict=True)]
    targets = np.concatenate([buckets for _, buckets in parts])
    once = distinct_rows([*columns, targets])
    columns, targets = [taken(column, once) for column in columns], targets[once]
    hashed = [columns[position] for position in demand.hashed]
    where = job.placed(demand.home, hashed, len(targets), demand.kinds)
    for bucket in np.unique(where).tolist():
        rows = np.flatnonzero(where == bucket)
        packed = [packed_column(taken(column, rows)) for column in columns]
        yield Row(bucket, demand.home, Blob.DEMAND, (demand, packed, targets[rows]))


def distinct_rows(columns: Sequence[Column]) -> Integers:
    """A row of each distinct combination of values."""
    return np.unique(row_keys(columns, len(columns[0])), return_index=True)[1]


def row_keys(columns: Sequence[Column], length: int) -> Integers:
    """A number for each row, equal for equal rows; without columns, all rows are equal."""
    from cernis.records.record_columns import numbered

    keys = np.zeros(length, np.int64)
    for column in columns:
        codes, count = numbered(column)
        keys, _ = numbered(keys * max(count, 1) + codes)
    return keys


# -- surveys and reports -----------------------------------------------------------------------


def surveyed(records: Records, job: Job) -> Survey:
    """The survey of some records, whether or not retractions have been matched.

    A retraction may turn out to match no record. So it has no part in the first and last points;
    its arrival is entered as `reach`.
    """
    survey = Survey()
    for form, part in records.relations.items():
        survey += _survey_of(form, part, job)
    return survey


def _survey_of(form: RecordForm, part: RecordColumns, job: Job) -> Survey:
    reach: int | None = None
    uncertain = frozenset() if part.chances is None else frozenset([form.relation])
    values = forms_in(job.loaded.plan.forms, slots_of(form), part.columns)
    times = part.times
    if part.retracts is not None and part.retracts.any():
        reach = int(part.times[0][part.retracts].max())
        times = [time[~part.retracts] for time in times]
    if not len(times[0]):
        return Survey(None, None, reach, frozenset([form]), values, uncertain)
    lasts = [int(times[0].max()), int(times[1].max())]
    for ends in times[2:]:
        closed = ends[ends < INFINITE]
        lasts += [int(closed.max()) - job.tick] if len(closed) else []
    if part.gone is not None:
        gone = part.gone[part.gone < INFINITE]
        lasts += [int(gone.max())] if len(gone) else []
    first, last = int(times[1].min()), max(lasts)
    return Survey(first, last, reach, frozenset([form]), values, uncertain)


def report_of(records: Records, job: Job) -> dict[str, Any]:
    """The report on records that have just been read: counts, and what was set aside."""
    used = sum(_used(part) for part in records.relations.values())
    texts = {}
    for form, part in records.relations.items():
        for position, is_numeric in enumerate(job.loaded.shapes.numeric_columns(form)):
            if is_numeric:
                texts[form, position] = (_text_count(part, position), _used(part))
    return {
        "records": records.count, "used": used, "ignored": records.ignored,
        "set_aside": records.set_aside, "texts": texts, "warnings": records.warnings,
        "fluents": records.fluents, "dated": records.dated,
    }  # fmt: skip


def _used(part: RecordColumns) -> int:
    return len(part) - (0 if part.retracts is None else int(part.retracts.sum()))


def _text_count(part: RecordColumns, position: int) -> int:
    column = part.columns[position]
    if not isinstance(column, Coded) or not column.values:
        return 0
    is_text = np.array([not isinstance(value, int | float) for value in column.values])[
        column.codes
    ]
    if part.retracts is not None:
        is_text &= ~part.retracts
    return int(is_text.sum())


def title_of(form: RecordForm, position: int) -> str:
    """The name of a column in messages."""
    if form.kind is RecordKind.EVENT:
        return f"argument {position + 1}"
    return "the value" if position == 0 else f"argument {position}"
