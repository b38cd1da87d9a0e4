"""The forms of the values in columns of records."""

from __future__ import annotations

import cernis
from cernis.check.value_forms import ValueForm
from cernis.plan.held_forms import Forms
from cernis.records.seen_forms import see_records, slots_of
from tests.records.support import read

RULES = """
collectIntervals(near(_, _)=true).
initiatedAt(fast(V)=true, T) :- happensAt(speed(V, S), T), S > 10.
holdsFor(meeting(V, W)=true, I) :- holdsFor(near(V, W)=true, I).
"""


def form_of_speed(*lines: str) -> ValueForm:
    """The form that the numeric argument of `speed` has after some records."""
    program = cernis.load(RULES)
    forms = Forms(program.checked.types)
    records = read(program, "\n".join(lines))
    see_records(forms, records.relations.values())
    (slot,) = (each for each in program.checked.types.slots()
               if each[1].name == "speed" and each[2] == 1)  # fmt: skip
    return forms.of(slot)


def test_each_value_adds_its_form() -> None:
    whole, broken, other = ValueForm.INTEGER, ValueForm.FLOAT, ValueForm.OTHER
    assert form_of_speed("speed|1|1|x|12") == whole
    assert form_of_speed("speed|1|1|x|12.5", "speed|2|2|x|1.5") == broken
    assert form_of_speed("speed|1|1|x|12", "speed|2|2|x|1.5") == whole | broken
    assert form_of_speed("speed|1|1|x|12", "speed|2|2|x|slow") == whole | other
    assert form_of_speed() == ValueForm.NOTHING


def test_of_a_fluent_the_value_comes_first() -> None:
    program = cernis.load(RULES)
    records = read(program, "near|5|1|4|true|a|b\nspeed|1|1|x|3")
    slots = {
        form.relation.name: [(kind, position) for kind, _, position in slots_of(form)]
        for form in records.relations
    }
    assert slots["near"] == [("fluent", "value"), ("fluent", 0), ("fluent", 1)]
    assert slots["speed"] == [("event", 0), ("event", 1)]
