"""A part of the random lanes; `python -m tests.fuzz.lanes FIRST LAST` compares as many as asked."""

import pytest

from tests.fuzz import open_values
from tests.fuzz.lanes import check_registers, check_seed


@pytest.mark.parametrize("seed", range(30))
def test_lanes_in_windows_do_what_they_mean(seed: int) -> None:
    check_seed(seed)


@pytest.mark.parametrize("seed", range(40))
def test_random_lanes_with_registers(seed: int) -> None:
    check_registers(seed)


@pytest.mark.parametrize("seed", [*range(8), 35])
def test_random_programs_with_open_values(seed: int) -> None:
    open_values.check_seed(seed)
