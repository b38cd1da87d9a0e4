"""Points that other lanes send, with counts: what runs and sessions make of them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.evaluate.sweep.sweep_then_columns import SweepThenColumns
from cernis.session.session import Session
from tests.agreement.compare import Scenario, by_reference
from tests.evaluate.sweep.test_gated_records import DECLARED, batches, stream
from tests.evaluate.sweep.test_sweep_then_columns import answers
from tests.plan.sweep.member_programs import counting_program, member_program, member_record
from tests.session.test_walked_sessions import feed

PROGRAMS = {"members": member_program, "counts": counting_program}
SEEDS = [(kind, seed) for kind in PROGRAMS for seed in range(6)]


def rules_of(kind: str, seed: int) -> str:
    return DECLARED + PROGRAMS[kind](seed)


@pytest.mark.parametrize(("kind", "seed"), SEEDS)
def test_runs_are_those_of_columns_and_of_the_reference(kind: str, seed: int) -> None:
    rules = rules_of(kind, seed)
    window, step = Random(seed).choice([(None, None), (30, 10), (20, 20), (10, 15)])
    plan = cernis.load(rules).plan
    lines = stream(seed, 90, member_record)
    walked, by_columns = answers(plan, "\n".join(lines) + "\n", window, step)
    assert walked == by_columns, f"{kind}, seed {seed}"
    settings = {} if window is None else {"window": window, "step": step}
    scenario = Scenario((rules,), tuple(lines), settings)  # type: ignore[arg-type]
    assert walked[-1] == by_reference(scenario).text(), f"{kind}, seed {seed}"


def test_programs_of_the_tests_are_walked() -> None:
    plans = [cernis.load(rules_of(kind, seed)).plan for kind, seed in SEEDS]
    assert sum(plan.is_swept for plan in plans) > 4
    assert sum(any(lane.head_members for lane in plan.lanes) for plan in plans) > 4
    sent = [each for plan in plans for lane in plan.lanes for each in lane.sent]
    assert sum(each.members is not None for each in sent) > 1
    assert len(sent) > 10


@pytest.mark.parametrize(("kind", "seed"), SEEDS)
def test_feeds_are_those_of_columns(kind: str, seed: int, tmp_path: Path) -> None:
    """One of the walked sessions is saved and restored after each query."""
    random = Random(seed)
    policy = random.choice(["early", "final", "partial"])
    window, step = random.choice([(None, 10), (30, 10), (20, 20), (10, 15)])
    program = cernis.load(rules_of(kind, seed))
    walked, restored, columns = (
        Session(program.plan, window, step, 0, policy=policy, incremental=incremental)
        for incremental in (None, None, False)
    )
    assert isinstance(walked.evaluator, SweepThenColumns) == program.plan.is_swept
    queries = list(range(step, 9 * step, step))
    given = batches(seed, queries, member_record)
    for query, (come, gone) in zip(queries, given, strict=True):
        expected = feed(columns, query, come, gone)
        assert feed(walked, query, come, gone) == expected, f"{kind}, seed {seed}, {query}"
        assert feed(restored, query, come, gone) == expected, f"restored, {seed}, {query}"
        restored.save(tmp_path / "session")
        restored = program.restore(tmp_path / "session")
