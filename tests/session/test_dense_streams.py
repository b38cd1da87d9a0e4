"""Sessions over dense streams of the applications: many events an entity, many of them late."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import cernis
from cernis.program import Program
from cernis.session.session import Session
from examples.fleet import generate as fleet
from examples.maritime import generate as maritime
from tests.session.feeds import Sum

ROOT = Path(__file__).parents[2]
STEPS, QUERIES = 6, 12


def _program(name: str, facts: str, folder: Path) -> Program:
    file = folder / "facts.cer"
    file.write_text(facts, "utf-8")
    return cernis.load(ROOT / "examples" / name / "rules.cer", [file])


def _batches(
    tables: dict[str, pa.Table], late: float, rng: np.random.Generator
) -> tuple[int, list[dict[str, pa.Table]]]:
    """Records by the query that they arrive for; a share comes several steps late."""
    times = {name: _times(table) for name, table in tables.items() if len(table)}
    step = -(-max(int(own.max()) for own in times.values()) // QUERIES)
    arrivals = {
        name: -(-own // step) + np.where(rng.random(len(own)) < late, rng.integers(1, 9), 0)
        for name, own in times.items()
    }
    return step, [
        {
            name: tables[name].filter(pa.array(own == number)).drop_columns(["arrival"])
            for name, own in arrivals.items()
            if (own == number).any()
        }
        for number in range(1, QUERIES + 1)
    ]


def _times(table: pa.Table) -> np.ndarray:
    return table["occurrence" if "occurrence" in table.column_names else "start"].to_numpy()


@pytest.mark.parametrize("late", [0.0, 0.05, 0.4])
@pytest.mark.parametrize("name", ["maritime", "fleet"])
def test_what_is_walked_is_from_scratch(name: str, late: float, tmp_path: Path) -> None:
    seed = 11
    module = maritime if name == "maritime" else fleet
    program = _program(name, module.facts(25), tmp_path)
    rng = np.random.default_rng(seed)
    step, batches = _batches(module.generate(8_000, 25, seed), late, rng)
    sessions = [
        Session(program.plan, step * STEPS, step, 0, incremental=way) for way in (None, False)
    ]
    sums = Sum(), Sum()
    taken_back = dict[str, pa.Table]()
    for number, batch in enumerate(batches, 1):
        for session, own in zip(sessions, sums, strict=True):
            session.insert(batch)
            session.retract(taken_back)
            feed = session.query(step * number)
            own.add(feed.table(), feed.happenings())
        assert sums[0].rows == sums[1].rows, f"seed {seed}, query {number}"
        taken_back = {key: table.slice(0, len(table) // 50) for key, table in batch.items()}
    assert sessions[0].may_walk
    assert not sessions[1].may_walk
    assert len(sums[0].rows) > 100
