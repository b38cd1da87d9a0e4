"""The words that keys begin with."""

from __future__ import annotations

import cernis
from cernis.evaluate.sweep.lane_keys import first_word, with_derived
from cernis.plan.sweep.lanes import Lane, LaneDelay, LaneOp, LaneRow

ALL_ALLOWED = 2**64 - 1


def test_a_key_begins_with_what_follows_from_what_holds() -> None:
    """Bit 2 is derived from 0 without 1, bit 3 from 2."""
    rows = (
        LaneRow(LaneOp.TERM, pos=0b1, neg=0b10),
        LaneRow(LaneOp.DERIVE, init=0b100),
        LaneRow(LaneOp.TERM, pos=0b100),
        LaneRow(LaneOp.DERIVE, init=0b1000),
    )
    lane = Lane((), (), (), (), (), rows, (0, 2, 4))
    assert with_derived(lane, 0b1, ALL_ALLOWED) == 0b1101
    assert with_derived(lane, 0b11, ALL_ALLOWED) == 0b11
    assert with_derived(lane, 0b1110, ALL_ALLOWED) == 0b10
    assert with_derived(lane, 0, ALL_ALLOWED) == 0


def test_initial_values_that_clash_do_not_hold_but_have_effects() -> None:
    """Bits 0 and 1 are values of one fluent, bit 2 is another; bit 3 says that a delay runs."""
    rows = (LaneRow(LaneOp.COMMIT, init=0b11), LaneRow(LaneOp.COMMIT, init=0b100))
    lane = Lane((), (), (), (), (), rows, (0, 1, 2), (LaneDelay(0, 10, 0, 3),))
    assert first_word(lane, 0b111, ALL_ALLOWED, "break") == (0b1100, 1)
    assert first_word(lane, 0b111, ALL_ALLOWED, "initiation") == (0b1111, 1)
    assert first_word(lane, 0b101, ALL_ALLOWED, "break") == (0b1101, 0)
    assert first_word(lane, 0b110, ALL_ALLOWED, "break") == (0b110, 0)


TWO_VALUES = """
initially(f(a)=x). initially(f(a)=y).
initiatedAt(f(A)=x, T) :- happensAt(e(A), T).
initiatedAt(f(A)=y, T) :- happensAt(g(A), T).
"""


def test_what_holds_initially_follows_the_ties_of_each_run() -> None:
    program = cernis.load(TWO_VALUES)
    starts = [
        sorted(
            (row["value"], row["start"])
            for row in program.run("e|5|5|b\n", ties=ties, start=0, end=10).intervals.to_pylist()
        )
        for ties in ("break", "initiation", "break")
    ]
    assert starts == [[("x", 6)], [("x", 1), ("x", 6), ("y", 1)], [("x", 6)]]
