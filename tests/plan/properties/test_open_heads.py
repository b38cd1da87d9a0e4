"""What the rules of a simple fluent leave open."""

from __future__ import annotations

import cernis
from cernis.plan.logical import Definition
from cernis.plan.properties.open_heads import ends_any_value, leaves_open


def definition(text: str) -> Definition:
    """The definition of the fluent f."""
    stages = cernis.load(text).plan.stages
    every = [each for stage in stages for stratum in stage.strata for each in stratum.definitions]
    return next(each for each in every if each.relation.name == "f")


START = "initiatedAt(f(X)=on, T) :- happensAt(e(X), T).\n"


def test_arguments_that_rules_leave_open_by_kind_of_rule() -> None:
    assert leaves_open(definition(START)) == {"initiation": False, "termination": False}
    open_end = definition(f"{START}terminatedAt(f(X)=on, T) :- happensAt(g, T).")
    assert leaves_open(open_end) == {"initiation": False, "termination": True}
    open_value = definition(f"{START}terminatedAt(f(X)=V, T) :- happensAt(g(X), T).")
    assert leaves_open(open_value) == {"initiation": False, "termination": False}


def test_rules_that_end_whatever_value_there_is() -> None:
    assert not ends_any_value(definition(START))
    assert not ends_any_value(
        definition(f"{START}terminatedAt(f(X)=V, T) :- happensAt(g(X, V), T).")
    )
    assert ends_any_value(definition(f"{START}terminatedAt(f(X)=_, T) :- happensAt(g(X), T)."))
    assert ends_any_value(definition(f"{START}terminatedAt(f(X)=V, T) :- happensAt(g(X), T)."))
