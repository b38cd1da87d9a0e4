"""Rows found by their keys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cernis.kernels.array_types import Integers
from cernis.kernels.hashing import Numbering, RowTable, find_plain, time_keys, time_keys_plain
from tests.kernels.drawn import bases, integers

some = st.lists(st.integers(-20, 20), max_size=40).map(integers)


@given(some, some, bases(), st.sampled_from([1, 2**20, 2**40]))
def test_find_equals_its_twin(keys: Integers, wanted: Integers, base: int, step: int) -> None:
    keys, wanted = keys * step + base, wanted * step + base
    table = RowTable(keys)
    assert table.find(wanted).tolist() == find_plain(keys, wanted).tolist()
    assert table.distinct == len(set(keys.tolist()))


@pytest.mark.parametrize("seed", [1, 2])
def test_many_keys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    keys, wanted = rng.integers(0, 10**6, 30_000) * 4096, rng.integers(0, 10**6, 50_000) * 4096
    assert RowTable(keys).find(wanted).tolist() == find_plain(keys, wanted).tolist()


@given(st.lists(some, max_size=4), bases(), st.sampled_from([1, 2**20, 2**40]))
def test_numbers_follow_the_order_keys_are_met_in(
    batches: list[Integers], base: int, step: int
) -> None:
    numbering, known = Numbering(), dict[int, int]()
    for batch in batches:
        keys = batch * step + base
        expected = [known.setdefault(key, len(known)) for key in keys.tolist()]
        assert numbering.of(keys).tolist() == expected
    assert numbering.keys.tolist() == list(known)
    assert len(numbering) == len(known)


@given(st.lists(st.tuples(st.integers(-1, 5), st.integers(-3, 12)), max_size=40), bases())
def test_time_keys_equal_their_twin(rows: list[tuple[int, int]], base: int) -> None:
    groups, times = integers([g for g, _ in rows]), integers([t for _, t in rows]) + base
    asked = groups, times, base, 9
    assert time_keys(*asked).tolist() == time_keys_plain(*asked).tolist()
