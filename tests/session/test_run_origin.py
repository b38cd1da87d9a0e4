"""What a report may ask a run for: its records, read once, explanations and causes."""

from __future__ import annotations

from pathlib import Path

import pytest

import cernis
from cernis.errors import CernisError
from cernis.records.record_columns import Records
from cernis.session.run_origin import readable, run_origin
from cernis.session.settings import Settings

RULES = "initiatedAt(on(X)=true, T) :- happensAt(up(X), T)."


def test_records_are_read_once_and_only_when_they_are_asked_for() -> None:
    program, reads = cernis.load(RULES), []

    def read() -> Records:
        reads.append(1)
        return program.records("up|1|1|a\n")

    origin = run_origin(program.plan, read, Settings(), (0, 5))
    assert reads == []
    assert origin.causes is not None
    assert origin.explain is not None
    causes = origin.causes(list(program.run("up|1|1|a\n").answer.fluents.items()), {})
    assert causes.begin_records.tolist() == [1]
    assert "record" in origin.explain("on(a)=true", 3)
    assert reads == [1]


def test_events_that_are_gone_have_no_causes(tmp_path: Path) -> None:
    program = cernis.load(RULES)
    with pytest.raises(CernisError, match="can be read only once"):
        readable(program.records([]), (0, 5))
    result = program.run(each for each in [("up", 1, 1, "a")])
    page = result.report(tmp_path / "page.html")
    assert page.exists()
    with pytest.raises(CernisError, match="can be read only once"):
        result.report(page, causes=True)
