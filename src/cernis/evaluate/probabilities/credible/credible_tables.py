"""Credible intervals as tables: from the whole course of each pair, or from stored rows."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.probabilities.courses import Courses, Credible, Pairs, credible_intervals
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.evaluate.stores import StoredRows
from cernis.kernels.array_types import Floats, Integers
from cernis.kernels.intervals.list_operations import maximal
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import INFINITY, FluentTable

CredibleTable: TypeAlias = tuple[FluentTable, Floats]
"""Intervals, and the mean probability of each."""


def credible(
    relation: Relation, courses: Courses, start: int, end: int, tick: int,
    settings: UncertainSettings,
) -> Credible:  # fmt: skip
    """The most credible intervals of a fluent in a run from start, exclusive, to end.

    What the last records cause shows a tick after the end, so that is the last point.
    """
    recognition = settings.of(relation)
    seeds = None
    if recognition.durations is not None:
        seeds = PairSeeds(relation, recognition.seed)(courses.pairs)
    return credible_intervals(courses, start + tick, end + tick, tick, recognition, seeds)


@dataclass(frozen=True, slots=True)
class PairSeeds:
    """Gives a seed for each pair of a fluent, which depends on the name of the pair alone."""

    relation: Relation
    seed: int

    def __call__(self, pairs: Pairs) -> Integers:
        """The seeds of pairs."""
        first = zlib.crc32(f"{self.seed} {self.relation}".encode())
        seeds = np.full(len(pairs), first, np.uint64)
        columns = zip([*pairs.arguments, pairs.values], [*pairs.domains, pairs.value_domain],
                      strict=True)  # fmt: skip
        for column, domain in columns:
            distinct, codes = np.unique(column, return_inverse=True)
            values: Iterable[object] = domain.decode(distinct) if domain else distinct.tolist()
            hashes = np.array([zlib.crc32(repr(value).encode()) for value in values], np.uint64)
            if len(hashes):
                seeds = seeds * np.uint64(0x9E3779B97F4A7C15) + hashes[codes]
        return seeds.view(np.int64)


def credible_table(pairs: Pairs, intervals: Credible, end: int) -> CredibleTable:
    """Intervals, which are sorted by pair, as a table; those that reach the end are open.

    The second result is the mean probability of each interval.
    """
    owners, counts = np.unique(intervals.owner, return_counts=True)
    offsets = np.append(0, np.cumsum(counts)).astype(np.int64)
    ends = np.where(intervals.ends == end, INFINITY, intervals.ends)
    table = FluentTable(
        [column[owners] for column in pairs.arguments], pairs.values[owners], pairs.domains,
        pairs.value_domain, offsets, intervals.starts, ends,
    )  # fmt: skip
    return table, intervals.means


def credible_rows(pairs: Pairs, intervals: Credible, last: int) -> StoredRows:
    """Intervals as rows with start, end, value and mean; those that end at the last are open."""
    ends = np.where(intervals.ends == last, INFINITY, intervals.ends)
    arguments = [column[intervals.owner] for column in pairs.arguments]
    values = pairs.values[intervals.owner]
    return StoredRows(arguments, [intervals.starts, ends, values, intervals.means])


def table_of_rows(
    rows: StoredRows, domains: list[Domain | None], value_domain: Domain | None
) -> CredibleTable:
    """Rows with start, end, value and mean as a table, and the means in its order."""
    starts, ends, values, means = rows.columns
    rows = rows.take(np.lexsort((starts, values, *reversed(rows.arguments))))
    starts, ends, values, means = rows.columns
    new = np.ones(len(starts), np.bool_)
    new[1:] = False
    for column in (*rows.arguments, values):
        new[1:] |= column[1:] != column[:-1]
    first = np.flatnonzero(new)
    table = FluentTable(
        [column[first] for column in rows.arguments], values[first], domains, value_domain,
        np.append(first, len(starts)).astype(np.int64), np.ascontiguousarray(starts),
        np.ascontiguousarray(ends),
    )  # fmt: skip
    return table, means


def maximal_table(table: FluentTable) -> FluentTable:
    """The table, with intervals that meet joined."""
    owners = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    owners, starts, ends = maximal(owners, table.starts, table.ends)
    offsets = np.searchsorted(owners, np.arange(len(table) + 1)).astype(np.int64)
    return FluentTable(
        table.arguments, table.values, table.domains, table.value_domain, offsets, starts, ends
    )
