"""Credible intervals of a ready-made series of probabilities: one fluent, one column of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from cernis.errors import DataError
from cernis.evaluate.probabilities.credible.credible_intervals import (
    most_credible,
    recognise,
    united,
)
from cernis.evaluate.probabilities.uncertain_settings import uncertain_settings
from cernis.kernels.array_types import Floats

SERIES_INTERVALS: Final = pa.schema([
    ("start", pa.int64()), ("end", pa.int64()), ("probability", pa.float64()),
])  # fmt: skip
"""Intervals `[start, end)` of a series, and the mean probability of each."""


def intervals_of_series(
    probabilities: Iterable[float], *, threshold: float = 0.5, memory: int | None = None,
    durations: tuple[float, float] | Mapping[str, float] | None = None, seed: int = 0,
    first: int = 1, tick: int = 1, overlapping: bool = False,
) -> pa.Table:  # fmt: skip
    """The credible intervals of a series of probabilities: `start, end, probability`.

    The first number is the probability at the time `first`, each further one a tick later. Settings
    are those of `run_uncertain`; durations are a mean and a deviation, in points. Of overlapping
    intervals the most credible is given, or all of them if that is asked for.

    >>> intervals_of_series([0, 0.5, 0.7, 0.9, 0.4, 0.1, 0, 0, 0.5, 1]).to_pylist()[0]
    {'start': 2, 'end': 7, 'probability': 0.52}
    """
    known = None if durations is None else {"series": durations}
    chosen = uncertain_settings(threshold, None, memory, known, seed)
    series = _checked(probabilities)
    if isinstance(tick, bool) or not isinstance(tick, int) or tick < 1:
        raise DataError(f"a tick is a whole number of time-points from 1, not {tick!r}")
    intervals, _ = recognise(
        series, np.array([0, len(series)]), chosen.threshold, limit=memory,
        durations=chosen.durations.get("series"), batch=None if memory is None else 1,
    )  # fmt: skip
    intervals = intervals if memory is None else united(intervals)
    intervals = intervals if overlapping else most_credible(intervals)
    starts, ends = first + tick * (intervals.starts - 1), first + tick * intervals.ends
    return pa.table([starts, ends, intervals.means], SERIES_INTERVALS)


def _checked(probabilities: Iterable[float]) -> Floats:
    try:
        series = np.array([float(each) for each in probabilities], np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"a series of probabilities is a list of numbers: {error}") from None
    bad = np.flatnonzero(~((series >= 0) & (series <= 1)))
    if len(bad):
        place = int(bad[0])
        raise DataError(
            f"point {place + 1} of the series is {series[place]}: a probability is from 0 to 1"
        )
    return series


def read_series(file: Path, column: str | None = None) -> list[float]:
    """The numbers of a file: a column of CSV, Parquet or JSON lines, or a number on each line."""
    try:
        if file.suffix in (".parquet", ".csv", ".jsonl", ".json"):
            return _column(_table(file), column, file)
        lines = file.read_text("utf-8").splitlines()
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror or error}") from None
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise DataError(f"{file}: cannot be read: {error}") from None
    if column is not None:
        raise DataError(f"{file} has no columns; those have .csv, .parquet, .json and .jsonl")
    return [_number(line, f"{file}:{row}") for row, line in enumerate(lines, 1) if line.strip()]


def _table(file: Path) -> pa.Table:
    if file.suffix == ".parquet":
        from pyarrow import parquet

        return parquet.ParquetFile(file).read()
    if file.suffix == ".csv":
        from pyarrow import csv

        return csv.read_csv(file)
    from pyarrow import json

    return json.read_json(file)


def _column(table: pa.Table, wanted: str | None, file: Path) -> list[float]:
    titles = table.column_names
    title = wanted or (titles[0] if len(titles) == 1 else "probability")
    if title not in titles:
        raise DataError(f"{file} has no column {title}; there are {', '.join(titles)}")
    values: list[Any] = table[title].to_pylist()
    return [_number(value, f"{file}: row {row} of {title}") for row, value in enumerate(values, 1)]


def _number(value: Any, place: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise DataError(f"{place}: {value!r} is no probability") from None
