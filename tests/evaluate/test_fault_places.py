"""Faults of computing name the rule that they are of."""

from __future__ import annotations

import pytest

import cernis
from cernis.errors import OverflowFault
from cernis.evaluate.fault_places import naming_the_rule_at_fault

RULES = """initiatedAt(ok(X)=true, T) :- happensAt(e(X), T).
initiatedAt(sum(X)=true, T) :- happensAt(f(X, N), T), N + 1 > 3.
"""


def test_a_fault_gets_the_place_and_the_relation_of_its_rule() -> None:
    plan = cernis.load(RULES).plan
    start = RULES.index("N + 1")
    with pytest.raises(OverflowFault) as raised, naming_the_rule_at_fault(plan):
        raise OverflowFault("N + 1", (start, start + 5))
    assert raised.value.rule == "<text>:2:55, a rule of sum/1"


def test_a_fault_that_has_a_rule_keeps_it() -> None:
    plan = cernis.load(RULES).plan
    with pytest.raises(OverflowFault) as raised, naming_the_rule_at_fault(plan):
        raise OverflowFault("N + 1", (0, 1), "a rule of another program")
    assert raised.value.rule == "a rule of another program"


def test_other_errors_pass() -> None:
    with pytest.raises(KeyError), naming_the_rule_at_fault(cernis.load(RULES).plan):
        raise KeyError("x")
