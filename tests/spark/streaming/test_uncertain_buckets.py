"""Uncertain records of several entities in a bucket: as each entity alone, and whoever has it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cernis
from cernis.evaluate.probabilities.uncertain_settings import uncertain_settings
from cernis.session.uncertain_session import UncertainSession
from cernis.spark.streaming import bucket_progress
from tests.spark.streaming.local_stream import LocalStream, stream_of
from tests.spark.streaming.test_live_buckets import Workers
from tests.spark.streaming.test_local_stream import InProcess, arrival, numeral, pieces
from tests.spark.streaming.test_uncertain_streams import COMPOSITES, KEYED, TOGETHER

Change = tuple[Any, ...]

ENTITIES = ("a", "b", "7", "7.5", "'Far Out'", "-1")
"""Texts and numbers: a number alone in its bucket has another type than one among texts."""

LEVELS = """
    initiatedAt(level(X)=P, T) :- happensAt(up(X, P), T).
    initiatedAt(twice(X)=Q, T) :- happensAt(up(X, P), T), Q is P * 2.
    terminatedAt(level(X)=_, T) :- happensAt(down(X), T).
    terminatedAt(twice(X)=_, T) :- happensAt(down(X), T).
"""
"""Values are numbers, whole ones and others."""

MEMORIES: tuple[dict[str, Any], ...] = (
    {"memory": 3, "durations": {"on": (4, 3), "level": (3, 2), "twice": (2, 2)}, "threshold": 0.4},
    {"memory": 3, "threshold": 0.4},
    {},
)
"""Random starts are forgotten, the oldest ones, or none."""


def records(random: Random, last: int) -> list[str]:
    """Records with ids by arrival: late ones, ones that come again, and ones taken back."""
    lines = []
    for time in range(1, last):
        for entity in ENTITIES:
            if random.random() < 0.25:
                lines += _deliveries(random, time, entity, f"{entity.strip(chr(39))}{time}")
    return sorted(lines, key=arrival)


def _deliveries(random: Random, time: int, entity: str, name: str) -> list[str]:
    """A record, and what else comes with its id; what comes again has another probability."""
    first = time + random.choice((0, 0, 0, 6))
    kind = random.choice(("up", "up", "down"))
    power = f"|{random.choice((2, 3, 3.5, 4, 4.0))}" if kind == "up" else ""
    rest = f"{time}|{entity}{power}|{name}"
    lines = [f"{_chance(random)}{kind}|{first}|{rest}"]
    if random.random() < 0.2:
        lines.append(f"{_chance(random)}{kind}|{first + 1}|{rest}")
    if random.random() < 0.2:
        lines.append(f"{_chance(random)}-{kind}|{first + 2}|{rest}")
        if random.random() < 0.5:
            lines.append(f"{_chance(random)}{kind}|{first + 3}|{rest}")
    if random.random() < 0.1:
        lines.append(f"-{kind}|{first + 2}|{rest} of nobody")
    return lines


def _chance(random: Random) -> str:
    return random.choice(("", "0.9::", "0.7::", "0.5::", "0.3::"))


def as_changes(rows: list[dict[str, Any]]) -> Counter[Change]:
    keys = ("query_time", "change", "fluent", "start", "end")
    return Counter(
        (*(row[key] for key in keys), numeral(row["value"]), *map(numeral, row["args"]),
         row["probability"] and round(row["probability"], 9))
        for row in rows
    )  # fmt: skip


def in_process(stream: LocalStream) -> InProcess:
    """A session with the settings of a stream."""
    session = InProcess(stream)
    assert stream.likely is not None
    session.session = UncertainSession(
        stream.program.plan, stream.likely, stream.window, stream.step, policy=stream.policy,
        ids=stream.ids,
    )  # fmt: skip
    return session


@pytest.mark.parametrize("seed", range(6))
def test_ids_and_whichever_worker_has_which_bucket(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers keep sessions, lose them, and do micro-batches again; records are known by ids."""
    random = Random(f"uncertain workers {seed}")
    monkeypatch.setattr(bucket_progress, "FEW", random.choice((0, 2000)))
    stream = stream_of(
        (COMPOSITES, KEYED, TOGETHER)[seed % 3] + LEVELS, tmp_path, random.choice((12, 40)),
        random.choice((4, 9)), buckets=random.choice((2, 3)), lateness=random.choice((0, 3)),
        start=0, tries=Workers(random), policy=random.choice(("early", "early", "partial")),
        ids="id", likely=uncertain_settings(**MEMORIES[seed // 2 % 3]),
    )  # fmt: skip
    session = in_process(stream)
    duplicates = missing = 0
    for batch in [*pieces(records(random, 30), random), ["$clock|60"]]:
        before = stream.batch, stream.state, stream.clock
        changes = as_changes(stream.take(batch))
        if random.random() < 0.3:
            stream.batch, stream.state, stream.clock = before
            assert as_changes(stream.take(batch)) == changes
        expected = as_changes(session.take(batch))
        assert changes == expected, f"seed {seed}: micro-batch {before[0]}"
        duplicates += stream.told.get("duplicates", 0)
        missing += sum("no record" in aside.reason for aside in stream.told["aside"])
    assert duplicates == session.session.counts.duplicates > 0
    assert missing > 0


@pytest.mark.parametrize("seed", range(6))
def test_each_entity_alone(seed: int) -> None:
    """A session over many entities reports of each what a session over that one reports."""
    random = Random(f"alone {seed}")
    program = cernis.load((COMPOSITES, KEYED)[seed % 2] + LEVELS)
    settings: dict[str, Any] = {
        "window": random.choice((9, 40)), "step": random.choice((4, 7)), "start": 0,
        "ids": "id", "seed": seed, **MEMORIES[seed // 2],
    }  # fmt: skip
    lines = records(random, 30)
    everyone = _feed(program, settings, lines)
    for entity in ENTITIES:
        alone = _feed(program, settings, [line for line in lines if line.split("|")[3] == entity])
        assert _of(alone, entity) == _of(everyone, entity), f"seed {seed}: {entity}"
    assert len(everyone) > 30


def _feed(program: cernis.Program, settings: dict[str, Any], lines: list[str]) -> list[Any]:
    session = program.uncertain_session(**settings)
    rows: list[Any] = []
    step = settings["step"]
    for time in range(step, 50, step):
        session.insert([line for line in lines if time - step < arrival(line) <= time])
        feed = session.query(time)
        rows += [*feed.table().to_pylist(), *feed.probabilities().to_pylist()]  # type: ignore[attr-defined]
    return rows


def _of(rows: list[Any], entity: str) -> Counter[Change]:
    name = entity.strip("'")
    return as_changes([row for row in rows if numeral(row["args"][0]) == numeral(name)])
