"""Columns are matched with arguments by name; their order counts only where no name matches."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cernis
from cernis.errors import DataError, InputWarning
from cernis.program import Program

DECLARED = """\
:- event(visit(nurse:text, bed:text)).
initiatedAt(at(N)=B, T) :- happensAt(visit(N, B), T).
"""
AGREED = "initiatedAt(at(Nurse)=Bed, T) :- happensAt(visit(Nurse, Bed), T).\n"
ANSWER = "holdsFor(at(ann)=b1, [(4,inf)]).\n"

Columns = dict[str, list[Any]]


def arrow(columns: Columns, folder: Path) -> Any:
    return {"visit": pa.table(columns)}


def pandas(columns: Columns, folder: Path) -> Any:
    return {"visit": pytest.importorskip("pandas").DataFrame(columns)}


def polars(columns: Columns, folder: Path) -> Any:
    return {"visit": pytest.importorskip("polars").DataFrame(columns)}


def one_table(columns: Columns, folder: Path) -> Any:
    return pa.table({"name": ["visit"], **columns})


def csv(columns: Columns, folder: Path) -> Any:
    rows = [",".join(columns), ",".join(str(own[0]) for own in columns.values())]
    (folder / "visit.csv").write_text("\n".join(rows) + "\n")
    return folder / "visit.csv"


def parquet(columns: Columns, folder: Path) -> Any:
    pq.write_table(pa.table(columns), folder / "visit.parquet")
    return folder / "visit.parquet"


def json_lines(columns: Columns, folder: Path) -> Any:
    row = {"name": "visit", **{title: own[0] for title, own in columns.items()}}
    (folder / "visit.jsonl").write_text(json.dumps(row) + "\n")
    return folder / "visit.jsonl"


def mappings(columns: Columns, folder: Path) -> Any:
    return {"visit": [{title: own[0] for title, own in columns.items()}]}


SOURCES: list[Callable[[Columns, Path], Any]] = [
    arrow, pandas, polars, one_table, csv, parquet, json_lines, mappings,
]  # fmt: skip
every_source = pytest.mark.parametrize("source", SOURCES)


@every_source
@pytest.mark.parametrize("rules", [DECLARED, AGREED])
def test_names_match_whatever_their_case_and_order(
    source: Callable[[Columns, Path], Any], rules: str, tmp_path: Path
) -> None:
    columns = {"BED": ["b1"], "occurrence": [3], "Nurse": ["ann"]}
    assert cernis.load(rules).run(source(columns, tmp_path)).text() == ANSWER


@every_source
def test_a_partial_match_is_an_error_that_lists_both_sides(
    source: Callable[[Columns, Path], Any], tmp_path: Path
) -> None:
    columns = {"bed": ["b1"], "occurrence": [3], "who": ["ann"]}
    program = cernis.load(DECLARED)
    words = "the columns are bed, who, the arguments nurse, bed"
    if source in (json_lines, mappings):
        # Records one by one are set aside one by one.
        with pytest.warns(InputWarning, match=words):
            result = program.run(source(columns, tmp_path))
        assert words in result.summary.set_aside[0].reason
        return
    with pytest.raises(DataError, match=words):
        program.run(source(columns, tmp_path))


@every_source
def test_the_order_counts_where_no_name_matches_and_it_is_said(
    source: Callable[[Columns, Path], Any], tmp_path: Path
) -> None:
    columns = {"occurrence": [3], "who": ["ann"], "where": ["b1"]}
    with pytest.warns(InputWarning, match="the columns who, where are nurse, bed"):
        result = cernis.load(DECLARED).run(source(columns, tmp_path))
    assert result.text() == ANSWER
    assert len(result.summary.warnings) == 1


@every_source
def test_a_column_called_value_is_an_argument_of_an_event(
    source: Callable[[Columns, Path], Any], tmp_path: Path
) -> None:
    rules = "initiatedAt(at(N)=V, T) :- happensAt(visit(N, V), T)."
    columns = {"occurrence": [3], "who": ["ann"], "value": ["b1"]}
    with pytest.warns(InputWarning, match="the columns who, value are N, V"):
        assert cernis.load(rules).run(source(columns, tmp_path)).text() == ANSWER
    named = {"value": ["b1"], "occurrence": [3], "n": ["ann"]}
    rules = rules.replace("V", "Value")
    assert cernis.load(rules).run(source(named, tmp_path)).text() == ANSWER


def run(rules: str, name: str, **columns: list[Any]) -> str:
    return cernis.load(rules).run({name: pa.table(columns)}).text()


def test_rules_that_do_not_agree_on_a_name_give_none() -> None:
    rules = AGREED + "happensAt(back(A), T) :- happensAt(visit(Bed, A), T), A == Bed."
    with pytest.warns(InputWarning, match="their order counts"):
        assert run(rules, "visit", occurrence=[3], Nurse=["ann"], Bed=["b1"]) == ANSWER


def test_one_name_that_all_agree_on_leaves_the_other_column_for_the_rest() -> None:
    rules = AGREED + "happensAt(back(P), T) :- happensAt(visit(Nurse, P), T), P == Nurse."
    assert run(rules, "visit", bed=["b1"], occurrence=[3], NURSE=["ann"]) == ANSWER


def test_the_times_match_whatever_their_case() -> None:
    columns = {"Nurse": ["ann"], "Bed": ["b1"], "Occurrence": [3], "ARRIVAL": [5]}
    assert run(AGREED, "visit", **columns) == ANSWER  # type: ignore[arg-type]


def test_names_of_several_words_match_however_they_are_joined() -> None:
    rules = "initiatedAt(at(NurseId)=BedNo, T) :- happensAt(visit(NurseId, BedNo), T)."
    columns = {"bed_no": ["b1"], "occurrence": [3], "nurse_id": ["ann"]}
    assert run(rules, "visit", **columns) == ANSWER  # type: ignore[arg-type]


def test_the_value_of_a_fluent_has_a_name_too() -> None:
    rules = """\
    points(speed(_)=_).
    initiatedAt(fast(V)=S, T) :- happensAt(ping(V), T), holdsAt(speed(V)=S, T).
    """
    tables = {"ping": pa.table({"occurrence": [3], "V": ["a"]})}
    program = cernis.load(rules)
    for columns in (
        {"V": ["a"], "S": [7]}, {"v": ["a"], "value": [7]}, {"s": [7], "v": ["a"]},
    ):  # fmt: skip
        tables["speed"] = pa.table({"occurrence": [3], **columns})
        assert program.run(tables).text() == "holdsFor(fast(a)=7, [(4,inf)]).\n"


@pytest.mark.parametrize("title", ["start", "end", "arrival", "probability", "retracts", "name"])
def test_an_argument_may_be_called_as_a_column_with_a_meaning(title: str, tmp_path: Path) -> None:
    rules = f":- event(visit(nurse:text, {title}:text)).\n"
    rules += "initiatedAt(at(N)=B, T) :- happensAt(visit(N, B), T)."
    columns = {title: ["b1"], "occurrence": [3], "nurse": ["ann"]}
    program = cernis.load(rules)
    assert program.run({"visit": pa.table(columns)}).text() == ANSWER
    assert program.run(parquet(columns, tmp_path)).text() == ANSWER


def test_tables_of_results_can_be_events_whatever_their_arguments_are_called() -> None:
    first = cernis.load("happensAt(d(Start, Value), T) :- happensAt(e(Start, Value), T).")
    table = first.run("e|3|3|x|y\n").event("d")
    second = cernis.load("initiatedAt(f(S)=V, T) :- happensAt(d(S, V), T).")
    with pytest.warns(InputWarning, match="their order counts"):
        assert second.run({"d": table}).text() == "holdsFor(f(x)=y, [(4,inf)]).\n"


def test_columns_that_a_mapping_names_are_in_its_order(tmp_path: Path) -> None:
    mapping = {
        "input": [
            {"file": "v.csv", "relation": "visit", "occurrence": "t", "arguments": ["b", "nurse"]}
        ]
    }
    (tmp_path / "v.csv").write_text("t,nurse,b\n3,b1,ann\n")
    result = cernis.load(DECLARED).run(tmp_path / "v.csv", mapping=mapping)
    assert result.text() == ANSWER


def test_a_missing_value_of_a_named_column_is_set_aside_and_not_left_out() -> None:
    table = pa.table({
        "name": ["visit", "other"], "occurrence": [3, 3], "nurse": ["ann", None],
        "bed": pa.array([None, "b1"], pa.string()),
    })  # fmt: skip
    with pytest.warns(InputWarning, match="2 of 2 records are not used"):
        summary = cernis.load(DECLARED).run(table).summary
    assert [each.reason for each in summary.set_aside] == ["a value is missing"]


# -- duplicates --------------------------------------------------------------------------------


@pytest.mark.parametrize("title", ["nurse", "occurrence", "ward"])
def test_two_columns_of_one_title_are_an_error(title: str, tmp_path: Path) -> None:
    (tmp_path / "visit.csv").write_text(f"occurrence,nurse,{title},{title}\n3,ann,b1,b2\n")
    with pytest.raises(DataError, match=f"has two columns {title}"):
        cernis.load(DECLARED).run(tmp_path / "visit.csv")


def test_two_columns_of_one_title_in_a_table_of_all_relations(program: Program) -> None:
    titles = ["name", "occurrence", "nurse", "nurse"]
    nurses = [pa.array(["ann"]), pa.array(["bob"])]
    table = pa.Table.from_arrays([pa.array(["visit"]), pa.array([3]), *nurses], titles)
    with pytest.raises(DataError, match="has two columns nurse"):
        program.run(table)


def test_a_mapping_refuses_two_columns_of_one_title_only_if_it_names_them(
    program: Program, tmp_path: Path
) -> None:
    own = {"file": "v.csv", "relation": "visit", "occurrence": "t", "arguments": ["n", "b"]}
    (tmp_path / "v.csv").write_text("t,n,b,x,x\n3,ann,b1,1,2\n")
    assert program.run(tmp_path / "v.csv", mapping={"input": [own]}).text() == ANSWER
    (tmp_path / "v.csv").write_text("t,n,b,b\n3,ann,b1,b2\n")
    with pytest.raises(DataError, match="has two columns b"):
        program.run(tmp_path / "v.csv", mapping={"input": [own]})


@pytest.mark.parametrize(("given", "reads"), [("true", True), ("False", False), ("", False)])
def test_retractions_in_csv_are_told_by_a_word(
    program: Program, given: str, reads: bool, tmp_path: Path
) -> None:
    (tmp_path / "visit.csv").write_text(
        f"occurrence,nurse,bed,retracts\n3,ann,b1,\n3,ann,b1,{given}\n"
    )
    summary = program.run(tmp_path / "visit.csv").summary
    assert summary.used == (1 if reads else 2)
    (tmp_path / "visit.csv").write_text("occurrence,nurse,bed,retracts\n3,ann,b1,perhaps\n")
    with pytest.raises(DataError, match="column retracts of visit must hold true or false"):
        program.run(tmp_path / "visit.csv")


@pytest.fixture
def program() -> Program:
    return cernis.load(DECLARED)
