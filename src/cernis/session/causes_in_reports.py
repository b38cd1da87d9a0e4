"""For each interval of a run the rule and the record that began it, and that ended it."""

from __future__ import annotations

from collections import Counter

import numpy as np

from cernis.answers.reports.report_causes import EventTables, FluentTables, ReportCauses
from cernis.check.model import Relation
from cernis.explain.traces.fact_joins import CauseRows, facts_wanted
from cernis.explain.traces.provenance import Provenance
from cernis.kernels.array_types import Integers
from cernis.source import Sources
from cernis.tables.interval_tables import INFINITY, FluentTable


def causes_in_report(
    tracer: Provenance, sources: Sources, fluents: FluentTables, events: EventTables,
    bands: FluentTables = (),
) -> ReportCauses:  # fmt: skip
    """Find the causes of all intervals, and count for which of them each rule fired.

    All intervals of a fluent are asked about at once, and nothing is made of a cause but numbers.
    `bands` are stretches of equal probability; their causes are those of their starts.
    """
    none = np.empty(0, np.int64)
    columns: dict[str, list[tuple[Integers, Integers]]] = {"start": [], "end": []}
    fired = np.zeros(0, np.int64)
    for relation, table in fluents:
        for edge, parts in columns.items():
            causes = _edge_causes(tracer, edge, relation, table)
            parts.append(_first_causes(causes, len(table.starts)))
            fired = _added(fired, causes)
    band_parts = []
    for relation, table in bands:
        causes = _edge_causes(tracer, "start", relation, table)
        band_parts.append(_first_causes(causes, len(table.starts)))
        fired = _added(fired, causes)
    for relation, events_of_one in events.items():
        held = list(zip(events_of_one.arguments, events_of_one.domains, strict=True))
        wanted = facts_wanted(held, events_of_one.times, events_of_one.starts)
        fired = _added(fired, tracer.of("happens", relation, wanted))
    places = [tracer.place_of(number, sources) for number in range(len(tracer.spans))]
    begins, ends, changes = (
        [np.concatenate([none, *(part[kind] for part in parts)]) for kind in (0, 1)]
        for parts in (*columns.values(), band_parts)
    )
    counts: Counter[str] = Counter()
    for place, count in zip(places, fired.tolist(), strict=False):
        counts[place] += count
    rules = sorted(set(places))
    numbers = np.array([rules.index(place) for place in places] + [-1], np.int64)
    return ReportCauses(
        rules, numbers[begins[0]], begins[1], numbers[ends[0]], ends[1], counts,
        numbers[changes[0]], changes[1],
    )  # fmt: skip


def _edge_causes(
    tracer: Provenance, edge: str, relation: Relation, table: FluentTable
) -> CauseRows:
    """The causes of all starts, or of all ends that are known."""
    groups = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    columns = [(column[groups], domain) for column, domain in table.columns()]
    times = table.starts if edge == "start" else table.ends
    rows = np.flatnonzero(times != INFINITY)
    return tracer.of(edge, relation, facts_wanted(columns, times - tracer.tick).take(rows))


def _first_causes(causes: CauseRows, count: int) -> tuple[Integers, Integers]:
    """For each row the number of the first rule and that of the first record; -1 without one."""
    rules, records = np.full(count, -1), np.full(count, -1)
    # Causes stand in the order of their owners; what is written last stands.
    rules[causes.owners[::-1]] = causes.rules[::-1]
    records[causes.owners[::-1]] = causes.records[::-1]
    return rules, records


def _added(fired: Integers, causes: CauseRows) -> Integers:
    """How often each rule fired, with these causes; several records of one count once."""
    rules, owners = causes.rules, causes.owners
    is_new = np.ones(len(causes), np.bool_)
    is_new[1:] = (rules[1:] != rules[:-1]) | (owners[1:] != owners[:-1])
    counts = np.bincount(rules[is_new & (rules >= 0)], minlength=len(fired))
    counts[: len(fired)] += fired
    return counts
