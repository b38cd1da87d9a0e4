"""Formulas over lanes of one key: what another lane holds is copied where it starts and ends."""

import pytest

import cernis
from cernis.plan.sweep.lanes import is_copy
from tests.plan.sweep.members.test_sent_points import AYES, RULES

OUTCOME = f"""
initiatedAt(out(K, M)=lost, T) :- happensAt(end(status(K, M)=voting), T), {AYES}, N = 1.
initiatedAt(out(K, M)=won, T) :- happensAt(end(status(K, M)=voting), T), {AYES}, N > 1.
"""
FORMULA = "obl(A, K, M)=O iff status(K, M)=voting, not out(K, M)=won, out(K, M)=O, chair(K, A).\n"


def test_a_formula_goes_to_the_last_lane_it_reads() -> None:
    plan = cernis.load(RULES + OUTCOME + FORMULA).plan
    assert plan.is_swept
    lane = next(lane for lane in plan.lanes if lane.copies)
    assert {relation.name for relation in lane.definitions} == {"out", "obl"}
    ((copy, original),) = lane.copies
    assert is_copy(copy)
    assert original.name == "status"
    reported = [bit for number, bit in enumerate(lane.state) if lane.reported >> number & 1]
    assert not any(bit.relation == copy for bit in reported)
    assert dict(lane.keys)[original] == dict(lane.keys)[copy] == (0, 1)


@pytest.mark.parametrize(
    "more",
    [
        "initially(status(k1, 1)=voting).",
        "grounding(status(K, _M)=voting) :- chair(K, _).",
    ],
)
def test_what_may_hold_without_a_start_is_not_copied(more: str) -> None:
    plan = cernis.load(RULES + OUTCOME + FORMULA + more).plan
    assert not any(lane.copies for lane in plan.lanes)
    assert not plan.is_swept
