"""Delayed effects: the kernel, and the definition written out point by point.

The definition knows three rules. An initiation of v that counts has its effect `delay` later;
not if v is broken strictly in between; and not if v is postponable and an initiation of it that
counts lies strictly in between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cernis.kernels.delays import ENDS, NO_EFFECT, hold_delayed
from cernis.kernels.inertia import INFINITY

from .drawn import actions, bases, carried, integers, rows

VALUES = 3
"""Values that may have effects; one more has none and is not in the tables of effects."""

Rows = list[tuple[int, ...]]


@dataclass
class Given:
    """The arguments of the kernel, as lists."""

    points: Rows
    """Instance, time and action."""
    before: Rows
    """Instance, value, start and last initiation of what is carried."""
    delays: list[list[int]]
    targets: list[int]
    may: list[list[int]]
    postponable: list[int]
    query: int
    tick: int

    def known(self) -> list[int]:
        """The instances there are."""
        return sorted({row[0] for row in (*self.points, *self.before)})

    def by_kernel(self) -> tuple[Rows, Rows, Rows, int]:
        size = (VALUES, len(self.known()))
        columns = integers([n for row in self.points for n in row]).reshape(-1, 3).T
        held = integers([n for row in self.before for n in row]).reshape(-1, 4).T
        found: Any = hold_delayed(
            integers(self.known()), *(c.copy() for c in columns), *(c.copy() for c in held),
            self._matrix(self.delays, size), integers(self.targets), self._matrix(self.may, size),
            integers(self.postponable), self.query, self.tick,
        )  # fmt: skip
        lists = [column.tolist() for column in found[:10]]
        parts = (lists[:4], lists[4:7], lists[7:10])
        intervals, begun, effects = (list(zip(*part, strict=True)) for part in parts)
        return intervals, begun, effects, found[10]

    def _matrix(self, table: list[list[int]], size: tuple[int, int]) -> Any:
        """A row a value and a column an instance; `table` has room for all instances drawn."""
        columns = [instance + 1 for instance in self.known()]
        return np.array(table, np.int64)[:, columns].reshape(size).copy()

    def by_definition(self) -> tuple[Rows, Rows, Rows, int]:
        each = [_Instance(self, instance) for instance in self.known()]
        for one in each:
            one.walk()
        return (
            [row for one in each for row in one.intervals],
            [row for one in each for row in one.begun],
            [row for one in each for row in one.effects],
            sum(one.conflicts for one in each),
        )


@dataclass
class _Instance:
    """One instance, walked through in the order of time."""

    given: Given
    instance: int
    intervals: Rows = field(default_factory=list)
    begun: Rows = field(default_factory=list)
    effects: Rows = field(default_factory=list)
    conflicts: int = 0
    counted: list[tuple[int, int]] = field(default_factory=list)
    """Value and time of each initiation that counts."""
    breaks: list[tuple[int, int]] = field(default_factory=list)
    """Value and time of each break of a value that was initiated."""
    holding: tuple[int, int] | None = None
    """The value that holds, and since when."""

    def walk(self) -> None:
        own = [row[1:] for row in self.given.points if row[0] == self.instance]
        for _, value, start, since in (r for r in self.given.before if r[0] == self.instance):
            self.holding = (value, start)
            self._count(value, since)
        todo = {time for time, _ in own} | self._due()
        done: set[int] = set()
        while any(time <= self.given.query for time in todo - done):
            time = min(todo - done)
            done.add(time)
            self._at(time, [action for when, action in own if when == time])
            todo |= self._due()
        if self.holding is not None:
            self._held(INFINITY)

    def _held(self, end: int) -> None:
        assert self.holding is not None
        self.intervals.append((self.instance, *self.holding, end))
        self.holding = None

    def _count(self, value: int, time: int) -> None:
        self.counted.append((value, time))
        if value < VALUES and self.given.postponable[value]:
            self.begun.append((self.instance, value, time))

    def _delay(self, value: int) -> int:
        return self.given.delays[value][self.instance + 1] if value < VALUES else NO_EFFECT

    def _due(self) -> set[int]:
        """The points at which some initiation may have its effect."""
        return {time + self._delay(v) for v, time in self.counted if self._delay(v) != NO_EFFECT}

    def _effects_at(self, point: int) -> set[int]:
        """The values whose effect takes place at the point."""
        found = set()
        for value, time in self.counted:
            if self._delay(value) == NO_EFFECT or time + self._delay(value) != point:
                continue
            between = [at for own, at in self.breaks if own == value and time < at < point]
            again = [at for own, at in self.counted if own == value and time < at < point]
            if not between and not (again and self.given.postponable[value]):
                found.add(value)
        return found

    def _at(self, point: int, happening: list[int]) -> None:
        begun = {action >> 1 for action in happening if action & 1}
        ended = {action >> 1 for action in happening if not action & 1}
        for value in self._effects_at(point):
            target = self.given.targets[value]
            if target == ENDS:
                self.effects.append((self.instance, value << 1, point))
                ended.add(value)
            else:
                self.effects.append((self.instance, (target << 1) + 1, point))
                allowed = self.given.may[target][self.instance + 1]
                (begun if allowed else ended).add(target if allowed else -1)
        self.conflicts += len(begun) > 1

        def is_broken(value: int) -> bool:
            return bool(ended & {value, -1} or begun - {value})

        self.breaks += [(value, point) for value in range(VALUES + 1) if is_broken(value)]
        if self.holding is not None and is_broken(self.holding[0]):
            self._held(point + self.given.tick)
        for value in begun:
            if not is_broken(value):
                self._count(value, point)
                self.holding = self.holding or (value, point + self.given.tick)


@st.composite
def inputs(draw: st.DrawFn) -> Given:
    base, tick = draw(bases()), draw(st.sampled_from([1, 1, 40]))
    points = draw(rows(base, actions(VALUES + 1)))
    before = draw(carried(base, VALUES + 1, one_each=True))
    since = [draw(st.integers(start - 1, base - 1)) for start in before[2].tolist()]
    one_each = st.lists(st.sampled_from([NO_EFFECT, 1, 2, 3, 5, 8]), min_size=7, max_size=7)
    flags = st.lists(st.sampled_from([1, 1, 1, 0]), min_size=7, max_size=7)
    targets = [
        draw(st.sampled_from([ENDS, *(other for other in range(VALUES) if other != value)]))
        for value in range(VALUES)
    ]
    return Given(
        list(zip(*(column.tolist() for column in points), strict=True)),
        list(zip(*(column.tolist() for column in before), since, strict=True)),
        draw(st.lists(one_each, min_size=VALUES, max_size=VALUES)), targets,
        draw(st.lists(flags, min_size=VALUES, max_size=VALUES)),
        draw(st.lists(st.integers(0, 1), min_size=VALUES, max_size=VALUES)),
        base + draw(st.integers(12, 30)), tick,
    )  # fmt: skip


@given(inputs())
def test_hold_delayed_is_the_definition(given_input: Given) -> None:
    assert given_input.by_kernel() == given_input.by_definition()


def test_nothing_gives_nothing() -> None:
    none = Given(
        [], [], [[1] * 7] * VALUES, [ENDS] * VALUES, [[1] * 7] * VALUES, [0] * VALUES, 9, 1
    )
    assert none.by_kernel() == none.by_definition() == ([], [], [], 0)


def test_effects_that_chain_outnumber_the_actions() -> None:
    """Two values that begin each other: more effects than there is room for at first."""
    loop = Given(
        [(0, 1, 1)], [], [[2] * 7, [3] * 7, [1] * 7], [1, 0, ENDS], [[1] * 7] * VALUES, [0, 1, 0],
        300, 1,
    )  # fmt: skip
    found = loop.by_kernel()
    assert found == loop.by_definition()
    assert len(found[2]) > 100
