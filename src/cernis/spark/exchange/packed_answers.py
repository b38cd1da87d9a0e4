"""Answers of buckets, packed, and put together again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.records.encoded_input import encoded
from cernis.records.record_columns import Column, joined
from cernis.spark.exchange.blobs import decoded, packed_column, unpacked_column
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable
from cernis.tables.narrow import narrow, widen


def packed_answer(answer: Answer) -> list[tuple[Any, ...]]:
    """The content of a blob: one entry for each relation."""
    found: list[tuple[Any, ...]] = []
    for relation, fluent in answer.fluents.items():
        columns = [packed_column(decoded(*each)) for each in fluent.columns()]
        lengths = narrow(np.diff(fluent.offsets))
        found.append(("fluent", relation, columns, lengths, narrow(fluent.starts),
                      narrow(fluent.ends)))  # fmt: skip
    for relation, event in answer.events.items():
        pairs = zip(event.arguments, event.domains, strict=True)
        columns = [packed_column(decoded(*each)) for each in pairs]
        starts = None if event.starts is None else narrow(event.starts)
        found.append(("event", relation, columns, narrow(event.times), starts))
    return found


def answer_of(blobs: Iterable[list[tuple[Any, ...]]]) -> Answer:
    """The answers of several buckets as one; their pairs and happenings must be different ones."""
    parts: dict[tuple[str, Relation], list[tuple[Any, ...]]] = {}
    for blob in blobs:
        for entry in blob:
            parts.setdefault(entry[:2], []).append(entry[2:])
    answer = Answer()
    for (what, relation), own in parts.items():
        if what == "fluent":
            answer.fluents[relation] = _fluent(own)
        else:
            answer.events[relation] = _event(own)
    return answer


def _columns(parts: list[tuple[Any, ...]]) -> Iterator[tuple[Any, Domain | None]]:
    for own in zip(*(part[0] for part in parts), strict=True):
        column: Column = joined([unpacked_column(each) for each in own])
        # Numbers stay as they are; only text and mixed values need codes.
        domain = None if isinstance(column, np.ndarray) else Domain()
        yield encoded(column, domain), domain


def _fluent(parts: list[tuple[Any, ...]]) -> FluentTable:
    *arguments, values = _columns(parts)
    lengths, starts, ends = (
        np.concatenate([widen(part[at]) for part in parts]) for at in (1, 2, 3)
    )
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return FluentTable(
        [codes for codes, _ in arguments], values[0], [domain for _, domain in arguments],
        values[1], offsets, starts, ends,
    )  # fmt: skip


def _event(parts: list[tuple[Any, ...]]) -> EventTable:
    arguments = list(_columns(parts))
    times = np.concatenate([widen(part[1]) for part in parts])
    starts = None
    if any(part[2] is not None for part in parts):
        starts = np.concatenate([widen(part[1 if part[2] is None else 2]) for part in parts])
    codes, domains = [own for own, _ in arguments], [domain for _, domain in arguments]
    return EventTable(codes, domains, times, starts)
