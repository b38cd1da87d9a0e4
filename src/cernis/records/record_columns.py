"""Records as columns: what all kinds of input become before they are encoded."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite
from typing import NamedTuple, TypeAlias, cast

import numpy as np

from cernis.check.model import Relation
from cernis.kernels.array_types import Array, Booleans, Floats, Integers
from cernis.knowledge.ground_values import Value, term_of
from cernis.syntax.printer import show
from cernis.syntax.tree import Number, walk
from cernis.tables.domains import Domain, Texts
from cernis.tables.domains import Value as Scalar

INFINITE = (1 << 63) - 1
"""The end of an interval that is open."""

_LARGEST = (1 << 63) - 1

FUTURE = "it is of the future: farther ahead than is allowed"
TOO_LATE = "too late: it arrived when this time was forgotten"


@dataclass(slots=True)
class Coded:
    """Values of any kind: row r has `values[codes[r]]`. A value may be listed more than once."""

    values: Sequence[Value]
    codes: Integers

    def __len__(self) -> int:
        return len(self.codes)


Column: TypeAlias = Integers | Floats | Coded
"""Whole numbers, floats, or values of any kind."""


def column_of(values: Sequence[Value]) -> Column:
    """Python values as a column: of whole numbers or of floats if all are, else coded.

    >>> column_of([1, 2]), column_of([1, "a", 1]).codes.tolist()
    (array([1, 2]), [0, 1, 0])
    """
    kinds = {type(value) for value in values}
    if kinds == {int} and all(-_LARGEST <= v <= _LARGEST for v in values):  # type: ignore[operator]
        return np.array(values, np.int64)
    if kinds == {float}:
        return np.array(values, np.float64)
    # 3 and 3.0 are two values, though Python takes one for the other.
    codes: dict[tuple[type, Value], int] = {}
    rows = [codes.setdefault((type(value), value), len(codes)) for value in values]
    return Coded([value for _, value in codes], np.array(rows, np.int64))


def as_text(column: Column) -> Column:
    """The column with its numbers as text, as they print.

    >>> as_text(np.array([7, 8])).values
    ['7', '8']
    """
    values = coded(column)
    if isinstance(values.values, Texts) or all(isinstance(v, str) for v in values.values):
        return values
    return Coded([shown(value) for value in values.values], values.codes)


def taken(column: Column, rows: Integers | Booleans) -> Column:
    """The rows of a column that are at these positions, or where the mask is set."""
    if isinstance(column, Coded):
        return Coded(column.values, column.codes[rows])
    return column[rows]


def joined(columns: Sequence[Column]) -> Column:
    """Columns one below the other; values stay what they are, whole numbers and floats alike."""
    filled = [column for column in columns if len(column)] or list(columns[:1])
    if len(filled) == 1:
        return filled[0]
    arrays = [column for column in filled if isinstance(column, np.ndarray)]
    if len(arrays) == len(filled) and len({array.dtype for array in arrays}) == 1:
        return np.concatenate(arrays)  # type: ignore[return-value]
    values: list[Value] = []
    codes: list[Integers] = []
    for each in map(coded, filled):
        codes.append(each.codes + len(values))
        values += each.values
    return Coded(values, np.concatenate(codes))


def coded(column: Column) -> Coded:
    """The column with each distinct number listed."""
    if isinstance(column, Coded):
        return column
    distinct, codes = np.unique(column, return_inverse=True)
    return Coded(distinct.tolist(), codes.astype(np.int64))


def fits(value: Value) -> bool:
    """Is each number in a value a whole one of 64 bits, or a finite float?

    >>> fits(1 << 63), fits(-1 << 63), fits("a name")
    (False, True, True)
    """
    if isinstance(value, int):
        return value + 1 >= -_LARGEST and value <= _LARGEST
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, str):
        return True
    return all(fits(part.value) for part in walk(value) if isinstance(part, Number))


def cell(column: Column, row: int) -> Value:
    """The value of one row."""
    if isinstance(column, Coded):
        return column.values[int(column.codes[row])]
    return column[row].item()  # type: ignore[no-any-return]


def numbered(column: Column) -> tuple[Integers, int]:
    """Equal numbers for equal values, counted from 0, and how many there are."""
    if not isinstance(column, Coded):
        distinct, codes = np.unique(column, return_inverse=True)
        return codes.astype(np.int64), len(distinct)
    first: dict[tuple[type, Value], int] = {}
    table = [first.setdefault((type(value), value), len(first)) for value in column.values]
    return np.array(table, np.int64)[column.codes], max(len(first), 1)


def coding_of(column: Column) -> tuple[Array, Domain | None]:
    """A column with a domain of its own, if it is not one of numbers."""
    if not isinstance(column, Coded):
        return column, None
    domain = Domain()
    codes = domain.encode(cast(Sequence[Scalar], column.values))
    return (codes[column.codes] if len(codes) else column.codes), domain


class RecordKind(StrEnum):
    """What a record is about."""

    EVENT = "event"
    POINT = "fluent at a point"
    INTERVAL = "fluent on an interval"


@dataclass(frozen=True, slots=True)
class RecordForm:
    """The form of a record: its relation, and whether it is about a point or an interval."""

    relation: Relation
    kind: RecordKind

    @property
    def titles(self) -> tuple[str, ...]:
        """The names of its times."""
        if self.kind is RecordKind.INTERVAL:
            return ("arrival", "start", "end")
        return ("arrival", "occurrence")

    @property
    def width(self) -> int:
        """How many columns follow the times: the arguments, and the value of a fluent first."""
        return self.relation.arity + (self.kind is not RecordKind.EVENT)


class TimeSpan(NamedTuple):
    """The first and the last time of some records, and up to when all of them have arrived."""

    first: int
    last: int
    arrived: int


@dataclass(slots=True)
class RecordColumns:
    """Records of one form.

    `times` are as `form.titles` says, an open end being `INFINITE`. `columns` are the value, of a
    fluent, and the arguments. `places` are the numbers of the records, counted over all sources.
    """

    form: RecordForm
    times: list[Integers]
    columns: list[Column]
    places: Integers
    retracts: Booleans | None = None
    """Which rows take an earlier record back; None if none does."""
    gone: Integers | None = None
    """When each record is taken back, `INFINITE` for those that are not; None if none is."""
    chances: Floats | None = None
    """The probability of each record; None if all are certain."""
    ids: Column | None = None
    """What identifies each record of its relation, where records have ids."""
    span: TimeSpan | None = None
    """Between which times the records lie, if that is known already."""

    def __len__(self) -> int:
        return len(self.places)

    def take(self, rows: Integers | Booleans) -> RecordColumns:
        """Some of the records."""
        return RecordColumns(
            self.form,
            [time[rows] for time in self.times],
            [taken(column, rows) for column in self.columns],
            self.places[rows],
            None if self.retracts is None else self.retracts[rows],
            None if self.gone is None else self.gone[rows],
            None if self.chances is None else self.chances[rows],
            None if self.ids is None else taken(self.ids, rows),
        )

    def last_points(self, tick: int) -> Integers:
        """The last point that each record is about."""
        if self.form.kind is not RecordKind.INTERVAL:
            return self.times[1]
        end = self.times[2]
        return np.where(end == INFINITE, INFINITE, end - tick)

    def text(self, row: int) -> str:
        """A record as a line of text; numbers as they print, not as they were written."""
        name = self.form.relation.name
        if self.retracts is not None and self.retracts[row]:
            name = f"-{name}"
        if self.chances is not None and self.chances[row] < 1:
            name = f"{self.chances[row]}::{name}"
        times = ["inf" if time[row] == INFINITE else str(time[row]) for time in self.times]
        return "|".join([name, *times, *(shown(cell(column, row)) for column in self.columns)])


def shown(value: Value) -> str:
    """A value as the field of a line."""
    if type(value) is int:
        return str(value)
    return value if isinstance(value, str) else show(term_of(value))


def one_below_the_other(parts: Sequence[RecordColumns]) -> RecordColumns:
    """Records of one form from several places, in this order."""
    if len(parts) == 1:
        return parts[0]
    retracts = None
    if any(part.retracts is not None for part in parts):
        retracts = np.concatenate([_flags(part) for part in parts])
    return RecordColumns(
        parts[0].form,
        [np.concatenate(own) for own in zip(*(part.times for part in parts), strict=True)],
        [joined(own) for own in zip(*(part.columns for part in parts), strict=True)],
        np.concatenate([part.places for part in parts]),
        retracts,
        chances=_chances(parts),
        ids=_ids(parts),
    )


def _closed(times: Integers) -> Integers:
    """Those times that are not infinite."""
    return times[times < INFINITE]


def _chances(parts: Sequence[RecordColumns]) -> Floats | None:
    if all(part.chances is None for part in parts):
        return None
    return np.concatenate(
        [np.ones(len(part)) if part.chances is None else part.chances for part in parts]
    )


def _ids(parts: Sequence[RecordColumns]) -> Column | None:
    ids = [part.ids for part in parts if part.ids is not None]
    return joined(ids) if len(ids) == len(parts) else None


def _flags(part: RecordColumns) -> Booleans:
    return np.zeros(len(part), np.bool_) if part.retracts is None else part.retracts


@dataclass(frozen=True, slots=True)
class SetAside:
    """A record that cannot be used: its line or row in its source, the reason, and its text.

    Without a line, it is the whole source.
    """

    line: int
    reason: str
    text: str
    source: str = ""

    def __str__(self) -> str:
        if not self.line:
            return f"{self.source or self.text}: {self.reason}"
        return f"{self.source or 'line'}:{self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class ClockTimes:
    """Times up to which all has come that arrived, as the input says itself, and where it does."""

    times: Integers
    places: Integers


@dataclass(slots=True)
class Records:
    """All records of an input: those that can be used by form, and what became of the others."""

    relations: dict[RecordForm, RecordColumns] = field(default_factory=dict)
    set_aside: list[SetAside] = field(default_factory=list)
    ignored: dict[str, int] = field(default_factory=dict)
    """How many there were of each name that no rule mentions."""
    count: int = 0
    """All records, used or not; a retraction is one too."""
    sources: SourceLines = field(default_factory=lambda: SourceLines())
    retractions: list[RecordColumns] = field(default_factory=list)
    """The retractions that found a record to take back."""
    warnings: list[str] = field(default_factory=list)
    """What about the input is probably not meant."""
    clock: ClockTimes | None = None
    """What the input of a stream says of its clock; None if it says nothing."""
    skipped: list[SetAside] = field(default_factory=list)
    """Files of a stream that were not read."""
    dated: bool = False
    """Was any time a date or time, and not a whole number?"""
    notes: list[str] = field(default_factory=list)
    """What else there is to say about the input, such as columns that are not used."""

    @property
    def uncertain(self) -> frozenset[Relation]:
        """The relations of which some records are uncertain."""
        return frozenset(
            form.relation for form, part in self.relations.items() if part.chances is not None
        )

    @property
    def fluents(self) -> frozenset[Relation]:
        """The fluents that there are records of."""
        given = self.relations.items()
        return frozenset(
            f.relation for f, own in given if f.kind is not RecordKind.EVENT and len(own)
        )

    @property
    def used(self) -> int:
        """How many records the program gets to see."""
        return sum(len(own) for own in self.relations.values())

    @property
    def first(self) -> int | None:
        """The first occurrence of all, None if there is none."""
        firsts = [int(own.times[1].min()) for own in self.relations.values() if len(own)]
        return min(firsts, default=None)

    def last(self, tick: int) -> int | None:
        """The last point that any record is about, or at which one arrived or was retracted.

        Of an open interval, only the start counts.
        """
        lasts: list[int] = []
        for own in self.relations.values():
            known = [*own.times[:2], *(end - tick for end in map(_closed, own.times[2:]))]
            known += [] if own.gone is None else [_closed(own.gone)]
            lasts += [int(times.max()) for times in known if len(times)]
        return max(lasts, default=None)

    def aside(self, place: int, reason: str, text: str) -> SetAside:
        """A record to be set aside, by its place."""
        source, line = self.sources.line(place)
        return SetAside(line, reason, text, source)


@dataclass(slots=True)
class SourceLines:
    """The sources of records, whose lines or rows are counted one source after the other.

    >>> sources = SourceLines()
    >>> sources.begin("a.txt"), sources.grow(3), sources.begin("b.txt"), sources.line(4)
    (1, None, 4, ('b.txt', 1))
    """

    _firsts: list[int] = field(default_factory=list)
    _names: list[str] = field(default_factory=list)
    _next: int = 1

    def begin(self, name: str) -> int:
        """Begin a further source; gives the place of its first line."""
        self._firsts.append(self._next)
        self._names.append(name)
        return self._next

    def grow(self, lines: int) -> None:
        """The source begun last has that many lines more."""
        self._next += lines

    @property
    def source_names(self) -> list[str]:
        """The names of all sources, and last an empty one for what is of none."""
        return [*self._names, ""]

    def lines(self, places: Integers) -> tuple[Integers, Integers]:
        """The number of the source, among `source_names`, and the line of each place."""
        firsts = np.array([*self._firsts, 0], np.int64)
        numbers = np.searchsorted(firsts[:-1], places, "right") - 1
        return numbers % len(firsts), places - firsts[numbers] + (numbers >= 0)

    def line(self, place: int) -> tuple[str, int]:
        """The source and the line of a place."""
        at = bisect_right(self._firsts, place) - 1
        return (self._names[at], place - self._firsts[at] + 1) if at >= 0 else ("", place)


def in_order(asides: Iterable[tuple[int, SetAside]]) -> list[SetAside]:
    """Set aside records by place."""
    return [aside for _, aside in sorted(asides, key=lambda pair: pair[0])]
