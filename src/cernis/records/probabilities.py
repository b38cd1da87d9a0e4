"""The probabilities before text records, read column by column: `0.73::walking|...`."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.kernels.array_types import Floats, Integers
from cernis.kernels.text_fields import Fields
from cernis.records.arrow_arrays import as_numpy
from cernis.records.fields import as_texts

_COLON: Final = ord(":")
_CHANCE: Final = r"^[+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def probability_marks(content: bytes, names: Fields) -> tuple[Integers, Integers]:
    """The rows of names with `::` in them, and where the first one of each is."""
    none = np.empty(0, np.int64)
    # One byte is looked for much faster than two.
    if b":" not in content or b"::" not in content:
        return none, none
    text = names.text
    marks = np.flatnonzero((text[:-1] == _COLON) & (text[1:] == _COLON))
    rows = np.searchsorted(names.lows, marks, "right") - 1
    is_first = np.append(True, rows[1:] != rows[:-1])[: len(rows)]
    is_first &= marks + 2 <= names.highs[rows]
    return rows[is_first], marks[is_first]


def read_chances(fields: Fields) -> Floats:
    """Fields as probabilities; out of bounds where there is none."""
    texts = pc.utf8_trim(_ascii(fields), " \t\n\f\r")
    good = pc.match_substring_regex(texts, _CHANCE)
    return as_numpy(pc.cast(pc.if_else(good, texts, "-1"), pa.float64()))


def _ascii(fields: Fields) -> pa.Array:
    """Fields as text; a byte that is no character of ASCII is one that no number has."""
    text = np.where(fields.text < 128, fields.text, np.uint8(_COLON))
    return as_texts(Fields(text, fields.lows, fields.highs))
