"""Lanes that read fluents of the input say what columns say."""

from __future__ import annotations

from pathlib import Path

import pytest

import cernis
from cernis.session.session import Session
from tests.evaluate.sweep.test_sweep_then_columns import answers
from tests.session.test_walked_sessions import feed

RULES = """
points(walk(_)=true).
:- fluent(lamp(_)=_).
initiatedAt(person(X)=true, T) :- happensAt(start(walk(X)=true), T), \\+ holdsAt(lamp(X)=off, T).
initiatedAt(rest(X)=true, T) :- happensAt(end(walk(X)=true), T).
terminatedAt(rest(X)=true, T) :- happensAt(start(walk(X)=true), T).
ft(rest(X)=true, 7).
holdsFor(moves(X)=true, I) :- holdsFor(walk(X)=true, A), holdsFor(lamp(X)=on, B),
    union_all([A, B], I).
happensAt(seen(X), T) :- happensAt(look(X), T), holdsAt(moves(X)=true, T).
happensAt(halt(X), T) :- happensAt(end(moves(X)=true), T), \\+ happensAt(look(X), T).
"""
PROGRAM = cernis.load(RULES)


def points(*times: int) -> list[str]:
    return [f"walk|{time}|{time}|true|a" for time in times]


def lamp(arrival: int, start: int, end: int, value: str = "on") -> str:
    return f"lamp|{arrival}|{start}|{end}|{value}|a"


def look(time: int) -> str:
    return f"look|{time}|{time}|a"


CASES = {
    "points at a query that go on": [*points(3, 4, 8, 9, 10, 11, 12, 20, 21), look(10), look(13)],
    "points at a query that do not": [*points(8, 9, 10, 15, 20), look(11), look(20), look(21)],
    "points that come late": [
        *points(8, 9, 12), "walk|13|10|true|a", "walk|18|11|true|a", look(10), look(11), look(14)
    ],
    "intervals that overlap": [lamp(2, 2, 9), lamp(5, 5, 14), lamp(14, 14, 16), look(9), look(16)],
    "an interval that begins before the start": [lamp(2, -5, 6), look(1), look(5), look(6)],
    "intervals and points": [lamp(3, 3, 12), *points(10, 11, 12, 13), look(12), look(14)],
    "values": [lamp(3, 3, 12, "off"), *points(5, 14), lamp(20, 20, 30, "off"), *points(19, 33)],
}  # fmt: skip


def sessions(window: int | None, policy: str = "early") -> tuple[Session, Session, Session]:
    walked, restored, columns = (
        Session(PROGRAM.plan, window, 5, 0, policy=policy, incremental=incremental)
        for incremental in (None, None, False)
    )
    return walked, restored, columns


@pytest.mark.parametrize(("window", "policy"), [(None, "early"), (15, "final"), (5, "partial")])
@pytest.mark.parametrize("name", CASES)
def test_sessions(name: str, window: int | None, policy: str, tmp_path: Path) -> None:
    """One of the walked sessions is saved and restored after each query."""
    walked, restored, columns = sessions(window, policy)
    assert walked.may_walk
    for query in range(5, 50, 5):
        come = [each for each in CASES[name] if query - 5 < int(each.split("|")[1]) <= query]
        expected = feed(columns, query, come, [])
        assert feed(walked, query, come, []) == expected, query
        assert feed(restored, query, come, []) == expected, f"restored, {query}"
        restored.save(tmp_path / "session")
        restored = PROGRAM.restore(tmp_path / "session")
    assert walked.may_walk or window == 5


@pytest.mark.parametrize("is_retraction", [False, True])
def test_records_that_begin_before_the_edge_are_not_walked(is_retraction: bool) -> None:
    """The lamp is on at the edge of the window, which the query before has passed."""
    walked, _, columns = sessions(15)
    late = lamp(3 if is_retraction else 22, 3, 26)
    for query in (5, 10, 15, 20):
        come = [late] if is_retraction and query == 5 else []
        assert feed(walked, query, come, []) == feed(columns, query, come, [])
    assert walked.may_walk
    change = ([look(21)], [late]) if is_retraction else ([late, look(21)], [])
    assert feed(walked, 25, *change) == feed(columns, 25, *change)
    assert not walked.may_walk
    assert feed(walked, 30, [look(29)], []) == feed(columns, 30, [look(29)], [])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("window", "step"), [(None, None), (15, 5), (5, 5), (5, 8)])
def test_runs(name: str, window: int | None, step: int | None) -> None:
    records = sorted(CASES[name], key=lambda line: int(line.split("|")[1]))
    walked, by_columns = answers(PROGRAM.plan, "\n".join(records) + "\n", window, step)
    assert walked == by_columns
