"""Merging of sorted rows."""

from hypothesis import given
from hypothesis import strategies as st

from cernis.kernels.array_types import Integers
from cernis.kernels.merge import merge, merge_plain
from tests.kernels.drawn import BASES, actions, integers, rows

Rows = tuple[Integers, Integers, Integers]


def listed(found: Rows) -> list[list[int]]:
    return [column.tolist() for column in found]


@given(st.sampled_from(BASES).flatmap(lambda b: st.tuples(*[rows(b, actions(3))] * 2)))
def test_merge_equals_its_twin(lists: tuple[Rows, Rows]) -> None:
    assert listed(merge(*lists[0], *lists[1])) == listed(merge_plain(*lists[0], *lists[1]))


def test_of_equal_rows_those_of_the_first_list_come_first() -> None:
    first = integers([0, 0]), integers([5, 5]), integers([1, 2])
    second = integers([0, 0]), integers([5, 6]), integers([3, 4])
    assert merge(*first, *second)[2].tolist() == [1, 2, 3, 4]
    assert merge(*second, *first)[2].tolist() == [3, 1, 2, 4]


def test_nothing_merged_with_a_list_is_the_list() -> None:
    none = integers([])
    own = integers([0, 1]), integers([7, 3]), integers([1, 0])
    for found in (merge(none, none, none, *own), merge(*own, none, none, none)):
        assert listed(found) == listed(own)
