"""A stream over buckets and stages tells what a session in the process does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cernis.session.session import Session
from tests.generators.patterns import Drawing, random_records
from tests.operators.definitions.test_asked_terminations import drawn
from tests.spark.keyed import PROGRAMS, stream
from tests.spark.streaming.local_stream import LocalStream, stream_of

Change = tuple[Any, ...]


def numeral(text: str | None) -> object:
    """Numbers as numbers: whether 1 prints as 1.0 depends on what else is in the bucket."""
    try:
        return text if text is None else float(text)
    except ValueError:
        return text


def as_changes(rows: list[dict[str, Any]]) -> Counter[Change]:
    return Counter(
        (row["query_time"], row["change"], row["fluent"], tuple(map(numeral, row["args"])),
         numeral(row["value"]), row["start"], row["end"])
        for row in rows
    )  # fmt: skip


class InProcess:
    """A session, asked when a stream would be."""

    def __init__(self, own: LocalStream) -> None:
        self.own = own
        self.session = Session(
            own.program.plan, own.window, own.step, policy=own.policy, incremental=False
        )
        self.clock = -(1 << 60)
        self.start: int | None = None

    def take(self, lines: list[str]) -> list[dict[str, Any]]:
        records = [line for line in lines if not line.startswith("$clock")]
        for line in lines:
            told = int(line.split("|")[1])
            self.clock = max(self.clock, told + line.startswith("$clock"))
        firsts = [int(line.split("|")[2]) for line in records if not line.startswith("-")]
        if self.start is None and firsts:
            first = (min(firsts) - 1) // self.own.step * self.own.step
            self.start = self.session.start = (
                self.own.start if self.own.start is not None else first
            )
            self.last = self.start
        if records:
            # Of one arrival, retractions come last: which reader is first does not matter.
            records = sorted(records, key=lambda line: line.startswith("-"))
            self.session.insert("\n".join(records) + "\n")
        found: list[dict[str, Any]] = []
        while self.start is not None and self.last + self.own.step + self.own.lateness < self.clock:
            self.last += self.own.step
            feed = self.session.query(self.last)
            found += feed.table().to_pylist()
            for row in feed.happenings().to_pylist():
                is_point = row["start"] is None
                found.append({**row, "fluent": row["event"], "value": None,
                              "start": row["occurrence"] if is_point else row["start"],
                              "end": None if is_point else row["occurrence"]})  # fmt: skip
        return found


def random_patterns(random: Random) -> tuple[str, list[str]]:
    """Rules, and records of which some are late and some are taken back."""
    clauses = Drawing(random).rules()
    lines = []
    for line in random_records(random):
        name, _, time, *args = line.split("|")
        arrival = int(time) + random.choice([0, 0, 1, 3, 6])
        lines.append("|".join([name, str(arrival), time, *args]))
        if random.random() < 0.15:
            lines.append("|".join([f"-{name}", str(arrival + 2), time, *args]))
    return "\n".join(clauses) + "\n", lines


@pytest.mark.parametrize("seed", range(24))
def test_random_patterns(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    rules, lines = random_patterns(random)
    own = stream_of(
        rules, tmp_path, random.choice((4, 8, 30)), random.choice((2, 4, 10)),
        buckets=random.choice((1, 2, 3)), lateness=random.choice((0, 2)), start=0,
    )  # fmt: skip
    # Records of names that no rule mentions do not move the clock.
    known = {relation.name for relation in own.program.checked.catalogue.events}
    lines = [line for line in lines if line.split("|")[0].lstrip("-") in known]
    lines = sorted(lines, key=lambda line: arrival(line) + random.choice((0, 0, 0, 3)))
    there = InProcess(own)
    for batch in [*pieces(lines, random), ["$clock|40"]]:
        told = f"seed {seed}: micro-batch {own.batch}\n{rules}" + "\n".join(lines)
        assert as_changes(own.take(batch)) == as_changes(there.take(batch)), told
    assert own.told["kept"] == 0 or there.session.kept > 0


HEADS = """
happensAt(first(X, V), T) :- happensAt(startI(lamp(X)=V), T).
initiatedAt(lit(X)=true, T) :- happensAt(startI(lamp(X)=red), T).
terminatedAt(lit(_)=true, T) :- happensAt(endI(lamp(_)=red), T).
grounding(deck(X)=V) :- member(X, [a, b]), member(V, [on, off]).
initially(deck(_)=off).
initiatedAt(deck(X)=on, T) :- happensAt(look(X), T), \\+ happensAt(cut(X), T).
initiatedAt(deck(X)=off, T) :- happensAt(all, T), \\+ happensAt(look(X), T).
"""
"""First points of intervals, open initially, head variables of negations."""


@pytest.mark.parametrize("seed", range(1000, 1016))
def test_random_terminations_and_heads(seed: int, tmp_path: Path) -> None:
    random, scenario = Random(seed), drawn(seed)
    own = stream_of(
        scenario.rules + HEADS, tmp_path, random.choice((4, 8, 30)), random.choice((2, 4, 10)),
        buckets=1 if "dynamicDomain" in scenario.rules else random.choice((1, 2, 3)),
        lateness=random.choice((0, 2)), start=0,
    )  # fmt: skip
    known = {relation.name for relation in own.program.checked.catalogue.events}
    lines = [line for line in scenario.lines if line.split("|")[0] in known]
    there = InProcess(own)
    for batch in [*pieces(lines, random), ["$clock|40"]]:
        told = f"seed {seed}: micro-batch {own.batch}\n{scenario}"
        assert as_changes(own.take(batch)) == as_changes(there.take(batch)), told


def arrival(line: str) -> int:
    return int(line.split("|")[1])


def pieces(lines: list[str], random: Random) -> list[list[str]]:
    """Micro-batches of any size, some of them empty."""
    found = []
    while lines:
        count = random.choice((0, 1, 3, 10, 30))
        found.append(lines[:count])
        lines = lines[count:]
    return found


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_feed_of_a_session(name: str, seed: int, tmp_path: Path) -> None:
    random = Random(f"{name} {seed}")
    keyed = PROGRAMS[name]
    lines = stream(keyed, random, 50, retractions=seed % 2 == 0)
    lines = sorted(lines, key=lambda line: arrival(line) + random.choice((0, 0, 0, 5)))
    own = stream_of(
        keyed.rules, tmp_path, random.choice((8, 15, 60)), random.choice((3, 8, 20)),
        buckets=1 if name == "foreign domain" else random.choice((1, 2, 3)),
        lateness=random.choice((0, 4)), start=random.choice((None, 0)),
        policy=random.choice(("early", "early", "partial", "final")),
    )  # fmt: skip
    there = InProcess(own)
    for batch in [*pieces(lines, random), ["$clock|120"]]:
        told = f"{name} {seed}: micro-batch {own.batch}"
        assert as_changes(own.take(batch)) == as_changes(there.take(batch)), told


@pytest.mark.parametrize("name", ["one", "pairs", "points"])
def test_records_that_come_again_are_ignored(name: str, tmp_path: Path) -> None:
    random = Random(f"{name} again")
    keyed = PROGRAMS[name]
    lines = stream(keyed, random, 50, retractions=False)
    options: dict[str, Any] = {"buckets": 3, "lateness": 4, "start": 0}
    once = stream_of(keyed.rules, tmp_path / "once", 15, 8, **options)
    often = stream_of(keyed.rules, tmp_path / "often", 15, 8, ids="id", **options)
    given: list[str] = []
    duplicates = 0
    for at, batch in enumerate([*pieces(lines, random), ["$clock|120"]]):
        marked = [f"{line}|{len(given) + n}" for n, line in enumerate(batch) if line[0] != "$"]
        clock = [line for line in batch if line[0] == "$"]
        given += marked
        again = random.sample(given[-20:], min(len(given), 5))
        told = f"{name}: micro-batch {at}"
        assert as_changes(often.take([*again, *marked, *clock])) == as_changes(once.take(batch)), (
            told
        )
        duplicates += often.told.get("duplicates", 0)
    assert duplicates > 10


def test_a_record_is_taken_back_by_its_id(tmp_path: Path) -> None:
    own = stream_of(PROGRAMS["one"].rules, tmp_path, 50, 10, start=0, ids="id")
    own.take(["win|5|5|ann|a", "win|6|6|ann|b", "$clock|10"])
    changes = own.take(["-win|11|5|ann|a", "-win|12|6|ann|zzz", "$clock|20"])
    rich = [(row["change"], row["start"]) for row in changes if row["fluent"] == "rich"]
    assert sorted(rich) == [("delete", 6), ("insert", 7)]
    assert [aside.reason for aside in own.told["aside"]] == ["there is no record to retract"]


def test_a_clock_that_jumps_back(tmp_path: Path) -> None:
    own = stream_of(PROGRAMS["one"].rules, tmp_path, 50, 10, start=0)
    own.take(["win|5|5|ann", "$clock|30"])
    assert own.told["query_time"] == 30
    assert own.take(["$clock|3", "win|4|4|bob"]) == []
    assert (own.told["clock"], own.told["query_time"]) == (31, 30)
    assert {row["args"][0] for row in own.take(["$clock|40"])} == {"bob"}


def test_micro_batches_of_nothing_and_of_what_was_never_seen(tmp_path: Path) -> None:
    own = stream_of(PROGRAMS["one"].rules, tmp_path, 50, 10, start=0, future=100)
    assert own.take([]) == own.take([]) == []
    own.take(["win|5|5|ann", "-win|6|5|bob", "win|900|900|eve", "win|7|7|zoe", "$clock|10"])
    assert [aside.reason.split(":")[0] for aside in own.told["aside"]] == [
        "it is of the future", "there is no record to retract"
    ]  # fmt: skip
    assert own.take([]) == []
    assert own.told["held"] == 2


def test_figures_of_the_state_stay_while_no_query_is_due(tmp_path: Path) -> None:
    own = stream_of("e(X) <- a(X) seq b(X) within 100.", tmp_path, 10, 5, buckets=2, start=0)
    own.take([f"a|{time}|{time}|x{time}" for time in range(1, 20)] + ["$clock|30"])
    gauges = {name: own.told[name] for name in ("kept", "held", "open_intervals", "query_time")}
    assert gauges["kept"] > 0
    for lines in ([], ["a|31|31|y"], []):
        own.take(lines)
        assert {name: own.told[name] for name in gauges} == gauges


def test_what_may_go_on_after_a_query_is_known_to_later_stages(tmp_path: Path) -> None:
    """In every bucket, also where it is all that an earlier stage found."""
    rules = """
    buildFromPoints(mode(_)=_).
    s(P)=true iff mode(P)=on.
    happensAt(any, T) :- happensAt(start(s(_P)=true), T).
    happensAt(over, T) :- happensAt(end(s(_P)=true), T).
    """
    for buckets in (1, 2, 3):
        own = stream_of(rules, tmp_path / str(buckets), 20, 10, buckets=buckets, start=0)
        there = InProcess(own)
        for batch in (["mode|10|10|on|p", "$clock|10"], ["mode|20|20|on|p", "mode|20|20|on|q"],
                      ["mode|21|21|on|p", "mode|30|30|on|q", "$clock|50"]):  # fmt: skip
            assert as_changes(own.take(batch)) == as_changes(there.take(batch)), buckets


def test_a_literal_about_a_value_that_no_rule_gives_does_not_ask_a_later_stage(
    tmp_path: Path,
) -> None:
    rules = """
    holdsFor(taken(A, B, P)=1, I) :-
        holdsFor(dose(P)=A, J), holdsFor(dose(P)=B, K), union_all([J, K], I).
    initiatedAt(seen(P)=true, T) :-
        happensAt(ping(_), T),
        (pal(P), \\+ holdsAt(taken(0.5, red, P)=2, T) ; happensAt(ping(P), T)).
    pal(bob).
    """
    own = stream_of(rules, tmp_path, 30, 30, buckets=2, start=0)
    found = own.take(["dose|20|10|20|red|bob", "ping|15|15|ann", "$clock|40"])
    assert sorted((row["fluent"], row["args"], row["start"]) for row in found) == [
        ("seen", ["ann"], 16), ("seen", ["bob"], 16), ("taken", ["red", "red", "bob"], 10),
    ]  # fmt: skip
