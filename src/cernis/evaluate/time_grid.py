"""The points of a walk: those that lie whole ticks after the start.

What is initiated at a point is seen from one tick later on. A walk changes the state of a key at
the point itself, so no record may lie between the two. It cannot, if all times are whole ticks
apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cernis.evaluate.query_loop import Admitted, Handover
from cernis.evaluate.stores import StoredRows
from cernis.evaluate.windows import Window
from cernis.kernels.array_types import Integers
from cernis.records.encoded_input import InputEvents, InputFluent
from cernis.tables.interval_tables import INFINITY


@dataclass(frozen=True, slots=True)
class TimeGrid:
    """All points that are whole ticks away from `origin`."""

    origin: int
    tick: int

    def has(self, *times: int) -> bool:
        """Are these points of the grid?"""
        return all((time - self.origin) % self.tick == 0 for time in times)

    def has_all(self, times: Integers) -> bool:
        """Are all of these points of the grid, or infinite?"""
        if self.tick == 1 or not len(times):
            return True
        apart = (times % self.tick) != self.origin % self.tick
        return not bool((apart & (times != INFINITY)).any())

    def has_window(self, window: Window) -> bool:
        """Does a window begin and end on the grid?"""
        return self.has(window.edge, window.query, window.forgotten)

    def has_records(self, records: InputEvents | InputFluent) -> bool:
        """Are records about points of the grid?"""
        if isinstance(records, InputEvents):
            return self.has_all(records.times)
        return self.has_all(records.starts) and self.has_all(records.ends)

    def has_admitted(self, admitted: Iterable[Admitted]) -> bool:
        """Are records that have come about points of the grid? Those that go have come before."""
        return self.tick == 1 or all(self._has_rows(each.added) for each in admitted)

    def _has_rows(self, rows: StoredRows) -> bool:
        """Rows of events have a time, those of fluents start, end and value."""
        return all(map(self.has_all, rows.columns[:2]))

    def has_handed_over(self, handover: Handover) -> bool:
        """Did all that an evaluator hands over begin and end on the grid?"""
        fluents = (*handover.fluents.values(), *handover.remembered.values())
        events = (*handover.events.values(), *handover.effect_origins.values())
        return all(map(self._has_rows, fluents)) and all(
            self.has_all(rows.columns[0]) for rows in events
        )


def comes_in_time(
    records: InputFluent, grid: TimeGrid, window: int | None, step: int | None
) -> bool:
    """Does no query of a run change what holds at the edge of its window?

    A record that begins before the edge would, unless the edge is the start; so would a retraction
    of one. Where windows do not overlap, a point at a query is one of which the next does not know
    whether it is the last.
    """
    stride = step or window
    if stride is None:
        return True
    if records.gone is not None:
        return False
    if window is not None and stride >= window and records.from_points:
        return False
    known = np.maximum(np.maximum(records.arrivals, records.starts) - grid.origin, 1)
    queries = -(-known // stride) * stride
    if window is None:
        return True
    edges = np.maximum(np.minimum(queries - stride, queries - window), 0)
    begins_before = records.starts - grid.origin <= edges + grid.tick
    return not bool((begins_before & (edges > 0)).any())
