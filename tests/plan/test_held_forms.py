"""How the values of each class of arguments are held: as numbers of one form, or as codes."""

from __future__ import annotations

import cernis
from cernis.check.model import Relation
from cernis.check.types import Slot
from cernis.check.value_forms import ValueForm
from cernis.plan.held_forms import Forms

RULES = """
initiatedAt(fast(V)=true, T) :- happensAt(speed(V, S), T), S > 10.
happensAt(doubled(V, D), T) :- happensAt(speed(V, S), T), D is S * 2.
initiatedAt(sure(V)=true, T) :- happensAt(doubled(V, D), T), D > 50.
"""
VESSEL: Slot = ("event", Relation("speed", 2), 0)
SPEED: Slot = ("event", Relation("speed", 2), 1)
DOUBLED: Slot = ("event", Relation("doubled", 2), 1)


def forms() -> Forms:
    return Forms(cernis.load(RULES).checked.types)


def test_what_rules_compute_with_may_be_held_as_numbers() -> None:
    found = forms()
    assert found.is_numeric(SPEED)
    assert found.is_numeric(DOUBLED)
    assert not found.is_numeric(VESSEL)


def test_the_form_of_input_spreads_to_what_is_computed_from_it() -> None:
    found = forms()
    assert found.of(DOUBLED) == ValueForm.NOTHING
    found.see({SPEED: ValueForm.FLOAT})
    assert found.of(SPEED) == found.of(DOUBLED) == ValueForm.FLOAT
    assert len(found.arrays()) >= 2


def test_forms_are_only_ever_added_and_two_of_them_make_codes() -> None:
    found = forms()
    found.see({SPEED: ValueForm.INTEGER})
    before = found.copy()
    found.see({SPEED: ValueForm.FLOAT})
    found.see({SPEED: ValueForm.INTEGER})
    assert found.of(SPEED) == ValueForm.INTEGER | ValueForm.FLOAT
    assert found.arrays() < before.arrays()
    assert before.of(SPEED) == ValueForm.INTEGER
    assert dict(found.input()) == {SPEED: ValueForm.INTEGER | ValueForm.FLOAT}
