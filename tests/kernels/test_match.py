"""Matching kernels against their plain twins, on random occurrences."""

from __future__ import annotations

import numpy as np
import pytest

from cernis.kernels import match, order, queues

Integers = match.Integers

RELATIONS = range(7)
SEEDS = range(150)


class Drawn:
    """Triggers and others in groups, drawn at random: points, intervals or both."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.relation = int(self.random.integers(7))
        self.limit = int(self.random.choice([match.UNLIMITED, 0, 2, 5, 40]))
        self.size = int(self.random.integers(1, 4))
        self.span = int(self.random.choice([4, 12, 60]))
        self.longest = int(self.random.choice([0, 3, 10]))

    def occurrences(self, by_start: bool) -> tuple[Integers, Integers, Integers]:
        count = int(self.random.integers(0, 30))
        groups = self.random.integers(0, self.size, count)
        starts = self.random.integers(0, self.span, count)
        ends = starts + self.random.integers(0, self.longest + 1, count)
        if self.relation == match.STARTS_BEFORE:
            ends = np.full(count, self.span + self.longest)
        keys = (ends, starts) if by_start else (starts, ends)
        order = np.lexsort((*keys, groups))
        return groups[order], starts[order], ends[order]

    def arguments(self, by_start: bool = False) -> tuple[object, ...]:
        groups, starts, ends = self.occurrences(False)
        other_groups, other_starts, other_ends = self.occurrences(by_start)
        offsets = np.searchsorted(other_groups, np.arange(self.size + 1))
        least = np.empty(0, np.int64)
        if self.random.random() < 0.3:
            least = np.sort(self.random.integers(0, self.span, len(groups)))
        return groups, starts, ends, least, offsets, other_starts, other_ends


@pytest.mark.parametrize("seed", SEEDS)
def test_pairs(seed: int) -> None:
    drawn = Drawn(seed)
    given = (drawn.relation, drawn.limit, *drawn.arguments())
    found = sorted(zip(*map(np.ndarray.tolist, match.pairs(*given)), strict=True))  # type: ignore[arg-type]
    expected = zip(*map(np.ndarray.tolist, match.pairs_plain(*given)), strict=True)  # type: ignore[arg-type]
    assert found == sorted(expected)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("strict", [0, 1])
def test_latest(seed: int, strict: int) -> None:
    drawn = Drawn(seed)
    given = (drawn.relation, drawn.limit, strict, *drawn.arguments())
    assert match.latest(*given).tolist() == match.latest_plain(*given).tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", SEEDS)
def test_first(seed: int) -> None:
    drawn = Drawn(seed)
    if drawn.relation >= match.BOTH:
        drawn.relation = match.BEFORE
    given = (drawn.relation, drawn.limit, *drawn.arguments(by_start=True))
    assert queues.first(*given).tolist() == queues.first_plain(*given).tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", SEEDS)
def test_first_of_points(seed: int) -> None:
    drawn = Drawn(seed)
    drawn.relation = match.BEFORE
    groups, starts, ends, _, offsets, points, _ = drawn.arguments(by_start=True)
    none = np.empty(0, np.int64)
    given = (match.BEFORE, drawn.limit, groups, starts, ends, none, offsets, points, points)
    assert queues.first(*given).tolist() == queues.first_plain(*given).tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("relation", [match.BOTH, match.OVERLAP])
def test_first_of_both(seed: int, relation: int) -> None:
    drawn = Drawn(seed)
    groups, starts, ends = drawn.occurrences(True)
    sides = drawn.random.integers(0, 2, len(groups))
    places = np.lexsort((sides, starts, ends, groups))
    offsets = np.searchsorted(groups, np.arange(drawn.size + 1))
    given = (relation, drawn.limit, groups[places], places, offsets, sides, starts, ends)
    found, expected = queues.first_of_both(*given), queues.first_of_both_plain(*given)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("seed", range(50))
def test_choose(seed: int) -> None:
    random = np.random.default_rng(seed)
    lefts, rights = random.integers(0, 6, 20), random.integers(0, 8, 20)
    found, expected = queues.choose(lefts, rights, 6, 8), queues.choose_plain(lefts, rights, 6, 8)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("seed", range(50))
def test_latest_start_before(seed: int) -> None:
    drawn = Drawn(seed)
    drawn.relation = match.BEFORE
    groups, points, _, _, offsets, starts, ends = drawn.arguments()
    tops = match.latest_starts(offsets, starts)  # type: ignore[arg-type]
    assert tops.tolist() == match.latest_starts_plain(offsets, starts).tolist()  # type: ignore[arg-type]
    given = (groups, points, offsets, ends, tops)
    found = match.latest_start_before(*given)  # type: ignore[arg-type]
    expected = match.latest_start_before_plain(*given)  # type: ignore[arg-type]
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("seed", range(30))
def test_ties(seed: int) -> None:
    columns = np.random.default_rng(seed).integers(0, 2, (3, 20))
    found, expected = np.zeros(20, np.bool_), np.zeros(20, np.bool_)
    assert order.mark_ties(*columns, found) == order.mark_ties_plain(*columns, expected)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("seed", range(30))
def test_order_of_three(seed: int) -> None:
    columns = np.random.default_rng(seed).integers(0, 3, (3, seed % 6))
    in_order = columns[:, np.lexsort(columns[::-1])]
    for own in (columns, in_order):
        given = [np.ascontiguousarray(each) for each in own]
        assert order.in_threefold_order(*given) == order.in_threefold_order_plain(*given)


@pytest.mark.parametrize("seed", range(60))
def test_runs_are_sorted(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(0, 200))
    same = random.random(count) < random.choice([0.2, 0.9, 1.0])
    same[:1] = False
    keys = random.integers(0, random.choice([2, 50]), (2, count))
    found, expected = order.sorted_runs(same, keys), order.sorted_runs_plain(same, keys)
    assert keys[:, found].tolist() == keys[:, expected].tolist()
    assert sorted(found.tolist()) == list(range(count))


def test_nothing_to_match() -> None:
    none = np.empty(0, np.int64)
    empty = (none, none, none, none, np.zeros(2, np.int64), none, none)
    assert [len(own) for own in match.pairs(match.BEFORE, 5, *empty)] == [0, 0]
    assert not len(match.latest(match.BEFORE, 5, 0, *empty))
    assert not len(queues.first(match.BEFORE, 5, *empty))
