"""Columns that are called otherwise are named once, for files, tables and frames alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import cernis
from cernis.errors import DataError, InputWarning
from cernis.program import Program
from cernis.records.column_names import ColumnNames, column_names

RULES = """\
:- event([spo2(bed:text, value:float), discharge(bed:text)]).
initiatedAt(low(Bed)=true, T)  :- happensAt(spo2(Bed, Value), T), Value < 90.
terminatedAt(low(Bed)=true, T) :- happensAt(discharge(Bed), T).
"""
COLUMNS = {"time": [3], "sat": [85.0], "room": ["icu"], "bed_id": ["07"]}
NAMES: dict[str, Any] = {"occurrence": "time", "bed": "bed_id", "spo2": {"value": "sat"}}
ANSWER = "holdsFor(low('07')=true, [(4,inf)]).\n"
NOTE = "the column room is not used"


@pytest.fixture
def program() -> Program:
    return cernis.load(RULES)


@pytest.mark.parametrize("frame", [pa.table, pd.DataFrame, pl.DataFrame, dict])
def test_a_mapping_names_the_columns_of_tables(program: Program, frame: Any) -> None:
    result = program.run({"spo2": frame(COLUMNS)}, mapping=NAMES)
    assert result.text() == ANSWER
    assert result.summary.notes == (f"spo2: {NOTE}",)


def test_a_mapping_names_the_columns_of_mappings_and_json(program: Program, tmp_path: Path) -> None:
    row = {title: values[0] for title, values in COLUMNS.items()}
    names = NAMES
    assert program.run({"spo2": [row]}, mapping=names).text() == ANSWER
    (tmp_path / "v.jsonl").write_text(
        '{"name": "spo2", "time": 3, "sat": 85, "room": 1, "bed_id": "07"}\n'
    )
    assert program.run(tmp_path / "v.jsonl", mapping=names).text() == ANSWER


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_defaults_of_the_file_beside_the_input(
    program: Program, ending: str, tmp_path: Path
) -> None:
    (tmp_path / "cernis.toml").write_text(
        '[defaults]\noccurrence = "time"\nbed = "bed_id"\n[defaults.spo2]\nvalue = "sat"\n'
    )
    file = tmp_path / f"spo2.{ending}"
    if ending == "csv":
        file.write_text("time,sat,room,bed_id\n3,85,icu,07\n")
    else:
        parquet.write_table(pa.table(COLUMNS), file)
    result = program.run(file)
    assert result.text() == ANSWER
    assert result.summary.notes == (f"{file}: {NOTE}",)


def test_what_a_caller_says_goes_before_the_file(program: Program, tmp_path: Path) -> None:
    (tmp_path / "cernis.toml").write_text('[defaults]\noccurrence = "room"\nbed = "bed_id"\n')
    (tmp_path / "spo2.csv").write_text("time,sat,room,bed_id\n3,85,icu,07\n")
    result = program.run(tmp_path / "spo2.csv", mapping={"occurrence": "time", "value": "sat"})
    assert result.text() == ANSWER


@pytest.mark.parametrize("ending", ["csv", "parquet", "table"])
def test_several_relations_in_one_table_by_a_column_of_names(
    program: Program, ending: str, tmp_path: Path
) -> None:
    rows = {
        "kind": ["spo2", "discharge", "other"], "bed": ["07", "07", "07"],
        "value": ["85", None, None], "occurrence": [3, 9, 9],
    }  # fmt: skip
    events: Any = tmp_path / f"records.{ending}"
    if ending == "csv":
        lines = ["kind,bed,value,occurrence", "spo2,07,85,3", "discharge,07,,9", "other,07,,9"]
        events.write_text("\n".join(lines))
    elif ending == "parquet":
        parquet.write_table(pa.table(rows), events)
    else:
        events = pd.DataFrame(rows)
    result = program.run(events, mapping={"name": "kind"})
    assert result.text() == "holdsFor(low('07')=true, [(4,10)]).\n"
    assert result.summary.ignored == {"other": 1}


def test_a_column_called_name_in_csv_names_relations(program: Program, tmp_path: Path) -> None:
    (tmp_path / "ward.csv").write_text("name,bed,value,occurrence\nspo2,07,85,3\nspo2,07,x,4\n")
    with pytest.warns(InputWarning, match="1 of 2 records set aside"):
        result = program.run(tmp_path / "ward.csv")
    assert result.text() == ANSWER
    assert str(result.summary.set_aside[0]).endswith(
        "ward.csv:3: value is declared float, and x is not a number"
    )


def test_a_file_called_as_a_relation_may_have_a_column_called_name(
    program: Program, tmp_path: Path
) -> None:
    (tmp_path / "spo2.csv").write_text("name,bed,value,occurrence\nkim,07,85,3\n")
    assert program.run(tmp_path / "spo2.csv").text() == ANSWER


def test_an_input_without_a_file_is_about_the_table_of_its_relation(program: Program) -> None:
    entry = {
        "relation": "spo2", "occurrence": "time", "arguments": ["bed_id", "sat"],
        "where": {"room": "icu"},
    }  # fmt: skip
    table = pa.table({**{k: v * 2 for k, v in COLUMNS.items()}, "room": ["icu", "er"]})
    result = program.run({"spo2": table}, mapping={"input": [entry]})
    assert (result.text(), result.summary.used) == (ANSWER, 1)


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ({"occurence": "time"}, "occurence is neither a role nor an argument"),
        ({"sp02": {"value": "sat"}}, "no input is called sp02; there are discharge, spo2"),
        ({"occurrence": 3}, "occurrence must be the name of a column, not 3"),
        ({"defaults": [], "input": []}, r"write \[defaults\], with one bracket"),
        ({"defaults": {}, "other": {}}, "there is no section other"),
    ],
)
def test_what_cannot_be_a_name_is_an_error(
    program: Program, mapping: dict[str, Any], said: str
) -> None:
    with pytest.raises(DataError, match=said):
        program.run({"spo2": pa.table(COLUMNS)}, mapping=mapping)


def test_a_column_of_the_title_of_a_role_gives_way_to_one_that_is_named() -> None:
    names = column_names({"occurrence": "time"}, "here")
    assert names.called("spo2", ["occurrence", "time"]) == ["occurrence (unused)", "occurrence"]
    assert names.over(ColumnNames((("", "occurrence", "t"), ("", "end", "e")))).entries == (
        ("", "occurrence", "time"), ("", "end", "e"),
    )  # fmt: skip


def test_a_delimiter_and_an_encoding_can_be_said(program: Program, tmp_path: Path) -> None:
    text = "bed;value;occurrence\nBétt;85;3\n"
    (tmp_path / "spo2.csv").write_bytes(text.encode("latin-1"))
    names = {"delimiter": ";", "encoding": "latin-1"}
    answer = program.run(tmp_path / "spo2.csv", mapping=names).text()
    assert answer == "holdsFor(low('Bétt')=true, [(4,inf)]).\n"
