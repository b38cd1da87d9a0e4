"""What goes into a report: lanes, bands, events, thresholds and corrections, as columns."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cernis
from cernis.answers.reports import report_file, rule_texts, thresholds
from cernis.answers.reports.corrections import uncovered
from cernis.answers.reports.report_events import event_kinds
from cernis.answers.reports.report_lanes import lanes_of, rows_of
from cernis.answers.reports.text_codes import coded_texts
from cernis.errors import CernisError, DataError
from cernis.records.arrow_arrays import as_texts
from tests.pages.test_payload import unpacked

SPEED = """
initiatedAt(speed(V)=high, T) :- happensAt(velocity(V, S), T), limit(harbour, L), S > L.
initiatedAt(speed(V)=low, T) :- happensAt(velocity(V, S), T), S =< 5.
near(V, W)=true iff close(V, W)=true.
collectIntervals(close(_, _)=true).
limit(harbour, 8.5).
limit(sea, 20).
"""
RECORDS = "velocity|1|1|b2|9\nvelocity|4|4|b2|3\nvelocity|5|5|b10|4\n"


def content_of(result: Any, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The facts and the columns of the report of a result."""
    as_of = getattr(result, "as_of", ())
    payload = report_file.report_payload(
        result.origin,
        result.answer,
        result.summary,
        result.times,
        report_file.ReportOptions(**options),
        as_of,
    )
    return unpacked(payload.packed())


