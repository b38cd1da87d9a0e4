"""A board of what a feed of changes has told so far: its intervals, and what was corrected."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.answers.reports.corrections import Corrections, uncovered
from cernis.answers.reports.input_intervals import input_intervals
from cernis.answers.reports.map_areas import fact_areas
from cernis.answers.reports.report_content import ReportContent, pack_content
from cernis.answers.reports.report_events import event_kinds
from cernis.answers.reports.report_file import name_thresholds, write_page
from cernis.answers.reports.report_lanes import LaneRows, rows_of, stacked
from cernis.answers.time_output import WHOLE_NUMBERS, TimeOutput
from cernis.check.checker import Checked
from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.pages.page_text import report_page
from cernis.pages.payload import Payload
from cernis.records.arrow_arrays import as_texts
from cernis.records.record_columns import RecordColumns, Records
from cernis.records.retractions import together
from cernis.tables.interval_tables import INFINITY

PairKey: TypeAlias = tuple[str, tuple[str, ...], str]
"""The fluent, its arguments and the value."""

_MOST: Final = 200_000
"""So many intervals are kept; the ones that began first are let go."""
_MOST_RECORDS: Final = 50_000
"""So many records of an event or an input fluent are kept; the oldest are let go."""
_MOST_MARKS: Final = 5_000
_MOST_LINES: Final = 200


@dataclass
class FeedBoard:
    """Takes the changes of a stream or a session, with times as whole numbers.

    A stretch before the time of the query before, about which a query says something else, is a
    correction; so is what it adds there, unless reports are `delayed` by a policy.
    """

    title: str
    tick: int = 1
    is_delayed: bool = False
    times: TimeOutput = WHOLE_NUMBERS
    version: int = 0
    latest: list[str] = field(default_factory=list)
    """The last changes as lines of text, the newest last."""
    checked: Checked | None = None
    """The program, by which records are shown beside their thresholds."""
    records: Records = field(default_factory=Records)
    """The newest records of the input."""
    _taken: int = 0
    _ends: dict[tuple[PairKey, int], tuple[int, float]] = field(default_factory=dict)
    _marks: list[tuple[PairKey, int, int, bool, int]] = field(default_factory=list)
    _query: int | None = None

    def take(self, changes: pa.Table, times: TimeOutput | None = None) -> None:
        """Take the changes of one or more queries, in the order of these."""
        self.times = times or self.times
        by_query: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
        for row in changes.to_pylist():
            by_query[row["query_time"]].append(row)
        for query in sorted(by_query):
            self._take_query(query, by_query[query])
        self._forget()
        self.version += bool(by_query)

    def take_records(self, parts: Sequence[RecordColumns]) -> None:
        """Take records of the input; those that retractions among them take back are let go."""
        numbered = []
        for part in parts:
            places = np.arange(self._taken, self._taken + len(part))
            numbered.append(replace(part, places=places))
            self._taken += len(part)
        self.records = together([*self.records.relations.values(), *numbered])
        for form, part in self.records.relations.items():
            if len(part) > _MOST_RECORDS:
                newest = np.argsort(part.times[1], kind="stable")[-_MOST_RECORDS:]
                self.records.relations[form] = part.take(np.sort(newest))
        self.version += bool(numbered)

    def _take_query(self, query: int, rows: Iterable[Mapping[str, Any]]) -> None:
        gone: dict[PairKey, list[tuple[int, int]]] = defaultdict(list)
        new: dict[PairKey, list[tuple[int, int]]] = defaultdict(list)
        for row in rows:
            pair = (row["fluent"], tuple(row["args"]), row["value"])
            end = INFINITY if row["end"] is None else row["end"]
            if row["change"] == "delete":
                self._ends.pop((pair, row["start"]), None)
                gone[pair].append((row["start"], end))
            else:
                chance = row.get("probability")
                self._ends[pair, row["start"]] = end, np.nan if chance is None else chance
                new[pair].append((row["start"], end))
            self._say(row, end)
        if self._query is not None:
            edge = self._query + self.tick
            self._mark(gone, new, edge, False, query)
            if not self.is_delayed:
                self._mark(new, gone, edge, True, query)
        self._query = query

    def _mark(
        self, these: Mapping[PairKey, list[tuple[int, int]]],
        others: Mapping[PairKey, list[tuple[int, int]]], edge: int, is_added: bool, query: int,
    ) -> None:  # fmt: skip
        for pair, stretches in these.items():
            cover = sorted(others.get(pair, []))
            for start, end in stretches:
                for first, last in uncovered(start, min(end, edge), cover):
                    self._marks.append((pair, first, last, is_added, query))

    def _say(self, row: Mapping[str, Any], end: int) -> None:
        sign = "-" if row["change"] == "delete" else "+"
        args = f"({', '.join(row['args'])})" if row["args"] else ""
        until = "" if end == INFINITY else self.times.text(end)
        span = f"[{self.times.text(row['start'])}, {until})"
        self.latest.append(f"{sign} {row['fluent']}{args} = {row['value']} {span}")
        del self.latest[:-_MOST_LINES]

    def _forget(self) -> None:
        if len(self._ends) > _MOST:
            oldest = sorted(self._ends, key=lambda key: key[1])[: len(self._ends) - _MOST]
            for key in oldest:
                del self._ends[key]
        del self._marks[:-_MOST_MARKS]

    def __len__(self) -> int:
        return len(self._ends)

    def write(self, path: str | Path) -> Path:
        """Write a page that shows the board into a file."""
        return write_page(path, report_page(self.title, self.payload().base64()))

    def payload(self) -> Payload:
        """The data of a page that shows the board."""
        pairs = [pair for pair, _ in self._ends]
        starts = np.array([start for _, start in self._ends], np.int64)
        ends = np.array([end for end, _ in self._ends.values()], np.int64)
        chances = np.array([chance for _, chance in self._ends.values()])
        marks = self._marks
        relations = sorted({Relation(p[0], len(p[1])) for p in [*pairs, *(m[0] for m in marks)]})
        rows = _rows(pairs, relations, starts, ends)
        rows.chances = chances if not np.isnan(chances).all() else None
        corrections = None
        if marks:
            places = np.array([mark[1:3] for mark in marks], np.int64)
            marked = _rows([mark[0] for mark in marks], relations, places[:, 0], places[:, 1])
            added, queries = zip(*((mark[3], mark[4]) for mark in marks), strict=True)
            corrections = Corrections(marked, np.array(added), np.array(queries, np.int64))
        content = ReportContent(relations, rows, self.times, corrections=corrections)
        if self.checked is not None:
            _show_records(content, self.records, self.checked)
        payload = pack_content(content, self.title)
        if self.checked is not None:
            name_thresholds(payload, content.kinds, self.checked)
            payload.meta["areas"] = fact_areas(self.checked)
        if self._query is not None:
            payload.meta["query"] = self.times.text(self._query)
        return payload


def _show_records(content: ReportContent, records: Records, checked: Checked) -> None:
    """Put events of the input, and input fluents on intervals, beside what was recognised."""
    hidden = checked.definitions.auxiliary
    content.kinds = list(event_kinds(Answer(), records, checked.catalogue, hidden))
    tables = {r: each.table for r, each in input_intervals(records).items() if r not in hidden}
    first = len(content.relations)
    content.relations = [*content.relations, *tables]
    content.input_fluents = frozenset(tables)
    rows = rows_of([(first + place, each, None) for place, each in enumerate(tables.values())])
    chances = content.rows.chances
    content.rows = stacked(content.rows, rows)
    if chances is not None:
        content.rows.chances = np.append(chances, np.full(len(rows.starts), np.nan))


def _rows(pairs: list[PairKey], relations: list[Relation], starts: Any, ends: Any) -> LaneRows:
    """Rows of intervals, each pair being a group of its own."""
    numbers = {relation: number for number, relation in enumerate(relations)}
    groups: dict[PairKey, int] = {}
    places = np.array([groups.setdefault(pair, len(groups)) for pair in pairs], np.int64)
    return LaneRows(
        np.array([numbers[Relation(pair[0], len(pair[1]))] for pair in groups], np.int64),
        as_texts(pair[1][0] if pair[1] else "" for pair in groups),
        as_texts(", ".join(pair[1][1:]) for pair in groups),
        as_texts(pair[2] for pair in groups), places, starts, ends,
    )  # fmt: skip


def whole_times(changes: pa.Table, times: TimeOutput) -> pa.Table:
    """A feed that came out with timestamps, with its times as time-points again."""
    for place, column in enumerate(changes.schema):
        if pa.types.is_timestamp(column.type):
            per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
            ratio = per_second // times.scale.per_second
            whole = pc.divide(changes.column(place).cast(pa.int64()), ratio)
            changes = changes.set_column(place, column.name, whole)
    return changes
