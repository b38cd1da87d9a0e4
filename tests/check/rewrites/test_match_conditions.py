"""Conditions of patterns written out: times of the match, and aggregates wherever they stand."""

from __future__ import annotations

import pytest

from cernis.check.rewrites.match_conditions import write_out_conditions
from cernis.syntax import parse, show
from cernis.syntax.tree import Atom, PatternRule, Where, walk


def conditions(text: str) -> list[str]:
    (rule,) = write_out_conditions(parse(f"out(P) <- {text}.").items)
    assert isinstance(rule, PatternRule)
    assert isinstance(rule.pattern, Where)
    return [show(goal) for goal in rule.pattern.conditions]


def test_an_aggregate_in_an_expression_gets_a_variable_of_its_own_before_it() -> None:
    aggregate, rest = conditions("price(P) where (P > 2 * avg(P, last(50)))")
    variable, _, taken_out = aggregate.partition(" = ")
    assert taken_out == "avg(P, last(50))"
    assert rest == f"P > 2 * {variable}"


def test_plain_aggregates_and_conditions_stay_as_they_are() -> None:
    assert conditions("price(P) where (A = avg(P, last(5)), P > A)") == [
        "A = avg(P, last(5))",
        "P > A",
    ]


@pytest.mark.parametrize("goal", ["end - start > 5", "X is end + 1", "P < start"])
def test_where_a_number_stands_start_and_end_are_the_times_of_the_match(goal: str) -> None:
    (rule,) = write_out_conditions(parse(f"out(P) <- price(P) where ({goal}).").items)
    assert isinstance(rule, PatternRule)
    assert isinstance(rule.pattern, Where)
    atoms = [part for part in walk(rule.pattern.conditions[0]) if isinstance(part, Atom)]
    assert atoms == []


def test_beside_the_argument_of_an_event_they_are_values_like_any_other() -> None:
    assert conditions("price(P) where (P = end)") == ["P = end"]
