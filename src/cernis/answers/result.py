"""What was recognised, for people and programs to read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from cernis.answers.answer_lines import text_blocks
from cernis.answers.answer_tables import all_happenings, all_intervals, event_frame, fluent_frame
from cernis.answers.time_output import WHOLE_NUMBERS, TimeOutput
from cernis.answers.unused_records import is_mostly_unused
from cernis.check.catalogue import Catalogue
from cernis.check.model import Relation
from cernis.errors import CernisError
from cernis.evaluate.answer import Answer
from cernis.records.record_columns import SetAside
from cernis.records.times import call_time

if TYPE_CHECKING:
    from cernis.answers.reports.report_content import RunOrigin

Table = TypeVar("Table")


def as_text(answer: Answer, times: TimeOutput = WHOLE_NUMBERS) -> str:
    """One line for each fluent-value pair with any interval and each derived event, sorted."""
    return b"".join(text_blocks(answer, times)).decode()


@dataclass(frozen=True, slots=True)
class Summary:
    """What became of the records of a run, and what came of it."""

    records: int
    """All records there were, used or not."""
    used: int
    """Those that are of the program's input and can be read, retractions left out."""
    ignored: Mapping[str, int] = field(default_factory=dict)
    """How many there were of each name that no rule mentions."""
    set_aside: tuple[SetAside, ...] = ()
    """Those that cannot be read."""
    too_late: tuple[SetAside, ...] = ()
    """Those that arrived when the points they are about had been forgotten."""
    outside: int = 0
    """How many are about no point of the run, or arrived after it."""
    remarks: tuple[str, ...] = ()
    """What else there is to say about the input."""
    start: int = 0
    end: int = 0
    queries: int = 0
    conflicts: int = 0
    """How often two values of a fluent were initiated at one point."""
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    """What about the input is probably not meant, such as columns that no name matches."""
    notes: tuple[str, ...] = ()
    """What is only good to know, such as columns that are not used."""

    @property
    def is_mostly_unused(self) -> bool:
        """Are more than half of the records ignored or set aside, or none used at all?"""
        unused = sum(self.ignored.values()) + len(self.set_aside)
        lost = unused + len(self.too_late) + self.outside
        return is_mostly_unused(self.records, unused, self.records - lost)

    @property
    def per_second(self) -> float:
        """Records a second, from reading to the last query."""
        return self.records / self.seconds if self.seconds else 0.0


