"""Fields of delimited text as typed columns."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.kernels.text_fields import (
    FLOAT,
    INTEGER,
    NEITHER,
    Fields,
    copy_texts,
    number_texts,
    read_floats,
    read_integers,
    read_numbers,
)
from cernis.knowledge.ground_values import Value
from cernis.records.arrow_arrays import as_numpy
from cernis.records.record_columns import Coded, Column
from cernis.records.text_lines import field_of

_FLOAT: Final = b"0123456789-+.eE"
_STARTS: Final = np.isin(np.arange(256), list(b"0123456789-."))
_DOT: Final = ord(".")


def fields_of(column: pa.ChunkedArray) -> Fields:
    """A column of text without nulls."""
    whole = column.combine_chunks()
    if not isinstance(whole, pa.ChunkedArray):
        return _piece(whole)
    # There is more text than one array of Arrow's can hold.
    pieces = [_piece(piece) for piece in whole.chunks]
    shifts = np.cumsum([0, *(len(piece.text) for piece in pieces)])
    return Fields(
        np.concatenate([piece.text for piece in pieces]),
        np.concatenate([piece.lows + shift for piece, shift in zip(pieces, shifts, strict=False)]),
        np.concatenate([piece.highs + shift for piece, shift in zip(pieces, shifts, strict=False)]),
    )


def _piece(texts: pa.Array) -> Fields:
    if pa.types.is_string_view(texts.type):
        texts = pc.cast(texts, pa.large_string())
    _, offsets, data = texts.buffers()
    width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    read_offsets: Array = np.frombuffer(offsets or b"", width)
    bounds: Integers = read_offsets[texts.offset :][: len(texts) + 1].astype(np.int64)
    return Fields(np.frombuffer(data or b"", np.uint8), bounds[:-1], bounds[1:])


def as_texts(fields: Fields) -> pa.Array:
    """Fields as an Arrow array of text."""
    offsets, copied = copy_texts(fields)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(copied)]
    return pa.Array.from_buffers(pa.string(), len(fields.lows), buffers)


def typed(fields: Fields) -> Column:
    """Fields as whole numbers or floats if all read as such, else as values of any kind."""
    numbers = _numbers(fields)
    if numbers is not None:
        return numbers
    codes, rows = number_texts(fields)
    return Coded(_values(fields.some(rows)), codes)


def _values(fields: Fields) -> list[Value]:
    """Fields one by one, of any kind; short numbers together, as there may be many."""
    if not _may_be_numbers(fields).any():
        return _others(fields)
    kinds, integers, floats = read_numbers(fields)
    others = iter(_others(fields.some(np.flatnonzero(kinds == NEITHER))))
    columns = zip(kinds.tolist(), integers.tolist(), floats.tolist(), strict=True)
    return [
        integer if kind == INTEGER else number if kind == FLOAT else next(others)
        for kind, integer, number in columns
    ]


def _others(fields: Fields) -> list[Value]:
    """Fields that are mostly no numbers."""
    texts = (text.decode() for text in fields.all_written())
    # What is an identifier is neither a number nor a compound term, and has no blanks around it.
    return [text if text.isidentifier() else field_of(text) for text in texts]


def plain_text(fields: Fields) -> Column:
    """Text as it is written, but for blanks around it: what is declared text is never a number."""
    codes, rows = number_texts(fields)
    texts = (text.decode() for text in fields.some(rows).all_written())
    return Coded([text.strip() for text in texts], codes)


def _numbers(fields: Fields) -> Column | None:
    """Numbers of one form, if all fields read as such."""
    if not len(fields.lows) or not _may_be_numbers(fields.some(np.arange(1)))[0]:
        return None
    integers = read_integers(fields)
    if integers is not None:
        return integers
    floats, count = read_floats(fields)
    return floats if count == len(floats) else _long_floats(fields, count)


def _may_be_numbers(fields: Fields) -> Booleans:
    """Which fields begin like a number."""
    filled = fields.lows < fields.highs
    firsts = np.zeros(len(filled), np.uint8)
    firsts[filled] = fields.text[fields.lows[filled]]
    return _STARTS[firsts]


def _long_floats(fields: Fields, row: int) -> Column | None:
    """Floats of any length, if a field that was not read as one may be one that is too long."""
    unread = fields.some(np.array([row])).all_written()[0]
    if b"." not in unread or unread.translate(None, _FLOAT):
        return None
    texts = as_texts(fields)
    written = bytes(texts.buffers()[2] or b"")
    if written.translate(None, _FLOAT) or not _all_have_a_point(texts, written):
        return None
    try:
        floats = as_numpy(pc.cast(texts, pa.float64()))
    except pa.ArrowInvalid:
        return None
    return floats if np.isfinite(floats).all() else None


def _all_have_a_point(texts: pa.Array, written: bytes) -> bool:
    """Has each text a point, so that none of them is a whole number?"""
    points = np.flatnonzero(np.frombuffer(written, np.uint8) == _DOT)
    bounds = np.frombuffer(texts.buffers()[1], np.int32)
    if len(points) != len(texts):
        return False
    return bool(np.all((points >= bounds[:-1]) & (points < bounds[1:])))
