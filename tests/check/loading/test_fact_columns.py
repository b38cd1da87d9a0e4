"""Columns of facts are known by the names that rules give the arguments, or by their order."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import cernis
from cernis.check.loading.fact_columns import folded

RULES = "initiatedAt(alarm(Ward)=true, T) :- happensAt(call(BedId), T), bed(BedId, Ward)."
IN_ER = "holdsFor(alarm(er)=true, [(4,inf)]).\n"


def _text(facts: Any, rules: str = RULES) -> str:
    return cernis.load(rules, {"bed": facts}).run([("call", 3, 3, "b2")]).text()


@pytest.mark.parametrize(
    "facts",
    [
        {"bed_id": ["b1", "b2"], "ward": ["icu", "er"]},
        {"ward": ["icu", "er"], "bed-id": ["b1", "b2"]},
        {"floor": [1, 2], "Ward": ["icu", "er"], "BedId": ["b1", "b2"]},
        {"x": ["b1", "b2"], "y": ["icu", "er"]},
        [("b1", "icu"), ("b2", "er")],
    ],
)
def test_columns_are_known_by_name_and_else_by_order(facts: Any) -> None:
    assert _text(facts) == IN_ER


@pytest.mark.parametrize("facts", [[], {}, pd.DataFrame(), {"bed_id": [], "ward": []}])
def test_a_table_without_rows_is_no_fact(facts: Any) -> None:
    assert _text(facts) == ""


def test_names_do_not_count_where_rules_differ() -> None:
    rules = RULES + "\ninitiatedAt(seen(B)=true, T) :- happensAt(call(B), T), bed(B, _)."
    assert IN_ER in _text({"first": ["b2"], "second": ["er"]}, rules)
    with pytest.raises(cernis.ProgramError, match="3 columns"):
        _text({"ward": ["er"], "bed_id": ["b2"], "floor": [1]}, rules)


def test_columns_that_do_not_fit_are_named() -> None:
    with pytest.raises(cernis.ProgramError) as raised:
        _text({"bed": ["b2"], "ward": ["er"], "floor": [1]})
    assert "C023 the facts of bed have 3 columns (bed, ward, floor)" in str(raised.value)
    assert "rules ask for 2: bed(BedId, Ward)" in str(raised.value)
    assert len(raised.value.diagnostics) == 1


def test_titles_are_folded() -> None:
    assert folded("Bed_Id") == folded("bed-id") == folded("BedID") == "bedid"
