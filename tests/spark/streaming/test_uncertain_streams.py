"""Streams of uncertain records tell what a session in the process does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import cernis
from cernis.answers.feed_lines import line_of
from cernis.errors import DataError, UnsupportedError
from cernis.evaluate.probabilities.uncertain_settings import uncertain_settings
from cernis.session.uncertain_session import UncertainSession
from cernis.spark import files, fold, stream
from cernis.spark.sinks import MemorySink
from cernis.spark.streaming.stream_query import likely_of
from tests.spark.streaming.local_stream import stream_of
from tests.spark.streaming.test_local_stream import InProcess, arrival, pieces
from tests.spark.streaming.test_stream_query import Folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

KEYED = """
    0.7::initially(on(a)=true).
    initially(warm(nobody)=true).
    initiatedAt(on(X)=true, T) :- happensAt(up(X, P), T), P > 2, \\+ happensAt(down(X), T).
    terminatedAt(on(X)=true, T) :- happensAt(down(X), T).
    initiatedAt(warm(X)=true, T) :- happensAt(up(X, _), T), holdsAt(on(X)=true, T).
    terminatedAt(warm(X)=true, T) :- happensAt(down(X), T).
    hot(X)=true iff warm(X)=true, on(X)=true.
"""
TOGETHER = (
    KEYED
    + """
    initiatedAt(both(X, Y)=true, T) :- happensAt(up(X, _), T), happensAt(up(Y, _), T), X \\= Y.
    terminatedAt(both(X, _)=true, T) :- happensAt(down(X), T).
"""
)

COMPOSITES = (
    KEYED
    + """
    flash(X) <- not(down(X))[up(X, _), up(X, _)] within 9.
    initiatedAt(alarm(X)=on, T) :- happensAt(flash(X), T).
    terminatedAt(alarm(X)=on, T) :- happensAt(down(X), T).
    fi(alarm(X)=on, alarm(X)=late, 7).
    ft(alarm(X)=late, 5).
