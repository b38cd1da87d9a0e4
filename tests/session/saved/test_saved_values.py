"""Values and columns of any kind become plain trees, and come back the same."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cernis.knowledge.ground_values import Value, value
from cernis.records.record_columns import Coded
from cernis.session.saved.plain_trees import Tree
from cernis.session.saved.saved_values import (
    column_of_tree,
    plain_column,
    plain_records,
    plain_values,
    records_of,
    values_of,
)
from cernis.syntax.parser import parse_term
from tests.records.support import kinds, read, rows

TERM = value(parse_term("f(a, [1, 2.5], 'B c')"))


@pytest.mark.parametrize(
    "values",
    [
        [1, -5, 2**62],
        ["", "a", "ä☃", "two\nlines", "\ud800"],
        [2**63, -(2**80), 3],
        [1, "1", 1.0, float("inf"), TERM],
        [0.1, -0.0],
        [],
    ],
    ids=["whole", "texts", "huge", "mixed", "floats", "none"],
)
def test_values_come_back_with_their_kinds(values: list[Value]) -> None:
    found = values_of(plain_values(values))
    assert found == values
    assert list(map(type, found)) == list(map(type, values))
    assert str(found) == str(values)


@pytest.mark.parametrize("cell", [True, None, [1], {"term": "f("}, {"term": "f(X)"}])
def test_what_is_no_value_is_refused(cell: Tree) -> None:
    with pytest.raises(ValueError, match="value"):
        values_of([1, cell])


def test_a_column_keeps_only_values_that_it_has() -> None:
    random = Random(2)
    codes = np.array([random.choice((1, 3)) for _ in range(9)])
    column = Coded(["a", "b", "c", "d"], codes)
    tree = plain_column(column)
    assert values_of(tree["values"]) == ["b", "d"]
    found = column_of_tree(tree)
    assert isinstance(found, Coded)
    assert [found.values[at] for at in found.codes] == [column.values[at] for at in codes]
    whole = np.array([5, 6])
    assert column_of_tree(plain_column(whole)) is whole


def test_records_come_back_as_they_were() -> None:
    text = "ping|3|2|x\nping|5|5|y\nspeed|4|4|12|x\nnear|9|1|6|true|x|y\norder|1|1|item(x)"
    records = read(kinds(), text)
    before = rows(records)
    records.relations = {
        form: records_of(plain_records(part)) for form, part in records.relations.items()
    }
    assert rows(records) == before
