"""What explanations cost: of one pair in memory, and from Parquet files.

    python benchmarks/explain.py --events 1000000 --parquet 10000000

A line for each: the first question to a program, a later one, and a question that is answered with
why not. From files, the time includes reading them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import pyarrow.parquet as pq  # noqa: E402

import cernis  # noqa: E402
from cernis.program import Program  # noqa: E402
from examples.maritime.generate import facts, generate  # noqa: E402

QUESTIONS = 9


def questions(program: Program, events: object) -> list[tuple[str, int]]:
    """Some pairs of many fluents that held, each with a point of it."""
    rows = program.run(events).intervals.to_pylist()
    by_fluent = {row["fluent"]: row for row in rows[:: max(len(rows) // 5000, 1)]}
    return [
        (f"{row['fluent']}({', '.join(row['args'])})={row['value']}", row["start"])
        for row in by_fluent.values()
        if len(row["args"]) < 3
    ]


def timed(program: Program, events: object, question: str, point: int) -> tuple[float, bool]:
    """Processor time of one explanation in milliseconds, and whether the pair held."""
    begun = time.process_time()
    holds = program.explain(events, question, point).holds
    return (time.process_time() - begun) * 1e3, holds


def in_memory(program: Program, count: int, vessels: int) -> None:
    tables = generate(count, vessels, 7)
    asked = questions(program, tables)
    records = program.records(tables)
    first, _ = timed(program, records, *asked[0])
    print(f"{count:,} records in memory: first question {first:.0f} ms")
    costs = [timed(program, records, *each) for each in asked[:QUESTIONS]]
    assert all(holds for _, holds in costs), "what held is explained as such"
    print(f"later ones: {median(c for c, _ in costs):.0f} ms, at most {max(costs)[0]:.0f} ms")
    misses = [timed(program, records, question, 1)[0] for question, _ in asked[:QUESTIONS]]
    print(f"why not: {median(misses):.0f} ms, at most {max(misses):.0f} ms")


def from_parquet(program: Program, count: int, vessels: int) -> None:
    tables = generate(count, vessels, 7)
    asked = questions(program, generate(min(count, 200_000), vessels, 7))
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, table in tables.items():
            files.append(Path(folder) / f"{name}.parquet")
            pq.write_table(table, files[-1])
        del tables
        clock, begun = time.perf_counter(), time.process_time()
        program.explain(files, *asked[0])
        print(
            f"{count:,} rows of Parquet: {time.process_time() - begun:.2f} s of processor time, "
            f"{time.perf_counter() - clock:.2f} s on the clock"
        )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--events", type=int, default=1_000_000)
    arguments.add_argument("--vessels", type=int, default=5_000)
    arguments.add_argument("--parquet", type=int, default=0, help="rows of Parquet; 0 for none")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "facts.cer"
        path.write_text(facts(given.vessels), "utf-8")
        program = cernis.load(ROOT / "examples/maritime/rules.cer", [path])
    in_memory(program, given.events, given.vessels)
    if given.parquet:
        from_parquet(program, given.parquet, given.vessels)


if __name__ == "__main__":
    main()
