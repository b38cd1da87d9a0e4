"""Small input in one task: it is read and evaluated as in a single process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from cernis.evaluate.run import Run
from cernis.evaluate.windows import windows
from cernis.records.mapping import Mappings
from cernis.records.record_columns import Records
from cernis.session.recognise import account, bounds
from cernis.spark.batch.answer_rows import answer_row
from cernis.spark.exchange.batch_job import Job
from cernis.spark.exchange.exchange_rows import LAST, Kind, Row, batches
from cernis.spark.exchange.pack import report_of
from cernis.spark.input.resolved_records import enter
from cernis.spark.input.splits import Split, places_of, read_together
from cernis.spark.task_times import TaskTimes


def whole(splits: Sequence[Split], mappings: Mappings, job: Job) -> Iterator[pa.RecordBatch]:
    """The answer to all splits, and the report on them."""
    clock = TaskTimes()
    yield from clock.over("evaluating", batches(_rows(splits, mappings, job, clock)))
    yield from batches([clock.row()])


def _rows(splits: Sequence[Split], mappings: Mappings, job: Job, clock: TaskTimes) -> Iterator[Row]:
    with clock.spent_on("reading"):
        records = read_together(
            splits, range(len(splits)), job.loaded.shapes, mappings, job.may_be_uncertain
        )
    job.tell_read(records.count)
    yield Row(0, LAST, Kind.REPORT, report_of(records, job))
    resolved = Records(sources=places_of(splits))
    for part in records.relations.values():
        enter([part], resolved, job)
    settings = job.settings
    run = Run(job.loaded.plan, settings.tick, settings.ties, uncertain_settings=job.likely)
    start, end = bounds(resolved, settings, run.tick)
    answer = run.over(resolved, start, end, settings.window, settings.step)
    late, outside = account(
        resolved, list(windows(start, end, settings.window, settings.step)), run.tick
    )
    with clock.spent_on("writing"):
        row = answer_row(answer, job, 0, 0)
    yield row
    yield Row(0, LAST, Kind.REPORT, {
        "set_aside": resolved.set_aside, "too_late": late, "outside": outside, "start": start,
        "end": end, "queries": answer.queries, "conflicts": answer.conflicts, "step": 0,
        "rows": resolved.used,
    })  # fmt: skip
