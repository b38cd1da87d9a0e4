"""Causes in a report: the rule and the event that began, and that ended, each interval."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

import cernis
from cernis.answers.reports.report_content import content_of
from cernis.answers.reports.whole_explanations import explanations_of, pair_question
from cernis.errors import DataError
from tests.answers.reports.test_report_content import content_of as page_content

RULES = """
initiatedAt(speed(V)=high, T) :- happensAt(velocity(V, S), T), S > 8.
initiatedAt(speed(V)=low, T) :- happensAt(velocity(V, S), T), S =< 8.
initiatedAt(near(V, W)=true, T) :- happensAt(meet(V, W), T).
terminatedAt(near(V, W)=true, T) :- happensAt(part(V, W), T).
"""
RECORDS = "velocity|1|1|b2|9\nmeet|2|2|b2|b10\nvelocity|4|4|b2|3\npart|7|7|b2|b10\n"


def result_of(records: Any = RECORDS) -> Any:
    return cernis.load(RULES).run(records)


def test_each_interval_has_the_rules_and_records_of_its_ends() -> None:
    result = result_of()
    content = content_of(result.answer, result.origin.checked, result.times)
    causes = result.origin.causes(content.tables, result.answer.events)
    lines = {}
    for row, group in enumerate(content.rows.groups.tolist()):
        key = content.rows.values[group].as_py(), int(content.rows.starts[row])
        ends = causes.begin_records[row], causes.end_records[row]
        rules = causes.begin_rules[row], causes.end_rules[row]
        lines[key] = (
            [int(each) for each in ends],
            [causes.rules[r] if r >= 0 else "" for r in rules],
        )
    assert lines["high", 2] == ([1, 3], ["<text>:2", "<text>:3"])
    assert lines["low", 5] == ([3, -1], ["<text>:3", ""])
    assert lines["true", 3] == ([2, 4], ["<text>:4", "<text>:5"])
    assert causes.fired == {"<text>:2": 1, "<text>:3": 2, "<text>:4": 1, "<text>:5": 1}


def test_the_page_leads_from_intervals_to_events() -> None:
    result = result_of()
    meta, columns = page_content(result, causes=True)
    begins = list(accumulate(columns["cause.begin.event"]))
    ends = [begin + way for begin, way in zip(begins, columns["cause.end.event"], strict=True)]
    names = [meta["events"][kind]["name"] for kind in columns["event.kind"]]
    assert names == ["velocity", "meet", "velocity", "part"]
    # speed=high, speed=low and near(b2, b10), in the order of lanes.
    assert (begins, ends) == ([1, 3, 2], [3, 0, 4])
    rules = [meta["rules"][number - 1]["place"] for number in columns["cause.begin.rule"]]
    assert rules == ["<text>:2", "<text>:3", "<text>:4"]


@pytest.mark.parametrize("records", [[], "meet|2|2|b2|b10\n"])
def test_few_or_no_causes(records: Any) -> None:
    result = result_of(records)
    meta, columns = page_content(result, causes=True)
    assert len(columns["cause.begin.rule"]) == len(columns["interval.gap"])
    assert len(meta["rules"]) == 4


def test_whole_explanations_stand_with_their_intervals(tmp_path: Path) -> None:
    result = result_of()
    _, columns = page_content(result, explain=("near",))
    assert columns["explained.place"] == [2]
    assert "meet" in columns["explained.text"][0]
    content = content_of(result.answer, result.origin.checked, result.times)
    with pytest.raises(DataError, match="there is no fluent far to be explained"):
        explanations_of(["far"], result.answer, content, result.origin)
    near = next(relation for relation in result.answer.fluents if relation.name == "near")
    assert pair_question(near, result.answer.fluents[near], 0) == "near(b2, b10)=true"
    assert result.report(tmp_path / "page.html", explain=["near"]).exists()


def test_dates_do_not_part_causes_from_intervals() -> None:
    rows = [
        {"event": "meet", "occurrence": "2026-03-01T10:00:00Z", "V": "a", "W": "b"},
        {"event": "part", "occurrence": "2026-03-01T11:00:00Z", "V": "a", "W": "b"},
    ]
    result = result_of(rows)
    _, columns = page_content(result, causes=True)
    assert (columns["cause.begin.event"], columns["cause.end.event"]) == ([1], [1])


def test_an_input_fluent_is_a_lane_and_a_cause() -> None:
    program = cernis.load("""
        collectIntervals(close(_, _)=true).
        near(V, W)=true iff close(V, W)=true.
    """)
    result = program.run("close|1|1|5|true|a|b\nclose|2|4|9|true|a|b\nclose|3|20|inf|true|a|b\n")
    meta, columns = page_content(result, causes=True)
    assert [(each["name"], each["input"]) for each in meta["fluents"]] == [
        ("near", False), ("close", True),
    ]  # fmt: skip
    # Two records are one interval; each interval of `near` leads to the one that it came from.
    begins = list(accumulate(columns["cause.begin.event"]))
    ends = [begin + way for begin, way in zip(begins, columns["cause.end.event"], strict=True)]
    assert (columns["interval.gap"], columns["interval.length"]) == ([0, 11] * 2, [8, 0] * 2)
    assert (begins, ends) == ([3, 4, 3, 4], [3, 0, 3, 0])
