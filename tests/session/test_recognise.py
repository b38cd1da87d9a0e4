"""Runs: settings, bounds, windows, and every record accounted for."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cernis
from cernis.answers.result import Summary
from cernis.errors import DataError
from cernis.program import Program
from cernis.records.gathering import NO_RECORD
from cernis.session.settings import length, point, settings
from tests.records.support import TOY_ANSWER, TOY_RECORDS, toy
from tests.reference.cases import Case, read_cases

CASES = read_cases(Path(__file__).parents[1] / "cases")


@pytest.fixture(scope="module")
def program() -> Program:
    return toy()


# -- settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (90, 90), ("90", 90), ("90s", 90), ("30min", 1800), ("2h", 7200), (" 2 h ", 7200),
        ("1.5h", 5400), ("1day", 86400), (datetime.timedelta(minutes=2), 120),
    ],
)  # fmt: skip
def test_lengths_of_time(given: Any, found: int) -> None:
    assert length(given, "window") == found


@pytest.mark.parametrize(
    "given", [0, -3, "0", "-3", "2x", "", "h", "1e3", "0.5s", True, 1.5, "9" * 30]
)
def test_wrong_lengths_are_told(given: Any) -> None:
    with pytest.raises(DataError, match="window must be a positive whole number, or like 90s"):
        length(given, "window")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (17, 17), ("17", 17), ("-17", -17), ("1970-01-02", 86400), ("1970-01-01T00:01", 60),
        ("1970-01-01T00:00:00-01:00", 3600), (datetime.date(1970, 1, 2), 86400),
        (datetime.datetime(1970, 1, 1, 1, tzinfo=datetime.UTC), 3600),
    ],
)  # fmt: skip
def test_points_of_time(given: Any, found: int) -> None:
    assert point(given, "start") == found


@pytest.mark.parametrize("given", ["soon", "", "9" * 30, 2**63, True, None])
def test_wrong_points_are_told(given: Any) -> None:
    with pytest.raises(DataError, match="start must be a whole number, or a time like"):
        point(given, "start")


@pytest.mark.parametrize("given", ["1.5", 1.5])
def test_points_between_time_points_are_told(given: Any) -> None:
    with pytest.raises(DataError, match="start: 1.5 is no whole number, .* rounded down"):
        point(given, "start")


def test_settings_that_cannot_be_are_told() -> None:
    with pytest.raises(DataError, match="the run ends at 2, before it starts at 9"):
        settings(start=9, end=2)
    with pytest.raises(DataError, match="the tick must be a positive whole number"):
        settings(tick=0)
    with pytest.raises(DataError, match="ties are settled by break or initiation"):
        settings(ties="toss")


def test_a_run_of_very_many_queries_is_refused(program: Program) -> None:
    text = f"win_lottery|1|1|a\nwin_lottery|{2**61}|{2**61}|b\n"
    with pytest.raises(DataError, match="queries; choose a longer step"):
        program.run(text, window=10)


# -- cases ---------------------------------------------------------------------------------------


def in_reach(case: Case) -> bool:
    return case.needs <= {"fluents", "windows"}


def _unreadable(summary: Summary) -> Iterator[int]:
    """The lines set aside, but for retractions of what was not there."""
    return (aside.line for aside in summary.set_aside if aside.reason != NO_RECORD)


@pytest.mark.parametrize("case", [c for c in CASES if in_reach(c)], ids=lambda case: case.name)
def test_cases_give_the_same_from_files(case: Case) -> None:
    program = cernis.load(case.rules)
    result = program.run(case.folder / "events.txt", per_query=True, **case.settings)
    assert result.answer.queries == len(result.as_of)
    last = result.text().rpartition("% query ")[2].partition("\n")[2]
    assert last == case.expected
    if case.expected_per_query is not None:
        assert result.text() == case.expected_per_query
    if case.set_aside is not None:
        assert tuple(_unreadable(result.summary)) == case.set_aside
    if case.too_late is not None:
        assert tuple(aside.line for aside in result.summary.too_late) == case.too_late


# -- every record is accounted for -----------------------------------------------------------------


def test_the_summary_adds_up(program: Program) -> None:
    text = TOY_RECORDS + (
        "foo|1|1\nwin_lottery|x|1|a\n-win_lottery|20|13|kim\nwin_lottery|50|45|kim\n"
        "go_to|200|50|kim|pub\n"
    )
    result = program.run(text, start=0, end=100, window=20, step=10)
    summary = result.summary
    assert (summary.records, summary.used) == (10, 7)
    assert dict(summary.ignored) == {"foo": 1}
    assert [(aside.line, aside.reason) for aside in summary.set_aside] == [
        (7, "a time must be a whole number or like 2026-03-29T03:00"),
        (8, "there is no record to retract"),
    ]
    assert (summary.outside, summary.too_late) == (1, ())
    assert (summary.start, summary.end, summary.queries) == (0, 100, 10)
    assert summary.per_second > 0


def test_late_records_are_told_apart(program: Program) -> None:
    text = "win_lottery|5|5|a\nwin_lottery|30|9|b\nwin_lottery|30|11|c\nwin_lottery|41|41|d\n"
    result = program.run(text, start=0, end=40, window=20, step=10)
    assert [(aside.line, aside.text) for aside in result.summary.too_late] == [
        (2, "win_lottery|30|9|b")
    ]
    assert result.summary.outside == 1
    assert result.fluent("rich").column("x").to_pylist() == ["a", "c"]


def test_without_a_start_or_an_end_the_input_tells(program: Program) -> None:
    result = program.run("win_lottery|7|5|a\n-win_lottery|9|5|a\n")
    assert (result.summary.start, result.summary.end) == (4, 9)
    assert result.text() == ""
    assert program.run([]).summary.start == 0
    assert program.run("win_lottery|7|5|a\n", start=50).summary.end == 50


# -- odd input -------------------------------------------------------------------------------------


def test_unsorted_input_gives_the_same(program: Program) -> None:
    lines = TOY_RECORDS.splitlines()
    for seed in range(5):
        Random(seed).shuffle(lines)
        assert program.run(lines).text() == TOY_ANSWER


def test_duplicate_records_change_nothing(program: Program) -> None:
    assert program.run(TOY_RECORDS * 3).text() == TOY_ANSWER


@pytest.mark.parametrize("shift", [-(2**62), -1000, 0, 2**62 - 100])
def test_times_may_be_anywhere(program: Program, shift: int) -> None:
    lines = [line.split("|") for line in TOY_RECORDS.splitlines()]
    moved = [(name, int(a) + shift, int(o) + shift, *args) for name, a, o, *args in lines]
    table = program.run(moved).fluent("happy")
    edges = [(row["start"] - shift, row["end"] - shift) for row in table.to_pylist()]
    assert edges == [(14, 22)]


def test_one_entity_may_own_half_of_the_events(program: Program) -> None:
    rows = [
        ("win_lottery" if t % 2 else "lose_wallet", t, t, "big" if t % 4 < 2 else f"p{t}")
        for t in range(1, 4001)
    ]
    table = program.run(rows).fluent("rich")
    mine = [row for row in table.to_pylist() if row["x"] == "big"]
    assert len(mine) == 1000
    assert mine[0] == {"x": "big", "value": "true", "start": 2, "end": 5, "open": False}


def test_two_programs_do_not_disturb_each_other(program: Program) -> None:
    other = cernis.load("initiatedAt(poor(X)=true, T) :- happensAt(lose_wallet(X), T).")
    before = other.run(TOY_RECORDS).text()
    assert program.run(TOY_RECORDS).text() == TOY_ANSWER
    assert other.run(TOY_RECORDS).text() == before == "holdsFor(poor(chris)=true, [(20,inf)]).\n"
    assert other.run("lose_wallet|1|1|kim\n").text() == "holdsFor(poor(kim)=true, [(2,inf)]).\n"


def test_a_tick_and_ties_can_be_set(program: Program) -> None:
    assert (
        "rich(chris)=true, [(53,93)]"
        in program.run("win_lottery|13|13|chris\nlose_wallet|53|53|chris\n", tick=40).text()
    )
    both = "go_to|1|1|a|x\ngo_to|1|1|a|y\n"
    assert "location" not in program.run(both).text()
    assert program.run(both).summary.conflicts == 1
    assert "location" in program.run(both, ties="initiation").text()


DISTANCES = """
initiatedAt(moving(P)=true, T) :- happensAt(walking(P), T), holdsAt(distance(P)=far, T).
near(P)=true iff distance(P)=close, orientation(P)=same.
"""
MISSING = "rules read distance/1, orientation/1, which nothing defines and no record is of"


def test_fluents_that_rules_read_and_nothing_brings_are_named() -> None:
    program = cernis.load(DISTANCES)
    events = "walking|1|1|ann\n"
    assert program.run(events).summary.remarks == (MISSING,)
    assert program.run_uncertain(f"0.5::{events}").summary.remarks == (MISSING,)
    assert program.run_uncertain(f"0.5::{events}", window=5).summary.remarks == (MISSING,)
    more = program.run(f"{events}distance|1|1|far|ann\n").summary.remarks
    assert more == (MISSING.replace("distance/1, ", ""),)
    assert not program.run(
        f"{events}distance|1|1|far|ann\norientation|1|1|5|same|ann\n"
    ).summary.remarks
