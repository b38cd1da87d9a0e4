"""The maritime rules on Spark: Parquet files to Parquet files, against the floor of the same job.

    python benchmarks/spark.py [--events 10000000] [--vessels 20000] [--cores 2] [--skew] [--runs 2]
    python benchmarks/spark.py --events 100000000 --parts 10 --only whole --partitions 32

The floor is the same job, the same files through the same packing and exchanges, with an evaluator
that does nothing. The plain exchange moves rows, not blobs, and is there for comparison. Starting
Spark is not counted; the first run of each kind is not either. Prints one line a figure: seconds of
the wall clock, and ratios within this run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])

import cernis  # noqa: E402
from cernis.plan import Plan  # noqa: E402
from cernis.runtime.settings import Settings  # noqa: E402
from cernis.runtime.writers import OutputFormat  # noqa: E402
from cernis.runtime.writers import write as write_here  # noqa: E402
from cernis.spark.batch import recognise_plan  # noqa: E402
from cernis.spark.job import job_of  # noqa: E402
from cernis.spark.output import write  # noqa: E402
from cernis.spark.pipeline import exchange  # noqa: E402
from cernis.spark.rows import DDL  # noqa: E402
from cernis.spark.session import session  # noqa: E402
from cernis.spark.source import Source, source_of  # noqa: E402
from examples.maritime.generate import facts, generate  # noqa: E402

TIMES = ("arrival", "occurrence", "start", "end")


@dataclass(frozen=True)
class Cost:
    """Seconds of the wall clock, and of processors: of the JVM, and of Python processes."""

    wall: float
    jvm: float
    python: float

    @property
    def cpu(self) -> float:
        return self.jvm + self.python

    def __str__(self) -> str:
        return f"{self.wall:.2f} s (processors: JVM {self.jvm:.2f} s, Python {self.python:.2f} s)"


def processors() -> tuple[float, float]:
    """Processor seconds so far of the JVM and of Python, in this process and all it started."""
    tick = os.sysconf("SC_CLK_TCK")
    parents, spent, names = {}, {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        fields = rest.split()
        number = int(path.parent.name)
        parents[number], names[number] = int(fields[1]), name
        spent[number] = sum(map(int, fields[11:15])) / tick
    own = [number for number in parents if _is_below(number, os.getpid(), parents)]
    jvm = sum(spent[number] for number in own if names[number] == "java")
    return jvm, sum(spent[number] for number in own) - jvm


def _is_below(number: int, top: int, parents: dict[int, int]) -> bool:
    while number > 1:
        if number == top:
            return True
        number = parents.get(number, 0)
    return False


def best(work: Callable[[], object], times: int) -> Cost:
    """The run that took the processors least, after one that does not count."""
    work()
    found = []
    for _ in range(times):
        begun, before = time.perf_counter(), processors()
        work()
        after = processors()
        wall = time.perf_counter() - begun
        found.append(Cost(wall, after[0] - before[0], after[1] - before[1]))
    return min(found, key=lambda cost: cost.cpu)


def nothing(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Take all that comes, give nothing."""
    for batch in given:
        if batch.num_rows < 0:
            yield batch


def written(tables: dict[str, pa.Table], folder: Path) -> list[Path]:
    folder.mkdir()
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
    return sorted(folder.glob("*.parquet"))