def shown(meta: dict[str, Any], columns: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The intervals of a report as the page reads them: lane by lane, from gaps and lengths."""
    rows, row = [], 0
    base, nothing = int(meta["base"]), [0] * len(columns["lane.count"])
    for lane, (entity, count) in enumerate(
        zip(accumulate(columns["lane.entity"]), columns["lane.count"], strict=True)
    ):
        time = 0
        for _ in range(count):
            start = time + columns["interval.gap"][row]
            time = start + columns["interval.length"][row]
            end = None if row in columns["interval.open"] else base + time
            fluent = meta["fluents"][columns.get("lane.relation", nothing)[lane]]["name"]
            rest = columns["rests"][columns.get("lane.rest", nothing)[lane]]
            value = columns["values"][columns["interval.value"][row]]
            rows.append((columns["entities"][entity], fluent, rest, value, base + start, end))
            row += 1
    return rows


def test_intervals_stand_in_lanes_by_entity_as_people_sort_them() -> None:
    result = cernis.load(SPEED).run(RECORDS)
    meta, columns = content_of(result)
    assert shown(meta, columns) == [
        ("b2", "speed", "", "high", 2, 5), ("b2", "speed", "", "low", 5, None),
        ("b10", "speed", "", "low", 6, None),
    ]  # fmt: skip
    assert [each["name"] for each in meta["fluents"] if each["many"]] == ["speed"]


def test_all_intervals_of_an_answer_are_in_its_report() -> None:
    root = Path(__file__).parent.parent.parent.parent / "examples" / "maritime"
    program = cernis.load(root / "rules.cer", [root / "facts.cer"])
    result = program.run(root / "events.txt")
    expected = sorted(
        (*_named(row["args"], row["fluent"]), row["value"], row["start"], str(row["end"]))
        for row in result.intervals.to_pylist()
    )  # fmt: skip
    found = [(*row[:5], str(row[5])) for row in shown(*content_of(result))]
    assert sorted(row for row in found if row[1] != "proximity") == expected
    # The one input fluent on intervals is there as well.
    assert any(row[1] == "proximity" for row in found)


def _named(args: list[str], fluent: str) -> tuple[str, str, str]:
    return args[0], fluent, ", ".join(args[1:])


def test_values_that_hold_together_have_lanes_of_their_own() -> None:
    program = cernis.load("""
        initiatedAt(rich(X)=true, T) :- happensAt(win(X), T).
        mood(X)=happy iff rich(X)=true.
        mood(X)=proud iff rich(X)=true.
    """)
    meta, columns = content_of(program.run("win|3|3|ann\n"))
    mood = next(i for i, each in enumerate(meta["fluents"]) if each["name"] == "mood")
    own = [
        v for r, v in zip(columns["lane.relation"], columns["lane.value"], strict=True) if r == mood
    ]
    assert [columns["values"][value - 1] for value in own] == ["happy", "proud"]


def test_events_have_their_attributes_beside_thresholds() -> None:
    meta, columns = content_of(cernis.load(SPEED).run(RECORDS))
    (velocity,) = meta["events"]
    assert (velocity["columns"], velocity["derived"]) == (["V", "S"], False)
    assert columns["event0.1"] == [9, 3, 4]
    limits = {(each["value"], each["text"]) for each in velocity["thresholds"]["1"]}
    assert limits == {(8.5, "limit(harbour) = 8.5"), (5.0, "5")}
    without = content_of(cernis.load(SPEED).run(RECORDS), events=False)
    assert without[0]["events"] == []


def test_derived_events_are_told_apart_and_records_taken_back_are_left_out() -> None:
    program = cernis.load("happensAt(alarm(X), T) :- happensAt(smoke(X), T).")
    result = program.run("smoke|1|1|a\nsmoke|2|2|b\n-smoke|3|2|b\n")
    meta, columns = content_of(result)
    assert [(each["name"], each["derived"]) for each in meta["events"]] == [
        ("smoke", False), ("alarm", True),
    ]  # fmt: skip
    assert columns["event.kind"] == [0, 1]
    assert columns["entities"] == ["a"]


def test_probabilities_are_bands() -> None:
    program = cernis.load("initiatedAt(hot(X)=true, T) :- happensAt(warm(X), T).")
    result = program.run_uncertain("0.4::warm|1|1|a\n0.5::warm|5|5|a\n", end=9)
    _, columns = content_of(result)
    assert columns["band.gap"] == [1, 0]
    assert np.allclose(columns["band.chance"], [0.4, 0.7])
    assert len(columns["interval.chance"]) == len(columns["interval.gap"])


def test_what_a_later_query_says_otherwise_is_a_correction() -> None:
    program = cernis.load(
        "initiatedAt(on(X)=true, T) :- happensAt(up(X), T).\n"
        "terminatedAt(on(X)=true, T) :- happensAt(down(X), T).\n"
    )
    # The end is known late: what the query at 10 said of 5 to 10 is taken back at 20.
    result = program.run(
        "up|1|1|a\ndown|14|4|a\nup|18|18|b\n", window=20, step=10, end=20, per_query=True
    )
    meta, columns = content_of(result)
    base = int(meta["base"])
    stretches = zip(
        columns["ghost.start"], columns["ghost.end"], columns["ghost.added"], strict=True
    )
    assert [(base + a, base + b, added) for a, b, added in stretches] == [(5, 11, 0)]
    assert base + columns["ghost.query"][0] == 20


def test_stretches_that_are_not_covered() -> None:
    assert uncovered(0, 5, []) == [(0, 5)]
    assert uncovered(3, 5, [(0, 9)]) == []
    assert uncovered(3, 9, [(0, 1), (2, 4), (6, 7), (20, 30)]) == [(4, 6), (7, 9)]


def test_times_that_floats_cannot_hold_keep_their_last_digits() -> None:
    first, last = 1_500_000_000_000_000_001, 1_700_000_000_000_000_003
    program = cernis.load(
        ":- time(unit(ns)).\ninitiatedAt(on(X)=true, T) :- happensAt(up(X), T).\n"
    )
    result = program.run(f"up|{first}|{first}|a\nup|{last}|{last}|b\n")
    meta, columns = content_of(result)
    exact = [
        int(meta["base"]) + (coarse << meta["shift"]) + rest
        for coarse, rest in zip(
            columns["interval.gap"], columns["interval.start.rest"], strict=True
        )
    ]
    assert meta["shift"] > 0
    assert exact == [first + 1, last + 1]


def test_a_result_without_events_has_an_empty_report() -> None:
    meta, columns = content_of(cernis.load(SPEED).run([]))
    assert (columns["entities"], meta["events"], columns["interval.gap"]) == ([], [], [])


def test_a_page_needs_its_ending_and_a_folder(tmp_path: Path) -> None:
    result = cernis.load(SPEED).run(RECORDS)
    with pytest.raises(DataError, match=r"must end in \.html"):
        result.report(tmp_path / "page.pdf")
    with pytest.raises(DataError, match="cannot be written"):
        result.report(tmp_path / "none" / "page.html")
    result.origin = None
    with pytest.raises(CernisError, match="does not know its program"):
        result.report(tmp_path / "page.html")


def test_texts_are_coded_in_the_order_people_expect() -> None:
    texts, (first, second) = coded_texts([as_texts(["b10", "b2"]), as_texts(["a"])])
    assert (texts, first.tolist(), second.tolist()) == (["a", "b2", "b10"], [2, 1], [0])


def test_no_rows_make_no_lanes() -> None:
    none = np.empty(0, np.int64)
    assert len(lanes_of(rows_of([]), none, none, none).counts) == 0


def test_rules_are_listed_with_their_places() -> None:
    program = cernis.load(SPEED)
    listed = rule_texts.rule_texts(program.checked)
    assert len(listed) == 3
    assert listed[0]["text"].startswith("initiatedAt(speed(V)=high")
    assert thresholds.thresholds_of(program.checked)
    assert list(event_kinds(program.run([]).answer, None, program.checked.catalogue, set())) == []
