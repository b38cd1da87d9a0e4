"""The hour, minute, weekday and date of columns of time-points, in a zone."""

from __future__ import annotations

from functools import partial

import numpy as np

from cernis.kernels.array_types import Array, Integers
from cernis.knowledge.zone_clock import (
    CLOCK_RANGES,
    DAY,
    EARLIEST,
    HOUR,
    LATEST,
    day_start,
    fixed_offset,
    zone_named,
)


def _clock_column(name: str, times: Array, zone_codes: Array, per_second: Array) -> Array:
    """One of the functions; a float that is no number where a time has no date."""
    if times.dtype.kind == "f" or zone_codes.dtype.kind == "f":
        return np.full(len(times), np.nan)
    if not len(times):
        return times
    zone = zone_named(int(zone_codes[0]))
    seconds = np.floor_divide(times, per_second)
    has_date = (seconds >= EARLIEST) & (seconds <= LATEST)
    if not has_date.all():
        known = _shown(name, np.where(has_date, seconds, 0), zone)
        return np.where(has_date, known * (per_second if name == "date" else 1), np.nan)
    known = _shown(name, seconds, zone)
    return np.asarray(known * per_second) if name == "date" else known


def _shown(name: str, seconds: Integers, zone: str) -> Integers:
    clock = _clock_of(seconds, zone)
    if name == "hour":
        return clock // HOUR % 24
    if name == "minute":
        return clock // 60 % 60
    days = clock // DAY
    if name == "weekday":
        return (days + 3) % 7 + 1
    # There are few days, however many rows there are.
    distinct, places = np.unique(days, return_inverse=True)
    starts = np.array([day_start(day, zone) for day in distinct.tolist()], np.int64)
    return starts[places]


def _clock_of(seconds: Integers, zone: str) -> Integers:
    """What clocks in a zone show, in seconds."""
    offset = fixed_offset(zone)
    if offset is not None:
        return seconds + offset
    import pyarrow as pa
    import pyarrow.compute as pc

    instants = pa.array(np.ascontiguousarray(seconds)).cast(pa.timestamp("s", zone))
    return pc.local_timestamp(instants).cast(pa.int64()).to_numpy()  # type: ignore[no-any-return]


CLOCK_OPERATIONS = {(name, 3): partial(_clock_column, name) for name in CLOCK_RANGES}
"""The functions on columns, as operations of arithmetic."""
