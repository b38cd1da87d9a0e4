"""How lanes read fluents of the input."""

from __future__ import annotations

import pytest

import cernis
from cernis.check.model import Relation
from cernis.plan.sweep.lane_inputs import check_joined
from cernis.plan.sweep.lane_rules import pair_bit
from cernis.plan.sweep.lanes import FiredKind, Lane, ListOp, StateBit, StateKind, SweepWay
from cernis.plan.sweep.static_formulas import FormulaTerm, StaticPair
from cernis.plan.sweep.unfit import NotCausalError
from cernis.plan.sweep.unrolled import Instance
from cernis.syntax.tree import Atom

INPUT = """
:- fluent(walks(_)=_).
:- fluent(near(_, _)=_).
holdsFor(moves(X)=true, I) :-
    holdsFor(walks(X)=true, A), holdsFor(near(X, door)=yes, B), union_all([A, B], I).
"""


def lane_of(rules: str) -> Lane:
    """The only lane of rules over the input."""
    plan = cernis.load(INPUT + rules).plan
    (lane,) = plan.lanes
    return lane


def test_a_pair_of_the_input_has_a_bit_that_starts_and_ends_change() -> None:
    lane = lane_of("initiatedAt(seen(X)=true, T) :- happensAt(start(walks(X)=true), T).")
    assert lane.inputs is not None
    (output,) = lane.inputs.outputs
    assert (output.relation, output.is_input) == (Relation("walks", 1), True)
    assert [row.op for row in lane.inputs.rows] == [ListOp.OUTPUT]
    (pair,) = lane.input_pairs
    assert lane.state[pair.holds].relation == Relation("walks", 1)
    words = [lane.fired[number].word for number in (pair.start, pair.end)]
    assert words == ["start", "end"]
    assert all(lane.fired[number].kind is FiredKind.EDGE for number in (pair.start, pair.end))
    assert not lane.reported >> pair.holds & 1
    assert lane.definitions == (Relation("seen", 1),)


def test_a_list_is_repeated_in_a_lane_if_a_rule_over_points_reads_it() -> None:
    rules = "initiatedAt(seen(X)=true, T) :- happensAt(end(moves(X)=true), T)."
    lane, plan = lane_of(rules), cernis.load(INPUT + rules).plan
    moves = [bit for bit in lane.state if bit.relation == Relation("moves", 1)]
    assert len(moves) == 1
    assert not lane.reported >> lane.state.index(moves[0]) & 1
    ways = {
        str(verdict.relation): verdict.way for stage in plan.sweep for verdict in stage.verdicts
    }
    assert ways == {"moves/1": SweepWay.LIST, "seen/1": SweepWay.LANE}
    assert plan.input_in_lanes == {Relation("walks", 1), Relation("near", 2)}


def test_a_list_that_no_rule_over_points_reads_is_in_no_lane() -> None:
    lane = lane_of("initiatedAt(seen(X)=true, T) :- happensAt(start(walks(X)=true), T).")
    assert Relation("moves", 1) not in {bit.relation for bit in lane.state}


def test_what_is_joined_from_input_must_be_a_union() -> None:
    """What is not may be unsure at a query: a point of the input may go on after it."""
    walks, lit, moves = (
        Instance(Relation(name, 1), (None,), Atom("true")) for name in ("walks", "lit", "moves")
    )
    one, other = pair_bit(walks), pair_bit(lit)
    fact = StateBit(StateKind.FACT, variables=("X",))
    of_input = {one}
    both = FormulaTerm(pos=frozenset([one, other]))
    for formula in ((both,), (FormulaTerm(pos=frozenset([other]), neg=frozenset([one])),)):
        with pytest.raises(NotCausalError, match="that are input"):
            check_joined(StaticPair(moves, formula), of_input)
    check_joined(StaticPair(moves, (FormulaTerm(pos=frozenset([other])),)), of_input)
    assert of_input == {one}
    union = tuple(FormulaTerm(pos=frozenset([bit, fact])) for bit in (one, other))
    check_joined(StaticPair(moves, union), of_input)
    assert of_input == {one, pair_bit(moves)}
