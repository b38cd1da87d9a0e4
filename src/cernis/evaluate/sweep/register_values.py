"""The registers of a lane: how values are held in eight bytes, and what records carry for them.

A value that has a code is held by its code. Numbers of one form are held as they are, whole ones or
floats. What guards compute with are floats in any case, and whole numbers must be exact as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from cernis.check.model import Event, Relation
from cernis.errors import CernisError
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

_TOO_LARGE = "a value that a fluent takes is too large to compute with as the records are met"
_NO_NUMBER = int(np.array(np.nan).view(np.int64))
_NUMBERS, _AS_IT_IS = -1, -2
_Slot = tuple[int, int]
"""An argument of a record, and the register whose code it is to be; or that it is to be a number to
compute with, or a number as it is."""


class InexactValueError(CernisError):
    """A guard would compute with a whole number that is not exact as a float."""


class RegisterValues:
    """The values of a lane's registers, for one run."""

    def __init__(self, lane: Lane, encoding: ValueEncoding) -> None:
        self._lane, self._encoding = lane, encoding
        self._domains = [encoding.value(each.relation) for each in lane.registers]
        self._are_whole = [
            any(isinstance(term, Number) and isinstance(term.value, int) for _, term in each.named)
            for each in lane.registers
        ]
        """Of registers that hold numbers: are they whole ones?"""
        self._slots: dict[Relation, dict[_Slot, int]] = {}
        self._translated: dict[tuple[int, int], Integers] = {}
        self._tabled: list[int] = []
        """The registers of codes whose numbers guards ask for."""
        self._numeric = [number for number, domain in enumerate(self._domains) if domain is None]
        self._known: object = None
        guards, constants = self._guard_rows()
        self._computes = any(row[0] == codes.LOAD_NUMBER for row in guards)
        """Do guards compute with registers of numbers?"""
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
        """The rows of all guards, and constants.

        First among these are where tables of numbers begin, and whether registers of numbers have
        whole ones.
        """
        tabled = [number for number, domain in enumerate(self._domains) if domain is not None]
        self._tabled = tabled if self._lane.guards else []
        constants: list[float] = [0.0] * (len(self._tabled) + len(self._numeric))
        loads = {number: (codes.LOAD_CODE, codes.ROOM + at) for at, number in enumerate(tabled)}
        first = codes.ROOM + len(self._tabled)
        loads |= {
            number: (codes.LOAD_NUMBER, first + at) for at, number in enumerate(self._numeric)
        }
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
        if register is None:
            kind = _NUMBERS
        else:
            kind = _AS_IT_IS if self._domains[register] is None else register
        slots = self._slots.setdefault(event.relation, {})
        return slots.setdefault((place, kind), len(slots))

    def _constant(self, number: int, term: Term) -> int:
        """A constant as a register has it."""
        domain = self._domains[number]
        if domain is not None:
            return int(constant_column(term, domain).data[0])
        if not isinstance(term, Number):
            return _NO_NUMBER
        if isinstance(term.value, int):
            return term.value
        return int(np.array(term.value).view(np.int64))

    # -- what records carry -----------------------------------------------------------------

    def payload(self, relation: Relation, arguments: list[Array], length: int) -> Matrix:
        """The payloads of the records of an event."""
        slots = self._slots.get(relation, {})
        columns = np.empty((length, len(slots)), np.int64)
        domains = self._encoding.event(relation)
        for (place, kind), slot in slots.items():
            column, domain = arguments[place], domains[place]
            if kind == _NUMBERS:
                columns[:, slot] = _as_floats(column, domain).view(np.int64)
            elif kind == _AS_IT_IS:
                columns[:, slot] = self._as_it_is(relation, column, domain)
            else:
                columns[:, slot] = self._coded(column, domain, kind)
        return columns

    def can_hold(self, relation: Relation, arguments: list[Array]) -> bool:
        """Can registers hold what records of an event carry, and guards compute with it?"""
        try:
            self.payload(relation, arguments, len(arguments[0]) if arguments else 0)
        except InexactValueError:
            return False
        return True

    def _as_it_is(self, relation: Relation, column: Array, domain: Domain | None) -> Integers:
        """Numbers in eight bytes; it is noted if registers get whole ones from these records."""
        if domain is not None or column.dtype.kind == "f":
            return _as_floats(column, domain).view(np.int64)
        if self._computes and not are_exact(column):
            raise InexactValueError(_TOO_LARGE)
        for number in self._numeric:
            carriers = [source.carrier for source in self._lane.registers[number].sources]
            bits = [self._lane.fired[carrier] for carrier in carriers if carrier is not None]
            self._are_whole[number] |= any(bit.relation == relation for bit in bits)
        return column

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

    def numbers(self) -> tuple[list[Floats], list[float]] | None:
        """What guards need: numbers of codes by register, and which registers have whole numbers.

        None if nothing has changed.
        """
        sizes = [len(domain) for domain in self._domains if domain is not None]
        known = (sizes, list(self._are_whole))
        if not self._lane.guards or known == self._known:
            return None
        self._known = known
        tables = [_numbers_of(self._domains[number]) for number in self._tabled]
        return tables, [float(self._are_whole[number]) for number in self._numeric]

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
        if values.dtype.kind != "f":
            self._are_whole[number] |= len(values) > 0
            return values
        return _as_floats(values, None).view(np.int64)

    def values(self, relation: Relation, held: Integers) -> Array:
        """What the registers of a fluent have held, as its values."""
        numbers = [n for n, each in enumerate(self._lane.registers) if each.relation == relation]
        if self._domains[numbers[0]] is not None:
            return held
        is_whole = any(self._are_whole[number] for number in numbers)
        return held if is_whole else held.view(np.float64)


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
        raise InexactValueError(_TOO_LARGE)
    # There is one zero.
    return np.ascontiguousarray(column, np.float64) + 0.0


def _numbers_of(domain: Domain | None) -> Floats:
    assert domain is not None
    floats = domain.floats()
    if floats is None:
        raise InexactValueError(_TOO_LARGE)
    return floats
