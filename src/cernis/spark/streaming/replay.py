"""Replay: past records go through a stream as if they came now, at any speed.

The input is cut into slices of arrival time, and one slice after the other is moved into a folder
that a stream reads. Text records and tables (Parquet) can be cut.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.errors import DataError
from cernis.kernels.array_types import Integers
from cernis.records.time_columns import time_points
from cernis.records.times import SECONDS
from cernis.spark.streaming.stream_input import CLOCK_ENDING
from cernis.syntax.time_scale import TimeScale

_TABLES: Final = (".parquet", ".pq")
_OTHERS: Final = (".jsonl", ".ndjson", ".json", ".csv", ".tsv")

Slice: TypeAlias = tuple[int, Path, int]
"""The last arrival of a slice, its folder, and the number of its rows."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the history that is sorted by arrival: lines of text, or a table of a relation."""

    file: Path
    arrivals: Integers
    content: pa.Table

    @property
    def is_text(self) -> bool:
        """Is it lines of text?"""
        return self.file.suffix.lower() not in _TABLES


def history(files: Sequence[Path], scale: TimeScale = SECONDS) -> list[Piece]:
    """The files of a history, each sorted by arrival; those that cannot be cut are a DataError."""
    pieces = []
    for file in files:
        if file.suffix.lower() in _OTHERS:
            raise DataError(f"{file}: replay takes text records and Parquet")
        content = _table(file) if file.suffix.lower() in _TABLES else _lines(file)
        arrivals = _arrivals(content, file, scale)
        order = np.argsort(arrivals, kind="stable")
        pieces.append(Piece(file, arrivals[order], content.take(pa.array(order))))
    return pieces


def _table(file: Path) -> pa.Table:
    from pyarrow import parquet

    try:
        return parquet.read_table(file)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{file}: cannot be read: {error}") from error


def _lines(file: Path) -> pa.Table:
    try:
        text = file.read_text("utf-8", "replace")
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from error
    return pa.table({"line": pa.array(text.splitlines(), pa.large_string())})


def _arrivals(content: pa.Table, file: Path, scale: TimeScale) -> Integers:
    """The arrival of each row; a row without one arrives with the row before it."""
    if file.suffix.lower() not in _TABLES:
        fields = pc.split_pattern(content["line"], "|", max_splits=2).combine_chunks()
        has = pc.greater(pc.list_value_length(fields), 2)
        texts = pa.chunked_array([pc.list_element(fields.filter(has), 1)])
        points, known, _ = time_points(texts, str(file), live=True, scale=scale)
        times = np.full(len(content), np.iinfo(np.int64).min)
        times[np.flatnonzero(np.array(has))[known]] = points[known]
        return _filled(times)
    title = next((t for t in ("arrival", "occurrence", "start") if t in content.schema.names), None)
    if title is None:
        raise DataError(f"{file}: there is no column arrival, occurrence or start")
    points, known, _ = time_points(content[title], str(file), scale=scale)
    return _filled(np.where(known, points, np.iinfo(np.int64).min))


def _filled(times: Integers) -> Integers:
    """A row without a time gets that of the row before it, or of the first row that has one."""
    none = np.iinfo(np.int64).min
    known = np.flatnonzero(times != none)
    if not len(known):
        return np.zeros(len(times), np.int64)
    before = np.searchsorted(known, np.arange(len(times)), "right") - 1
    return times[known[np.maximum(before, 0)]]


def bounds(pieces: Sequence[Piece]) -> tuple[int, int]:
    """The first and the last arrival; a DataError if there is no record."""
    known = [piece.arrivals for piece in pieces if len(piece.arrivals)]
    if not known:
        raise DataError("there are no records to replay")
    return min(int(arrivals[0]) for arrivals in known), max(int(arrivals[-1]) for arrivals in known)


def slices(pieces: Sequence[Piece], length: int, staged: Path, at_end: int) -> Iterator[Slice]:
    """Write slices of so much arrival time each.

    The last one sets the clock: all records that arrived up to `at_end` have come.
    """
    first, last = bounds(pieces)
    for number, low in enumerate(range(first, last + 1, length)):
        folder = staged / f"{number:08}"
        folder.mkdir(parents=True)
        count = 0
        for piece in pieces:
            start, stop = np.searchsorted(piece.arrivals, [low, low + length]).tolist()
            if start < stop:
                _write(piece, piece.content[start:stop], folder)
                count += stop - start
        if count:
            yield min(low + length - 1, last), folder, count
    folder = staged / "end"
    folder.mkdir()
    (folder / f"end{CLOCK_ENDING}").write_text(str(at_end))
    yield last, folder, 0


def _write(piece: Piece, rows: pa.Table, folder: Path) -> None:
    if piece.is_text:
        text = "\n".join(rows["line"].to_pylist()) + "\n"
        (folder / piece.file.name).write_text(text, "utf-8")
    else:
        from pyarrow import parquet

        parquet.write_table(rows, folder / piece.file.name)


@dataclass
class Replay:
    """Moves slices into a folder at a given speed."""

    target: Path
    speed: float | None
    """Units of time per second; None for as fast as possible."""
    wait: Callable[[int], None] = lambda rows: None
    """Waits until the stream has read so many rows."""

    def run(self, slices: Iterator[Slice], first: int) -> int:
        """Move all slices; gives how many there were. At most two wait to be read."""
        began, started = time.monotonic(), time.time_ns()
        moved: list[int] = []
        for count, (end, folder, rows) in enumerate(slices):
            if self.speed is not None:
                due = began + (end - first) / self.speed
                time.sleep(max(0.0, due - time.monotonic()))
            self.wait(sum(moved[:-1]))
            for file in folder.iterdir():
                # Spark takes the oldest files first; a millisecond keeps slices in order.
                stamp = started + count * 1_000_000
                os.utime(file, ns=(stamp, stamp))
            folder.replace(self.target / folder.name)
            moved.append(rows)
        return len(moved)


def prepared(folder: Path) -> tuple[Path, Path]:
    """Folders for slices that are being written, and for those that a stream may read."""
    staged, target = folder / "staged", folder / "slices"
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    target.mkdir(exist_ok=True)
    return staged, target
