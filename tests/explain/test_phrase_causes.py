"""Explanations of phrases speak of what the phrases speak of, and of no timer."""

from __future__ import annotations

import pytest

import cernis

RULES = """
initiatedAt(open(D)=true, T)  :- happensAt(opens(D), T).
terminatedAt(open(D)=true, T) :- happensAt(shuts(D), T).

long(D)=true iff open(D)=true for at least 10.
happensAt(ajar(D), T) :- happensAt(open(D)=true for at least 10, T).
happensAt(missed(C), T) :- happensAt(no answer(C, _) within 10 after call(C), T).

initiatedAt(lit(D)=true, T) :- happensAt(opens(D), T).
fi(lit(D)=true, lit(D)=false, 1min).
"""
RECORDS = """opens|2|2|d1
shuts|20|20|d1
opens|30|30|d2
call|3|3|c1
call|4|4|c2
answer|9|9|c2|kim
opens|95|95|d3"""


@pytest.fixture(scope="module")
def program() -> cernis.Program:
    return cernis.load(RULES)


def lines(program: cernis.Program, question: str, time: int) -> list[str]:
    """The lines of an explanation without their frames and places."""
    text = program.explain(program.records(RECORDS), question, time).text()
    assert "'" not in text
    return [line.lstrip("│├└─ ").split("  (")[0] for line in text.splitlines()]


def test_a_pair_has_held_for_so_long(program: cernis.Program) -> None:
    assert lines(program, "long(d1)=true", 15)[-3:] == [
        "open(d1)=true has held for 10 since 3",
        "open(d1)=true holds on [3,21)",
        "explained in another place of the tree",
    ]


def test_an_event_of_a_pair_that_has_held_for_so_long(program: cernis.Program) -> None:
    text = lines(program, "ajar(d1)", 12)
    assert text[0] == "ajar(d1) happens at 12"
    assert "open(d1)=true has held for 10 since 3" in text
    assert "record opens|2|2|d1" in text


def test_a_pair_has_not_held_for_long_enough(program: cernis.Program) -> None:
    assert (
        lines(program, "long(d2)=true", 35)[-1]
        == "open(d2)=true has held since 31 only; 10 is up later"
    )
    assert lines(program, "long(d2)=true", 20)[-1] == "open(d2)=true does not hold"


def test_nothing_came_in_time(program: cernis.Program) -> None:
    assert lines(program, "missed(c1)", 13)[2:] == [
        "no answer(c1, _) from 3 to 13, 10", "record call|3|3|c1",
    ]  # fmt: skip


def test_what_came_in_time_is_named(program: cernis.Program) -> None:
    assert (
        lines(program, "missed(c2)", 14)[-1] == "answer(c2, _) at 9, within 10 after call(c2) at 4"
    )
    assert lines(program, "missed(c1)", 8)[-2:] == [
        "10 after call(c1) at 3 is 13", "the nearest one happens at 13",
    ]  # fmt: skip
    assert lines(program, "missed(c9)", 8)[-1] == "no call(c9) up to 8"


def test_a_delay_may_have_a_unit(program: cernis.Program) -> None:
    text = lines(program, "lit(d1)=false", 70)
    assert (
        text[1] == "began at 62: 1min after lit(d1)=true was initiated at 2, and not broken since"
    )


def test_provenance_of_what_phrases_find(program: cernis.Program) -> None:
    table = program.run(RECORDS).provenance(["missed", "long"])
    rows = {(row["name"], row["role"], row["line"]) for row in table.to_pylist()}
    assert {("long", "began", 1), ("long", "ended", 2), ("missed", "happened", 4)} <= rows
