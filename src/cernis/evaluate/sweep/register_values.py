"""The registers of a lane: how values are held in eight bytes, and what records carry for them.

A value that has a code is held by its code. Numbers of one form are held as floats, whole ones too:
they must be exact as such. What guards compute with are floats in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from cernis.check.model import Event, Relation
from cernis.errors import OverflowFault
from cernis.evaluate.sweep.guard_programs import GuardProgram
from cernis.kernels.array_types import Array, Floats, Integers, Matrix, Words
from cernis.kernels.sweep.registers import register_tables as codes
from cernis.kernels.sweep.registers.register_tables import RegisterTables
from cernis.operators.comparison_programs import are_exact
from cernis.operators.context.coded_columns import constant_column
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.plan.logical import Scan
from cernis.plan.sweep.lanes import Lane, LaneRegister, RegisterSource
from cernis.syntax.tree import Number, Term, Variable
from cernis.tables.domains import Domain

_NO_NUMBER = int(np.array(np.nan).view(np.int64))
_Slot = tuple[int, int | None]
"""An argument of a record, and the register whose value it is to be; None if it is a number."""


class RegisterValues:
    """The values of a lane's registers, for one run."""

    def __init__(self, lane: Lane, encoding: ValueEncoding) -> None:
        self._lane, self._encoding = lane, encoding
        self._domains = [encoding.value(each.relation) for each in lane.registers]
        self._are_whole = [False] * len(lane.registers)
        """Of registers that hold numbers as floats: are they whole ones?"""
        self._slots: dict[Relation, dict[_Slot, int]] = {}
        self._translated: dict[tuple[int, int], Integers] = {}
        self._tabled: list[int] = []
        """The registers of codes whose numbers guards ask for."""
        self._known = 0
        guards, constants = self._guard_rows()
        sources = [
            row for number, register in enumerate(lane.registers)
            for row in self._source_rows(number, register)
        ]  # fmt: skip
        payloads = max((len(slots) for slots in self._slots.values()), default=0)
        rows = [[r.open_bit, r.group, 1 << r.clash, 1 << r.closing] for r in lane.registers]
        self.tables = RegisterTables(
            payloads, _matrix(rows, codes.REGISTER_SIZE), _matrix(sources, codes.SOURCE_SIZE),
            _matrix(guards, codes.GUARD_SIZE), np.array(constants, np.float64),
        )  # fmt: skip

    # -- tables -----------------------------------------------------------------------------

    def _source_rows(self, number: int, register: LaneRegister) -> list[list[int]]:
        return [self._source_row(number, source) for source in register.sources]

    def _source_row(self, number: int, source: RegisterSource) -> list[int]:
        signal, is_ending = 1 << source.signal, int(source.is_ending)
        if source.carrier is None:
            assert source.constant is not None
            return [number, is_ending, signal, 0, 0, self._constant(number, source.constant)]
        scan = self._lane.fired[source.carrier].steps[0]
        assert isinstance(scan, Scan)
        slot = self._slot(scan, source.variable, number)
        return [number, is_ending, signal, 1 << source.carrier, slot, 0]

    def _guard_rows(self) -> tuple[list[tuple[int, int, int, int]], list[float]]:
        """The rows of all guards, and their constants; then where tables of numbers begin."""
        tabled = [number for number, domain in enumerate(self._domains) if domain is not None]
        self._tabled = tabled if self._lane.guards else []
        constants: list[float] = [0.0] * len(self._tabled)
        loads = {
            number: (codes.LOAD_FLOAT, 0) if domain is None
            else (codes.LOAD_CODE, codes.ROOM + tabled.index(number))
            for number, domain in enumerate(self._domains)
        }  # fmt: skip
        rows: list[tuple[int, int, int, int]] = []
        for guard in self._lane.guards:
            payload = partial(self._slot, guard.scan)
            program = GuardProgram(guard, payload, loads, self._constant)
            rows += program.rows(guard.bit, guard.trigger, codes.ROOM + len(constants))
            constants += program.constants.values()
        return rows, constants

    def _slot(self, scan: Scan, name: str, register: int | None) -> int:
        """Where an argument of a record stands in its payload."""
        assert isinstance(scan.occurrence, Event)
        event = scan.occurrence
        place = event.args.index(Variable(name))
        is_number = register is None or self._domains[register] is None
        slots = self._slots.setdefault(event.relation, {})
        return slots.setdefault((place, None if is_number else register), len(slots))

    def _constant(self, number: int, term: Term) -> int:
        """A constant as a register has it."""
        domain = self._domains[number]
        if domain is not None:
            return int(constant_column(term, domain).data[0])
        if not isinstance(term, Number):
            return _NO_NUMBER
        return int(np.array(float(term.value)).view(np.int64))

    # -- what records carry -----------------------------------------------------------------

    def payload(self, relation: Relation, arguments: list[Array], length: int) -> Matrix:
        """The payloads of the records of an event."""
        slots = self._slots.get(relation, {})
        columns = np.empty((length, len(slots)), np.int64)
        domains = self._encoding.event(relation)
        for (place, register), slot in slots.items():
            column, domain = arguments[place], domains[place]
            if register is None:
                columns[:, slot] = _as_floats(column, domain).view(np.int64)
                self._note_form(relation, slot, column, domain)
            else:
                columns[:, slot] = self._coded(column, domain, register)
        return columns

    def _note_form(
        self, relation: Relation, slot: int, column: Array, domain: Domain | None
    ) -> None:
        """Take note whether numbers that registers get are whole ones."""
        if domain is not None or column.dtype.kind == "f":
            return
        for number, register in enumerate(self._lane.registers):
            for source in register.sources:
                if source.carrier is not None:
                    bit = self._lane.fired[source.carrier]
                    is_own = bit.relation == relation and self._domains[number] is None
                    self._are_whole[number] |= is_own

    def _coded(self, column: Array, domain: Domain | None, register: int) -> Integers:
        """A column as codes of the domain of a register."""
        wanted = self._domains[register]
        assert wanted is not None
        if domain is wanted:
            return column
        if domain is None:
            return wanted.encode_numbers(column)
        known = self._translated.get((id(domain), register), np.empty(0, np.int64))
        if len(known) < len(domain):
            more = wanted.encode(domain.values[len(known) :])
            known = self._translated[id(domain), register] = np.concatenate([known, more])
        return known[column]

    def numbers(self) -> list[Floats] | None:
        """What the codes of registers stand for, for guards; None if nothing has changed."""
        sizes = sum(len(domain) for domain in self._domains if domain is not None)
        if not self._tabled or sizes == self._known:
            return None
        self._known = sizes
        return [_numbers_of(self._domains[number]) for number in self._tabled]

    # -- what registers hold ----------------------------------------------------------------

    def first_values(self, words: Words) -> Matrix:
        """The values of registers, given words in which named values may hold."""
        values = np.zeros((len(words), len(self._lane.registers)), np.int64)
        for number, register in enumerate(self._lane.registers):
            for bit, term in register.named:
                is_held = words & np.uint64(1 << bit) != 0
                values[is_held, number] = self._constant(number, term)
        return values

    def held(self, number: int, values: Array) -> Integers:
        """Values of a fluent as its register has them."""
        if self._domains[number] is not None:
            return values
        self._are_whole[number] |= values.dtype.kind != "f" and len(values) > 0
        return _as_floats(values, None).view(np.int64)

    def values(self, relation: Relation, held: Integers) -> Array:
        """What the registers of a fluent have held, as its values."""
        numbers = [n for n, each in enumerate(self._lane.registers) if each.relation == relation]
        if self._domains[numbers[0]] is not None:
            return held
        floats = held.view(np.float64)
        is_whole = any(self._are_whole[number] for number in numbers)
        return floats.astype(np.int64) if is_whole else floats


def _matrix(rows: Sequence[Sequence[int]], width: int) -> Matrix:
    return (
        np.array([[each % 2**64 for each in row] for row in rows], np.uint64)
        .astype(np.int64)
        .reshape(-1, width)
    )


def _as_floats(column: Array, domain: Domain | None) -> Floats:
    """Numbers as floats; what has a code and is no number is not one."""
    if domain is not None:
        return _numbers_of(domain)[column]
    if column.dtype.kind != "f" and not are_exact(column):
        raise OverflowFault("a value that a fluent takes is too large to compute with")
    # There is one zero.
    return np.ascontiguousarray(column, np.float64) + 0.0


def _numbers_of(domain: Domain | None) -> Floats:
    assert domain is not None
    floats = domain.floats()
    if floats is None:
        raise OverflowFault("a value that a fluent takes is too large to compute with")
    return floats
