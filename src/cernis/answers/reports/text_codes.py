"""Codes for texts of a report: each distinct text once, in an order that people expect."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import pyarrow as pa

from cernis.kernels.array_types import Integers
from cernis.records.arrow_arrays import as_numpy, as_texts

_DIGITS: Final = re.compile(r"(\d+)")


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """A key by which texts are sorted as people do: b2 before b10.

    >>> sorted(["b10", "b2", "a"], key=natural_key)
    ['a', 'b2', 'b10']
    """
    return tuple(
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in _DIGITS.split(text)
        if part
    )


def coded_texts(arrays: list[pa.Array]) -> tuple[list[str], list[Integers]]:
    """The distinct texts of several arrays, sorted, and the codes of each array."""
    whole = pa.chunked_array([as_texts([]), *arrays], pa.string()).combine_chunks()
    encoded = whole.dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    order = sorted(range(len(texts)), key=lambda place: natural_key(texts[place]))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    codes = ranks[as_numpy(encoded.indices)]
    cuts = np.cumsum([len(array) for array in arrays])[:-1]
    return [texts[place] for place in order], list(np.split(codes, cuts)) if arrays else []