class Result:
    """The intervals of all fluents that rules define, and the happenings of all events.

    Tables are made when they are first asked for.
    """

    def __init__(
        self, answer: Answer, catalogue: Catalogue, summary: Summary,
        as_of: tuple[tuple[int, Answer], ...] = (), times: TimeOutput = WHOLE_NUMBERS,
        origin: RunOrigin | None = None,
        trace: Callable[[Iterable[str] | None], pa.Table] | None = None,
    ) -> None:  # fmt: skip
        self.answer = answer
        self.summary = summary
        self.as_of = as_of
        self.times = times
        self.origin = origin
        self._catalogue = catalogue
        self._trace = trace

    def __repr__(self) -> str:
        return (
            f"<Result: {len(self.intervals)} intervals of {len(self.answer.fluents)} fluents, "
            f"{len(self.happenings)} happenings of {len(self.answer.events)} events>"
        )

    @cached_property
    def intervals(self) -> pa.Table:
        """All intervals: `fluent, args, value, start, end, open`; times as the input has them.

        Half-open, `[start, end)`; while an interval is open, its end is null. Arguments and values
        are text; `fluent` gives one fluent with typed columns.
        """
        return self.times.table(self._whole_intervals)

    @cached_property
    def _whole_intervals(self) -> pa.Table:
        return all_intervals(self.answer)

    @cached_property
    def happenings(self) -> pa.Table:
        """All happenings of derived events: `event, args, occurrence`."""
        return self.times.table(all_happenings(self.answer))

    def fluent(self, name: str) -> pa.Table:
        """The intervals of one fluent, with typed columns.

        The columns are its arguments, called as in the rules, then `value, start, end, open`. The
        name may say the number of arguments: `rich/1`.
        """
        relation, table = find_relation(name, self.answer.fluents, "fluent")
        return self.times.table(fluent_frame(relation, table, self._catalogue))

    def event(self, name: str) -> pa.Table:
        """The happenings of one derived event: its arguments and `occurrence`."""
        relation, table = find_relation(name, self.answer.events, "event")
        return self.times.table(event_frame(relation, table, self._catalogue))

    def holds_at(self, time: Any) -> pa.Table:
        """What held at a time-point, or at a date or time of any kind: `fluent, args, value`."""
        intervals, point = self._whole_intervals, call_time(time, self.times.scale)
        begun = pc.less_equal(intervals["start"], point)
        going_on = pc.fill_null(pc.greater(intervals["end"], point), True)
        chosen = intervals.filter(pc.and_(begun, going_on))
        return chosen.select(["fluent", "args", "value"])

    def provenance(self, names: Iterable[str] | None = None) -> pa.Table:
        """The records that began or ended intervals, or made events happen: one in each row.

        `name, args, value, start, end` are those of `intervals`; the role is `began`, `ended` or
        `happened`; `rule` is where the rule stands, and `record, source, line, record_name,
        record_args, record_value, occurrence` are the record's. The rows of one match of a pattern
        have the same number in `match`. `names` chooses fluents and events. The events are read
        and evaluated again, as nothing is kept for this while a run goes on.
        """
        if self._trace is None:
            raise CernisError("this result does not know its events: ask the one of Program.run")
        return self._trace(names)

    def select(self, *names: str) -> Result:
        """The result with only the fluents and derived events of these names."""
        from cernis.answers.selection import selected_answer, selected_relations

        relations = selected_relations(names, self._catalogue, self._hidden)
        as_of = tuple((query, selected_answer(each, relations)) for query, each in self.as_of)
        chosen = copy(self)
        for table in ("intervals", "happenings", "_whole_intervals"):
            chosen.__dict__.pop(table, None)
        chosen.answer, chosen.as_of = selected_answer(self.answer, relations), as_of
        return chosen

    def text(self) -> str:
        """One line for each fluent-value pair with any interval and each derived event, sorted.

        With answers as of each query, these stand below `% query` and the query time.
        """
        if not self.as_of:
            return as_text(self.answer, self.times)
        return "".join(
            f"% query {self.times.text(query)}\n{as_text(answer, self.times)}"
            for query, answer in self.as_of
        )

    def report(
        self, path: str | Path, *, title: str | None = None, events: bool = True,
        positions: pa.Table | None = None, areas: str | Path | Mapping[str, Any] | None = None,
        causes: bool | None = None, explain: Iterable[str] = (),
    ) -> Path:  # fmt: skip
        """Write a page for a browser into a file: a timeline of all intervals and events.

        The page needs no other file and no network. Without `events`, it has intervals only. With
        answers as of each query, it shows what later queries have corrected. A map shows events
        with a longitude and a latitude, `positions` (a table of `vessel, t, lon, lat`) and
        `areas`, which are GeoJSON. `causes` gives each interval the rules and records that began
        and ended it, for which the events are evaluated again; unless it is said, so it is done
        for up to 1,000,000 intervals. `explain` names fluents whose intervals are explained as a
        whole.
        """
        from cernis.answers.reports.report_file import ReportOptions, has_causes, write_report

        if causes is None:
            causes = events and has_causes(self.origin, self.answer)
        options = ReportOptions(title, events, positions, areas, causes, tuple(explain))
        return write_report(
            path, self.origin, self.answer, self.summary, self.times, options, self.as_of
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: a small timeline and a table."""
        from cernis.answers.reports.notebook_view import result_view

        return result_view(self.answer, self.times, self._shown())

    @property
    def _hidden(self) -> set[Relation]:
        return self.origin.checked.definitions.auxiliary if self.origin else set()

    def _shown(self) -> list[Relation]:
        return [relation for relation in self._catalogue.fluents if relation not in self._hidden]

    def to_pandas(self) -> Any:
        """All intervals as a data frame; an open end is missing."""
        return self.intervals.to_pandas(types_mapper=_nullable(pa.int64()))


def _nullable(kind: pa.DataType) -> Callable[[pa.DataType], object | None]:
    """Keep times whole numbers, though some are missing."""
    whole = import_module("pandas").Int64Dtype()
    return lambda given: whole if given == kind else None


def find_relation(name: str, tables: Mapping[Relation, Table], kind: str) -> tuple[Relation, Table]:
    """The one relation of a name, with or without the number of arguments, and its table."""
    matching = [r for r in tables if name in (r.name, str(r), r.name.partition("(")[0])]
    if len(matching) == 1:
        return matching[0], tables[matching[0]]
    known = ", ".join(map(str, matching or tables)) or "none"
    trouble = "there are several" if matching else f"there is no {kind} {name}; there are"
    raise CernisError(f"{trouble}: {known}" if matching else f"{trouble} {known}")
