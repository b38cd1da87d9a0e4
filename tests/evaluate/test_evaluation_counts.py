"""How often rules are evaluated: no point twice in one query, walks through cycles included."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import cernis
from cernis.evaluate.run import Run
from cernis.operators.context.measuring import Profile
from cernis.plan import Plan
from cernis.plan.logical import Scan, Stratum, parts_of

EXAMPLES = Path(__file__).parents[2] / "examples"


def counted(name: str, events: int, windows: int) -> tuple[Plan, Profile, int]:
    """The plan of an application, what was counted, and in how many queries."""
    generator = import_module(f"examples.{name}.generate")
    rules = (EXAMPLES / name / "rules.cer").read_text("utf-8")
    plan = cernis.load(rules + generator.facts(40)).plan
    tables = generator.generate(events, 40, 3)
    profile = Profile()
    last = max(int(table["occurrence"].to_numpy().max()) for table in tables.values())
    answer = Run(plan, profile=profile).over(tables, window=last // windows + 1, start=0)
    return plan, profile, answer.queries


def scans(stratum: Stratum) -> list[Scan]:
    return [part for part in parts_of(stratum.definitions) if isinstance(part, Scan)]


@pytest.mark.parametrize("windows", [1, 4])
@pytest.mark.parametrize("name", ["netbill", "voting", "feedback"])
def test_no_point_is_evaluated_twice(name: str, windows: int) -> None:
    plan, profile, queries = counted(name, 3000, windows)
    assert queries == windows
    strata = [stratum for stage in plan.stages for stratum in stage.strata]
    found = [profile.scans[id(scan)] for own in strata for scan in scans(own)
             if id(scan) in profile.scans]  # fmt: skip
    # What a cycle drives itself is decided in the walk, and is not scanned.
    acyclic = [scan for own in strata if not own.immediate for scan in scans(own)]
    assert all(id(scan) in profile.scans for scan in acyclic)
    assert {own.times for own in found} == {queries}
    assert sum(own.points for own in found) > 3000


def test_each_record_of_a_walk_is_decided_once() -> None:
    _, profile, _ = counted("voting", 3000, 1)
    (walk,) = [cost for (operator, _), cost in profile.costs.items() if operator[:4] == "Walk"]
    # No rule of the status of motions is driven by another: all records come from input.
    assert walk.calls == 1
    assert walk.rows_in == walk.rows_out > 0
