"""Codes of whole numbers."""

from hypothesis import given
from hypothesis import strategies as st

from cernis.kernels.array_types import Integers
from cernis.kernels.integer_codes import look_up, look_up_plain
from tests.kernels.drawn import bases, integers

small = st.lists(st.integers(-3, 12), max_size=20).map(integers)


@given(small, st.lists(st.integers(-1, 5), max_size=9).map(integers), bases())
def test_look_up_equals_its_twin(values: Integers, table: Integers, base: int) -> None:
    found, plain = look_up(values + base, base, table), look_up_plain(values + base, base, table)
    assert found[0].tolist() == plain[0].tolist()
    assert found[1] == plain[1]
