"""Reads events, runs a plan over them, and accounts for every record in the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from cernis.answers.result import Result, Summary
from cernis.answers.time_output import TimeOutput
from cernis.answers.unused_records import missing_fluents
from cernis.errors import DataError
from cernis.evaluate.answer import Answer
from cernis.evaluate.run import Run
from cernis.evaluate.windows import MOST_QUERIES, Window, windows
from cernis.operators.context.measuring import Profile
from cernis.plan.builder import Plan
from cernis.records.record_columns import (
    TOO_LATE,
    Coded,
    RecordKind,
    Records,
    SetAside,
)
from cernis.records.record_shapes import Shapes
from cernis.records.record_sources import (
    Events,
    Progress,
    read_events,
    refuse_set_aside,
)
from cernis.session.run_origin import run_origin
from cernis.session.settings import Settings
from cernis.syntax.time_scale import TimeScale

if TYPE_CHECKING:
    from cernis.answers.uncertain_result import UncertainResult
    from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings


_MILLISECONDS: Final = 10**11
"""In seconds after 1970 this is the year 5138, in milliseconds 1973."""


def recognise(
    plan: Plan, events: Events, chosen: Settings, *,
    mapping: str | Path | Mapping[str, Any] | None = None, strict: bool = False,
    per_query: bool = False, profile: Profile | None = None,
    progress: Progress = lambda size: None,
    on_read: Callable[[Records], None] = lambda records: None,
) -> Result:  # fmt: skip
    """Run a plan over events.

    Records that cannot be read are set aside; if `strict`, they are a DataError. `per_query` keeps
    the answer as of each query. The cost of operators is entered into `profile`, if one is given.
    `on_read` is called when all records are read.
    """
    began = time.perf_counter()
    records = read_events(events, plan.checked, mapping, progress)
    if strict:
        refuse_set_aside(records)
    on_read(records)
    run = Run(plan, chosen.tick, chosen.ties, profile)
    start, end = bounds(records, chosen, run.tick)
    answers: list[tuple[int, Answer]] = []
    answer = run.over(
        records, start, end, chosen.window, chosen.step,
        (lambda window, answer: answers.append((window.query, answer))) if per_query else None,
    )  # fmt: skip
    summary = _summary(plan, records, answer, chosen, (start, end), run.tick, began)
    times = time_output(plan, records, chosen)

    origin = run_origin(
        plan, lambda: read_events(events, plan.checked, mapping), chosen, (start, end)
    )

    def trace(names: Iterable[str] | None) -> pa.Table:
        from cernis.session.result_provenance import provenance_of_run

        return provenance_of_run(plan, events, mapping, chosen, (start, end), times, names)

    return Result(answer, plan.checked.catalogue, summary, tuple(answers), times, origin, trace)


def time_output(plan: Plan, records: Records, chosen: Settings) -> TimeOutput:
    """How the times of an answer come out: as timestamps if the input has such, or as numbers."""
    scale = plan.checked.definitions.settings.time
    return TimeOutput(scale, records.dated and not chosen.epoch)


def bounds(records: Records, chosen: Settings, tick: int) -> tuple[int, int]:
    """Where a run over records starts and ends."""
    return chosen_bounds(records.first, records.last(tick), chosen, tick)


def chosen_bounds(
    first: int | None, last: int | None, chosen: Settings, tick: int
) -> tuple[int, int]:
    """Where a run starts and ends, from the first and last points of its records.

    A run without records starts at 0, unless a start is chosen, and ends where it starts.
    """
    start = chosen.start if chosen.start is not None else (tick if first is None else first) - tick
    end = chosen.end if chosen.end is not None else start if last is None else last
    end = max(start, end)
    stride = chosen.step or chosen.window or end - start
    if (end - start) // max(stride, 1) > MOST_QUERIES:
        count = (end - start) // stride
        raise DataError(
            f"a query every {stride} from {start} to {end} makes {count:,} queries; "
            "choose a longer step, or say where the run starts and ends"
        )
    return start, end


def account(records: Records, queries: list[Window], tick: int) -> tuple[list[SetAside], int]:
    """The records that arrived too late, and how many are no part of the run.

    A record is too late if, at the first query after its arrival, every point that it is about is
    forgotten.
    """
    times = np.array([window.query for window in queries], np.int64)
    edges = np.array([window.forgotten for window in queries], np.int64)
    late: list[tuple[int, SetAside]] = []
    outside = 0
    for part in [*records.relations.values(), *records.retractions]:
        arrival, start = part.times[:2]
        last = part.last_points(tick)
        if not len(start) or (
            max(arrival.max(), start.max()) <= times[-1] and last.min() > edges[-1]
        ):
            # No record is too late or outside the run, so none need be looked at.
            continue
        first = np.searchsorted(times, arrival)
        beyond = (first == len(times)) | (last <= queries[0].edge) | (start > times[-1])
        outside += int(beyond.sum())
        forgotten = ~beyond & (last <= edges[np.minimum(first, len(times) - 1)])
        for row in np.flatnonzero(forgotten).tolist():
            place = int(part.places[row])
            late.append((place, records.aside(place, TOO_LATE, part.text(row))))
    return [aside for _, aside in sorted(late, key=lambda pair: pair[0])], outside


def remarks(records: Records, plan: Plan) -> list[str]:
    """Remarks on the input, such as text in columns that rules compute with."""
    shapes = Shapes(plan.checked)
    notes = missing_fluents(records.fluents, plan.checked.catalogue)
    for form, part in records.relations.items():
        names = [] if form.kind is RecordKind.EVENT else ["the value"]
        names += [f"argument {position + 1}" for position in range(form.relation.arity)]
        for name, column, is_numeric in zip(
            names, part.columns, shapes.numeric_columns(form), strict=True
        ):
            if is_numeric and isinstance(column, Coded):
                is_text = np.array([not isinstance(v, int | float) for v in column.values])
                count = int(is_text[column.codes].sum()) if len(is_text) else 0
                if count:
                    notes.append(
                        f"{name} of {form.relation} is text in {count} of {len(part)} records, "
                        "where rules compare it as a number"
                    )
    return notes


def likely_units(records: Records, scale: TimeScale) -> Iterator[str]:
    """A warning if times without a unit are so large that they probably count a finer one."""
    first = records.first
    if first is None or records.dated or scale.unit != "s":
        return
    if _is_calendar_day(first):
        text = str(first)
        yield (
            f"times such as {first} count seconds since 1970, and seem to be days: write "
            f"{text[:4]}-{text[4:6]}-{text[6:]}"
        )
    if first < _MILLISECONDS:
        return
    unit = "ms" if first < 10**14 else "us" if first < 10**17 else "ns"
    yield (
        f"times such as {first} count seconds, and seem to count {unit} since 1970: write "
        f"`:- time(unit({unit})).` in the rules, or say time_unit={unit}"
    )


def _is_calendar_day(number: int) -> bool:
    """Does a number read as a day of these centuries, as 20260329 does?"""
    text = str(number)
    if len(text) != 8 or not 1900 <= number // 10_000 < 2100:
        return False
    try:
        date.fromisoformat(f"{text[:4]}-{text[4:6]}-{text[6:]}")
    except ValueError:
        return False
    return True


def recognise_uncertain(
    plan: Plan, events: Events, chosen: Settings, uncertain: UncertainSettings, *,
    mapping: str | Path | Mapping[str, Any] | None = None, strict: bool = False,
    profile: Profile | None = None, progress: Progress = lambda size: None,
    on_read: Callable[[Records], None] = lambda records: None,
) -> UncertainResult:  # fmt: skip
    """Run a plan over uncertain events: all in one query, or window by window.

    Without a window, all is known at once, and intervals are those of whole courses.
    """
    from cernis.answers.uncertain_result import UncertainResult

    uncertain.check_names(plan.checked.catalogue.fluents)
    began = time.perf_counter()
    records = read_events(events, plan.checked, mapping, progress, uncertain=True)
    if strict:
        refuse_set_aside(records)
    on_read(records)
    run = Run(plan, chosen.tick, chosen.ties, profile, uncertain)
    start, end = bounds(records, chosen, run.tick)
    answer = run.over(records, start, end, chosen.window, chosen.step)
    summary = _summary(plan, records, answer, chosen, (start, end), run.tick, began)
    times = time_output(plan, records, chosen)
    origin = run_origin(
        plan, lambda: read_events(events, plan.checked, mapping, uncertain=True), chosen,
        (start, end), uncertain,
    )  # fmt: skip

    def exact() -> Answer:
        again = read_events(events, plan.checked, mapping, uncertain=True)
        run = Run(_with_exact_probabilities(plan), chosen.tick, chosen.ties, None, uncertain)
        return run.over(again, start, end, chosen.window, chosen.step)

    return UncertainResult(answer, plan.checked.catalogue, summary, times, origin, exact)


def _with_exact_probabilities(plan: Plan) -> Plan:
    """The plan as if the program said `:- exact(window).`"""
    definitions = plan.checked.definitions
    exact = replace(definitions, settings=replace(definitions.settings, exact=0))
    return replace(plan, checked=replace(plan.checked, definitions=exact))


def _summary(
    plan: Plan, records: Records, answer: Answer, chosen: Settings, ends: tuple[int, int],
    tick: int, began: float,
) -> Summary:  # fmt: skip
    """The summary of a run: what became of its records, and how many queries it had."""
    queries = list(windows(*ends, chosen.window, chosen.step))
    too_late, outside = account(records, queries, tick)
    return Summary(
        records.count, records.used, records.ignored, tuple(records.set_aside), tuple(too_late),
        outside, tuple(remarks(records, plan)), *ends, answer.queries, answer.conflicts,
        time.perf_counter() - began,
        (*records.warnings, *likely_units(records, plan.checked.definitions.settings.time)),
        tuple(records.notes),
    )  # fmt: skip
