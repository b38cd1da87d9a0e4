"""From positions to the events that maritime rules are about, one table for each relation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cernis.errors import DataError
from cernis.geo.areas import Areas, Stays, names_of
from cernis.geo.motion import Happenings, critical_points
from cernis.geo.parameters import Parameters
from cernis.geo.proximity import NearbyPairs, Samples, near_pairs, sample
from cernis.geo.tracks import VesselTracks, make_tracks
from cernis.kernels.array_types import Booleans, Integers

EVENTS = (
    "entersArea", "leavesArea", "gap_start", "gap_end", "stop_start", "stop_end",
    "slow_motion_start", "slow_motion_end", "change_in_speed_start", "change_in_speed_end",
    "change_in_heading", "velocity",
)  # fmt: skip
"""The events that positions give."""

FLUENT = "proximity"
"""The fluent on intervals that they give."""


IN_ORDER = {"cernis.arguments": "in order"}
"""Says of a table that its columns are in the order of the arguments, whatever rules call these."""


@dataclass(frozen=True, slots=True)
class PositionEvents:
    """What positions gave: a table for each event and for `proximity`, and what was set aside.

    Tables of events have the columns `occurrence`, `vessel` and the other arguments; that of
    `proximity` has `start, end, value, vessel1, vessel2`. So `Program.run` takes `relations` as
    it is. With arrivals, each begins with `arrival`. The rows of a table are in the order of
    vessels and times. `set_aside` has `vessel, t, reason`: see `cernis.geo.tracks.make_tracks`.
    """

    relations: dict[str, pa.Table]
    set_aside: pa.Table


def positions_to_events(
    positions: pa.Table,
    parameters: Parameters | None = None,
    areas: Areas | None = None,
    *,
    arrivals: bool = False,
) -> PositionEvents:
    """All events of a table `vessel, t, lon, lat, speed, course, heading`, in any order.

    Speed is in knots, course and heading in degrees; these three may be missing or null, and are
    then derived, or said to be unknown (heading 511). Of no positions there are empty tables.

    An area is entered, or left, one tick before the first position that is inside, or no longer
    is: so the vessel is within it from that position on, or no more.

    With `arrivals` there is a column for when each event is known: a stop, say, only when it has
    lasted. A window that is no longer than its step then loses events; without, all arrive as they
    occur, as is right for positions of the past.
    """
    settings = parameters or Parameters()
    motion = motion_events(positions, settings, areas, arrivals=arrivals)
    pairs = near_pairs(motion.samples, settings)
    relations = {**motion.relations, FLUENT: proximity_table(pairs, motion.vessels, arrivals)}
    return PositionEvents(relations, motion.set_aside)


@dataclass(frozen=True, slots=True)
class MotionEvents:
    """What can be said of each vessel by itself, and what is needed to compare them.

    `samples` numbers vessels by their place in `vessels`, which is sorted.
    """

    relations: dict[str, pa.Table]
    samples: Samples
    vessels: pa.Array
    set_aside: pa.Table


def motion_events(
    positions: pa.Table,
    parameters: Parameters,
    areas: Areas | None = None,
    *,
    arrivals: bool = False,
) -> MotionEvents:
    """As `positions_to_events`, for the vessels of these positions, each by itself."""
    places = areas or Areas({})
    _known_areas(places, parameters)
    tracks, set_aside = make_tracks(positions, parameters)
    stays = places.index.stays(tracks.lon, tracks.lat, tracks.first)
    left = stays.stop < len(tracks)
    left[left] &= ~tracks.first[stays.stop[left]]
    relations = _crossings(tracks, stays, left, places, parameters, arrivals)
    crossings = np.concatenate([stays.start, stays.stop[left]])
    for name, happenings in critical_points(tracks, parameters, crossings).items():
        relations[name] = _event(tracks, happenings, name, arrivals)
    excepted = _excepted(stays, places, parameters, len(tracks))
    samples = sample(tracks, excepted, parameters)
    return MotionEvents(relations, samples, tracks.vessels, set_aside)


def proximity_table(pairs: NearbyPairs, vessels: pa.Array, arrivals: bool) -> pa.Table:
    """Intervals of pairs as a relation, given the vessels that are numbered there."""
    columns = {
        "start": pa.array(pairs.start),
        "end": pa.array(pairs.end),
        "value": pa.repeat(pa.scalar("true"), len(pairs.start)),
        "vessel1": vessels.take(pa.array(pairs.vessel1)),
        "vessel2": vessels.take(pa.array(pairs.vessel2)),
    }
    table = pa.table({"arrival": columns["end"], **columns} if arrivals else columns)
    return table.replace_schema_metadata(IN_ORDER)


def _known_areas(areas: Areas, parameters: Parameters) -> None:
    unknown = sorted(set(parameters.proximity_except) - set(areas.names))
    if unknown:
        raise DataError(
            f"proximity_except names areas that are not there: {', '.join(unknown)}; "
            f"there are {', '.join(areas.names) or 'none'}"
        )


def _excepted(stays: Stays, areas: Areas, parameters: Parameters, length: int) -> Booleans | None:
    if not parameters.proximity_except:
        return None
    chosen = np.array([name in parameters.proximity_except for name in areas.names])
    return stays.rows(chosen, length)


def _crossings(
    tracks: VesselTracks, stays: Stays, left: Booleans, areas: Areas, parameters: Parameters,
    arrivals: bool,
) -> dict[str, pa.Table]:  # fmt: skip
    return {
        "entersArea": _crossing(tracks, stays.start, stays.area, areas, parameters, arrivals),
        "leavesArea": _crossing(
            tracks, stays.stop[left], stays.area[left], areas, parameters, arrivals
        ),
    }


def _crossing(
    tracks: VesselTracks, rows: Integers, area: Integers, areas: Areas, parameters: Parameters,
    arrivals: bool,
) -> pa.Table:  # fmt: skip
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    happenings = Happenings(rows, tracks.time[rows] - parameters.tick, tracks.time[rows])
    table = _event(tracks, happenings, "", arrivals)
    return table.append_column("area", names_of(areas, area[order]))


def _event(tracks: VesselTracks, happenings: Happenings, name: str, arrivals: bool) -> pa.Table:
    columns = {"arrival": pa.array(happenings.known)} if arrivals else {}
    columns["occurrence"] = pa.array(happenings.time)
    columns["vessel"] = tracks.names(happenings.row)
    if name == "velocity":
        columns["speed"] = pa.array(tracks.speed[happenings.row])
        columns["course"] = pa.array(tracks.course[happenings.row])
        columns["heading"] = pa.array(tracks.heading[happenings.row])
    return pa.table(columns).replace_schema_metadata(IN_ORDER)
