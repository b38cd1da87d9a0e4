"""Many windows go by: memory must follow the window, and not the time.

    python benchmarks/soak.py [--windows 500] [--events 4000] [--vessels 200] [--no-spark]

The maritime rules see the same traffic again and again, each time later, and each time with ten
vessels that are new and ten that are never heard of again. First a session in this process,
evaluated from what has changed, then one from scratch, then a stream on Spark, in micro-batches of
a window. Every 50 windows a line tells the memory of the processes, the state, and the time that
the windows took. At the end, memory of the second half is set against that of the first, of which
the first fifth does not count.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])

import cernis  # noqa: E402
from benchmarks.spark import TIMES  # noqa: E402
from benchmarks.stream import RULES, History  # noqa: E402
from cernis.session.saved.plain_trees import packed  # noqa: E402
from cernis.session.saved.saved_state import saved_tree  # noqa: E402
from cernis.session.saved.session_file import LAYOUT  # noqa: E402
from cernis.session.session import Session  # noqa: E402
from examples.maritime.generate import facts, generate  # noqa: E402

LEAST = 227_000_000
NEW = 10
"""Vessels that are new in each window."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--windows", type=int, default=500)
    parser.add_argument("--events", type=int, default=4_000)
    parser.add_argument("--vessels", type=int, default=200)
    parser.add_argument("--no-spark", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cernis-soak-") as place:
        folder = Path(place)
        (folder / "facts.cer").write_text(facts(given.vessels + NEW * given.windows), "utf-8")
        for incremental in (True, False):
            in_process(folder, given, incremental)
        if not given.no_spark:
            on_spark(folder, given)


def traffic(given: Any) -> Iterator[dict[str, pa.Table]]:
    """Window by window, the tables of one that begins where the one before has ended."""
    tables = generate(given.events, given.vessels, 7)
    span = History(tables).span
    for number in range(given.windows):
        moved = {name: _later(table, number * span, number) for name, table in tables.items()}
        leaving = np.arange(NEW) + NEW * number + LEAST
        for at, name in ((3, "gap_end"), (2, "gap_start"), (1, "gap_end")):
            # What held of those that are not heard of again comes to its end.
            last = _leaving(leaving, (number + 1) * span - at, moved[name].schema)
            moved[name] = pa.concat_tables([moved[name], last])
        yield moved


def _leaving(vessels: Any, time: int, schema: pa.Schema) -> pa.Table:
    times = np.full(len(vessels), time)
    return pa.table({"arrival": times, "occurrence": times, "vessel": vessels}).cast(schema)


def _later(table: pa.Table, by: int, number: int) -> pa.Table:
    for at, name in enumerate(table.column_names):
        if name in TIMES:
            table = table.set_column(at, name, pc.add(table.column(name), by))
        elif name.startswith("vessel"):
            table = table.set_column(at, name, pc.add(table.column(name), NEW * number))
    return table


class Tally:
    """Memory now and then, and what it comes to."""

    def __init__(self, windows: int) -> None:
        self._every = max(windows // 10, 1)
        self._sizes: list[float] = []
        self._began = time.perf_counter(), time.process_time()

    def is_due(self, windows: int) -> bool:
        return windows % self._every == 0

    def add(self, windows: int, size: float, told: str) -> None:
        self._sizes.append(size)
        now = time.perf_counter(), time.process_time()
        clock, cpu = now[0] - self._began[0], now[1] - self._began[1]
        self._began = now
        print(f"  {windows:>4} windows: {told}; {clock:.1f} s, {cpu:.1f} s of this process",
              flush=True)  # fmt: skip

    def say(self, title: str) -> None:
        first, last = np.array_split(np.array(self._sizes[len(self._sizes) // 5 :]), 2)
        print(f"{title}: {first.mean():.1f} MB in the first half, {last.mean():.1f} MB in the "
              f"second, {last.mean() / first.mean():.3f} of it")  # fmt: skip


# -- a session -----------------------------------------------------------------------------------


def in_process(folder: Path, given: Any, incremental: bool) -> None:
    program = cernis.load(RULES, [folder / "facts.cer"])
    span = History(generate(given.events, given.vessels, 7)).span
    session = Session(program.plan, span, span // 2, 0, incremental=incremental)
    title = "a session, " + ("incremental" if incremental else "from scratch")
    print(f"{title}: windows of {span} s")
    tally = Tally(given.windows)
    changes = 0
    for number, tables in enumerate(traffic(given), 1):
        session.insert(tables)
        for query in ((2 * number - 1) * span // 2, number * span):
            changes += len(session.query(query))
        if tally.is_due(number):
            gc.collect()
            state = len(packed(saved_tree(session), LAYOUT)[0])
            size = resident()
            tally.add(number, size, f"resident {size:.1f} MB, {len(session):,} records, "
                      f"state {state / 1e3:.0f} kB, {session.codes:,} codes, "
                      f"{changes:,} changes")  # fmt: skip
    tally.say(title)


def resident() -> float:
    """The memory of this process that is not shared or swapped, in MB."""
    told = Path("/proc/self/status").read_text("utf-8")
    return int(told.partition("RssAnon:")[2].split()[0]) / 1024


# -- a stream ------------------------------------------------------------------------------------


def on_spark(folder: Path, given: Any) -> None:
    from cernis.spark import files, stream
    from cernis.spark.sinks import ParquetSink
    from cernis.spark.spark_session import session

    spark = session("local[2]", {"spark.log.level": "OFF"})
    target, running = folder / "in", None
    target.mkdir()
    span = History(generate(given.events, given.vessels, 7)).span
    tally = Tally(given.windows)
    print(f"a stream: windows of {span} s")
    for number, tables in enumerate(traffic(given)):
        history = History(tables, ahead=number)
        history.slices(number * span, (number + 1) * span, 1, folder / "staged")
        (folder / "staged" / f"{number:06}").replace(target / f"{number:06}")
        if running is None:
            running = stream(
                RULES, files(spark, target), checkpoint=folder / "c", window=span,
                step=span // 2, sink=ParquetSink(folder / "feed"), facts=[folder / "facts.cer"],
            )  # fmt: skip
        running.catch_up()
        if tally.is_due(number + 1):
            python, jvm = _processes()
            state = [f.stat().st_size for f in (folder / "c" / "state").rglob("*") if f.is_file()]
            tally.add(number + 1, python, f"Python {python:.0f} MB, JVM {jvm:.0f} MB, state "
                      f"{running.metrics.state_bytes / 1e3:.0f} kB in {len(state)} files of "
                      f"{sum(state) / 1e3:.0f} kB")  # fmt: skip
    assert running is not None
    running.stop()
    spark.stop()
    tally.say("a stream, Python")


def _processes() -> tuple[float, float]:
    """Memory of this process and the workers, and of the JVM, in MB."""
    python = jvm = 0.0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes()
            told = (path / "smaps_rollup").read_text()
            fields = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) != os.getpgrp():
            continue
        size = int(told.partition("Pss:")[2].split()[0]) / 1024
        if b"java" in command[:200]:
            jvm += size
        else:
            python += size
    return python, jvm


if __name__ == "__main__":
    main()
