"""Uncertain records of several entities in a bucket: as each entity alone, and whoever has it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import pytest

import cernis
from cernis.evaluate.probabilities.uncertain_settings import uncertain_settings
from cernis.session.feed import Feed
from cernis.session.uncertain_session import UncertainFeed, UncertainSession
from cernis.spark.batch.uncertain_stages import may_be_apart_on_streams
from cernis.spark.streaming import bucket_progress
from tests.agreement.test_exact_probabilities import EXACT
from tests.agreement.test_measured_combinations import drawn as combined_and_measured
from tests.agreement.test_random_uncertain_programs import DECLARED, EDGES, Drawn
from tests.spark.batch.test_uncertain_stages import (
    NAMES,
    SELECTING,
    SPREAD,
    doubted,
    lines_for_patterns,
)
from tests.spark.keyed import PROGRAMS, stream
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


def drawn_program(seed: int) -> str:
    """A random program in which no entity asks about another."""
    drawn = Drawn(seed, cyclic=seed % 2 == 1, static=seed % 4 == 2)
    rules = "\n".join(line for line in drawn.rules.splitlines() if not line.startswith("some="))
    return (EXACT if seed % 4 == 0 else DECLARED) + rules + (EDGES if seed % 4 == 3 else "")


def drawn_records(random: Random, last: int) -> list[str]:
    """Records for a random program: late ones, ones that come again, and ones taken back."""
    lines = []
    for time in range(1, last):
        for entity in random.sample(("x", "y", "7", "7.5"), 2):
            name = random.choice(("a", "b", "c", "near"))
            value = "true|" if name == "near" else ""
            rest = f"{time}|{value}{entity}|{name}{time}{entity}"
            first = time + random.choice((0, 0, 0, 4))
            lines.append(f"{_chance(random)}{name}|{first}|{rest}")
            if random.random() < 0.2:
                sign = random.choice(("", "-"))
                lines.append(f"{_chance(random)}{sign}{name}|{first + 2}|{rest}")
    return sorted(lines, key=arrival)


def _chance(random: Random) -> str:
    return random.choice(("", "0.9::", "0.7::", "0.5::", "0.3::"))


def as_changes(rows: list[dict[str, Any]]) -> Counter[Change]:
    keys = ("query_time", "change", "fluent", "start", "end")
    return Counter(
        (*(row[key] for key in keys), numeral(row["value"]), *map(numeral, row["args"]),
         _rounded(row.get("probability")))
        for row in rows
    )  # fmt: skip


def _rounded(probability: float | None) -> float | None:
    """A probability to nine digits; one that lies in between is not left to its last bit."""
    return None if probability is None else round(probability + 3e-11, 9)


class SettlingSession(UncertainSession):
    """A session that keeps the probabilities that its queries settle, if they are wanted."""

    settled_rows: list[dict[str, Any]]

    def query(self, time: int) -> Feed:
        feed = super().query(time)
        assert isinstance(feed, UncertainFeed)
        if self.chosen.probabilities:
            self.settled_rows += feed.probabilities().to_pylist()
        return feed


class Process(InProcess):
    """A session over uncertain records, asked when a stream would be."""

    session: SettlingSession

    def __init__(self, stream: LocalStream) -> None:
        super().__init__(stream)
        assert stream.likely is not None
        self.session = SettlingSession(
            stream.program.plan, stream.likely, stream.window, stream.step,
            policy=stream.policy, ids=stream.ids,
        )  # fmt: skip
        self.session.settled_rows = []


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
    session = Process(stream)
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


@pytest.mark.parametrize("name", NAMES)
def test_keys_of_every_kind(name: str, tmp_path: Path) -> None:
    """Stages exchange courses and demands while workers lose buckets."""
    random = Random(f"uncertain keys {name}")
    lines = stream(PROGRAMS[name], random, 40, retractions=True)
    # A retraction needs no probability: it is known by its id.
    lines = [f"{line if line.startswith('-') else doubted(line)}|{_id_of(line)}" for line in lines]
    rules = PROGRAMS[name].rules
    own = stream_of(
        rules, tmp_path, random.choice((8, 30)), random.choice((3, 8)),
        buckets=3 if name in SPREAD - {"foreign domain", "pairs"} else 1, start=0,
        tries=Workers(random),
        lateness=random.choice((0, 4)), policy=random.choice(("early", "partial")), ids="id",
        likely=uncertain_settings(memory=3, threshold=0.4),
    )  # fmt: skip
    session = Process(own)
    lines = sorted(lines, key=lambda line: arrival(line) + random.choice((0, 0, 0, 5)))
    for batch in [*pieces(lines, random), ["$clock|80"]]:
        before = own.batch, own.state, own.clock
        changes = as_changes(own.take(batch))
        if random.random() < 0.3:
            own.batch, own.state, own.clock = before
            assert as_changes(own.take(batch)) == changes
        assert changes == as_changes(session.take(batch)), f"{name}: micro-batch {before[0]}"


def test_credible_intervals_that_are_demanded_are_not_read_in_buckets(tmp_path: Path) -> None:
    """What made an interval credible may lie before the window in which it is demanded."""
    likely = uncertain_settings(threshold=0.4)
    apart = {
        name: may_be_apart_on_streams(cernis.load(PROGRAMS[name].rules).plan, likely)
        for name in ("one", "pairs", "only pairs", "open head", "conflicts", "points")
    }
    assert [name for name, is_apart in apart.items() if not is_apart] == ["pairs"]
    own = stream_of(PROGRAMS["pairs"].rules, tmp_path, 8, 4, buckets=1, start=0, likely=likely)
    changes = [
        row
        for batch in (["0.9::win|5|5|zoe", "$clock|10"], ["0.8::lose|20|20|zoe", "$clock|38"],
                      ["near|40|40|50|true|ann|zoe", "$clock|43"])
        for row in own.take(batch)
    ]  # fmt: skip
    assert [row["start"] for row in changes if row["fluent"] == "both"] == [37]


DEMANDED = """
    initiatedAt(on(X)=true, T) :- happensAt(win(X), T).
    happy(X)=true iff on(X)=true.
    happensAt(party(X), T) :- happensAt(start(happy(X)=true), T).
    holdsFor(both(X, Y)=true, I) :-
        holdsFor(near(X, Y)=true, N), holdsFor(happy(X)=true, A), holdsFor(happy(Y)=true, B),
        intersect_all([N, A, B], I).
    happensAt(parted(X, Y), T) :- happensAt(end(both(X, Y)=true), T).
