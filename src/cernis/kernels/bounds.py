"""How many pairs a join may give."""

from __future__ import annotations

from typing import Final

MOST_PAIRS: Final = 1 << 27
"""More pairs than these are refused: each takes 16 bytes before a single value of it is there."""


class TooManyPairs(Exception):
    """A join would give more pairs than can be held; `count` is how many it has counted."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count

    def __str__(self) -> str:
        return f"{self.count:,} pairs or more, and {MOST_PAIRS:,} can be held"


def bounded(count: int) -> int:
    """The number of pairs, unless there are too many.

    >>> bounded(5)
    5
    """
    if count > MOST_PAIRS:
        raise TooManyPairs(count)
    return count
