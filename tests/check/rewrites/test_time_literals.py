"""Dates and clocks in rules: what they become, what is reported, and how they are printed."""

from __future__ import annotations

import pytest

import cernis
from cernis.check.rewrites.time_literals import may_ask_clocks
from cernis.errors import ProgramError
from cernis.syntax import parse
from cernis.syntax.printer import show
from cernis.syntax.tree import Clause, Compound, DateTime

RULE = "happensAt(a(X), T) :- happensAt(e(X), T), {}.\n"


@pytest.mark.parametrize(
    "text",
    ["2026-03-29T03:00", "2026-03-29T03:00Z", "2026-03-29T03:00:07.25+02:00", "0001-01-01T00:00Z"],
)
def test_a_date_is_one_term_and_is_printed_as_it_is_written(text: str) -> None:
    (clause,) = parse(f"at({text}, 3).").items
    assert isinstance(clause, Clause)
    assert isinstance(clause.head, Compound)
    assert clause.head.args[0] == DateTime(text)
    (again,) = parse(f"{show(clause.head)}.").items
    assert again == clause


def test_what_is_added_to_a_date_is_no_part_of_it() -> None:
    (clause,) = parse("a :- T > 2026-03-29T03:00+3600, T < 2026-03-29T03:00 - 1h.").items
    assert isinstance(clause, Clause)
    assert [show(goal) for goal in clause.body] == [
        "T > 2026-03-29T03:00 + 3600", "T < 2026-03-29T03:00 - 1h"
    ]  # fmt: skip


def test_a_difference_of_numbers_stays_one() -> None:
    program = cernis.load(RULE.format("X > 2026-03-29"))
    assert program.run("e|1|1|1994\ne|1|1|1995\n").event("a")["x"].to_pylist() == [1995]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("T > 2026-02-30T03:00", "2026-02-30T03:00 is no date and time"),
        ("T > 2026-02-20T03:00:00.5", "has a fraction of a second"),
        ("hour(T) =:= 24", "hour is a number from 0 to 23"),
        ("weekday(T) =:= 0", "weekday is a number from 1 to 7, from Monday to Sunday"),
        ("25 =< hour(T)", "hour is a number from 0 to 23"),
        ("hour(T, 3) > 4", "there is no function hour/2"),
    ],
)
def test_what_no_clock_shows_is_an_error(condition: str, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        cernis.load(RULE.format(condition))


def test_a_date_too_far_away_for_the_unit_is_an_error() -> None:
    with pytest.raises(ProgramError, match="too far from 1970 to be counted in ns"):
        cernis.load(":- time(unit(ns)).\n" + RULE.format("T < 2300-01-01T00:00Z"))


def test_an_unknown_zone_and_unit_are_errors() -> None:
    for option, message in (("zone('Europe/Atlantis')", "no time zone"), ("unit(day)", "unit of")):
        with pytest.raises(ProgramError, match=message):
            cernis.load(f":- time({option}).\n" + RULE.format("hour(T) > 3"))


def test_a_term_that_is_called_as_a_clock_is_what_it_is() -> None:
    """Only what is computed asks a clock: arguments and values may have these names."""
    program = cernis.load("initiatedAt(seen(X)=hour(X), T) :- happensAt(e(date(X)), T).")
    assert "seen(7)='hour(7)'" in program.run("e|1|1|date(7)\n").text() or program.fluents


def test_most_programs_are_not_looked_through() -> None:
    assert not may_ask_clocks(["a :- b(10min).", "x(2026-03-29)."])
    assert may_ask_clocks(["a(2026-03-29T03:00Z)."])
    assert may_ask_clocks(["a :- weekday (T) > 3."])
