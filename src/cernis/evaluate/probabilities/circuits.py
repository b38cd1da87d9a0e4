"""Compiles formulas to circuits: each shape once, as a decision diagram.

A decision diagram tests one fact at a time. So the probability of its formula is computed with one
sum of two products for each node, whichever facts its initiations and breaks share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from cernis.errors import CernisError, UnsupportedError
from cernis.kernels.array_types import Integers
from cernis.kernels.circuit_values import (
    BREAKS,
    CLOSE,
    FACTS,
    HOLDS,
    INITIATES,
    NEXT,
    NOT_OWN,
    OPEN_NOT,
    OWN,
)

if TYPE_CHECKING:
    from oxidd.bdd import BDDFunction, BDDManager

Arrays: TypeAlias = tuple[Integers, Integers, Integers, Integers, Integers, Integers]
Formula: TypeAlias = tuple["BDDFunction", "BDDFunction", "BDDFunction | None"]

MOST_TESTS: Final = 50_000
"""A circuit may have this many tests."""

_ROOM: Final = 1 << 18
"""The number of nodes for diagrams under construction."""


class TooLarge(Exception):
    """A circuit grows beyond what it may have."""


@dataclass(frozen=True, slots=True)
class Circuit:
    """Tests, each after those that it uses, and which of them give the result.

    Values 0 and 1 are false and true, and value k is test k-2. `held` is the value for whether a
    pair holds at the next point if it holds now, and `fresh` if it does not.
    """

    variables: tuple[int, ...]
    lows: tuple[int, ...]
    highs: tuple[int, ...]
    held: int
    fresh: int


@dataclass(slots=True)
class Circuits:
    """The circuits of all shapes so far, in the order in which they were compiled."""

    ties: str
    most: int = MOST_TESTS
    _numbers: dict[bytes, int] = field(default_factory=dict)
    _circuits: list[Circuit] = field(default_factory=list)
    _paths: dict[int, list[Integers] | None] = field(default_factory=dict)
    _arrays: Arrays | None = None
    _manager: BDDManager | None = field(default=None, repr=False)

    def number(self, tokens: Integers, facts: int) -> int:
        """The number of a shape, whose circuit is compiled if it is new.

        Raises `TooLarge` if the circuit grows too large.
        """
        name = tokens.tobytes()
        known = self._numbers.get(name)
        if known is None:
            circuit = self._compiled(tokens.tolist(), facts)
            known = self._numbers[name] = len(self._circuits)
            self._circuits.append(circuit)
            self._arrays = None
        return known

    def _compiled(self, tokens: list[int], facts: int) -> Circuit:
        self._manager = _manager_of(facts, self._manager)
        try:
            return compiled(tokens, self._manager, self.ties, self.most)
        except TooLarge:
            # Nodes of earlier shapes may have taken the room, so it is tried again without them.
            self._manager = _manager_of(facts, None)
            return compiled(tokens, self._manager, self.ties, self.most)

    def __len__(self) -> int:
        return len(self._circuits)

    def __reduce__(self) -> tuple[Any, ...]:
        """Compiled circuits can be pickled; diagrams under construction belong to a process."""
        return Circuits, (self.ties, self.most, self._numbers, self._circuits)

    def paths(self, number: int, most: int) -> list[Integers] | None:
        """The conjunctions of literals under which a shape without breaks is true, if few.

        Fact k of the shape is the literal 2 * k, or one more where it is false.
        """
        if number not in self._paths:
            self._paths[number] = _paths_of(self._circuits[number], most)
        return self._paths[number]

    @property
    def largest(self) -> int:
        """How many tests the largest circuit has."""
        return max((len(circuit.variables) for circuit in self._circuits), default=0)

    @property
    def arrays(self) -> Arrays:
        """All circuits as arrays for the kernel: tests, variables, lows, highs, held, fresh."""
        if self._arrays is None:
            sizes = [len(circuit.variables) for circuit in self._circuits]
            columns = [
                [number for circuit in self._circuits for number in getattr(circuit, name)]
                for name in ("variables", "lows", "highs")
            ]
            ends = [[getattr(c, name) for c in self._circuits] for name in ("held", "fresh")]
            every = ([0, *np.cumsum(sizes)], *columns, *ends)
            self._arrays = tuple(np.array(column, np.int64) for column in every)  # type: ignore[assignment]
        assert self._arrays is not None
        return self._arrays


def _paths_of(circuit: Circuit, most: int) -> list[Integers] | None:
    """The conjunctions of literals under which a circuit gives 1; None if there are too many."""
    paths: list[Integers] = []
    waiting: list[tuple[int, tuple[int, ...]]] = [(circuit.fresh, ())]
    while waiting:
        value, path = waiting.pop()
        if value > 1:
            literal = 2 * circuit.variables[value - 2]
            waiting.append((circuit.lows[value - 2], (*path, literal + 1)))
            waiting.append((circuit.highs[value - 2], (*path, literal)))
        elif value == 1:
            paths.append(np.array(path, np.int64))
        if len(paths) + len(waiting) > most:
            return None
    return paths


def compiled(tokens: list[int], manager: BDDManager, ties: str, most: int) -> Circuit:
    """The circuit of a shape; raises `TooLarge` if it has more tests than it may have.

    With ties on `initiation`, a pair holds next if it is initiated, or holds and is not broken;
    with ties on `break`, if it holds or is initiated, and is not broken.
    """
    try:
        held, fresh = (
            _next(*_parsed(tokens, manager, holds), holds, ties) for holds in (True, False)
        )
    except MemoryError as error:
        raise TooLarge from error
    return _flattened(held, fresh, most)


def _manager_of(facts: int, manager: BDDManager | None) -> BDDManager:
    """A manager of diagrams over at least so many facts."""
    if manager is None:
        try:
            from oxidd.bdd import BDDManager
        except ImportError as error:
            raise CernisError(
                "uncertain input needs the package oxidd: pip install 'cernis[uncertain]'"
            ) from error
        manager = BDDManager(_ROOM, _ROOM, 1)
    if manager.num_vars() < facts:
        manager.add_vars(facts - manager.num_vars())
    return manager


def _next(
    initiated: BDDFunction, broken: BDDFunction, holding: BDDFunction | None,
    holds: bool, ties: str,
) -> BDDFunction:  # fmt: skip
    """The formula to hold next; where `holding` is a formula, it says whether the pair holds."""
    if holding is not None:
        if ties == "break":
            return (holding | initiated) & ~broken
        return initiated | (holding & ~broken)
    if ties == "break":
        return ~broken if holds else initiated & ~broken
    return initiated | ~broken if holds else initiated


def _parsed(tokens: list[int], manager: BDDManager, holds: bool) -> Formula:
    """The formulas for the pair's initiation and break, and for whether it holds, if rows say so.

    Else `holds` says whether it holds now.
    """
    none, every = manager.false(), manager.true()
    rows_by_kind: dict[int, list[BDDFunction]] = {INITIATES: [], BREAKS: [], HOLDS: []}
    kind, row = INITIATES, none
    value_of_itself = {OWN: holds, NOT_OWN: not holds}
    # For each open composite: the row outside, its alternatives so far, and whether it is negated.
    stack: list[tuple[BDDFunction, list[BDDFunction], bool]] = []
    for token in tokens:
        if token >= FACTS:
            variable = (token - FACTS) >> 1
            row = row & (manager.not_var(variable) if token & 1 else manager.var(variable))
        elif token in rows_by_kind:
            rows_by_kind[kind].append(row)
            kind, row = token, every
        elif token in value_of_itself:
            row = row if value_of_itself[token] else none
        elif token == NEXT:
            stack[-1][1].append(row)
            row = every
        elif token == CLOSE:
            outside, alternatives, negated = stack.pop()
            value = _any([*alternatives, row], none)
            row = outside & (~value if negated else value)
        else:
            stack.append((row, [], token == OPEN_NOT))
            row = every
    rows_by_kind[kind].append(row)
    initiated, broken = (_any(rows_by_kind[kind], none) for kind in (INITIATES, BREAKS))
    return initiated, broken, _any(rows_by_kind[HOLDS], none) if rows_by_kind[HOLDS] else None


def _any(rows: list[BDDFunction], none: BDDFunction) -> BDDFunction:
    """The disjunction of rows, joined in pairs; one by one, each step would visit all before."""
    while len(rows) > 1:
        pairs = zip(rows[::2], [*rows[1::2], none], strict=False)
        rows = [one | other for one, other in pairs]
    return rows[0] if rows else none


def _flattened(held: BDDFunction, fresh: BDDFunction, most: int) -> Circuit:
    numbers: dict[BDDFunction, int] = {}
    variables: list[int] = []
    lows: list[int] = []
    highs: list[int] = []
    for node, low, high in _bottom_up((held, fresh), numbers):
        if len(variables) >= most:
            raise TooLarge
        numbers[node] = len(variables) + 2
        variable = node.node_var()
        assert variable is not None
        variables.append(variable)
        lows.append(numbers[low])
        highs.append(numbers[high])
    return Circuit(tuple(variables), tuple(lows), tuple(highs), numbers[held], numbers[fresh])


def _bottom_up(
    roots: tuple[BDDFunction, ...], numbers: dict[BDDFunction, int]
) -> Iterator[tuple[BDDFunction, BDDFunction, BDDFunction]]:
    """Each node with its two successors, after both; nodes without are numbered here."""
    waiting = list(roots)
    while waiting:
        node = waiting[-1]
        if node in numbers:
            waiting.pop()
            continue
        branches = node.cofactors()
        if branches is None:
            numbers[node] = int(node.valid())
            continue
        high, low = branches
        missing = [branch for branch in (high, low) if branch not in numbers]
        if missing:
            waiting += missing
        else:
            yield node, low, high
            waiting.pop()


def too_large(name: str, facts: int, most: int = MOST_TESTS) -> UnsupportedError:
    """The error that names the rules whose circuit grows too large."""
    return UnsupportedError(
        f"{name}: at one point its rules rest on {facts} uncertain records or fluents, and the "
        f"circuit for their probability has more than {most:,} tests; let the rules join fewer "
        "records, or make some of them certain"
    )
