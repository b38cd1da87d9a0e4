"""Text records: `name|arrival|occurrence|args...`, one a line, as columns by relation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cernis.check.checker import Checked
from cernis.check.model import FluentKind, Relation, Shape
from cernis.knowledge.values import field_value

INFINITE = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class SetAside:
    """A record that cannot be used, with its line and the reason."""

    line: int
    reason: str
    text: str


@dataclass(slots=True)
class RecordColumns:
    """The records of one relation: their times and the columns behind them."""

    titles: tuple[str, ...]
    times: list[list[int]]
    columns: list[list[Any]]
    gone: dict[int, int] = field(default_factory=dict)
    """Rows that were taken back, and when."""

    def retract(self, times: list[int], values: list[Any]) -> bool:
        """Take back one row equal in all but its arrival; False if there is none."""
        wanted = (times[1:], values)
        for row in range(len(self.times[0]) - 1, -1, -1):
            own = ([column[row] for column in self.times[1:]], [c[row] for c in self.columns])
            if own == wanted and row not in self.gone and self.times[0][row] <= times[0]:
                self.gone[row] = times[0]
                return True
        return False


@dataclass(slots=True)
class Records:
    """What a text holds: columns by relation name and shape, and what was set aside."""

    relations: dict[tuple[str, tuple[str, ...], int], RecordColumns] = field(default_factory=dict)
    set_aside: list[SetAside] = field(default_factory=list)
    count: int = 0


_EVENT = ("arrival", "occurrence")
_INTERVAL = ("arrival", "start", "end")


def read_text(lines: Iterable[str], checked: Checked) -> Records:
    """Read records; what cannot be read is set aside with its line and the reason."""
    records = Records()
    shapes = _Shapes(checked)
    retractions: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r\n")
        if not line.strip():
            continue
        records.count += 1
        if line.startswith("-"):
            retractions.append((number, line))
            continue
        reason = _record(line, shapes, records)
        if reason:
            records.set_aside.append(SetAside(number, reason, line))
    for number, line in retractions:
        reason = _record(line[1:], shapes, records, retracts=True)
        if reason:
            records.set_aside.append(SetAside(number, reason, line))
    return records


def _record(line: str, shapes: _Shapes, records: Records, retracts: bool = False) -> str:
    """Take in one record; gives the reason if it cannot be."""
    fields = line.split("|")
    name = fields[0]
    if "::" in name:
        return "probabilities are not supported yet"
    if len(fields) < 3:
        return "a record has a name, an arrival and an occurrence"
    titles, arity = shapes.of(name, len(fields))
    if titles is None:
        return shapes.wrong(name, len(fields))
    count = len(titles)
    try:
        times = [_time(text) for text in fields[1 : 1 + count]]
    except ValueError:
        return "a time must be a whole number"
    if count == 3 and times[1] >= times[2]:
        return "the interval ends before it starts"
    key = (name, titles, arity)
    own = records.relations.get(key)
    values = [field_value(text) for text in fields[1 + count :]]
    if retracts:
        known = own is not None and own.retract(times, values)
        return "" if known else "there is no record to retract"
    if own is None:
        width = len(fields) - 1 - count
        own = records.relations[key] = RecordColumns(
            titles, [[] for _ in titles], [[] for _ in range(width)]
        )
    for column, time in zip(own.times, times, strict=True):
        column.append(time)
    for filled, value in zip(own.columns, values, strict=True):
        filled.append(value)
    return ""


def _time(text: str) -> int:
    if text.strip() == "inf":
        return INFINITE
    value = int(text)
    if not -(1 << 62) <= value <= 1 << 62:
        raise ValueError(text)
    return value


class _Shapes:
    """What a record of a name and a number of fields is."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._known: dict[tuple[str, int], tuple[tuple[str, ...] | None, int]] = {}

    def of(self, name: str, fields: int) -> tuple[tuple[str, ...] | None, int]:
        key = (name, fields)
        if key not in self._known:
            self._known[key] = self._look(name, fields)
        return self._known[key]

    def _look(self, name: str, fields: int) -> tuple[tuple[str, ...] | None, int]:
        catalogue = self._checked.catalogue
        events = [r for r, e in catalogue.events.items() if r.name == name and e.is_input]
        fluents = {
            r: f for r, f in catalogue.fluents.items()
            if r.name == name and f.kind is FluentKind.INPUT
        }  # fmt: skip
        if Relation(name, fields - 3) in events:
            return _EVENT, fields - 3
        for relation, fluent in fluents.items():
            if fields == 4 + relation.arity and fluent.shape is not Shape.INTERVALS:
                return _EVENT, relation.arity
            if fields == 5 + relation.arity and fluent.shape is not Shape.POINTS:
                return _INTERVAL, relation.arity
        if not events and not fluents:
            return _EVENT, -1
        return None, 0

    def wrong(self, name: str, fields: int) -> str:
        """Why a record of a known name does not fit."""
        return f"{name} does not have {fields - 3} arguments"
