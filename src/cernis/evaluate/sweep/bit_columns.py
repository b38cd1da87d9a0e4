"""From bits and numbers of keys back to the arguments and values of relations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from cernis.check.model import Relation
from cernis.kernels.array_types import Array, Integers
from cernis.operators.context.coded_columns import constant_column
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.plan.sweep.lanes import (
    MOST_BITS,
    OPEN,
    FiredBit,
    Lane,
    ListOutput,
    ListProgram,
    StateBit,
    StateKind,
    bits_of,
)
from cernis.syntax.tree import Term
from cernis.tables.domains import Domain, numbers


class RelationKeys(Protocol):
    """Says which key the arguments of a relation have, and which arguments a key."""

    def numbers(self, relation: Relation, arguments: list[Array], length: int) -> Integers:
        """The numbers of the keys of rows."""

    def columns(self, numbers: Integers, relation: Relation) -> list[Array]:
        """The values of keys, in the order in which a relation has them among its arguments."""

    def members(
        self, relation: Relation, numbers: Integers
    ) -> tuple[Integers, Mapping[int, Array]] | None:
        """The members of keys, where a relation is about them: place of the key, and arguments."""


class BitColumns:
    """The columns of one relation, some of whose arguments are the key; the others go by bit."""

    def __init__(
        self, relation: Relation, places: list[int],
        bits: Iterable[StateBit | FiredBit | ListOutput], keys: RelationKeys,
        encoding: ValueEncoding,
    ) -> None:  # fmt: skip
        self.relation = relation
        self.numbers = places
        self.mask = sum(1 << place for place in places)
        """The bits that are about the relation."""
        self._keys = keys
        self._is_own = np.zeros(MOST_BITS, np.bool_)
        self._is_own[places] = True
        self._is_run = max(places) - min(places) + 1 == len(places)
        self._bounds = np.array([min(places), max(places) + 1])
        known = list(bits)
        self.domains = encoding.arguments(relation)
        self._constants = [
            None if known[0].arguments[place] is None
            else _by_bit(places, [bit.arguments[place] for bit in known], domain)
            for place, domain in enumerate(self.domains)
        ]  # fmt: skip
        self.value_domain: Domain | None = None
        self._values: Array | None = None
        self.open_bits = [place for place, bit in zip(places, known, strict=True)
                          if bit.value == OPEN]  # fmt: skip
        """Bits of values that no bit stands for: they are told apart."""
        if known[0].value is not None:
            self.value_domain = encoding.value(relation)
            named = [(place, bit.value) for place, bit in zip(places, known, strict=True)
                     if bit.value != OPEN]  # fmt: skip
            numbers, terms = [place for place, _ in named], [term for _, term in named]
            self._values = _by_bit(numbers, terms, self.value_domain)

    def rows_among(self, bits: Integers) -> slice | Integers:
        """Which rows are about the relation, where rows are sorted by bit."""
        if self._is_run:
            return slice(*bits.searchsorted(self._bounds).tolist())
        return np.flatnonzero(self._is_own[bits])

    def arguments(self, bits: Integers, keys: Integers) -> list[Array]:
        """The arguments of the relation, for rows of a bit and the number of a key each."""
        of_key = iter(self._keys.columns(keys, self.relation))
        return [next(of_key) if by is None else by[bits] for by in self._constants]

    def instances(self, bits: Integers, keys: Integers) -> tuple[slice | Integers, list[Array]]:
        """The arguments of all instances that rows are about, and which row each belongs to.

        A row of a key is about all members of the key, where the relation is about members.
        """
        members = self._keys.members(self.relation, keys)
        if members is None:
            return slice(None), self.arguments(bits, keys)
        rows, columns = members
        bits, keys = bits[rows], keys[rows]
        of_key = iter(self._keys.columns(keys, self.relation))
        return rows, [
            columns[place] if place in columns else next(of_key) if by is None else by[bits]
            for place, by in enumerate(self._constants)
        ]  # fmt: skip

    def values(self, bits: Integers) -> Array:
        """The values of the fluent, for rows of a bit each."""
        assert self._values is not None
        return self._values[bits]

    def values_of_codes(self, codes: Integers, encoding: ValueEncoding) -> Array:
        """The values of the fluent, given by codes even where they are numbers."""
        if self.value_domain is not None:
            return codes
        return numbers(encoding.domains.value_domain(self.relation).decode(codes))

    def rows_of(
        self, number: int, arguments: list[Array], values: Array
    ) -> tuple[Integers, Integers]:
        """The rows that are about a bit, given arguments and values; and the numbers of keys."""
        assert self._values is not None
        if number in self.open_bits:
            named = [place for place in self.numbers if place not in self.open_bits]
            is_own = ~np.isin(values, self._values[named])
        else:
            is_own = values == self._values[number]
        for column, by in zip(arguments, self._constants, strict=True):
            if by is not None:
                is_own &= column == by[number]
        rows = np.flatnonzero(is_own)
        columns = [column[rows] for column in arguments]
        return rows, self._keys.numbers(self.relation, columns, len(rows))


def _by_bit(places: list[int], terms: list[Term | None], domain: Domain | None) -> Array:
    """A table of constants, by bit."""
    constants = [constant_column(term, domain).data[0] for term in terms if term is not None]
    table = np.zeros(MOST_BITS, np.array(constants).dtype if constants else np.int64)
    table[places] = constants
    return table


def fluent_columns(lane: Lane, keys: RelationKeys, encoding: ValueEncoding) -> list[BitColumns]:
    """The columns of the fluents that a lane defines."""
    return _columns(lane.state, bits_of(lane.reported), keys, encoding)


def copied_columns(lane: Lane, keys: RelationKeys, encoding: ValueEncoding) -> list[BitColumns]:
    """The columns of the fluents of other lanes of which a lane has copies."""
    columns = []
    for copy, relation in lane.copies:
        places = [number for number, bit in enumerate(lane.state)
                  if bit.kind is StateKind.PAIR and bit.relation == copy]  # fmt: skip
        bits = [replace(lane.state[place], relation=relation) for place in places]
        columns.append(BitColumns(relation, places, bits, keys, encoding))
    return columns


def event_columns(lane: Lane, keys: RelationKeys, encoding: ValueEncoding) -> list[BitColumns]:
    """The columns of the events that a lane derives, but for those that other lanes ask for."""
    sent = lane.sent_gates.values()
    numbers = (number for number in bits_of(lane.reported_signals) if number not in sent)
    return _columns(lane.fired, numbers, keys, encoding)


def list_columns(
    program: ListProgram, keys: RelationKeys, encoding: ValueEncoding, with_input: bool = False
) -> list[BitColumns]:
    """The columns of the fluents that a program over lists defines, or also of its input."""
    outputs = program.outputs
    reported = (number for number, each in enumerate(outputs) if with_input or not each.is_input)
    return _columns(outputs, reported, keys, encoding)


def _columns(
    bits: Sequence[StateBit | FiredBit | ListOutput], reported: Iterable[int], keys: RelationKeys,
    encoding: ValueEncoding,
) -> list[BitColumns]:  # fmt: skip
    by_relation: dict[Relation, list[int]] = {}
    for number in reported:
        relation = bits[number].relation
        assert relation is not None
        by_relation.setdefault(relation, []).append(number)
    return [
        BitColumns(relation, places, [bits[n] for n in places], keys, encoding)
        for relation, places in by_relation.items()
    ]
