"""The maritime rules on Spark: Parquet files to Parquet files, against the floor of the same job.

    python benchmarks/spark.py [--events 10000000] [--vessels 20000] [--cores 2] [--runs 2]
    python benchmarks/spark.py --only floor
    python benchmarks/spark.py --events 100000000 --parts 10 --only long --partitions 32 \
        --directory DIRECTORY

The floor is the same job, the same files through the same packing and exchanges, with an evaluator
that does nothing. The plain exchange moves rows, not blobs, and is there for comparison. Starting
Spark is not counted; the first run of each kind is not either, but for the long history, which is
measured once. Prints a line or a few a figure: seconds of the clock and of processors, and ratios
within this run. Files, those of Spark's among them, go into the directory given: the long history
takes about 4 GB of it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])

import cernis  # noqa: E402
from cernis.answers.writers import OutputFormat  # noqa: E402
from cernis.answers.writers import write as write_here  # noqa: E402
from cernis.plan import Plan  # noqa: E402
from cernis.session.settings import Settings  # noqa: E402
from cernis.spark.batch.answer_files import write  # noqa: E402
from cernis.spark.batch.batch_run import recognise_plan  # noqa: E402
from cernis.spark.batch.spark_pipeline import exchange  # noqa: E402
from cernis.spark.exchange.batch_job import job_of  # noqa: E402
from cernis.spark.exchange.exchange_rows import DDL  # noqa: E402
from cernis.spark.exchange.exchange_stats import Exchanged  # noqa: E402
from cernis.spark.exchange.pack import pack  # noqa: E402
from cernis.spark.input.batch_input import BatchInput, batch_input  # noqa: E402
from cernis.spark.spark_session import session  # noqa: E402
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


def processors() -> dict[int, tuple[bool, float]]:
    """Of this process and all it started: is it the JVM, and its processor seconds so far."""
    tick = os.sysconf("SC_CLK_TCK")
    found = {}
    for number, name in below():
        try:
            fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[number] = name == "java", sum(map(int, fields[11:13])) / tick
    return found


def cost(wall: float, before: Mapping[int, tuple[bool, float]]) -> Cost:
    """What was spent since, but for what processes spent that are gone by now."""
    spent = {True: 0.0, False: 0.0}
    for number, (is_java, seconds) in processors().items():
        spent[is_java] += seconds - before.get(number, (is_java, 0.0))[1]
    return Cost(wall, spent[True], spent[False])


def below() -> list[tuple[int, str]]:
    """The numbers and names of this process and of all that it started."""
    parents, names = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        number = int(path.parent.name)
        parents[number], names[number] = int(rest.split()[1]), name
    own = [number for number in parents if _is_below(number, os.getpid(), parents)]
    return [(number, names[number]) for number in own]


def _is_below(number: int, top: int, parents: dict[int, int]) -> bool:
    while number > 1:
        if number == top:
            return True
        number = parents.get(number, 0)
    return False


def best(work: Callable[[], object], times: int, warm: bool = True) -> Cost:
    """The run that took the processors least, after one that does not count."""
    if warm:
        work()
    found = []
    for _ in range(times):
        begun, before = time.perf_counter(), processors()
        work()
        found.append(cost(time.perf_counter() - begun, before))
    return min(found, key=lambda cost: cost.cpu)


def nothing(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Take all that comes, give nothing."""
    for batch in given:
        if batch.num_rows < 0:
            yield batch


def written(tables: dict[str, pa.Table], folder: Path) -> list[Path]:
    folder.mkdir(parents=True)
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
    """The same tables with every second record of one and the same vessel, or pair of vessels."""
    found = {}
    for name, table in tables.items():
        for title in ("vessel", "vessel1", "vessel2"):
            if title in table.column_names and len(table):
                vessels = table.column(title).to_numpy().copy()
                vessels[::2] = vessels[0]
                at = table.column_names.index(title)
                table = table.set_column(at, title, pa.array(vessels))
        found[name] = table
    return found


def by_vessel(tables: dict[str, pa.Table], folder: Path, parts: int) -> list[Path]:
    """The same records with all of a vessel in one folder, those of pairs in another."""
    files: list[Path] = []
    for part in range(parts):
        own = {
            name: table.filter(pc.equal(pc.bit_wise_and(table["vessel"], parts - 1), part))
            for name, table in tables.items()
            if "vessel" in table.column_names
        }
        files += written(own, folder / f"part-{part}")
    pairs = {name: table for name, table in tables.items() if "vessel" not in table.column_names}
    return [*files, *written(pairs, folder / "pairs")]


class Bench:
    """The work that is measured, over some files."""

    def __init__(self, plan: Plan, files: list[Path], buckets: int, spark: object) -> None:
        self.plan, self.files, self.buckets, self.spark = plan, files, buckets, spark
        self.out = files[0].parents[2] / "out"
        self.told: Exchanged | None = None

    def source(self) -> BatchInput:
        return batch_input(self.files, None, self.spark)  # type: ignore[arg-type]

    def packing(self) -> None:
        job = job_of(self.plan, Settings(), self.buckets)
        self.source().packed(job, pack).mapInArrow(nothing, DDL).count()

    def floor(self) -> None:
        job = job_of(self.plan, Settings(), self.buckets)
        rows = self.source().packed(job, pack)
        for _ in job.loaded.plan.routes.steps[:-1]:
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

    def whole(self, partitions: int | None = None, partitioned: bool | None = False) -> None:
        result = recognise_plan(
            self.plan, self.files, Settings(), None, partitions, self.spark,  # type: ignore[arg-type]
            partitioned=partitioned,
        )  # fmt: skip
        shutil.rmtree(self.out, ignore_errors=True)
        self.told = write(result, self.out).exchanged

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
    arguments.add_argument("--parts", type=int, default=1, help="in how many parts of time")
    arguments.add_argument("--directory", type=Path, help="where files go; else where others do")
    arguments.add_argument(
        "--only", choices=("whole", "floor", "partitioned", "skew", "cores", "long"),
        help="measure no more than this, and what it is compared with",
    )  # fmt: skip
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=given.directory) as folder:
        measure(given, Path(folder))


