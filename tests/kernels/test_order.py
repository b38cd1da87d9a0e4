"""Orders of rows."""

from hypothesis import given
from hypothesis import strategies as st

from cernis.kernels.order import (
    ascending,
    ascending_plain,
    by_code,
    by_code_plain,
    in_order,
    in_order_plain,
)

from .drawn import bases, integers


@given(st.lists(st.integers(0, 9), max_size=50).map(integers), st.integers(10, 12))
def test_by_code_equals_its_twin(codes: object, size: int) -> None:
    assert by_code(codes, size).tolist() == by_code_plain(codes, size).tolist()  # type: ignore[arg-type]


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
