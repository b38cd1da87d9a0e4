"""Positions as tracks: cleaned, ordered by vessel and time, cut where a vessel was silent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.errors import DataError
from cernis.geo.parameters import Parameters
from cernis.geo.sphere import KNOT, bearings, distances
from cernis.geo.track_loops import jumps
from cernis.kernels.array_types import Array, Booleans, Floats, Integers

POSITION_COLUMNS = ("vessel", "t", "lon", "lat", "speed", "course", "heading")
"""The columns of a table of positions. The last three may be missing."""

UNKNOWN_HEADING = 511
"""The heading of a vessel that sends none, as in AIS."""

UNKNOWN_SPEED = 102.3
"""Speeds from here on say, as in AIS, that there is none."""


@dataclass(frozen=True, slots=True)
class VesselTracks:
    """Positions as columns, ordered by vessel and time, no two of a vessel at one time.

    `vessel` has codes in the order of the vessels' names, which are in `vessels`. Speed and course
    are NaN where they are neither given nor can be derived, heading is 511 where it is not given.
    `first` marks the first row of each track; a track ends where its vessel's next position is
    more than a gap period away.
    """

    vessel: Integers
    time: Integers
    lon: Floats
    lat: Floats
    speed: Floats
    course: Floats
    heading: Integers
    first: Booleans
    vessels: pa.Array

    def __len__(self) -> int:
        return len(self.vessel)

    def names(self, rows: Integers | Booleans) -> pa.Array:
        """The names of the vessels of some rows."""
        return self.vessels.take(pa.array(self.vessel[rows]))


def make_tracks(positions: pa.Table, parameters: Parameters) -> tuple[VesselTracks, pa.Table]:
    """The tracks of a table of positions, and the positions set aside.

    `positions` has the columns `POSITION_COLUMNS`, in any order, and its rows are in any order.
    Vessels are whole numbers or text; times are whole seconds, or dates and times. What is set
    aside comes as a table `vessel, t, reason`: `incomplete` (no vessel, time, longitude or
    latitude), `off the map` (longitude beyond 180 or latitude beyond 90 degrees), `repeated`
    (another position of the vessel at that time is kept: the one first by longitude, latitude,
    speed, course and heading) and `jump` (see `Parameters.jump_speed`).
    """
    table = _columns(positions)
    numbers = _numbers(table)
    incomplete = _missing(table)
    away = ~incomplete & ~((np.abs(numbers[0]) <= 180.0) & (np.abs(numbers[1]) <= 90.0))
    bad = incomplete | away
    aside = [_aside(table, incomplete, "incomplete"), _aside(table, away, "off the map")]
    if bad.any():
        kept = pa.array(~bad)
        table, numbers = table.filter(kept), [column[~bad] for column in numbers]
    vessel, vessels = vessel_codes(table["vessel"])
    columns = [vessel, table["t"].to_numpy(), *numbers]
    columns, repeated = _ordered(columns)
    aside.append(_named(vessels, columns, repeated, "repeated"))
    columns = _without(columns, repeated)
    jumped = _jumps(columns, parameters)
    aside.append(_named(vessels, columns, jumped, "jump"))
    return _tracks(_without(columns, jumped), vessels, parameters), pa.concat_tables(aside)


def _columns(positions: pa.Table) -> pa.Table:
    """The columns there must be, of the right types; vessels as int64 or text, times as int64."""
    missing = [name for name in POSITION_COLUMNS[:4] if name not in positions.column_names]
    if missing:
        raise DataError(
            f"positions have no column {', '.join(missing)}; "
            f"the columns are {', '.join(positions.column_names)}"
        )
    columns = {name: positions[name] for name in POSITION_COLUMNS if name in positions.column_names}
    columns["vessel"] = _vessels(columns["vessel"])
    columns["t"] = _times(columns["t"])
    for name in POSITION_COLUMNS[4:]:
        columns.setdefault(name, pa.nulls(len(positions), pa.float64()))
    return pa.table(columns)


def _vessels(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_integer(kind):
        return column.cast(pa.int64())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column.cast(pa.string())
    raise DataError(f"vessels must be whole numbers or text, and are {column.type}")


def _times(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_timestamp(column.type):
        return pc.floor_temporal(column, unit="second").cast(pa.timestamp("s")).cast(pa.int64())
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    raise DataError(f"times must be whole seconds or dates and times, and are {column.type}")


def _numbers(table: pa.Table) -> list[Floats]:
    """Longitude, latitude, speed, course and heading; what is not known is NaN."""
    lon, lat, speed, course, heading = (
        table[name].cast(pa.float64()).to_numpy() for name in POSITION_COLUMNS[2:]
    )
    speed = np.where((speed >= 0.0) & (speed < UNKNOWN_SPEED), speed, np.nan)
    course = np.where((course >= 0.0) & (course < 360.0), course, np.nan)
    heading = np.where((heading >= 0.0) & (heading < 360.0), heading, np.nan)
    return [lon, lat, speed, course, heading]


def _missing(table: pa.Table) -> Booleans:
    missing = np.zeros(len(table), np.bool_)
    for name in POSITION_COLUMNS[:4]:
        column = table[name]
        if column.null_count or pa.types.is_floating(column.type):
            missing |= column.is_null(nan_is_null=True).to_numpy()
    return missing


def _aside(table: pa.Table, rows: Booleans, reason: str) -> pa.Table:
    chosen = table.select(["vessel", "t"]).filter(pa.array(rows))
    return _with_reason(chosen["vessel"], chosen["t"], reason)


def _named(vessels: pa.Array, columns: list[Array], rows: Booleans, reason: str
) -> pa.Table:  # fmt: skip
    names = vessels.take(pa.array(columns[0][rows]))
    return _with_reason(names, pa.array(columns[1][rows]), reason)


def _with_reason(vessel: pa.Array, time: pa.Array, reason: str) -> pa.Table:
    return pa.table(
        {"vessel": vessel, "t": time, "reason": pa.repeat(pa.scalar(reason), len(time))}
    )


def vessel_codes(column: pa.ChunkedArray) -> tuple[Integers, pa.Array]:
    """Vessels numbered in the order of their names, and the names in that order."""
    coded = column.combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks() if coded.num_chunks != 1 else coded.chunk(0)
    order = pc.sort_indices(coded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[coded.indices.to_numpy()], coded.dictionary.take(pa.array(order))


def _ordered(
    columns: list[Array],
) -> tuple[list[Array], Booleans]:
    """Rows by vessel and time, and which of them repeat the vessel and time of one before."""
    order = _order(columns[0], columns[1])
    if order is not None:
        columns = [column[order] for column in columns]
    vessel, time = columns[:2]
    repeated = np.zeros(len(vessel), np.bool_)
    repeated[1:] = (vessel[1:] == vessel[:-1]) & (time[1:] == time[:-1])
    if repeated.any():
        rows = np.flatnonzero(repeated | np.append(repeated[1:], False))
        order = rows[np.lexsort([column[rows] for column in reversed(columns)])]
        columns = [_moved(column, rows, order) for column in columns]
    return columns, repeated


def _moved(column: Array, rows: Integers, order: Integers) -> Array:
    copy = column.copy()
    copy[rows] = column[order]
    return copy


def _order(vessel: Integers, time: Integers) -> Integers | None:
    """The permutation by vessel and time; none if the rows are in that order."""
    if _in_order(vessel, time):
        return None
    # Up to 16 bits numpy's stable sort is one by counting; and in time order is how positions come.
    small = vessel.astype(np.uint16) if len(vessel) and vessel.max() < 1 << 16 else vessel
    order = np.argsort(small, kind="stable")
    if _in_order(vessel[order], time[order]):
        return order
    return np.lexsort((time, vessel))


def _in_order(vessel: Integers, time: Integers) -> bool:
    later = (vessel[1:] == vessel[:-1]) & (time[1:] >= time[:-1])
    return bool(np.all(later | (vessel[1:] > vessel[:-1])))


def _without(columns: list[Array], rows: Booleans) -> list[Array]:
    return [column[~rows] for column in columns] if rows.any() else columns


def _jumps(columns: list[Array], parameters: Parameters) -> Booleans:
    marked = np.zeros(len(columns[0]), np.bool_)
    vessel, time, lon, lat = (np.ascontiguousarray(column) for column in columns[:4])
    jumps(vessel, time, lon, lat, parameters.jump_speed * KNOT, marked)
    return marked


def _tracks(columns: list[Array], vessels: pa.Array, parameters: Parameters) -> VesselTracks:
    vessel, time, lon, lat, speed, course, heading = columns
    first = np.ones(len(vessel), np.bool_)
    first[1:] = (vessel[1:] != vessel[:-1]) | (time[1:] - time[:-1] > parameters.gap_period)
    speed, course = _derived(time, lon, lat, speed, course, first)
    return VesselTracks(vessel, time, lon, lat, speed, course, _whole(heading), first, vessels)


def _whole(heading: Floats) -> Integers:
    unknown = np.isnan(heading)
    degrees = np.rint(np.where(unknown, UNKNOWN_HEADING, heading)).astype(np.int64)
    return np.where(degrees == 360, 0, degrees)


def _derived(
    time: Integers, lon: Floats, lat: Floats, speed: Floats, course: Floats, first: Booleans
) -> tuple[Floats, Floats]:
    """Speeds and courses, those that were not given derived.

    They are from the position before, or at the first of a track to the one after.
    """
    rows = np.flatnonzero(np.isnan(speed) | np.isnan(course))
    to = np.where(first[rows], rows + 1, rows)
    there = to < len(first)
    there[there] &= ~first[to[there]]
    rows, to = rows[there], to[there]
    ends = lon[to - 1], lat[to - 1], lon[to], lat[to]
    speeds = distances(*ends) / (time[to] - time[to - 1]) / KNOT
    speed[rows] = np.where(np.isnan(speed[rows]), speeds, speed[rows])
    course[rows] = np.where(np.isnan(course[rows]), bearings(*ends), course[rows])
    return speed, course