"""


@pytest.mark.parametrize("buckets", [1, 3])
def test_what_a_credible_interval_demands_comes_after_its_records(
    buckets: int, tmp_path: Path
) -> None:
    """The interval of `near` goes on for some time after its record, and the window, have gone."""
    likely = uncertain_settings(threshold=0.4)
    own = stream_of(DEMANDED, tmp_path, 6, 3, buckets=buckets, start=0, likely=likely)
    assert may_be_apart_on_streams(own.program.plan, likely)
    session = Process(own)
    ends = set()
    for batch in (["0.9::win|1|1|zoe", "0.9::win|2|2|ann", "0.9::near|3|3|33|true|ann|zoe"],
                  ["$clock|16"], ["$clock|34"], ["$clock|48"], ["$clock|90"]):  # fmt: skip
        changes = own.take(batch)
        assert as_changes(changes) == as_changes(session.take(batch))
        ends |= {row["end"] or 0 for row in changes if row["fluent"] == "both"}
    assert max(ends) > 50


@pytest.mark.parametrize("seed", range(0, 8, 2))
def test_lists_that_are_combined_and_measured_in_buckets(seed: int, tmp_path: Path) -> None:
    random, (rules, _, _, text) = Random(f"measured {seed}"), combined_and_measured(seed)
    likely = uncertain_settings(threshold=0.4, memory=random.choice((None, 3)))
    own = stream_of(rules, tmp_path, random.choice((4, 8)), 3, buckets=3, start=0, likely=likely)
    session = Process(own)
    lines = sorted((line for line in text.splitlines() if line[:3] != "0::"), key=arrival)
    told = Counter[Change]()
    for batch in [*pieces(lines, random), ["$clock|30"]]:
        changes = as_changes(own.take(batch))
        assert changes == as_changes(session.take(batch)), f"seed {seed}: {batch}"
        told += changes
    assert {change[2] for change in told} <= {"a", "b", "c", "long"}


def _id_of(line: str) -> str:
    """An id that a record has in common with its retraction."""
    name, _, *rest = line.split("|")
    return f"r{crc32('|'.join([name.lstrip('-'), *rest]).encode())}"


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_in_buckets(seed: int, tmp_path: Path) -> None:
    """The feed and the settled probabilities of a session, whichever worker has which bucket."""
    random = Random(f"drawn workers {seed}")
    memory = random.choice(({}, {"memory": 2, "durations": {"f": (3, 2), "g": (2, 2)}}))
    stream = stream_of(
        drawn_program(seed), tmp_path, random.choice((4, 8, 40)), random.choice((3, 5)),
        buckets=3, lateness=random.choice((0, 3)), start=0, tries=Workers(random), ids="id",
        policy=random.choice(("early", "partial", "final")),
        likely=uncertain_settings(**memory, threshold=0.4, seed=seed, probabilities=True),
    )  # fmt: skip
    session = Process(stream)
    for batch in [*pieces(drawn_records(random, 16), random), ["$clock|30"]]:
        changes, expected = as_changes(stream.take(batch)), as_changes(session.take(batch))
        expected += as_changes(session.session.settled_rows)
        session.session.settled_rows.clear()
        assert changes == expected, f"seed {seed}: micro-batch {stream.batch}"


@pytest.mark.parametrize("seed", range(6))
def test_each_entity_alone(seed: int) -> None:
    """A session over many entities reports of each what a session over that one reports."""
    random = Random(f"alone {seed}")
    program = cernis.load((COMPOSITES, KEYED)[seed % 2] + LEVELS)
    settings: dict[str, Any] = {
        "window": random.choice((9, 40)), "step": random.choice((4, 7)), "start": 0,
        "ids": "id", "seed": seed, **MEMORIES[seed // 2 % 3],
    }  # fmt: skip
    lines = records(random, 30)
    everyone = _feed(program, settings, lines)
    for entity in ENTITIES:
        alone = _feed(program, settings, [line for line in lines if line.split("|")[3] == entity])
        assert _of(alone, entity) == _of(everyone, entity), f"seed {seed}: {entity}"
    assert len(everyone) > 30


@pytest.mark.parametrize("seed", range(8))
def test_entities_of_random_programs_alone(seed: int) -> None:
    """Cyclic or not, static fluents, starts and ends, exact probabilities; steps above windows."""
    random, program = Random(f"drawn alone {seed}"), cernis.load(drawn_program(seed))
    memory = random.choice(
        ({}, {"memory": 2}, {"memory": 2, "durations": {"f": (3, 2), "g": (2, 2)}})
    )
    settings: dict[str, Any] = {
        "window": random.choice((3, 8, 40)), "step": random.choice((3, 5)), "start": 0,
        "ids": "id", "seed": seed, "threshold": 0.4, **memory,
    }  # fmt: skip
    lines = drawn_records(random, 16)
    everyone = _feed(program, settings, lines, 25)
    for entity in ("x", "y", "7", "7.5"):
        alone = _feed(program, settings, [line for line in lines if f"|{entity}|" in line], 25)
        assert _of(alone, entity) == _of(everyone, entity), f"seed {seed}: {entity}"


def _feed(
    program: cernis.Program, settings: dict[str, Any], lines: list[str], last: int = 50
) -> list[Any]:
    session = program.uncertain_session(**settings)
    rows: list[Any] = []
    step = settings["step"]
    for time in range(step, last, step):
        session.insert([line for line in lines if time - step < arrival(line) <= time])
        feed = session.query(time)
        rows += [*feed.table().to_pylist(), *feed.probabilities().to_pylist()]  # type: ignore[attr-defined]
    return rows


def _of(rows: list[Any], entity: str) -> Counter[Change]:
    name = entity.strip("'")
    return as_changes([row for row in rows if numeral(row["args"][0]) == numeral(name)])


@pytest.mark.parametrize("seed", range(2))
def test_occurrences_of_patterns_are_in_the_feed(seed: int, tmp_path: Path) -> None:
    random = Random(f"uncertain patterns {seed}")
    own = stream_of(
        SELECTING, tmp_path, 12, 4, buckets=3, lateness=random.choice((0, 3)), start=0,
        tries=Workers(random), likely=uncertain_settings(),
    )  # fmt: skip
    session, told = Process(own), Counter[str]()
    for batch in [*pieces(lines_for_patterns(random, 40), random), ["$clock|60"]]:
        changes = as_changes(own.take(batch))
        assert changes == as_changes(session.take(batch))
        told.update(change[2] for change in changes)
    assert {"near", "turn", "burst", "busy", "calm"} <= told.keys()
