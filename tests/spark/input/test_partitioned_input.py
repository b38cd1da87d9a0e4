"""Input that is partitioned by entity gives the same answers, without an exchange of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cernis
from cernis.errors import DataError
from cernis.plan.properties.foreign_domains import foreign_domains
from cernis.program import Program
from cernis.records.record_columns import Records, cell
from cernis.session.settings import Settings
from cernis.spark import recognise
from cernis.spark.batch.batch_stage import evaluate
from cernis.spark.exchange.batch_job import Job, job_of
from cernis.spark.exchange.blobs import loads
from cernis.spark.exchange.pack import arguments_at
from cernis.spark.exchange.record_places import Places
from cernis.spark.input.partition_layout import declared_layout, proven_layout
from cernis.spark.input.partitioned_input import (
    can_be_partitioned,
    evaluated_part,
    forward,
    look_at,
    put_together,
)
from cernis.spark.input.splits import splits_of
from cernis.spark.task_times import TaskTimes
from tests.spark.batch.without_spark import Batches, Outcome, exchange, linked, outcome, parts_of
from tests.spark.keyed import PROGRAMS, settings, stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def parted(records: Records, job: Job, count: int, random: Random) -> list[Records]:
    """Records in parts: what is at home at the first step by its key, the rest anywhere."""
    routes = job.loaded.plan.routes
    where: dict[Any, int] = {}
    found = [Records(set_aside=records.set_aside if not at else []) for at in range(count)]
    found[0].ignored, found[0].count = records.ignored, records.count
    for form, part in records.relations.items():
        home = routes.homes.get(form.relation)
        chosen = np.array([random.randrange(count) for _ in range(len(part))], np.int64)
        if home is not None and home.step == routes.steps[0]:
            columns = arguments_at(part, home.links[0])
            for row in range(len(part)):
                # Numbers that are equal are one entity, whatever they are written as.
                values = (cell(column, row) for column in columns)
                key = tuple(float(v) if isinstance(v, int) else v for v in values)
                chosen[row] = where.setdefault(key, random.randrange(count))
        for at, own in enumerate(found):
            rows = np.flatnonzero(chosen == at)
            if len(rows):
                own.relations[form] = part.take(rows)
    return found


def run(program: Program, lines: list[str], chosen: Settings, random: Random) -> Outcome | None:
    """What the steps give if the input lies in parts; None if it cannot."""
    job = job_of(program.plan, chosen, random.randint(1, 4))
    if not can_be_partitioned(job) or foreign_domains(program.plan, job.loaded.plan.routes):
        return None
    (records,) = parts_of(lines, 1, job)
    parts = parted(records, job, random.randint(1, 4), random)
    looks = [row for at, own in enumerate(parts) for row in look_at(own, at, job)]
    survey, held = put_together((loads(b) for row in looks for b in row["blob"].to_pylist()), [])
    if not len(held.hashes):
        return None
    job = linked(replace(job, survey=survey), parts)
    places = Places(names=lambda split: ("events", 0))
    rows: Batches = [
        row for own in parts for row in evaluated_part(own, job, held, places, TaskTimes())
    ]
    for number in job.loaded.plan.routes.steps[1:]:
        if number == job.loaded.plan.routes.steps[1]:
            arrived = exchange(rows, job.buckets, random)
            rows = [row for own in arrived for row in forward(own, job)]
        arrived = exchange(rows, job.buckets, random)
        rows = [row for own in arrived for row in evaluate(own, job, number, places)]
    return outcome(rows, program.checked.catalogue)


@pytest.mark.parametrize("name", PROGRAMS)
def test_parts_change_no_answer(name: str) -> None:
    program = cernis.load(PROGRAMS[name].rules)
    for seed in range(10):
        random = Random(f"{name} {seed}")
        lines = stream(PROGRAMS[name], random, random.randint(1, 60))
        chosen = settings(random)
        found = run(program, lines, Settings(**chosen), random)
        if found is None:
            continue
        expected = program.run("\n".join(lines) + "\n", **chosen)  # type: ignore[arg-type]
        assert found.text == expected.text(), f"seed {name} {seed}\n" + "\n".join(lines)
        for each in ("records", "used", "outside", "start", "end", "queries"):
            one, other = getattr(found.summary, each), getattr(expected.summary, each)
            assert one == other, f"seed {name} {seed}, {each}"


def test_most_programs_can_be_partitioned() -> None:
    able = {
        name
        for name, keyed in PROGRAMS.items()
        if can_be_partitioned(job_of(cernis.load(keyed.rules).plan, Settings(), 4))
    }
    assert {"one", "pairs", "initially", "changes", "numbers"} <= able


# -- files -------------------------------------------------------------------------------------


RULES = PROGRAMS["pairs"].rules


def write(folder: Path, parts: int, overlap: bool = False) -> None:
    """Winners and losers by number, each part in a folder; who is near whom, in another."""
    for part in range(parts):
        own = np.arange(part * 10, part * 10 + (11 if overlap else 10))
        (folder / f"part-{part}").mkdir(parents=True)
        for shift, name in ((1, "win"), (30, "lose")):
            table = pa.table({"occurrence": own % 7 + shift, "X": own})
            pq.write_table(table, folder / f"part-{part}" / f"{name}.parquet")
    near = np.arange(parts * 10 - 1)
    (folder / "pairs").mkdir()
    times = {"start": near % 5 + 2, "end": near % 5 + 20, "value": ["true"] * len(near)}
    table = pa.table({**times, "X": near, "Y": near[::-1].copy()})
    pq.write_table(table, folder / "pairs" / "near.parquet")


def test_statistics_prove_parts(tmp_path: Path) -> None:
    write(tmp_path / "apart", 5)
    write(tmp_path / "not", 5, overlap=True)
    job = job_of(cernis.load(RULES).plan, Settings(), 3)
    layout = proven_layout(splits_of(sorted((tmp_path / "apart").rglob("*.parquet")), None)[0], job)
    assert layout is not None
    assert len(layout.parts) == 3
    assert sorted(at for part in layout.parts for at in part) == list(range(11))
    assert (
        proven_layout(splits_of(sorted((tmp_path / "not").rglob("*.parquet")), None)[0], job)
        is None
    )


def test_what_may_retract_is_not_partitioned(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("win|1|1|a\n")
    splits, _ = splits_of([tmp_path / "a.txt"], None)
    job = job_of(cernis.load(RULES).plan, Settings(), 3)
    with pytest.raises(DataError, match="must be Parquet without a column retracts"):
        declared_layout(splits, job)


def test_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "apart", 5)
    program = cernis.load(RULES)
    files = sorted((tmp_path / "apart").rglob("*.parquet"))
    expected = program.run(files)
    said = recognise(program, tmp_path / "apart", partitioned=True, spark=spark)
    proved = recognise(program, tmp_path / "apart", partitions=3, spark=spark)
    assert said._computation.exchanges == proved._computation.exchanges == 2
    assert said.collect().text() == proved.collect().text() == expected.text()
    frame = spark.createDataFrame(
        [("win", 3, n) for n in range(20)] + [("lose", 9, n) for n in range(20)],
        "name string, occurrence bigint, X bigint",
    )
    one = cernis.load(PROGRAMS["one"].rules)
    lies = recognise(one, frame.repartition(4, "X"), partitioned=True)
    assert lies._computation.exchanges == 0
    assert lies.collect().text() == recognise(one, frame).collect().text()


def test_an_entity_in_two_parts_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "not", 3, overlap=True)
    with pytest.raises(DataError, match=r"10 is in .*part-\d.* and in .*part-\d.*must have"):
        recognise(RULES, tmp_path / "not", partitioned=True, spark=spark)
    frame = spark.range(0, 8, 1, 4).selectExpr("'win' as name", "id as occurrence", "id % 2 as X")
    with pytest.raises(DataError, match="[01] is in partition 0 and in partition"):
        recognise(PROGRAMS["one"].rules, frame, partitioned=True)
