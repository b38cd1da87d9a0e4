"""Values that end no other, and the terminations that can end something, by their definitions."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cernis.operators.definitions.actions import sorted_actions
from cernis.operators.definitions.open_ends import first_ends
from cernis.operators.definitions.values_apart import hold_apart
from cernis.tables.interval_tables import INFINITY

SEEDS = range(40)
FAR = 1 << 61
EVER = np.iinfo(np.int64).min


def _column(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, np.int64)


def _times(random: Random, count: int, base: int) -> list[int]:
    return [base + random.randint(0, 12) for _ in range(count)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scale", [1, FAR])
def test_first_ends_are_those_at_a_point_and_the_next(seed: int, scale: int) -> None:
    random = Random(seed)
    groups = [random.randint(0, 3) * (1 + (scale > 1) * 1000) for _ in range(random.randint(0, 9))]
    times = [random.choice((-1, 1)) * scale + time for time in _times(random, len(groups), 0)]
    begun_groups = [random.choice([*groups, 7]) for _ in range(random.randint(0, 9))]
    begun_times = [random.choice([*times, EVER, scale + 3, 0]) for _ in begun_groups]
    expected = set()
    for row, (group, time) in enumerate(zip(begun_groups, begun_times, strict=True)):
        ends = [t for g, t in zip(groups, times, strict=True) if g == group]
        expected |= {(row, end) for end in ends if end == time}
        expected |= (
            {(row, min(end for end in ends if end > time))}
            if max(ends, default=EVER) > time
            else set()
        )
    rows, ended = first_ends(*map(_column, (groups, begun_groups, times, begun_times)))
    found = [(int(row), times[end]) for row, end in zip(rows, ended, strict=True)]
    assert sorted(found) == sorted(expected), f"seed {seed}"
    assert all(begun_groups[row] == groups[end] for row, end in zip(rows, ended, strict=True))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("ties", ["break", "initiation"])
def test_values_that_end_no_other_hold_each_by_itself(seed: int, ties: str) -> None:
    random = Random(seed)
    actions = [
        (random.randint(0, 2), time, random.randint(0, 2) * 2 + random.randint(0, 1))
        for time in _times(random, random.randint(0, 20), 10)
    ]
    carried = {(random.randint(0, 2), random.randint(0, 2)): random.randint(1, 9) for _ in range(3)}
    breaks = [(random.randint(0, 2), time) for time in _times(random, random.randint(0, 5), 10)]
    columns = zip(*actions, strict=True) if actions else ([], [], [])
    found = hold_apart(
        sorted_actions(*(_column(list(column)) for column in columns), 3),
        (
            _column([instance for instance, _ in carried]),
            _column([value for _, value in carried]),
            _column(list(carried.values())),
        ),
        (_column([instance for instance, _ in breaks]), _column([time for _, time in breaks])),
        ties,
        1,
    )
    rows = sorted(zip(*(column.tolist() for column in found), strict=True))
    assert rows == sorted(_by_definition(actions, carried, breaks, ties)), f"seed {seed}"


def _by_definition(
    actions: list[tuple[int, int, int]],
    carried: dict[tuple[int, int], int],
    breaks: list[tuple[int, int]],
    ties: str,
) -> list[tuple[int, int, int, int]]:
    """One pair, one point after the other."""
    rows = []
    pairs = {(instance, action >> 1) for instance, _, action in actions} | set(carried)
    for instance, value in pairs:
        since = carried.get((instance, value))
        for time in range(10, 30):
            is_begun = (instance, time, value * 2 + 1) in actions
            is_broken = (instance, time, value * 2) in actions or (instance, time) in breaks
            if is_broken and not (is_begun and ties == "initiation"):
                rows += [(instance, value, since, time + 1)] if since is not None else []
                since = None
            elif is_begun and since is None:
                since = time + 1
        rows += [(instance, value, since, INFINITY)] if since is not None else []
    return rows
