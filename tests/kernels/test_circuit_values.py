"""Kernels of circuits against plain twins."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cernis.evaluate.probabilities.circuits import Circuits, TooLarge
from cernis.evaluate.probabilities.proof_groups import (
    Actions,
    AwaitedFacts,
    group_actions,
    joint_probabilities_after,
    probabilities_after,
)
from cernis.evaluate.probabilities.uncertain_facts import (
    FALSE,
    TRUE,
    Conjunctions,
    Facts,
    conjunctions,
    stacked,
)
from cernis.kernels.circuit_values import (
    FACTS,
    INITIATES,
    locate,
    picked,
    picked_plain,
    saying,
    saying_plain,
)

Row = tuple[int, int, int, list[int]]
"""Pair, time, whether it breaks, and literals."""


def as_conjunctions(rows: list[list[int]]) -> Conjunctions:
    offsets = np.cumsum([0, *map(len, rows)])
    return Conjunctions(offsets, np.array([*itertools.chain(*rows)], np.int64))


@st.composite
def lists(draw: st.DrawFn) -> tuple[list[list[tuple[int, int]]], list[tuple[int, int]]]:
    found = []
    for _ in range(draw(st.integers(1, 4))):
        steps = draw(st.lists(st.integers(0, 3), max_size=14))
        edges = np.cumsum([0, *steps]).tolist()
        found.append([(a, b) for a, b in zip(edges[::2], edges[1::2], strict=False) if a < b])
    asked = draw(
        st.lists(st.tuples(st.integers(-1, len(found) - 1), st.integers(-2, 25)), max_size=40)
    )
    return found, asked


@settings(max_examples=200, deadline=None)
@given(lists(), st.booleans())
def test_points_are_located_as_by_looking_at_all_intervals(
    drawn: tuple[list[list[tuple[int, int]]], list[tuple[int, int]]], sort: bool
) -> None:
    every, asked = drawn
    asked = sorted(asked) if sort else asked
    offsets = np.cumsum([0, *map(len, every)])
    starts, ends = (np.array([i[at] for own in every for i in own], np.int64) for at in (0, 1))
    groups, points = (np.array([own[at] for own in asked], np.int64) for at in (0, 1))
    expected = [
        next(
            (int(offsets[group]) + at for at, (s, e) in enumerate(every[group]) if s <= point < e),
            -1,
        )
        if group >= 0
        else -1
        for group, point in asked
    ]
    assert locate(groups, points, offsets, starts, ends).tolist() == expected


class Drawn:
    """Facts, composites of them and actions, at random; and their worth by all worlds."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.facts = Facts()
        self.chances = [self.chance.choice([0.1, 0.5, 0.9, 1.0, 0.0]) for _ in range(4)]
        literals = self.facts.add(np.array(self.chances)).tolist()
        self.meaning = dict(enumerate(literals))
        # What each literal means: a function of a world, which says of each fact whether it holds.
        self.truth = {own: (lambda world, at=at: world[at]) for at, own in enumerate(literals)
                      if own not in (TRUE, FALSE)}  # fmt: skip
        for _ in range(2):
            self._compose()
        self.rows = [self._row() for _ in range(self.chance.randrange(1, 9))]

    def _compose(self) -> None:
        rows = [self._literals(1) for _ in range(self.chance.randrange(1, 4))]
        literal = int(self.facts.any_of(np.zeros(len(rows), np.int64), as_conjunctions(rows), 1)[0])
        if literal not in (TRUE, FALSE) and literal not in self.truth:
            self.truth[literal] = lambda world, rows=rows: any(
                all(self._holds(own, world) for own in row) for row in rows
            )

    def _literals(self, least: int) -> list[int]:
        known = list(self.truth) or [TRUE]
        count = self.chance.randrange(least, 4)
        drawn = [self.chance.choice(known) ^ self.chance.randrange(2) for _ in range(count)]
        return [own for own in drawn if own not in (TRUE, FALSE)]

    def _row(self) -> Row:
        return (
            self.chance.randrange(3), self.chance.randrange(1, 4), self.chance.randrange(2),
            self._literals(0),
        )  # fmt: skip

    def _holds(self, literal: int, world: tuple[bool, ...]) -> bool:
        positive = literal & ~1
        return self.truth[positive](world) != bool(literal & 1)

    def actions(self) -> Actions:
        pairs, times, breaks = (np.array([row[at] for row in self.rows]) for at in range(3))
        return Actions(pairs, times, breaks, as_conjunctions([row[3] for row in self.rows]))

    def expected(self, ties: str) -> dict[tuple[int, int], float]:
        """The probability of each pair behind each of its points."""
        found = {}
        for pair in range(3):
            current = 0.25
            for time in sorted({row[1] for row in self.rows if row[0] == pair}):
                rows = [row for row in self.rows if row[:2] == (pair, time)]
                total = 0.0
                for world in itertools.product((True, False), repeat=4):
                    weight = 1.0
                    for truth, chance in zip(world, self.chances, strict=True):
                        weight *= chance if truth else 1 - chance
                    total += weight * self._next(rows, world, current, ties)
                current = found[pair, time] = total
        return found

    def _next(self, rows: list[Row], world: tuple[bool, ...], current: float, ties: str) -> float:
        fires = [row[2] for row in rows if all(self._holds(own, world) for own in row[3])]
        initiated, broken = 0 in fires, 1 in fires
        if ties == "break":
            return 0.0 if broken else 1.0 if initiated else current
        return 1.0 if initiated else 0.0 if broken else current


