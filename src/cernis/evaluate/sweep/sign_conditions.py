"""The conditions of a rule on one record, sorted by what of the record they depend on.

Conditions on a single coded argument are decided once for each value of it. Conditions on facts
alone are decided once. What is left compares numbers of the record with each other, with constants,
and with numbers that facts have for an argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from cernis.check.model import Event
from cernis.kernels.array_types import Booleans, Floats, Integers
from cernis.operators.collections import ROW
from cernis.operators.comparison_programs import UnfitProgramError, are_exact
from cernis.operators.context.coded_columns import constant_column
from cernis.operators.context.query_context import Context
from cernis.operators.rule_pipeline import run_steps
from cernis.plan.logical import Compute, Except, Filter, PointOperator, Scan, names_in, parts_of
from cernis.syntax.tree import Term, Variable
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import Domain

Values: TypeAlias = Sequence[tuple[str, Term]]
"""Variables, and what each of them must stand for."""


def with_values(rows: Rows, values: Values) -> Rows:
    """The rows in which variables stand for what they must."""
    for name, value in values:
        column = rows.columns[name]
        wanted = constant_column(value, column.domain).data[0]
        rows = rows.where(np.broadcast_to(column.values == wanted, rows.length)).settled()
    return rows


@dataclass(slots=True, eq=False)
class CodeTable:
    """What is so of the values of one coded argument, decided once for each code.

    `variable` names the argument; `steps` are the conditions on it. Of `needed` variables, which
    the steps bind, there are columns of numbers.
    """

    position: int
    domain: Domain
    variable: str
    code: int | None = None
    """The one code that is asked for, if it is a constant."""
    steps: list[PointOperator] = field(default_factory=list)
    values: list[tuple[str, Term]] = field(default_factory=list)
    """What some variables must stand for when all steps are done."""
    constants: dict[str, Column] = field(default_factory=dict)
    needed: list[str] = field(default_factory=list)
    is_true: Booleans = field(default_factory=lambda: np.empty(0, np.bool_))
    numbers: dict[str, Floats] = field(default_factory=dict)

    def update(self, context: Context) -> None:
        """Decide the conditions for the codes that have come up since the last time."""
        first, count = len(self.is_true), len(self.domain)
        if first < count:
            rows = self._answers(first, count, context)
            codes = rows.columns[ROW].values
            is_true = np.zeros(count - first, np.bool_)
            is_true[codes] = True
            self.is_true = np.concatenate([self.is_true, is_true])
            for name in self.needed:
                known = self.numbers.get(name, np.empty(0))
                more = self._numbers_of(rows.columns[name], codes, rows.length, count - first)
                self.numbers[name] = np.concatenate([known, more])

    def _answers(self, first: int, count: int, context: Context) -> Rows:
        """The rows, among those of new codes, that come through the steps."""
        codes = np.arange(first, count)
        columns = {**self.constants, self.variable: Column(codes, self.domain)}
        rows = Rows(len(codes), {**columns, ROW: Column(codes - first)})
        if self.code is not None:
            rows = rows.where(codes == self.code)
        return with_values(run_steps(self.steps, rows.settled(), context).settled(), self.values)

    def _numbers_of(self, column: Column, codes: Integers, length: int, count: int) -> Floats:
        """The numbers that a variable stands for, by code; several for one code do not fit."""
        values = as_exact_floats(column, length)
        numbers = np.full(count, np.nan)
        numbers[codes] = values
        if not np.array_equal(numbers[codes], values, equal_nan=True):
            raise UnfitProgramError
        return numbers


def as_exact_floats(column: Column, length: int) -> Floats:
    """The numbers of a column; values that are no numbers, or too large, do not fit."""
    values = column.expanded(length)
    if column.domain is not None:
        floats = column.domain.floats()
        if floats is None or (len(values) and not len(floats)):
            raise UnfitProgramError
        values = floats[values] if len(values) else np.empty(0)
    if values.dtype.kind not in "if" or not are_exact(values):
        raise UnfitProgramError
    return values.astype(np.float64)


class RecordConditions:
    """The steps of a test, sorted by what of the record they depend on."""

    def __init__(
        self, steps: tuple[PointOperator, ...], values: Values, domains: list[Domain | None],
        context: Context,
    ) -> None:  # fmt: skip
        self._domains = domains
        self._context = context
        self.by_code: dict[int, CodeTable] = {}
        self.numeric: list[Filter | Except | Compute] = []
        self.constants: dict[str, Column] = {}
        self.are_constant = True
        """Are the conditions fulfilled that depend on facts alone?"""
        self.place_of: dict[str, int] = {}
        """The column of the record that each variable of it names; the last is the time."""
        self._depends: dict[str, frozenset[int]] = {}
        self._read_scan(steps[0])
        for step in steps[1:]:
            if self.are_constant:
                self._sort(step)
        for name, value in values:
            self._demand(name, value)
        self._note_needed()

    def _demand(self, name: str, value: Term) -> None:
        """Let a variable stand for one value only."""
        places = self._depends[name] if self.are_constant else frozenset()
        if len(places) > 1 or any(map(self._is_number, places)):
            raise UnfitProgramError
        if places:
            self._table(next(iter(places))).values.append((name, value))
        elif self.are_constant:
            rows = with_values(Rows(1, {name: self.constants[name]}), [(name, value)])
            self.are_constant = rows.length == 1

    def _read_scan(self, scan: PointOperator) -> None:
        assert isinstance(scan, Scan)
        assert isinstance(scan.occurrence, Event)
        if scan.time:
            self._name(scan.time, len(self._domains))
        for position, term in enumerate(scan.occurrence.args):
            if not isinstance(term, Variable):
                domain = self._domains[position]
                if domain is None:
                    raise UnfitProgramError
                code = int(constant_column(term, domain).data[0])
                self.by_code[position] = CodeTable(position, domain, f" {position}", code)
            elif term.name in self.place_of:
                raise UnfitProgramError
            elif term.name != "_":
                self._name(term.name, position)

    def _name(self, name: str, position: int) -> None:
        self.place_of[name] = position
        self._depends[name] = frozenset([position])

    def _is_number(self, position: int) -> bool:
        return position == len(self._domains) or self._domains[position] is None

    def _sort(self, step: PointOperator) -> None:
        names = names_of(step)
        known = names & self._depends.keys()
        places = frozenset().union(*(self._depends[name] for name in known))
        if len(places) <= 1 and not any(map(self._is_number, places)):
            self._depends |= dict.fromkeys(names - known, places)
            if places:
                self._table(next(iter(places))).steps.append(step)
            else:
                self._decide_once(step)
        elif isinstance(step, Compute):
            self.numeric.append(step)
            self._depends[step.variable] = places
        elif isinstance(step, Filter) or (
            isinstance(step, Except) and all(isinstance(inner, Filter) for inner in step.body)
        ):
            self.numeric.append(step)
        else:
            raise UnfitProgramError

    def _table(self, position: int) -> CodeTable:
        """The table of an argument that the scan names."""
        domain = self._domains[position]
        assert domain is not None
        if position not in self.by_code:
            name = next(name for name, place in self.place_of.items() if place == position)
            self.by_code[position] = CodeTable(position, domain, name)
        return self.by_code[position]

    def _decide_once(self, step: PointOperator) -> None:
        """A step that depends on facts alone binds constants."""
        rows = run_steps([step], Rows(1, dict(self.constants)), self._context).settled()
        if rows.length > 1:
            raise UnfitProgramError
        self.are_constant = self.are_constant and rows.length == 1
        for name in names_of(step) & rows.columns.keys():
            column = rows.columns[name]
            first = column.expanded(rows.length)[:1]
            if len(first):
                self.constants[name] = Column(first, column.domain, constant=True)

    def _note_needed(self) -> None:
        """Let tables have the numbers that comparisons ask for."""
        compared = {name for step in self.numeric for name in names_in(step)}
        for table in self.by_code.values():
            table.constants = self.constants
            bound = {name for step in table.steps for name in names_of(step)}
            table.needed = sorted(
                name
                for name in compared & (bound | {table.variable})
                if self._depends.get(name) == frozenset([table.position])
            )
        for name, place in self.place_of.items():
            if name in compared and not self._is_number(place) and place not in self.by_code:
                domain = self._domains[place]
                assert domain is not None
                self.by_code[place] = CodeTable(place, domain, name, needed=[name])


def names_of(step: PointOperator) -> set[str]:
    """The variables that a step asks for or binds."""
    computed = {part.variable for part in parts_of(step) if isinstance(part, Compute)}
    return (set(names_in(step)) | computed) - {"_"}
