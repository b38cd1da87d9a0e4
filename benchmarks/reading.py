"""What it costs to read records: text, CSV and Parquet, with Arrow's own readers beside.

Text is half a million records of mixed kinds, as in `text.py`. CSV and Parquet are as many records
of one event, with a vessel's name and three numbers; Arrow reads the same file into a table, with
types that it infers. Prints one line a figure: processor time of the process, threads included, in
milliseconds, nanoseconds a record and sorts. All take turns, and the best of each counts. The
process keeps the memory that it has freed, as those of the command do.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet
from text import RULES, line, records

import cernis
from cernis.records.record_sources import read_events

SEED = 20
POSITION = """
initiatedAt(fast(V)=true, T) :- happensAt(position(V, Speed, Course, Heading), T), Speed > 20.
terminatedAt(fast(V)=true, T) :- happensAt(position(V, Speed, Course, Heading), T), Speed =< 20.
"""


def positions(count: int) -> pa.Table:
    """Events of 2,000 vessels, in the order of time."""
    rng = np.random.default_rng(SEED)
    names = np.array([f"vessel{number}" for number in range(2000)])
    times = np.sort(rng.integers(1_700_000_000, 1_700_500_000, count))
    return pa.table(
        {
            "arrival": times,
            "occurrence": times,
            "V": names[rng.integers(0, len(names), count)].tolist(),
            "Speed": np.round(rng.uniform(0, 30, count), 1),
            "Course": np.round(rng.uniform(0, 360, count), 2),
            "Heading": rng.integers(0, 360, count),
        }
    )


def write_csv(table: pa.Table, file: Path) -> None:
    """Write a table as most do: floats with a point, names without quotes."""
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    lines = (f"{a},{o},{v},{s:.1f},{c:.2f},{h}" for a, o, v, s, c, h in rows)
    file.write_text("\n".join([",".join(table.column_names), *lines]) + "\n")


def best(works: Sequence[Callable[[], object]], runs: int) -> list[float]:
    """The least processor time that each work takes, in seconds; they take turns."""
    times = np.empty((runs, len(works)))
    for turn in range(runs):
        for place, work in enumerate(works):
            began = time.process_time()
            work()
            times[turn, place] = time.process_time() - began
    return list(times.min(axis=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    cernis.keep_freed_memory()
    mixed, one = cernis.load(RULES).checked, cernis.load(POSITION).checked
    keys = np.random.default_rng(SEED).integers(-(2**63), 2**63 - 1, options.records, np.int64)
    with tempfile.TemporaryDirectory() as name:
        text, comma, columns = (
            Path(name) / file for file in ("records.txt", "position.csv", "position.parquet")
        )
        text.write_text(records(options.records))
        table = positions(options.records)
        write_csv(table, comma)
        parquet.write_table(table, columns)
        del table
        works: dict[str, Callable[[], object]] = {
            "text": lambda: read_events(text, mixed),
            "CSV": lambda: read_events(comma, one),
            "CSV, by Arrow": lambda: csv.read_csv(comma),
            "Parquet": lambda: read_events(columns, one),
            "Parquet, by Arrow": lambda: parquet.read_table(columns),
            "sort": lambda: np.sort(keys),
        }
        seconds = dict(zip(works, best(list(works.values()), options.runs), strict=True))
    sort = seconds.pop("sort")
    for work, figure in seconds.items():
        print(line(work, figure, options.records, sort), flush=True)
    for kind in ("CSV", "Parquet"):
        print(f"{kind}: {seconds[kind] / seconds[f'{kind}, by Arrow']:.2f} times Arrow's reader")


if __name__ == "__main__":
    from sorts import pin_sort

    pin_sort()
    main()
