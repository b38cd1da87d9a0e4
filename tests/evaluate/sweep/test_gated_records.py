"""Records that count at points at which another lane lets them: kept by point, and in programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest

import cernis
from cernis.evaluate.sweep.gated_records import OpenGates, places_of, sorted_points
from cernis.evaluate.sweep.sweep_then_columns import SweepThenColumns
from cernis.session.session import Session
from tests.agreement.compare import Scenario, by_reference
from tests.evaluate.sweep.test_sweep_then_columns import answers
from tests.plan.sweep.family_programs import family_program, family_record
from tests.session.test_walked_sessions import feed

DECLARED = """
:- event([propose(agent:text, committee:text, motion:integer),
          second(agent:text, committee:text, motion:integer),
          close(agent:text, committee:text, motion:integer),
          vote(agent:text, committee:text, motion:integer, vote:text)]).
"""


def points(random: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    keys, times = random.integers(0, 5, count), random.integers(0, 9, count)
    order = sorted_points(keys, times)
    return keys[order], times[order]


@pytest.mark.parametrize("seed", range(20))
def test_places_of_points(seed: int) -> None:
    random = np.random.default_rng(seed)
    keys, times = points(random, int(random.integers(0, 30)))
    wanted, wanted_times = points(random, 12)
    known = list(zip(keys.tolist(), times.tolist(), strict=True))
    asked = list(zip(wanted.tolist(), wanted_times.tolist(), strict=True))
    before = [sum(point < each for point in known) for each in asked]
    after = [sum(point <= each for point in known) for each in asked]
    assert places_of(keys, times, wanted, wanted_times, is_after=False).tolist() == before
    assert places_of(keys, times, wanted, wanted_times, is_after=True).tolist() == after


@pytest.mark.parametrize("seed", range(20))
def test_gates_open_and_close(seed: int) -> None:
    random, gates = np.random.default_rng(seed), OpenGates()
    expected: Counter[tuple[int, int]] = Counter()
    for _ in range(6):
        points_now = sorted({(int(k), int(t)) for k, t in zip(*points(random, 6), strict=True)})
        flipped = random.integers(1, 4, len(points_now)).astype(np.uint64)
        keys, times = (np.array(column) for column in zip(*points_now, strict=True))
        gates.change(keys, times, flipped)
        for point, mask in zip(points_now, flipped.tolist(), strict=True):
            expected[point] ^= mask
        edge = int(random.integers(-1, 3))
        gates.forget(edge)
        expected = Counter({p: m for p, m in expected.items() if m and p[1] > edge})
        grid = [(key, time) for key in range(5) for time in range(9)]
        columns = [np.array(column) for column in zip(*grid, strict=True)]
        assert gates.at_points(*columns).tolist() == [expected[point] for point in grid]
        assert len(gates.keys) == len(expected)


def stream(
    seed: int, count: int = 70, record_at: Callable[[Random, int], str] = family_record
) -> list[str]:
    """Records of which some arrive late, come twice, or are taken back."""
    random, lines = Random(seed), []
    for _ in range(count):
        name, time, rest = record_at(random, random.randint(1, 60)).split("|", 2)
        arrival = int(time) + random.choice([0, 0, 0, 3, 20])
        lines.append(f"{name}|{arrival}|{time}|{rest}")
        chance = random.random()
        if chance < 0.15:
            lines.append(f"-{name}|{arrival + 10}|{time}|{rest}")
        elif chance < 0.25:
            lines.append(f"{name}|{arrival + 5}|{time}|{rest}")
    return lines


@pytest.mark.parametrize("seed", range(24))
def test_runs_are_those_of_columns_and_of_the_reference(seed: int) -> None:
    random = Random(seed)
    ties = random.choice(["break", "initiation"])
    rules = f":- ties({ties}).\n{DECLARED}{family_program(seed)}"
    window, step = random.choice([(None, None), (30, 10), (20, 20), (10, 15)])
    plan = cernis.load(rules).plan
    lines = stream(seed)
    walked, by_columns = answers(plan, "\n".join(lines) + "\n", window, step)
    assert walked == by_columns, f"seed {seed}"
    settings = {} if window is None else {"window": window, "step": step}
    scenario = Scenario((rules,), tuple(lines), settings)  # type: ignore[arg-type]
    assert walked[-1] == by_reference(scenario).text(), f"seed {seed}"


def test_programs_of_the_tests_have_gates() -> None:
    plans = [cernis.load(DECLARED + family_program(seed)).plan for seed in range(24)]
    assert sum(plan.has_gates for plan in plans) > 18
    assert sum(plan.is_swept for plan in plans) > 12


def batches(
    seed: int, queries: list[int], record_at: Callable[[Random, int], str] = family_record
) -> list[tuple[list[str], list[str]]]:
    """For each query the records that come before it, and those that are taken back."""
    random, known = Random(seed), []
    out = []
    for query in queries:
        come, gone = [], []
        for _ in range(random.randint(0, 25)):
            late = random.choice([0, 0, 8, 25])
            time = max(1, query - late - random.randint(0, 10))
            name, _, rest = record_at(random, time).split("|", 2)
            come.append(f"{name}|{time}|{time}|{rest}")
        for record in list(known):
            if random.random() < 0.05:
                known.remove(record)
                gone.append(record)
        known += come
        out.append((come, gone))
    return out


@pytest.mark.parametrize("seed", range(24))
def test_feeds_are_those_of_columns(seed: int, tmp_path: Path) -> None:
    """One of the walked sessions is saved and restored after each query."""
    random = Random(seed)
    ties, policy = random.choice(["break", "initiation"]), random.choice(["early", "final"])
    window, step = random.choice([(None, 10), (30, 10), (20, 20), (10, 15)])
    program = cernis.load(f":- ties({ties}).\n{DECLARED}{family_program(seed)}")
    walked, restored, columns = (
        Session(program.plan, window, step, 0, policy=policy, incremental=incremental)
        for incremental in (None, None, False)
    )
    is_walked = isinstance(walked.evaluator, SweepThenColumns)
    has_one_value = ties == "break" or not program.plan.has_registers
    assert is_walked == (program.plan.is_swept and has_one_value)
    queries = list(range(step, 9 * step, step))
    for query, (come, gone) in zip(queries, batches(seed, queries), strict=True):
        expected = feed(columns, query, come, gone)
        assert feed(walked, query, come, gone) == expected, f"seed {seed}, query {query}"
        assert feed(restored, query, come, gone) == expected, f"seed {seed}, restored, {query}"
        restored.save(tmp_path / "session")
        restored = program.restore(tmp_path / "session")
