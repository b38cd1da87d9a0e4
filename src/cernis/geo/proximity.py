"""Which vessels are near each other, and when.

Tracks are sampled at common times, by interpolation between two positions of a track. Samples are
put into cells of time and place no smaller than the distance asked for, so that two vessels near
each other at a time are in the same cell or in neighbouring ones: a join of buckets and not of all
pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cernis.geo.nearby import list_near
from cernis.geo.parameters import Parameters
from cernis.geo.sphere import METRES_A_DEGREE, eastward
from cernis.geo.tracks import VesselTracks
from cernis.kernels.array_types import Booleans, Floats, Integers

LEAST_CELL = 100.0
"""Metres."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Where vessels were at common times: slot k is the time k x `proximity_step`."""

    vessel: Integers
    slot: Integers
    lon: Floats
    lat: Floats

    def __len__(self) -> int:
        return len(self.vessel)


@dataclass(frozen=True, slots=True)
class NearbyPairs:
    """Intervals `[start, end)` on which two vessels were near each other; vessel1 < vessel2.

    Ordered by pair and time; intervals of a pair neither overlap nor touch.
    """

    vessel1: Integers
    vessel2: Integers
    start: Integers
    end: Integers


def sample(tracks: VesselTracks, excepted: Booleans | None, parameters: Parameters) -> Samples:
    """The places of vessels at the slots that their tracks span.

    A track spans the slots from its first position to its last, both included. Between two
    positions the vessel is taken to move evenly. Nothing is sampled on the way from a position
    that is excepted.
    """
    step = parameters.proximity_step
    slots = -(-tracks.time // step)
    last = np.ones(len(tracks), np.bool_)
    last[:-1] = tracks.first[1:]
    following = np.append(slots[1:], 0)[: len(tracks)]
    counts = np.where(last, tracks.time % step == 0, following - slots)
    if excepted is not None:
        counts[excepted] = 0
    row = np.repeat(np.arange(len(tracks)), counts)
    ends = np.cumsum(counts)
    slot = np.arange(len(row)) + np.repeat(slots - (ends - counts), counts)
    after = np.where(last, np.arange(len(tracks)), np.arange(1, len(tracks) + 1))[row]
    lon, lat = _between(tracks, row, after, slot * step)
    return Samples(tracks.vessel[row], slot, lon, lat)


def _between(
    tracks: VesselTracks, row: Integers, after: Integers, time: Integers
) -> tuple[Floats, Floats]:
    length = np.maximum(tracks.time[after] - tracks.time[row], 1)
    share = (time - tracks.time[row]) / length
    lon = tracks.lon[row] + share * eastward(tracks.lon[row], tracks.lon[after])
    lat = tracks.lat[row] + share * (tracks.lat[after] - tracks.lat[row])
    return np.where(lon >= 180.0, lon - 360.0, np.where(lon < -180.0, lon + 360.0, lon)), lat


def near_pairs(samples: Samples, parameters: Parameters) -> NearbyPairs:
    """The intervals on which vessels were near each other.

    Two that are near at a slot are so until the next one; slots that follow one another make one
    interval.
    """
    if not len(samples):
        empty = np.empty(0, np.int64)
        return NearbyPairs(empty, empty, empty, empty)
    vessel1, vessel2, slot = _near(_round_the_world(samples, parameters), parameters)
    step = parameters.proximity_step
    pairs = NearbyPairs(vessel1, vessel2, slot * step, (slot + 1) * step)
    return joined(pairs, parameters)


def joined(pairs: NearbyPairs, parameters: Parameters) -> NearbyPairs:
    """Intervals of pairs, in any order, that overlap, touch or are bridged, made one."""
    if not len(pairs.start):
        return pairs
    vessel1, vessel2, start, end = pairs.vessel1, pairs.vessel2, pairs.start, pairs.end
    order = np.lexsort((start, vessel2, vessel1))
    vessel1, vessel2, start, end = (column[order] for column in (vessel1, vessel2, start, end))
    begins = np.ones(len(start), np.bool_)
    begins[1:] = (vessel1[1:] != vessel1[:-1]) | (vessel2[1:] != vessel2[:-1])
    # Pairs far apart in time do not touch, so that one running maximum serves all of them.
    shift = (np.cumsum(begins) - 1) * (end.max() - start.min() + parameters.proximity_bridge + 1)
    reached = np.maximum.accumulate(end + shift)
    begins[1:] |= start[1:] + shift[1:] > reached[:-1] + parameters.proximity_bridge
    firsts = np.flatnonzero(begins)
    ends = np.append(firsts[1:], len(start)) - 1
    return NearbyPairs(vessel1[firsts], vessel2[firsts], start[firsts], (reached - shift)[ends])


def _width(samples: Samples, parameters: Parameters) -> tuple[float, float]:
    """Degrees of longitude and latitude of a cell: the distance, at the latitude furthest off.

    Cells are no smaller than `LEAST_CELL`, so that their numbers, with time, are no more than 63
    bits have room for.
    """
    high = max(parameters.proximity_distance, LEAST_CELL) / METRES_A_DEGREE
    furthest = min(float(np.abs(samples.lat).max()) + high, 89.9)
    # A little more, so that no pair is lost to rounding.
    return 1.001 * high / np.cos(np.radians(furthest)), 1.001 * high


def _round_the_world(samples: Samples, parameters: Parameters) -> Samples:
    """With a second sample, after the date line, for each one just before it."""
    width, _ = _width(samples, parameters)
    again = samples.lon < -180.0 + width
    if not again.any():
        return samples
    return Samples(
        np.concatenate([samples.vessel, samples.vessel[again]]),
        np.concatenate([samples.slot, samples.slot[again]]),
        np.concatenate([samples.lon, samples.lon[again] + 360.0]),
        np.concatenate([samples.lat, samples.lat[again]]),
    )


def _near(samples: Samples, parameters: Parameters) -> tuple[Integers, Integers, Integers]:
    """Vessels near each other at slots; a pair at the date line may come twice."""
    width, height = _width(samples, parameters)
    column = np.floor((samples.lon + 180.0) / width).astype(np.int64) + 1
    row = np.floor((samples.lat + 90.0) / height).astype(np.int64)
    columns, rows = int(column.max()) + 2, int(row.max()) + 2
    cell = ((samples.slot - samples.slot.min()) * rows + row) * columns + column
    order = np.argsort(cell)
    place = cell[order], samples.lon[order], samples.lat[order]
    one, other = _listed(*place, columns, parameters.proximity_distance)
    vessel, slot = samples.vessel[order], samples.slot[order]
    pair = vessel[one], vessel[other]
    apart = pair[0] != pair[1]
    return np.minimum(*pair)[apart], np.maximum(*pair)[apart], slot[one][apart]


def _listed(
    cell: Integers, lon: Floats, lat: Floats, columns: int, distance: float
) -> tuple[Integers, Integers]:
    room = len(cell)
    while True:
        one, other = np.empty(room, np.int64), np.empty(room, np.int64)
        pairs = list_near(cell, lon, lat, columns, distance, one, other)
        if pairs <= room:
            return one[:pairs], other[:pairs]
        room = pairs
