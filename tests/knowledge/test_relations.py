"""Rows with indexes, and the meter that bounds the work on them."""

from __future__ import annotations

import pytest

from cernis.errors import KnowledgeError
from cernis.knowledge.relations import IndexedRows, Meter, columns, key_of
from cernis.knowledge.resolution.machine import Limits


def test_an_index_follows_rows_that_are_added() -> None:
    table = IndexedRows([(1, "a"), (2, "b"), (1, "a")])
    assert len(table) == 2
    index = table.index((0,), (1,))
    assert index == {1: [("a",)], 2: [("b",)]}
    table.add([(1, "c")])
    assert index[1] == [("a",), ("c",)]
    assert table.index((0, 1), ()) == {(1, "a"): [()], (2, "b"): [()], (1, "c"): [()]}


def test_keys_of_one_position_are_values_and_kept_columns_always_tuples() -> None:
    row = ("a", "b", "c")
    assert key_of([1])(row) == "b"
    assert key_of([2, 0])(row) == ("c", "a")
    assert key_of([])(row) == ()
    assert columns([1])(row) == ("b",)
    assert columns([])(row) == ()


def test_too_many_rows_name_the_predicate() -> None:
    meter = Meter(Limits(tuples=10))
    meter.predicate = "reach/2"
    meter.see_size(10)
    with pytest.raises(KnowledgeError, match="reach/2.*derives more than 10 rows"):
        meter.see_size(11)


def test_too_long_a_time_is_noticed_as_work_is_done() -> None:
    meter = Meter(Limits(materialise_seconds=0))
    meter.spend(1)
    with pytest.raises(KnowledgeError, match="takes longer than 0 s"):
        meter.spend(1_000_000)