def in_parts(events: int, vessels: int, parts: int, folder: Path) -> list[Path]:
    """Files of a long history: one part behind the other in time, none larger than it must be."""
    folder.mkdir()
    found: list[Path] = []
    ahead = 0
    for part in range(parts):
        tables = generate(events // parts, vessels, 7 + part)
        moved = {name: _later(table, ahead) for name, table in tables.items()}
        found += written(moved, folder / f"part-{part}")
        ahead += 1 + max(_last(table) for table in tables.values())
    return found


def _later(table: pa.Table, by: int) -> pa.Table:
    for at, name in enumerate(table.column_names):
        if name in TIMES:
            table = table.set_column(at, name, pc.add(table.column(name), by))
    return table


def _last(table: pa.Table) -> int:
    own = [table.column(name) for name in table.column_names if name in TIMES]
    return max((pc.max(column).as_py() or 0 for column in own), default=0)


def skewed(tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """The same tables with every second record of one and the same vessel."""
    found = {}
    for name, table in tables.items():
        if "vessel" in table.column_names and len(table):
            vessels = table.column("vessel").to_numpy().copy()
            vessels[::2] = vessels[0]
            at = table.column_names.index("vessel")
            table = table.set_column(at, "vessel", pa.array(vessels))
        found[name] = table
    return found


class Bench:
    """The work that is measured, over some files."""

    def __init__(self, plan: Plan, files: list[Path], buckets: int, spark: object) -> None:
        self.plan, self.files, self.buckets, self.spark = plan, files, buckets, spark
        self.out = files[0].parents[1] / "out"

    def source(self) -> Source:
        return source_of(self.files, None, self.spark)  # type: ignore[arg-type]

    def packing(self) -> None:
        job = job_of(self.plan, Settings(), self.buckets)
        self.source().packed(job, True).mapInArrow(nothing, DDL).count()

    def floor(self) -> None:
        job = job_of(self.plan, Settings(), self.buckets)
        rows = self.source().packed(job, True)
        for _ in job.loaded.routes.steps[:-1]:
            rows = exchange(rows, job).mapInArrow(passed, DDL)
        exchange(rows, job).mapInArrow(nothing, DDL).count()

    def rows(self) -> None:
        """The plain exchange: rows by vessel."""
        frames = [self.spark.read.parquet(str(file)) for file in self.files]  # type: ignore[attr-defined]
        kept = [
            frame.selectExpr(f"`{key}` as key", *(f"cast(`{c}` as string) as c{n}" if n > 5 else
                             f"cast(`{c}` as double) as c{n}" for n, c in enumerate(more)),
                             *(f"cast(null as double) as c{n}" for n in range(len(more), 5)))
            for frame in frames
            for key, more in [_key(frame.columns)]
        ]  # fmt: skip
        everything = reduce(lambda one, other: one.unionAll(other), kept)
        ddl = "key bigint, " + ", ".join(f"c{n} double" for n in range(5))
        everything.repartition(self.buckets, "key").mapInArrow(nothing, ddl).count()

    def whole(self, partitions: int | None) -> float:
        result = recognise_plan(self.plan, self.files, Settings(), None, partitions, self.spark)  # type: ignore[arg-type]
        shutil.rmtree(self.out, ignore_errors=True)
        return write(result, self.out).exchanged.skew

    def here(self) -> None:
        result = cernis.program.Program(self.plan.checked).run(self.files)
        shutil.rmtree(self.out, ignore_errors=True)
        write_here(result, self.out, OutputFormat.PARQUET)


def passed(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """An evaluator that does nothing: what is for later steps passes through."""
    for batch in given:
        own = np.array(batch.column(1))
        later = own > own.min()
        if later.any():
            yield batch.filter(pa.array(later))


def _key(columns: list[str]) -> tuple[str, list[str]]:
    key = "vessel" if "vessel" in columns else "vessel1"
    return key, [c for c in columns if c not in (key, "arrival", "area", "value")]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--events", type=int, default=10_000_000)
    arguments.add_argument("--vessels", type=int, default=20_000)
    arguments.add_argument("--cores", type=int, default=2)
    arguments.add_argument("--partitions", type=int, default=8)
    arguments.add_argument("--memory", default="3g")
    arguments.add_argument("--runs", type=int, default=2)
    arguments.add_argument("--skew", action="store_true")
    arguments.add_argument("--parts", type=int, default=1, help="in how many parts of time")
    arguments.add_argument("--only", choices=("whole", "floor"), help="measure no more than these")
    given = arguments.parse_args()
    spark = session(f"local[{given.cores}]", {"spark.driver.memory": given.memory})
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        measure(given, Path(folder), spark)
    spark.stop()


def measure(given: argparse.Namespace, folder: Path, spark: object) -> None:
    (folder / "facts.cer").write_text(facts(given.vessels), "utf-8")
    plan = cernis.load(ROOT / "examples/maritime/rules.cer", [folder / "facts.cer"]).plan
    files = in_parts(given.events, given.vessels, given.parts, folder / "events")
    bench = Bench(plan, files, given.partitions, spark)
    whole = best(lambda: bench.whole(given.partitions), given.runs)
    print(f"whole job: {whole}, {given.events / whole.wall:,.0f} events a second")
    if given.only == "whole":
        return
    floor = best(bench.floor, given.runs)
    print(f"floor: {floor}; the whole job is {ratio(whole, floor)} the floor")
    if given.only:
        return
    print(f"reading and packing: {best(bench.packing, given.runs)}")
    print(f"plain exchange of rows: {(rows := best(bench.rows, given.runs))}, "
          f"{ratio(rows, floor)} the floor")  # fmt: skip
    here = best(bench.here, given.runs)
    short = best(lambda: bench.whole(None), given.runs)
    print(f"in process, files to files: {here}")
    print(f"shorter way: {short}, {ratio(short, here)} that")
    if given.skew:
        uneven = written(skewed(generate(given.events, given.vessels, 7)), folder / "skewed")
        hot = Bench(plan, uneven, given.partitions, spark)
        seconds = best(lambda: hot.whole(given.partitions), given.runs)
        print(f"half of all records of one vessel: {seconds}, {ratio(seconds, whole)} the whole "
              f"job, skew {hot.whole(given.partitions):.1f}")  # fmt: skip


def ratio(one: Cost, other: Cost) -> str:
    return f"{one.wall / other.wall:.2f} x by the clock, {one.cpu / other.cpu:.2f} x by processors,"


if __name__ == "__main__":
    main()
