"""Event patterns on a stream: micro-batches of Parquet files to a feed of changes in Parquet.

`a(X) seq b(X) within 600` under two policies, and a state that has held for ten minutes, with late
records among the input. Printed for each: events a second, sustained, where the first two
micro-batches do not count; processor time of the JVM and of Python; and what workers spent it on.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])

from benchmarks.stream import Batch, History, Watch, batches, listen, show  # noqa: E402
from cernis.spark import files, stream  # noqa: E402
from cernis.spark.spark_session import session  # noqa: E402

KEYS: Final = 10_000
A_SECOND: Final = 100
REACH: Final = 600
LATE: Final = 120
"""One record in ten arrives up to so many seconds after it occurred."""


@dataclass(frozen=True)
class Question:
    """A program, and how many events a second it is asked to take."""

    title: str
    rules: str
    asked: int


QUESTIONS: Final = (
    Question(
        f"a seq b within {REACH}, recent",
        f":- consumption(recent).\ne(X) <- a(X) seq b(X) within {REACH}.\n", 100_000,
    ),
    Question(
        f"a seq b within {REACH}, unrestricted", f"e(X) <- a(X) seq b(X) within {REACH}.\n",
        100_000,
    ),
    Question(
        "held for ten minutes",
        """
initiatedAt(on(X)=true, T)  :- happensAt(a(X), T).
terminatedAt(on(X)=true, T) :- happensAt(b(X), T).
happensAt(lasting(X), T)    :- happensAt(on(X)=true for at least 10min, T).
""",
        55_000,
    ),
)  # fmt: skip


def history(events: int, seed: int = 1) -> History:
    """Events a and b of random keys at an even pace; some of them arrive late."""
    random = np.random.default_rng(seed)
    times = np.sort(random.integers(1, events // A_SECOND + 1, events))
    late = np.where(random.random(events) < 0.1, random.integers(0, LATE, events), 0)
    keys, is_a = random.integers(0, KEYS, events), random.random(events) < 0.5
    return History({
        name: pa.table({
            "arrival": (times + late)[own], "occurrence": times[own], "X": keys[own],
        })
        for name, own in (("a", is_a), ("b", ~is_a))
    })  # fmt: skip


def measure(events: int = 4_000_000, batch: int = 500_000, cores: int = 2) -> None:
    """Print figures of all questions."""
    spark = session(f"local[{cores}]", {"spark.log.level": "OFF"})
    given = history(events)
    length = batch // A_SECOND
    print(f"{events:,} events of {KEYS:,} keys, {A_SECOND} a second, micro-batches of {length} s, "
          f"window {length} s, a query for each half, local[{cores}]")  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="cernis-patterns-") as place:
        folder = Path(place)
        given.slices(0, given.span, max(events // batch, 3), folder / "in")
        for number, question in enumerate(QUESTIONS):
            print(f"\n{question.title}; asked: {question.asked:,} events a second")
            _sustained(_run(spark, folder, number, question, length), question)
    spark.stop()


def _run(spark: Any, folder: Path, number: int, question: Question, length: int) -> list[Batch]:
    watch = Watch(folder / f"feed-{number}")
    running = stream(
        question.rules, files(spark, folder / "in", at_once=2), checkpoint=folder / f"c-{number}",
        window=length, step=length // 2, sink=watch, until_done=True, start=0,
    )  # fmt: skip
    told = listen(running)
    running.wait()
    return batches(running, watch, told)


def _sustained(found: list[Batch], question: Question) -> None:
    for batch in found:
        show(batch)
    steady = found[2:]
    seconds, events = sum(own.seconds for own in steady), sum(own.events for own in steady)
    jvm, python = sum(own.jvm for own in steady), sum(own.python for own in steady)
    speed = events / seconds
    print(f"sustained: {speed:,.0f} events a second by the clock, {speed / question.asked:.2f} of "
          f"what is asked; processor time an event: JVM {1e6 * jvm / events:.2f} us, Python "
          f"{1e6 * python / events:.2f} us")  # fmt: skip
