"""How explanations write time-points and intervals: one place for all of them."""

from __future__ import annotations

from cernis.tables.interval_tables import INFINITY


def point_text(time: int) -> str:
    """A time-point as it is shown.

    >>> point_text(13)
    '13'
    """
    return "inf" if time >= INFINITY else str(time)


def interval_text(interval: tuple[int, int]) -> str:
    """An interval as it is shown.

    >>> interval_text((14, 20))
    '[14,20)'
    """
    return f"[{point_text(interval[0])},{point_text(interval[1])})"
