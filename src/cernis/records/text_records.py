"""Text records: `name|arrival|occurrence|args...`, one on each line, read column by column.

The separators of a block of text are found, lines are grouped by their name, and the lines of a
group by their number of fields. What has the same name and width has the same columns, and each is
read at once. Odd lines (with a time of an unusual form, say, or compound arguments) go to the exact
reader of single lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa

from cernis.kernels.array_types import Booleans, Floats, Integers
from cernis.kernels.separated_text import SeparatedText, separate
from cernis.kernels.text_fields import Fields, number_texts, read_times
from cernis.records.fields import as_texts, plain_text, typed
from cernis.records.gathering import CLOCK, NO_CHANCE, Gathering
from cernis.records.probabilities import probability_marks, read_chances
from cernis.records.record_columns import (
    RecordColumns,
    RecordForm,
    RecordKind,
)
from cernis.records.text_lines import TOO_FEW, heading, read_line
from cernis.records.time_columns import time_points, usual_dates

BLOCK: Final = 1 << 25
"""How much text is looked at together."""

_NOT_ASCII: Final = 128


def read_stream(
    stream: BinaryIO, name: str, gathering: Gathering,
    progress: Callable[[int], None] = lambda size: None,
) -> None:  # fmt: skip
    """Take in all records of a stream of UTF-8 text; `progress` hears of each block's bytes.

    Lines end in a line feed, with or without a carriage return before it; the last one may end
    without. A byte order mark at the beginning is skipped.
    """
    place = gathering.sources.begin(name)
    for block in _blocks(stream):
        count = _Block(block, place, gathering).read()
        gathering.sources.grow(count)
        place += count
        progress(len(block))


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    """The text in blocks that end with a line."""
    rest = b""
    chunk = stream.read(BLOCK).removeprefix(b"\xef\xbb\xbf")
    while chunk:
        end = chunk.rfind(b"\n") + 1
        if end:
            # A file that is one block is not copied.
            whole = chunk if end == len(chunk) else chunk[:end]
            yield rest + whole if rest else whole
            rest = b""
        rest += chunk[end:]
        chunk = stream.read(BLOCK)
    if rest:
        yield rest + b"\n"


class _Block:
    """A block of lines, the first of which has a given place, and what becomes of them."""

    def __init__(self, text: bytes, place: int, gathering: Gathering) -> None:
        self._text = text
        self._place = place
        self._gathering = gathering
        self._lines = separate(text)
        self._chances: Floats | None = None
        """The probability of each line, 1 where none is written; None if none is at all."""

    def read(self) -> int:
        """Take in all lines; gives how many there are."""
        count = self._lines.size
        names = self._lines.fields(np.arange(count), 0)
        bad_chances = self._read_chances(names)
        groups, firsts = number_texts(names)
        if len(bad_chances):
            groups[bad_chances] = len(firsts)
        grouped, order, bounds = self._lines.grouped(groups)
        for group, name in enumerate(names.some(firsts).all_written()):
            low, high = int(bounds[group]), int(bounds[group + 1])
            if low < high:
                rows = _GroupRows(grouped, np.arange(low, high), order[low:high])
                self._read_group(name.decode("utf-8", "replace"), rows)
        self._set_aside(bad_chances, NO_CHANCE)
        return count

    def _read_chances(self, names: Fields) -> Integers:
        """Take the probabilities off the names; gives the lines whose probability cannot be."""
        lines, marks = probability_marks(self._text, names)
        if not len(lines):
            return lines
        chances = read_chances(Fields(names.text, names.lows[lines], marks))
        names.lows[lines] = marks + 2
        self._chances = np.ones(len(names.lows))
        self._chances[lines] = chances
        return lines[(chances < 0) | (chances > 1)]

    def _read_group(self, name: str, rows: _GroupRows) -> None:
        """Take in lines whose first fields are equal, probabilities apart."""
        widths = rows.widths
        if widths.min() == 1:
            # Blank lines are common enough not to be looked at one by one.
            if name.strip() or self._chances is not None:
                self._one_by_one(rows.lines[widths == 1])
            rows, widths = rows.some(widths > 1), widths[widths > 1]
        if not len(widths):
            return
        head = heading(name)
        shapes = self._gathering.shapes
        if "::" in name:
            self._set_aside(rows.lines, NO_CHANCE)
        elif shapes.is_nested(head.name):
            self._one_by_one(rows.lines)
        elif self._gathering.is_clock(head.name):
            self._tell_clock(rows, head.retracts)
        elif not shapes.knows(head.name):
            self._gathering.ignore(head.name, len(widths))
        else:
            for width in _distinct(widths):
                form = shapes.of_fields(head.name, width - self._more)
                same = rows.some(widths == width)
                if isinstance(form, RecordForm):
                    self._take(same, form, head.retracts)
                else:
                    self._set_aside(same.lines, form or TOO_FEW)

    def _tell_clock(self, rows: _GroupRows, retracts: bool) -> None:
        """Take in lines such as `$clock|3600`; what a clock has said cannot be taken back."""
        rows = self._decodable(rows)
        times, known, _ = time_points(
            pa.chunked_array([as_texts(rows.fields(1))]), CLOCK, live=True,
            scale=self._gathering.shapes.time_scale,
        )  # fmt: skip
        known &= not retracts
        lines = rows.lines
        self._gathering.tell_clock(
            times, lines + self._place, known, lambda row: self._line(int(lines[row]))
        )

    def _take(self, rows: _GroupRows, form: RecordForm, retracts: bool) -> None:
        """Take in lines that have as many fields as the form says."""
        rows = self._decodable(rows)
        odd = np.zeros(len(rows.lines), np.bool_)
        may_be_open = [form.kind is RecordKind.INTERVAL and title == "end" for title in form.titles]
        times = [
            read_times(rows.fields(number), is_end, odd)
            for number, is_end in enumerate(may_be_open, 1)
        ]
        if odd.any():
            self._read_dates(rows, may_be_open, times, odd)
        if odd.any():
            self._one_by_one(rows.lines[odd])
            times, rows = [time[~odd] for time in times], rows.some(~odd)
        if len(rows.lines):
            self._add(rows, form, times, retracts)

    def _read_dates(
        self, rows: _GroupRows, may_be_open: list[bool], times: list[Integers], odd: Booleans
    ) -> None:
        """Read dates and times among the odd lines; lines without anything else are odd no more."""
        places = np.flatnonzero(odd)
        chosen = rows.some(odd)
        still_odd = np.zeros(len(places), np.bool_)
        any_dates = np.zeros(len(places), np.bool_)
        for number, (is_end, column) in enumerate(zip(may_be_open, times, strict=True), 1):
            is_date = np.zeros(len(places), np.bool_)
            fields = chosen.fields(number)
            read_times(fields, is_end, is_date)
            ticks, known = usual_dates(
                fields, self._gathering.shapes.time_scale, self._gathering.warn
            )
            column[places[is_date]] = ticks[is_date]
            still_odd |= is_date & ~known
            any_dates |= is_date & known
        self._gathering.dated |= bool((any_dates & ~still_odd).any())
        odd[places[~still_odd]] = False

    def _add(
        self, rows: _GroupRows, form: RecordForm, times: list[Integers], retracts: bool
    ) -> None:
        declared = self._gathering.shapes.declared_text(form)
        columns = [
            plain_text(rows.fields(number)) if is_text else typed(rows.fields(number))
            for number, is_text in enumerate(declared, 1 + len(times))
        ]
        lines = rows.lines
        flags = np.ones(len(lines), np.bool_) if retracts else None
        chances = None if self._chances is None else self._chances[lines]
        ids = typed(rows.fields(1 + len(times) + len(columns))) if self._more else None
        part = RecordColumns(
            form, times, columns, lines + self._place, flags, chances=chances, ids=ids
        )
        self._gathering.add(part, lambda row: self._line(int(lines[row])))

    @property
    def _more(self) -> int:
        """How many fields there are after the arguments: one, if records have ids."""
        return int(self._gathering.ids is not None)

    # -- single lines ------------------------------------------------------------------------

    def _one_by_one(self, lines: Integers) -> None:
        is_text = ~np.isin(lines, self._not_text)
        self._set_aside(lines[~is_text], "the line is not UTF-8 text")
        for line in lines[is_text].tolist():
            read_line(self._line(line), self._place + line, self._gathering)

    def _set_aside(self, lines: Integers, reason: str) -> None:
        for line in lines.tolist():
            self._gathering.set_aside(self._place + line, reason, self._line(line))

    def _line(self, line: int) -> str:
        return self._bytes(line).decode("utf-8", "replace").rstrip("\r")

    def _bytes(self, line: int) -> bytes:
        _, separators, firsts = self._lines
        return self._text[separators[firsts[line]] + 1 : separators[firsts[line + 1]]]

    def _decodable(self, rows: _GroupRows) -> _GroupRows:
        """The lines that are UTF-8; the others are set aside."""
        if not len(self._not_text):
            return rows
        is_text = ~np.isin(rows.lines, self._not_text)
        self._set_aside(rows.lines[~is_text], "the line is not UTF-8 text")
        return rows.some(is_text)

    @cached_property
    def _not_text(self) -> Integers:
        """The lines that are no UTF-8."""
        if self._text.isascii() or _is_text(self._text):
            return np.empty(0, np.int64)
        places = np.flatnonzero(self._lines.text >= _NOT_ASCII)
        lines = np.unique(np.searchsorted(self._lines.starts, places, "right") - 1)
        return np.array([line for line in lines.tolist() if not _is_text(self._bytes(line))])


class _GroupRows:
    """Some lines in a text of grouped lines, and which lines of the block they are."""

    def __init__(self, text: SeparatedText, rows: Integers, lines: Integers) -> None:
        self._text = text
        self._rows = rows
        self.lines = lines

    @property
    def widths(self) -> Integers:
        """How many fields each line has."""
        firsts = self._text.firsts
        return (firsts[self._rows + 1] - firsts[self._rows]).astype(np.int64)

    def fields(self, number: int) -> Fields:
        """The fields of this number."""
        return self._text.fields(self._rows, number)

    def some(self, chosen: Booleans) -> _GroupRows:
        """Some of them."""
        if chosen.all():
            return self
        return _GroupRows(self._text, self._rows[chosen], self.lines[chosen])


def _distinct(widths: Integers) -> list[int]:
    """The different numbers among some."""
    least = int(widths.min())
    return [least] if least == widths.max() else np.unique(widths).tolist()


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
