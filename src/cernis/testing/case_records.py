"""What a case is given: lines and tables of records, as rows that a run and a session take in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from cernis.check.checker import Checked
from cernis.check.model import Relation
from cernis.errors import DataError
from cernis.knowledge.ground_values import Value
from cernis.testing.case_files import CaseBlock, CaseFault, CaseLine, fields_of, table_rows
from cernis.testing.case_terms import args_by_title, cell_value, read_ground
from cernis.testing.case_times import TIME, CaseClock

_RECORD: Final = re.compile(
    rf"(?:at\s+|from\s+)?(?P<start>{TIME})(?:\s+to\s+(?P<end>{TIME}|inf))?\s+"
    rf"(?P<entity>\S.*?)"
    rf"(?:,?\s+arrives\s+(?P<arrives>{TIME}))?(?:,?\s+retracted\s+(?P<retracted>{TIME}))?"
)
_TIMES: Final = ("time", "from", "to", "arrives", "retracted", "value")

RECORD_HELP: Final = (
    "write `TIME event(arguments)`, `TIME fluent(arguments)=value` or `TIME to TIME "
    "fluent(arguments)=value`, then `arrives TIME` if it is late, and `retracted TIME` if it is "
    "taken back"
)


@dataclass(frozen=True, slots=True)
class CaseRecord:
    """A record of a case; its times are time-points, and the end of an open interval is None."""

    line: int
    name: str
    args: tuple[Value, ...]
    held: Value | None
    start: int
    end: int | None = None
    is_interval: bool = False
    arrives: int | None = None
    retracted: int | None = None

    @property
    def arrival(self) -> int:
        """When it becomes known: at its time, unless it is late."""
        return self.start if self.arrives is None else self.arrives

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The record, and its retraction if there is one, in the order of text records."""
        values: list[Any] = [] if self.held is None else [self.held]
        if self.is_interval:
            values.insert(0, "inf" if self.end is None else self.end)
        rest = (*values, *self.args)
        yield (self.name, self.arrival, self.start, *rest)
        if self.retracted is not None:
            yield (f"-{self.name}", self.retracted, self.start, *rest)

    def times(self) -> Iterator[int]:
        """All times that it names."""
        yield from (self.start, self.arrival)
        yield from (time for time in (self.end, self.retracted) if time is not None)


def read_records(block: CaseBlock, checked: Checked, clock: CaseClock) -> Iterator[CaseRecord]:
    """The records of a `given` block; a CaseFault says which line is wrong."""
    if block.subject:
        yield from _table_records(block, checked, clock)
        return
    for line in block.lines:
        yield _line_record(line, checked, clock)


def _line_record(line: CaseLine, checked: Checked, clock: CaseClock) -> CaseRecord:
    parts = _RECORD.fullmatch(line.text)
    if parts is None:
        raise CaseFault(line.number, f"{line.text!r} is no record; {RECORD_HELP}")
    try:
        name, args, held = read_ground(parts["entity"], checked)
        return _record(
            line.number, name, tuple(args), held, clock,
            {key: text for key, text in parts.groupdict().items() if text and key != "entity"},
        )  # fmt: skip
    except DataError as error:
        raise CaseFault(line.number, str(error)) from None


def _record(
    line: int, name: str, args: tuple[Value, ...], held: Value | None, clock: CaseClock,
    times: dict[str, str],
) -> CaseRecord:  # fmt: skip
    points = {key: clock.read(text) for key, text in times.items() if text != "inf"}
    is_interval = "end" in times
    if is_interval and held is None:
        raise DataError(
            "an event has one time; only a fluent, as in f(a)=1, lasts from one to another"
        )
    record = CaseRecord(
        line, name, args, held, points["start"], points.get("end"), is_interval,
        points.get("arrives"), points.get("retracted"),
    )  # fmt: skip
    if is_interval and record.end is not None and record.end <= record.start:
        raise DataError("the record ends before it starts")
    if record.retracted is not None and record.retracted < record.arrival:
        raise DataError("the record is retracted before it arrives")
    return record


def _table_records(block: CaseBlock, checked: Checked, clock: CaseClock) -> Iterator[CaseRecord]:
    rows = table_rows(block)
    titles = fields_of(block.lines[0].text)
    arguments = [title for title in titles if title not in _TIMES]
    if "time" not in titles and not {"from", "to"} <= {*titles}:
        raise CaseFault(
            block.lines[0].number,
            "a table of records has a column `time`, or `from` and `to`, and one for each argument",
        )
    relation = Relation(block.subject, len(arguments))
    names = _argument_names(relation, checked, block)
    for row, line in rows:
        times = {
            "start": row.get("time") or row.get("from", ""), "end": row.get("to", ""),
            "arrives": row.get("arrives", ""), "retracted": row.get("retracted", ""),
        }  # fmt: skip
        held = cell_value(row["value"]) if "value" in row else None
        try:
            yield _record(
                line, block.subject, tuple(args_by_title(arguments, row, names)), held, clock,
                {key: text for key, text in times.items() if text or key == "start"},
            )  # fmt: skip
        except DataError as error:
            raise CaseFault(line, str(error)) from None


def _argument_names(relation: Relation, checked: Checked, block: CaseBlock) -> tuple[str, ...]:
    catalogue = checked.catalogue
    entry = catalogue.events.get(relation) or catalogue.fluents.get(relation)
    if entry is None:
        known = [str(each) for each in (*catalogue.events, *catalogue.fluents)]
        alike = [name for name in known if name.startswith(f"{relation.name}/")] or sorted(known)
        raise CaseFault(
            block.line, f"the rules have no {relation}; they have {', '.join(alike[:8]) or 'none'}"
        )
    return tuple(entry.argument_names)
