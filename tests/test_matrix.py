"""Every case on every way to run of this process; `tests.matrix` says what the ways are."""

from __future__ import annotations

import pytest

from tests.matrix import CASES, WAYS, answered

pytestmark = pytest.mark.filterwarnings("ignore::cernis.InputWarning")


@pytest.mark.parametrize("in_windows", [False, True], ids=["as-is", "windows"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_adds_up_to_the_answers_of_a_run(name: str, way: str, in_windows: bool) -> None:
    case = answered(name, in_windows)
    if case is not None:
        assert WAYS[way](case) == ""
