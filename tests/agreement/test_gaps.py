"""Starts and ends where records are seen again after a gap between windows, on all ways to run.

Input intervals, delayed effects and what is made of both often meet at the point up to which a
window forgets: intervals and delays are short, and a few points wide.
"""

from __future__ import annotations

import warnings
from random import Random

import pytest

from cernis.errors import InputWarning
from tests.agreement.compare import Scenario
from tests.fuzz.mixed_programs import differences

SEEDS = range(8)

BASE = """
collectIntervals(d(_)=_). buildFromPoints(b(_)=_).
initiatedAt(s(X)=on, T) :- happensAt(e(X), T). fi(s(X)=on, s(X)=late, DELAY).
ft(s(X)=late, DELAY). terminatedAt(s(X)=_, T) :- happensAt(f(X), T).
"""

PARTS = (
    "d(X)=1", "d(X)=2", "b(X)=1", "s(X)=on", "s(X)=late", "not d(X)=1", "not s(X)=late",
    "not b(X)=1",
)  # fmt: skip

LISTS = (
    "intDurGreater(I, 3, J)", "intDurLess(I, 4, J)", "complement_all([I], J)",
    "allen(overlaps, I, K, union, J)", "relative_complement_all(I, [K], J)",
)  # fmt: skip


def gap_scenario(seed: int) -> Scenario:
    """A program over input of both kinds and delayed effects, and steps longer than windows."""
    random = Random(f"gaps {seed}")
    window = random.randint(2, 6)
    step, end = window + random.randint(1, 6), random.randint(20, 40)
    rules = [BASE.replace("DELAY", str(random.randint(1, step + 2)))]
    made = ["d(X)=1", "b(X)=1", "s(X)=late"]
    for number in range(4):
        rules.append(_defined(random, f"p{number}(X)=true", made))
        made.append(f"p{number}(X)=true")
    for number, pair in enumerate(made):
        for edge in ("start", "end"):
            rules.append(f"happensAt({edge}{number}(X), T) :- happensAt({edge}({pair}), T).")
    rules.append("initiatedAt(w(X)=N, T) :- happensAt(start(d(X)=N), T), not holdsAt(w(X)=N, T).")
    lines = [_record(random, end) for _ in range(random.randint(8, 25))]
    chosen = {"start": 0, "end": end, "window": window, "step": step}
    return Scenario(tuple(rules), tuple(lines), chosen)  # type: ignore[arg-type]


def _defined(random: Random, head: str, made: list[str]) -> str:
    """A rule of a statically determined fluent over those that there are."""
    if random.random() < 0.3:
        one, other = random.choice(made), random.choice(made)
        return (
            f"holdsFor({head}, J) :- holdsFor({one}, I), holdsFor({other}, K), "
            f"{random.choice(LISTS)}."
        )
    first = random.choice([*made, *PARTS[:5]])
    joint = random.choice((", ", " or "))
    others = [*made, *(PARTS if joint == ", " else PARTS[:5])]
    return f"{head} iff {first}{joint}{random.choice(others)}."


def _record(random: Random, end: int) -> str:
    time, entity = random.randint(1, end), random.choice("xy")
    arrival = time + random.choice((0, 0, 0, 3, 9))
    kind = random.random()
    if kind < 0.45:
        value = random.choice("112")
        return f"d|{arrival}|{time}|{time + random.randint(1, 14)}|{value}|{entity}"
    if kind < 0.6:
        return f"b|{arrival}|{time}|1|{entity}"
    return f"{'e' if kind < 0.9 else 'f'}|{arrival}|{time}|{entity}"


@pytest.mark.parametrize("seed", SEEDS)
def test_all_ways_to_run_agree_after_gaps(seed: int) -> None:
    scenario = gap_scenario(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        found = list(differences(scenario))
    assert not found, f"seed {seed}\n{scenario}\n" + "\n".join(map(str, found))
