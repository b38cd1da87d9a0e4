"""Background rules over domains that grow: they see the members as of each query."""

from __future__ import annotations

from pathlib import Path

import pytest

import cernis
from cernis.session.session import Session
from tests.agreement.compare import Scenario, by_engine
from tests.reference.cases import read_case
from tests.session import feeds

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


PEOPLE = (
    "dynamicDomain(person(_)).",
    "grounding(paint(P)) :- person(P).",
)
WHOLE_KEY = (
    "happensAt(held, T) :- happensAt(startI(grip(P, N)=true), T).",
    "grounding(let_go(P)=true) :- person(P).",
    "initiatedAt(let_go(P)=true, T) :- happensAt(endI(grip(P, N)=true), T).",
    "terminatedAt(let_go(P)=true, T) :- happensAt(startI(let_go(P)=true), T).",
)
PART_OF_A_KEY = (
    "initiatedAt(met(P, Q)=true, T) :- happensAt(meet(P, Q), T).",
    "happensAt(first(P), T) :- happensAt(start(met(P, _)=true), T).",
    "happensAt(second(Q), T) :- happensAt(start(met(_, Q)=true), T).",
    "grounding(pair(P, Q)=true) :- person(P), person(Q).",
    "initiatedAt(pair(P, Q)=true, T) :- "
    "happensAt(meet(P, Q), T), happensAt(first(P), T), happensAt(second(Q), T).",
)


@pytest.mark.parametrize("incremental", [True, False], ids=["incremental", "scratch"])
@pytest.mark.parametrize("rules", [WHOLE_KEY, PART_OF_A_KEY], ids=["whole key", "part of a key"])
def test_new_members_are_about_what_was_there_before(
    incremental: bool, rules: tuple[str, ...]
) -> None:
    """Also of keys that grounding has kept from coming up so far."""
    lines = (
        "grip|5|5|true|ann|2", "meet|5|5|ann|bob", "meet|15|15|bob|cat",
        "paint|25|25|ann", "paint|35|35|bob", "paint|45|45|cat",
    )  # fmt: skip
    scenario = Scenario((*PEOPLE, *rules), lines, {"step": 10, "start": 0, "end": 60})
    program = cernis.load(scenario.rules)
    result = by_engine(scenario, program, per_query=True)
    assert result.intervals.num_rows
    assert feeds.difference(scenario, program, result, incremental) == ""
