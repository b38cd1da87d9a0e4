"""A program is made again with other facts, and facts come in all forms, times among them."""

from __future__ import annotations

import pickle
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import cernis
from cernis.check.loading.program_origin import origin_of
from cernis.plan.properties.definition_diff import fact_digests

RULES = """
:- dynamic(bed/2).
initiatedAt(alarm(Ward)=true, T) :- happensAt(call(Bed), T), bed(Bed, Ward).
"""
CALL = [("call", 3, 3, "b2")]
PRICES = """
:- valid(price(Item, Price, Since), Since, by(Item)).
initiatedAt(paid(Item)=Price, T) :- happensAt(buy(Item), T), price(Item, Price).
"""
DAYS = [datetime(2026, 1, 1), datetime(2026, 2, 1)]
BOUGHT = [("buy", "2026-01-05", "2026-01-05", "egg"), ("buy", "2026-02-05", "2026-02-05", "egg")]


def test_other_facts_take_the_place_of_the_first() -> None:
    first = cernis.load(RULES, {"bed": [("b2", "icu")]})
    second = first.with_facts({"bed": {"b2": "er"}})
    assert "icu" in first.run(CALL).text()
    assert second.run(CALL).text() == "holdsFor(alarm(er)=true, [(4,inf)]).\n"
    assert fact_digests(first.checked) != fact_digests(second.checked)


def test_runs_and_sessions_take_facts() -> None:
    program = cernis.load(RULES)
    assert program.run(CALL).text() == ""
    assert "er" in program.run(CALL, facts={"bed": {"b2": "er"}}).text()
    session = program.session(facts={"bed": {"b2": "er"}})
    session.insert(CALL)
    assert session.query(5).table().num_rows == 1


def test_a_mapping_may_name_files(tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("bed,ward\nb2,er\n")
    assert "er" in cernis.load(RULES, {"bed": tmp_path / "places.csv"}).run(CALL).text()


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ("beds.csv", "a list of files"),
        (pd.DataFrame({"bed": ["b2"]}), "tables by the names of predicates"),
        (7, "not a int"),
    ],
)
def test_what_is_no_facts_is_named(facts: Any, said: str) -> None:
    with pytest.raises(cernis.CernisError, match=said):
        cernis.load(RULES, facts)


def test_a_table_that_cannot_be_read_is_an_error_of_the_program() -> None:
    with pytest.raises(cernis.ProgramError, match="C007 the facts of bed: row 1"):
        cernis.load(RULES, {"bed": [("b2", None)]})


def test_rule_text_cannot_be_given_later(tmp_path: Path) -> None:
    (tmp_path / "beds.cer").write_text("bed(b2, er).")
    with pytest.raises(cernis.CernisError, match="give rule text to"):
        cernis.load(RULES).with_facts([tmp_path / "beds.cer"])


@pytest.mark.parametrize("form", ["pandas", "arrow", "rows", "csv", "parquet"])
def test_tables_with_the_time_from_which_rows_are_valid(form: str, tmp_path: Path) -> None:
    columns = {"since": DAYS, "item": ["egg", "egg"], "price": [2, 3]}
    table = pa.table(columns)
    csv, file = tmp_path / "price.csv", tmp_path / "price.parquet"
    csv.write_text("since,item,price\n2026-01-01,egg,2\n2026-02-01T00:00:00Z,egg,3\n")
    parquet.write_table(table, file)
    rows = [{"item": "egg", "price": p, "since": d} for p, d in zip([2, 3], DAYS, strict=True)]
    facts: dict[str, Any] = {
        "pandas": pd.DataFrame(columns), "arrow": table, "rows": rows, "csv": csv, "parquet": file,
    }  # fmt: skip
    result = cernis.load(PRICES, {"price": facts[form]}).run(BOUGHT)
    assert result.fluent("paid")["value"].to_pylist() == [2, 3]


def test_a_date_that_is_none_is_named() -> None:
    with pytest.raises(cernis.ProgramError, match="soon is no time-point"):
        cernis.load(PRICES, {"price": [("egg", 2, "soon")]})


def test_programs_are_pickled_with_what_they_are_made_of() -> None:
    program = pickle.loads(pickle.dumps(cernis.load(RULES)))
    assert "er" in program.with_facts({"bed": {"b2": "er"}}).run(CALL).text()


def test_origins_keep_what_they_have_read() -> None:
    origin = origin_of(RULES, {"bed": {"b2": "er"}})
    assert list(origin.tables) == ["bed"]
    assert origin.with_facts({"ward": ["er"]}).tables.keys() == {"bed", "ward"}
