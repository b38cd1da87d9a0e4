"""Fluents of another stage, which its task evaluates and hands over as tables at each query.

A program over lists reads them as it reads lanes: by the intervals that have come and gone since
the query before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.columns.differences import only_in_one
from cernis.evaluate.stores import StoredRows
from cernis.evaluate.sweep.key_numbers import KeyNumbers
from cernis.evaluate.sweep.lane_state import (
    NO_INTERVALS,
    NO_POINTS,
    NO_VALUES,
    BitIntervals,
    LaneChanges,
)
from cernis.evaluate.sweep.lists.source_rows import (
    matching_rows,
    of_number,
    rows_of_source,
)
from cernis.kernels.array_types import Booleans
from cernis.kernels.order import stable_order
from cernis.operators.context.query_context import Context
from cernis.plan.sweep.lanes import MOST_BITS, Arguments, ListProgram, ListSource
from cernis.syntax.tree import Term
from cernis.tables.interval_pieces import pieces
from cernis.tables.interval_tables import FluentTable


class HandedFluents:
    """The intervals of some pairs of another stage, all of one key.

    A table has the intervals that reach the window. What ended before the window is in none, and
    has not gone for that reason.
    """

    def __init__(self, sources: Sequence[ListSource], context: Context) -> None:
        """Begin with nothing known; `sources` are about different pairs."""
        domains = context.encoding.arguments(sources[0].relation)
        self._keys = KeyNumbers([domains[place] for place in sources[0].positions])
        self._encoding = context.encoding
        self._sources = sources
        self._numbers = {_pair_of(source): number for number, source in enumerate(sources)}
        self._known = NO_INTERVALS
        self.latest: LaneChanges | None = None

    @property
    def of_keys(self) -> KeyNumbers:
        """The numbers of its keys."""
        return self._keys

    def pair_number(self, source: ListSource) -> int | None:
        """The number of the pair that a source asks for, if it is handed over here."""
        return self._numbers.get(_pair_of(source))

    def intervals(self) -> BitIntervals:
        """All intervals that were handed over last, by pair, key and start."""
        return self._known

    def begin_from(self, fluents: Mapping[Relation, StoredRows], context: Context) -> None:
        """Go on from rows of fluents that were handed over at the last query."""
        self._known = _stacked([
            self._part(number, source, fluents[source.relation], context)
            for number, source in enumerate(self._sources) if source.relation in fluents
        ])  # fmt: skip

    def rows(self) -> Iterator[tuple[Relation, StoredRows]]:
        """What was handed over last, as rows of fluents: start, end and value."""
        for number, source in enumerate(self._sources):
            intervals = of_number(self._known, number)
            columns = self._keys.columns(intervals.keys)
            yield source.relation, rows_of_source(source, intervals, columns, self._encoding)

    def update(self, context: Context) -> LaneChanges:
        """Take the tables of a query; gives what has come and gone."""
        bound = context.window.edge + context.window.tick
        tables = context.relations.fluents
        parts = [
            self._part(number, source, _rows_of(tables[source.relation]), context)
            for number, source in enumerate(self._sources)
        ]
        now = _reaching(_stacked(parts), bound)
        before = _reaching(self._known, bound)
        has_gone, has_come = only_in_one(StoredRows([], [*before]), StoredRows([], [*now]))
        self._known = now
        self.latest = _changes(_chosen(now, has_come), _chosen(before, has_gone))
        return self.latest

    def _part(
        self, number: int, source: ListSource, rows: StoredRows, context: Context
    ) -> BitIntervals:
        """The intervals of a pair among rows of its fluent; those of a key are in order there."""
        chosen = matching_rows(source, rows, context)
        columns = [rows.arguments[place][chosen] for place in source.positions]
        keys = self._keys.enter(columns, len(chosen))
        order = stable_order(keys, self._keys.count)
        starts, ends = (column[chosen[order]] for column in rows.columns[:2])
        return BitIntervals(np.full(len(order), number), keys[order], starts, ends)


def handed_to(program: ListProgram, stage: int, context: Context) -> Iterator[HandedFluents]:
    """All that a program over lists reads of a stage which is evaluated elsewhere."""
    sources = {
        _pair_of(source): source for source in program.sources
        if source.link is not None and program.links[source.link].stage == stage
    }  # fmt: skip
    different = list(sources.values())
    for first in range(0, len(different), MOST_BITS):
        yield HandedFluents(different[first : first + MOST_BITS], context)


def _pair_of(source: ListSource) -> tuple[Relation, Arguments, Term]:
    return source.relation, source.arguments, source.value


def _rows_of(table: FluentTable) -> StoredRows:
    ((arguments, values, starts, ends),) = pieces(table)
    return StoredRows(arguments, [starts, ends, values])


def _stacked(parts: Sequence[BitIntervals]) -> BitIntervals:
    """Intervals of several pairs, one below the other."""
    return BitIntervals(*map(np.concatenate, zip(NO_INTERVALS, *parts, strict=True)))


def _reaching(intervals: BitIntervals, bound: int) -> BitIntervals:
    return _chosen(intervals, intervals.ends > bound)


def _chosen(intervals: BitIntervals, chosen: Booleans) -> BitIntervals:
    return BitIntervals(*(column[chosen] for column in intervals))


def _changes(come: BitIntervals, gone: BitIntervals) -> LaneChanges:
    return LaneChanges(come, gone, NO_POINTS, NO_POINTS, 0, 0, 0, NO_VALUES, NO_VALUES)
