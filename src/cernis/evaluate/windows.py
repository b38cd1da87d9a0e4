"""Windows: which points each query evaluates and sees records of, and which queries a run has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MOST_QUERIES: Final = 10_000_000
"""A run with more queries is refused, and so is a record of a stream that would make more."""


@dataclass(frozen=True, slots=True)
class Window:
    """The window of one query: all points after its edge are evaluated again.

    What was derived up to the edge stands.

    Records up to the point `forgotten` are not seen any more. That is the edge, unless steps are
    longer than windows: then the edge is the query before, and the points up to `forgotten` are
    evaluated without records.
    """

    edge: int
    query: int
    forgotten: int

    @classmethod
    def after(cls, before: int, query: int, start: int, width: int | None) -> Window:
        """The window of a query; `before` is the query before it, or the start of the run.

        A width of None lets the window reach back to the start.

        >>> Window.after(5, 20, 0, 5)
        Window(edge=5, query=20, forgotten=15)
        """
        forgotten = start if width is None else max(start, query - width)
        return cls(min(before, forgotten), query, forgotten)


def windows(start: int, end: int, window: int | None, step: int | None) -> Iterator[Window]:
    """The queries of a run: at each step, and one at the end.

    Without a window a query sees everything so far; without a step, steps are windows.

    >>> [(w.edge, w.query) for w in windows(0, 25, 20, 10)]
    [(0, 10), (0, 20), (5, 25)]
    """
    stride, width = step or window, window or None
    query = start
    while stride is not None and query + stride < end:
        query += stride
        yield Window.after(query - stride, query, start, width)
    yield Window.after(query, end, start, width)
