"""The window of a query: which points of the time-line it evaluates, and by which rules of time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueryWindow:
    """Where a query begins and ends on the time-line, and how points of it are counted."""

    tick: int
    """The distance between neighbouring points."""
    ties: str
    """What happens if several values of a fluent are initiated at one point."""
    start: int
    """The start of the run: nothing is known up to it."""
    edge: int
    """What was derived up to here stands; all points after it are evaluated."""
    query: int
    """The query time, which is the last point that is evaluated."""
    forgotten: int
    """Up to where no records are seen: the edge, or a point after it if steps exceed windows."""

    def earliest_start(self, reach: int) -> int:
        """Where an interval that goes on after the edge may begin, if durations reach so far back.

        What was not longer than a duration at the query before, which is not before the edge, is
        longer now: it began at most the duration before the edge. Without durations it begins at
        the first point after the edge.
        """
        return self.edge - reach if reach else self.edge + self.tick
