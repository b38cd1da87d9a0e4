"""The cause of each interval is one of its records, and rules are counted once for an interval."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import cernis
from cernis.answers.reports.report_causes import ReportCauses
from cernis.answers.reports.report_content import content_of
from cernis.answers.reports.report_lanes import rows_of
from cernis.session.causes_in_reports import causes_in_report
from cernis.session.result_provenance import traced_run
from cernis.session.settings import Settings


def _causes(program: Any, events: Any, result: Any) -> ReportCauses:
    bounds = result.summary.start, result.summary.end
    tracer = traced_run(program.plan, program.records(events), Settings(), bounds)
    tables = list(result.answer.fluents.items())
    return causes_in_report(tracer, program.checked.sources, tables, result.answer.events)


def test_the_first_record_of_the_provenance_is_the_cause_of_each_interval() -> None:
    root = Path(__file__).parent.parent.parent / "examples" / "maritime"
    program = cernis.load(root / "rules.cer", [root / "facts.cer"])
    result = program.run(root / "events.txt")
    tables = list(result.answer.fluents.items())
    causes = _causes(program, root / "events.txt", result)
    expected: dict[tuple[Any, ...], list[Any]] = {}
    for row in result.provenance().to_pylist():
        key = row["role"], row["name"], tuple(row["args"]), row["value"], row["start"]
        expected.setdefault(key, []).append((row["rule"], row["record"]))
    found, row = {}, 0
    for relation, table in tables:
        rows = rows_of([(0, table, None)])
        for place, group in enumerate(rows.groups.tolist()):
            args = [rows.entities[group].as_py(), *rows.rests[group].as_py().split(", ")]
            name = relation.name, tuple(args[: relation.arity]), rows.values[group].as_py()
            for role, rules, records in (
                ("began", causes.begin_rules, causes.begin_records),
                ("ended", causes.end_rules, causes.end_records),
            ):
                if rules[row] >= 0 or records[row] >= 0:
                    key = role, *name, int(rows.starts[place])
                    found[key] = causes.rules[rules[row]], int(records[row])
            row += 1
    assert len(found) > 20
    assert found.keys() == {key for key in expected if key[0] != "happened"}
    assert all(cause in expected[key] for key, cause in found.items())
    assert causes.fired == Counter(
        key for key, entries in expected.items() for key in {rule for rule, _ in entries}
    )


def test_what_holds_initially_has_a_rule_and_no_record() -> None:
    program = cernis.load("""
        initially(idle(a)=true).
        terminatedAt(idle(X)=true, T) :- happensAt(start(X), T).
    """)
    result = program.run("start|5|5|a\n")
    causes = _causes(program, "start|5|5|a\n", result)
    assert [causes.rules[each] for each in causes.begin_rules] == ["<text>:2"]
    assert (causes.begin_records.tolist(), causes.end_records.tolist()) == ([-1], [1])


UNCERTAIN = """
initiatedAt(hot(X)=true, T)  :- happensAt(warm(X), T).
terminatedAt(hot(X)=true, T) :- happensAt(cold(X), T).
initiatedAt(wet(X)=true, T)  :- happensAt(rain(X), T).
alarm(X)=true iff hot(X)=true, wet(X)=true.
happensAt(storm(X), T) :- happensAt(rain(X), T), holdsAt(hot(X)=true, T).
initiatedAt(shut(X)=true, T) :- happensAt(storm(X), T).
"""
RECORDS = "0.4::warm|1|1|a\n0.9::rain|3|3|a\n0.5::warm|5|5|a\n0.3::cold|7|7|a\n0.8::warm|7|7|b\n"


def test_where_a_probability_changes_the_record_that_changed_it_is_named() -> None:
    program = cernis.load(UNCERTAIN)
    result = program.run_uncertain(RECORDS, end=9)
    content = content_of(result.answer, program.checked, result.times)
    causes = result.origin.causes(content.tables, {}, content.band_tables)
    named, row = {}, 0
    for relation, table in content.band_tables:
        rows = rows_of([(0, table, None)])
        for place, group in enumerate(rows.groups.tolist()):
            key = relation.name, rows.entities[group].as_py(), int(rows.starts[place])
            named[key] = (
                causes.rules[causes.band_rules[row]].removeprefix("<text>:"),
                int(causes.band_records[row]),
            )
            row += 1
    assert named == {
        ("hot", "a", 2): ("2", 1), ("hot", "a", 6): ("2", 3), ("hot", "a", 8): ("3", 4),
        ("hot", "b", 8): ("2", 5), ("wet", "a", 4): ("4", 2), ("alarm", "a", 4): ("5", 2),
        ("alarm", "a", 6): ("5", 3), ("alarm", "a", 8): ("5", 4), ("shut", "a", 4): ("7", 2),
    }  # fmt: skip


def test_with_a_window_what_is_uncertain_has_no_causes() -> None:
    program = cernis.load(UNCERTAIN)
    assert program.run_uncertain(RECORDS, window=5, step=5, end=10).origin.causes is None


def test_no_intervals_have_no_causes() -> None:
    program = cernis.load("initiatedAt(on(X)=true, T) :- happensAt(up(X), T).")
    causes = _causes(program, [], program.run([]))
    assert (causes.rules, causes.fired) == ([], Counter())
    assert np.array_equal(causes.begin_rules, [])
