"""The steps of a job without Spark: the same functions, with an exchange that is a dictionary."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from cernis.answers.result import Summary, as_text
from cernis.check.catalogue import Catalogue
from cernis.evaluate.answer import Answer
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.plan.properties.foreign_domains import foreign_domains
from cernis.program import Program
from cernis.records.gathering import Gathering
from cernis.records.record_columns import Records
from cernis.records.text_records import read_stream
from cernis.session.settings import Settings
from cernis.spark.batch.batch_stage import evaluate
from cernis.spark.batch.spark_results import summary_of
from cernis.spark.exchange.batch_job import Job, job_of
from cernis.spark.exchange.blobs import loads
from cernis.spark.exchange.buckets import Spread
from cernis.spark.exchange.exchange_rows import LAST, SCHEMA, Kind, batches
from cernis.spark.exchange.pack import pack, pack_links
from cernis.spark.exchange.packed_answers import answer_of
from cernis.spark.exchange.record_places import Places, sources_of
from cernis.spark.input.survey import survey_step, together, with_components

Batches = list[pa.RecordBatch]


@dataclass(frozen=True)
class Outcome:
    text: str
    summary: Summary
    answer: Answer


def exchange(rows: Batches, buckets: int, random: Random, sort: bool = False) -> list[Batches]:
    """The rows of each bucket, in any order, or sorted by time."""
    table = pa.Table.from_batches(rows, SCHEMA)
    order = list(range(len(table)))
    random.shuffle(order)
    table = table.take(pa.array(order, pa.int64()))
    table = table.sort_by("since") if sort else table
    where = np.array(table.column("bucket"))
    return [
        table.filter(pa.array(where == bucket)).combine_chunks().to_batches()
        for bucket in range(buckets)
    ]


def parts_of(lines: Sequence[str], count: int, job: Job) -> list[Records]:
    """Lines as the records of several splits."""
    size = -(-len(lines) // count) or 1
    found = []
    for number in range(count):
        text = "\n".join(lines[number * size : (number + 1) * size])
        places = sources_of(number, "events", number * size)
        gathering = Gathering(job.loaded.shapes, places, uncertain=job.may_be_uncertain)
        read_stream(io.BytesIO(text.encode()), "events", gathering)
        found.append(gathering.unresolved())
    return found


def run(
    program: Program, lines: Sequence[str], settings: Settings, buckets: int, splits: int = 2,
    seed: int = 0, at_once: int | None = None,
    spreads: Mapping[int, Spread] | None = None, likely: UncertainSettings | None = None,
) -> Outcome:  # fmt: skip
    """The answer that the steps of a job give."""
    job = job_of(program.plan, settings, buckets, at_once, likely)
    return run_job(replace(job, spreads=spreads or {}), lines, splits, seed)


def run_job(job: Job, lines: Sequence[str], splits: int = 2, seed: int = 0) -> Outcome:
    """The answer that the steps of a job give to lines of text."""
    size = -(-len(lines) // splits) or 1
    places = Places(names=lambda split: ("events", split * size))
    return run_parts(job, parts_of(lines, splits, job), places, seed)


def run_parts(job: Job, parts: list[Records], places: Places, seed: int = 0) -> Outcome:
    """The answer that the steps of a job give to records of several splits."""
    random, buckets = Random(seed), job.buckets
    job = linked(surveyed(job, parts, random), parts)
    rows = packed(parts, job, True)
    for step in job.loaded.plan.routes.steps:
        arrived = exchange(rows, buckets, random, job.at_once is not None)
        rows = [
            batch
            for bucket in range(buckets)
            for batch in evaluate(arrived[bucket], job, step, places)
        ]
    return outcome(rows, job.loaded.plan.checked.catalogue)


def packed(parts: Iterable[Records], job: Job, home: bool) -> Batches:
    return [batch for part in parts for batch in batches(pack(part, job, home))]


def surveyed(job: Job, parts: list[Records], random: Random) -> Job:
    keys = foreign_domains(job.loaded.plan, job.loaded.plan.routes)
    retracts = any(part.retracts is not None for own in parts for part in own.relations.values())
    if not keys and not retracts:
        return job

    def found(job: Job) -> Any:
        arrived = exchange(packed(parts, job, False), job.buckets, random)
        rows = [row for own in arrived for row in survey_step(own, job)]
        return together((loads(blob) for row in rows for blob in row["blob"].to_pylist()), keys)

    job = replace(job, survey=found(job)[0])
    return replace(job, members=found(job)[1]) if keys else job


def linked(job: Job, parts: list[Records]) -> Job:
    if job.buckets == 1 or not job.loaded.plan.routes.linked:
        return job
    rows = [row for part in parts for row in pack_links(part, job)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return with_components(job, ((row.step, row.content) for row in rows))


def outcome(rows: Batches, catalogue: Catalogue) -> Outcome:
    answers, reports = [], []
    for row in pa.Table.from_batches(rows, SCHEMA).to_pylist():
        assert row["step"] == LAST
        (answers if row["kind"] == Kind.ANSWER else reports).append(loads(row["blob"]))
    answer = answer_of(answers)
    return Outcome(as_text(answer), summary_of(reports, catalogue), answer)


Runner = Callable[[Program, Sequence[str], Settings], str]
