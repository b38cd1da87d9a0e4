"""Text records: `name|arrival|occurrence|args...`, one on each line, read column by column.

A block of text is cut into lines, lines are grouped by their name, and each group goes through
Arrow's reader of delimited text, as its lines have the same columns, or else are grouped by their
number of fields. Odd lines (with a carriage return inside, say, or compound arguments) go to the
exact reader of single lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cernis.check.checker import Checked
from cernis.kernels.array_types import Booleans, Integers
from cernis.records.arrow_arrays import as_arrow, as_numpy
from cernis.records.fields import delimited, plain_text, times_of, typed
from cernis.records.gathering import CLOCK, NO_CHANCE, NO_TIME, Gathering
from cernis.records.probabilities import (
    ProbableLines,
    lines_with_probability,
    probable_lines,
    text_of,
)
from cernis.records.record_columns import (
    INFINITE,
    RecordColumns,
    RecordForm,
    Records,
    SetAside,
)
from cernis.records.record_shapes import Shapes
from cernis.records.tabular import time_points
from cernis.records.text_lines import TOO_FEW, Heading, heading, read_line

__all__ = ["INFINITE", "Records", "SetAside", "read_stream", "read_text"]

BLOCK: Final = 1 << 25
"""How much text is looked at together."""

_WORD: Final = 8
_LONGEST_NAME: Final = 64
_LONGEST_LINE: Final = 1 << 16
_NEWLINE, _RETURN, _BAR, _X, _ZERO, _SMALL = b"\n\r|x0 "
_ONE: Final = np.uint64(1)
_ONES: Final = np.uint64(0x0101010101010101)
_HIGHS: Final = np.uint64(0x8080808080808080)
_BARS: Final = np.uint64(0x7C7C7C7C7C7C7C7C)


def read_text(
    lines: Iterable[str], checked: Checked, name: str = "", *, uncertain: bool = False
) -> Records:
    """Read records from lines; what cannot be read is set aside with its line and the reason."""
    import io

    text = lines if isinstance(lines, str) else "\n".join(line.rstrip("\r\n") for line in lines)
    gathering = Gathering(Shapes(checked), uncertain=uncertain)
    read_stream(io.BytesIO(text.encode("utf-8", "surrogatepass")), name, gathering)
    return gathering.records()


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
        count = _read_block(block, place, gathering)
        gathering.sources.grow(count)
        place += count
        progress(len(block))


def _read_block(text: bytes, place: int, gathering: Gathering) -> int:
    """Take in the lines of a block, the first of which has this place; gives how many there are.

    Lines with a probability are taken in without it, apart from the others.
    """
    whole = _Block(text, place, gathering)
    has_probability = lines_with_probability(text, whole.starts)
    if has_probability is None:
        whole.read()
        return whole.count
    places = place + np.arange(whole.count)
    if not has_probability.all():
        _Block(text_of(whole.lines, ~has_probability), places[~has_probability], gathering).read()
    rows = np.flatnonzero(has_probability)
    apart = probable_lines(whole.lines.take(as_arrow(rows)))
    bad = (apart.chances < 0) | (apart.chances > 1)
    whole.set_aside(rows[bad], NO_CHANCE)
    if bad.any():
        rows = rows[~bad]
        apart = probable_lines(whole.lines.take(as_arrow(rows)))
    if len(rows):
        _Block(apart.text, places[rows], gathering, apart).read()
    return whole.count


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


def _grouped(text: bytes, starts: Integers) -> tuple[Integers, Integers]:
    """Lines by name: the lines group by group, and where each group begins.

    Names, which end with the first bar, are compared eight bytes at a time, as numbers. Lines
    without a bar nearby may be grouped with others that begin alike.
    """
    words = np.ndarray((len(text),), "<u8", text + bytes(_WORD), strides=(1,))
    word, ended = _up_to_bar(words[starts])
    codes = _numbered(word)
    for offset in range(_WORD, _LONGEST_NAME, _WORD):
        rows = np.flatnonzero(~ended)
        if not len(rows):
            break
        word, ended[rows] = _up_to_bar(words[np.minimum(starts[rows] + offset, len(text) - 1)])
        numbers = _numbered(word)
        # What goes on gets numbers above those of all names that have ended.
        count, least = int(numbers.max()) + 1, int(codes.max()) + 1
        codes[rows] = least + codes[rows] * count + numbers
        codes = _numbered(codes)
    small = codes.astype(np.int16) if int(codes.max()) < 1 << 15 else codes
    return np.argsort(small, kind="stable"), np.append(0, np.cumsum(np.bincount(codes)))


def _up_to_bar(words: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], Booleans]:
    """The bytes of each word before its first bar, the others zero; and whether there is a bar.

    The well-known test for a zero byte: only the lowest byte it finds is sure to be one.
    """
    zero = words ^ _BARS
    found = (zero - _ONES) & ~zero & _HIGHS
    lowest = found & (~found + _ONE)
    return words & ((lowest >> np.uint64(7)) - _ONE), found != 0


def _numbered(values: Integers | npt.NDArray[np.uint64]) -> Integers:
    """Equal small numbers for equal numbers."""
    return as_numpy(as_arrow(values).dictionary_encode().indices).astype(np.int64)


class _Block:
    """The lines of a block, and what becomes of them."""

    def __init__(
        self,
        text: bytes,
        places: int | Integers,
        gathering: Gathering,
        probable: ProbableLines | None = None,
    ) -> None:
        self._text = text
        self._places = places
        self._probable = probable
        self._gathering = gathering
        self._data = np.frombuffer(text, np.uint8)
        self._ends = np.flatnonzero(self._data == _NEWLINE)
        self.count = len(self._ends)
        self.starts = np.zeros(self.count, np.int64)
        self.starts[1:] = self._ends[:-1] + 1
        offsets = np.zeros(self.count + 1, np.int32)
        offsets[1:] = self._ends + 1
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
        self.lines = pa.Array.from_buffers(pa.binary(), self.count, buffers)

    def read(self) -> None:
        """Take in all lines."""
        order, bounds = _grouped(self._text, self.starts)
        odd = self._odd()
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            rows = order[low:high]
            if odd is not None and odd[rows].any():
                self._one_by_one(rows[odd[rows]])
                rows = rows[~odd[rows]]
            if len(rows):
                self._group(rows)

    def _odd(self) -> Booleans | None:
        """Lines that neither the grouping nor Arrow's reader is exact for; None if there are none.

        They are very long, or have a zero byte, a carriage return that does not end them, or
        something that begins like `0x1f`, which Arrow takes for a number.
        """
        odd = self._ends - self.starts > _LONGEST_LINE
        data = self._data
        places = []
        if b"\0" in self._text:
            places.append(np.flatnonzero(data == 0))
        if b"\r" in self._text:
            returns = np.flatnonzero(data == _RETURN)
            places.append(returns[data[returns + 1] != _NEWLINE])
        if b"x" in self._text or b"X" in self._text:
            letters = np.flatnonzero((data | _SMALL) == _X)
            letters = letters[letters > 1]
            places.append(letters[(data[letters - 1] == _ZERO) & (data[letters - 2] == _BAR)])
        for own in places:
            odd[np.searchsorted(self.starts, own, "right") - 1] = True
        return odd if odd.any() else None

    def _place(self, row: int) -> int:
        return self._places + row if isinstance(self._places, int) else int(self._places[row])

    def _line(self, row: int) -> str:
        line = self._text[self.starts[row] : self._ends[row]]
        if self._probable is not None:
            line = self._probable.written[row].as_py() + b"::" + line
        return line.decode("utf-8", "replace").rstrip("\r")

    def _one_by_one(self, rows: Integers) -> None:
        for row in self._decodable(rows).tolist():
            read_line(self._line(row), self._place(row), self._gathering)

    def set_aside(self, rows: Integers, reason: str) -> None:
        """Set lines aside."""
        for row in rows.tolist():
            self._gathering.set_aside(self._place(row), reason, self._line(row))

    def _group(self, rows: Integers) -> None:
        """Take in lines that begin alike up to the first bar, if there is one nearby."""
        start, end = int(self.starts[rows[0]]), int(self._ends[rows[0]])
        bar = self._text.find(b"|", start, min(end, start + _LONGEST_NAME))
        if bar < 0:
            self._one_by_one(rows)
            return
        head = heading(self._text[start:bar].decode("utf-8", "replace"))
        shapes = self._gathering.shapes
        if head.reason or (self._probable is not None and b"::" in self._text[start:bar]):
            self.set_aside(rows, head.reason or NO_CHANCE)
        elif shapes.is_nested(head.name):
            self._one_by_one(rows)
        elif self._gathering.is_clock(head.name):
            self._tell_clock(rows, head.retracts)
        elif not shapes.knows(head.name):
            self._gathering.ignore(head.name, len(rows))
        else:
            fields = self._text.count(b"|", start, end) + 1 - self._more
            form = shapes.of_fields(head.name, fields)
            if not isinstance(form, RecordForm) or not self._take(rows, form, head.retracts):
                self._by_width(rows, head)

    def _tell_clock(self, rows: Integers, retracts: bool) -> None:
        """Take in lines such as `$clock|3600`; what a clock has said cannot be taken back."""
        rows = self._decodable(rows)
        lines = pc.cast(self.lines.take(as_arrow(rows)), pa.string())
        told = pc.list_element(pc.split_pattern(lines, "|", max_splits=2), 1)
        times, known = time_points(pa.chunked_array([told]), CLOCK, live=True)
        places = np.array([self._place(row) for row in rows.tolist()], np.int64)
        known &= not retracts
        self._gathering.tell_clock(times, places, known, lambda row: self._line(int(rows[row])))

    def _by_width(self, rows: Integers, head: Heading) -> None:
        """Take in lines of one name by their number of fields."""
        bars = as_numpy(pc.count_substring(self.lines.take(as_arrow(rows)), b"|"))
        for count in np.unique(bars).tolist():
            lines = rows[bars == count]
            form = self._gathering.shapes.of_fields(head.name, count + 1 - self._more)
            if not isinstance(form, RecordForm):
                self.set_aside(lines, form or TOO_FEW)
            elif not self._take(lines, form, head.retracts):
                self._take_carefully(lines, form, head.retracts)

    def _take(self, rows: Integers, form: RecordForm, retracts: bool) -> bool:
        """Take in lines, if they have as many fields as the form says and their times are whole."""
        table = self._delimited(rows, form, True)
        if table is None:
            return False
        times = [as_numpy(table.column(at)) for at in range(len(form.titles))]
        self._add(rows, form, times, table, retracts)
        return True

    def _take_carefully(self, rows: Integers, form: RecordForm, retracts: bool) -> None:
        """Take in lines that have as many fields as the form says, setting aside what is wrong."""
        table = self._delimited(rows, form, False)
        if table is None:
            rows = self._decodable(rows)
            table = self._delimited(rows, form, False)
        if table is None:
            self._one_by_one(rows)
            return
        times, whole = times_of(table.columns[: len(form.titles)], form)
        self.set_aside(rows[~whole], NO_TIME)
        self._add(rows[whole], form, times, table.filter(as_arrow(whole)), retracts)

    def _add(
        self,
        rows: Integers,
        form: RecordForm,
        times: list[Integers],
        table: pa.Table,
        retracts: bool,
    ) -> None:
        texts = table.columns[len(times) : len(times) + form.width]
        declared = self._gathering.shapes.declared_text(form)
        columns = [
            plain_text(column) if is_text else typed(column)
            for column, is_text in zip(texts, declared, strict=True)
        ]
        flags = np.ones(len(rows), np.bool_) if retracts else None
        places = rows + self._places if isinstance(self._places, int) else self._places[rows]
        chances = None if self._probable is None else self._probable.chances[rows]
        ids = typed(table.columns[-1]) if self._more else None
        part = RecordColumns(form, times, columns, places, flags, chances=chances, ids=ids)
        self._gathering.add(part, lambda row: self._line(int(rows[row])))

    def _delimited(self, rows: Integers, form: RecordForm, whole: bool) -> pa.Table | None:
        own = self.lines.take(as_arrow(rows)) if len(rows) < self.count else self.lines
        return delimited(own, len(form.titles), form.width + self._more, whole)

    @property
    def _more(self) -> int:
        """How many fields there are after the arguments: one, if records have ids."""
        return int(self._gathering.ids is not None)

    def _decodable(self, rows: Integers) -> Integers:
        """The lines that are UTF-8; the others are set aside."""
        wrong = np.array([row for row in rows.tolist() if not self._is_text(row)], np.int64)
        self.set_aside(wrong, "the line is not UTF-8 text")
        return np.setdiff1d(rows, wrong) if len(wrong) else rows

    def _is_text(self, row: int) -> bool:
        try:
            self._text[self.starts[row] : self._ends[row]].decode("utf-8")
        except UnicodeDecodeError:
            return False
        return True