def started(given: argparse.Namespace, folder: Path, cores: int) -> SparkSession:
    settings = {"spark.driver.memory": given.memory, "spark.local.dir": str(folder / "spark")}
    spark = session(f"local[{cores}]", settings)
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def measure(given: argparse.Namespace, folder: Path) -> None:
    (folder / "facts.cer").write_text(facts(given.vessels), "utf-8")
    plan = cernis.load(ROOT / "examples/maritime/rules.cer", [folder / "facts.cer"]).plan
    files = in_parts(given.events, given.vessels, given.parts, folder / "events")
    spark = started(given, folder, given.cores)
    bench = Bench(plan, files, given.partitions, spark)
    only = given.only
    if only == "long":
        long_history(bench, given)
    else:
        whole = best(lambda: bench.whole(given.partitions), given.runs)
        print(f"whole job: {whole}, {given.events / whole.wall:,.0f} events a second")
        assert bench.told is not None
        print(f"  of Python's: {where(whole, bench.told)}")
    if only in (None, "floor"):
        floor = best(bench.floor, given.runs)
        print(f"floor: {floor}; the whole job is {ratio(whole, floor)} the floor")
    if only is None:
        others(bench, given, floor)
    if only in (None, "partitioned"):
        lying(bench, given, folder)
    if only in (None, "skew"):
        uneven(bench, given, whole, folder)
    spark.stop()
    if only in (None, "cores"):
        one = started(given, folder, 1)
        alone = Bench(plan, files, given.partitions, one)
        slow = best(lambda: alone.whole(given.partitions), given.runs)
        print(f"one core: {slow}; {given.cores} cores are {slow.wall / whole.wall:.2f} x as fast")
        one.stop()


def long_history(bench: Bench, given: argparse.Namespace) -> None:
    """The first part by itself, then all parts of time."""
    first = bench.files[: len(bench.files) // given.parts]
    part = Bench(bench.plan, first, given.partitions, bench.spark)
    short = best(lambda: part.whole(given.partitions), given.runs)
    print(f"{given.events // given.parts:,} events: {short}")
    long = best(lambda: bench.whole(given.partitions), 1, warm=False)
    assert bench.told is not None
    print(f"{given.events:,} events: {long}, {ratio(long, short)} that; {peaks()}; "
          f"{bench.told.slices} slices, {size_of(bench.out):,.0f} MB written")  # fmt: skip


def others(bench: Bench, given: argparse.Namespace, floor: Cost) -> None:
    print(f"reading and packing: {best(bench.packing, given.runs)}")
    rows = best(bench.rows, given.runs)
    print(f"plain exchange of rows: {rows}, {ratio(rows, floor)} the floor")


def lying(bench: Bench, given: argparse.Namespace, folder: Path) -> None:
    """In the process; in one task; and where the input is partitioned by vessel."""
    here = best(bench.here, given.runs)
    print(f"in process, files to files: {here}")
    short = best(bench.whole, given.runs)
    print(f"one task: {short}, {ratio(short, here)} that")
    tables = {file.stem: pq.read_table(file) for file in bench.files}
    parts = Bench(bench.plan, by_vessel(tables, folder / "lying", 8), 8, bench.spark)
    apart = best(lambda: parts.whole(given.partitions, True), given.runs)
    print(f"partitioned by vessel: {apart}, {ratio(apart, here)} in process")
    assert parts.told is not None
    print(f"  of Python's: {where(apart, parts.told)}")


def uneven(bench: Bench, given: argparse.Namespace, whole: Cost, folder: Path) -> None:
    """Half of all records of one vessel, half of all intervals of one pair."""
    tables = {file.stem: pq.read_table(file) for file in bench.files}
    files = written(skewed(tables), folder / "skewed" / "all")
    hot = Bench(bench.plan, files, given.partitions, bench.spark)
    seconds = best(lambda: hot.whole(given.partitions), given.runs)
    assert hot.told is not None
    print(f"half of all records of one vessel: {seconds}, {ratio(seconds, whole)} the whole job; "
          f"skew {hot.told.skew:.1f}, {hot.told.slices} slices; {peaks()}")  # fmt: skip


def where(whole: Cost, told: Exchanged) -> str:
    """What processor time of Python went into; the rest is Arrow, sockets, and the driver."""
    own = [f"{kind} {spent:.2f} s" for kind, spent in told.seconds.items()]
    rest = whole.python - sum(told.seconds.values())
    return f"{', '.join(own)}, Arrow, Spark's workers and the driver {rest:.2f} s"


def peaks() -> str:
    """The most memory that the JVM, and a Python worker, had so far."""
    found = {"java": 0, "python": 0}
    for number, name in below():
        if number == os.getpid():
            continue
        try:
            text = Path(f"/proc/{number}/status").read_text()
        except OSError:
            continue
        most = next((int(line.split()[1]) for line in text.splitlines() if "VmHWM" in line), 0)
        kind = "java" if name == "java" else "python"
        found[kind] = max(found[kind], most >> 10)
    return f"at most {found['java']:,} MB in the JVM, {found['python']:,} MB in a worker"


def size_of(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def ratio(one: Cost, other: Cost) -> str:
    return f"{one.wall / other.wall:.2f} x by the clock, {one.cpu / other.cpu:.2f} x by processors,"


if __name__ == "__main__":
    main()
