"""Random programs, ties and deadlines included, give what RTEC gives, in one window and in several.

What RTEC says otherwise in several windows than in one, and what it says of values outside a cycle
of deadlines, is told apart; see `compare`, which also compares other seeds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.compare import SAME, UNLIKE, Comparison
from tests.conformance.programs import drawn
from tests.conformance.rtec import Rtec, folder, needs_rtec

pytestmark = needs_rtec()


@pytest.mark.parametrize("first", range(0, 24, 8))
def test_random_programs(first: int, tmp_path: Path) -> None:
    source = folder()
    assert source is not None
    rtec, same = Rtec(source, tmp_path), 0
    for seed in range(first, first + 8):
        scenario = drawn(seed)
        found = list(Comparison(scenario, rtec).outcomes())
        unlike = [str(each) for each in found if each.kind == UNLIKE]
        assert not unlike, f"seed {seed}\n{scenario}\n{unlike[0]}"
        same += sum(each.kind == SAME for each in found)
    assert same > 100
