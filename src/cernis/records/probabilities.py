"""The probabilities before text records, read column by column: `0.73::walking|...`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.kernels.array_types import Booleans, Floats, Integers
from cernis.records.arrow_arrays import as_arrow, as_numpy, contents

_COLON, _BAR = b":|"
_CHANCE: Final = r"^[+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"


@dataclass(frozen=True, slots=True)
class ProbableLines:
    """Lines that begin with a probability: their text without it, and the probabilities."""

    text: bytes
    chances: Floats
    written: pa.Array
    """What stands before `::` in each line."""


def lines_with_probability(text: bytes, starts: Integers) -> Booleans | None:
    """Which lines have `::` before their first bar; None if none has."""
    # One byte is looked for much faster than two.
    if b":" not in text or b"::" not in text:
        return None
    data = np.frombuffer(text, np.uint8)
    colons = np.flatnonzero((data[:-1] == _COLON) & (data[1:] == _COLON))
    lines = np.searchsorted(starts, colons, "right") - 1
    first = np.append(True, lines[1:] != lines[:-1])[: len(lines)]
    colons, lines = colons[first], lines[first]
    bars = np.append(np.flatnonzero(data == _BAR), len(data))
    told = np.zeros(len(starts), np.bool_)
    told[lines[bars[np.searchsorted(bars, starts[lines])] > colons]] = True
    return told if told.any() else None


def text_of(lines: pa.Array, chosen: Booleans) -> bytes:
    """The text of some lines."""
    return bytes(contents(lines.filter(as_arrow(chosen))))


def probable_lines(lines: pa.Array) -> ProbableLines:
    """Lines without their probabilities, and these; out of bounds where there is none."""
    parts = pc.split_pattern(lines, b"::", max_splits=1)
    written, rest = pc.list_element(parts, 0), pc.list_element(parts, 1)
    trimmed = pc.replace_substring_regex(written, r"^\s+|\s+$", "")
    good = pc.match_substring_regex(trimmed, _CHANCE)
    texts = pc.if_else(good, trimmed, pa.scalar(b"-1", trimmed.type)).cast(pa.string())
    return ProbableLines(bytes(contents(rest)), as_numpy(pc.cast(texts, pa.float64())), written)
