"""Orders of rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cernis.kernels.array_types import Integers
from cernis.kernels.order import (
    ascending,
    ascending_plain,
    in_order,
    in_order_plain,
    placed,
    ranks,
    ranks_plain,
    spread,
    spread_plain,
)
from tests.kernels.drawn import bases, integers


@given(st.lists(st.integers(0, 9), max_size=50).map(integers), st.integers(10, 12))
def test_ranks_equal_their_twin(codes: Integers, size: int) -> None:
    found, plain = ranks(codes, size), ranks_plain(codes, size)
    assert found[0].tolist() == plain[0].tolist()
    assert found[1].tolist() == plain[1].tolist()
    assert spread(found[1]).tolist() == spread_plain(found[1]).tolist() == sorted(codes.tolist())


@given(st.lists(st.integers(0, 9), max_size=50).map(integers), st.sampled_from("qdbfU"))
def test_rows_placed_by_rank_are_sorted_and_keep_their_order(codes: Integers, kind: str) -> None:
    column = np.arange(len(codes)).astype(kind)
    order = np.argsort(codes, kind="stable")
    assert placed(column, ranks(codes, 10)[0]).tolist() == column[order].tolist()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6), st.booleans(), bases()
)
def test_in_order_equals_its_twin(pairs: list[tuple[int, int]], sort: bool, base: int) -> None:
    pairs = sorted(pairs) if sort else pairs
    major = integers([own[0] for own in pairs])
    minor = integers([own[1] for own in pairs]) + base
    assert in_order(major, minor) == in_order_plain(major, minor) == (pairs == sorted(pairs))


@given(st.lists(st.integers(0, 5), max_size=6), st.booleans(), bases())
def test_ascending_equals_its_twin(found: list[int], sort: bool, base: int) -> None:
    found = sorted(found) if sort else found
    values = integers(found) + base
    assert ascending(values) == ascending_plain(values) == (found == sorted(found))
