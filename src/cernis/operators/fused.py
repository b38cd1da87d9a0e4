"""Conditions on many rows, put together and decided in one pass.

Filters, computed columns, look-ups and negated filters that follow one another become one program
of `kernels.decide`. What it cannot compute exactly is left to the operators one by one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cernis.kernels import decide as machine
from cernis.kernels.array_types import Array
from cernis.operators.comparison_programs import (
    ComparisonProgram,
    RegisterUse,
    UnfitProgramError,
    are_exact,
)
from cernis.operators.conditions import compute_exec, keeps_rows, lookup_exec
from cernis.operators.context.query_context import Context
from cernis.operators.expressions import identity
from cernis.plan.logical import Compute, Except, Filter, Lookup, PointOperator
from cernis.syntax.tree import variables
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import Domain


class _Program(ComparisonProgram):
    """A program in the making, about rows that stay the same."""

    def __init__(self, rows: Rows, context: Context) -> None:
        super().__init__()
        self.rows = rows
        self.context = context
        self.columns: list[Array] = []
        self._places: dict[int, int] = {}

    def decided(self) -> Rows:
        """The rows that pass all tests."""
        if not self.code:
            return self.rows
        program = np.array(self.code, np.int64)
        mask, count = machine.decide(
            program, self.columns, self.constants, self.registers, self.rows.length
        )
        return self.rows if count == self.rows.length else self.rows.where(mask)

    def _variable(self, name: str) -> RegisterUse:
        """A column as numbers."""
        column = self.rows.columns[name]
        if column.constant:
            return self._value_constant(column.value())
        is_mixed = column.domain is not None
        if column.domain is not None:
            column = self._floats_of(column, column.domain)
        key = identity(column)
        if key not in self._loaded:
            self._loaded[key] = self._read(column, is_mixed)
        return self._loaded[key]

    def _floats_of(self, column: Column, domain: Domain) -> Column:
        """Values of a domain as floats; those that are no numbers are none."""
        floats = domain.floats()
        if floats is None or len(floats) == 0:
            raise UnfitProgramError
        if column.index is None:
            return Column(floats, None, column.data)
        known, key = self.context.caches.computed, ("floats", id(column.data), id(floats))
        if key not in known:
            # The arrays are kept beside the result, so that their identities stay their own.
            known[key] = (floats[column.data], (column.data, floats))
        return Column(known[key][0], None, column.index)

    def _read(self, column: Column, is_mixed: bool) -> RegisterUse:
        whole = column.data.dtype == np.int64
        if not whole and column.data.dtype != np.float64:
            raise UnfitProgramError
        if (whole or is_mixed) and not self._is_exact(column.data):
            raise UnfitProgramError
        value = self._new(whole or is_mixed)
        data = self._place(column.data)
        if column.index is None:
            load = machine.LOAD_INTEGER if whole else machine.LOAD
            self.code.append((load, value.register, data, 0))
        else:
            pick = machine.PICK_INTEGER if whole else machine.PICK
            self.code.append((pick, value.register, data, self._place(column.index)))
        return value

    def _place(self, column: Array) -> int:
        if id(column) not in self._places:
            self._places[id(column)] = len(self.columns)
            self.columns.append(np.ascontiguousarray(column))
        return self._places[id(column)]

    def _is_exact(self, data: Array) -> bool:
        known = self.context.caches.computed
        key = ("exact", id(data))
        if key not in known:
            # The column is kept beside the result, so that its identity stays its own.
            known[key] = (are_exact(data), data)
        return bool(known[key][0])


class Fusion:
    """Puts steps together as long as that can be done."""

    def __init__(self, rows: Rows, context: Context) -> None:
        self._context = context
        self._program = _Program(rows, context)
        self._computed: list[Compute] = []

    def add(self, step: PointOperator) -> bool:
        """Take a step in; False if it must wait until the others are decided."""
        return self._program.attempt(lambda: self._add(step))

    def _add(self, step: PointOperator) -> None:
        if isinstance(step, Filter):
            self._program.filter(step)
        elif isinstance(step, Compute):
            self._program.compute(step)
            self._computed.append(step)
        elif isinstance(step, Except):
            self._program.unless(step)
        elif isinstance(step, Lookup) and keeps_rows(
            step, self._program.rows, self._context.background
        ):
            self._look_up(step)
        else:
            raise UnfitProgramError

    def _look_up(self, step: Lookup) -> None:
        """A look-up adds columns; where it also leaves out rows, a new program begins."""
        rows = lookup_exec(step, self._program.rows, self._context)
        if rows.times is not self._program.rows.times:
            if self._program.code:
                raise UnfitProgramError
            self._program = _Program(rows, self._context)
        self._program.rows = rows

    def rows(self, wanted: Callable[[str], bool]) -> Rows:
        """The rows that are left, with those computed columns that are wanted."""
        rows = self._program.decided()
        for step in self._needed(wanted):
            rows = compute_exec(step, rows, self._context)
        return rows

    def _needed(self, wanted: Callable[[str], bool]) -> list[Compute]:
        """The computed columns that are wanted, or that one of them is computed from."""
        needed: list[Compute] = []
        names: set[str] = set()
        for step in reversed(self._computed):
            if wanted(step.variable) or step.variable in names:
                needed.insert(0, step)
                names |= {variable.name for variable in variables(step.expression)}
        return needed
