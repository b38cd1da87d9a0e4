"""Amounts of time that a text says: time-points and lengths, and how large they may be."""

from __future__ import annotations

import math
from typing import Final

from cernis.syntax.tokens import DURATION_UNITS
from cernis.syntax.tree import Duration, Number, Term

FARTHEST: Final = 1 << 62
"""No time-point lies farther from zero, and every length is shorter than this.

So a length can be added to any time-point, and the sum is a number of 64 bits.
"""


def amount(term: Term) -> int | float | None:
    """The amount that a number or a duration says; None for any other term.

    >>> amount(Duration(2, "h")), amount(Number(40))
    (7200, 40)
    """
    if isinstance(term, Duration):
        return term.amount * DURATION_UNITS[term.unit]
    return term.value if isinstance(term, Number) else None


def length(term: Term) -> float:
    """The length that a term says; infinity for one that is computed."""
    said = amount(term)
    return math.inf if said is None else said


def is_length(amount: int | float | None, least: int = 0) -> bool:
    """Is this a length that can be counted with, and not below the least?

    >>> is_length(7200), is_length(-1), is_length(None), is_length(1 << 62), is_length(math.inf)
    (True, False, False, False, False)
    """
    return amount is not None and least <= amount < FARTHEST
