"""The tables of a lane's registers: which fired bits set a value, and what guards ask of it.

A *register* holds, for each key, the value of one fluent that may take any: a code or a number, as
eight bytes. The bits of the fluent in the state word say whether it holds: one for each value that
rules name, and the *open bit* for all others. A register of a fluent that does not hold is 0.

Records of such lanes have a *payload*, some values beside the row. A *source* says that the records
with a fired bit initiate or terminate the value that stands in their payload, or a constant, where
a row of the lane has sent the signal of the source. Two values initiated at one point are a clash,
and a value that is terminated need not be the one that holds; the state word cannot tell. So the
point is decided again with a fired bit that says so: the *clash bit* or the *closing bit* of the
register.

A *guard* is a fired bit that a record gets if its payload and the values held before the point meet
some conditions. Guards, clash bits and closing bits are *computed*: rows have them once they are
walked, so that a point that is read again needs no registers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cernis.kernels.array_types import Floats, Integers, Matrix, Words

PAYLOADS, REGISTERS, SOURCES, GUARD_ROWS, NEEDS, SIGNALS, COMPUTED, OPEN_BITS, FIRST_SLOT = range(9)
"""The places of single values. `NEEDS` are the fired bits that guards are about, `SIGNALS` those of
sources, `FIRST_SLOT` the first column of registers among what is known of keys at the edge."""

HEADER = 9

OPEN, GROUP, CLASH, CLOSING = range(4)
"""The columns of a register: the number of its open bit, the mask of all its bits, and the masks of
its clash bit and its closing bit."""

REGISTER, IS_ENDING, SIGNAL, TRIGGER, SLOT, CONSTANT = range(6)
"""The columns of a source: the number of the register, whether it terminates, the masks of its
signal and of the fired bit of its records, and where the value stands in the payload. Without such
a fired bit the value is the constant."""

REGISTER_SIZE, SOURCE_SIZE, GUARD_SIZE = 4, 6, 4

(
    GUARD, LOAD_PAYLOAD, LOAD_CODE, LOAD_NUMBER, IS_HELD, IS_SAME, IS_OTHER,
    IS_CONSTANT, SET,
) = range(32, 41)  # fmt: skip
"""The operations of guards beside those of `kernels.decide`. GUARD begins one: its operands are a
fired bit and how many rows to pass over if the record does not have it. LOAD_PAYLOAD reads a float.
LOAD_CODE reads the number of a register's code in a table, which begins where the number at its
second operand says; LOAD_NUMBER reads the register itself, a whole number if the number at its
second operand is not 0, and else a float. IS_HELD asks whether a register holds a value,
IS_SAME whether this is the one in the payload, IS_OTHER whether it is not, IS_CONSTANT whether it
is some value. SET gives the
record the bit that is its destination, if all tests are met."""

ROOM = 64
"""So many places of the numbers of a lane are for guards to compute in."""


class RegisterTables(NamedTuple):
    """The registers, sources and guards of a lane.

    `numbers` has room for guards to compute in, then their constants, then what codes stand for.
    `slots` is the first column of registers among what is known of keys at the edge.
    """

    payloads: int
    registers: Matrix
    sources: Matrix
    guards: Matrix
    constants: Floats

    @property
    def register_count(self) -> int:
        """How many registers there are."""
        return len(self.registers)

    @property
    def width(self) -> int:
        """How many values stand beside a row that has been walked."""
        return self.payloads + self.register_count

    @property
    def open_bits(self) -> int:
        """The state bits of values that no other bit stands for."""
        return sum(1 << bit for bit in self.registers[:, OPEN].tolist())


NO_REGISTERS = RegisterTables(
    0, np.zeros((0, REGISTER_SIZE), np.int64), np.zeros((0, SOURCE_SIZE), np.int64),
    np.zeros((0, GUARD_SIZE), np.int64), np.zeros(0),
)  # fmt: skip


def packed_registers(tables: RegisterTables, slot: int) -> Words:
    """The tables in one array."""
    registers = tables.registers.view(np.uint64)
    computed = np.bitwise_or.reduce(registers[:, CLASH] | registers[:, CLOSING], initial=0)
    is_set = tables.guards[:, 0] == SET
    guards = np.uint64(1) << tables.guards[is_set, 1].astype(np.uint64)
    begins = tables.guards[:, 0] == GUARD
    needs = np.uint64(1) << tables.guards[begins, 1].astype(np.uint64)
    signals = tables.sources.view(np.uint64)[:, SIGNAL]
    header = [
        tables.payloads, tables.register_count, len(tables.sources), len(tables.guards),
        _together(needs), _together(signals), int(computed) | _together(guards),
        tables.open_bits, slot,
    ]  # fmt: skip
    parts: list[Integers] = [tables.registers, tables.sources, tables.guards]
    return np.concatenate(
        [np.array(header, np.uint64), *(p.ravel().view(np.uint64) for p in parts)]
    )


def _together(masks: Words) -> int:
    return int(np.bitwise_or.reduce(masks.astype(np.uint64), initial=0))
