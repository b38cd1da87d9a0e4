"""Provenance as a table: for each interval and happening the records that it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.answers.answer_tables import lists_of, texts_of
from cernis.answers.result import find_relation
from cernis.answers.time_output import TimeOutput
from cernis.check.model import Relation
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.evaluate.run import Run
from cernis.explain.traces.fact_joins import CauseRows, WantedFacts, facts_wanted
from cernis.explain.traces.provenance import Provenance
from cernis.explain.traces.traced_rules import traced
from cernis.kernels.array_types import Array, Integers
from cernis.plan.builder import Plan, make_plan
from cernis.records.arrow_arrays import as_arrow, as_texts
from cernis.records.record_columns import RecordColumns, RecordKind, Records, coding_of
from cernis.records.record_sources import Events, read_events
from cernis.session.run_origin import readable
from cernis.session.settings import Settings
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import INFINITY, FluentTable

PROVENANCE: Final = pa.schema([
    ("name", pa.string()), ("args", pa.list_(pa.string())), ("value", pa.string()),
    ("start", pa.int64()), ("end", pa.int64()), ("role", pa.string()), ("match", pa.int64()),
    ("rule", pa.string()), ("record", pa.int64()), ("source", pa.string()), ("line", pa.int64()),
    ("record_name", pa.string()), ("record_args", pa.list_(pa.string())),
    ("record_value", pa.string()), ("occurrence", pa.int64()),
])  # fmt: skip
"""One row for each record that an interval or a happening rests on.

