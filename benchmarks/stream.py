"""The maritime rules on a stream: micro-batches of Parquet files to a feed of changes in Parquet.

    python benchmarks/stream.py [--events 4000000] [--batch 500000] [--vessels 20000] [--cores 2]

First large micro-batches, as fast as can be: events a second, sustained, where the first two do not
count. Then small ones (`--small` events each) on a window that is as full: the time from the
beginning of a micro-batch until its changes are in the sink. Both with processor time of the JVM
and of Python, what the workers spent it on, and the bytes of state for each record of the window,
beside what the same records take in Arrow.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])

from benchmarks.spark import TIMES, processors  # noqa: E402
from cernis.spark import Stream, files, stream  # noqa: E402
from cernis.spark.metrics import Metrics  # noqa: E402
from cernis.spark.sinks import ParquetSink  # noqa: E402
from cernis.spark.spark_session import session  # noqa: E402
from examples.maritime.generate import facts, generate  # noqa: E402

RULES = ROOT / "examples" / "maritime" / "rules.cer"
PHASES = ("reading", "restoring", "evaluating", "saving")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=4_000_000)
    parser.add_argument("--batch", type=int, default=500_000)
    parser.add_argument("--small", type=int, default=5_000)
    parser.add_argument("--vessels", type=int, default=20_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--partitions", type=int)
    given = parser.parse_args()
    spark = session(f"local[{given.cores}]", {"spark.log.level": "OFF"})
    with tempfile.TemporaryDirectory(prefix="cernis-stream-") as place:
        folder = Path(place)
        (folder / "facts.cer").write_text(facts(given.vessels), "utf-8")
        measure(spark, folder, given)
    spark.stop()


# -- input --------------------------------------------------------------------------------------


@dataclass
class History:
    """Tables of relations, to be cut by arrival."""

    tables: dict[str, pa.Table]
    ahead: int = 0

    @property
    def span(self) -> int:
        """How much time it takes."""
        return max(int(self.arrivals(t).max()) for t in self.tables.values() if len(t)) + 1

    @staticmethod
    def arrivals(table: pa.Table) -> np.ndarray[Any, Any]:
        title = next(t for t in ("arrival", "occurrence", "start") if t in table.column_names)
        return np.array(table[title])

    def slices(self, low: int, high: int, count: int, folder: Path) -> int:
        """Write slices of equal time from `low` to `high`; each has a file of every relation."""
        edges = np.linspace(low, high, count + 1).astype(np.int64)
        written = 0
        for number in range(count):
            place = folder / f"{self.ahead + number:06}"
            place.mkdir(parents=True)
            for name, table in self.tables.items():
                own = self.arrivals(table)
                part = table.filter(pa.array((own >= edges[number]) & (own < edges[number + 1])))
                pq.write_table(part, place / f"{name}.parquet", compression="lz4")
                stamp = 1_000_000_000 + self.ahead + number
                os.utime(place / f"{name}.parquet", (stamp, stamp))
                written += len(part)
        self.ahead += count
        return written

    def of_some(self, share: int) -> dict[str, pa.Table]:
        """The records of one vessel in so many."""
        found = {}
        for name, table in self.tables.items():
            titles = [t for t in table.column_names if t not in TIMES and t != "value"]
            vessels = np.array(table[titles[0]])
            found[name] = table.filter(pa.array(vessels % share == 0))
        return found

    def arrow(self, low: int, high: int) -> float:
        """Bytes of a record in Arrow, of those that arrive from `low` to `high`."""
        size = count = 0
        for table in self.tables.values():
            own = self.arrivals(table)
            part = table.filter(pa.array((own >= low) & (own < high)))
            size, count = size + part.nbytes, count + len(part)
        return size / max(count, 1)


# -- measuring ------------------------------------------------------------------------------------


@dataclass
class Batch:
    """What one micro-batch was and took."""

    events: int
    seconds: float
    figures: dict[str, float]
    jvm: float
    python: float


def spent() -> tuple[float, float]:
    """Processor seconds of the JVM, and of Python, so far."""
    each = list(processors().values())
    jvm = sum(seconds for is_java, seconds in each if is_java)
    return jvm, sum(seconds for _, seconds in each) - jvm


class Watch:
    """A sink that notes what each micro-batch took, up to where its changes are written."""

    def __init__(self, folder: Path) -> None:
        self.sink = ParquetSink(folder)
        self.seen: list[tuple[float, tuple[float, float]]] = []

    def write(self, batch: int, changes: pa.Table) -> None:
        self.sink.write(batch, changes)
        self.seen.append((time.perf_counter(), spent()))


def run(spark: Any, folder: Path, name: str, given: Any, window: int, step: int) -> list[Batch]:
    """Run a stream over all slices that are there; gives its micro-batches."""
    told: list[Metrics] = []
    watch = Watch(folder / f"{name}-feed")
    relations = len(list(next(iter(sorted((folder / name).iterdir()))).iterdir()))
    running = stream(
        RULES, files(spark, folder / name, at_once=relations), checkpoint=folder / f"{name}-c",
        window=window, step=step, sink=watch, facts=[folder / "facts.cer"], until_done=True,
        partitions=given.partitions,
    )  # fmt: skip
    told = listen(running)
    running.wait()
    return batches(running, watch, told)


def listen(running: Stream) -> list[Any]:
    """Note the figures of each micro-batch."""
    told: list[Any] = []
    add = running.metrics.add

    def noted(figures: Any, seconds: float) -> None:
        add(figures, seconds)
        told.append({**figures, "batch_seconds": seconds})

    running.metrics.add = noted  # type: ignore[method-assign]
    return told


def batches(running: Stream, watch: Watch, told: list[Any]) -> list[Batch]:
    progress = {each["batchId"]: each for each in running.query.recentProgress}
    found = []
    before = watch.seen[0][1]
    for number, (figures, (_, now)) in enumerate(zip(told, watch.seen, strict=True)):
        trigger = progress.get(number, {}).get("durationMs", {}).get("triggerExecution", 0) / 1000
        seconds = max(trigger, figures["batch_seconds"])
        found.append(
            Batch(figures["events"], seconds, figures, now[0] - before[0], now[1] - before[1])
        )
        before = now
    return found


def measure(spark: Any, folder: Path, given: Any) -> None:
    history = History(generate(given.events, given.vessels, 7))
    count = max(given.events // given.batch, 3)
    span = history.span
    length = span // count
    window, step = 2 * length, length // 2
    history.slices(0, span, count, folder / "large")
    print(f"{given.events:,} events of {given.vessels:,} vessels, micro-batches of {length} s, "
          f"window {window} s, step {step} s")  # fmt: skip
    large = run(spark, folder, "large", given, window, step)
    for batch in large:
        show(batch)
    steady = large[2:]
    seconds = sum(batch.seconds for batch in steady)
    events = sum(batch.events for batch in steady)
    cpu = sum(batch.jvm + batch.python for batch in steady)
    print(f"sustained: {events / seconds:,.0f} events a second by the clock; "
          f"{1e6 * cpu / events:.2f} us of processor time an event")  # fmt: skip
    last = large[-1].figures
    arrow = history.arrow(span - window, span)
    own = last["state_bytes"] / max(last["held"], 1)
    print(f"state: {own:.1f} bytes a record in the window; Arrow {arrow:.1f}; "
          f"{own / arrow:.2f} of it")  # fmt: skip
    small_batches(spark, folder, given, history, count, window, step)


def small_batches(
    spark: Any, folder: Path, given: Any, history: History, count: int, window: int, step: int
) -> None:
    """Each of the small ones brings a query over a window that large ones have filled."""
    middle = history.span * 3 // count
    history.ahead = 0
    history.slices(0, middle, 3, folder / "small")
    share = max(round(given.events * step / history.span / given.small), 1)
    thin = History(history.of_some(share), ahead=3)
    steps = min((history.span - middle) // step, 8)
    thin.slices(middle, middle + steps * step, steps, folder / "small")
    found = run(spark, folder, "small", given, window, step)
    print(f"small micro-batches of {step} s, of one vessel in {share}, behind three large ones:")
    for batch in found[3:]:
        show(batch)
    own = sorted(batch.seconds for batch in found[3:])
    print(f"small: from batch in to feed out {own[len(own) // 2]:.2f} s in the middle, "
          f"{own[-1]:.2f} s at most")  # fmt: skip


def show(batch: Batch) -> None:
    told = batch.figures
    phases = ", ".join(f"{name} {told.get(f'{name}_seconds', 0):.2f}" for name in PHASES)
    print(
        f"  {batch.events:>9,} events  {batch.seconds:6.2f} s  JVM {batch.jvm:.2f}, Python "
        f"{batch.python:.2f} s ({phases})  {told.get('queries', 0)} queries, "
        f"{told['inserted'] + told['revised']:,} changes, state "
        f"{told.get('state_bytes', 0) / 1e6:.1f} MB, {told.get('written_bytes', 0) / 1e6:.1f} new",
        flush=True,
    )


if __name__ == "__main__":
    main()
