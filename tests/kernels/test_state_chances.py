"""States of instances with delayed effects, carried through time."""

from __future__ import annotations

import numpy as np
import pytest

from cernis.kernels import compile as compiling
from cernis.kernels.inertia.points import UNTIL_DUE
from cernis.kernels.state_chances import (
    MOST_STATES,
    NO_ROOM,
    NOT_BEGUN,
    TOO_MANY,
    EffectBits,
    PointWorlds,
    StateRows,
    Steps,
    carry_states,
)

ON, OFF = 1, 2


def carried(
    points: list[tuple[int, list[tuple[int, int, float]]]], last: int, postponable: int = 0,
    room: int = 64, most: int = MOST_STATES,
) -> tuple[int, list[tuple[int, int, float]], list[tuple[int, int, float]]]:  # fmt: skip
    """Of one instance: `on` leads to `off` after 10. Gives a code, the steps, and the states."""
    worlds = [world for _, each in points for world in each]
    offsets = np.cumsum([0, *(len(each) for _, each in points)]).astype(np.int64)
    columns = [np.array([world[k] for world in worlds], np.int64) for k in (0, 1)]
    steps, edges = Steps.with_room(room), Steps.with_room(64)
    final = StateRows(
        np.zeros(2, np.int64), np.empty(room, np.int64), np.empty((room, 1), np.int64),
        np.empty(room),
    )  # fmt: skip
    count, edge_count = carry_states(
        PointWorlds(
            np.array([0, len(points)]), np.array([time for time, _ in points], np.int64), offsets,
            *columns, np.array([world[2] for world in worlds], np.float64),
        ),
        StateRows(
            np.array([0, 1]), np.zeros(1, np.int64), np.full((1, 1), NOT_BEGUN), np.ones(1)
        ),
        EffectBits(
            np.zeros(1, np.int64), np.zeros(1, np.int64), np.full((1, 1), 10),
            np.full((1, 1), OFF), np.zeros((1, 1), np.int64), np.full((1, 1), postponable),
            np.array([ON | OFF]), ON | OFF,
        ),
        2, last, 1, 1, np.empty(2 * most, np.int64), np.empty((2 * most, 1), np.int64),
        np.empty(2 * most), np.empty(2), steps, edges, final, np.empty(4),
    )  # fmt: skip
    found = [
        (int(steps.times[k]), int(steps.values[k]), float(steps.chances[k]))
        for k in range(max(count, 0))
    ]
    states = [
        (int(final.held[k]), int(final.onsets[k, 0]), float(final.chances[k]))
        for k in range(int(final.offsets[1]) if count >= 0 else 0)
    ]
    SEEN_EDGES[:] = [
        (int(edges.times[k]), int(edges.values[k]), float(edges.chances[k]))
        for k in range(edge_count)
    ]
    return count, found, states


SEEN_EDGES: list[tuple[int, int, float]] = []
"""The edges of the last call: time, twice the value and one more for an end, probability."""

SURE = [(2, [(ON, 0, 1.0)]), (4, [(ON, 0, 1.0)]), (6, [(ON, 0, 1.0)])]


@pytest.mark.parametrize("compiled", [False, True])
def test_vectors(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "PLAIN_ROWS", 0 if compiled else 1 << 40)
    assert carried(SURE, 20)[1] == [(3, 0, 1.0), (13, 0, 0.0), (13, 1, 1.0)]
    assert carried(SURE, 20, postponable=1)[1] == [(3, 0, 1.0), (17, 0, 0.0), (17, 1, 1.0)]
    again = [(2, [(ON, 0, 1.0)]), (12, [(ON, 0, 1.0)])]
    # By the rule `break` both values of 12 lose, and the initiation has its effect at 22.
    assert carried(again, 30, postponable=1)[1] == [(3, 0, 1.0), (13, 0, 0.0), (23, 1, 1.0)]
    late = carried(again, 30, postponable=UNTIL_DUE)[1]
    assert late == [(3, 0, 1.0), (23, 0, 0.0), (23, 1, 1.0)]
    broken = [*SURE, (8, [(0, ON, 1.0)])]
    assert carried(broken, 20)[1] == [(3, 0, 1.0), (9, 0, 0.0)]
    doubtful = [(2, [(ON, 0, 0.5), (0, 0, 0.5)]), (4, [(ON, 0, 0.4), (0, 0, 0.6)])]
    _, steps, states = carried(doubtful, 12)
    assert steps == [(3, 0, 0.5), (5, 0, 0.7), (13, 0, pytest.approx(0.2)), (13, 1, 0.5)]
    assert SEEN_EDGES == [
        (2, 0, 0.5), (4, 0, 0.2), (12, 1, 0.5), (12, 2, 0.5),
    ]  # fmt: skip
    assert sorted(states) == [
        (0, NOT_BEGUN, 0.3), (ON, 4, 0.2), (OFF, NOT_BEGUN, pytest.approx(0.5)),
    ]  # fmt: skip


def test_room() -> None:
    assert carried(SURE, 20, room=1)[0] == NO_ROOM
    doubtful = [(time, [(ON, 0, 0.5), (0, 0, 0.5)]) for time in range(1, 9)]
    assert carried(doubtful, 20, most=4)[0] == TOO_MANY
