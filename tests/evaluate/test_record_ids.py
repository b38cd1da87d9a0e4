"""Records with ids: what comes again is ignored, and the id says what is to be taken back."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pandas as pd
import pyarrow as pa
import pytest

import cernis
from cernis.evaluate import record_ids as ids_module
from cernis.session.session import Session
from tests.session.feeds import Sum, rows

RULES = """
initiatedAt(rich(X)=true, T) :- happensAt(win(X), T).
terminatedAt(rich(X)=true, T) :- happensAt(lose(X), T).
initiatedAt(calm(X)=true, T) :- happensAt(rest(X), T), holdsAt(near(X)=yes, T).
terminatedAt(calm(X)=true, T) :- happensAt(lose(X), T).
inputFluent(near(_)=_).
"""
WAYS = pytest.mark.parametrize("incremental", [True, False], ids=["incremental", "scratch"])


def _session(incremental: bool | None = None, window: int = 100) -> Session:
    plan = cernis.load(RULES).plan
    return Session(plan, window, 10, 0, incremental=incremental, ids="id")


def _answer(session: Session) -> set[tuple[object, ...]]:
    return {row[:5] for row in rows(session.intervals())}


@WAYS
def test_what_comes_again_is_ignored(incremental: bool) -> None:
    session = _session(incremental)
    session.insert([("win", 5, 5, "ann", "a1"), ("win", 6, 5, "ann", "a1")])
    session.query(10)
    session.insert([("win", 11, 7, "bob", "a1"), ("lose", 12, 12, "ann", "a1")])
    session.query(20)
    # Each relation has ids of its own; and an id says more than the rest.
    assert _answer(session) == {("rich", ("ann",), "true", 6, 13)}
    assert session.counts.duplicates == 2
    assert session.counts.duplicated == {"win/1": 2}
    assert session.counts.used == 2


@WAYS
def test_a_retraction_takes_back_the_record_of_its_id(incremental: bool) -> None:
    session = _session(incremental)
    session.insert([("win", 5, 5, "ann", 1), ("win", 6, 6, "bob", 2), ("win", 6, 6, "bob", 3)])
    session.query(10)
    session.retract([("win", 11, 5, "whoever", 1), ("win", 11, 6, "bob", 2)])
    session.query(20)
    assert _answer(session) == {("rich", ("bob",), "true", 7, None)}
    session.retract([("win", 21, 6, "bob", 2), ("win", 21, 6, "bob", 9)])
    session.query(30)
    assert [each.reason for each in session.counts.set_aside] == [
        "there is no record to retract"
    ] * 2
    session.insert([("win", 31, 15, "eve", 1)])
    session.query(40)
    assert ("rich", ("eve",), "true", 16, None) in _answer(session)


def test_a_revision_in_one_batch() -> None:
    session = _session()
    session.insert("win|5|5|ann|x\n")
    session.query(10)
    session.insert("-win|11|5|ann|x\nwin|12|7|ann|x\nwin|13|9|ann|x\n-win|14|1|none|y\n")
    session.query(20)
    assert _answer(session) == {("rich", ("ann",), "true", 8, None)}
    assert (session.counts.duplicates, session.counts.all_set_aside) == (1, 1)


def test_ids_in_all_kinds_of_input(tmp_path: Path) -> None:
    table = pa.table({"occurrence": [5], "X": ["ann"], "id": ["t"]})
    file = tmp_path / "win.csv"
    file.write_text("occurrence,X,id\n5,ann,t\n", "utf-8")
    lines = tmp_path / "events.jsonl"
    lines.write_text('{"name": "win", "occurrence": 5, "args": ["ann"], "id": "t"}\n', "utf-8")
    for events in (
        {"win": table}, {"win": table.to_pandas()}, file, lines, [("win", 5, 5, "ann", "t")],
        "win|5|5|ann|t\n", [{"name": "win", "occurrence": 5, "X": "ann", "id": "t"}],
        pa.table({"name": ["win"], "occurrence": [5], "X": ["ann"], "id": ["t"]}),
    ):  # fmt: skip
        session = _session()
        session.insert(events)  # type: ignore[arg-type]
        session.insert(events)  # type: ignore[arg-type]
        session.query(10)
        assert _answer(session) == {("rich", ("ann",), "true", 6, None)}, events
        assert session.counts.duplicates == 1, events


def test_without_an_id() -> None:
    session = _session()
    session.insert([{"name": "win", "occurrence": 5, "X": "ann"}])
    frame = pd.DataFrame({"occurrence": [5, 6], "X": ["ann", "bob"], "id": [None, "b"]})
    session.insert({"win": frame})
    assert [each.reason for each in session.counts.set_aside] == [
        "there is no id, which is to tell the record from others", "a value is missing"
    ]  # fmt: skip
    with pytest.raises(cernis.CernisError, match="win has no column id of ids"):
        session.insert({"win": frame.drop(columns="id")})


def test_ids_are_forgotten_with_their_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids_module, "_ROOM", 4)
    session = _session(window=20)
    for query in range(10, 400, 10):
        session.insert([("win", query, query - 5 + k % 2, "ann", f"{query} {k}") for k in range(6)])
        session.query(query)
    (ledger,) = session.memory.by_id.values()
    assert len(ledger) == len(session) == 12
    assert len(ledger._numbers) <= 4 * 12 + 6
    session.insert([("win", 395, 394, "bob", "10 1")])
    session.query(400)
    assert ("rich", ("bob",), "true", 395, None) in _answer(session)


@WAYS
@pytest.mark.parametrize("seed", range(4))
def test_records_delivered_again_and_again(seed: int, incremental: bool, tmp_path: Path) -> None:
    """A session with ids that is given all things several times is one that is given them once."""
    random = Random(seed)
    once = Session(cernis.load(RULES).plan, 30, 10, 0, incremental=incremental)
    often = _session(incremental, 30)
    sums = Sum(), Sum()
    given: dict[int, str] = {}
    old: list[str] = []
    number = 0
    for query in range(10, 120, 10):
        plain, marked = [], []
        for _ in range(random.randrange(12)):
            time, who = query - random.randrange(15), random.choice("ab")
            name, more = random.choice([("win", ""), ("lose", ""), ("rest", ""), ("near", "|yes")])
            line = f"{name}|{query}|{max(time, 1)}{more}|{who}"
            number += 1
            given[number] = line
            plain.append(line)
            marked += [f"{line}|{number}"] * random.choice((1, 1, 2, 3))
            old.append(marked[-1])
        for key in random.sample(sorted(given), min(len(given), random.randrange(3))):
            name, _, rest = given.pop(key).split("|", 2)
            line = f"-{name}|{query}|{rest}"
            plain.append(line)
            marked.append(f"{line}|{key}")
            old = [each for each in old if not each.endswith(f"|{key}")]
        marked = random.sample(old, len(old) // 2) + marked
        once.insert("\n".join([*plain, "\n"]))
        often.insert("\n".join([*marked, "\n"]))
        if random.random() < 0.3:
            often.save(tmp_path / "s")
            often = cernis.load(RULES).restore(tmp_path / "s")
        for session, own in zip((once, often), sums, strict=True):
            feed = session.query(query)
            own.add(feed.table())
        assert sums[0].rows == sums[1].rows, f"seed {seed} at {query}"
        assert len(once) == len(often)
    assert often.counts.duplicates > 10
    assert Counter(a.reason for a in once.counts.set_aside) == Counter(
        a.reason for a in often.counts.set_aside
    )
