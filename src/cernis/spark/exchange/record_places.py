"""Places of records: the source and line that the number of a record stands for.

The number of a record is made of the *split* of the input from which it was read, and of its line
or row within the split, so that tasks can number records independently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cernis.records.record_columns import SourceLines

_BITS = 36
FIRST_LINES = 1 << _BITS
"""A split has fewer lines than this."""


def first_place(split: int) -> int:
    """The place of the first line of a split."""
    return (split << _BITS) + 1


@dataclass(slots=True)
class Places(SourceLines):
    """The sources of records by split."""

    names: Callable[[int], tuple[str, int]] = field(default=lambda split: ("", 0))
    """Gives the source of a split, and how many of its lines come before the split."""

    def line(self, place: int) -> tuple[str, int]:
        """The source and the line of a place."""
        split, local = place >> _BITS, place & ((1 << _BITS) - 1)
        name, before = self.names(split)
        return name, before + local


def sources_of(split: int, name: str, before: int) -> Places:
    """The one source of a split that is about to be read."""
    places = Places(names=lambda _: (name, before))
    places._next = first_place(split)
    return places
