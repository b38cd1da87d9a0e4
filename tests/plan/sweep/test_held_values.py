"""Guards of fluents that take any value: what of a body is compared with a record."""

from __future__ import annotations

import pytest

import cernis
from cernis.plan.plan_text import explain
from cernis.plan.sweep.held_values import is_sameness
from cernis.plan.sweep.lanes import FiredKind, Lane, StateKind
from cernis.syntax.tree import Atom, Compound, Number, Variable

LEVEL = "initiatedAt(level(V)=L, T) :- happensAt(fuel(V, L), T).\n"


def lane_with_registers(text: str) -> Lane:
    (lane,) = (each for each in cernis.load(text).plan.lanes if each.registers)
    return lane


def test_values_that_rules_name_have_bits_and_all_others_share_one() -> None:
    text = LEVEL + "initiatedAt(dry(V)=true, T) :- happensAt(drive(V), T), holdsAt(level(V)=0, T)."
    lane = lane_with_registers(text)
    (register,) = lane.registers
    assert [lane.state[bit].value for bit, _ in register.named] == [Number(0)]
    assert lane.state[register.open_bit].kind is StateKind.OPEN
    assert register.open_bit == len(lane.state) - 1
    assert {source.constant for source in register.sources} == {None, Number(0)}


@pytest.mark.parametrize(
    "condition",
    [
        "holdsAt(level(V)=B, T), B - L > 5",
        "holdsAt(level(V)=B, T), D is B - L, D > 5",
        "holdsAt(level(V)=B, T), loss(D), B > L + D",
        "\\+ holdsAt(level(V)=L, T)",
        "holdsAt(level(V)=L, T)",
        "holdsAt(level(V)=B, T), B \\= L",
    ],
)
def test_what_compares_a_value_with_a_record_is_a_guard(condition: str) -> None:
    rule = f"initiatedAt(theft(V)=true, T) :- happensAt(fuel(V, L), T), {condition}.\nloss(5)."
    lane = lane_with_registers(LEVEL + rule)
    (guard,) = lane.guards
    assert lane.fired[guard.bit].kind is FiredKind.GUARD
    assert lane.fired[guard.trigger].kind is FiredKind.RECORD


def test_the_plan_says_that_a_value_is_held_in_a_register() -> None:
    text = explain(cernis.load(LEVEL).plan)
    assert "fits a lane, with a register for its value" in text


def test_whether_values_are_the_same() -> None:
    one, other = Variable("A"), Atom("home")
    assert is_sameness(Compound("=", (one, other))) is True
    assert is_sameness(Compound("\\=", (one, other))) is False
    assert is_sameness(Compound("<", (one, other))) is None
    assert is_sameness(Compound("=", (one, Number(2)))) is None
