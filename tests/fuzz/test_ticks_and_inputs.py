"""Random programs with long ticks; `python -m tests.fuzz.ticks_and_inputs` compares many more."""

import warnings

import pytest

from cernis.errors import InputWarning
from tests.fuzz.ticks_and_inputs import check_seed


@pytest.mark.parametrize("seed", [3, 7, 11, 27, 139, 391])
def test_ways_agree(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        check_seed(seed)
