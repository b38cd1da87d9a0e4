"""Which points lie whole ticks after a start, and what happens to records that do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cernis
from cernis.check.model import Relation
from cernis.evaluate.query_loop import Handover
from cernis.evaluate.stores import StoredRows
from cernis.evaluate.time_grid import TimeGrid
from cernis.evaluate.windows import Window
from cernis.session.session import Session
from cernis.tables.interval_tables import INFINITY

RULES = """
:- tick(10).
initiatedAt(lit(X)=true, T) :- happensAt(on(X), T).
terminatedAt(lit(X)=true, T) :- happensAt(off(X), T).
initiatedAt(seen(X)=true, T) :- happensAt(look(X), T), holdsAt(lit(X)=true, T).
fi(seen(X)=true, seen(X)=false, DELAY).
"""
LAMP = cernis.load(RULES.replace("DELAY", "20"))


def test_points_of_a_grid() -> None:
    grid = TimeGrid(-3, 10)
    assert grid.has(-3, 7, 17, -13)
    assert not grid.has(-3, 0)
    assert grid.has_all(np.array([7, 17, INFINITY]))
    assert not grid.has_all(np.array([7, 18]))
    assert TimeGrid(5, 1).has_all(np.array([7, 18]))
    assert grid.has_window(Window(7, 27, 17))
    assert not grid.has_window(Window(7, 27, 18))


@pytest.mark.parametrize(
    ("times", "expected"), [((7, 17), True), ((7, 18), False), ((8, 17), False)]
)
def test_what_is_handed_over(times: tuple[int, int], expected: bool) -> None:
    rows = StoredRows([], [np.array([time]) for time in (*times, 3)])
    assert (
        TimeGrid(-3, 10).has_handed_over(Handover(7, {Relation("f", 1): rows}, {}, {})) == expected
    )
    rows = StoredRows([], [np.array([times[0]])])
    is_first = times[0] == 7
    assert (
        TimeGrid(-3, 10).has_handed_over(Handover(7, {}, {Relation("e", 1): rows}, {})) == is_first
    )


def test_delays_that_are_no_whole_ticks_are_not_walked() -> None:
    assert LAMP.session(window=100, step=10, start=0).may_walk
    assert not cernis.load(RULES.replace("DELAY", "25")).session(window=100, step=10).may_walk
    assert not LAMP.session(window=100, step=10, start=0, tick=40).may_walk


@pytest.mark.parametrize("window", [40, None])
def test_a_record_between_two_ticks_is_seen_as_columns_see_it(
    tmp_path: Path, window: int | None
) -> None:
    """At 35 the lamp that is switched on at 30 is not lit yet; at 41 it is."""
    records = ["on|10|10|a", "look|20|20|a", "off|30|30|a", "on|30|30|b", "look|35|35|b"]
    records += ["look|41|41|b"]
    walked = LAMP.session(window=window, step=10, start=0)
    columns = Session(LAMP.plan, window, 10, 0, incremental=False)
    for query in range(10, 100, 10):
        come = [each for each in records if query - 10 < int(each.split("|")[1]) <= query]
        for session in (walked, columns):
            session.insert(come)
        assert walked.query(query).table() == columns.query(query).table()
        assert walked.may_walk == (query < 40)
        walked.save(tmp_path / "session")
        walked = LAMP.restore(tmp_path / "session")
        # What is left of the record between two ticks is forgotten in the end.
    held = {(row["args"][0], row["start"]) for row in walked.intervals().to_pylist()}
    assert {("b", 40), ("b", 51)} <= held


def test_queries_between_two_ticks() -> None:
    session = LAMP.session(window=40, step=10, start=0)
    session.insert(["on|10|10|a"])
    session.query(10)
    assert session.may_walk
    session.query(25)
    assert not session.may_walk
    assert session.intervals().num_rows == 1
