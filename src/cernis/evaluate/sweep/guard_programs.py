"""Guards of a lane as rows of the small machine that the walk runs for each record."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cernis.kernels import decide as machine
from cernis.kernels.sweep.registers import register_tables as codes
from cernis.operators.comparison_programs import ComparisonProgram, RegisterUse, UnfitProgramError
from cernis.plan.logical import Compute, Except, Filter
from cernis.plan.sweep.held_values import is_sameness
from cernis.plan.sweep.lanes import LaneGuard
from cernis.syntax.tree import Compound, Term, Variable

Row = tuple[int, int, int, int]

_ON_NUMBERS = frozenset(range(machine.ADD, machine.IS_NUMBER + 1))


class GuardProgram(ComparisonProgram):
    """One guard: where its variables come from, and the tests that it makes of them.

    `payload` says where a variable of the record stands in its payload, as a number or as a value
    of a register; `loads` says how the number of a register is loaded.
    """

    def __init__(
        self, guard: LaneGuard, payload: Callable[[str, int | None], int],
        loads: Mapping[int, tuple[int, int]], constant: Callable[[int, Term], int],
    ) -> None:  # fmt: skip
        super().__init__()
        self._payload, self._loads, self._value_of = payload, loads, constant
        self._held = {name: number for number, name, _ in guard.held}
        self._carried = {arg.name for arg in guard.scan.occurrence.args  # type: ignore[union-attr]
                         if isinstance(arg, Variable)}  # fmt: skip
        for number, name, is_negated in guard.held:
            self._hold(number, name, is_negated)
        for step in guard.conditions:
            self._add(step)

    def _hold(self, number: int, name: str, is_negated: bool) -> None:
        """What a literal asks: that the fluent has a value, or the one of the record, or not."""
        if is_negated:
            self.code.append((machine.BEGIN, 0, 0, 0))
        self.code.append((codes.IS_HELD, 0, number, 0))
        if name in self._carried:
            self.code.append((codes.IS_SAME, 0, number, self._payload(name, number)))
        if is_negated:
            self.code.append((machine.NOT_ALL, 0, 0, 0))

    def _add(self, step: object) -> None:
        if isinstance(step, Compute):
            self.compute(step)
        elif isinstance(step, Filter):
            is_same = is_sameness(step.condition)
            if is_same is None:
                self.filter(step)
            else:
                self._compare_values(step.condition, is_same != step.negated)
        elif isinstance(step, Except):
            self.unless(step)
        else:
            raise UnfitProgramError

    def _compare_values(self, condition: Term, is_same: bool) -> None:
        """Whether a value that is held is that of the record, or a constant."""
        assert isinstance(condition, Compound)
        one, other = condition.args
        if not (isinstance(one, Variable) and one.name in self._held):
            one, other = other, one
        assert isinstance(one, Variable)
        number = self._held[one.name]
        if isinstance(other, Variable):
            operation = codes.IS_SAME if is_same else codes.IS_OTHER
            self.code.append((operation, 0, number, self._payload(other.name, number)))
            return
        test: Row = (codes.IS_CONSTANT, 0, number, self._value_of(number, other))
        inverted: list[Row] = [(machine.BEGIN, 0, 0, 0), test, (machine.NOT_ALL, 0, 0, 0)]
        self.code += [test] if is_same else inverted

    def _variable(self, name: str) -> RegisterUse:
        if name not in self._loaded:
            value = self._loaded[name] = self._new(whole=True)
            if name in self._held and name not in self._carried:
                number = self._held[name]
                operation, table = self._loads[number]
                self.code.append((operation, value.register, number, table))
            else:
                slot = self._payload(name, None)
                self.code.append((codes.LOAD_PAYLOAD, value.register, slot, 0))
        return self._loaded[name]

    def rows(self, bit: int, trigger: int, first_constant: int) -> list[Row]:
        """The rows of the guard; its constants stand from a place on, in order."""
        if self.registers > codes.ROOM:
            raise UnfitProgramError
        places = {register: first_constant + at for at, register in enumerate(self.constants)}
        rows = [self._placed(row, places) for row in self.code]
        return [(codes.GUARD, trigger, len(rows) + 1, 0), *rows, (codes.SET, bit, 0, 0)]

    def _placed(self, row: Row, places: Mapping[int, int]) -> Row:
        """A row whose operands are places of numbers, where they are numbers."""
        operation, to, one, other = row
        if operation not in _ON_NUMBERS:
            return row
        return operation, to, places.get(one, one), places.get(other, other)
