"""Background rules over domains that grow: they see the members as of each query."""

from __future__ import annotations

from pathlib import Path

import pytest

import cernis
from cernis.runtime.session import Session
from tests.reference.cases import read_case

FOLDER = Path(__file__).parents[1] / "cases"
NAMES = (
    "domain_in_background", "domains_in_rules", "domains_in_recursive_rules",
    "domains_in_rules_windows",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("incremental", [True, False], ids=["incremental", "scratch"])
@pytest.mark.parametrize("late", [False, True], ids=["on time", "late"])
def test_sessions_see_the_members_as_of_the_query(incremental: bool, late: bool, name: str) -> None:
    case = read_case(FOLDER / name)
    program = cernis.load(case.folder / "rules.cer")
    session = Session(program.plan, 60, 1, 0, incremental=incremental)
    lines = (case.folder / "events.txt").read_text().splitlines()
    for time, line in enumerate(reversed(lines) if late else lines, 31 if late else 1):
        session.insert(line + "\n")
        session.query(time)
    session.query(50)
    expected = program.run("\n".join([*lines, ""]), start=0, end=50)
    assert session.intervals().to_pylist() == expected.intervals.to_pylist()
