"""Boards of feeds: what stands after all changes, and what was corrected on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import cernis
from cernis.answers.reports import feed_board
from cernis.answers.reports.feed_board import FeedBoard, whole_times
from cernis.answers.time_output import TimeOutput
from cernis.records.record_sources import read_unresolved
from cernis.session.feed import FEED
from cernis.syntax.time_scale import TimeScale
from tests.answers.reports.test_report_content import shown
from tests.pages.test_payload import unpacked

RULES = (
    "initiatedAt(on(X)=true, T) :- happensAt(up(X), T).\n"
    "terminatedAt(on(X)=true, T) :- happensAt(down(X), T).\n"
)


def changes(*rows: tuple[Any, ...]) -> pa.Table:
    """Changes of the fluent `on`: kind, entity, start, end and query time."""
    names = ["change", "fluent", "args", "value", "start", "end", "query_time", "rule_version"]
    full = [(kind, "on", [entity], "true", *times, "1") for kind, entity, *times in rows]
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in full], FEED)


def test_what_stands_is_the_sum_of_the_changes() -> None:
    board = FeedBoard("toy")
    board.take(changes(("insert", "a", 2, None, 10), ("insert", "b", 3, 5, 10)))
    board.take(changes(("delete", "a", 2, None, 20), ("insert", "a", 2, 15, 20)))
    meta, columns = unpacked(board.payload().packed())
    assert shown(meta, columns) == [("a", "on", "", "true", 2, 15), ("b", "on", "", "true", 3, 5)]
    assert "ghost.lane" not in columns
    assert board.latest[-1] == "+ on(a) = true [2, 15)"
    assert (board.version, len(board)) == (2, 2)


def test_what_a_query_takes_back_or_adds_late_is_marked() -> None:
    board = FeedBoard("toy")
    board.take(changes(("insert", "a", 2, None, 10)))
    board.take(changes(
        ("delete", "a", 2, None, 20), ("insert", "a", 2, 6, 20), ("insert", "b", 4, None, 20),
    ))  # fmt: skip
    meta, columns = unpacked(board.payload().packed())
    base = int(meta["base"])
    marks = zip(columns["ghost.start"], columns["ghost.end"], columns["ghost.added"], strict=True)
    assert [(base + start, base + end, added) for start, end, added in marks] == [
        (6, 11, 0), (4, 11, 1),
    ]  # fmt: skip
    delayed = FeedBoard("toy", is_delayed=True)
    delayed.take(changes(("insert", "a", 2, None, 10)))
    delayed.take(changes(("insert", "b", 4, 6, 20)))
    assert "ghost.lane" not in unpacked(delayed.payload().packed())[1]


def test_a_board_without_changes_is_an_empty_page() -> None:
    meta, columns = unpacked(FeedBoard("toy").payload().packed())
    assert (meta["fluents"], columns["entities"]) == ([], [])


def test_records_stand_beside_what_was_recognised() -> None:
    program = cernis.load(f"{RULES}collectIntervals(near(_)=true).")
    board = FeedBoard("toy", checked=program.checked)
    board.take(changes(("insert", "a", 2, None, 10)))
    for lines in ("up|1|1|a\nup|2|2|b\n", "-up|3|2|b\nnear|4|3|9|true|a\n"):
        records = read_unresolved(lines, program.checked, None)
        board.take_records(list(records.relations.values()))
    meta, columns = unpacked(board.payload().packed())
    assert shown(meta, columns) == [
        ("a", "on", "", "true", 2, None), ("a", "near", "", "true", 3, 9),
    ]  # fmt: skip
    assert [(each["name"], each["input"]) for each in meta["fluents"]] == [
        ("on", False), ("near", True),
    ]  # fmt: skip
    # The record that was taken back in the second micro-batch is gone.
    assert [each["name"] for each in meta["events"]] == ["up"]
    assert columns["eventlane.count"] == [1]
    assert board.version == 3


def test_only_the_newest_records_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_board, "_MOST_RECORDS", 2)
    program = cernis.load(RULES)
    board = FeedBoard("toy", checked=program.checked)
    board.take_records(list(program.records("up|5|5|a\nup|1|1|a\nup|9|9|a\n").relations.values()))
    (part,) = board.records.relations.values()
    assert part.times[1].tolist() == [5, 9]


def test_a_session_writes_what_its_feeds_reported(tmp_path: Path) -> None:
    session = cernis.load(RULES).session(window=20, step=10, start=0)
    session.insert("up|1|1|a\n")
    feeds = [session.query(10)]
    session.insert("down|14|4|a\n")
    feeds.append(session.query(20))
    page = session.report(tmp_path / "feed.html", feeds, title="A session")
    assert "<title>A session</title>" in page.read_text()


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_timestamps_of_feeds_are_time_points_again(unit: str) -> None:
    times = TimeOutput(TimeScale(unit), dated=True)
    table = changes(("insert", "a", 2, None, 10))
    assert whole_times(times.table(table), times).equals(table)
