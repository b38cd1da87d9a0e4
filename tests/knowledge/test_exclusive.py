"""Tests against constants that cannot both hold."""

from __future__ import annotations

import pytest

from cernis.knowledge.exclusive import exclude_each_other
from cernis.syntax import parse
from cernis.syntax.tree import Clause, Term


def goals(text: str) -> tuple[Term, ...]:
    (clause,) = parse(f"h :- {text}.").items
    assert isinstance(clause, Clause)
    return clause.body


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("X < 90", "90 =< X"),
        ("X < 90", "X > 90"),
        ("X = a", "X = b"),
        ("X == 1", "X > 1"),
        ("X >= 1, X < 5", "X =:= 5"),
        ("X > 3, Y < 2", "Y >= 2"),
        ("2 < X", "X =< 2"),
    ],
)
def test_both_cannot_hold(one: str, other: str) -> None:
    for first, second in ((one, other), (other, one)):
        (*more, last) = goals(second)
        assert exclude_each_other([*goals(first), *more], last)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("X =< 90", "90 =< X"),
        ("X < 90", "Y >= 90"),
        ("X = a", "X = a"),
        ("X < Y", "X > Y"),
        ("_ < 1", "_ > 1"),
        ("p(X)", "\\+ p(X)"),
    ],
)
def test_nothing_is_decided(one: str, other: str) -> None:
    assert not exclude_each_other(goals(one), goals(other)[0])
