"""A register: numbers for combinations of coded values, which never change."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Array, Integers
from cernis.kernels.hashing import Numbering
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import Finder

_HALF = 31
"""Bits for each of two numbers in one."""


_FEW = 16
"""Where there are so many times as many known numbers as new ones, these are sorted."""


class Register:
    """Numbers the combinations of codes that are entered; a single code is its own number.

    Of no columns there is one combination, 0.
    """

    def __init__(self, domains: list[Domain | None]) -> None:
        self.domains = domains
        self._numberings = [Numbering() for _ in domains[1:]]
        self._is_known = np.zeros(0 if domains else 1, np.bool_)
        self._finders: dict[tuple[int, ...], tuple[int, Integers, Finder]] = {}
        self.count = 0

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.domains)

    def enter(self, columns: list[Array], length: int) -> tuple[Integers, Integers]:
        """The number of each combination, and those numbers that were not known before."""
        numbers = self._numbered(columns, length, enter=True)
        top = int(numbers.max()) + 1 if len(numbers) else 0
        if top > len(self._is_known):
            more = np.zeros(max(top, 2 * len(self._is_known)) - len(self._is_known), np.bool_)
            self._is_known = np.concatenate([self._is_known, more])
        is_known = self._is_known[numbers]
        if is_known.all():
            return numbers, numbers[:0]
        new = self._noted(numbers[~is_known])
        self.count += len(new)
        return numbers, new

    def _noted(self, fresh: Integers) -> Integers:
        """Numbers that were not known, each once, in order: many are marked, few are sorted."""
        if len(fresh) * _FEW < len(self._is_known):
            new = np.unique(fresh)
            self._is_known[new] = True
            return new
        before = self._is_known.copy()
        self._is_known[fresh] = True
        return np.flatnonzero(self._is_known != before)

    def find(self, columns: list[Array], length: int) -> Integers:
        """The number of each combination; -1 for one that was never entered."""
        numbers = self._numbered(columns, length, enter=False)
        inside = (numbers >= 0) & (numbers < len(self._is_known))
        if not inside.all():
            numbers = np.where(inside, numbers, -1)
        known = self._is_known[numbers] & inside if len(self._is_known) else inside
        return np.where(known, numbers, -1)

    def columns(self, numbers: Integers) -> list[Array]:
        """The codes of combinations."""
        columns: list[Array] = []
        for numbering in reversed(self._numberings):
            both = numbering.keys[numbers]
            numbers, codes = both >> _HALF, both & ((1 << _HALF) - 1)
            columns.append(codes)
        return [numbers, *reversed(columns)] if self.domains else []

    def known(self) -> Integers:
        """The numbers of all combinations that were entered."""
        return np.flatnonzero(self._is_known)

    def matching(
        self, positions: tuple[int, ...], columns: list[Array], length: int
    ) -> tuple[Integers, Integers]:
        """Rows, and the combinations entered that have a row's codes at some positions."""
        cached = self._finders.get(positions)
        if cached is None or cached[0] != self.count:
            known = self.known()
            own = self.columns(known)
            finder = Finder([(own[at], self.domains[at]) for at in positions], len(known))
            cached = self._finders[positions] = self.count, known, finder
        _, known, finder = cached
        rows, found = finder.all(columns, length)
        return rows, known[found]

    def _numbered(self, columns: list[Array], length: int, enter: bool) -> Integers:
        if not columns:
            return np.zeros(length, np.int64)
        numbers = np.ascontiguousarray(columns[0])
        for numbering, column in zip(self._numberings, columns[1:], strict=True):
            keys = (numbers << _HALF) | column
            if enter:
                numbers = numbering.of(keys)
            else:
                numbers = np.where(numbers < 0, -1, numbering.find(keys))
        return numbers
