"""A feed as a table and as text."""

from __future__ import annotations

import cernis

RULES = """
initiatedAt(rich(X)=true, T)  :- happensAt(win(X), T).
terminatedAt(rich(X)=true, T) :- happensAt(lose(X), T).
happensAt(party(X), T) :- happensAt(start(rich(X)=true), T).
theft(X) <- win(X) seq lose(X) within 1h.
"""


def test_a_feed_is_text_with_a_line_for_each_change() -> None:
    session = cernis.load(RULES).session(window=100, step=10, start=0)
    session.insert([("win", 5, 5, "ann")])
    assert session.query(10).text() == "+ rich(ann)=true [6,inf) at 10\n+ party(ann) 5 at 10\n"
    session.insert([("lose", 15, 8, "ann")])
    feed = session.query(20)
    assert feed.text().splitlines() == [
        "- rich(ann)=true [6,inf) at 20",
        "+ rich(ann)=true [6,9) at 20",
        "+ theft(ann) [5,8] at 20",
    ]
    assert repr(feed) == "<Feed at 20: 3 changes>"
    assert feed.changes()["fluent"].to_pylist() == ["rich", "rich", "theft"]
    assert session.query(30).text() == ""


def test_times_of_a_feed_are_written_as_dates_where_the_input_has_such() -> None:
    session = cernis.load(RULES).session(window="1h", step="10min")
    session.insert([("win", "2026-06-01T08:00Z", "2026-06-01T08:00Z", "ann")])
    feed = session.query("2026-06-01T08:10Z")
    assert repr(feed) == "<Feed at 2026-06-01T08:10:00Z: 2 changes>"
    assert feed.text() == (
        "+ rich(ann)=true [2026-06-01T08:00:01Z,inf) at 2026-06-01T08:10:00Z\n"
        "+ party(ann) 2026-06-01T08:00:00Z at 2026-06-01T08:10:00Z\n"
    )
