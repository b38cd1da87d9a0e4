"""Connected components."""

from __future__ import annotations

import numpy as np
import pytest

from cernis.kernels.components import components, components_plain


@pytest.mark.parametrize("seed", range(30))
def test_components_are_those_of_the_plain_twin(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 60))
    links = int(random.integers(0, 2 * count))
    lefts, rights = random.integers(0, count, (2, links))
    found = components(lefts, rights, count)
    assert np.array_equal(found, components_plain(lefts, rights, count)), f"seed {seed}"


def test_a_long_chain_is_one_component() -> None:
    nodes = np.arange(100_000)[::-1].copy()
    assert not components(nodes[:-1].copy(), nodes[1:].copy(), len(nodes)).any()


def test_nothing() -> None:
    none = np.empty(0, np.int64)
    assert components(none, none, 0).tolist() == []
    assert components(none, none, 2).tolist() == [0, 1]
