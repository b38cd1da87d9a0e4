"""Random programs over columns of mixed values give the same on all ways to run.

`python -m tests.fuzz.mixed_programs` compares as many as one likes.
"""

from __future__ import annotations

import warnings

import pytest

from cernis.errors import InputWarning
from tests.agreement.compare import Skip
from tests.fuzz.mixed_programs import differences, scenarios, told

SEEDS = (1, 2, 3, 5, 6, 7, 9, 10, 21, 25, 41, 53, 218, 459, 666, 1494, 1768)


@pytest.mark.parametrize("seed", SEEDS)
def test_all_ways_to_run_agree(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        for run, (scenario, program) in enumerate(scenarios(seed)):
            try:
                found = list(differences(scenario, program))
            except Skip:
                continue
            assert not found, "\n".join(told(seed, run, scenario, each, True) for each in found)
