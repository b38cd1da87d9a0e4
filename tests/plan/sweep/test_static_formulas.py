"""Formulas over bits: union, intersection and complement as terms."""

from itertools import product

import pytest

from cernis.check.model import Relation
from cernis.plan.sweep.lanes import StateBit, StateKind
from cernis.plan.sweep.static_formulas import (
    ALWAYS,
    Formula,
    FormulaTerm,
    both,
    either,
    implies,
    negation,
)

BITS = [StateBit(StateKind.PAIR, Relation(name, 1), (None,)) for name in "abcd"]
A, B, C, D = ((FormulaTerm(pos=frozenset([bit])),) for bit in BITS)


def truth(formula: Formula) -> list[bool]:
    """Is the formula true, for each state of the four bits?"""
    states = [
        {bit for bit, is_held in zip(BITS, held, strict=True) if is_held}
        for held in product([False, True], repeat=4)
    ]
    return [any(term.pos <= state and not term.neg & state for term in formula) for state in states]


def holds(formula: Formula) -> set[int]:
    """The states in which a formula is true."""
    return {number for number, is_true in enumerate(truth(formula)) if is_true}


@pytest.mark.parametrize(
    ("one", "other"),
    [(A, B), (either([A, B]), C), (both([A, B]), either([C, D])), (A, ()), (ALWAYS, B), (A, A)],
)
def test_formulas_are_sets_of_states(one: Formula, other: Formula) -> None:
    everything = holds(ALWAYS)
    assert holds(either([one, other])) == holds(one) | holds(other)
    assert holds(both([one, other])) == holds(one) & holds(other)
    assert holds(negation(one)) == everything - holds(one)
    assert implies(one, other) == (holds(one) <= holds(other))


def test_a_term_that_another_contains_is_left_out() -> None:
    assert set(either([A, both([A, B])])) == set(A)
    assert both([A, negation(A)]) == ()
    assert negation(()) == ALWAYS
