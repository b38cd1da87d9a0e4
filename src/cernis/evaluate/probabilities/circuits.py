"""Formulas as circuits: one shape after the other compiled to a decision diagram, once.

A decision diagram tests one fact at a time, so the probability of its formula is one sum of two
products a node, whatever facts its initiations and breaks share.
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
    INITIATES,
    NEXT,
    NOT_OWN,
    OPEN_NOT,
    OWN,
)

if TYPE_CHECKING:
    from oxidd.bdd import BDDFunction, BDDManager

Arrays: TypeAlias = tuple[Integers, Integers, Integers, Integers, Integers, Integers]
Formula: TypeAlias = tuple["BDDFunction", "BDDFunction"]

MOST_TESTS: Final = 50_000
"""A circuit may have so many tests."""

_ROOM: Final = 1 << 18
"""Nodes of diagrams under construction."""


class TooLarge(Exception):
    """A circuit grows beyond what it may have."""


@dataclass(frozen=True, slots=True)
class Circuit:
    """Tests in an order in which each comes after those it uses, and what they are for.

    Values 0 and 1 are false and true, value k is test k-2. `held` is the value that says whether a
    pair holds next if it does now, `fresh` if it does not.
    """

    variables: tuple[int, ...]
    lows: tuple[int, ...]
    highs: tuple[int, ...]
    held: int
    fresh: int


@dataclass(slots=True)
class Circuits:
    """The circuits of all shapes met so far, in the order in which they were met."""

    ties: str
    most: int = MOST_TESTS
    _numbers: dict[bytes, int] = field(default_factory=dict)
    _circuits: list[Circuit] = field(default_factory=list)
    _arrays: Arrays | None = None
    _manager: BDDManager | None = field(default=None, repr=False)

    def number(self, tokens: Integers, facts: int) -> int:
        """The number of a shape, whose circuit is compiled when it is first asked for.

        A circuit that grows too large is a TooLarge.
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
        self._manager = _managing(facts, self._manager)
        try:
            return compiled(tokens, self._manager, self.ties, self.most)
        except TooLarge:
            # What is left of other shapes may have taken the room.
            self._manager = _managing(facts, None)
            return compiled(tokens, self._manager, self.ties, self.most)

    def __len__(self) -> int:
        return len(self._circuits)

    def __reduce__(self) -> tuple[Any, ...]:
        """What is compiled can be kept; diagrams under construction belong to a process."""
        return Circuits, (self.ties, self.most, self._numbers, self._circuits)

    @property
    def largest(self) -> int:
        """How many tests the largest circuit has."""
        return max((len(circuit.variables) for circuit in self._circuits), default=0)

    @property
    def arrays(self) -> Arrays:
        """All circuits as the kernel wants them: tests, variables, lows, highs, held, fresh."""
        if self._arrays is None:
            sizes = [len(circuit.variables) for circuit in self._circuits]
            columns = [
                [number for circuit in self._circuits for number in getattr(circuit, name)]
                for name in ("variables", "lows", "highs")
            ]
            ends = [[getattr(c, name) for c in self._circuits] for name in ("held", "fresh")]
            every = ([0, *np.cumsum(sizes)], *columns, *ends)
            self._arrays = tuple(np.array(own, np.int64) for own in every)  # type: ignore[assignment]
        assert self._arrays is not None
        return self._arrays


def compiled(tokens: list[int], manager: BDDManager, ties: str, most: int) -> Circuit:
    """The circuit of a shape; a TooLarge if it has more tests than it may have.

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


def _managing(facts: int, manager: BDDManager | None) -> BDDManager:
    """The manager of diagrams over so many facts or more."""
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


def _next(initiated: BDDFunction, broken: BDDFunction, holds: bool, ties: str) -> BDDFunction:
    if ties == "break":
        return ~broken if holds else initiated & ~broken
    return initiated | ~broken if holds else initiated


def _parsed(tokens: list[int], manager: BDDManager, holds: bool) -> Formula:
    """When is the pair initiated, and when broken? `holds` says if it holds itself."""
    none, every = manager.false(), manager.true()
    found: dict[int, list[BDDFunction]] = {INITIATES: [], BREAKS: []}
    kind, row = INITIATES, none
    own = {OWN: holds, NOT_OWN: not holds}
    # For each composite that is open: the row outside, its alternatives so far, is it negated?
    stack: list[tuple[BDDFunction, list[BDDFunction], bool]] = []
    for token in tokens:
        if token >= FACTS:
            variable = (token - FACTS) >> 1
            row = row & (manager.not_var(variable) if token & 1 else manager.var(variable))
        elif token in found:
            found[kind].append(row)
            kind, row = token, every
        elif token in own:
            row = row if own[token] else none
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
    found[kind].append(row)
    return _any(found[INITIATES], none), _any(found[BREAKS], none)


def _any(rows: list[BDDFunction], none: BDDFunction) -> BDDFunction:
    """The disjunction of rows, two by two: one by one, each would go through all before it."""
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
    """Each node with its two successors, after these; those without are numbered here."""
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


def too_large(what: str, facts: int, most: int = MOST_TESTS) -> UnsupportedError:
    """The error that names the rules whose circuit grows too large."""
    return UnsupportedError(
        f"{what}: at one point its rules rest on {facts} uncertain records or fluents, and the "
        f"circuit for their probability has more than {most:,} tests; let the rules join fewer "
        "records, or make some of them certain"
    )
