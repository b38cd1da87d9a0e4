"""Terminations of heads that leave arguments open: those that can end something."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cernis.operators.definitions.open_ends import first_ends

Row = tuple[int, int]


def expected(ends: list[Row], begun: list[Row]) -> set[tuple[Row, Row]]:
    """Each initiation with the termination of its group at its point, and the first after it."""
    found = set()
    for group, time in begun:
        later = sorted(t for g, t in ends if g == group and t > time)
        found |= {((group, time), (group, t)) for t in later[:1]}
        if (group, time) in ends:
            found.add(((group, time), (group, time)))
    return found


@pytest.mark.parametrize("seed", range(25))
def test_initiations_meet_their_next_terminations(seed: int) -> None:
    random = Random(seed)
    ends, begun = (
        [(random.randrange(3), random.randrange(8)) for _ in range(random.randrange(9))]
        for _ in range(2)
    )
    groups, times = np.array(ends, np.int64).reshape(-1, 2).T
    begun_groups, begun_times = np.array(begun, np.int64).reshape(-1, 2).T
    initiations, terminations = first_ends(groups, begun_groups, times, begun_times)
    pairs = zip(initiations.tolist(), terminations.tolist(), strict=True)
    assert {(begun[one], ends[other]) for one, other in pairs} == expected(ends, begun)
