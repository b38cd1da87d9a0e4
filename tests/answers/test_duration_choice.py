"""Durations are chosen by how they do on pairs that they were not made from."""

from __future__ import annotations

import random

import numpy as np
import pytest

import cernis
from cernis.answers.duration_choice import (
    ESTIMATES,
    FEWEST,
    NONE,
    DurationChoice,
    choose_durations,
)
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


def choice_for(text: str, memory: int) -> DurationChoice:
    result = cernis.load(RULES).run_uncertain(text)
    bounds = (result.summary.start, result.summary.end, 1)
    (choice,) = choose_durations(result.answer, bounds, UncertainSettings(), memory).values()
    return choice


def test_durations_are_taken_where_they_do_clearly_better() -> None:
    """Possible starts of long ago crowd out those of now, unless durations say what is too old."""
    choice = choice_for(stream(3, 40), 2)
    assert choice.durations is not None
    assert choice.points.f1 > choice.without.f1 + 0.02


def test_none_are_taken_from_few_intervals() -> None:
    lines = [line for line in stream(3, 40).splitlines() if int(line.split("|")[1]) < 300]
    choice = choice_for("\n".join(lines) + "\n", 2)
    assert choice.intervals < FEWEST
    assert choice.estimate == NONE


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
        assert forced.without == choice.without


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
