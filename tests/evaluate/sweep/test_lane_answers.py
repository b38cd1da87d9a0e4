"""What is left of changes, when what went is taken away."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cernis.evaluate.sweep.lane_answers import left_over

OPEN = int(np.iinfo(np.int64).max)


def columns(rows: list[tuple[int, int, int, int]]) -> list[np.ndarray]:
    """Rows as columns."""
    table = np.array(rows, np.int64).reshape(-1, 4)
    return [np.ascontiguousarray(table[:, place]) for place in range(4)]


@pytest.mark.parametrize("seed", range(20))
def test_what_came_and_did_not_go(seed: int) -> None:
    random = Random(seed)
    standing: dict[tuple[int, int, int], int] = {}
    come, gone = [], []
    for _ in range(5):
        added, removed = [], []
        for _ in range(random.randint(0, 12)):
            key = (random.randint(0, 2), random.randint(0, 3), random.randint(0, 4))
            if key in (row[:3] for row in (*added, *removed)):
                continue
            if key in standing:
                removed.append((*key, standing.pop(key)))
            if random.random() < 0.7:
                standing[key] = random.choice([OPEN, key[2] + random.randint(1, 9)])
                added.append((*key, standing[key]))
        come.append(columns(added))
        gone.append(columns(removed))
    expected = sorted((*key, end) for key, end in standing.items())
    found = list(zip(*(column.tolist() for column in left_over(come, gone)), strict=True))
    assert found == expected, f"seed {seed}"
