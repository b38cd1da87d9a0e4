"""The cause of each interval is one of its records, and rules are counted once for an interval."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import cernis
from cernis.answers.reports.report_causes import ReportCauses
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


def test_no_intervals_have_no_causes() -> None:
    program = cernis.load("initiatedAt(on(X)=true, T) :- happensAt(up(X), T).")
    causes = _causes(program, [], program.run([]))
    assert (causes.rules, causes.fired) == ([], Counter())
    assert np.array_equal(causes.begin_rules, [])
