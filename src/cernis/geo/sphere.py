"""Distances and directions on the sphere, column-wise.

Distances are those of a plane through the mean latitude of two points: at the few kilometres
between positions of a vessel, or between vessels near each other, the error is far below that of
the positions. The date line is crossed the short way.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Floats

METRES_A_DEGREE = 111_194.93
"""The length of a degree of latitude, on a sphere of radius 6371 km."""

KNOT = 1852.0 / 3600.0
"""Metres a second."""


def eastward(lon1: Floats, lon2: Floats) -> Floats:
    """Degrees from the first longitude to the second, the short way: at least -180, below 180.

    >>> eastward(np.array([179.0, 10.0]), np.array([-179.0, 8.0])).tolist()
    [2.0, -2.0]
    """
    degrees: Floats = np.mod(lon2 - lon1 + 180.0, 360.0) - 180.0
    return degrees


def offsets(lon1: Floats, lat1: Floats, lon2: Floats, lat2: Floats) -> tuple[Floats, Floats]:
    """Metres to the east and to the north from the first points to the second."""
    east = eastward(lon1, lon2) * np.cos(np.radians((lat1 + lat2) / 2))
    return east * METRES_A_DEGREE, (lat2 - lat1) * METRES_A_DEGREE


def distances(lon1: Floats, lat1: Floats, lon2: Floats, lat2: Floats) -> Floats:
    """Metres between points."""
    metres: Floats = np.hypot(*offsets(lon1, lat1, lon2, lat2))
    return metres


def bearings(lon1: Floats, lat1: Floats, lon2: Floats, lat2: Floats) -> Floats:
    """Degrees clockwise from north, at least 0 and below 360; 0 between equal points.

    >>> bearings(np.zeros(3), np.zeros(3), np.array([1.0, 0.0, -1.0]), np.array([0.0, -1.0, 0.0]))
    array([ 90., 180., 270.])
    """
    east, north = offsets(lon1, lat1, lon2, lat2)
    degrees = np.mod(np.degrees(np.arctan2(east, north)), 360.0)
    # A tiny negative angle is rounded up to 360.
    rounded: Floats = np.where(degrees >= 360.0, 0.0, degrees)
    return rounded
