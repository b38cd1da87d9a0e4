"""Data frames and Python data become facts; what cannot be a fact is refused with its place."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cernis.errors import DataError
from cernis.knowledge.fact_frames import table_of_frame
from cernis.syntax.time_scale import TimeScale

BEDS = {"bed": ["b1", "b2"], "floor": [1, 2]}
ROWS = [("b1", 1), ("b2", 2)]


class _Collected:
    """Has the one method by which Spark's DataFrames give their rows."""

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        return pa.table(BEDS)


@pytest.mark.parametrize(
    "source",
    [
        pd.DataFrame(BEDS), pl.DataFrame(BEDS), pa.table(BEDS), _Collected(), BEDS, ROWS,
        pa.table(BEDS).to_batches()[0], pd.DataFrame(BEDS).astype({"bed": "category"}),
        [{"bed": "b1", "floor": 1}, {"floor": 2, "bed": "b2"}], {"b1": 1, "b2": 2},
        [["b1", np.int64(1)], ["b2", 2]],
    ],
)  # fmt: skip
def test_each_form_gives_the_same_facts(source: Any) -> None:
    assert list(table_of_frame(source, "bed").rows()) == ROWS


def test_values_of_one_list_are_facts_with_one_argument() -> None:
    assert list(table_of_frame(["b1", "b2"], "bed").rows()) == [("b1",), ("b2",)]


@pytest.mark.parametrize("source", [[], {}, pd.DataFrame(), {"bed": [], "floor": []}])
def test_no_rows_are_no_facts(source: Any) -> None:
    assert list(table_of_frame(source, "bed").rows()) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "true"), (2.5, 2.5), (Decimal("2.5"), 2.5), (date(1970, 1, 2), 86_400),
        (datetime(1970, 1, 1, 0, 1, tzinfo=UTC), 60), (pd.Timestamp("1970-01-01T00:01"), 60),
    ],
)  # fmt: skip
def test_values_become_those_of_facts(value: Any, expected: Any) -> None:
    for source in ([(value,)], pa.table({"x": [value]}), pd.DataFrame({"x": [value]})):
        if isinstance(source, pd.DataFrame) and isinstance(value, date | Decimal):
            source = pd.DataFrame({"x": pd.Series([value], dtype=object)})
        assert list(table_of_frame(source, "p").rows()) == [(expected,)]


def test_times_are_in_the_zone_of_the_program() -> None:
    scale = TimeScale("ms", "Europe/Athens")
    noon = datetime(1970, 1, 1, 2)
    for source in ([(noon,)], pa.table({"x": [noon]}), pl.DataFrame({"x": [noon]})):
        assert list(table_of_frame(source, "p", scale).rows()) == [(0,)]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ([("b1", 1), ("b2",)], "row 2 has 1 values, and the first row 2"),
        ([{"bed": 1}, {"bad": 2}], "row 2 has bad, and the first row bed"),
        ({"bed": ["b1"], "floor": []}, "columns differ in length: bed 1, floor 0"),
        ({"bed": ["b1"], "floor": 1}, "either a list for each column, or a value for each key"),
        ([("b1", None)], "row 1 of column `arg2` has no value"),
        (pd.DataFrame({"x": [1.0, np.nan]}), "row 2 of column `x` has no value"),
        (pa.table({"x": [[1]]}), "column `x` has the type list"),
        ([(object(),)], "is a object; a fact has numbers, text and times"),
        ("beds", "cannot be a str: give a table"),
        (7, "cannot be a int: give a table"),
        ([(datetime(2026, 1, 1, 0, 0, 0, 5),)], "has a fraction of a second"),
        (pa.table({"x": [datetime(2026, 1, 1, 0, 0, 0, 5)]}), "has a fraction of a second"),
    ],
)
def test_what_is_no_fact_is_refused_with_its_place(source: Any, said: str) -> None:
    with pytest.raises(DataError, match=r"^the facts of p") as raised:
        table_of_frame(source, "p")
    assert said in str(raised.value)
