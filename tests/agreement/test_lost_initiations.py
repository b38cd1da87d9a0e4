"""Initiations that lose a tie have their effects: runs and sessions as the reference has it."""

from __future__ import annotations

from random import Random

import pytest

import cernis
from cernis.evaluate.columns import cycle_rounds as cycles
from tests.agreement.compare import Scenario, by_engine, difference
from tests.generators.streams import Settings
from tests.session.feeds import difference as feed_difference

VALUES = ("a", "b", "c")


def scenario(random: Random) -> Scenario:
    """A fluent whose values are initiated, terminated and lead to one another, at few points."""
    is_cyclic = random.random() < 0.5
    clauses = [":- ties(initiation)."] if random.random() < 0.2 else []
    for value in VALUES:
        asked = random.choice(("", ", holdsAt(g(X)=on, T)", ", \\+ holdsAt(g(X)=on, T)"))
        more = asked if is_cyclic else ""
        clauses += [
            f"initiatedAt(f(X)={value}, T) :- happensAt(begin_{value}(X), T){more}.",
            f"terminatedAt(f(X)={value}, T) :- happensAt(end_{value}(X), T).",
        ]
        others = [own for own in VALUES if own != value]
        for other in random.sample(others, random.randint(0, 2)):
            clauses.append(f"fi(f(X)={value}, f(X)={other}, {random.randint(1, 5)}).")
        if random.random() < 0.25:
            clauses.append(f"ft(f(X)={value}, {random.randint(1, 6)}).")
        if random.random() < 0.3:
            clauses.append(f"p(f(X)={value}).")
    clauses += [
        "initiatedAt(g(X)=on, T) :- happensAt(start(f(X)=a), T).",
        "terminatedAt(g(X)=on, T) :- happensAt(end(f(X)=b), T).",
    ]
    lines = []
    for _ in range(random.randint(5, 40)):
        time = random.randint(1, 18)
        name = f"{random.choice(('begin', 'begin', 'end'))}_{random.choice(VALUES)}"
        lines.append(f"{name}|{time + random.choice((0, 0, 3))}|{time}|{random.choice('xy')}")
    lines.sort(key=lambda line: int(line.split("|")[1]))
    settings: Settings = {"start": 0, "end": 25}
    if random.random() < 0.7:
        settings |= {"window": random.randint(2, 9), "step": random.randint(1, 12)}
    return Scenario(tuple(clauses), tuple(lines), settings)


@pytest.mark.parametrize("seed", range(12))
def test_all_ways_equal_the_reference(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    own = scenario(Random(seed))
    program = cernis.load(own.rules)
    assert not difference(own, program), f"seed {seed}\n{own}"
    result = by_engine(own, program, per_query=True)
    for incremental in (True, False):
        found = feed_difference(own, program, result, incremental)
        assert not found, f"seed {seed}\n{own}\n{found}"
    monkeypatch.setattr(cycles, "try_walk", lambda *_: None)
    assert not difference(own, program), f"seed {seed}, in rounds\n{own}"
