"""Sets of keys against Python's own."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cernis.evaluate.columns.key_sets import ALL_KEYS, NO_KEYS, KeySet, joined


def drawn(random: Random) -> tuple[KeySet, set[int]]:
    """Some keys in any order, some of them several times, and the set of them."""
    numbers = [random.randrange(20) for _ in range(random.randrange(7))]
    return KeySet.of(np.array(numbers, np.int64)), set(numbers)


@pytest.mark.parametrize("seed", range(20))
def test_key_sets_are_sets(seed: int) -> None:
    random = Random(seed)
    one, members = drawn(random)
    assert one.numbers.tolist() == sorted(members)
    assert bool(one) == bool(members)
    asked = np.array([random.randrange(-1, 40) for _ in range(30)])
    assert one.mask(asked).tolist() == [number in members for number in asked.tolist()]
    parts = [drawn(random) for _ in range(3)]
    every = members.union(*(more for _, more in parts))
    assert joined([one, *(part for part, _ in parts), one]).numbers.tolist() == sorted(every)


def test_everything_swallows_the_rest() -> None:
    some = KeySet.of(np.array([1, 2]))
    assert joined([some, ALL_KEYS]).is_everything
    assert ALL_KEYS
    assert ALL_KEYS.mask(np.array([3, -1])).all()
    assert not NO_KEYS
    assert not joined([])
    assert not NO_KEYS.mask(np.array([3, -1])).any()


def test_most_keys_are_all() -> None:
    some = KeySet.of(np.arange(8))
    assert some.or_all(10).is_everything
    assert some.or_all(20) is some