"""
)


def lines(random: Random, last: int = 60) -> list[str]:
    """Records of some entities, some late and some taken back, by arrival."""
    found = []
    for time in range(1, last):
        for thing in ("a", "b", "c", "7"):
            if random.random() < 0.3:
                sure = f"{random.choice((0.3, 0.6, 0.9))}::" if random.random() < 0.8 else ""
                told = time + random.choice((0, 0, 0, 6))
                what = random.choice((f"up|{told}|{time}|{thing}|{random.randrange(6)}",
                                      f"down|{told}|{time}|{thing}"))  # fmt: skip
                found.append(f"{sure}{what}")
                if random.random() < 0.1:
                    name, _, *rest = what.split("|")
                    found.append(f"{sure}-{'|'.join([name, str(told + 3), *rest])}")
    return sorted(found, key=arrival)


def as_changes(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    keys = ("query_time", "change", "fluent", "value", "start", "end", "probability")
    return Counter((*(row[key] for key in keys), tuple(row["args"])) for row in rows)


@pytest.mark.parametrize("seed", range(11))
def test_the_feed_of_a_session(seed: int, tmp_path: Path) -> None:
    """However it is cut, over any number of buckets; each micro-batch begins from what is kept."""
    random = Random(seed)
    print(f"seed {seed}")
    rules, buckets = random.choice([(KEYED, 1), (KEYED, 3), (TOGETHER, 1), (TOGETHER, 3)])
    rules = COMPOSITES if seed >= 8 else rules
    memory = random.choice([{}, {"memory": 4}, {"memory": 4, "durations": {"on": (5, 2)}}])
    own = stream_of(
        rules, tmp_path, random.choice((8, 15, 60)), random.choice((3, 8)), buckets=buckets,
        lateness=random.choice((0, 4)), start=random.choice((None, 0)),
        policy=random.choice(("early", "early", "partial", "final")),
        likely=uncertain_settings(**memory, probabilities=True),
    )  # fmt: skip
    there = InProcess(own)
    assert own.likely is not None
    there.session = UncertainSession(
        own.program.plan, own.likely, own.window, own.step, policy=own.policy
    )
    settled: list[dict[str, Any]] = []
    for batch in [*pieces(lines(random), random), ["$clock|120"]]:
        rows = own.take(batch)
        settled += [row for row in rows if row["change"] == "probability"]
        found = as_changes([row for row in rows if row["change"] != "probability"])
        expected = as_changes(there.take(batch))
        assert found == expected, f"seed {seed}: micro-batch {own.batch}"
    points = Counter(
        (row["fluent"], tuple(row["args"]), row["value"], point)
        for row in settled
        for point in range(row["start"], row["end"])
    )
    assert not points or max(points.values()) == 1
    chances = {(row["fluent"], tuple(row["args"]), row["start"]): row["probability"]
               for row in settled}  # fmt: skip
    assert chances.get(("on", ("a",), 1), 0.7) == 0.7


def test_a_stream_that_is_interrupted_and_started_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    random = Random(7)
    every = lines(random, 40)
    given, sink = Folder(tmp_path / "in"), MemorySink()
    broken = [True]

    def write(batch: int, changes: Any) -> None:
        sink.write(batch, changes)
        if len(sink.batches) == 2 and broken:
            broken.clear()
            raise DataError("interrupted")

    settings: dict[str, Any] = {"window": 30, "step": 10, "start": 0}
    likely = {"memory": 4, "durations": {"on": (5, 2)}, "threshold": 0.6}
    for low in range(0, len(every), 25):
        given.put(every[low : low + 25])
    given.put(["60"], ".clock")
    for attempt in range(2):
        running = stream(
            KEYED, files(spark, given.folder, at_once=1), checkpoint=tmp_path / "c", partitions=3,
            sink=write, until_done=True, uncertain=likely, **settings,
        )  # fmt: skip
        if attempt == 0:
            with pytest.raises(DataError, match="interrupted"):
                running.wait()
    running.wait()
    session = cernis.load(KEYED).uncertain_session(**likely, **settings)  # type: ignore[arg-type]
    session.insert("\n".join(every) + "\n")
    told = [row for time in range(10, 61, 10) for row in session.query(time).table().to_pylist()]
    assert as_changes(sink.changes.to_pylist()) == as_changes(told)
    folded = fold(sink.changes)
    assert folded.column_names[-1] == "probability"
    assert folded.num_rows
    with pytest.raises(DataError, match="its uncertain is"):
        stream(KEYED, files(spark, given.folder), checkpoint=tmp_path / "c", sink=write,
               partitions=3, uncertain=True, **settings)  # fmt: skip


def test_what_is_not_defined_is_refused_before_it_starts(
    spark: SparkSession, tmp_path: Path
) -> None:
    rules = KEYED + (
        "\nft(on(_)=true, 5). initiatedAt(f(X)=true, T) :- terminatedAt(on(X)=true, T)."
    )
    given = Folder(tmp_path / "in")
    more: dict[str, Any] = {"checkpoint": tmp_path / "c", "window": 9}
    with pytest.raises(UnsupportedError, match="delayed effects"):
        stream(rules, files(spark, given.folder), uncertain=True, **more)
    with pytest.raises(DataError, match="threshold"):
        stream(KEYED, files(spark, given.folder), uncertain={"threshold": 3}, **more)


def test_settings_and_lines() -> None:
    program = cernis.load(KEYED)
    assert likely_of(False, program) is None
    assert likely_of(True, program) == uncertain_settings()
    row = {"change": "insert", "fluent": "on", "args": ["a"], "value": "true", "start": 3,
           "end": None, "query_time": 9, "probability": 0.75}  # fmt: skip
    assert line_of(row) == "+ on(a)=true [3,inf) 0.750 at 9"
