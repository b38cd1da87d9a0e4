"""What it costs to read text records, recognise, and write the result. Prints one line a figure.

Half a million records of mixed kinds: events with text and with numbers, a fluent at points and
one on intervals. Each figure is the best of several runs, warm and in one process. It is given in
milliseconds, in nanoseconds a record, and in *sorts*: one sort is the time that `numpy.sort` takes
for as many random 64-bit integers as there are records, measured in the same run.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import cernis
from cernis.answers.result import Result
from cernis.answers.writers import OutputFormat, write
from cernis.program import Program
from cernis.records.record_columns import Records
from cernis.records.record_sources import read_events
from cernis.session.recognise import recognise
from cernis.session.settings import Settings

SEED = 20

RULES = """
collectIntervals(near(_, _)=true).
buildFromPoints(walking(_)=true).
initiatedAt(rich(X)=true, T) :- happensAt(win_lottery(X), T).
terminatedAt(rich(X)=true, T) :- happensAt(go_to(X, pub), T).
initiatedAt(location(X)=Y, T) :- happensAt(go_to(X, Y), T).
initiatedAt(fast(V)=true, T) :- happensAt(velocity(V, S, _), T), S > 20.
terminatedAt(fast(V)=true, T) :- happensAt(velocity(V, S, _), T), S =< 20.
happy(X)=true iff rich(X)=true or location(X)=pub.
strolling(X)=true iff walking(X)=true, location(X)=home.
meeting(X, Y)=true iff near(X, Y)=true.
"""


def records(count: int) -> str:
    """Records in the order of time, of some 2,000 people and vehicles."""
    chance = random.Random(SEED)
    times = sorted(chance.randrange(1_700_000_000, 1_700_500_000) for _ in range(count))
    return "\n".join(record(at, chance) for at in times) + "\n"


def record(at: int, chance: random.Random) -> str:
    who, kind = chance.randrange(2000), chance.random()
    if kind < 0.3:
        return f"go_to|{at}|{at}|person{who}|{chance.choice(['home', 'pub', 'work'])}"
    if kind < 0.5:
        speed = chance.uniform(0, 30)
        return f"velocity|{at}|{at}|{200_000_000 + who}|{speed:.1f}|{12 * speed:.2f}"
    if kind < 0.7:
        return f"win_lottery|{at}|{at}|person{who}"
    if kind < 0.9:
        return f"walking|{at}|{at}|true|person{who}"
    until = at + chance.randrange(1, 30)
    return f"near|{at}|{at}|{until}|true|person{who}|person{chance.randrange(2000)}"


def best(work: Callable[[], object], runs: int) -> float:
    """The shortest time a piece of work takes, in seconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def sort_time(count: int) -> float:
    """The time to sort that many random keys."""
    keys = np.random.default_rng(SEED).integers(-(2**63), 2**63 - 1, count, np.int64)
    return best(lambda: np.sort(keys), 25)


class Workload:
    """One file of records, and the work on it step by step."""

    def __init__(self, count: int, folder: Path) -> None:
        self.count = count
        self.program: Program = cernis.load(RULES)
        self.input = folder / "records.txt"
        self.output = folder / "result"
        self.input.write_text(records(count))
        self.read = self.reading()
        self.result = self.recognising()

    def reading(self) -> Records:
        return read_events(self.input, self.program.checked)

    def recognising(self) -> Result:
        return recognise(self.program.plan, self.read, Settings())

    def writing(self, form: OutputFormat = OutputFormat.TEXT) -> None:
        write(self.result, self.output, form)

    def whole(self) -> None:
        result = recognise(self.program.plan, self.input, Settings())
        write(result, self.output, OutputFormat.TEXT)


def line(name: str, seconds: float, count: int, sort: float) -> str:
    figures = f"{1000 * seconds:9.1f} ms  {1e9 * seconds / count:8.0f} ns a record"
    return f"{name:<34}  {figures}  {seconds / sort:8.1f} sorts"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Workload(options.records, Path(folder))
        sort = sort_time(work.count)
        steps: dict[str, Callable[[], object]] = {
            "read text": work.reading,
            "recognise": work.recognising,
            "write text": work.writing,
            "write parquet": lambda: work.writing(OutputFormat.PARQUET),
            "all: text in, text out": work.whole,
        }
        for name, step in steps.items():
            print(line(name, best(step, options.runs), work.count, sort), flush=True)


if __name__ == "__main__":
    from sorts import pin_sort

    pin_sort()
    main()
