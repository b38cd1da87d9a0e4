"""Sessions whose rules are walked in lanes give what sessions by columns give."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.evaluate.sweep.sweep_then_columns import SweepThenColumns
from cernis.session.session import Session

RULES = """
initiatedAt(state(M)=on, T) :- happensAt(start(M, Power), T), Power > 10.
initiatedAt(state(M)=idle, T) :- happensAt(rest(M), T), holdsAt(state(M)=on, T).
terminatedAt(state(M)=_, T) :- happensAt(stop(M), T).
initiatedAt(hot(M)=true, T) :- happensAt(start(state(M)=on), T), \\+ holdsAt(cooled(M)=true, T).
fi(hot(M)=true, hot(M)=false, 30).
p(hot(_)=true).
initiatedAt(cooled(M)=true, T) :- happensAt(cool(M), T).
terminatedAt(cooled(M)=true, T) :- happensAt(end(hot(M)=true), T).
ft(cooled(M)=true, 25).
happensAt(alarm(M), T) :- happensAt(start(hot(M)=true), T), happensAt(rest(M), T).
holdsFor(busy(M)=true, I) :- holdsFor(state(M)=on, A), holdsFor(hot(M)=true, B),
    union_all([A, B], I).
initially(state(M)=idle) :- spare(M).
spare(m7).
"""


def batches(seed: int, queries: list[int]) -> list[tuple[list[str], list[str]]]:
    """For each query the records that come before it, and those that are taken back."""
    random, given = Random(seed), []
    out = []
    for query in queries:
        come, gone = [], []
        for _ in range(random.randint(0, 12)):
            late = random.choice([0, 0, 20, 60])
            time = max(1, query - late - random.randint(0, 20))
            machine = random.choice(["m1", "m2", "m7"])
            name = random.choice(["start", "start", "rest", "stop", "cool"])
            power = f"|{random.choice([5, 20, 10.5])}" if name == "start" else ""
            come.append(f"{name}|{time}|{time}|{machine}{power}")
        for record in list(given):
            if random.random() < 0.05:
                given.remove(record)
                gone.append(record)
        given += come
        out.append((come, gone))
    return out


def feed(session: Session, query: int, come: list[str], gone: list[str]) -> list[object]:
    """What a query reports, in an order that does not depend on how it was evaluated."""
    if come:
        session.insert("\n".join(come) + "\n")
    if gone:
        session.retract("\n".join(gone) + "\n")
    changes = session.query(query)
    rows = changes.table().to_pylist() + changes.happenings().to_pylist()
    return sorted(map(repr, rows))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("policy", ["early", "partial", "final"])
@pytest.mark.parametrize(("window", "step"), [(None, 20), (60, 20), (40, 40), (20, 35)])
def test_feeds_are_those_of_columns(
    seed: int, policy: str, window: int | None, step: int, tmp_path: Path
) -> None:
    """One of the walked sessions is saved and restored after each query."""
    program = cernis.load(RULES)
    walked, restored, columns = (
        Session(program.plan, window, step, 0, policy=policy, incremental=incremental)
        for incremental in (None, None, False)
    )
    assert isinstance(walked.evaluator, SweepThenColumns)
    queries = list(range(step, 11 * step, step))
    for query, (come, gone) in zip(queries, batches(seed, queries), strict=True):
        expected = feed(columns, query, come, gone)
        assert feed(walked, query, come, gone) == expected, f"seed {seed}, query {query}"
        assert feed(restored, query, come, gone) == expected, f"seed {seed}, restored, {query}"
        assert _intervals(walked) == _intervals(columns)
        restored.save(tmp_path / "session")
        restored = program.restore(tmp_path / "session")
        assert isinstance(restored.evaluator, SweepThenColumns)


NEAR = """
initiatedAt(met(X)=on, T) :- happensAt(meet(X), T), holdsAt(near(X)=true, T).
terminatedAt(met(X)=on, T) :- happensAt(part(X), T).
"""
EDGE_BATCHES = {
    10: ["meet|1|1|a", "near|3|3|60|true|b"],
    15: [
        "near|12|2|50|true|a"
    ],  # It changes what holds at the edge, so nothing is walked any more.
    20: ["meet|17|13|a", "meet|18|14|b"],
    25: ["part|22|19|a", "meet|21|21|b"],
    30: ["meet|27|22|a", "part|27|24|b", "meet|29|29|b"],
    35: ["part|32|30|a"],
}


@pytest.mark.parametrize("saved_at", EDGE_BATCHES)
def test_sessions_that_have_stopped_to_walk_can_be_restored(saved_at: int, tmp_path: Path) -> None:
    program = cernis.load(NEAR)
    kept, restored = (program.session(window=10, step=5, start=0) for _ in range(2))
    for query, come in EDGE_BATCHES.items():
        assert feed(restored, query, come, []) == feed(kept, query, come, []), query
        if query == saved_at:
            restored.save(tmp_path / "session")
            restored = program.restore(tmp_path / "session")
            assert _intervals(restored) == _intervals(kept)
    assert not kept.may_walk


def _intervals(session: Session) -> list[str]:
    return sorted(map(repr, session.intervals().to_pylist()))


@pytest.mark.parametrize("first", [-(1 << 62), 0])
def test_times_that_lie_too_far_apart_are_not_walked(first: int) -> None:
    """Times count from the start of a run in signed numbers, with room for what is due later."""
    program = cernis.load("""
        initiatedAt(rich(X)=true, T) :- happensAt(win_lottery(X), T).
        terminatedAt(rich(X)=true, T) :- happensAt(lose_wallet(X), T).
        """)
    times, window = (first, 1, 1 << 62), 1 << 61
    records = [f"win_lottery|{time}|{time}|kim" for time in times]
    session = program.session(window=window, step=window)
    session.insert(records)
    for time in times:
        session.query(time)
    [held] = session.intervals().to_pylist()
    assert (held["start"], held["end"]) == (first + 1, None)
    expected = f"holdsFor(rich(kim)=true, [({first + 1},inf)]).\n"
    assert program.run(records).text() == expected
    assert program.run(records, window=window, step=window).text() == expected
