"""Initiations and terminations of a fluent: put together, and made of what effects do."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Integers
from cernis.operators.context.fluent_points import Points
from cernis.operators.definitions.instance_keys import InstanceKeys


def stacked(parts: list[Points], nothing: Points) -> Points:
    """The points of all parts; nothing if there are none."""
    if not parts:
        return nothing
    return Points(
        [np.concatenate(own) for own in zip(*(p.arguments for p in parts), strict=True)],
        np.concatenate([p.values for p in parts]),
        np.concatenate([p.times for p in parts]),
    )


def effects_as_points(
    keys: InstanceKeys, groups: Integers, actions: Integers, times: Integers
) -> tuple[Points, Points]:
    """Effects are initiations and terminations that other rules may wait for."""
    parts = [np.flatnonzero((actions & 1) == initiates) for initiates in (True, False)]
    initiated, ended = (
        Points(keys.arguments(groups[own]), actions[own] >> 1, times[own]) for own in parts
    )
    return initiated, ended
