"""Blobs: arrays packed into bytes for an exchange, and back.

The cost of an exchange in the JVM depends on the number of rows; a blob is one row with thousands
of records in it. It is written and read within one job, so it is a pickle of plain arrays without
a version.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from cernis.kernels.array_types import Array, Integers
from cernis.knowledge.ground_values import Value
from cernis.records.record_columns import INFINITE, Coded, Column, RecordColumns, RecordForm
from cernis.session.saved.narrow import narrow, widen
from cernis.tables.domains import Domain


def dumps(content: object) -> bytes:
    """The content of a blob as bytes."""
    return pickle.dumps(content, protocol=5)


def loads(blob: Any) -> Any:
    """The content of a blob."""
    return pickle.loads(blob)


# -- columns -----------------------------------------------------------------------------------


def packed_column(column: Column) -> Any:
    """A column of numbers or of any values, of which only those in use are kept."""
    if not isinstance(column, Coded):
        return narrow(column)
    values, codes = column.values, column.codes
    if len(codes) < len(values) or len(values) > 256:
        used, codes = np.unique(codes, return_inverse=True)
        values = [values[code] for code in used.tolist()]
    return values, narrow(np.asarray(codes))


def unpacked_column(packed: Any) -> Column:
    """The column that was packed."""
    if len(packed) == 2:
        return Coded(packed[0], widen(packed[1]))
    return widen(packed)


def decoded(codes: Array, domain: Domain | None) -> Column:
    """Codes of a domain as a column; numbers as they are."""
    if domain is None:
        return codes
    values, places = domain.distinct(codes)
    whole = _as_integers(values)
    return Coded(values, places) if whole is None else whole[places]


def _as_integers(values: Sequence[Value]) -> Integers | None:
    """Values as an array, if all are whole numbers that fit; None otherwise, and for no values."""
    if set(map(type, values)) != {int}:
        return None
    try:
        array = np.array(values, np.int64)
    except OverflowError:
        return None
    return array if int(array.min()) >= -INFINITE else None


# -- records -----------------------------------------------------------------------------------


def packed_records(part: RecordColumns) -> tuple[Any, ...]:
    """Records of one form. Arrivals are left out if all equal the occurrences or starts."""
    arrival, start = part.times[:2]
    at_once = arrival is start or bool(np.array_equal(arrival, start))
    return (
        part.form,
        None if at_once else narrow(arrival),
        [narrow(time) for time in part.times[1:]],
        [packed_column(column) for column in part.columns],
        narrow(part.places),
        None if part.retracts is None or not part.retracts.any() else part.retracts,
        None if part.gone is None else narrow(part.gone),
        None if part.chances is None else narrow(part.chances),
        None if part.ids is None else packed_column(part.ids),
    )


def unpacked_records(packed: tuple[Any, ...]) -> RecordColumns:
    """The records that were packed."""
    form, arrival, others, columns, places, retracts, gone, chances, ids = packed
    assert isinstance(form, RecordForm)
    times = [widen(time) for time in others]
    times.insert(0, times[0] if arrival is None else widen(arrival))
    return RecordColumns(
        form, times, [unpacked_column(column) for column in columns], widen(places), retracts,
        None if gone is None else widen(gone), None if chances is None else widen(chances),
        None if ids is None else unpacked_column(ids),
    )  # fmt: skip
