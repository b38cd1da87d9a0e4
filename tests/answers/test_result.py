"""Results as tables, in memory and in files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

import cernis
from cernis.answers.answer_tables import INTERVALS
from cernis.answers.result import Result
from cernis.answers.writers import OutputFormat, claim, file_names, write
from cernis.check.model import Relation
from cernis.errors import CernisError, DataError
from tests.records.support import TOY_ANSWER, TOY_RECORDS, toy


@pytest.fixture(scope="module")
def result() -> Result:
    return toy().run(TOY_RECORDS)


def test_all_intervals_in_one_table(result: Result) -> None:
    assert result.intervals.schema == INTERVALS
    assert result.intervals.to_pylist()[:2] == [
        {"fluent": "happy", "args": ["chris"], "value": "true", "start": 14, "end": 22,
         "open": False},
        {"fluent": "location", "args": ["chris"], "value": "home", "start": 22, "end": None,
         "open": True},
    ]  # fmt: skip
    assert result.happenings.to_pylist() == [
        {"event": "party", "args": ["chris"], "start": None, "occurrence": 13}
    ]
    assert repr(result) == "<Result: 5 intervals of 3 fluents, 1 happenings of 1 events>"


def test_a_fluent_has_the_columns_of_its_rules(result: Result) -> None:
    assert result.fluent("location").to_pydict() == {
        "x": ["chris"] * 3,
        "value": ["home", "pub", "work"],
        "start": [22, 18, 10],
        "end": [None, 22, 18],
        "open": [True, False, False],
    }
    assert result.fluent("rich/1").num_rows == 1
    assert result.event("party").to_pydict() == {"x": ["chris"], "occurrence": [13]}


def test_a_name_that_is_not_there_lists_those_that_are(result: Result) -> None:
    with pytest.raises(CernisError, match="no fluent poor; there are"):
        result.fluent("poor")
    with pytest.raises(CernisError, match="there is no event rich; there are party/1"):
        result.event("rich")


def test_a_name_with_several_arities_must_say_which() -> None:
    program = cernis.load(
        "initiatedAt(f(X)=true, T) :- happensAt(e(X, _), T).\n"
        "initiatedAt(f(X, Y)=true, T) :- happensAt(e(X, Y), T).\n"
    )
    result = program.run([("e", 1, 1, "a", "b")])
    with pytest.raises(CernisError, match="there are several: f/1, f/2"):
        result.fluent("f")
    assert result.fluent("f/2").column_names == ["x", "y", "value", "start", "end", "open"]
    assert file_names(result.answer.fluents) == {Relation("f", 1): "f_1", Relation("f", 2): "f_2"}


def test_columns_are_typed_by_what_is_in_them() -> None:
    program = cernis.load("initiatedAt(f(A, B, C, D)=V, T) :- happensAt(e(A, B, C, D, V), T).")
    rows = [("e", 1, 1, 1, 1.5, "x", 1, 2**62), ("e", 2, 2, 2, 2, "y", "z", 0.5)]
    table = program.run(rows).fluent("f")
    kinds = [table.schema.field(name).type for name in ("a", "b", "c", "d", "value")]
    assert kinds == [pa.int64(), pa.float64(), pa.string(), pa.string(), pa.string()]
    assert table.column("d").to_pylist() == ["1", "z"]
    # As a float the first would be another number.
    assert table.column("value").to_pylist() == [str(2**62), "0.5"]


def test_numbers_that_are_reckoned_with_stay_numbers() -> None:
    program = cernis.load("initiatedAt(fast(V)=S, T) :- happensAt(speed(V, S), T), S > 10.")
    table = program.run([("speed", 1, 1, 7, 12.5), ("speed", 2, 2, 8, 11.0)]).fluent("fast")
    assert table.select(["v", "value"]).to_pydict() == {"v": [7, 8], "value": [12.5, 11.0]}


def test_titles_of_arguments_do_not_clash_with_others() -> None:
    program = cernis.load("initiatedAt(f(_value, _end)=true, T) :- happensAt(e(_value, _end), T).")
    table = program.run([("e", 1, 1, "a", "b")]).fluent("f")
    assert table.column_names == ["value_", "end_", "value", "start", "end", "open"]


def test_fluents_without_arguments_and_compound_ones() -> None:
    program = cernis.load(
        "initiatedAt(alarm=on, T) :- happensAt(fire, T).\n"
        "initiatedAt(obl(pay(C, G))=true, T) :- happensAt(order(C, G), T).\n"
    )
    result = program.run([("fire", 1, 1), ("order", 2, 2, "c", "g")])
    assert result.fluent("alarm").to_pydict()["value"] == ["on"]
    assert result.fluent("obl").column_names[:2] == ["c", "g"]
    assert [row["args"] for row in result.intervals.to_pylist()] == [[], ["c", "g"]]
    assert file_names(result.answer.fluents)[Relation("obl(pay(_,_))", 2)] == "obl_pay"


def test_what_holds_at_a_point(result: Result) -> None:
    def held(time: int) -> list[str]:
        return [f"{r['fluent']}={r['value']}" for r in result.holds_at(time).to_pylist()]

    assert held(9) == []
    assert held(15) == ["happy=true", "location=work", "rich=true"]
    assert held(20) == ["happy=true", "location=pub"]
    assert held(10**9) == ["location=home"]
    assert result.holds_at(15).column_names == ["fluent", "args", "value"]


def test_pandas_keeps_times_whole(result: Result) -> None:
    pytest.importorskip("pandas")
    frame = result.to_pandas()
    assert [str(kind) for kind in frame.dtypes[["start", "end", "open"]]] == [
        "Int64", "Int64", "bool",
    ]  # fmt: skip
    assert frame["end"].isna().tolist() == frame["open"].tolist()


# -- files ---------------------------------------------------------------------------------------


def names(directory: Path) -> set[str]:
    return {str(f.relative_to(directory)) for f in directory.rglob("*") if f.is_file()}


def test_text_is_one_file(result: Result, tmp_path: Path) -> None:
    write(result, tmp_path / "out", OutputFormat.TEXT)
    assert names(tmp_path / "out") == {"recognised.txt"}
    assert (tmp_path / "out" / "recognised.txt").read_text() == TOY_ANSWER


@pytest.mark.parametrize("form", [OutputFormat.CSV, OutputFormat.JSON])
def test_tables_are_a_file_each(result: Result, tmp_path: Path, form: OutputFormat) -> None:
    written = write(result, tmp_path, form)
    files = ["intervals", "happenings", "fluents/happy", "fluents/location", "fluents/rich"]
    wanted = {f"{file}.{form.ending}" for file in [*files, "events/party"]}
    assert names(tmp_path) == wanted == {str(f.relative_to(tmp_path)) for f in written}


def test_parquet_reads_back(result: Result, tmp_path: Path) -> None:
    write(result, tmp_path, OutputFormat.PARQUET)
    back = pq.read_table(tmp_path / "intervals")
    titles = result.intervals.column_names
    assert back.column_names == [*titles[1:], "fluent"]
    assert back.select(titles).to_pylist() == result.intervals.to_pylist()
    happened = pq.read_table(tmp_path / "happenings").select(result.happenings.column_names)
    assert happened.to_pylist() == result.happenings.to_pylist()
    assert names(tmp_path / "happenings") == {"event=party/part-00000-1-1.parquet"}
    assert (tmp_path / "_SUCCESS").exists()


def test_delta_reads_back(result: Result, tmp_path: Path) -> None:
    write(result, tmp_path, OutputFormat.DELTA)
    back = DeltaTable(tmp_path / "intervals").to_pyarrow_table()
    rows = back.select(result.intervals.column_names).to_pylist()
    assert sorted(rows, key=str) == sorted(result.intervals.to_pylist(), key=str)
    write(result, tmp_path, OutputFormat.PARQUET)
    assert not (tmp_path / "intervals" / "_delta_log").exists()


def test_a_selection_has_the_fluents_and_events_of_these_names(
    result: Result, tmp_path: Path
) -> None:
    selected = result.select("rich", "party/1")
    assert set(selected.intervals["fluent"].to_pylist()) == {"rich"}
    assert set(selected.happenings["event"].to_pylist()) == {"party"}
    assert set(result.intervals["fluent"].to_pylist()) == {"rich", "happy", "location"}
    assert "location" not in selected.text()
    with pytest.raises(DataError, match="no event ritch: did you mean rich"):
        result.select("ritch")


def test_csv_and_json_read_back(result: Result, tmp_path: Path) -> None:
    write(result, tmp_path, OutputFormat.CSV)
    with (tmp_path / "intervals.csv").open() as stream:
        first = next(csv.DictReader(stream))
    assert (first["args"], first["end"], first["open"]) == ("chris", "22", "false")
    write(result, tmp_path, OutputFormat.JSON)
    lines = (tmp_path / "intervals.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == result.intervals.to_pylist()


def test_an_earlier_result_is_replaced_and_nothing_else(result: Result, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    write(result, tmp_path, OutputFormat.PARQUET)
    write(result, tmp_path, OutputFormat.TEXT)
    assert names(tmp_path) == {"mine.txt", "recognised.txt"}


def test_a_folder_that_exists_is_refused(tmp_path: Path) -> None:
    claim(tmp_path / "new", False)
    claim(tmp_path, True)
    with pytest.raises(DataError, match="exists already; choose another name, or say --overwrite"):
        claim(tmp_path, False)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="is a file, not a folder"):
        claim(tmp_path / "file", True)


def test_what_was_set_aside_is_listed(tmp_path: Path) -> None:
    text = "win_lottery|x|1|a\nwin_lottery|2|2|b, c\nlose_wallet|99|3|b\nlose_wallet|40|40|d\n"
    result = toy().run(text, start=0, window=10, step=10, end=100)
    write(result, tmp_path, OutputFormat.TEXT)
    with (tmp_path / "set-aside.csv").open() as stream:
        rows = [tuple(row.values()) for row in csv.DictReader(stream)]
    assert rows == [
        (
            "",
            "1",
            "a time must be a whole number or like 2026-03-29T03:00",
            "win_lottery|x|1|a",
        ),
        ("", "3", "too late: it arrived when this time was forgotten", "lose_wallet|99|3|b"),
    ]


def test_answers_as_of_each_query(tmp_path: Path) -> None:
    result = toy().run(TOY_RECORDS, start=0, step=10, end=25, per_query=True)
    assert [query for query, _ in result.as_of] == [10, 20, 25]
    text = result.text()
    assert text.startswith("% query 10\nholdsFor(location(chris)=work, [(10,inf)]).\n% query 20\n")
    assert text.endswith(f"% query 25\n{TOY_ANSWER}")
    write(result, tmp_path, OutputFormat.TEXT)
    assert (tmp_path / "recognised.txt").read_text() == text
    write(result, tmp_path, OutputFormat.PARQUET)
    table = pq.read_table(tmp_path / "intervals")
    assert table.column_names == ["query", *INTERVALS.names[1:], "fluent"]
    last = table.filter(pa.compute.equal(table["query"], 25)).select(INTERVALS.names)
    assert last.to_pylist() == result.intervals.to_pylist()
