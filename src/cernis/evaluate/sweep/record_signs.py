"""Signs records: a word for each, with a bit for every set of conditions that the record fulfils.

Conditions are the steps of a rule that concern one record and facts. Those about a single coded
argument are decided once for each value of it, by the operators of columns, and become tables. What
compares numbers becomes a program of `kernels.decide`. Conditions that are neither are decided by
the operators, for the records themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from cernis.check.model import Event
from cernis.errors import OverflowFault
from cernis.evaluate.sweep.sign_conditions import CodeTable, RecordConditions, Values, with_values
from cernis.evaluate.sweep.sign_programs import SignProgram
from cernis.kernels.array_types import Array, Integers
from cernis.operators.collections import ROW
from cernis.operators.comparison_programs import UnfitProgramError
from cernis.operators.context.query_context import Context
from cernis.operators.occurrences import bound_rows
from cernis.operators.rule_pipeline import run_steps
from cernis.plan.logical import PointOperator, Scan
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable


@dataclass(frozen=True, slots=True)
class RecordTest:
    """A bit, and the steps that a record must come through to get it; the first is the scan.

    Variables in `values` must have those values in a row that comes out.
    """

    bit: int
    steps: tuple[PointOperator, ...]
    values: Values = ()


class RecordSigns:
    """Signs the records of one event."""

    def __init__(self, tests: Sequence[RecordTest], domains: list[Domain | None]) -> None:
        self._domains = domains
        self._always = np.int64(0)
        self._by_code: dict[int, _WordTable] = {}
        self._program = SignProgram()
        self._compared: list[RecordTest] = []
        """The tests of the program."""
        self._others: list[RecordTest] = []
        self._tests = tests
        self._is_ready = False

    def words(self, arguments: list[Array], times: Integers, context: Context) -> Integers:
        """The word of each record."""
        if not self._is_ready:
            self._prepare(context)
        words = np.full(len(times), self._always, np.int64)
        try:
            self._sign_by_tables(arguments, times, words, context)
        except (OverflowFault, UnfitProgramError):
            # A value has come up that tables cannot have; of records, it may be ruled out before.
            self.decide_by_operators()
            words[:] = 0
        self._sign_by_operators(self._others, arguments, times, words, context)
        return words

    def _sign_by_tables(
        self, arguments: list[Array], times: Integers, words: Integers, context: Context
    ) -> None:
        for position, table in self._by_code.items():
            words |= table.upto(context)[arguments[position]]
        if not self._program.sign([*arguments, times], words, context):
            self._sign_by_operators(self._compared, arguments, times, words, context)

    def _prepare(self, context: Context) -> None:
        """Find out how each test can be decided."""
        for test in self._tests:
            try:
                conditions = RecordConditions(test.steps, test.values, self._domains, context)
                for table in conditions.by_code.values():
                    table.update(context)
                self._add(test, conditions)
            except (OverflowFault, UnfitProgramError):
                self._others.append(test)
        self._is_ready = True

    def decide_by_operators(self) -> None:
        """Let the operators decide all tests, as the plain twin of tables and programs."""
        self._others, self._is_ready = [*self._tests], True
        self._by_code, self._program, self._compared = {}, SignProgram(), []
        self._always = np.int64(0)

    def _add(self, test: RecordTest, conditions: RecordConditions) -> None:
        if not conditions.are_constant:
            return
        tables = list(conditions.by_code.values())
        if conditions.numeric or len(tables) > 1:
            fits = self._program.add(test.bit, conditions)
            (self._compared if fits else self._others).append(test)
        elif tables:
            position = tables[0].position
            self._by_code.setdefault(position, _WordTable()).parts.append((test.bit, tables[0]))
        else:
            self._always |= _word(test.bit)

    def _sign_by_operators(
        self, tests: Iterable[RecordTest], arguments: list[Array], times: Integers,
        words: Integers, context: Context,
    ) -> None:  # fmt: skip
        for test in tests:
            rows = run_steps(test.steps[1:], self._scanned(test, arguments, times), context)
            rows = with_values(rows.settled(), test.values)
            words[rows.columns[ROW].values] |= _word(test.bit)

    def _scanned(self, test: RecordTest, arguments: list[Array], times: Integers) -> Rows:
        scan = test.steps[0]
        assert isinstance(scan, Scan)
        assert isinstance(scan.occurrence, Event)
        column = Column(times)
        columns = {ROW: Column(np.arange(len(times)))}
        if scan.time:
            columns[scan.time] = column
        table = EventTable(arguments, self._domains, times)
        return bound_rows(list(scan.occurrence.args), table, Rows(len(times), columns, column))


def _word(bit: int) -> np.int64:
    """The word in which a bit is set."""
    return np.uint64(1 << bit).astype(np.int64)


@dataclass(slots=True)
class _WordTable:
    """For each code of an argument, the word of all tests that depend on it alone."""

    parts: list[tuple[int, CodeTable]] = field(default_factory=list)
    _words: Integers = field(default_factory=lambda: np.empty(0, np.int64))

    def upto(self, context: Context) -> Integers:
        """The words of all codes that were there when it was asked."""
        first, count = len(self._words), len(self.parts[0][1].domain)
        if first < count:
            more = np.zeros(count - first, np.int64)
            for bit, table in self.parts:
                # Deciding may give codes to constants: those are decided the next time.
                table.update(context)
                more[table.is_true[first:count]] |= _word(bit)
            self._words = np.concatenate([self._words, more])
        return self._words
