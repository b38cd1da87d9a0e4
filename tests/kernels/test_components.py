"""Connected components."""

from __future__ import annotations

import numpy as np
import pytest

from cernis.kernels.components import GrowingComponents, components, components_plain


@pytest.mark.parametrize("seed", range(200))
def test_components_are_those_of_the_plain_twin(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 60))
    links = [
        tuple(random.integers(-1, count, (2, int(random.integers(0, count))))) for _ in range(2)
    ]
    labels, number = components(count, links)
    plain_labels, plain_number = components_plain(count, links)
    assert np.array_equal(labels, plain_labels), f"seed {seed}"
    assert number == plain_number, f"seed {seed}"


def test_a_long_chain_is_one_component() -> None:
    nodes = np.arange(100_000)[::-1]
    labels, number = components(len(nodes), [(nodes[:-1], nodes[1:])])
    assert not labels.any()
    assert number == 1


def test_components_are_numbered_by_their_first_elements() -> None:
    labels, number = components(5, [(np.array([4, 3]), np.array([1, 2]))])
    assert labels.tolist() == [0, 1, 2, 2, 1]
    assert number == 3


def test_an_element_below_zero_links_nothing() -> None:
    labels, _ = components(2, [(np.array([-1, 1]), np.array([0, -1]))])
    assert labels.tolist() == [0, 1]


def test_without_links_each_element_is_a_component() -> None:
    for count in (0, 2):
        labels, number = components(count, [])
        assert (labels.tolist(), number) == (list(range(count)), count)


@pytest.mark.parametrize("seed", range(50))
def test_components_that_grow_are_those_of_all_links(seed: int) -> None:
    random = np.random.default_rng(seed)
    growing, links, count = GrowingComponents(), [], 0
    for _ in range(5):
        count += int(random.integers(1, 20))
        links.append(
            tuple(random.integers(-1, count, (2, int(random.integers(0, count // 2 + 1)))))
        )
        growing.link(count, links[-1:])
        labels, _ = components(count, links)
        elements = random.integers(0, count, int(random.integers(0, 3)))
        expected = np.isin(labels, labels[elements])
        assert np.array_equal(growing.linked_to(elements), expected), f"seed {seed}"
