"""Effects that are moved for some instances only: named ones, patterns, or by a body."""

from __future__ import annotations

from random import Random

import cernis
from cernis.plan import explain
from tests.agreement.compare import Scenario, difference

RULES = (
    "initiatedAt(f(X, Y)=true, T) :- happensAt(e(X, Y), T).",
    "initiatedAt(f(X, Y)=other, T) :- happensAt(o(X, Y), T).",
    "terminatedAt(f(X, _)=_, T) :- happensAt(b(X), T).",
    "initiatedAt(g(X)=true, T) :- initiatedAt(f(X, _)=late, T).",
    "old(a). old(c).",
)
SOME = ("f(a, _)", "f(_, b)", "f(X, X)", "f(_, _)", "f(b, c)")


def scenario(random: Random) -> Scenario:
    clauses = [*RULES]
    if random.random() < 0.3:
        clauses.append(":- ties(initiation).")
    for value, following in (("true", "other"), ("other", "late")):
        clauses.append(f"fi(f(X, Y)={value}, f(X, Y)={following}, {random.randint(2, 9)}).")
        clauses += [f"p({random.choice(SOME)}={value})." for _ in range(random.randint(0, 2))]
        if random.random() < 0.3:
            clauses.append(f"p(f(X, Y)={value}) :- old({random.choice('XY')}).")
        if random.random() < 0.3:
            clauses.append(f"ft(f(X, a)={value}, {random.randint(2, 9)}).")
    lines = [_line(random) for _ in range(random.randint(5, 25))]
    window = random.randint(2, 20)
    settings = random.choice(({}, {"window": window, "step": random.randint(1, window)}))
    return Scenario(tuple(clauses), tuple(lines), settings)  # type: ignore[arg-type]


def _line(random: Random) -> str:
    time = random.randint(1, 30)
    arrival = time + random.choice((0, 0, random.randint(0, 6)))
    name = random.choice("eeeob")
    args = [random.choice("abc") for _ in range(1 if name == "b" else 2)]
    return "|".join([name, str(arrival), str(time), *args])


def test_effects_of_some_instances_are_moved_as_the_reference_moves_them() -> None:
    for seed in range(100):
        own = scenario(Random(seed))
        told = difference(own)
        assert not told, f"seed {seed}\n{own}\n{told}"


def test_the_plan_says_of_which_instances_effects_are_moved() -> None:
    rules = "initiatedAt(f(X)=a, T) :- happensAt(e(X), T).\nfi(f(X)=a, f(X)=b, 5).\n"
    some = "p(f(ann)=a).\np(f(X)=a) :- old(X).\nold(bob).\n"
    moved = [
        [line.partition("after 5")[2].split("  ")[0] for line in explain(cernis.load(text).plan)
         .splitlines() if "Delay" in line]
        for text in (rules, rules + "p(f(_)=a).", rules + some, rules + some + "p(f(_)=a).")
    ]  # fmt: skip
    assert moved == [
        [""], [", moved by each initiation"],
        [", moved by each initiation of f(ann)=a or f(X)=a where old(X)"],
        [", moved by each initiation"],
    ]  # fmt: skip
