"""Conditions on many rows, put together and decided in one pass.

Filters, computed columns, look-ups and negated filters that follow one another become one program
of `kernels.decide`. What it cannot compute exactly is left to the operators one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cernis.kernels import decide as machine
from cernis.kernels.array_types import Array
from cernis.operators.conditions import compute_exec, keeps_rows, lookup_exec
from cernis.operators.expressions import identity
from cernis.operators.query_context import Context
from cernis.plan.logical import Compute, Except, Filter, Lookup, PointOperator
from cernis.syntax.tokens import DURATION_UNITS
from cernis.syntax.tree import Compound, Duration, Number, Term, Variable, functor, variables
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import Domain

_EXACT = 2**50
"""Integers up to this size stay exact through some additions of floats."""

_DEPTH = 4
"""At most so many operations are nested."""

_ARITHMETIC = {
    ("+", 2): machine.ADD, ("-", 2): machine.SUBTRACT, ("*", 2): machine.MULTIPLY,
    ("min", 2): machine.LEAST, ("max", 2): machine.GREATEST, ("abs", 1): machine.ABSOLUTE,
    ("-", 1): machine.NEGATE,
}  # fmt: skip

_TESTS = {
    "<": (machine.LESS, False), "=<": (machine.LESS_OR_EQUAL, False),
    ">": (machine.LESS, True), ">=": (machine.LESS_OR_EQUAL, True),
    "=:=": (machine.EQUAL, False), "=\\=": (machine.UNEQUAL, False),
}  # fmt: skip
"""The test of a comparison, and whether its operands change places."""


class _Unfit(Exception):
    """This cannot be put into a program."""


@dataclass(slots=True)
class _Value:
    """A register, and whether it may hold whole numbers."""

    register: int
    whole: bool


@dataclass(slots=True)
class _Program:
    """A program in the making, about rows that stay the same."""

    rows: Rows
    context: Context
    code: list[tuple[int, int, int, int]] = field(default_factory=list)
    columns: list[Array] = field(default_factory=list)
    constants: dict[int, float] = field(default_factory=dict)
    registers: int = 0
    tests: int = 0
    _places: dict[int, int] = field(default_factory=dict)
    _loaded: dict[object, _Value] = field(default_factory=dict)
    _named: dict[str, _Value] = field(default_factory=dict)

    def copy(self) -> _Program:
        """The program as it is now."""
        return _Program(
            self.rows, self.context, [*self.code], [*self.columns], {**self.constants},
            self.registers, self.tests, {**self._places}, {**self._loaded}, {**self._named},
        )  # fmt: skip

    # -- steps ------------------------------------------------------------------------------

    def filter(self, step: Filter, mask: int = 0) -> None:
        """A comparison; negated, it is true also of what is no number."""
        if step.negated:
            if mask:
                raise _Unfit
            self.code.append((machine.BEGIN, 0, 0, 0))
            self._compare(step.condition, 1)
            self.code.append((machine.NOT_ALL, 0, 0, 0))
        else:
            self._compare(step.condition, mask)

    def _compare(self, goal: Term, mask: int) -> None:
        if not isinstance(goal, Compound) or goal.functor not in _TESTS:
            raise _Unfit
        test, turned = _TESTS[goal.functor]
        one, other = (self._numeric_value(arg) for arg in goal.args)
        if turned:
            one, other = other, one
        self._test(test, one, other, mask)

    def compute(self, step: Compute) -> None:
        """A column that tests can ask for; rows whose expression has no value are ruled out."""
        if not isinstance(step.expression, Compound):
            raise _Unfit
        value = self._numeric_value(step.expression)
        self._test(machine.IS_NUMBER, value, value)
        self._named[step.variable] = value

    def unless(self, step: Except) -> None:
        """Comparisons that must not all be true."""
        if not all(isinstance(inner, Filter) for inner in step.body):
            raise _Unfit
        self.code.append((machine.BEGIN, 0, 0, 0))
        for inner in step.body:
            assert isinstance(inner, Filter)
            self.filter(inner, 1)
        self.code.append((machine.NOT_ALL, 0, 0, 0))

    def decided(self) -> Rows:
        """The rows that pass all tests."""
        if not self.tests:
            return self.rows
        program = np.array(self.code, np.int64)
        mask, count = machine.decide(
            program, self.columns, self.constants, self.registers, self.rows.length
        )
        return self.rows if count == self.rows.length else self.rows.where(mask)

    # -- registers --------------------------------------------------------------------------

    def _test(self, test: int, one: _Value, other: _Value, mask: int = 0) -> None:
        self.code.append((test, mask, one.register, other.register))
        self.tests += 1

    def _new(self, whole: bool) -> _Value:
        self.registers += 1
        return _Value(self.registers - 1, whole)

    def _numeric_value(self, term: Term, depth: int = 0) -> _Value:
        if isinstance(term, Variable):
            known = self._named.get(term.name)
            return known if known is not None else self._load(self.rows.columns[term.name])
        if isinstance(term, Number):
            return self._constant(term.value)
        if isinstance(term, Duration):
            return self._constant(term.amount * DURATION_UNITS[term.unit])
        operation = _ARITHMETIC.get(functor(term))
        if operation is None or depth > _DEPTH or not isinstance(term, Compound):
            raise _Unfit
        parts = [self._numeric_value(arg, depth + 1) for arg in term.args]
        whole = all(part.whole for part in parts)
        if whole and operation == machine.MULTIPLY:
            raise _Unfit
        result = self._new(whole)
        one, other = parts[0].register, parts[-1].register
        self.code.append((operation, result.register, one, other))
        return result

    def _constant(self, number: float) -> _Value:
        if not abs(number) <= _EXACT:
            raise _Unfit
        value = self._new(isinstance(number, int))
        self.constants[value.register] = float(number)
        return value

    def _load(self, column: Column) -> _Value:
        """A column as numbers."""
        if column.constant:
            number = column.value()
            return self._constant(number if isinstance(number, int | float) else math.inf)
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
            raise _Unfit
        if column.index is None:
            return Column(floats, None, column.data)
        known, key = self.context.computed, ("floats", id(column.data), id(floats))
        if key not in known:
            # The arrays are kept beside the result, so that their identities stay their own.
            known[key] = (floats[column.data], (column.data, floats))
        return Column(known[key][0], None, column.index)

    def _read(self, column: Column, is_mixed: bool) -> _Value:
        whole = column.data.dtype == np.int64
        if not whole and column.data.dtype != np.float64:
            raise _Unfit
        if (whole or is_mixed) and not self._is_exact(column.data):
            raise _Unfit
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
        known = self.context.computed
        key = ("exact", id(data))
        if key not in known:
            exact = not (np.abs(data) > _EXACT).any() if data.dtype.kind == "f" else (
                not len(data) or (int(data.max()) <= _EXACT and int(data.min()) >= -_EXACT)
            )  # fmt: skip
            # The column is kept beside the result, so that its identity stays its own.
            known[key] = (exact, data)
        return bool(known[key][0])


class Fusion:
    """Puts steps together as long as that can be done."""

    def __init__(self, rows: Rows, context: Context) -> None:
        self._context = context
        self._program = _Program(rows, context)
        self._computed: list[Compute] = []

    def add(self, step: PointOperator) -> bool:
        """Take a step in; False if it must wait until the others are decided."""
        before = self._program.copy()
        try:
            self._add(step)
        except _Unfit:
            self._program = before
            return False
        return True

    def _add(self, step: PointOperator) -> None:
        if isinstance(step, Filter):
            self._program.filter(step)
        elif isinstance(step, Compute):
            self._program.compute(step)
            self._computed.append(step)
        elif isinstance(step, Except):
            self._program.unless(step)
        elif isinstance(step, Lookup) and keeps_rows(step, self._program.rows, self._context):
            self._look_up(step)
        else:
            raise _Unfit

    def _look_up(self, step: Lookup) -> None:
        """A look-up adds columns; where it also leaves out rows, a new program begins."""
        rows = lookup_exec(step, self._program.rows, self._context)
        if rows.times is not self._program.rows.times:
            if self._program.code:
                raise _Unfit
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
