"""Delayed effects: the kernel, and the definition written out point by point.

The definition knows three rules. An initiation of v has its effect `delay` later, whether or not
the tie rule lets it count for what holds; not if v is broken strictly in between; and not if v is
postponable and an initiation of it lies strictly in between, or, for some, if rules initiate it at
the very point. What is initiated at the quiet point has no effect. By the tie rule `break` an
initiation counts for what holds unless its value is broken at the same point; by the rule
`initiation` all do.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cernis.kernels.inertia.delays import Effects, hold_delayed
from cernis.kernels.inertia.plain_inertia import INFINITY
from cernis.kernels.inertia.points import ALL, NEVER, NO_ACTION, NO_EFFECT, NO_POINT, UNTIL_DUE
from tests.kernels.drawn import actions, bases, carried, integers, rows

VALUES = 3
"""Values that may have effects; one more has none and is not in the tables of effects."""

ORDER = (2, 0, 1)
"""The values by their columns in the tables of effects."""

Rows = list[tuple[int, ...]]
Outcome = tuple[Rows, Rows, Rows, int]
"""Intervals, initiations that effects count from, effects; each sorted; and conflicts."""


@dataclass
class Given:
    """The arguments of the kernel, as lists."""

    points: Rows
    """Instance, time and action."""
    before: Rows
    """Instance, value, start and initiation of what is carried; without start, it does not hold."""
    delays: list[list[int]]
    actions: list[list[int]]
    """What the effects of each value do, one or several."""
    may: list[list[int]]
    postponable: list[int]
    query: int
    tick: int
    ties: str = "break"
    quiet: int = NO_POINT

    def known(self) -> list[int]:
        """The instances there are."""
        return sorted({row[0] for row in (*self.points, *self.before)})

    def by_kernel(self) -> Outcome:
        columns = integers([n for row in self.points for n in row]).reshape(-1, 3).T
        held = integers([n for row in self.before for n in row]).reshape(-1, 4).T
        found = hold_delayed(
            integers(self.known()), *(c.copy() for c in columns), *(c.copy() for c in held),
            self._effects(), self.query, self.tick, self.ties,
        )  # fmt: skip
        lists = [column.tolist() for column in found[:11]]
        parts = (lists[:4], lists[4:8], lists[8:11])
        intervals, begun, effects = (sorted(zip(*part, strict=True)) for part in parts)
        return intervals, begun, effects, found[11]

    def _effects(self) -> Effects:
        """A row an instance, or one for all if they are equal; a column a value, in reverse."""
        each = self.known()
        delays = [[NO_EFFECT, *(self.delays[v][i + 1] for v in ORDER)] for i in each]
        told, done = [], []
        for i, own in zip(each, delays, strict=True):
            told.append([n for layer in range(2) for n in self._layer(layer, own)])
            done.append([
                ALL if n & 1 and not self.may[n >> 1][i + 1] else n for n in told[-1]
            ])  # fmt: skip
        width = 1 + VALUES
        shapes = ((len(each), width), (len(each), 2 * width), (len(each), 2 * width))
        tables = [
            np.array(own, np.int64).reshape(shape)
            for own, shape in zip((delays, told, done), shapes, strict=True)
        ]
        if (tables[1][:, width:] == NO_ACTION).all():
            tables[1:] = [own[:, :width].copy() for own in tables[1:]]
        if all((own == own[:1]).all() for own in tables):
            tables = [own[:1] for own in tables]
        slots = integers([*(1 + ORDER.index(v) for v in range(VALUES)), 0])
        postponable = integers([0, *(self.postponable[v] for v in ORDER)])
        return Effects(slots, *tables, postponable, self.quiet)

    def _layer(self, layer: int, delays: list[int]) -> list[int]:
        """The effects of all slots that are the first, or the second, of their value."""
        found = [NO_ACTION]
        for value, delay in zip(ORDER, delays[1:], strict=True):
            there = delay != NO_EFFECT and layer < len(self.actions[value])
            found.append(self.actions[value][layer] if there else NO_ACTION)
        return found

    def by_definition(self) -> Outcome:
        each = [_Instance(self, instance) for instance in self.known()]
        for one in each:
            one.walk()
        return (
            sorted(row for one in each for row in one.intervals),
            sorted(row for one in each for row in one.begun),
            sorted(row for one in each for row in one.effects),
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
    initiated: list[tuple[int, int]] = field(default_factory=list)
    """Value and time of each initiation."""
    attempts: dict[int, tuple[int, bool]] = field(default_factory=dict)
    """The initiations that effects count from, by value, and whether they are listed."""
    breaks: list[tuple[int, int]] = field(default_factory=list)
    """Value and time of each break of a value that was initiated."""
    holding: dict[int, int] = field(default_factory=dict)
    """The values that hold, and since when."""

    def walk(self) -> None:
        own = [row[1:] for row in self.given.points if row[0] == self.instance]
        for _, value, start, since in (r for r in self.given.before if r[0] == self.instance):
            if start != NEVER:
                self.holding[value] = start
            is_apart = start == NEVER or since != start - self.given.tick
            is_apart &= self._delay(value) != NO_EFFECT
            self.initiated.append((value, since))
            is_told = self.given.ties == "break" and self.given.quiet == NO_POINT
            self._attempt(value, since, is_apart or not is_told)
        todo = {time for time, _ in own} | self._due()
        done: set[int] = set()
        while any(time <= self.given.query for time in todo - done):
            time = min(todo - done)
            done.add(time)
            self._at(time, [action for when, action in own if when == time])
            todo |= self._due()
        for value in list(self.holding):
            self._held(value, INFINITY)
        for value in list(self.attempts):
            self._over(value, NEVER)

    def _held(self, value: int, end: int) -> None:
        self.intervals.append((self.instance, value, self.holding.pop(value), end))

    def _attempt(self, value: int, time: int, is_apart: bool) -> None:
        """Effects count from an initiation; it is listed if that is not what a start tells."""
        if value < VALUES:
            is_listed = is_apart or bool(self.given.postponable[value])
            self.attempts[value] = time, is_listed

    def _over(self, value: int, time: int) -> None:
        """An attempt is over."""
        since, is_listed = self.attempts.pop(value)
        if is_listed:
            self.begun.append((self.instance, value, since, time))

    def _delay(self, value: int) -> int:
        return self.given.delays[value][self.instance + 1] if value < VALUES else NO_EFFECT

    def _due(self) -> set[int]:
        """The points at which some initiation may have its effect."""
        return {time + self._delay(v) for v, time in self.initiated if self._has_effect(v, time)}

    def _has_effect(self, value: int, time: int) -> bool:
        return self._delay(value) != NO_EFFECT and time != self.given.quiet

    def _effects_at(self, point: int, by_rules: set[int]) -> set[int]:
        """The values whose effect takes place at the point."""
        found = set()
        for value, time in self.initiated:
            if not self._has_effect(value, time) or time + self._delay(value) != point:
                continue
            between = [at for own, at in self.breaks if own == value and time < at < point]
            again = any(own == value and time < at < point for own, at in self.initiated)
            if self.given.postponable[value] == UNTIL_DUE:
                again |= value in by_rules
            if not between and not (again and self.given.postponable[value]):
                found.add(value)
        return found

    def _at(self, point: int, happening: list[int]) -> None:
        begun = {action >> 1 for action in happening if action & 1}
        ended = {action >> 1 for action in happening if not action & 1}
        for value in self._effects_at(point, set(begun)):
            for action in self.given.actions[value]:
                self.effects.append((self.instance, action, point))
                if not action & 1:
                    ended.add(value)
                elif self.given.may[action >> 1][self.instance + 1]:
                    begun.add(action >> 1)
                else:
                    ended.add(-1)
        self.conflicts += len(begun) > 1

        def is_broken(value: int) -> bool:
            return bool(ended & {value, -1} or begun - {value})

        self.breaks += [(value, point) for value in range(VALUES + 1) if is_broken(value)]
        counted = {v for v in begun if self.given.ties == "initiation" or not is_broken(v)}
        renewed = {v for v in begun & counted if v in self.holding and is_broken(v)}
        for value in [v for v in self.holding if is_broken(v) and v not in counted]:
            self._held(value, point + self.given.tick)
        self.initiated += [(value, point) for value in begun]
        for value in [v for v in self.attempts if is_broken(v)]:
            self._over(value, point)
        first = {
            value for value, (since, _) in self.attempts.items()
            if value in begun and since == self.given.quiet and self._delay(value) != NO_EFFECT
        }  # fmt: skip
        for value in [v for v in begun & self.attempts.keys() if self.given.postponable[v]]:
            self._over(value, point)
        for value in first & self.attempts.keys():
            self._over(value, point)
        for value in begun - self.attempts.keys():
            if value in counted or self._delay(value) != NO_EFFECT:
                is_apart = value in renewed | first or value not in counted
                self._attempt(value, point, is_apart)
        for value in counted:
            self.holding.setdefault(value, point + self.given.tick)


@st.composite
def _waiting(draw: st.DrawFn, base: int, delays: list[list[int]], others: set[int]) -> Rows:
    """Initiations of one point each that lost it, of instances of which nothing holds."""
    found: Rows = []
    for instance in range(4):
        values = draw(st.sets(st.integers(0, VALUES - 1), max_size=2))
        own = [delays[value][instance + 1] for value in values]
        if instance not in others and own and NO_EFFECT not in own:
            since = base - draw(st.integers(1, min(own)))
            found += [(instance, value, NEVER, since) for value in sorted(values)]
    return found


@st.composite
def inputs(draw: st.DrawFn) -> Given:
    base, tick = draw(bases()), draw(st.sampled_from([1, 1, 40]))
    points = draw(rows(base, actions(VALUES + 1)))
    ties = draw(st.sampled_from(["break", "initiation"]))
    before = draw(carried(base, VALUES + 1, one_each=ties == "break"))
    one = st.sampled_from([NO_EFFECT, 1, 2, 3, 5, 8])
    one_each = st.lists(one, min_size=7, max_size=7) | one.map(lambda own: [own] * 7)
    delays = draw(st.lists(one_each, min_size=VALUES, max_size=VALUES))
    since = []
    for instance, value, start in zip(*(column.tolist() for column in before), strict=True):
        delay = delays[value][instance + 1] if value < VALUES else NO_EFFECT
        # What was due before the window began would have broken what is carried.
        early = start - draw(st.sampled_from([1, 1, 1, 3]))
        least = early if delay == NO_EFFECT else max(early, base - delay)
        since.append(draw(st.integers(least, base - 1)))
    waiting = draw(_waiting(base, delays, set(before[0].tolist()))) if ties == "break" else []
    flags = st.lists(st.sampled_from([1, 1, 1, 0]), min_size=7, max_size=7)
    most = draw(st.sampled_from([1, 1, 2]))
    effects = [
        draw(st.lists(
            st.sampled_from([v << 1, *(w << 1 | 1 for w in range(VALUES) if w != v)]),
            min_size=1, max_size=most, unique=True,
        ))
        for v in range(VALUES)
    ]  # fmt: skip
    return Given(
        list(zip(*(column.tolist() for column in points), strict=True)),
        sorted([*zip(*(column.tolist() for column in before), since, strict=True), *waiting]),
        delays, effects,
        draw(st.lists(flags, min_size=VALUES, max_size=VALUES)),
        draw(st.lists(st.integers(0, UNTIL_DUE), min_size=VALUES, max_size=VALUES)),
        base + draw(st.integers(12, 30)), tick, ties,
        draw(st.sampled_from([NO_POINT, NO_POINT, base - 1, base, base + 1])),
    )  # fmt: skip


@given(inputs())
def test_hold_delayed_is_the_definition(given_input: Given) -> None:
    assert given_input.by_kernel() == given_input.by_definition()


def test_nothing_gives_nothing() -> None:
    none = Given(
        [], [], [[1] * 7] * VALUES, [[0], [2], [4]], [[1] * 7] * VALUES, [0] * VALUES, 9, 1
    )
    assert none.by_kernel() == none.by_definition() == ([], [], [], 0)


@pytest.mark.parametrize("ties", ["break", "initiation"])
def test_effects_that_chain_outnumber_the_actions(ties: str) -> None:
    """Two values that begin each other: more effects than there is room for at first."""
    loop = Given(
        [(0, 1, 1), (1, 1, 3)], [], [[2] * 7, [3] * 7, [1] * 7], [[3], [1], [4]],
        [[1] * 7] * VALUES, [0, 1, 0], 300, 1, ties,
    )  # fmt: skip
    found = loop.by_kernel()
    assert found == loop.by_definition()
    assert len(found[2]) > 200
