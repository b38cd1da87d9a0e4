"""Loops over tracks, compiled: what a position means depends on what the ones before it meant.

Rows are positions ordered by vessel and time. `first` marks the rows that begin a track: the first
of a vessel, and the first after a gap. Nothing is carried from one track to another. Each kernel
marks rows of an array that is false before; its twin in plain Python has the same arguments.
"""

from __future__ import annotations

import math

import numpy as np

from cernis.geo.sphere import METRES_A_DEGREE
from cernis.kernels.array_types import Booleans, Floats, Integers
from cernis.kernels.compile import kernel, part


@part
def _distance(lon1: float, lat1: float, lon2: float, lat2: float) -> float:
    east = (lon2 - lon1 + 180.0) % 360.0 - 180.0
    east *= math.cos(math.radians((lat1 + lat2) / 2))
    return math.sqrt(east * east + (lat2 - lat1) * (lat2 - lat1)) * METRES_A_DEGREE


@kernel("booleans floats floats floats float float float integer writable-booleans", "nothing")
def stops(
    first: Booleans, speed: Floats, lon: Floats, lat: Floats,
    stop_speed: float, slow_speed: float, radius: float, points: int, marked: Booleans,
) -> None:  # fmt: skip
    """Mark the positions of stops.

    A stop begins below `stop_speed`. It goes on below that, and below `slow_speed` within a radius
    in metres of its first position. One of fewer positions than `points` is none.
    """
    first_row = -1
    for row in range(len(first) + 1):
        goes_on = row < len(first) and first_row >= 0 and not first[row] and speed[row] < slow_speed
        if goes_on and speed[row] >= stop_speed:
            goes_on = _distance(lon[first_row], lat[first_row], lon[row], lat[row]) <= radius
        if goes_on:
            continue
        if first_row >= 0 and row - first_row >= points:
            marked[first_row:row] = True
        first_row = -1
        if row < len(first) and speed[row] < stop_speed:
            first_row = row


def stops_plain(
    first: Booleans, speed: Floats, lon: Floats, lat: Floats,
    stop_speed: float, slow_speed: float, radius: float, points: int, marked: Booleans,
) -> None:  # fmt: skip
    """The twin of `stops`: from each beginning, as far as it goes."""
    row = 0
    while row < len(first):
        end = row
        while end < len(first) and (end == row or not first[end]):
            close = near(lon[row], lat[row], lon[end], lat[end], radius)
            if not (speed[end] < stop_speed or (end > row and speed[end] < slow_speed and close)):
                break
            end += 1
        marked[row:end] = end - row >= points
        row = max(end, row + 1)


def near(lon1: float, lat1: float, lon2: float, lat2: float, radius: float) -> bool:
    """Are two points no further apart than a radius in metres? For the twins."""
    east = ((lon2 - lon1 + 180.0) % 360.0 - 180.0) * math.cos(math.radians((lat1 + lat2) / 2))
    return math.hypot(east, lat2 - lat1) * METRES_A_DEGREE <= radius


@kernel("booleans floats float float integer writable-booleans", "nothing")
def speed_changes(
    first: Booleans, speed: Floats, least: float, ratio: float, points: int, marked: Booleans
) -> None:
    """Mark the positions whose speed is off the mean of the ones before it, `points` at most.

    Off is by more than `ratio` of that mean. Where both are below `least` nothing changes.
    """
    track_start = 0
    for row in range(len(first)):
        if first[row]:
            track_start = row
            continue
        start = max(track_start, row - points)
        total = 0.0
        for before in range(start, row):
            total += speed[before]
        mean = total / (row - start)
        moving = speed[row] >= least or mean >= least
        marked[row] = moving and abs(speed[row] - mean) > ratio * mean


def speed_changes_plain(
    first: Booleans, speed: Floats, least: float, ratio: float, points: int, marked: Booleans
) -> None:
    """The twin of `speed_changes`."""
    tracks = np.cumsum(first)
    for row in range(len(first)):
        before = [each for each in range(max(0, row - points), row) if tracks[each] == tracks[row]]
        if before:
            mean = sum(speed[before].tolist()) / len(before)
            off = abs(speed[row] - mean) > ratio * mean
            marked[row] = off and max(speed[row], mean) >= least


@kernel("booleans booleans floats float writable-booleans", "nothing")
def turns(first: Booleans, idle: Booleans, course: Floats, angle: float, marked: Booleans) -> None:
    """Mark the positions at which a vessel turns.

    It does if its course is more than `angle` degrees off that of its last turn, or of the first
    position of its track that is not idle. An idle position has no course worth the name.
    """
    known = False
    reference = 0.0
    for row in range(len(first)):
        if first[row]:
            known = False
        if idle[row]:
            continue
        turn = abs(course[row] - reference)
        marked[row] = known and min(turn, 360.0 - turn) > angle
        if marked[row] or not known:
            reference = course[row]
            known = True


def turns_plain(
    first: Booleans, idle: Booleans, course: Floats, angle: float, marked: Booleans
) -> None:
    """The twin of `turns`: track by track."""
    for track in np.split(np.arange(len(first)), np.flatnonzero(first)):
        rows = [row for row in track.tolist() if not idle[row]]
        reference = course[rows[0]] if rows else 0.0
        for row in rows:
            turn = abs(course[row] - reference)
            if min(turn, 360.0 - turn) > angle:
                marked[row] = True
                reference = course[row]


@kernel("booleans integers booleans integer writable-booleans", "nothing")
def thinned(
    first: Booleans, time: Integers, critical: Booleans, every: int, marked: Booleans
) -> None:
    """Mark positions that are critical, the first of their track, or due.

    A position is due if it is at least `every` after the last that was marked.
    """
    last = 0
    for row in range(len(first)):
        if first[row] or critical[row] or time[row] - last >= every:
            marked[row] = True
            last = time[row]


def thinned_plain(
    first: Booleans, time: Integers, critical: Booleans, every: int, marked: Booleans
) -> None:
    """The twin of `thinned`."""
    for row in range(len(first)):
        earlier = np.flatnonzero(marked[:row])
        due = not len(earlier) or time[row] - time[earlier[-1]] >= every
        marked[row] = first[row] or critical[row] or due


@kernel("integers integers floats floats float writable-booleans", "nothing")
def jumps(
    vessel: Integers, time: Integers, lon: Floats, lat: Floats, limit: float, marked: Booleans
) -> None:
    """Mark positions that are off the way.

    Such a one is reached and left faster than `limit`, in metres a second, and the way from the
    position before it to the one after, of the same vessel, is no faster than that.
    """
    before = False
    for row in range(1, len(vessel)):
        fast = False
        if vessel[row] == vessel[row - 1]:
            way = _distance(lon[row - 1], lat[row - 1], lon[row], lat[row])
            fast = way > limit * (time[row] - time[row - 1])
        if fast and before:
            way = _distance(lon[row - 2], lat[row - 2], lon[row], lat[row])
            marked[row - 1] = way <= limit * (time[row] - time[row - 2])
        before = fast


def jumps_plain(
    vessel: Integers, time: Integers, lon: Floats, lat: Floats, limit: float, marked: Booleans
) -> None:
    """The twin of `jumps`."""

    def slow(row1: int, row2: int) -> bool:
        reach = limit * float(time[row2] - time[row1])
        return near(lon[row1], lat[row1], lon[row2], lat[row2], reach)

    for row in range(1, len(vessel) - 1):
        same = vessel[row - 1] == vessel[row] == vessel[row + 1]
        off = same and not slow(row - 1, row) and not slow(row, row + 1)
        marked[row] = off and slow(row - 1, row + 1)
