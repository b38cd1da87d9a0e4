"""Members of domains that join during a run: what holds initially, complements, groundings."""

from __future__ import annotations

from random import Random

import pytest

import cernis
from cernis.plan.sweep.lanes import SweepWay
from tests.agreement.compare import Scenario, difference
from tests.evaluate.sweep.test_sweep_then_columns import answers

RULES = """
dynamicDomain(rider(_, _)).
initially(steady(_, _)=true).
initiatedAt(steady(P, K)=true, T) :- happensAt(calm(P, K), T).
terminatedAt(steady(P, K)=true, T) :- happensAt(jolt(P, K, hard), T).
holdsFor(ride(P, K)=rough, I) :- holdsFor(steady(P, K)=true, J), complement_all([J], I).
holdsFor(mood(P, K)=wild, I) :- holdsFor(shaken(P, K)=true, J),
    holdsFor(ride(P, K)=rough, L), intersect_all([J, L], I).
holdsFor(ride(P, K)=smooth, I) :- holdsFor(steady(P, K)=true, I).
holdsFor(mood(P, K)=quiet, I) :- holdsFor(steady(P, K)=true, J), holdsFor(shaken(P, K)=true, L),
    relative_complement_all(J, [L], I).
holdsFor(tiring(P, K)=true, I) :- holdsFor(ride(P, K)=rough, J), holdsFor(shaken(P, K)=true, L),
    union_all([J, L], I).
holdsFor(never_shaken(P, K)=true, I) :- holdsFor(shaken(P, K)=true, J), complement_all([J], I).
happensAt(change(P, K), T) :- happensAt(end(ride(P, K)=rough), T).
initiatedAt(warned(P, K)=true, T) :- happensAt(start(ride(P, K)=rough), T).
terminatedAt(warned(P, K)=true, T) :- happensAt(calm(P, K), T), holdsAt(ride(P, K)=rough, T).
grounding(calm(P, K)) :- rider(P, K).
grounding(jolt(P, K, _)) :- rider(P, K).
grounding(shaken(P, K)=true) :- rider(P, K).
grounding(steady(P, K)=true) :- rider(P, K).
grounding(ride(P, K)=_) :- rider(P, K).
grounding(mood(P, K)=_) :- rider(P, K).
grounding(tiring(P, K)=true) :- rider(P, K).
grounding(never_shaken(P, K)=true) :- rider(P, K).
collectIntervals(shaken(_, _)=true).
"""
"""Values of one fluent are found in lanes and in lists, some of them for all members."""

CLAUSES = [f"{clause}." for clause in RULES.replace("\n    ", " ").strip(".\n").split(".\n")]
WINDOWS = [(None, None), (12, 12), (20, 7), (40, 9)]


def records(random: Random, with_intervals: bool = True) -> str:
    """Records of some riders, of which some arrive late; those of intervals arrive at their end."""
    lines = []
    for _ in range(random.randint(4, 40)):
        rider = f"{random.choice('abc')}|{random.choice(['bus', 'tram'])}"
        time, delay = random.randint(1, 60), random.choice([0, 0, 3, 8])
        kind = random.choice(["calm", "jolt", "shaken" if with_intervals else "calm"])
        if kind == "shaken":
            start = max(1, time - random.randint(1, 9))
            lines.append(f"shaken|{time + delay}|{start}|{time + 1}|true|{rider}")
        else:
            more = "|" + random.choice(["hard", "soft"]) if kind == "jolt" else ""
            lines.append(f"{kind}|{time + delay}|{time}|{rider}{more}")
    return "\n".join(lines) + "\n"


def test_all_of_it_is_walked() -> None:
    plan = cernis.load(RULES).plan
    ways = {str(v.relation): v.way for swept in plan.sweep for v in swept.verdicts}
    assert SweepWay.COLUMNS not in ways.values()
    assert ways["warned/2"] is SweepWay.LANE
    assert ways["never_shaken/2"] is SweepWay.LIST


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("window", "step"), WINDOWS)
def test_members_join(seed: int, window: int | None, step: int | None) -> None:
    plan = cernis.load(RULES).plan
    for again in (0, 1, 0, 0):  # what is known of keys outlives runs, who has joined does not
        text = records(Random(2 * seed + again))
        walked, by_columns = answers(plan, text, window, step)
        assert walked == by_columns, f"seed {seed}, {again}"


@pytest.mark.parametrize("seed", range(20, 24))
def test_equal_to_the_reference(seed: int) -> None:
    text, window = records(Random(seed)), (12, 20, 40)[seed % 3]
    scenario = Scenario(tuple(CLAUSES), tuple(text.splitlines()), {})
    assert not difference(scenario)
    scenario = Scenario(scenario.clauses, scenario.lines, {"window": window, "step": 8})
    assert not difference(scenario)
