"""Bits of 64-bit words, in compiled loops."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from cernis.kernels.compile import instruction

Word: TypeAlias = Any
"""A number of 64 bits without a sign: in plain Python it may be one of Python's as well."""

Time: TypeAlias = Any
"""A number of 64 bits with a sign, likewise."""

ZERO, ONE, ALL_BITS = np.uint64(0), np.uint64(1), np.uint64(2**64 - 1)


@instruction("count trailing zeros")
def lowest_bit(word: Word) -> Word:
    """The number of the lowest bit of a word that is not 0.

    >>> lowest_bit(np.uint64(12))
    np.uint64(2)
    """
    bits = int(word)
    return np.uint64((bits & -bits).bit_length() - 1)
