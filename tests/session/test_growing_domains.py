"""Background rules over domains that grow: they see the members as of each query."""

from __future__ import annotations

from pathlib import Path

import pytest

import cernis
from cernis.session.session import Session
from tests.agreement.compare import Scenario, by_engine, difference
from tests.generators.streams import Settings
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


LATE_RETRACTION = (
    ("grounding(there(P)=true) :- person(P).",
     "initiatedAt(there(P)=true, T) :- happensAt(enter(P), T)."),
    ("paint|6|6|ann", "-paint|14|6|ann", "enter|15|15|ann"),
    {"window": 4},
)  # fmt: skip
"""When the retraction arrives, the window has passed what it takes back: ann stays a member."""

HELD_INITIALLY = (
    ("initially(at_home(P)=true) :- person(P).",
     "initiatedAt(out(P)=true, T) :- happensAt(leave(P), T), holdsAt(at_home(P)=true, T)."),
    ("paint|12|12|ann", "leave|13|13|ann", "-paint|17|12|ann"),
    {"step": 5},
)  # fmt: skip
"""A member that has left held nothing initially, either."""


@pytest.mark.parametrize("incremental", [True, False, None], ids=["incremental", "scratch", "any"])
@pytest.mark.parametrize(
    "scenario_parts", [LATE_RETRACTION, HELD_INITIALLY], ids=["late retraction", "held initially"]
)
def test_members_leave_when_their_records_are_retracted_in_time(
    incremental: bool | None, scenario_parts: tuple[tuple[str, ...], tuple[str, ...], Settings]
) -> None:
    rules, lines, settings = scenario_parts
    scenario = Scenario((*PEOPLE, *rules), lines, {**settings, "start": 0, "end": 30})
    program = cernis.load(scenario.rules)
    assert difference(scenario, program) == ""
    result = by_engine(scenario, program, per_query=True)
    assert feeds.difference(scenario, program, result, incremental, is_restored=True) == ""
