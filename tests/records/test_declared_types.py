"""What a declaration says of an argument holds for every source of records."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cernis
from cernis.errors import DataError, InputWarning

WARD = """\
:- event(admit(patient:text, bed:integer)).
initiatedAt(in_bed(P)=B, T) :- happensAt(admit(P, B), T).
"""
ANSWER = "holdsFor(in_bed('001010')=7, [(4,inf)]).\n"
ARGUMENTS = {"patient": ["001010"], "bed": [7]}
TABLE = pa.table({"occurrence": [3], **ARGUMENTS})


def csv(folder: Path) -> Path:
    file = folder / "admit.csv"
    file.write_text("occurrence,patient,bed\n3,001010,7\n")
    return file


def mapped_csv(folder: Path) -> Path:
    mapping = '[[input]]\nfile = "ward.csv"\nrelation = "admit"\noccurrence = "t"\n'
    (folder / "cernis.toml").write_text(mapping + 'arguments = ["who", "where"]\n')
    file = folder / "ward.csv"
    file.write_text("t,who,where\n3,001010,7\n")
    return file


def json_lines(folder: Path) -> Path:
    file = folder / "ward.jsonl"
    record = {"name": "admit", "occurrence": 3, "patient": "001010", "bed": 7}
    file.write_text(json.dumps(record) + "\n")
    return file


def parquet(folder: Path) -> Path:
    pq.write_table(TABLE, folder / "admit.parquet")
    return folder / "admit.parquet"


def text_file(folder: Path) -> Path:
    file = folder / "ward.txt"
    file.write_text("admit|3|3| 001010 |7\n")
    return file


def pandas_frame(folder: Path) -> Any:
    return {"admit": pytest.importorskip("pandas").DataFrame({"occurrence": [3], **ARGUMENTS})}


def polars_frame(folder: Path) -> Any:
    return {"admit": pytest.importorskip("polars").DataFrame({"occurrence": [3], **ARGUMENTS})}


SOURCES: dict[str, Callable[[Path], Any]] = {
    "csv": csv,
    "mapped csv": mapped_csv,
    "json lines": json_lines,
    "parquet": parquet,
    "text file": text_file,
    "pandas": pandas_frame,
    "polars": polars_frame,
    "text": lambda folder: "admit|3|3|001010|7\n",
    # A line with a zero byte is left to the reader of single lines.
    "odd lines": lambda folder: ["admit|3|3|001010|7", "other|3|3|\0"],
    "a table": lambda folder: {"admit": TABLE},
    "one table": lambda folder: TABLE.append_column("name", pa.array(["admit"])),
    "tuples": lambda folder: [("admit", 3, 3, "001010", 7)],
    "mappings": lambda folder: [
        {"name": "admit", "occurrence": 3, "patient": "001010", "bed": 7}
    ],
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_declared_text_stays_as_it_is_written(source: str, tmp_path: Path) -> None:
    assert cernis.load(WARD).run(SOURCES[source](tmp_path)).text() == ANSWER


@pytest.mark.parametrize(
    ("given", "text"), [(1010, "'1010'"), (2.5, "'2.5'"), (True, "true"), ("1e3", "'1e3'")]
)
def test_a_number_in_a_column_of_text_becomes_text(given: Any, text: str) -> None:
    program = cernis.load(WARD)
    answer = f"holdsFor(in_bed({text})=7, [(4,inf)]).\n"
    table = pa.table({"occurrence": [3], "patient": [given], "bed": [7]})
    assert program.run({"admit": table}).text() == answer
    assert program.run([("admit", 3, 3, given, 7)]).text() == answer


def test_a_declared_value_of_a_fluent_stays_text() -> None:
    program = cernis.load("""\
    :- event(pass(text)).
    :- fluent(badge(person:text)=number:text).
    points(badge(_)=_).
    initiatedAt(seen(P)=N, T) :- happensAt(pass(P), T), holdsAt(badge(P)=N, T).
    """)
    answer = program.run("badge|2|2|007|01\npass|2|2|01\n").text()
    assert answer == "holdsFor(seen('01')='007', [(3,inf)]).\n"


def test_a_retraction_finds_its_record_among_declared_text() -> None:
    session = cernis.load(WARD).session(window=10)
    session.insert("admit|3|3|001010|7\n")
    session.insert("-admit|4|3|001010|7\nadmit|4|4|2.50|7\n")
    session.query(5)
    assert [row["args"] for row in session.intervals().to_pylist()] == [["2.50"]]


# -- times -------------------------------------------------------------------------------------

HALF = datetime.datetime(2025, 1, 31, 12, 0, 0, 500_000)


def times_in(folder: Path, time: str) -> dict[str, Any]:
    """The same time with a fraction of a second in every source that can hold one."""
    (folder / "admit.csv").write_text(f"occurrence,patient,bed\n{time},001010,7\n")
    record = {"name": "admit", "occurrence": time, "patient": "001010", "bed": 7}
    (folder / "ward.jsonl").write_text(json.dumps(record) + "\n")
    moment = datetime.datetime.fromisoformat(time)
    typed = pa.table({"occurrence": pa.array([moment], pa.timestamp("us")), **ARGUMENTS})
    pq.write_table(typed, folder / "admit.parquet")
    return {
        "csv": folder / "admit.csv",
        "json lines": folder / "ward.jsonl",
        "parquet": folder / "admit.parquet",
        "text column": {"admit": pa.table({"occurrence": [time], **ARGUMENTS})},
        "pandas": {"admit": typed.to_pandas()},
        "datetime": [("admit", moment, moment, "001010", 7)],
        "numpy": [("admit", np.datetime64(time, "ns"), np.datetime64(time, "ns"), "001010", 7)],
        "mapping": [record],
    }


@pytest.mark.parametrize(
    "source",
    ["csv", "json lines", "parquet", "text column", "pandas", "datetime", "numpy", "mapping"],
)
def test_a_fraction_of_a_second_is_an_error_at_once(source: str, tmp_path: Path) -> None:
    program = cernis.load(WARD)
    with pytest.raises(DataError, match="fraction of a second"):
        program.run(times_in(tmp_path, "2025-01-31T12:00:00.500000")[source])
    whole = program.run(times_in(tmp_path, "2025-01-31T12:00:00")[source])
    assert whole.summary.end == 1738324800


def test_a_fraction_of_a_second_in_an_argument_is_an_error_too() -> None:
    program = cernis.load("initiatedAt(due(X)=D, T) :- happensAt(order(X, D), T).")
    table = pa.table({"occurrence": [1], "X": ["a"], "D": pa.array([HALF], pa.timestamp("us"))})
    with pytest.raises(DataError, match="column D of order.*fraction of a second"):
        program.run({"order": table})


# -- probabilities -----------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["arrow", "pandas", "nan", "csv", "json", "one table", "rows"])
def test_a_record_without_a_readable_probability_is_set_aside(source: str, tmp_path: Path) -> None:
    columns = {"occurrence": [3, 3], "probability": [None, 0.9], "patient": ["a", "b"]}
    columns["bed"] = [7, 8]
    table = pa.table(columns)
    rows = [{"name": "admit", **row} for row in table.to_pylist()]
    (tmp_path / "admit.csv").write_text("occurrence,probability,patient,bed\n3,,a,7\n3,0.9,b,8\n")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    nan = table.set_column(1, "probability", pa.array([float("nan"), 0.9]))
    sources = {
        "arrow": {"admit": table}, "pandas": {"admit": table.to_pandas()}, "nan": {"admit": nan},
        "csv": tmp_path / "admit.csv", "json": tmp_path / "a.jsonl", "rows": rows,
        "one table": table.append_column("name", pa.array(["admit", "admit"])),
    }  # fmt: skip
    summary = cernis.load(WARD).run_uncertain(sources[source]).summary
    assert (summary.used, [each.reason for each in summary.set_aside]) == (
        1, ["a probability must be a number from 0 to 1"],
    )  # fmt: skip


def test_a_column_of_nothing_but_missing_probabilities_sets_all_rows_aside() -> None:
    columns = {"occurrence": [3], "probability": pa.nulls(1), "patient": ["a"], "bed": [7]}
    with pytest.warns(InputWarning, match="1 of 1 records are not used"):
        summary = cernis.load(WARD).run_uncertain({"admit": pa.table(columns)}).summary
    assert (summary.used, len(summary.set_aside)) == (0, 1)


@pytest.mark.parametrize("depth", [900, 100_000])
def test_a_line_of_json_may_be_nested_as_deep_as_it_likes(depth: int, tmp_path: Path) -> None:
    good = {"name": "admit", "occurrence": 3, "patient": "001010", "bed": 7}
    deep = json.dumps({**good, "patient": 0}).replace(": 0", f": {'[' * depth}{']' * depth}")
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(good)}\n{deep}\n{'[' * depth}\n")
    with pytest.warns(InputWarning, match="2 of 3 records are not used"):
        result = cernis.load(WARD).run(tmp_path / "a.jsonl")
    assert result.text() == ANSWER
    assert [each.line for each in result.summary.set_aside] == [2, 3]
