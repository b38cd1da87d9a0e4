"""A survey of all the input before a run, for programs that cannot be evaluated without one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from cernis.evaluate.windows import windows
from cernis.plan.properties.foreign_domains import Key, foreign_domains
from cernis.records.record_columns import Records
from cernis.session.recognise import chosen_bounds
from cernis.spark.exchange.batch_job import Job, Survey
from cernis.spark.exchange.entity_components import Linked, distinct, spread, warn_of_giants
from cernis.spark.exchange.exchange_rows import LAST, Kind, Row, batches
from cernis.spark.exchange.inbox import Inbox
from cernis.spark.exchange.pack import surveyed
from cernis.spark.input.bucket_domains import Members, join_spans, members_of
from cernis.spark.input.resolved_records import enter


def survey_step(rows: Iterable[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """The survey of the records of one bucket; equal records must be in one bucket."""
    inbox = Inbox()
    for batch in rows:
        for _, take in inbox.each(batch, 0):
            take()
    records = Records()
    for parts in inbox.records.values():
        enter(parts, records, job)
    survey = surveyed(records, job)
    members: Members = {}
    if job.survey is not None:
        settings = job.settings
        start, end = chosen_bounds(job.survey.first, job.survey.last, settings, job.tick)
        queries = list(windows(start, end, settings.window, settings.step))
        keys = foreign_domains(job.loaded.plan, job.loaded.plan.routes)
        definitions = job.loaded.plan.checked.definitions
        members = members_of(records, definitions, keys, queries, job.tick)
    yield from batches([Row(0, LAST, Kind.SURVEY, (survey, members))])


def together(reports: Iterable[tuple[Survey, Members]], keys: set[Key]) -> tuple[Survey, Members]:
    """The surveys of all buckets as one."""
    survey = Survey()
    members: Members = {key: {} for key in keys}
    for part, theirs in reports:
        survey += part
        for key, more in theirs.items():
            for member, spans in more.items():
                join_spans(members[key], member, spans)
    return survey, members


def with_components(job: Job, packed_links: Iterable[tuple[int, Any]]) -> Job:
    """The job with the components of the entities that records link, by step."""
    linked: dict[int, list[Linked]] = {step: [] for step in job.loaded.plan.routes.linked}
    for step, content in packed_links:
        linked[step].append(Linked(*content))
    spreads = {step: spread(distinct(parts), job.buckets) for step, parts in linked.items()}
    warn_of_giants({step: outcome for step, (_, outcome) in spreads.items()})
    return replace(job, components={step: parts for step, (parts, _) in spreads.items()})