The first five columns are those of `intervals`; a happening has no value, and its start and end are
the closed interval of its occurrence. The role is `began`, `ended` or `happened`. Of patterns,
each match has a number. What held initially has a rule and no record.
"""


def provenance_of_run(
    plan: Plan, events: Events, mapping: str | Path | Mapping[str, Any] | None, chosen: Settings,
    bounds: tuple[int, int], times: TimeOutput, names: Iterable[str] | None,
) -> pa.Table:  # fmt: skip
    """The provenance of a run over events, which are read again."""
    records = readable(read_events(events, plan.checked, mapping), bounds)
    return times.table(provenance(plan, records, chosen, bounds, names))


def provenance(
    plan: Plan, records: Records, chosen: Settings, bounds: tuple[int, int],
    names: Iterable[str] | None = None,
) -> pa.Table:  # fmt: skip
    """The records that the intervals and happenings of a run rest on over some records."""
    tracer = traced_run(plan, records, chosen, bounds)
    answer = tracer.answer
    asker = _Tables(tracer, _RecordTable(records), plan)
    fluents = {r: t for r, t in answer.fluents.items() if r not in tracer.program.hidden}
    events = {r: t for r, t in answer.events.items() if r not in tracer.program.hidden}
    chosen_ones = None if names is None else _chosen([names] if isinstance(names, str) else names,
                                                     fluents, events)  # fmt: skip
    parts = [PROVENANCE.empty_table()]
    for relation in sorted(fluents):
        if chosen_ones is None or relation in chosen_ones:
            parts += asker.fluent(relation, fluents[relation])
    for relation in sorted(events):
        if chosen_ones is None or relation in chosen_ones:
            parts.append(asker.event(relation, events[relation]))
    return pa.concat_tables(parts)


def traced_run(
    plan: Plan, records: Records, chosen: Settings, bounds: tuple[int, int],
    uncertain: UncertainSettings | None = None,
) -> Provenance:  # fmt: skip
    """Run a plan over some records once more, so that causes can be asked for."""
    program = traced(plan.checked, is_uncertain=uncertain is not None)
    run = Run(make_plan(program.checked), chosen.tick, chosen.ties, None, uncertain)
    answer = run.over(records, *bounds, chosen.window, chosen.step)
    answer.events = {**answer.events, **answer.possible}
    return Provenance(
        program, answer, records, plan.knowledge, bounds[0], run.tick,
        is_uncertain=uncertain is not None,
    )  # fmt: skip


def _chosen(
    names: Iterable[str], fluents: dict[Relation, FluentTable], events: dict[Relation, EventTable]
) -> set[Relation]:
    both: dict[Relation, FluentTable | EventTable] = {**fluents, **events}
    return {find_relation(name, both, "fluent or event")[0] for name in names}


class _Tables:
    """Asks for causes relation by relation, and writes them as tables."""

    def __init__(self, tracer: Provenance, records: _RecordTable, plan: Plan) -> None:
        self._tracer = tracer
        self._records = records
        self._sources = plan.checked.sources

    def fluent(self, relation: Relation, table: FluentTable) -> Iterator[pa.Table]:
        """What began and what ended the intervals of a fluent."""
        groups = np.repeat(np.arange(len(table)), np.diff(table.offsets))
        columns = [(column[groups], domain) for column, domain in table.columns()]
        tick = self._tracer.tick
        for edge, role in (("start", "began"), ("end", "ended")):
            rows = np.arange(len(groups))
            times = table.starts
            if edge == "end":
                rows = np.flatnonzero(table.ends != INFINITY)
                times = table.ends
            facts = facts_wanted(columns, times - tick).take(rows)
            causes = self._tracer.of(edge, relation, facts)
            subject = _Subject(relation.name, columns, table.starts, table.ends)
            yield self._table(subject, role, causes)

    def event(self, relation: Relation, table: EventTable) -> pa.Table:
        """What made an event happen."""
        columns = list(zip(table.arguments, table.domains, strict=True))
        starts = table.times if table.starts is None else table.starts
        facts: WantedFacts = facts_wanted(columns, table.times, table.starts)
        causes = self._tracer.of("happens", relation, facts)
        subject = _Subject(relation.name, [*columns, None], starts, table.times)
        return self._table(subject, "happened", causes)

    def _table(self, subject: _Subject, role: str, causes: CauseRows) -> pa.Table:
        count = len(causes)
        no_match = causes.matches < 0
        columns = {
            **subject.columns(causes.owners),
            "role": pa.repeat(pa.scalar(role), count),
            "match": as_arrow(causes.matches, no_match),
            "rule": self._places(causes.rules),
            **self._records.columns(causes.records),
        }
        return pa.table(columns, PROVENANCE)

    def _places(self, rules: Integers) -> pa.Array:
        tracer = self._tracer
        texts = [tracer.place_of(number, self._sources) for number in range(len(tracer.spans))]
        names = as_texts(["", *texts])
        chosen = names.take(as_arrow(rules + 1))
        return pc.if_else(as_arrow(rules < 0), pa.scalar(None, pa.string()), chosen)


class _Subject:
    """The intervals or happenings that have causes."""

    def __init__(
        self, name: str, held: Sequence[tuple[Array, Domain | None] | None], starts: Integers,
        ends: Integers,
    ) -> None:  # fmt: skip
        self._name = name
        self._held = held
        self._starts, self._ends = starts, ends

    def columns(self, rows: Integers) -> dict[str, pa.Array]:
        """The columns of some rows, as those of `intervals`."""
        *args, value = self._held
        ends = self._ends[rows]
        argument_columns = [(each[0][rows], each[1]) for each in args if each is not None]
        texts = pa.nulls(len(rows), pa.string())
        return {
            "name": pa.repeat(pa.scalar(self._name), len(rows)),
            "args": lists_of(argument_columns, len(rows)),
            "value": texts if value is None else texts_of(value[0][rows], value[1]),
            "start": as_arrow(self._starts[rows]),
            "end": as_arrow(ends, ends == INFINITY),
        }


class _RecordTable:
    """The records of an input as columns, to be taken from by their numbers."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._table: pa.Table | None = None
        self._numbers: Integers = np.empty(0, np.int64)

    def columns(self, numbers: Integers) -> dict[str, pa.Array]:
        """The columns of records; null where there is none."""
        if self._table is None:
            self._read()
        assert self._table is not None
        at = np.searchsorted(self._numbers, numbers)
        missing = numbers < 0
        places = as_arrow(np.where(missing, 0, at), missing)
        taken = self._table.take(places)
        return {
            "record": as_arrow(numbers, missing),
            **{name: taken.column(name).combine_chunks() for name in taken.column_names},
        }

    def _read(self) -> None:
        parts = list(self._records.relations.values())
        places = np.concatenate([np.empty(0, np.int64), *(part.places for part in parts)])
        order = np.argsort(places, kind="stable")
        self._numbers = places[order]
        schema = pa.schema([PROVENANCE.field(name) for name in PROVENANCE.names[-6:]])
        tables = [schema.empty_table(), *(self._part(part, schema) for part in parts)]
        self._table = pa.concat_tables(tables).take(as_arrow(order))

    def _part(self, part: RecordColumns, schema: pa.Schema) -> pa.Table:
        is_event = part.form.kind is RecordKind.EVENT
        coded = [coding_of(column) for column in part.columns]
        args = coded if is_event else coded[1:]
        sources, lines = self._records.sources.lines(part.places)
        value = pa.nulls(len(part), pa.string()) if is_event else texts_of(*coded[0])
        columns = {
            "source": as_texts(self._records.sources.source_names).take(as_arrow(sources)),
            "line": as_arrow(lines),
            "record_name": pa.repeat(pa.scalar(part.form.relation.name), len(part)),
            "record_args": lists_of(args, len(part)),
            "record_value": value,
            "occurrence": as_arrow(np.ascontiguousarray(part.times[1])),
        }
        return pa.table(columns, schema)
