"""Values of registers: numbers of one form, and codes; what records carry for them."""

from __future__ import annotations

import pytest

import cernis
from cernis.answers.result import as_text
from cernis.evaluate.sweep import guard_programs, register_values
from tests.evaluate.sweep.test_sweep_then_columns import answers

RULES = """
initiatedAt(level(V)=L, T) :- happensAt(fuel(V, L), T).
terminatedAt(level(V)=L, T) :- happensAt(drained(V, L), T).
initiatedAt(theft(V)=true, T) :- happensAt(fuel(V, L), T), holdsAt(level(V)=B, T), B - L > 5.
terminatedAt(theft(V)=true, T) :- happensAt(fuel(V, L), T), holdsAt(level(V)=B, T), B =< L.
initiatedAt(dry(V)=true, T) :- happensAt(start(level(V)=0), T).
terminatedAt(dry(V)=true, T) :- happensAt(end(level(V)=0), T).
initially(level(v1)=0).
"""
STREAM = "fuel|{t}|{t}|v1|{level}\n"
LEVELS = {
    "whole": ["20", "14", "14", "0", "9", "3"],
    "floats": ["20.5", "14.25", "14.25", "0.0", "9.5", "3.5"],
    "mixed": ["20", "14.0", "14", "0", "9", "inf"],
    "words": ["20", "full", "14", "0", "none", "3"],
}


@pytest.mark.parametrize("form", LEVELS)
@pytest.mark.parametrize(("window", "step"), [(None, None), (4, 4), (6, 3)])
def test_values_of_every_form(form: str, window: int | None, step: int | None) -> None:
    plan = cernis.load(RULES).plan
    assert plan.is_swept
    assert register_values.RegisterValues
    assert guard_programs.GuardProgram
    text = "".join(
        STREAM.format(t=2 * place + 2, level=level) for place, level in enumerate(LEVELS[form])
    )
    text += f"drained|9|9|v1|{LEVELS[form][3]}\ndrained|13|13|v1|77\n"
    walked, by_columns = answers(plan, text, window, step)
    assert walked == by_columns


LARGE = "".join(f"seen|{t}|{t}|a|{1_700_000_000_000_000_000 + min(t, 2)}\n" for t in (1, 2, 3))
SEEN = "initiatedAt(last(V)=S, T) :- happensAt(seen(V, S), T).\n"


@pytest.mark.parametrize("condition", ["B \\= S, S > 5", "S - B > 0"])
def test_whole_numbers_that_are_not_exact_as_floats(condition: str) -> None:
    """Registers hold them; where a guard would compute with them, columns are evaluated."""
    rule = "initiatedAt(new(V)=true, T) :- happensAt(seen(V, S), T), holdsAt(last(V)=B, T), "
    program = cernis.load(f"{SEEN}{rule}{condition}.")
    assert program.plan.is_swept
    text = as_text(program.run(LARGE.splitlines(), start=0, end=5).answer)
    assert "holdsFor(last(a)=1700000000000000001, [(2,3)])." in text
    assert "holdsFor(new(a)=true, [(3,inf)])." in text
