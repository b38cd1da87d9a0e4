"""The answers of buckets, packed as blobs and joined again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.records.encoded_input import encoded
from cernis.records.record_columns import Column, joined
from cernis.session.saved.narrow import narrow, widen
from cernis.spark.exchange.blobs import decoded, packed_column, unpacked_column
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable

if TYPE_CHECKING:
    from cernis.evaluate.probabilities.courses import Courses


def packed_answer(answer: Answer) -> list[tuple[Any, ...]]:
    """The content of a blob: one entry for each relation."""
    entries: list[tuple[Any, ...]] = []
    for relation, fluent in answer.fluents.items():
        columns = [packed_column(decoded(*each)) for each in fluent.columns()]
        lengths = narrow(np.diff(fluent.offsets))
        entries.append(("fluent", relation, columns, lengths, narrow(fluent.starts),
                      narrow(fluent.ends), answer.means.get(relation)))  # fmt: skip
    for relation, courses in answer.courses.items():
        entries.append(("courses", relation, *_packed_courses(courses)))
    for relation, event in answer.events.items():
        entries.append(("event", relation, *_packed_event(event)))
    for relation, chances in answer.occurrence_chances.items():
        packed = _packed_event(answer.possible[relation])
        entries.append(("occurrences", relation, *packed, chances))
    return entries


def _packed_event(event: EventTable) -> tuple[Any, ...]:
    pairs = zip(event.arguments, event.domains, strict=True)
    columns = [packed_column(decoded(*each)) for each in pairs]
    starts = None if event.starts is None else narrow(event.starts)
    return columns, narrow(event.times), starts


def _packed_courses(courses: Courses) -> tuple[Any, ...]:
    pairs = courses.pairs
    domains = [*pairs.domains, pairs.value_domain]
    coded = zip([*pairs.arguments, pairs.values], domains, strict=True)
    columns = [packed_column(decoded(*each)) for each in coded]
    return columns, narrow(np.diff(courses.offsets)), narrow(courses.times), courses.chances


def answer_of(blobs: Iterable[list[tuple[Any, ...]]]) -> Answer:
    """The answers of several buckets as one; no two may have the same pair or happening."""
    parts: dict[tuple[str, Relation], list[tuple[Any, ...]]] = {}
    for blob in blobs:
        for entry in blob:
            parts.setdefault(entry[:2], []).append(entry[2:])
    answer = Answer()
    for (kind, relation), contents in parts.items():
        if kind == "fluent":
            answer.fluents[relation] = _fluent(contents)
            means = [part[4] for part in contents if part[4] is not None]
            if means:
                answer.means[relation] = np.concatenate(means)
        elif kind == "courses":
            answer.courses[relation] = _courses(contents)
        elif kind == "occurrences":
            answer.possible[relation] = _event(contents)
            chances = [part[3] for part in contents]
            answer.occurrence_chances[relation] = np.concatenate(chances)
        else:
            answer.events[relation] = _event(contents)
    return answer


def _columns(parts: list[tuple[Any, ...]]) -> Iterator[tuple[Any, Domain | None]]:
    for packed in zip(*(part[0] for part in parts), strict=True):
        column: Column = joined([unpacked_column(each) for each in packed])
        # Numbers stay as they are; only text and mixed values need codes.
        domain = None if isinstance(column, np.ndarray) else Domain()
        yield encoded(column, domain), domain


def _fluent(parts: list[tuple[Any, ...]]) -> FluentTable:
    *arguments, values = _columns(parts)
    lengths, starts, ends = (
        np.concatenate([widen(part[place]) for part in parts]) for place in (1, 2, 3)
    )
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return FluentTable(
        [codes for codes, _ in arguments], values[0], [domain for _, domain in arguments],
        values[1], offsets, starts, ends,
    )  # fmt: skip


def _courses(parts: list[tuple[Any, ...]]) -> Courses:
    from cernis.evaluate.probabilities.courses import Courses, Pairs

    *arguments, values = _columns(parts)
    lengths, times = (np.concatenate([widen(part[at]) for part in parts]) for at in (1, 2))
    domains = [domain for _, domain in arguments]
    columns = [codes for codes, _ in arguments]
    pairs = Pairs(columns, values[0], domains, values[1], np.zeros(len(lengths)))
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    return Courses(pairs, offsets, times, np.concatenate([part[3] for part in parts]))


def _event(parts: list[tuple[Any, ...]]) -> EventTable:
    arguments = list(_columns(parts))
    times = np.concatenate([widen(part[1]) for part in parts])
    starts = None
    if any(part[2] is not None for part in parts):
        starts = np.concatenate([widen(part[1 if part[2] is None else 2]) for part in parts])
    codes, domains = [column for column, _ in arguments], [domain for _, domain in arguments]
    return EventTable(codes, domains, times, starts)
