"""A program that signs records: comparisons of numbers, and tables by code, put together.

It is written once. Only the columns of records and the tables change from batch to batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

import numpy as np

from cernis.evaluate.sweep.sign_conditions import CodeTable, RecordConditions
from cernis.kernels import decide as machine
from cernis.kernels.array_types import Array, Floats, Integers, Matrix
from cernis.operators.comparison_programs import (
    ARITHMETIC,
    QUOTIENTS,
    ComparisonProgram,
    RegisterUse,
    are_exact,
)
from cernis.operators.context.query_context import Context
from cernis.plan.logical import Compute, Filter

_Supply: TypeAlias = Callable[[Sequence[Array]], Array]
"""Gives a column of the program, from the columns of the records."""


class SignProgram(ComparisonProgram):
    """Signs the records of one event with the bits of several tests."""

    arithmetic: ClassVar = {**ARITHMETIC, **QUOTIENTS}

    def __init__(self) -> None:
        super().__init__()
        self._conditions: RecordConditions | None = None
        self._tables: list[CodeTable] = []
        self._supplies: list[_Supply] = []
        self._places: dict[object, int] = {}
        self._numeric: dict[int, int] = {}
        """By argument that is read as numbers: the place of the instruction that does so."""
        self._written: dict[tuple[bool, ...], Matrix] = {}
        self._held: Floats | None = None

    # -- writing it -------------------------------------------------------------------------

    def add(self, bit: int, conditions: RecordConditions) -> bool:
        """Add a test; False if it does not fit."""
        self._conditions, self._named = conditions, {}
        return self.attempt(lambda: self._add(bit, conditions))

    def _add(self, bit: int, conditions: RecordConditions) -> None:
        self.code.append((machine.RESTART, 0, 0, 0))
        for table in conditions.by_code.values():
            if table not in self._tables:
                self._tables.append(table)
            truths = self._place(id(table), lambda _, own=table: own.is_true.view(np.uint8))  # type: ignore[misc]
            self.code.append((machine.IS_SET_AT, 0, truths, self._column(table.position)))
        for step in conditions.numeric:
            if isinstance(step, Compute):
                self.compute(step)
            elif isinstance(step, Filter):
                self.filter(step)
            else:
                self.unless(step)
        self.code.append((machine.SIGN, bit, 0, 0))

    def _variable(self, name: str) -> RegisterUse:
        assert self._conditions is not None
        constant = self._conditions.constants.get(name)
        if constant is not None:
            return self._value_constant(constant.value())
        for table in self._conditions.by_code.values():
            if name in table.needed:
                return self._numbers_by_code(table, name)
        return self._numbers_of_records(self._conditions.place_of[name])

    def _numbers_by_code(self, table: CodeTable, name: str) -> RegisterUse:
        """The numbers that facts have for an argument."""
        key = (id(table), name)
        if key not in self._loaded:
            numbers = self._place(key, lambda _: table.numbers[name])
            value = self._loaded[key] = self._new(whole=True)
            codes = self._column(table.position)
            self.code.append((machine.PICK, value.register, numbers, codes))
        return self._loaded[key]

    def _numbers_of_records(self, position: int) -> RegisterUse:
        """The numbers of an argument, or the times."""
        if position not in self._loaded:
            value = self._loaded[position] = self._new(whole=True)
            self._numeric[position] = len(self.code)
            self.code.append((machine.LOAD, value.register, self._column(position), 0))
        return self._loaded[position]

    def _column(self, position: int) -> int:
        return self._place(position, lambda columns: columns[position])

    def _place(self, name: object, supply: _Supply) -> int:
        if name not in self._places:
            self._places[name] = len(self._supplies)
            self._supplies.append(supply)
        return self._places[name]

    def _forget_registers(self) -> None:
        super()._forget_registers()
        length = len(self.code)
        self._numeric = {own: place for own, place in self._numeric.items() if place < length}

    # -- running it -------------------------------------------------------------------------

    def sign(self, columns: Sequence[Array], words: Integers, context: Context) -> bool:
        """Set bits in the words of records; False, and no bit is set, if numbers are too large."""
        if not self.code:
            return True
        numeric = [columns[position] for position in self._numeric]
        has_floor = any(step[0] == machine.FLOOR for step in self.code)
        if not all(are_exact(c) for c in numeric if has_floor or c.dtype.kind != "f"):
            return False
        for table in self._tables:
            table.update(context)
        supplied = [np.ascontiguousarray(supply(columns)) for supply in self._supplies]
        program = self._program(tuple(column.dtype.kind == "f" for column in numeric))
        if self._held is None:
            self._held = machine.held_constants(self.constants, self.registers)
        machine.sign(program, supplied, self._held, words)
        return True

    def _program(self, are_floats: tuple[bool, ...]) -> Matrix:
        """The program for columns of which some have floats, the others whole numbers."""
        if are_floats not in self._written:
            program = np.array(self.code, np.int64)
            for place, is_float in zip(self._numeric.values(), are_floats, strict=True):
                program[place, 0] = machine.LOAD if is_float else machine.LOAD_INTEGER
            self._written[are_floats] = program
        return self._written[are_floats]
