"""What a report of a run may ask for: its records, explanations, and the causes of intervals."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from cernis.answers.reports.report_causes import EventTables, FluentTables, ReportCauses
from cernis.answers.reports.report_content import RunOrigin
from cernis.errors import CernisError
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.plan.builder import Plan
from cernis.records.record_columns import Records
from cernis.session.settings import Settings


def run_origin(
    plan: Plan, read: Callable[[], Records], chosen: Settings, limits: tuple[int, int],
    uncertain: UncertainSettings | None = None,
) -> RunOrigin:  # fmt: skip
    """The origin of a run between two points over the records that a function reads.

    They are read when something asks for them, and then once. Over uncertain records there are
    causes if all was known at once, and no explanations.
    """
    once = cache(read)

    def explained(question: str, point: int) -> str:
        from cernis.explain.explaining import RunLimits, explain

        bounds = RunLimits(chosen.window, chosen.step, *limits, chosen.tick, chosen.ties)
        return explain(plan, once(), question, point, bounds).text()

    def causes(
        fluents: FluentTables, events: EventTables, bands: FluentTables = ()
    ) -> ReportCauses:
        from cernis.session.causes_in_reports import causes_in_report
        from cernis.session.result_provenance import traced_run

        records = readable(once(), limits)
        tracer = traced_run(plan, records, chosen, limits, uncertain)
        return causes_in_report(tracer, plan.checked.sources, fluents, events, bands)

    if uncertain is None:
        return RunOrigin(plan.checked, once, explained, causes)
    is_one_query = chosen.window is None and chosen.step is None
    return RunOrigin(plan.checked, once, None, causes if is_one_query else None)


def readable(records: Records, limits: tuple[int, int]) -> Records:
    """The records of a run, read again; those of an iterator are gone, which is an error."""
    if limits[1] > limits[0] and not records.used:
        raise CernisError(
            "the events of this run can be read only once; give them as a table or a file, "
            "or read them with program.records(...) first"
        )
    return records
