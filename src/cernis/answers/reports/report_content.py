"""The content of a report: lanes, events, rules and the summary, packed for the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa

from cernis.answers.reports.corrections import Corrections
from cernis.answers.reports.input_intervals import InputIntervals
from cernis.answers.reports.report_causes import CauseFinder, FluentTables, ReportCauses
from cernis.answers.reports.report_events import (
    EventKind,
    is_numeric,
)
from cernis.answers.reports.report_lanes import LaneRows, Lanes, is_open, lanes_of, rows_of
from cernis.answers.reports.text_codes import coded_texts
from cernis.answers.time_output import TimeOutput
from cernis.check.checker import Checked
from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.kernels.array_types import Array, Integers
from cernis.pages.payload import Payload
from cernis.records.arrow_arrays import as_numpy
from cernis.records.record_columns import Records
from cernis.tables.interval_tables import INFINITY

_EXACT: Final = 1 << 52
"""Times of a page are floats, which are exact up to here."""


@dataclass(frozen=True, slots=True)
class RunOrigin:
    """What a result came from: the program, and its records, which are read again if need be.

    `explain` gives the explanation of a pair at a time-point as text, and `causes` finds those of
    intervals, where that can be had.
    """

    checked: Checked
    read: Callable[[], Records | None]
    explain: Callable[[str, int], str] | None = None
    causes: CauseFinder | None = None


@dataclass(slots=True)
class ReportContent:
    """What goes into a report: intervals, bands of probability, events, and what is known of them.

    `tables` are those whose intervals the rows are, in this order. `explanations` are texts by the
    row of the interval that they are about.
    """

    relations: list[Relation]
    rows: LaneRows
    times: TimeOutput
    bands: LaneRows = field(default_factory=lambda: rows_of([]))
    kinds: list[EventKind] = field(default_factory=list)
    corrections: Corrections | None = None
    causes: ReportCauses | None = None
    explanations: dict[int, str] = field(default_factory=dict)
    tables: FluentTables = ()
    band_tables: FluentTables = ()
    inputs: Mapping[Relation, InputIntervals] = field(default_factory=dict)
    """Input fluents with their records; their tables are the last ones."""
    input_fluents: frozenset[Relation] = frozenset()
    """All fluents that are input."""


def content_of(
    answer: Answer, checked: Checked, times: TimeOutput,
    input_fluents: Mapping[Relation, InputIntervals] | None = None,
) -> ReportContent:  # fmt: skip
    """The intervals and the probabilities of an answer, and those of input fluents."""
    hidden, courses = checked.definitions.auxiliary, answer.courses
    inputs = {r: each for r, each in (input_fluents or {}).items() if r not in hidden}
    known = [*checked.catalogue.fluents, *answer.fluents]
    relations = [
        each for each in dict.fromkeys(known)
        if each not in hidden and (each in answer.fluents or each in courses or each in inputs)
    ]  # fmt: skip
    numbers = {relation: number for number, relation in enumerate(relations)}
    named = [(relation, table) for relation, table in answer.fluents.items() if relation in numbers]
    named += [(relation, each.table) for relation, each in inputs.items()]
    chances = {**answer.means, **{relation: each.chances for relation, each in inputs.items()}}
    tables = [(numbers[relation], table, chances.get(relation)) for relation, table in named]
    segments = [
        (numbers[relation], *course.segments())
        for relation, course in courses.items() if relation in numbers
    ]  # fmt: skip
    has_chances = any(known is not None for _, _, known in tables)
    return ReportContent(
        relations, rows_of(tables, has_chances), times, rows_of(segments, with_chances=True),
        tables=named, band_tables=[(relations[number], table) for number, table, _ in segments],
        inputs=inputs, input_fluents=frozenset(inputs),
    )  # fmt: skip


def pack_content(content: ReportContent, title: str) -> Payload:
    """The data of the page of a report."""
    return _Packing(content, title).packed()


class _Packing:
    """Columns of one report, one kind after the other."""

    def __init__(self, content: ReportContent, title: str) -> None:
        self.content = content
        self.title = title
        self.payload = Payload()
        first, last = _bounds(content)
        self.base = first
        self.shift = max((last - first).bit_length() - 52, 0)
        """How many binary digits of times are kept apart, as floats would not hold them."""
        self.end = self._coarse(np.array([last], np.int64))[0]

    def packed(self) -> Payload:
        """All columns, and what the page says about them."""
        content = self.content
        marked = content.corrections.rows if content.corrections else rows_of([])
        row_sets = [content.rows, content.bands, marked]
        entity_arrays = [rows.entities for rows in row_sets]
        entities, entity_codes = coded_texts(
            [*entity_arrays, *(kind.entities for kind in content.kinds)]
        )
        rests, rest_codes = coded_texts([rows.rests for rows in row_sets])
        values, value_codes = coded_texts([rows.values for rows in row_sets])
        codes = list(zip(entity_codes[:3], rest_codes, value_codes, strict=True))
        for name, texts in (("entities", entities), ("rests", rests), ("values", values)):
            self.payload.texts(name, texts)
        lanes = lanes_of(content.rows, *codes[0])
        self._lanes("lane", lanes)
        self._intervals(lanes)
        bands = lanes_of(content.bands, *codes[1], apart=True)
        self._lanes("bandlane", bands)
        self._bands(bands)
        event_places = self._events(entity_codes[3:])
        if content.causes is not None:
            self._causes(content.causes, lanes, bands, event_places)
        self._explanations(lanes)
        self._corrected(lanes, codes[0], codes[2])
        self._meta()
        return self.payload

    def _coarse(self, times: Integers) -> Integers:
        return (times - self.base) >> self.shift

    def _rest(self, name: str, times: Integers) -> None:
        if self.shift:
            rest = (times - self.base) & ((1 << self.shift) - 1)
            self.payload.whole_numbers(name, rest)

    def _lanes(self, name: str, lanes: Lanes) -> None:
        parts = {
            "entity": _steps(lanes.entities), "relation": lanes.relations, "rest": lanes.rests,
            "value": lanes.values, "count": lanes.counts,
        }  # fmt: skip
        for part, numbers in parts.items():
            if part in ("entity", "count") or numbers.any():
                self.payload.whole_numbers(f"{name}.{part}", numbers)

    def _intervals(self, lanes: Lanes) -> None:
        payload, open_ones = self.payload, is_open(lanes.ends)
        ends = np.where(open_ones, lanes.starts, lanes.ends)
        self._spans("interval", lanes, ends)
        payload.whole_numbers("interval.value", lanes.row_values)
        payload.whole_numbers("interval.open", np.flatnonzero(open_ones))
        self._rest("interval.start.rest", lanes.starts)
        self._rest("interval.end.rest", ends)
        if self.content.rows.chances is not None:
            payload.floats("interval.chance", self.content.rows.chances[lanes.order], 4)

    def _bands(self, lanes: Lanes) -> None:
        if not len(lanes.starts):
            return
        last = np.int64((int(self.end) << self.shift) + self.base)
        self._spans("band", lanes, np.where(is_open(lanes.ends), last, lanes.ends))
        assert self.content.bands.chances is not None
        self.payload.floats("band.chance", self.content.bands.chances[lanes.order], 4)

    def _spans(self, name: str, lanes: Lanes, ends: Integers) -> None:
        """Starts counted from the end before, or from the base in a new lane, and lengths."""
        starts, ends = self._coarse(lanes.starts), self._coarse(ends)
        before = np.append(0, ends[:-1])[: len(ends)]
        first = np.append(True, lanes.row_lanes[1:] != lanes.row_lanes[:-1])[: len(ends)]
        self.payload.whole_numbers(f"{name}.gap", starts - np.where(first, 0, before))
        self.payload.whole_numbers(f"{name}.length", ends - starts)

    def _causes(
        self, causes: ReportCauses, lanes: Lanes, bands: Lanes, event_places: Integers
    ) -> None:
        """The number of a rule, and of an event among all, each from 1; 0 where there is none.

        Numbers of intervals of input fluents follow those of events. They are told as differences,
        which are small: causes follow one another.
        """
        order = lanes.order
        event_places, numbers = self._numbered_records(lanes, event_places)
        in_order = np.argsort(event_places, kind="stable")
        events = []
        band_records = causes.band_records[bands.order]
        for records in (causes.begin_records[order], causes.end_records[order], band_records):
            at = np.searchsorted(event_places[in_order], records)
            nearest = in_order[np.minimum(at, max(len(in_order) - 1, 0))] if len(in_order) else at
            is_known = (records > 0) & (at < len(in_order))
            is_known[is_known] = event_places[nearest[is_known]] == records[is_known]
            events.append(np.where(is_known, numbers[nearest] if len(numbers) else 0, 0))
        self.payload.whole_numbers("cause.begin.rule", causes.begin_rules[order] + 1)
        self.payload.whole_numbers("cause.end.rule", causes.end_rules[order] + 1)
        self.payload.whole_numbers("cause.begin.event", _steps(events[0]))
        self.payload.whole_numbers("cause.end.event", events[1] - events[0])
        if len(bands.starts):
            self.payload.whole_numbers("bandcause.rule", causes.band_rules[bands.order] + 1)
            self.payload.whole_numbers("bandcause.event", _steps(events[2]))

    def _numbered_records(self, lanes: Lanes, event_places: Integers) -> tuple[Integers, Integers]:
        """The records that the page shows, and the number of the event or interval that each is."""
        content = self.content
        positions = np.empty(len(lanes.order), np.int64)
        positions[lanes.order] = np.arange(len(lanes.order))
        places, numbers = [event_places], [np.arange(1, len(event_places) + 1)]
        first = len(lanes.order) - sum(len(each.table.starts) for each in content.inputs.values())
        for each in content.inputs.values():
            places.append(each.places)
            numbers.append(positions[first + each.rows] + len(event_places) + 1)
            first += len(each.table.starts)
        return np.concatenate(places), np.concatenate(numbers)

    def _explanations(self, lanes: Lanes) -> None:
        explanations = self.content.explanations
        if explanations:
            places = np.argsort(lanes.order)
            rows = sorted(explanations, key=lambda row: places[row])
            self.payload.whole_numbers("explained.place", places[rows])
            self.payload.texts("explained.text", [explanations[row] for row in rows])

    def _events(self, entity_codes: list[Integers]) -> Integers:
        """The events in their lanes; gives the number of the record that each is."""
        kinds = self.content.kinds
        if not kinds:
            return np.empty(0, np.int64)
        entities = np.concatenate(entity_codes)
        numbers = np.repeat(np.arange(len(kinds)), [len(kind.times) for kind in kinds])
        times = np.concatenate([kind.times for kind in kinds])
        order = np.lexsort((numbers, times, entities))
        entities, numbers, times = entities[order], numbers[order], times[order]
        used, counts = np.unique(entities, return_counts=True)
        self.payload.whole_numbers("eventlane.entity", _steps(used))
        self.payload.whole_numbers("eventlane.count", counts)
        coarse = self._coarse(times)
        first = np.append(True, entities[1:] != entities[:-1])[: len(times)]
        before = np.where(first, 0, np.append(0, coarse[:-1])[: len(times)])
        self.payload.whole_numbers("event.gap", coarse - before)
        self.payload.whole_numbers("event.kind", numbers)
        self._rest("event.rest", times)
        begin = 0
        for number, kind in enumerate(kinds):
            # The rows of a kind in the order of its events among all.
            rows = order[numbers == number] - begin
            begin += len(kind.times)
            for place, column in enumerate(kind.columns[1:], 1):
                self._attribute(f"event{number}.{place}", column, rows)
        return np.concatenate([kind.places for kind in kinds])[order]

    def _attribute(self, name: str, column: pa.Array, rows: Integers) -> None:
        if not is_numeric(column):
            texts, (codes,) = coded_texts([column])
            self.payload.texts(f"{name}.texts", texts)
            self.payload.whole_numbers(name, codes[rows])
            return
        numbers: Array = as_numpy(column)[rows]
        if numbers.dtype.kind == "i" and (not len(numbers) or int(abs(numbers).max()) < _EXACT):
            self.payload.whole_numbers(name, numbers)
        else:
            self.payload.floats(name, numbers)

    def _corrected(
        self, lanes: Lanes, codes: tuple[Integers, ...], marked: tuple[Integers, ...]
    ) -> None:
        """Corrections stand in the lane of their pair; of pairs that have none, they are left."""
        corrections = self.content.corrections
        if corrections is None:
            return
        keys = zip(lanes.relations, lanes.entities, lanes.rests, lanes.values, strict=True)
        numbers = {tuple(map(int, key)): number for number, key in enumerate(keys)}
        rows, places = corrections.rows, []
        for row, group in enumerate(rows.groups.tolist()):
            key = (int(rows.relations[group]), int(marked[0][group]), int(marked[1][group]))
            lane = numbers.get((*key, 0), numbers.get((*key, int(marked[2][group]) + 1)))
            if lane is not None:
                places.append((lane, int(rows.starts[row]), row))
        order = np.array([row for _, _, row in sorted(places)], np.int64)
        self.payload.whole_numbers(
            "ghost.lane", np.array([lane for lane, _, _ in sorted(places)], np.int64)
        )
        self.payload.whole_numbers("ghost.start", self._coarse(rows.starts[order]))
        self.payload.whole_numbers("ghost.end", self._coarse(rows.ends[order]))
        self.payload.whole_numbers("ghost.added", corrections.added[order])
        self.payload.whole_numbers("ghost.query", self._coarse(corrections.queries[order]))

    def _meta(self) -> None:
        content = self.content
        scale = content.times.scale
        many = _many_valued(content)
        self.payload.meta |= {
            "title": self.title, "base": str(self.base), "shift": self.shift,
            "end": int(self.end), "unit": scale.unit, "zone": scale.zone,
            "dated": content.times.dated, "rules": [], "summary": {},
            "areas": [],
            "fluents": [
                {
                    "name": each.name, "arity": each.arity, "many": number in many,
                    "input": each in content.input_fluents,
                }
                for number, each in enumerate(content.relations)
            ],
            "events": [
                {
                    "name": kind.relation.name, "arity": kind.relation.arity,
                    "derived": kind.is_derived, "columns": list(kind.titles),
                    "quiet": kind.is_quiet, "uncertain": kind.is_uncertain,
                }
                for kind in content.kinds
            ],
        }  # fmt: skip


def _steps(numbers: Integers) -> Integers:
    """The difference of each number to the one before, which is small where they are sorted."""
    return np.diff(numbers, prepend=0)


def _many_valued(content: ReportContent) -> set[int]:
    """The numbers of the fluents that take several values."""
    _, (values,) = coded_texts([content.rows.values])
    pairs = np.unique(np.column_stack([content.rows.relations, values]), axis=0)
    numbers, counts = np.unique(pairs[:, 0], return_counts=True)
    return set(numbers[counts > 1].tolist())


def _bounds(content: ReportContent) -> tuple[int, int]:
    """The first and the last time of all that a report shows."""
    rows = [content.rows, content.bands]
    if content.corrections is not None:
        rows.append(content.corrections.rows)
    lists = [part for each in rows for part in (each.starts, each.ends[each.ends < INFINITY])]
    lists += [kind.times for kind in content.kinds]
    filled = [times for times in lists if len(times)]
    if not filled:
        return 0, 1
    first = min(int(times.min()) for times in filled)
    return first, max(max(int(times.max()) for times in filled), first + 1)
