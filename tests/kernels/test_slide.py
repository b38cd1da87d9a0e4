"""Sliding windows against their plain twins."""

from __future__ import annotations

import numpy as np
import pytest

from cernis.kernels import slide

SEEDS = range(80)


def drawn(seed: int) -> tuple[slide.Integers, slide.Integers, slide.Integers]:
    """The first row of each row's group, ends, and values."""
    random = np.random.default_rng(seed)
    count = int(random.integers(0, 60))
    groups = np.sort(random.integers(0, 4, count))
    ends = random.integers(0, 40, count)
    ends = ends[np.lexsort((ends, groups))]
    return np.searchsorted(groups, groups), ends, random.integers(-9, 9, count)


def lows(seed: int) -> slide.Integers:
    firsts, ends, _ = drawn(seed)
    if seed % 2:
        return slide.lows_of_span(firsts, ends, seed % 7)
    return np.maximum(firsts, np.arange(len(ends)) - seed % 5)


@pytest.mark.parametrize("seed", SEEDS)
def test_windows_in_time(seed: int) -> None:
    firsts, ends, _ = drawn(seed)
    found = slide.lows_of_span(firsts, ends, seed % 9)
    assert found.tolist() == slide.lows_of_span_plain(firsts, ends, seed % 9).tolist()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", [slide.SUM, slide.LEAST, slide.GREATEST])
@pytest.mark.parametrize("type_", [np.int64, np.float64])
def test_aggregates(seed: int, kind: int, type_: type) -> None:
    firsts, _, values = drawn(seed)
    given = (kind, firsts, lows(seed), values.astype(type_))
    assert slide.slide(*given).tolist() == slide.slide_plain(*given).tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_turns(seed: int) -> None:
    firsts, _, _ = drawn(seed)
    own = lows(seed)
    assert slide.turns(firsts, own).tolist() == slide.turns_plain(firsts, own).tolist()
