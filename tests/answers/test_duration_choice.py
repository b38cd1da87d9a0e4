"""Durations are chosen by how they do on pairs that they were not made from."""

from __future__ import annotations

import random

import numpy as np
import pytest

import cernis
from cernis.answers.duration_choice import ESTIMATES, NONE, choose_durations
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings

RULES = """
initiatedAt(on(X)=true, T) :- happensAt(up(X), T).
terminatedAt(on(X)=true, T) :- happensAt(down(X), T).
"""


def stream(seed: int, lasting: int) -> str:
    """Things that are on for about so many points, seen through noise."""
    chance = random.Random(seed)
    lines = []
    for thing in range(12):
        time = chance.randrange(40)
        while time < 1500:
            for name, length in (("up", lasting), ("down", 3 * lasting)):
                for point in range(time, time + length):
                    lines.append(f"{chance.uniform(0.2, 0.9):.2f}::{name}|{point}|{point}|t{thing}")
                time += length
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("lasting", [6, 40])
def test_the_choice_does_no_worse_than_none(lasting: int) -> None:
    result = cernis.load(RULES).run_uncertain(stream(3, lasting))
    bounds = (result.summary.start, result.summary.end, 1)
    (choice,) = choose_durations(result.answer, bounds, UncertainSettings(), 4).values()
    assert choice.points.f1 >= choice.without.f1
    assert (choice.durations is None) == (choice.estimate == NONE)
    for name in ESTIMATES:
        (forced,) = choose_durations(
            result.answer, bounds, UncertainSettings(), 4, name
        ).values()  # fmt: skip
        assert forced.estimate == name
        assert forced.points.f1 <= choice.points.f1 + 1e-12


def test_estimates() -> None:
    lengths = np.array([2, 2, 3, 3, 50, 60])
    found = {name: estimate(lengths) for name, estimate in ESTIMATES.items()}
    assert all(own is not None for own in found.values())
    assert found["plain"] is not None
    assert found["plain"].mean == pytest.approx(20)
    assert found["mixture"] is not None
    assert found["mixture"].mean == pytest.approx(55)
    assert found["longest"] is not None
    assert found["longest"].mean == 60
    assert all(estimate(lengths[:0]) is None for estimate in ESTIMATES.values())
