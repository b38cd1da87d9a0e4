"""Which stages of a plan over uncertain records can be apart, and which must stay together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from cernis.check.model import Relation
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.plan.builder import Plan
from cernis.plan.properties.routes import Routes
from cernis.plan.properties.uncertain_relations import (
    needs_formulas,
    needs_histories,
    uncertain_relations,
)
from cernis.records.record_columns import Records
from cernis.session.settings import Settings
from cernis.spark.exchange.batch_job import Job, Survey, job_of
from cernis.spark.exchange.blobs import loads
from cernis.spark.exchange.exchange_rows import LAST, Kind, Row
from cernis.spark.exchange.pack import surveyed
from cernis.spark.input.batch_input import BatchInput

IN_ONE_PARTITION: Final = (
    "a stage asks for an uncertain event that an earlier one derives, or for what starts or ends "
    "an uncertain fluent: all rules are evaluated in one partition"
)


def may_be_apart(plan: Plan, routes: Routes, uncertain: Iterable[Relation]) -> bool:
    """Can stages be evaluated apart, if records of these relations of the input are uncertain?"""
    return not needs_formulas(plan, routes, plan.uncertainties.of(uncertain))


def may_be_apart_on_streams(plan: Plan, likely: UncertainSettings) -> bool:
    """Can stages of a stream be evaluated apart, with the input that may be uncertain?"""
    routes, uncertain = plan.stream_routes, uncertain_relations(plan, likely.uncertain)
    if not may_be_apart(plan, routes, uncertain):
        return False
    return not needs_histories(plan, routes, plan.uncertainties.of(uncertain))


def must_be_in_one_stage(
    plan: Plan, source: BatchInput, chosen: Settings, likely: UncertainSettings
) -> bool:
    """Must all stages be evaluated together?

    The input is read only if the answer depends on which of its records are uncertain.
    """
    routes, named = plan.routes, uncertain_relations(plan, likely.uncertain or ())
    if may_be_apart(plan, routes, uncertain_relations(plan, None)):
        return False
    if not may_be_apart(plan, routes, named):
        return True
    uncertain = _uncertain_records(source, job_of(plan, chosen, 1, likely=likely))
    return not may_be_apart(plan, routes, named | uncertain)


def _uncertain_records(source: BatchInput, job: Job) -> frozenset[Relation]:
    """The relations of which some records are uncertain, by a survey of all the input."""
    rows = source.packed(job, _survey_rows).select("kind", "blob").collect()
    surveys = (loads(row.blob) for row in rows if row.kind == Kind.SURVEY)
    return sum(surveys, Survey()).uncertain


def _survey_rows(records: Records, job: Job) -> Iterator[Row]:
    yield Row(0, LAST, Kind.SURVEY, surveyed(records, job))
