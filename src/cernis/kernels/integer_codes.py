"""Codes of whole numbers, through a table over their range."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers, Place
from cernis.kernels.compile import kernel


def look_up(values: Integers, low: int, table: Integers) -> tuple[Integers, int]:
    """The code of each value, and how many have none; value v has the code `table[v - low]`.

    A code of -1, there or here, is none, as is a place outside of the table.
    """
    codes = np.empty(len(values), np.int64)
    return codes, int(_look_up(values, low, table, codes))


@kernel("integers integer integers writable-integers", "integer")
def _look_up(values: Integers, low: int, table: Integers, codes: Integers) -> int:
    missing = 0
    for row in range(len(values)):
        # What lies below the table becomes a place far after it.
        place = Place(values[row] - low)
        code = table[place] if place < Place(len(table)) else -1
        missing += code < 0
        codes[row] = code
    return missing


def look_up_plain(values: Integers, low: int, table: Integers) -> tuple[Integers, int]:
    """The twin of `look_up`."""
    known = {low + at: code for at, code in enumerate(table.tolist())}
    codes = np.array([known.get(value, -1) for value in values.tolist()], np.int64)
    return codes, int((codes < 0).sum())
