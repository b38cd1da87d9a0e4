"""The engine equals the reference on random programs, streams and windows.

Each test takes the programs of some seeds, each on several streams. What fails is printed with
its seed, cut down to the records, clauses and settings it takes.

`python -m tests.agreement.test_random_programs FIRST LAST` compares other seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import count

import pytest

from tests.agreement.compare import Scenario, Skip, difference, scenarios, shrunk

CHUNK = 25
CHUNKS = 22
RUNS = 4
"""Streams a program: 2,200 comparisons in all."""


def outcomes(seed: int) -> Iterator[tuple[int, Scenario, str | None]]:
    """Number, scenario and difference of each run of a seed; None if it cannot be compared."""
    for run, (scenario, program) in zip(count(), scenarios(seed, RUNS), strict=False):
        try:
            yield run, scenario, difference(scenario, program)
        except Skip:
            yield run, scenario, None


def told(seed: int, run: int, scenario: Scenario) -> str:
    """What fails, as small as it can be made."""
    small = shrunk(scenario)
    return f"seed {seed}, run {run}:\n{small}\n{difference(small)}"


@pytest.mark.parametrize("first", range(0, CHUNK * CHUNKS, CHUNK))
def test_engine_equals_reference(first: int) -> None:
    compared = 0
    for seed in range(first, first + CHUNK):
        for run, scenario, found in outcomes(seed):
            compared += found is not None
            if found:
                pytest.fail(told(seed, run, scenario))
    # What the reference cannot evaluate must stay rare.
    assert compared > 0.98 * CHUNK * RUNS


def main(first: int, last: int) -> None:
    """Compare the seeds from the first to the last, and tell all that differ."""
    equal = 0
    for seed in range(first, last + 1):
        for run, scenario, found in outcomes(seed):
            equal += found == ""
            if found:
                print(told(seed, run, scenario), end="\n\n", flush=True)
    print(f"{equal} of {(last + 1 - first) * RUNS} equal")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
