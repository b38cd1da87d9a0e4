"""The critical points of tracks: gaps, stops, slow motion, changes of speed and of heading.

What lasts begins at the first position that shows it and ends at the first that does not. What a
gap cuts off does not end by itself: the gap ends it. It begins again after the gap if it is still
there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cernis.geo.parameters import Parameters
from cernis.geo.track_loops import speed_changes, stops, thinned, turns
from cernis.geo.tracks import VesselTracks
from cernis.kernels.array_types import Booleans, Integers


@dataclass(frozen=True, slots=True)
class Happenings:
    """Events of one relation: the row each is about, when it occurs, and when it is known."""

    row: Integers
    time: Integers
    known: Integers


def critical_points(
    tracks: VesselTracks, parameters: Parameters, crossings: Integers
) -> dict[str, Happenings]:
    """The events of motion by their names, `velocity` among them. No events of no positions.

    Velocities are reported also at the rows of `crossings`: what a vessel is allowed depends on
    where it is.
    """
    stopped = _stopped(tracks, parameters)
    slow = _long(tracks, ~stopped & (tracks.speed < parameters.slow_speed), parameters.slow_points)
    changing = _changing(tracks, parameters)
    turned = _turned(tracks, stopped, parameters)
    events = gaps(tracks, parameters)
    for name, state, points in (
        ("stop", stopped, parameters.stop_points),
        ("slow_motion", slow, parameters.slow_points),
        ("change_in_speed", changing, 1),
    ):
        starts, ends = _edges(tracks, state)
        events[f"{name}_start"] = _at(tracks, starts, starts + points - 1)
        events[f"{name}_end"] = _at(tracks, ends, ends)
    rows = np.flatnonzero(turned)
    events["change_in_heading"] = _at(tracks, rows, rows)
    critical = np.concatenate([crossings, *(happenings.row for happenings in events.values())])
    events["velocity"] = _velocity(tracks, critical, parameters)
    return events


def runs(state: Booleans, first: Booleans) -> tuple[Integers, Integers]:
    """Maximal stretches of rows of one track on which a state is true: `[start, stop)` of each."""
    joined = state[1:] & state[:-1] & ~first[1:]
    starts = state.copy()
    starts[1:] &= ~joined
    lasts = state.copy()
    lasts[:-1] &= ~joined
    return np.flatnonzero(starts), np.flatnonzero(lasts) + 1


def gaps(tracks: VesselTracks, parameters: Parameters) -> dict[str, Happenings]:
    """Gaps start at the last position before the silence, and end at the first one after it.

    That a gap has started is known when the gap period is over.
    """
    first = tracks.first
    ends = np.flatnonzero(first[1:] & (tracks.vessel[1:] == tracks.vessel[:-1])) + 1
    starts = ends - 1
    if parameters.until is not None:
        ended = np.ones(len(tracks), np.bool_)
        ended[:-1] = tracks.vessel[1:] != tracks.vessel[:-1]
        last = np.flatnonzero(ended)
        silent = parameters.until - tracks.time[last] > parameters.gap_period
        starts = np.sort(np.concatenate([starts, last[silent]]))
    time = tracks.time[starts]
    known = time + parameters.gap_period + parameters.tick
    return {
        "gap_start": Happenings(starts, time, known),
        "gap_end": _at(tracks, ends, ends),
    }


def _at(tracks: VesselTracks, rows: Integers, known: Integers) -> Happenings:
    return Happenings(rows, tracks.time[rows], tracks.time[known])


def _stopped(tracks: VesselTracks, parameters: Parameters) -> Booleans:
    marked = np.zeros(len(tracks), np.bool_)
    stops(
        tracks.first, tracks.speed, tracks.lon, tracks.lat, parameters.stop_speed,
        parameters.slow_speed, parameters.stop_radius, parameters.stop_points, marked,
    )  # fmt: skip
    return marked


def _long(tracks: VesselTracks, state: Booleans, points: int) -> Booleans:
    """A state without its stretches of fewer positions than `points`."""
    starts, ends = runs(state, tracks.first)
    short = ends - starts < points
    edges = np.zeros(len(state) + 1, np.int64)
    edges[starts[short]] += 1
    edges[ends[short]] -= 1
    kept: Booleans = state & (np.cumsum(edges[:-1]) == 0)
    return kept


def _changing(tracks: VesselTracks, parameters: Parameters) -> Booleans:
    marked = np.zeros(len(tracks), np.bool_)
    speed_changes(
        tracks.first, tracks.speed, parameters.stop_speed, parameters.speed_ratio,
        parameters.speed_points, marked,
    )  # fmt: skip
    return marked


def _turned(tracks: VesselTracks, stopped: Booleans, parameters: Parameters) -> Booleans:
    marked = np.zeros(len(tracks), np.bool_)
    # Of a NaN both comparisons are false, and no course is as good as none at all.
    idle = stopped | ~(tracks.speed >= parameters.stop_speed) | np.isnan(tracks.course)
    turns(tracks.first, idle, tracks.course, parameters.turn_angle, marked)
    return marked


def _edges(tracks: VesselTracks, state: Booleans) -> tuple[Integers, Integers]:
    """The rows at which a state begins, and those of the same tracks at which it is over."""
    starts, ends = runs(state, tracks.first)
    within = ends < len(tracks)
    within[within] &= ~tracks.first[ends[within]]
    return starts, ends[within]


def _velocity(tracks: VesselTracks, critical: Integers, parameters: Parameters) -> Happenings:
    known = ~(np.isnan(tracks.speed) | np.isnan(tracks.course))
    if parameters.velocity_every:
        marks, due = np.zeros((2, len(tracks)), np.bool_)
        marks[critical] = True
        thinned(tracks.first, tracks.time, marks, parameters.velocity_every, due)
        known &= due
    rows = np.flatnonzero(known)
    return _at(tracks, rows, rows)
