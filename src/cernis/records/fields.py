"""Fields of delimited text as typed columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.check.amounts import FARTHEST
from cernis.kernels.array_types import Booleans, Integers
from cernis.records.arrow_arrays import as_arrow, as_numpy, contents
from cernis.records.record_columns import (
    INFINITE,
    Coded,
    Column,
    RecordForm,
    RecordKind,
)
from cernis.records.text_lines import field_of, time_of

_BLOCK: Final = 1 << 20
_INTEGER: Final = b"0123456789-"
_FLOAT: Final = b"0123456789-+.eE"
_STARTS: Final = frozenset("0123456789-+. ")
_DOT: Final = ord(".")


def delimited(lines: pa.Array, times: int, width: int, whole: bool) -> pa.Table | None:
    """The fields after the names of lines: times, which are integers if `whole` is set, then text.

    None if lines have another number of fields or are no UTF-8, or a time is no integer.
    """
    from pyarrow import csv

    titles = [str(at) for at in range(1 + times + width)]
    kinds = dict.fromkeys(titles, pa.string())
    if whole:
        kinds.update(dict.fromkeys(titles[1 : 1 + times], pa.int64()))
    # No row spans the end of a block, as a line is much shorter than one.
    reading = csv.ReadOptions(column_names=titles, block_size=_BLOCK)
    parsing = csv.ParseOptions(
        delimiter="|", quote_char=False, double_quote=False, ignore_empty_lines=False
    )
    converting = csv.ConvertOptions(
        column_types=kinds, include_columns=titles[1:], strings_can_be_null=False, null_values=[]
    )
    try:
        return csv.read_csv(pa.BufferReader(contents(lines)), reading, parsing, converting)
    except pa.ArrowInvalid:
        return None


def times_of(
    columns: Sequence[pa.ChunkedArray], form: RecordForm
) -> tuple[list[Integers], Booleans]:
    """Text as time-points, and the rows all of whose times are whole numbers.

    The end of an interval may be `inf`. Times too far from zero are left at a value beyond what
    is allowed. Only the rows that are whole are returned.
    """
    whole = np.ones(len(columns[0]), np.bool_)
    columns_of_times: list[Integers] = []
    for place, column in enumerate(columns):
        texts = pc.utf8_trim_whitespace(column.combine_chunks())
        plain = as_numpy(pc.match_substring_regex(texts, "^-?[0-9]{1,18}$"))
        kept = pc.if_else(as_arrow(plain), texts, "0")
        times = as_numpy(pc.cast(kept, pa.int64())).copy()
        odd = np.flatnonzero(~plain)
        for row, text in zip(odd.tolist(), texts.take(as_arrow(odd)).to_pylist(), strict=True):
            time = (
                INFINITE
                if form.kind is RecordKind.INTERVAL and place == 2 and text == "inf"
                else None
            )
            time = time_of(text) if time is None else time
            if time is None:
                whole[row] = False
            elif abs(time) > FARTHEST and time != INFINITE:
                time = FARTHEST + 1 if time > 0 else -FARTHEST - 1
            times[row] = 0 if time is None else time
        columns_of_times.append(times)
    return [times[whole] for times in columns_of_times], whole


def typed(column: pa.ChunkedArray) -> Column:
    """Text as whole numbers or floats if all fields read as such, else as values of any kind."""
    if not len(column):
        return Coded([], np.empty(0, np.int64))
    first = column[0].as_py()
    if not first or first[0] in _STARTS:
        found = _numbers(column.combine_chunks())
        if found is not None:
            return found
    coded = column.dictionary_encode()
    texts = coded.chunk(0).dictionary.to_pylist()
    # What is an identifier is neither a number nor a compound term, and has no blanks around it.
    values = [text if text.isidentifier() else field_of(text) for text in texts]
    codes = [as_numpy(chunk.indices) for chunk in coded.chunks]
    return Coded(values, np.concatenate(codes, dtype=np.int64))


def plain_text(column: pa.ChunkedArray) -> Column:
    """Text as it is written, but for blanks around it: what is declared text is never a number."""
    if not len(column):
        return Coded([], np.empty(0, np.int64))
    coded = pc.utf8_trim_whitespace(column.combine_chunks()).dictionary_encode()
    return Coded(coded.dictionary.to_pylist(), as_numpy(coded.indices).astype(np.int64))


def _numbers(texts: pa.Array) -> Column | None:
    """Numbers of one form, if all texts read as such and Arrow reads them as is done one by one."""
    written = contents(texts)
    left = written.to_pybytes().translate(None, _INTEGER)
    try:
        if not left:
            return as_numpy(pc.cast(texts, pa.int64()))
        if left.translate(None, _FLOAT) or not _all_have_a_point(texts, written):
            return None
        floats = as_numpy(pc.cast(texts, pa.float64()))
    except pa.ArrowInvalid:
        return None
    return floats if np.isfinite(floats).all() else None


def _all_have_a_point(texts: pa.Array, written: pa.Buffer) -> bool:
    """Has each text a point, so that none of them is a whole number?"""
    points = np.flatnonzero(np.frombuffer(written, np.uint8) == _DOT)
    if len(points) != len(texts):
        return False
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :][: len(texts) + 1]
    bounds = offsets - offsets[0]
    return bool(np.all((points >= bounds[:-1]) & (points < bounds[1:])))
