"""Sessions of fluents that take any value: walked, restored after each query, and by columns."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.evaluate.sweep.sweep_then_columns import SweepThenColumns
from cernis.session.session import Session
from tests.session.test_walked_sessions import feed

RULES = """
initiatedAt(place(P)=X, T) :- happensAt(go(P, X), T).
terminatedAt(place(P)=X, T) :- happensAt(leave(P, X), T).
terminatedAt(place(P)=_, T) :- happensAt(lost(P), T).
initiatedAt(moved(P)=true, T) :- happensAt(go(P, X), T), holdsAt(place(P)=Old, T), Old \\= X.
ft(moved(P)=true, 15).
p(moved(_)=true).
initiatedAt(home(P)=true, T) :- happensAt(start(place(P)=home), T).
terminatedAt(home(P)=true, T) :- happensAt(end(place(P)=home), T).
initiatedAt(level(P)=L, T) :- happensAt(fuel(P, L), T).
initiatedAt(fell(P)=true, T) :- happensAt(fuel(P, L), T), holdsAt(level(P)=B, T), B - L > 2.
terminatedAt(fell(P)=true, T) :- happensAt(fuel(P, L), T), \\+ holdsAt(level(P)=L, T).
happensAt(refuel(P), T) :- happensAt(fuel(P, L), T), holdsAt(level(P)=B, T), L - B > 2.
"""


def batches(seed: int, queries: list[int], form: str) -> list[tuple[list[str], list[str]]]:
    """For each query the records that come before it, and those that are taken back."""
    random, there = Random(seed), []
    out = []
    for query in queries:
        come = []
        for _ in range(random.randint(0, 12)):
            late = random.choice([0, 0, 20, 60])
            time = max(1, query - late - random.randint(0, 20))
            name = random.choice(["go", "go", "leave", "lost", "fuel", "fuel"])
            value = f"|{random.choice(['home', 'pub', 'work', 'park'])}"
            if name == "fuel":
                value = f"|{form.format(random.randint(0, 9))}"
            person = random.choice(["ann", "bob"])
            come.append(f"{name}|{time}|{time}|{person}{'' if name == 'lost' else value}")
        gone = [record for record in there if random.random() < 0.05]
        there = [record for record in there if record not in gone] + come
        out.append((come, gone))
    return out


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("form", ["{}", "{}.25"])
@pytest.mark.parametrize(("window", "step"), [(None, 20), (60, 20), (40, 40), (20, 35)])
def test_feeds_are_those_of_columns(
    seed: int, form: str, window: int | None, step: int, tmp_path: Path
) -> None:
    program = cernis.load(RULES)
    policy = ["early", "partial", "final"][seed]
    walked, restored, columns = (
        Session(program.plan, window, step, 0, policy=policy, incremental=incremental)
        for incremental in (None, None, False)
    )
    assert isinstance(walked.evaluator, SweepThenColumns)
    queries = list(range(step, 11 * step, step))
    for query, (come, gone) in zip(queries, batches(seed, queries, form), strict=True):
        expected = feed(columns, query, come, gone)
        assert feed(walked, query, come, gone) == expected, f"seed {seed}, query {query}"
        assert feed(restored, query, come, gone) == expected, f"seed {seed}, restored, {query}"
        restored.save(tmp_path / "session")
        restored = program.restore(tmp_path / "session")
        assert isinstance(restored.evaluator, SweepThenColumns)


def test_ties_that_initiations_win_are_left_to_columns() -> None:
    plan = cernis.load(RULES).plan
    session = Session(plan, 60, 20, 0, ties="initiation")
    assert not isinstance(session.evaluator, SweepThenColumns)


def test_numbers_that_are_too_large_are_left_to_columns() -> None:
    """Guards compute with floats; from the query on that meets such a number, columns decide."""
    rules = """
        initiatedAt(fuel(V)=L, T) :- happensAt(level(V, L), T).
        initiatedAt(theft(V)=true, T) :-
            happensAt(level(V, L), T), holdsAt(fuel(V)=B, T), B - L > 10.
    """
    plan = cernis.load(rules).plan
    walked, columns = (Session(plan, 100, incremental=way) for way in (None, False))
    assert isinstance(walked.evaluator, SweepThenColumns)
    small = ["level|1|1|v|50", "level|2|2|v|20"]
    large = [f"level|6|6|v|{2**60 + 30}", f"level|7|7|v|{2**60 + 5}"]
    for query, records in ((5, small), (10, large), (15, small)):
        expected = feed(columns, query, records, [])
        assert feed(walked, query, records, []) == expected
    assert not isinstance(walked.evaluator, SweepThenColumns)
    settings = {"window": 3, "step": 3, "start": 0, "end": 12}
    result = cernis.load(rules).run([*small, *large], **settings)
    assert str(2**60 + 5) in result.text()
