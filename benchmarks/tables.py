"""What string keys and timestamps cost, beside integer keys and epochs, in tables of all kinds.

python benchmarks/tables.py [RECORDS] [KIND...]    kinds: arrow, pandas, parquet, csv, spark

The same records are held in two ways: with whole numbers as keys and as times, and with names as
keys and timestamps (in CSV, times in ISO form). The program, and its answer, are the same. A figure
is processor time, the least of several runs that take turns, as other work of the machine does not
count then. On Spark the workers' processor time cannot be seen from here, so there it is wall time.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

import cernis

RULES = """
initiatedAt(low(Bed)=true, T)  :- happensAt(spo2(Bed, V), T), V < 85.
terminatedAt(low(Bed)=true, T) :- happensAt(spo2(Bed, V), T), V >= 90.
"""
BEGIN = 1_774_742_400
KEYS = 5_000
KINDS = ("arrow", "pandas", "parquet", "csv", "spark")


def tables(size: int) -> dict[str, pa.Table]:
    """The records with numbers, and with names and timestamps."""
    random = np.random.default_rng(18)
    keys = random.integers(0, KEYS, size)
    values = random.integers(70, 100, size)
    times = BEGIN + np.sort(random.integers(0, max(size // 100, 1), size))
    names = pa.array([f"ward {key // 20} bed {key % 20}" for key in range(KEYS)])
    dated = pa.array(times).cast(pa.timestamp("s", "UTC")).cast(pa.timestamp("us", "UTC"))
    return {
        "numbers": pa.table({"Bed": keys, "V": values, "occurrence": times}),
        "names": pa.table({"Bed": names.take(pa.array(keys)), "V": values, "occurrence": dated}),
    }


def input_of(kind: str, form: str, table: pa.Table, folder: Path) -> Any:
    """The table as the input of a run."""
    if kind == "arrow":
        return {"spo2": table}
    if kind == "pandas":
        return {"spo2": table.to_pandas()}
    (folder / form).mkdir(exist_ok=True)
    file = folder / form / f"spo2.{'parquet' if kind == 'spark' else kind}"
    if kind == "csv":
        if form == "names":
            written = pa.compute.strftime(table["occurrence"].cast(pa.timestamp("s", "UTC")),
                                          "%Y-%m-%dT%H:%M:%SZ")  # fmt: skip
            table = table.set_column(2, "occurrence", written)
        csv.write_csv(table, file)
    else:
        parquet.write_table(table, file)
    return str(file)


def runner(kind: str, program: cernis.Program, given: Any) -> Callable[[], int]:
    """A run, which gives the number of intervals."""
    if kind != "spark":
        return lambda: program.run(given).intervals.num_rows
    from cernis.spark import recognise
    from cernis.spark.spark_session import session

    frame = session("local[2]").read.parquet(given)
    return lambda: recognise(program, {"spo2": frame}).low.count()


def measure(kind: str, size: int, rounds: int) -> None:
    """Time both ways in turns, and print a line."""
    clock = time.perf_counter if kind == "spark" else time.process_time
    program = cernis.load(RULES)
    best: dict[str, float] = {}
    counts = set()
    with tempfile.TemporaryDirectory() as folder:
        made = tables(size)
        runs = {
            form: runner(kind, program, input_of(kind, form, made.pop(form), Path(folder)))
            for form in ("numbers", "names")
        }
        for number in range(rounds + 1):
            for form, run in runs.items():
                gc.collect()
                began = clock()
                counts.add(run())
                if number:
                    best[form] = min(best.get(form, np.inf), clock() - began)
    assert len(counts) == 1, counts
    ratio = best["names"] / best["numbers"]
    print(
        f"{kind:8} {size:>11,} records: numbers {best['numbers']:6.2f} s, names and timestamps "
        f"{best['names']:6.2f} s, {ratio:.2f} x",
        flush=True,
    )


def main() -> None:
    """Measure the kinds that are asked for."""
    cernis.keep_freed_memory()
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    for kind in sys.argv[2:] or KINDS:
        measure(kind, size, 3)


if __name__ == "__main__":
    main()
