"""Instances that facts name share the word of their key, and rules ask whether one is a member."""

import cernis
from cernis.plan.builder import Plan

STATUS = """
initiatedAt(status(K, M)=open, T) :- happensAt(propose(_A, K, M), T).
terminatedAt(status(K, M)=open, T) :- happensAt(close(_A, K, M), T).
"""
POWER = "pow(A, K, M)=true iff status(K, M)=open, seat(K, A).\n"
SEATS = "".join(f"seat(k, a{number}).\n" for number in range(9))


def plan_of(rules: str) -> Plan:
    return cernis.load(rules).plan


def test_members_have_one_bit_together() -> None:
    plan = plan_of(STATUS + POWER + SEATS)
    (lane,) = plan.lanes
    (members,) = lane.head_members
    assert (members.positions, members.names, members.key_names) == ((0,), ("A",), ("K", "M"))
    assert [bit.arguments for bit in lane.state if bit.relation == members.relation] == [
        (None, None, None)
    ]


def test_few_members_are_written_out() -> None:
    (lane,) = plan_of(STATUS + POWER + "seat(k, a1). seat(k, a2).").lanes
    assert not lane.head_members


def test_rules_that_name_members_otherwise_have_none() -> None:
    other = "pow(A, K, M)=true iff status(K, M)=open, lead(K, A).\n"
    leads = SEATS.replace("seat", "lead")
    assert not plan_of(STATUS + POWER + other + SEATS + leads).is_swept
    assert plan_of(STATUS + POWER + POWER.replace("open", "open, K \\= k") + SEATS).is_swept


def test_members_that_join_later_are_left_to_columns() -> None:
    text = STATUS + POWER.replace("seat(K, A)", "seat(A)")
    grounding = "dynamicDomain(seat(_A)).\ngrounding(propose(A, _K, _M)) :- seat(A).\n"
    assert not plan_of(text + grounding).is_swept


def test_rules_ask_for_the_key_and_for_the_member() -> None:
    rule = """initiatedAt(warned(A)=true, T) :- happensAt(close(A, K, M), T),
        \\+ holdsAt(pow(A, K, M)=true, T).\n"""
    plan = plan_of(STATUS + POWER + rule + SEATS)
    assert plan.is_swept
    (lane,) = [lane for lane in plan.lanes if lane.gates]
    gated, ungated = sorted(lane.fired[:2], key=lambda bit: bit.gate is None)
    assert gated.gate is not None  # nobody has the power, or else this one is no member
    assert ungated.gate is None
    assert len(ungated.steps) == 2
