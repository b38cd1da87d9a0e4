"""Delays that were under way in a window: when each was armed, and until when."""

import numpy as np
import pytest

from cernis.evaluate.sweep.lane_state import LaneState
from cernis.kernels.sweep.key_calendar import NEVER
from tests.fuzz.lanes import rows_of
from tests.kernels.sweep.simple_lanes import Delay, Fluent, LaneProgram, Rule, tables_of

ON, OFF = 1, 2


def lane(is_postponable: bool, is_wide: bool) -> LaneState:
    """A fluent that `on` initiates, `off` terminates, and that ends ten points after that."""
    rules = (Rule("init", "v", any=frozenset({"on"})), Rule("term", "v", any=frozenset({"off"})))
    fluent = Fluent(("v",), rules, (Delay("v", 10, None, is_postponable),))
    state = LaneState(tables_of(LaneProgram(("on", "off"), (), (fluent,))).tables)
    if is_wide:
        state._widen()
    state.add_keys(np.zeros(3, np.uint64), np.full(3, 2**64 - 1, np.uint64))
    return state


@pytest.mark.parametrize("is_wide", [False, True])
def test_arms_end_by_effects_breaks_and_further_arms(is_wide: bool) -> None:
    """Key 0 has its effect, key 1 is broken, key 2 is initiated twice."""
    for is_postponable in (False, True):
        state = lane(is_postponable, is_wide)
        keys, times = np.array([0, 1, 1, 2, 2]), np.array([3, 4, 9, 30, 35])
        fired = np.array([ON, ON, OFF, ON, ON], np.uint64)
        state.change(keys, times, fired)
        state.update(0, 38)
        last = [(0, 2, 30, 35), (0, 2, 35, NEVER)] if is_postponable else [(0, 2, 30, NEVER)]
        assert rows_of(state.arms()) == [(0, 0, 3, 13), (0, 1, 4, 9), *last]
        state.update(36, 38)
        assert rows_of(state.arms())[-1] == last[-1]
