"""What is walked over linked instances is what columns find: in a run, in windows, in sessions."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import cernis
from cernis.answers.result import as_text
from cernis.errors import ProgramError
from cernis.evaluate.evaluator_choice import can_walk
from cernis.evaluate.linked.linked_cells import LinkedCells
from cernis.evaluate.linked.linked_rows import FiredRows, ToldRows
from cernis.evaluate.run import Run
from cernis.plan.builder import Plan
from cernis.records.record_sources import read_events
from cernis.session.session import Session
from tests.evaluate.sweep.test_lane_resumption import other_way
from tests.evaluate.sweep.test_sweep_then_columns import WalkedRun, answers
from tests.plan.linked.linked_programs import LinkedAuthor, walk_all_over_links
from tests.reference.evaluate import Settings, evaluate
from tests.reference.load import items_of
from tests.reference.program import read_program
from tests.reference.records import read_records

EXAMPLES = Path(__file__).parents[3] / "examples"
SEEDS = range(4000, 4060)
WINDOWS = [(None, None), (12, 6), (8, 8), (5, 9)]
"""Window and step: all at once, overlapping, side by side, with gaps."""


def random_plan(seed: int) -> tuple[Plan, LinkedAuthor]:
    """A plan that walks over links; the test is skipped if there is none."""
    author = LinkedAuthor(Random(seed))
    text = author.program()
    try:
        plan = cernis.load(text).plan
    except ProgramError:
        pytest.skip("a program that the checker refuses")
    if not walk_all_over_links(plan):
        pytest.skip("a program that fits lanes or columns only")
    return plan, author


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_in_windows(seed: int) -> None:
    plan, author = random_plan(seed)
    for window, step in WINDOWS:
        lines = author.stream(lag=0 if window is None else 5)
        walked, by_columns = answers(
            plan, "\n".join(lines) + "\n", window, step, are_conflicts_compared=False
        )
        assert walked == by_columns, f"seed {seed}, window {window}, step {step}"


@pytest.mark.parametrize(("window", "step"), [(None, None), (40, 40), (60, 20), (20, 30)])
@pytest.mark.parametrize("ties", ["break", "initiation"])
def test_netbill(window: int | None, step: int | None, ties: str) -> None:
    folder = EXAMPLES / "netbill"
    rules = (folder / "rules.cer").read_text("utf-8")
    plan = cernis.load(f":- ties({ties}).\n{rules}", [folder / "facts.cer"]).plan
    assert plan.linked
    assert plan.is_swept
    walked, by_columns = answers(plan, folder / "events.txt", window, step)
    assert walked == by_columns


def test_linked_instances_are_walked_in_single_ticks_only() -> None:
    """Within a longer tick, points lie where what was initiated does not hold yet."""
    plan = cernis.load("""
        initiatedAt(f(X, Y)=u, T) :- happensAt(a(X, Y), T), \\+ holdsAt(g(X)=u, T).
        fi(f(X, Y)=u, f(X, Y)=v, 5).
        initiatedAt(g(X)=u, T) :- happensAt(start(f(X, Y)=v), T).
        terminatedAt(g(X)=u, T) :- happensAt(b(X, Y), T), holdsAt(f(X, Y)=v, T).
    """).plan
    assert plan.linked
    assert can_walk(plan, 1, "break")
    assert not can_walk(plan, 3, "break")
    events = read_events("a|3|3|x|y\nb|9|9|x|y\nb|12|12|x|y\n", plan.checked)
    assert "holdsFor(g(x)=u, [(11,15)])." in as_text(Run(plan, tick=3).over(events))


class WalkingSession(Session):
    """A session that walks all that can be walked."""

    def _can_walk(self) -> bool:
        return self.incremental is None


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("window", [None, 9])
def test_sessions_with_late_and_retracted_records(seed: int, window: int | None) -> None:
    plan, author = random_plan(seed)
    lines = author.stream(lag=7)
    walking = WalkingSession(plan, window=window, step=4, start=0)
    by_columns = Session(plan, window=window, step=4, start=0, incremental=False)
    compare(walking, by_columns, lines, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("window", [None, 11])
def test_sessions_with_few_late_records_of_several_markets(seed: int, window: int | None) -> None:
    """Only the instances that are linked to those with late records are walked again."""
    plan, author = random_plan(seed)
    lines = [line for line in author.stream(lag=7, markets=5) if is_kept(line, author.random)]
    walking = WalkingSession(plan, window=window, step=4, start=0)
    by_columns = Session(plan, window=window, step=4, start=0, incremental=False)
    compare(walking, by_columns, lines, seed)


def is_kept(line: str, random: Random) -> bool:
    """Of records that come late or are taken back, one in four is kept."""
    name, arrival, time, *_ = line.split("|")
    return (arrival == time and name[0] != "-") or random.random() < 0.25


def test_late_records_concern_linked_instances_only(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = cernis.load("""
        initiatedAt(f(X, Y)=u, T) :- happensAt(a(X, Y), T), \\+ holdsAt(g(X)=u, T).
        fi(f(X, Y)=u, f(X, Y)=v, 5).
        initiatedAt(g(X)=u, T) :- happensAt(b(X, Y), T), holdsAt(f(X, Y)=u, T).
        terminatedAt(g(X)=u, T) :- happensAt(b(X, Y), T), holdsAt(f(X, Y)=v, T).
    """).plan
    assert plan.linked
    walked: list[tuple[int, int | None]] = []
    walk = LinkedCells.walk

    def noted(cells: LinkedCells, rows: FiredRows, *args: Any, **more: Any) -> ToldRows:
        only = more.get("only")
        walked.append((len(rows.times), None if only is None else sum(map(len, only))))
        return walk(cells, rows, *args, **more)

    monkeypatch.setattr(LinkedCells, "walk", noted)
    session = WalkingSession(plan, window=100, step=10, start=0)
    records = [f"a|{t}|{t}|x{t % 10}|y{t % 10}" for t in range(1, 50)]
    session.insert(records)
    session.query(50)
    assert walked == [(49, None)]
    session.insert(["b|55|13|x2|y2", "a|56|56|x1|y1"])
    feed = session.query(60)
    # The anchor goes to the edge, then two instances are walked again, then all others go on.
    assert walked[1:] == [(0, 2), (6, 2), (1, None)]
    told = {(row["change"], *row["args"]) for row in feed.table().to_pylist()}
    assert ("insert", "x2") in told
    by_columns = Session(plan, window=100, step=10, start=0, incremental=False)
    by_columns.insert(records)
    by_columns.query(50)
    by_columns.insert(["b|55|13|x2|y2", "a|56|56|x1|y1"])
    expected = by_columns.query(60)
    assert _sorted_rows(feed) == _sorted_rows(expected)


def _sorted_rows(feed: Any) -> list[str]:
    return sorted(map(str, feed.table().to_pylist()))


def compare(walking: Session, by_columns: Session, lines: list[str], seed: int) -> None:
    """Both sessions report the same and know the same at every query."""
    assert walking.may_walk
    assert not by_columns.may_walk
    feeds = []
    for session in (walking, by_columns):
        told = []
        for query in range(4, 48, 4):
            session.insert([line for line in lines if query - 4 < _arrival(line) <= query])
            feed = session.query(query)
            rows = sorted(map(str, feed.table().to_pylist()))
            told.append((query, rows, _known(session)))
        feeds.append(told)
    for one, other in zip(*feeds, strict=True):
        assert one == other, f"seed {seed}"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("window", [None, 9])
def test_sessions_change_their_way_after_each_query(seed: int, window: int | None) -> None:
    """Walks go on from what columns have left, and columns from what walks have left."""
    plan, author = random_plan(seed)
    lines = author.stream(lag=7)
    changing = WalkingSession(plan, window=window, step=4, start=0)
    by_columns = Session(plan, window=window, step=4, start=0, incremental=False)
    for query in range(4, 48, 4):
        feeds = []
        for session in (changing, by_columns):
            session.insert([line for line in lines if query - 4 < _arrival(line) <= query])
            feeds.append(sorted(map(str, session.query(query).table().to_pylist())))
        assert feeds[0] == feeds[1], f"seed {seed}, query {query}"
        assert _known(changing) == _known(by_columns), f"seed {seed}, query {query}"
        other_way(changing, changing.hand_over())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("window", "step"), [(None, None), (12, 6)])
def test_random_programs_against_the_reference(
    seed: int, window: int | None, step: int | None
) -> None:
    author = LinkedAuthor(Random(seed))
    text = author.program()
    lines = "\n".join(author.stream(lag=5)) + "\n"
    plan, _ = random_plan(seed)
    answer = WalkedRun(plan).over(read_events(lines, plan.checked), window=window, step=step)
    items = items_of(text)
    settings = Settings(window=window, step=step)
    expected = evaluate(items, read_records(lines, read_program(items)), settings)
    assert sorted(as_text(answer).splitlines()) == sorted(expected.text().splitlines())
    if window is None:
        assert answer.conflicts == len(expected.conflicts), f"seed {seed}"


def _arrival(line: str) -> int:
    return int(line.split("|")[1])


def _known(session: Session) -> list[str]:
    return sorted(map(str, session.intervals().to_pylist()))
