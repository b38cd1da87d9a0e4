"""A part of the random programs about pairs; `python -m tests.fuzz.paired_keys` compares more."""

import pytest

from tests.fuzz.paired_keys import check_seed


@pytest.mark.parametrize("seed", range(16))
def test_random_programs_about_pairs(seed: int) -> None:
    check_seed(seed)