@pytest.mark.parametrize("ties", ["initiation", "break"])
@pytest.mark.parametrize("seed", range(40))
def test_circuits_are_worth_the_sum_over_all_worlds(seed: int, ties: str) -> None:
    print(f"seed {seed}")
    drawn = Drawn(seed)
    circuits = Circuits(ties)
    groups = group_actions(drawn.actions(), drawn.facts, circuits, "f/1")
    initial = np.full(3, 0.25)
    expected = drawn.expected(ties)
    keys = list(zip(groups.pairs.tolist(), groups.times.tolist(), strict=True))
    assert keys == sorted(expected)
    after = probabilities_after(groups, initial, drawn.facts, circuits)
    assert after.tolist() == pytest.approx([expected[key] for key in keys], abs=1e-12)
    none = np.empty(0, np.int64)
    together = joint_probabilities_after(
        groups, initial, drawn.facts, circuits, AwaitedFacts(none, none, none, none, none)
    )
    assert together.tolist() == after.tolist()


def test_one_shape_is_compiled_once() -> None:
    facts, circuits = Facts(), Circuits("initiation")
    literals = facts.add(np.linspace(0.1, 0.9, 60)).reshape(30, 2)
    pairs = np.arange(30)
    proofs = conjunctions([literals[:, 0], literals[:, 1]], 30)
    actions = Actions(pairs, np.ones(30, np.int64), np.zeros(30, np.int64), proofs)
    groups = group_actions(actions, facts, circuits, "f/1")
    assert len(circuits) == 1
    after = probabilities_after(groups, np.zeros(30), facts, circuits)
    chances = facts.chances[literals >> 1]
    assert after.tolist() == pytest.approx((chances[:, 0] * chances[:, 1]).tolist())


def test_many_facts_of_one_point() -> None:
    facts, circuits = Facts(), Circuits("initiation")
    count = 5000
    literals = facts.add(np.full(count, 0.0005))
    none = np.zeros(count, np.int64)
    rows = conjunctions([literals], count)
    groups = group_actions(Actions(none, none, none, rows), facts, circuits, "f/0")
    after = probabilities_after(groups, np.zeros(1), facts, circuits)
    assert after.tolist() == pytest.approx([1 - 0.9995**count])
    absent = facts.any_of(none, rows, 1) ^ 1
    groups = group_actions(
        Actions(none[:1], none[:1], none[:1], conjunctions([absent], 1)), facts, circuits, "f/0"
    )
    after = probabilities_after(groups, np.zeros(1), facts, circuits)
    assert after.tolist() == pytest.approx([0.9995**count])


def test_a_circuit_may_not_grow_too_large() -> None:
    facts, circuits = Facts(), Circuits("initiation", most=20)
    literals = facts.add(np.full(40, 0.5))
    rows = [[int(literals[at]), int(literals[39 - at])] for at in range(20)]
    actions = Actions(
        np.zeros(20, np.int64), np.ones(20, np.int64), np.zeros(20, np.int64), as_conjunctions(rows)
    )
    with pytest.raises(Exception, match=r"f/1: at one point its rules rest on 40 uncertain"):
        group_actions(actions, facts, circuits, "f/1")
    with pytest.raises(TooLarge):
        Circuits("initiation", most=1).number(np.array([INITIATES, FACTS, FACTS + 2, FACTS + 4]), 3)


def test_certain_and_impossible_facts_are_none() -> None:
    facts = Facts()
    assert facts.add(np.array([1.0, 0.0])).tolist() == [TRUE, FALSE]
    assert facts.count == 1
    groups, rows = np.array([0, 0, 2]), as_conjunctions([[4], [], [6]])
    assert facts.any_of(groups, rows, 3).tolist() == [TRUE, FALSE, 6]


def test_nothing() -> None:
    facts, circuits = Facts(), Circuits("break")
    none = np.empty(0, np.int64)
    groups = group_actions(Actions(none, none, none, stacked([])), facts, circuits, "f/0")
    assert probabilities_after(groups, np.empty(0), facts, circuits).tolist() == []
    assert facts.any_of(none, stacked([]), 2).tolist() == [FALSE, FALSE]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(1, 9), max_size=4), min_size=1, max_size=6), st.data())
def test_lists_are_picked_as_by_their_twin(lists: list[list[int]], data: st.DataObject) -> None:
    own = as_conjunctions(lists)
    rows = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=9))
    asked = own.offsets, own.literals, np.array(rows, np.int64)
    for found, expected in zip(picked(*asked), picked_plain(*asked), strict=True):
        assert found.tolist() == expected.tolist()


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 4), st.lists(st.integers(0, 3), max_size=24))
def test_rows_say_what_is_not_0(width: int, numbers: list[int]) -> None:
    rows = len(numbers) // width
    table = np.array(numbers[: rows * width], np.int64).reshape(rows, width)
    for found, expected in zip(saying(table), saying_plain(table), strict=True):
        assert found.tolist() == expected.tolist()
