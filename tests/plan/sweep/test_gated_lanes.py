"""Which definitions are walked by a key of their own, with records that other lanes let through."""

from __future__ import annotations

import pytest

import cernis
from cernis.plan.builder import Plan
from cernis.plan.sweep.lanes import SweepWay, is_gate

STATUS = """
initiatedAt(status(K, M)=voting, T) :- happensAt(second(A, K, M), T).
terminatedAt(status(K, M)=voting, T) :- happensAt(close(A, K, M), T).
"""
VOTED = """
initiatedAt(voted(A, K, M)=V, T) :- happensAt(vote(A, K, M, V), T), holdsAt(status(K, M)=voting, T).
"""
WARNED = """
initiatedAt(warned(A)=true, T) :- happensAt(vote(A, K, M, _V), T),
    \\+ holdsAt(status(K, M)=voting, T).
"""


def plan_of(rules: str) -> Plan:
    return cernis.load(rules).plan


def ways(plan: Plan) -> dict[str, tuple[str, bool]]:
    """How each definition is evaluated, and whether its records come through gates."""
    verdicts = (each for swept in plan.sweep for each in swept.verdicts)
    return {each.relation.name: (str(each.way), each.has_gate) for each in verdicts}


def test_members_of_a_family_and_other_keys_have_lanes() -> None:
    plan = plan_of(STATUS + VOTED + WARNED)
    assert plan.is_swept
    assert ways(plan) == {
        "status": ("lane", False), "voted": ("lane", True), "warned": ("lane", True),
    }  # fmt: skip
    first, *others = plan.lanes
    sent = set(first.sent_gates)
    assert all(is_gate(gate) for gate in sent)
    assert {gate for lane in others for gate in lane.gates.values()} == sent
    assert not any(is_gate(relation) for lane in plan.lanes for relation in lane.definitions)


def test_a_gated_lane_opens_gates_for_others() -> None:
    praised = """
    initiatedAt(praised(A)=true, T) :- happensAt(second(A, K, M), T),
        holdsAt(voted(A, K, M)=yes, T).
    """
    plan = plan_of(STATUS + VOTED + praised)
    assert plan.is_swept
    middle = next(lane for lane in plan.lanes if lane.definitions[0].name == "voted")
    assert middle.gates
    assert middle.sent_gates


@pytest.mark.parametrize(
    "rule",
    [
        # Who is warned is no argument of a record, and depends on the time.
        "initiatedAt(warned(A)=true, T) :- happensAt(end(status(K, M)=voting), T), A is T mod 5.",
        # No record names both keys.
        "initiatedAt(warned(A)=true, T) :- happensAt(blame(A, K), T), "
        "holdsAt(status(K, M)=voting, T).",
        # A value of the other key that may be any is compared with the record.
        "initiatedAt(proposer(K, M)=A, T) :- happensAt(second(A, K, M), T).\n"
        "initiatedAt(warned(A)=P, T) :- happensAt(vote(A, K, M, _), T), "
        "holdsAt(proposer(K, M)=P, T).",
    ],
)  # fmt: skip
def test_what_has_no_gate(rule: str) -> None:
    plan = plan_of(f"{STATUS}{rule}\n")
    assert ways(plan)["warned"] == ("columns", False)
    assert not plan.has_gates


def test_values_of_another_key_are_written_out() -> None:
    rule = (
        "initiatedAt(warned(A)=S, T) :- happensAt(vote(A, K, M, _), T), "
        "holdsAt(status(K, M)=S, T).\n"
    )
    plan = plan_of(STATUS + rule)
    assert ways(plan)["warned"] == ("lane", True)


def test_a_stage_alone_has_no_lanes_that_others_open_gates_for() -> None:
    plan = plan_of(STATUS + WARNED)
    assert len(plan.stages) == 2
    first, second = (plan.stage_plans[stage.number] for stage in plan.stages)
    assert first.is_swept
    assert not second.is_swept
    assert not second.lanes


def test_nothing_is_added_where_all_is_walked() -> None:
    plan = plan_of(STATUS)
    assert set(plan.sweep[0].ways.values()) == {SweepWay.LANE}
    assert not plan.has_gates
