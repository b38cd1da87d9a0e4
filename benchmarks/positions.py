"""From raw positions to events: in one process, and on Spark from Parquet to Parquet.

    python benchmarks/positions.py [--positions 10000000] [--patches 600] [--master local[2]]

Positions are simulated, repeated day after day until there are as many as asked for, and written in
the order of time. Prints positions a second: of the core of one process, and of Spark without the
start of its session, workers warm. With --recognise, the maritime rules run on the events as well.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from pyspark.sql import SparkSession  # noqa: E402

from cernis.geo.areas import Areas  # noqa: E402
from cernis.geo.events import motion_events  # noqa: E402
from cernis.geo.parameters import Parameters  # noqa: E402
from cernis.geo.proximity import near_pairs  # noqa: E402
from cernis.spark import recognise  # noqa: E402
from cernis.spark.batch.answer_files import write as write_result  # noqa: E402
from cernis.spark.positions import write_events  # noqa: E402
from examples.maritime.recognised import areas_of, program_for  # noqa: E402
from examples.maritime.simulate import Simulation, simulate  # noqa: E402

DAY = 86_400
T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[float, T]:
    begun = time.perf_counter()
    result = work()
    return time.perf_counter() - begun, result


def processor_seconds() -> np.ndarray:
    """What this process and all that it started have used so far: in all, and in the JVM."""
    used: dict[int, tuple[int, bool, float]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                name, _, rest = (folder / "stat").read_text().rpartition(")")
            except OSError:
                continue
            fields = rest.split()
            seconds = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
            used[int(folder.name)] = int(fields[1]), name.endswith("(java"), seconds

    def ours(process: int) -> bool:
        return process == os.getpid() or (process in used and ours(used[process][0]))

    own = [(seconds, java * seconds) for at, (_, java, seconds) in used.items() if ours(at)]
    return np.sum(own, axis=0)


def told(before: np.ndarray) -> str:
    total, java = processor_seconds() - before
    return f"{total:.1f} s of processor time, {java:.1f} of it in the JVM"


def repeated(simulation: Simulation, count: int) -> pa.Table:
    """The positions of a simulation day after day, `count` in all, in the order of time."""
    rng = np.random.default_rng(0)
    one = simulation.positions.sort_by("t")
    days = []
    for day in range(-(-count // len(one))):
        columns = {name: one[name].to_numpy() for name in one.column_names}
        columns["t"] = columns["t"] + day * DAY
        for name in ("lon", "lat"):
            # Some metres off the day before, or files would be smaller than files of positions are.
            columns[name] = np.round(columns[name] + rng.normal(0, 3e-5, len(one)), 6)
        days.append(pa.table(columns))
    return pa.concat_tables(days).slice(0, count)


def write(table: pa.Table, folder: Path, files: int) -> None:
    edges = np.linspace(0, len(table), files + 1).astype(int)
    for number, (low, high) in enumerate(itertools.pairwise(edges)):
        part = table.slice(low, high - low)
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=1 << 18)


def in_process(table: pa.Table, areas: Areas) -> None:
    """Each vessel by itself, then pairs; processor time of one core."""
    parameters = Parameters()
    begun = time.process_time()
    found = motion_events(table, parameters, areas)
    middle = time.process_time()
    pairs = near_pairs(found.samples, parameters)
    ended = time.process_time()
    print(
        f"one process, {len(table)} positions: {len(table) / (ended - begun):,.0f} a second, "
        f"{(middle - begun) / len(table) * 1e9:.0f} ns a position for motion and areas, "
        f"{(ended - middle) / len(table) * 1e9:.0f} for proximity; "
        f"{sum(map(len, found.relations.values()))} events, {len(pairs.start)} intervals"
    )


def session(master: str) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    )
    builder = SparkSession.Builder().master(master).appName("positions")
    for name, setting in {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g", "spark.sql.session.timeZone": "UTC",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1", "spark.log.level": "ERROR",
    }.items():  # fmt: skip
        builder = builder.config(name, setting)
    return builder.getOrCreate()


def recognised_files(simulation: Simulation, files: dict[str, list[Path]], folder: Path) -> None:
    """A part has all events of its vessels, so they need not be exchanged."""
    events = [file for name, own in files.items() if name != "set_aside" for file in own]
    write_result(recognise(program_for(simulation), events, partitioned=True), folder)


def recognition(
    simulation: Simulation,
    files: dict[str, list[Path]],
    given: argparse.Namespace,
    before: float,
    folder: Path,
) -> None:
    """The maritime rules on the events just written, to Parquet."""
    used = processor_seconds()
    seconds, _ = timed(lambda: recognised_files(simulation, files, folder / "intervals"))
    print(
        f"recognition on Spark: {seconds:.1f} s, {told(used)}; "
        f"in all {given.positions / (before + seconds):,.0f} positions a second"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--positions", type=int, default=10_000_000)
    arguments.add_argument("--patches", type=int, default=600)
    arguments.add_argument("--master", default="local[2]")
    arguments.add_argument("--partitions", type=int)
    arguments.add_argument("--recognise", action="store_true")
    given = arguments.parse_args()
    simulation = simulate(given.patches, 7)
    areas = areas_of(simulation)
    table = repeated(simulation, given.positions)
    in_process(table.slice(0, 1_000), areas)
    in_process(table.slice(0, 1_000_000), areas)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, small = folder / "positions", folder / "small"
        for each, rows in ((source, table), (small, table.slice(0, 20_000))):
            each.mkdir()
            write(rows, each, 16)
        del table
        spark = session(given.master)
        warm = write_events(
            small, folder / "warm", None, areas, partitions=given.partitions, spark=spark
        )
        if given.recognise:
            recognised_files(simulation, warm, folder / "warm-intervals")
        before = processor_seconds()
        seconds, files = timed(
            lambda: write_events(
                source, folder / "events", None, areas, partitions=given.partitions
            )
        )
        events = sum(pq.read_metadata(file).num_rows for own in files.values() for file in own)
        print(
            f"Spark {given.master}, Parquet to Parquet, {given.positions} positions: "
            f"{seconds:.1f} s, {given.positions / seconds:,.0f} a second, {events} events; "
            f"{told(before)}"
        )
        if given.recognise:
            recognition(simulation, files, given, seconds, folder)
        spark.stop()


if __name__ == "__main__":
    main()
