"""Functions on columns of numbers of any form: rows without all arguments have no value."""

from __future__ import annotations

import numpy as np
import pytest

from cernis.errors import FunctionFault
from cernis.knowledge.user_functions import UserFunction, column_function, user_functions
from cernis.operators.column_arithmetic import Numeric
from cernis.operators.function_columns import function_values
from cernis.source import NOWHERE
from cernis.tables.domains import NO_NUMBER, WHOLE, NumericValues, numbers_of


def function(arguments: list[str], result: str) -> UserFunction:
    added = column_function(lambda *columns: sum(columns[1:], columns[0]), arguments, result)
    return user_functions({"added": added})[0]


def values(
    of: UserFunction, *columns: Numeric, length: int, mask: list[bool] | None = None
) -> Numeric:
    shown = None if mask is None else np.array(mask)
    return function_values(of, columns, shown, length, NOWHERE)


def test_floats_and_whole_numbers_become_what_is_declared() -> None:
    floats = values(function(["float"] * 2, "float"), np.array([1, 2]), np.array([0.5]), length=2)
    assert isinstance(floats, np.ndarray)
    assert floats.tolist() == [1.5, 2.5]
    whole = values(function(["int"], "int"), np.array([1.0, 2.5, np.nan]), length=3)
    assert isinstance(whole, NumericValues)
    assert whole.kinds.tolist() == [WHOLE, NO_NUMBER, NO_NUMBER]
    assert whole.ints.tolist()[0] == 1


def test_numbers_of_several_forms() -> None:
    mixed = numbers_of([1, 2.5, "x"])
    result = values(function(["float"], "float"), mixed, length=3)
    assert isinstance(result, np.ndarray)
    assert result.tolist()[:2] == [1.0, 2.5]
    assert np.isnan(result[2])


def test_rows_that_do_not_count_have_no_value() -> None:
    result = values(
        function(["float"], "float"), np.array([1.0, 2.0]), length=2, mask=[False, True]
    )
    assert np.isnan(result[0])  # type: ignore[index]
    assert np.isnan(values(function(["float"], "float"), np.empty(0), length=0)).tolist() == []  # type: ignore[call-overload]


def test_what_is_the_same_for_all_rows_is_computed_once() -> None:
    result = values(function(["float"], "float"), np.array([3.0]), length=5)
    assert isinstance(result, np.ndarray)
    assert result.tolist() == [3.0]


def test_a_result_of_another_type_is_a_fault() -> None:
    with pytest.raises(FunctionFault, match="it gave float64, and is declared integer"):
        values(function(["float"], "int"), np.array([1.0]), length=1)
