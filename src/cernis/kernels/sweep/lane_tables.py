"""The tables of a lane: all that the walk knows of the rules.

A *lane* is a set of definitions of one key whose pairs are bits of one *state word*. What happens
at a point is a *fired word*: a bit for each condition that a record meets, for each delayed effect
that is due, and for each signal that an earlier row sends to later ones. The rules are rows of
masks, in *blocks* of one definition each, in the order in which they depend on each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cernis.kernels.array_types import Integers, Matrix, WordMatrix, Words
from cernis.kernels.sweep.registers.register_tables import (
    NO_REGISTERS,
    RegisterTables,
    packed_registers,
)
from cernis.kernels.sweep.registers.register_tables import SIGNAL as SIGNAL_OF_SOURCE
from cernis.kernels.sweep.word_bits import Word

RULE, COMMIT, TERM, DERIVE = 0, 1, 2, 3
"""What a row of a block does; the first column."""

OP, ANY, ALL, NONE, STARTS, ENDS, POS, NEG, INIT, TERMINATE, SIGNAL = range(11)
"""The columns of a row. `ANY`, `ALL`, `NONE` and `SIGNAL` are masks of fired bits, the others of
state bits."""

SOURCE, DELAY, DUE, ARMED, POSTPONABLE, UNTIL_DUE = range(6)
"""The columns of a delay. `SOURCE` and `ARMED` are numbers of state bits, `DUE` is that of a fired
bit."""

BREAK, INITIATION = 0, 1
"""The tie rules: an initiation at a point that breaks the pair does not count, or it does."""

MOST_BLOCKS = 64
MOST_BITS = 64


class LaneTables(NamedTuple):
    """A lane as arrays.

    Rows of `blocks` are rules (`RULE`), the end of a simple fluent (`COMMIT`, with all bits of the
    fluent in the column `INIT`), a condition of a causal statically determined pair (`TERM`), or
    the end of such a pair (`DERIVE`, with its bit in the column `INIT`). Block b has the rows from
    `first_row[b]` up to `first_row[b + 1]`. `touch_fired` has, for each fired bit, a mask of the
    blocks that may do something because of it; `touch_state` has the same for each state bit that
    begins or ends. A delay has a due bit and an armed bit of its own, and there is one at most for
    each source. `reported` are the state bits whose intervals are wanted, `reported_signals` the
    fired bits whose points are wanted. `registers` are values that bits do not tell apart.
    """

    blocks: WordMatrix
    first_row: Integers
    touch_fired: Words
    touch_state: Words
    delays: Matrix
    reported: np.uint64
    reported_signals: np.uint64
    ties: int
    tick: int
    registers: RegisterTables = NO_REGISTERS


# -- as one array ----------------------------------------------------------------------------

(
    BLOCK_COUNT, DELAY_COUNT, TIES, TICK, REPORTED, REPORTED_SIGNALS, ARMED_BITS, DUE_BITS,
    REGISTERS_AT, KEPT_SIGNALS,
) = range(10)  # fmt: skip
"""The places of single values in a packed lane. `REGISTERS_AT` is where the tables of registers
begin, and `KEPT_SIGNALS` are the signals that are reported or that registers wait for."""

TOUCH_FIRED_AT, TOUCH_STATE_AT, FIRST_ROWS_AT, DELAYS_AT = 10, 74, 138, 203
"""Where parts of a packed lane begin. The rows of the blocks follow, then the tables of
registers."""

ROW_SIZE, DELAY_SIZE = 11, 6


def packed(tables: LaneTables) -> Words:
    """The tables in one array: loops pass arrays on at a price, and this is the price of one.

    First rows are places in this array.
    """
    firsts = np.zeros(MOST_BLOCKS + 1, np.int64)
    firsts[: len(tables.first_row)] = tables.first_row * ROW_SIZE
    firsts += DELAYS_AT + tables.delays.size
    kept = int(tables.reported_signals) | _together(tables.registers.sources[:, SIGNAL_OF_SOURCE])
    values = [
        [len(tables.first_row) - 1, len(tables.delays), tables.ties, tables.tick],
        [tables.reported, tables.reported_signals],
        [armed_mask(tables.delays), due_mask(tables.delays)],
        [DELAYS_AT + tables.delays.size + tables.blocks.size, kept],
        tables.touch_fired,
        tables.touch_state,
        firsts,
        tables.delays.ravel(),
        tables.blocks.ravel(),
        packed_registers(tables.registers, int(tables.reported).bit_count()),
    ]
    return np.concatenate([np.asarray(each).astype(np.uint64) for each in values])


def _together(masks: Integers) -> int:
    return int(np.bitwise_or.reduce(masks.astype(np.uint64), initial=0))


def touched_blocks(blocks: WordMatrix, first_row: Integers) -> tuple[Words, Words]:
    """For each fired bit, and for each state bit, the mask of blocks that it may touch.

    A rule without `any`, `starts` and `ends` is triggered by `all`; what it asks of the state does
    not trigger it. A causal statically determined pair may change where one of its conditions does.
    """
    fired, state = [0] * MOST_BITS, [0] * MOST_BITS
    for block in range(len(first_row) - 1):
        for row in blocks[first_row[block] : first_row[block + 1]].tolist():
            is_term = row[OP] == TERM
            triggers = 0 if is_term else row[ANY] | row[ALL]
            changes = row[POS] | row[NEG] if is_term else row[STARTS] | row[ENDS]
            for bit in range(MOST_BITS):
                fired[bit] |= (triggers >> bit & 1) << block
                state[bit] |= (changes >> bit & 1) << block
    return np.array(fired, np.uint64), np.array(state, np.uint64)


def armed_mask(delays: Matrix) -> Word:
    """The state bits that say which delays are under way."""
    return np.uint64(sum(1 << bit for bit in delays[:, ARMED].tolist()))


def due_mask(delays: Matrix) -> Word:
    """The fired bits of delayed effects."""
    return np.uint64(sum(1 << bit for bit in delays[:, DUE].tolist()))
