"""The maritime rules over generated streams: from Arrow tables to tables of intervals.

    python benchmarks/maritime.py [--events 1000000] [--vessels 5000] [--windows 24] [--large]

Prints time per event and in sorts (one `np.sort` of as many random 64-bit integers, measured in the
same run), all in processor time of one core; the cost of windows; and, with --large, ten times as
many events.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import cernis  # noqa: E402
from cernis.evaluate.run import Run  # noqa: E402
from cernis.plan import Plan  # noqa: E402
from examples.maritime.generate import facts, generate  # noqa: E402


def best(work: Callable[[], object], times: int) -> float:
    found = []
    for _ in range(times):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return min(found)


def sort_time(count: int) -> float:
    keys = np.random.default_rng(0).integers(0, 2**62, count)
    found = []
    for _ in range(9):
        copy = keys.copy()
        begun = time.process_time()
        copy.sort()
        found.append(time.process_time() - begun)
    return min(found)


def plan_for(vessels: int, folder: Path) -> Plan:
    path = folder / f"facts-{vessels}.cer"
    path.write_text(facts(vessels), "utf-8")
    return cernis.load(ROOT / "examples/maritime/rules.cer", [path]).plan


def last_time(tables: dict[str, pa.Table]) -> int:
    ends = ("end", "occurrence")
    columns = [t[c] for t in tables.values() for c in ends if c in t.column_names and len(t)]
    return max(int(column.to_numpy().max()) for column in columns)


def peak_memory(plan: Plan, tables: dict[str, pa.Table]) -> float:
    """Peak of what Python and numpy allocate, in multiples of the events' Arrow size."""
    tracemalloc.start()
    Run(plan).over(tables)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / sum(table.nbytes for table in tables.values())


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--events", type=int, default=1_000_000)
    arguments.add_argument("--vessels", type=int, default=5_000)
    arguments.add_argument("--windows", type=int, default=24)
    arguments.add_argument("--large", action="store_true")
    given = arguments.parse_args()
    cernis.keep_freed_memory()
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        plan = plan_for(given.vessels, Path(folder))
        tables = generate(given.events, given.vessels, 7)
        sort = sort_time(given.events)
        one = best(lambda: Run(plan).over(tables), 7)
        print(
            f"one window: {one * 1e3:.0f} ms, {one / given.events * 1e9:.0f} ns an event, "
            f"{one / sort:.1f} sorts (a sort is {sort * 1e3:.1f} ms)"
        )
        step = -(-last_time(tables) // given.windows)
        many = best(lambda: Run(plan).over(tables, window=step, step=step), 3)
        print(
            f"{given.windows} windows: {many * 1e3:.0f} ms, {many / one:.2f} x one window, "
            f"{(many - one) / given.windows * 1e3:.1f} ms more a window"
        )
        print(f"peak memory: {peak_memory(plan, tables):.1f} x the events")
        if given.large:
            tables = generate(10 * given.events, given.vessels, 7)
            large = best(lambda: Run(plan).over(tables), 3)
            print(
                f"ten times the events: {large * 1e3:.0f} ms, {large / one / 10:.2f} x linear, "
                f"{large / sort_time(10 * given.events):.1f} sorts"
            )


if __name__ == "__main__":
    from sorts import pin_sort

    pin_sort()
    main()
