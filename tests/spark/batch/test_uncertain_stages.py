"""Uncertain records in stages: what buckets find together is what the process finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import cernis
from cernis.answers.uncertain_result import UncertainResult
from cernis.evaluate.probabilities.uncertain_settings import uncertain_settings
from cernis.program import Program
from cernis.records.record_sources import read_unresolved
from cernis.session.recognise import chosen_bounds
from cernis.session.settings import settings
from cernis.session.uncertain_windows import relations_in
from cernis.spark.batch.uncertain_job import UncertainJob
from cernis.spark.batch.uncertain_parts import LAST, SCHEMA, batch_of, row, united
from cernis.spark.exchange.blobs import loads, packed_records
from examples.maritime.simulate import simulate
from examples.maritime.uncertain import days_in_turn
from tests.cli.command import MARITIME
from tests.spark.keyed import PROGRAMS, stream

NAMES = ("one", "pairs", "only pairs", "open head", "conflicts", "derived driver", "points")
SPREAD = {*NAMES} - {"derived driver"}
"""Of the other a later stage would have to know a formula."""


def doubted(line: str, every: bool = False) -> str:
    """A record with a probability, the same for what takes it back."""
    name, _, *rest = line.split("|")
    number = crc32("|".join([name.lstrip("-"), *rest]).encode()) % 4
    return f"{(0.3, 0.7, 0.9, 0.5 if every else 1.0)[number]}::{line}"


def job_of(program: Program, lines: Sequence[str], buckets: int, **more: Any) -> Any:
    """The job of some records, as it is when readers have told of them; and its first rows."""
    records = read_unresolved("\n".join(lines) + "\n", program.checked, uncertain=True)
    likely = uncertain_settings(**more).with_more(relations_in(records))
    job = UncertainJob(program.plan, settings(), likely, buckets)
    resolved = program.run_uncertain("\n".join(lines) + "\n").summary
    bounds = chosen_bounds(None, None, settings(start=resolved.start, end=resolved.end), job.tick)
    parts = [packed_records(part) for part in records.relations.values()]
    return replace(job, bounds=bounds), batch_of([row(0, 0, content=parts)])


def by_hand(job: UncertainJob, first: pa.RecordBatch) -> UncertainResult:
    """All steps, with the exchanges done by hand."""
    rows = list(job.addressing()(iter([first])))
    rows.append(batch_of(row(b, step) for step in job.steps for b in range(job.buckets)))
    for step in job.steps:
        table = pa.Table.from_batches(rows, SCHEMA)
        rows = [
            out
            for bucket in range(job.buckets)
            for out in job.evaluation(step)(
                iter(table.filter(pc.equal(table["bucket"], bucket)).to_batches())
            )
        ]
    table = pa.Table.from_batches(rows, SCHEMA)
    assert set(table["step"].to_pylist()) == {LAST}
    answer = united([loads(blob.as_buffer()) for blob in table["blob"]])
    return UncertainResult(answer, job.plan.checked.catalogue, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_stages_and_buckets_make_no_difference(name: str, seed: int) -> None:
    print(f"seed {seed}")
    random = Random(f"{name} {seed}")
    program = cernis.load(PROGRAMS[name].rules)
    lines = [doubted(line) for line in stream(PROGRAMS[name], random, 60, retractions=seed == 2)]
    whole = program.run_uncertain("\n".join(lines) + "\n", memory=4)
    job, first = job_of(program, lines, 3, memory=4)
    if not job.can_be_spread():
        job = replace(job, buckets=1)
    found = by_hand(job, first)
    assert found.probability_text() == whole.probability_text()
    assert found.text() == whole.text()


@pytest.mark.parametrize("name", NAMES)
def test_what_can_be_spread(name: str) -> None:
    program = cernis.load(PROGRAMS[name].rules)
    lines = [doubted(line, True) for line in stream(PROGRAMS[name], Random(1), 60)]
    job, _ = job_of(program, lines, 3)
    assert job.can_be_spread() == (name in SPREAD)
    assert not replace(job, settings=settings(9, 3)).can_be_spread() or len(job.steps) == 1


def test_vessels_and_pairs() -> None:
    """Rendez-vous and tugging: speeds by vessel, then pairs of vessels."""
    day = simulate(8, 1)
    with TemporaryDirectory() as folder:
        facts = Path(folder) / "facts.cer"
        facts.write_text(day.facts, "utf-8")
        program = cernis.load(MARITIME / "uncertain.cer", [facts])
    tables = days_in_turn([day], 10_000.0)
    records = read_unresolved(tables, program.checked, uncertain=True)
    whole = program.run_uncertain(tables)
    likely = uncertain_settings().with_more(relations_in(records))
    ends = (whole.summary.start, whole.summary.end)
    job = UncertainJob(program.plan, settings(), likely, 3, ends)
    assert len(job.steps) == 2
    assert job.can_be_spread()
    parts = [packed_records(part) for part in records.relations.values()]
    found = by_hand(job, batch_of([row(0, 0, content=parts)]))
    assert found.text() == whole.text()
    assert "holdsFor(rendezVous(" in found.text()
