"""A part of the random lanes; `python -m tests.fuzz.lanes FIRST LAST` compares as many as asked."""

import pytest

from tests.fuzz.lanes import check_seed


@pytest.mark.parametrize("seed", range(30))
def test_lanes_in_windows_do_what_they_mean(seed: int) -> None:
    check_seed(seed)
