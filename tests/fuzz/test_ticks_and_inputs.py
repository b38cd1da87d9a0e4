"""A part of the random programs with long ticks and fluents of the input.

`python -m tests.fuzz.ticks_and_inputs` compares as many as one likes.
"""

import warnings

import pytest

from cernis.errors import InputWarning
from tests.fuzz.ticks_and_inputs import check_seed


@pytest.mark.parametrize("seed", [1, 2, 9, 10, 12, 36, 53, 139, 391])
def test_ways_agree(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        check_seed(seed)
