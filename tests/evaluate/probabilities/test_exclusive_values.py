"""Values of one fluent exclude each other, in cycles and without them, as in the reference."""

from __future__ import annotations

import pytest

import cernis
from cernis.check.model import Relation
from cernis.plan.properties.uncertain_relations import related_values
from tests.agreement import test_random_uncertain_programs as programs

SWITCH = """
initiatedAt(f=on, T) :- happensAt(a, T).
initiatedAt(f=off, T) :- happensAt(b, T).
initiatedAt(both=true, T) :- happensAt(c, T), holdsAt(f=on, T), holdsAt(f=off, T).
initiatedAt(either=true, T) :- happensAt(c, T), holdsAt(f=on, T).
initiatedAt(either=true, T) :- happensAt(c, T), holdsAt(f=off, T).
initiatedAt(neither=true, T) :- happensAt(c, T), \\+ holdsAt(f=_, T).
"""


def test_both_is_impossible_and_either_is_the_sum() -> None:
    found = cernis.load(SWITCH).run_uncertain("0.8::a|1|1\n0.25::b|2|2\nc|3|3\n")
    steps = {row["fluent"]: row["probability"] for row in found.probabilities.to_pylist()
             if row["start"] == 4}  # fmt: skip
    assert steps.keys() == {"either", "neither"}
    assert steps["either"] == pytest.approx(0.85)
    assert steps["neither"] == pytest.approx(0.15)


def test_values_that_may_hold_together_are_independent() -> None:
    """Ties on initiation let both hold, so that they add up to more than 1."""
    found = cernis.load(SWITCH).run_uncertain("a|1|1\n0.5::b|1|1\nc|2|2\n")
    steps = {row["fluent"]: row["probability"] for row in found.probabilities.to_pylist()
             if row["start"] == 3}  # fmt: skip
    assert steps == {"both": 0.5, "either": 1.0}


@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize("seed", range(1000, 1025))
def test_three_values(seed: int, cyclic: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "VALUES", ("on", "off", "idle"))
    programs.test_as_the_sum_over_possible_worlds(seed, cyclic)


def test_only_values_that_rules_relate_matter() -> None:
    plan = cernis.load(SWITCH).plan
    assert related_values(plan) == {Relation("f", 0)}
    alone = "\n".join(
        line for line in SWITCH.splitlines() if "f=off" not in line.partition(":-")[2]
    )
    assert related_values(cernis.load(alone.replace("f=_", "f=on")).plan) == frozenset()
    assert related_values(cernis.load(":- dialect(rtec).\n" + SWITCH).plan) == frozenset()
