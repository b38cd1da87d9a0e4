"""Declarations of numbers go before what values look like, in every source."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cernis
from cernis.records.declared_values import as_declared, not_declared
from cernis.records.record_columns import Coded

RULES = """\
:- event(dose(bed:text, units:integer)).
initiatedAt(dosed(Bed)=Units, T) :- happensAt(dose(Bed, Units), T).
"""


@pytest.mark.parametrize(
    "events",
    [
        "dose|3|3|b1|7\n", [("dose", 3, 3, "b1", "7")], [("dose", 3, 3, "b1", 7.0)],
        {"dose": pa.table({"bed": ["b1"], "units": ["7"], "occurrence": [3]})},
        {"dose": pd.DataFrame({"bed": ["b1"], "units": [7.0], "occurrence": [3]})},
        {"dose": pa.table({"bed": ["b1"], "units": ["7"], "occurrence": [3]}).set_column(
            1, "units", pa.array(["7"]).dictionary_encode())},
    ],
)  # fmt: skip
def test_what_reads_as_a_number_of_the_type_is_one(events: Any) -> None:
    result = cernis.load(RULES).run(events)
    assert result.fluent("dosed")["value"].to_pylist() == [7]


@pytest.mark.parametrize(
    "events",
    [
        "dose|3|3|b1|7\ndose|4|4|b1|7.5\ndose|5|5|b1|some\n",
        [("dose", 3, 3, "b1", 7), ("dose", 4, 4, "b1", 7.5), ("dose", 5, 5, "b1", "some")],
        {"dose": pa.table(
            {"bed": ["b1"] * 3, "units": ["7", "7.5", "some"], "occurrence": [3, 4, 5]})},
    ],
)  # fmt: skip
def test_what_does_not_is_set_aside(events: Any) -> None:
    with pytest.warns(cernis.InputWarning, match="set aside"):
        result = cernis.load(RULES).run(events)
    assert result.fluent("dosed")["value"].to_pylist() == [7]
    assert [each.reason for each in result.summary.set_aside] == [
        "units is declared integer, and 7.5 is not an integer",
        "units is declared integer, and some is not an integer",
    ]


def test_columns_keep_their_form_where_they_can() -> None:
    floats = np.array([1.0, 2.5])
    assert as_declared(floats, "number")[0] is floats
    whole, wrong = as_declared(np.array([1.0, 2.0]), "integer")
    assert (whole.dtype.kind, wrong) == ("i", None)  # type: ignore[union-attr]
    column, wrong = as_declared(Coded(["1", "2.5"], np.array([0, 1, 0])), "number")
    assert isinstance(column, Coded)
    assert (list(column.values), wrong) == ([1, 2.5], None)
    empty, wrong = as_declared(Coded([], np.empty(0, np.int64)), "float")
    assert (len(empty), wrong) == (0, None)


def test_a_decimal_comma_is_named() -> None:
    assert not_declared("value", "85,5", "float").endswith(": write 85.5, with a point")
