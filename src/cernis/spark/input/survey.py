"""A look at all of the input before a run, where the run cannot do without."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from cernis.evaluate.windows import windows
from cernis.records.record_columns import Records
from cernis.session.recognise import chosen_bounds
from cernis.spark.exchange.batch_job import Job, Survey
from cernis.spark.exchange.entity_components import Linked, distinct, spread, warn_of_giants
from cernis.spark.exchange.exchange_rows import LAST, Kind, Row, batches
from cernis.spark.exchange.inbox import Inbox
from cernis.spark.exchange.pack import surveyed
from cernis.spark.input.bucket_domains import Key, Members, foreign_domains, join_spans, members_of
from cernis.spark.input.resolved_records import enter


def survey_step(given: Iterable[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """What the records of one bucket amount to; equal records must be in one bucket."""
    inbox = Inbox()
    for batch in given:
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
        keys = foreign_domains(job.loaded.plan, job.loaded.routes)
        definitions = job.loaded.plan.checked.definitions
        members = members_of(records, definitions, keys, queries, job.tick)
    yield from batches([Row(0, LAST, Kind.SURVEY, (survey, members))])


def together(found: Iterable[tuple[Survey, Members]], keys: set[Key]) -> tuple[Survey, Members]:
    """What all buckets amount to."""
    survey = Survey()
    members: Members = {key: {} for key in keys}
    for own, theirs in found:
        survey += own
        for key, more in theirs.items():
            for member, spans in more.items():
                join_spans(members[key], member, spans)
    return survey, members


def with_components(job: Job, found: Iterable[tuple[int, Any]]) -> Job:
    """The job with the components of what all records link, by step."""
    linked: dict[int, list[Linked]] = {step: [] for step in job.loaded.routes.linked}
    for step, content in found:
        linked[step].append(Linked(*content))
    spreads = {step: spread(distinct(own), job.buckets) for step, own in linked.items()}
    warn_of_giants({step: outcome for step, (_, outcome) in spreads.items()})
    return replace(job, components={step: own for step, (own, _) in spreads.items()})
