"""Columns and the rows they make up."""

from __future__ import annotations

import numpy as np

from cernis.tables.columns import Column, Rows, constant, pack
from cernis.tables.domains import Domain


def rows() -> Rows:
    shared = np.array([2, 0, 1, 2])
    columns = {
        "X": Column(np.array([10, 20, 30]), None, shared),
        "Y": Column(np.array([0.5, 1.5, 2.5]), None, shared),
        "C": constant(7, None),
    }
    return Rows(4, columns, Column(np.array([1, 2, 3, 4])))


def values(found: Rows) -> dict[str, list[float]]:
    columns = {name: column.expanded(found.length) for name, column in found.columns.items()}
    return {name: column.tolist() for name, column in columns.items()}


def test_rows_that_are_taken_share_one_index_for_columns_of_one_table() -> None:
    found = rows().take(np.array([3, 1, 1]))
    assert values(found) == {"X": [30, 10, 10], "Y": [2.5, 0.5, 0.5], "C": [7, 7, 7]}
    assert found.points.tolist() == [4, 2, 2]
    assert found.columns["X"].index is found.columns["Y"].index


def test_many_rows_stay_masked_and_few_are_taken_out() -> None:
    most = rows().where(np.array([True, True, False, True]))
    assert most.length == 4
    assert most.mask is not None
    assert values(most.settled())["X"] == [30, 10, 30]
    one = most.where(np.array([False, True, True, False]))
    assert one.mask is None
    assert values(one)["X"] == [10]
    assert values(one.settled()) == values(one)


def test_a_mask_that_keeps_all_changes_nothing() -> None:
    given = rows()
    assert given.where(np.ones(4, np.bool_)) is given
    assert given.settled() is given


def test_few_values_for_many_rows_are_a_dictionary() -> None:
    long = Column(np.array([5, 6]), None, np.array([0, 1, 0, 1, 1]))
    found = long.dictionary(5)
    assert found is not None
    assert found[0][found[1]].tolist() == [5, 6, 5, 6, 6]
    assert rows().columns["X"].dictionary(4) is None
    assert constant(7, None).dictionary(100) is None


def test_constants_of_a_domain_give_their_value_back() -> None:
    domain = Domain(["a", "b"])
    assert constant("b", domain).value() == "b"
    assert constant("c", domain).value() == "c"
    assert constant(2.5, None).value() == 2.5


def test_packed_codes_are_equal_where_rows_are_and_sort_as_rows_do() -> None:
    columns = [np.array([1, 0, 1, 0]), np.array([0, 2, 0, 1])]
    packed = pack(columns, [2, 3])
    assert packed is not None
    assert packed[0].tolist() == [3, 2, 3, 1]
    assert packed[1] == 6
    assert pack(columns, [1 << 31, 1 << 31]) is None
