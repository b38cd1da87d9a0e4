"""Gathers records from any number of sources into one set of columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cernis.check.amounts import FARTHEST
from cernis.errors import DataError
from cernis.kernels.array_types import Booleans, Integers
from cernis.knowledge.ground_values import Value
from cernis.records.column_titles import TableForm
from cernis.records.declared_values import as_declared, not_declared, value_as_declared
from cernis.records.record_columns import (
    INFINITE,
    ClockTimes,
    Coded,
    RecordColumns,
    RecordForm,
    RecordKind,
    Records,
    SetAside,
    SourceLines,
    TimeSpan,
    cell,
    column_of,
    fits,
    in_order,
    one_below_the_other,
)
from cernis.records.record_shapes import Shapes
from cernis.records.retractions import resolve
from cernis.records.times import NO_TIME, TooFine, is_date, time_point
from cernis.tables.domains import Texts

__all__ = ["NO_TIME", "Gathering", "trouble_with_times"]

TOO_FAR = "a time must lie between -2^62 and 2^62"
BACKWARDS = "the interval ends before it starts"
NO_RECORD = "there is no record to retract"
NO_CHANCE = "a probability must be a number from 0 to 1"
CLOCK = "$clock"
"""What has this name is no record: it says to a stream that all has come up to a time."""
NO_CLOCK = "$clock tells a time: a whole number, or a date and time"
TOO_LARGE = (
    "a whole number of more than 64 bits, or a float that is too large; "
    "declare the argument text if it is a name"
)
UNCERTAIN = "the record is uncertain: it has a probability, and the run is one of certain records"


def trouble_with_times(form: RecordForm, times: Sequence[int]) -> str:
    """Why the times of a record cannot be; empty if they can."""
    ends = times[2:]
    if any(abs(time) > FARTHEST for time in times[:2]):
        return TOO_FAR
    if any(abs(end) > FARTHEST and end != INFINITE for end in ends):
        return TOO_FAR
    return BACKWARDS if ends and ends[0] <= times[1] else ""


@dataclass(slots=True)
class _Rows:
    """Records of one form that come one by one."""

    times: list[Sequence[int]] = field(default_factory=list)
    values: list[Sequence[Value]] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    retracts: list[bool] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)
    ids: list[Value] = field(default_factory=list)

    def columns(self, form: RecordForm) -> RecordColumns:
        return RecordColumns(
            form,
            [np.array(column, np.int64) for column in zip(*self.times, strict=True)],
            [column_of(column) for column in zip(*self.values, strict=True)],
            np.array(self.places, np.int64),
            np.array(self.retracts, np.bool_) if any(self.retracts) else None,
            chances=np.array(self.chances) if min(self.chances) < 1 else None,
            ids=column_of(self.ids) if self.ids else None,
        )


@dataclass(slots=True)
class Gathering:
    """Takes records in, column-wise or one by one, and accounts for each."""

    shapes: Shapes
    sources: SourceLines = field(default_factory=SourceLines)
    count: int = 0
    uncertain: bool = False
    """Are records with a probability below 1 taken in, or set aside?"""
    ids: str | None = None
    """The title of the column of ids, if records have such; in text it is the last field."""
    live: bool = False
    """Are records part of a stream, which no single one of them may stop?"""
    dated: bool = False
    """Was any time a date or time, and not a whole number?"""
    table_forms: dict[tuple[object, ...], TableForm | str] = field(default_factory=dict)
    """How records that come one by one are understood, by their titles; or why they are not."""
    _parts: dict[RecordForm, list[RecordColumns]] = field(default_factory=dict)
    _rows: dict[RecordForm, _Rows] = field(default_factory=dict)
    _aside: list[tuple[int, SetAside]] = field(default_factory=list)
    _ignored: dict[str, int] = field(default_factory=dict)
    _warnings: dict[str, None] = field(default_factory=dict)
    _notes: dict[str, None] = field(default_factory=dict)
    _clock: list[ClockTimes] = field(default_factory=list)
    _skipped: list[SetAside] = field(default_factory=list)

    def add(self, part: RecordColumns, text: Callable[[int], str] | None = None) -> None:
        """Take records in; those whose times or probabilities cannot be are set aside.

        `text` gives the text of a row as it was written, if that is known.
        """
        self.count += len(part)
        text = text or part.text
        bad = _bad_times(part)
        if bad is not None:
            for row in np.flatnonzero(bad).tolist():
                reason = trouble_with_times(part.form, [int(time[row]) for time in part.times])
                self._set_aside(int(part.places[row]), reason, text(row))
            part, text = part.take(~bad), _text_of_rows(text, ~bad)
        large = _too_large(part)
        if large is not None:
            for row in np.flatnonzero(large).tolist():
                self._set_aside(int(part.places[row]), TOO_LARGE, text(row))
            part, text = part.take(~large), _text_of_rows(text, ~large)
        part, text = self._declared(part, text)
        part = self._certain(part, text)
        if len(part):
            self._parts.setdefault(part.form, []).append(part)

    def _declared(
        self, part: RecordColumns, text: Callable[[int], str]
    ) -> tuple[RecordColumns, Callable[[int], str]]:
        """The records whose values are numbers, where a declaration says so."""
        kept = np.ones(len(part), np.bool_)
        for at_column, declared in enumerate(self.shapes.declared_numbers(part.form)):
            if not declared:
                continue
            column, wrong = as_declared(part.columns[at_column], declared)
            part.columns[at_column] = column
            for row in [] if wrong is None else np.flatnonzero(wrong & kept).tolist():
                name = self.shapes.slot_titles(part.form)[at_column]
                words = not_declared(name, cell(column, row), declared)
                self._set_aside(int(part.places[row]), words, text(row))
            if wrong is not None:
                kept &= ~wrong
        if kept.all():
            return part, text
        part = part.take(kept)
        columns = part.columns
        for at_column, declared in enumerate(self.shapes.declared_numbers(part.form)):
            if declared:
                columns[at_column] = as_declared(columns[at_column], declared)[0]
        return part, _text_of_rows(text, kept)

    def _certain(self, part: RecordColumns, text: Callable[[int], str] | None) -> RecordColumns:
        """The records whose probabilities can be; in a run of certain ones, those that are 1."""
        if part.chances is None:
            return part
        possible = (part.chances >= 0) & (part.chances <= 1)
        used = possible if self.uncertain else part.chances == 1
        for row in np.flatnonzero(~used).tolist():
            reason = UNCERTAIN if possible[row] else NO_CHANCE
            self._set_aside(int(part.places[row]), reason, (text or part.text)(row))
        part = part if used.all() else part.take(used)
        if not self.uncertain or bool(np.all(part.chances == 1)):
            part.chances = None
        return part

    def add_row(
        self, form: RecordForm, times: Sequence[int], values: Sequence[Value], place: int,
        retracts: bool = False, chance: float = 1.0, id: Value | None = None,
    ) -> None:  # fmt: skip
        """Take one record in, whose times can be."""
        self.count += 1
        values = list(values)
        for number, declared in enumerate(self.shapes.declared_numbers(form)):
            if not declared:
                continue
            values[number], is_number = value_as_declared(values[number], declared)
            if not is_number:
                name = self.shapes.slot_titles(form)[number]
                one = _Rows([times], [values], [place], [retracts], [chance]).columns(form)
                self._set_aside(place, not_declared(name, values[number], declared), one.text(0))
                return
        if not all(map(fits, values)) or (id is not None and not fits(id)):
            one = _Rows([times], [values], [place], [retracts], [chance]).columns(form)
            self._set_aside(place, TOO_LARGE, one.text(0))
            return
        if chance < 1 and not self.uncertain:
            one = _Rows([times], [values], [place], [retracts], [chance]).columns(form)
            self._certain(one, None)
            return
        rows = self._rows.setdefault(form, _Rows())
        rows.times.append(times)
        rows.values.append(values)
        rows.places.append(place)
        rows.retracts.append(retracts)
        rows.chances.append(chance)
        if id is not None:
            rows.ids.append(id)

    def set_aside(self, place: int, reason: str, text: str) -> None:
        """Set one record aside."""
        self.count += 1
        self._set_aside(place, reason, text)

    def time_point(self, time: Any) -> int:
        """The time-point of a time of any kind; `Unusable` if it is none."""
        point = time_point(time, self.shapes.time_scale)
        self.dated = self.dated or is_date(time)
        return point

    def set_aside_fraction(self, place: int, error: TooFine, text: str) -> None:
        """A time is finer than the unit: as others will be too, it is an error, but on streams."""
        if not self.live:
            source, line = self.sources.line(place)
            raise DataError(f"{SetAside(line, str(error), text, source)}")
        self.set_aside(place, str(error), text)

    def _set_aside(self, place: int, reason: str, text: str) -> None:
        source, line = self.sources.line(place)
        self._aside.append((place, SetAside(line, reason, text, source)))

    def skip(self, source: str, reason: str) -> None:
        """A whole file is not read."""
        self._skipped.append(SetAside(0, reason.removeprefix(f"{source}: "), "", source))

    def warn(self, text: str) -> None:
        """Something about the input is probably not meant; nothing is said twice."""
        if text:
            self._warnings[text] = None

    def note(self, text: str) -> None:
        """Something about the input is worth a word; nothing is said twice."""
        if text:
            self._notes[text] = None

    def ignore(self, name: str, count: int) -> None:
        """So many records are of a name that no rule mentions."""
        self.count += count
        self._ignored[name] = self._ignored.get(name, 0) + count

    def is_clock(self, name: str) -> bool:
        """Is what has this name no record, but the time of a stream?"""
        return self.live and name == CLOCK

    def tell_clock(
        self, times: Integers, places: Integers, known: Booleans, text: Callable[[int], str]
    ) -> None:
        """All that arrived up to these times has come; those that are not known are set aside."""
        near = known & (times <= FARTHEST) & (times >= -FARTHEST)
        for row in np.flatnonzero(~near).tolist():
            reason = TOO_FAR if known[row] else NO_CLOCK
            self.set_aside(int(places[row]), reason, text(row))
        if near.any():
            self._clock.append(ClockTimes(times[near], places[near]))

    def tell_clock_once(self, time: int | None, place: int, text: str) -> None:
        """All that arrived up to a time has come; None if what is written is no time."""
        known = time is not None and abs(time) <= FARTHEST
        if known:
            self._clock.append(ClockTimes(np.array([time], np.int64), np.array([place], np.int64)))
        else:
            self.set_aside(place, NO_CLOCK if time is None else TOO_FAR, text)

    def _clock_times(self) -> ClockTimes | None:
        if not self._clock:
            return None
        return ClockTimes(
            np.concatenate([each.times for each in self._clock]),
            np.concatenate([each.places for each in self._clock]),
        )

    def unresolved(self) -> Records:
        """All that was taken in, retractions among the records they may retract."""
        for form, rows in self._rows.items():
            self._parts.setdefault(form, []).append(rows.columns(form))
        self._rows = {}
        return Records(
            {form: one_below_the_other(parts) for form, parts in self._parts.items()},
            in_order(self._aside), dict(sorted(self._ignored.items())), self.count, self.sources,
            warnings=list(self._warnings), clock=self._clock_times(), skipped=self._skipped,
            dated=self.dated, notes=list(self._notes),
        )  # fmt: skip

    def records(self) -> Records:
        """All that was taken in, retractions matched with what they retract."""
        relations: dict[RecordForm, RecordColumns] = {}
        retractions: list[RecordColumns] = []
        for form, given in self.unresolved().relations.items():
            whole, unmatched = resolve(given)
            for row in unmatched.tolist():
                self._set_aside(int(whole.places[row]), NO_RECORD, whole.text(row))
            if whole.retracts is not None:
                matched = whole.retracts.copy()
                matched[unmatched] = False
                retractions.append(whole.take(matched))
                whole = _kept(whole)
            relations[form] = whole
        return Records(
            relations, in_order(self._aside), dict(sorted(self._ignored.items())), self.count,
            self.sources, retractions, list(self._warnings), dated=self.dated,
            notes=list(self._notes),
        )  # fmt: skip


def _text_of_rows(text: Callable[[int], str], rows: Booleans) -> Callable[[int], str]:
    """The texts of some rows, by their places among these."""
    places = np.flatnonzero(rows)
    return lambda row: text(int(places[row]))


def _too_large(part: RecordColumns) -> Booleans | None:
    """The records with a number that no column can hold; None if there is none."""
    too_large: Booleans | None = None
    for column in (*part.columns, *([] if part.ids is None else [part.ids])):
        if isinstance(column, Coded) and not _all_fit(column.values):
            wrong = np.array([not fits(value) for value in column.values], np.bool_)
            if wrong.any():
                beyond = wrong[column.codes]
                too_large = beyond if too_large is None else too_large | beyond
    return too_large if too_large is not None and too_large.any() else None


def _all_fit(values: Sequence[Value]) -> bool:
    """Is it clear at once that columns can hold the values?"""
    kinds = set() if isinstance(values, Texts) else set(map(type, values)) - {str}
    if not kinds <= {int, float}:
        return False
    numbers = [abs(value) for value in values if isinstance(value, int | float)] if kinds else []
    return max(numbers, default=0) < FARTHEST


def _kept(part: RecordColumns) -> RecordColumns:
    """The records without the retractions."""
    assert part.retracts is not None
    kept = part.take(~part.retracts)
    kept.retracts = None
    return kept


def _bad_times(part: RecordColumns) -> Booleans | None:
    """The records whose times cannot be, None if all can; between which times they lie is noted."""
    if not len(part):
        return None
    bad = np.zeros(0, np.bool_)
    arrivals, times = part.times[:2]
    first, last = int(times.min()), int(times.max())
    earliest, arrived = first, last
    if arrivals is not times:
        earliest, arrived = int(arrivals.min()), int(arrivals.max())
    part.span = TimeSpan(first, last, arrived)
    if max(last, arrived) > FARTHEST or min(first, earliest) < -FARTHEST:
        bad = (times > FARTHEST) | (times < -FARTHEST)
        bad |= (arrivals > FARTHEST) | (arrivals < -FARTHEST)
    if part.form.kind is RecordKind.INTERVAL:
        end = part.times[2]
        backwards = (end <= times) | ((end > FARTHEST) & (end != INFINITE))
        bad = bad | backwards if len(bad) else backwards
    return bad if bad.any() else None
