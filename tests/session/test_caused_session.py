"""Feeds that name the records that caused each change."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

import cernis
from cernis.errors import DataError
from cernis.records.record_columns import Records
from cernis.session.caused_session import CausedSession
from tests.agreement.compare import scenarios

RULES = """
initiatedAt(level(B)=critical, T)  :- happensAt(hr(B, R), T), R > 120.
terminatedAt(level(B)=critical, T) :- happensAt(hr(B, R), T), R < 100.
initiatedAt(muted(B)=true, T)  :- happensAt(mute(B), T).
terminatedAt(muted(B)=true, T) :- happensAt(unmute(B), T).
loud(B)=true iff level(B)=critical, not muted(B)=true.
happensAt(alarm(B), T) :- happensAt(start(loud(B)=true), T).
"""


def causes(feed: object) -> list[tuple[str, str, int, list[str]]]:
    rows = feed.changes().to_pylist()  # type: ignore[attr-defined]
    return sorted((r["change"], r["fluent"], r["start"], r["causes"]) for r in rows)


def test_changes_name_what_began_and_ended_them() -> None:
    session = cernis.load(RULES).session(window=20, start=0, causes=True)
    session.insert("hr|2|2|b7|130\nmute|4|4|b7\nunmute|6|6|b7\nhr|8|8|b7|90\n")
    assert causes(session.query(10)) == [
        ("insert", "alarm", 2, ["hr|2|2|b7|130"]),
        ("insert", "alarm", 6, ["unmute|6|6|b7"]),
        ("insert", "level", 3, ["hr|2|2|b7|130", "hr|8|8|b7|90"]),
        ("insert", "loud", 3, ["hr|2|2|b7|130", "mute|4|4|b7"]),
        ("insert", "loud", 7, ["unmute|6|6|b7", "hr|8|8|b7|90"]),
        ("insert", "muted", 5, ["mute|4|4|b7", "unmute|6|6|b7"]),
    ]


def test_an_interval_from_before_the_window_is_ended_by_a_record_in_it() -> None:
    session = cernis.load(RULES).session(window=10, start=0, causes=True)
    session.insert("hr|2|2|b7|130\n")
    session.query(10)
    session.insert("hr|18|18|b7|90\n")
    rows = causes(session.query(20))
    assert ("delete", "level", 3, []) in rows
    assert ("insert", "level", 3, ["hr|18|18|b7|90"]) in rows


def test_conditions_that_hold_since_before_the_window_count() -> None:
    rules = (
        RULES
        + """
    initiatedAt(watched(B)=true, T) :- happensAt(look(B), T), holdsAt(level(B)=critical, T).
    """
    )
    session = cernis.load(rules).session(window=10, start=0, causes=True)
    session.insert("hr|2|2|b7|130\n")
    session.query(10)
    session.insert("look|25|25|b7\n")
    session.query(20)
    assert causes(session.query(30)) == [("insert", "watched", 26, ["look|25|25|b7"])]


def test_records_with_ids_are_named_by_them() -> None:
    session = cernis.load(RULES).session(window=20, start=0, ids="id", causes=True)
    session.insert("hr|2|2|b7|130|r1\nhr|2|2|b7|130|r1\nhr|8|8|b7|90|r2\n")
    feed = session.query(10)
    assert ("insert", "level", 3, ["r1", "r2"]) in causes(feed)
    assert feed.table()["causes"].to_pylist() == [["r1", "r2"], ["r1", "r2"]]


def test_what_causes_cannot_go_with() -> None:
    program = cernis.load(RULES)
    with pytest.raises(DataError, match="reported early"):
        program.session(window=10, policy="final", causes=True)
    with pytest.raises(DataError, match="cannot be saved"):
        program.session(causes=True).save("there")


@pytest.mark.parametrize("seed", range(40))
def test_the_feed_is_that_of_a_session_without_causes(seed: int) -> None:
    random = Random(seed)
    scenario, program = next(iter(scenarios(seed, 1)))
    plain, caused = (
        program.session(start=0, window=30),
        program.session(start=0, window=30, causes=True),
    )
    assert isinstance(caused, CausedSession)
    lines = list(scenario.lines)
    for query in (15, 30, 45):
        part = [lines.pop(random.randrange(len(lines))) for _ in range(min(len(lines), 20))]
        for session in (plain, caused):
            session.insert(part)
        feed, other = plain.query(query), caused.query(query)
        names = feed.changes().column_names
        left, right = (
            sorted(map(str, each.changes().select(names).to_pylist())) for each in (feed, other)
        )
        assert left == right, f"seed {seed} at {query}\n{scenario}"


@pytest.mark.parametrize("seed", range(100, 140))
def test_causes_are_the_provenance_of_a_run(seed: int) -> None:
    scenario, program = next(iter(scenarios(seed, 1)))
    records = program.records(list(scenario.lines))
    result = program.run(records)
    wanted: dict[str, set[int]] = {}
    for row in result.provenance().to_pylist():
        key = str((row["name"], row["args"], row["value"], row["start"]))
        wanted.setdefault(key, set()).update([] if row["record"] is None else [row["record"]])
    session = program.session(start=result.summary.start, causes=True)
    session.insert(list(scenario.lines))
    for row in session.query(result.summary.end).changes().to_pylist():
        key = str((row["fluent"], row["args"], row["value"], row["start"]))
        lines = {_line(records, number) for number in wanted.get(key, ())}
        assert set(row["causes"]) == lines, f"seed {seed}: {row}\n{scenario}"


def _line(records: Records, number: int) -> str:
    """A record as a session has it: it arrives when it occurs."""
    for part in records.relations.values():
        for row in range(len(part)):
            if part.places[row] == number:
                return replace(part, times=[part.times[1], *part.times[1:]]).text(row)
    raise AssertionError(number)
