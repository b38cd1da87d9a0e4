"""Events of any form and files of any format give the same result."""

from __future__ import annotations

import datetime
import io
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cernis
from cernis.errors import DataError
from cernis.program import Program
from cernis.records.record_columns import Records, coded
from cernis.records.record_sources import read_events
from tests.records.support import TOY_ANSWER, TOY_RECORDS, asides, kinds, rows, toy

RECORDS = [
    (name, int(arrival), int(occurrence), *args)
    for name, arrival, occurrence, *args in (line.split("|") for line in TOY_RECORDS.splitlines())
]
NAMES = ("go_to", "win_lottery", "lose_wallet")


@pytest.fixture(scope="module")
def program() -> Program:
    return toy()


def tables(*titles: str) -> dict[str, pa.Table]:
    """The toy records as one table a relation."""
    found = {}
    for name in NAMES:
        own = [row for row in RECORDS if row[0] == name]
        columns: dict[str, list[Any]] = {"occurrence": [row[2] for row in own]}
        for at in range(len(own[0]) - 3):
            columns[titles[at]] = [row[3 + at] for row in own]
        found[name] = pa.table(columns)
    return found


def one_table(as_lists: bool) -> pa.Table:
    columns: dict[str, list[Any]] = {
        "name": [row[0] for row in RECORDS],
        "arrival": [row[1] for row in RECORDS],
        "occurrence": [row[2] for row in RECORDS],
    }
    if as_lists:
        return pa.table({**columns, "args": [list(row[3:]) for row in RECORDS]})
    columns["X"] = [row[3] for row in RECORDS]
    columns["Y"] = [row[4] if len(row) > 4 else None for row in RECORDS]
    return pa.table(columns)


def dictionaries() -> list[dict[str, Any]]:
    return [{"name": n, "occurrence": o, "args": list(args)} for n, _, o, *args in RECORDS]


FORMS: dict[str, Any] = {
    "text": TOY_RECORDS,
    "lines": TOY_RECORDS.splitlines(),
    "tuples": RECORDS,
    "a generator": (row for row in RECORDS),
    "mappings": dictionaries(),
    "mappings by argument": [
        {"name": "go_to", "arrival": 9, "occurrence": 9, "Y": "work", "X": "chris"},
        *dictionaries()[1:],
    ],
    "tables": tables("a", "b"),
    "tables by argument": {
        **tables("a", "b"),
        "go_to": tables("X", "Y")["go_to"].select(["Y", "occurrence", "X"]),
    },
    "a table": one_table(False),
    "a table with lists": one_table(True),
    "a batch": one_table(True).to_batches()[0],
    "several tables": [one_table(True).slice(0, 2), one_table(False).slice(2)],
    "tuples by relation": {n: [row[1:] for row in RECORDS if row[0] == n] for n in NAMES},
    "dictionary-encoded": {
        name: table.set_column(1, "a", table.column("a").dictionary_encode())
        for name, table in tables("a", "b").items()
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_events_gives_the_same(program: Program, form: str) -> None:
    result = program.run(FORMS[form])
    assert result.text() == TOY_ANSWER
    assert (result.summary.records, result.summary.used) == (5, 5)


@pytest.mark.parametrize("as_lists", [True, False])
def test_pandas(program: Program, as_lists: bool) -> None:
    pytest.importorskip("pandas")
    assert program.run(one_table(as_lists).to_pandas()).text() == TOY_ANSWER
    frames = {name: table.to_pandas() for name, table in tables("a", "b").items()}
    assert program.run(frames).text() == TOY_ANSWER


@pytest.mark.parametrize("as_lists", [True, False])
def test_polars(program: Program, as_lists: bool) -> None:
    polars = pytest.importorskip("polars")
    assert program.run(polars.from_arrow(one_table(as_lists))).text() == TOY_ANSWER
    frames = {name: polars.from_arrow(table) for name, table in tables("a", "b").items()}
    assert program.run(frames).text() == TOY_ANSWER


def write_files(folder: Path) -> dict[str, list[Path]]:
    """The toy records in files of all formats."""
    (folder / "toy.txt").write_text(TOY_RECORDS)
    (folder / "rtec.csv").write_text(TOY_RECORDS)
    lines = [json.dumps(row) for row in [*dictionaries()[:3], *RECORDS[3:]]]
    (folder / "toy.jsonl").write_text("\n".join(lines))
    pq.write_table(one_table(True), folder / "mixed.parquet")
    (folder / "halves").mkdir()
    halves = TOY_RECORDS.splitlines(keepends=True)
    for at, half in enumerate([halves[3:], halves[:3]]):
        (folder / "halves" / f"{at}.txt").write_text("".join(half))
    for name, table in tables("a", "b").items():
        pq.write_table(table, folder / f"{name}.parquet")
        columns = zip(*(column.to_pylist() for column in table.columns), strict=True)
        text = [",".join(table.column_names), *(",".join(map(str, row)) for row in columns)]
        (folder / f"{name}.csv").write_text("\n".join(text) + "\n")
    return {
        "text": [folder / "toy.txt"],
        "text called csv": [folder / "rtec.csv"],
        "json": [folder / "toy.jsonl"],
        "parquet": [folder / f"{name}.parquet" for name in NAMES],
        "one parquet": [folder / "mixed.parquet"],
        "csv": [folder / f"{name}.csv" for name in NAMES],
        "two texts": sorted((folder / "halves").iterdir()),
    }


@pytest.mark.parametrize(
    "form", ["text", "text called csv", "json", "parquet", "one parquet", "csv", "two texts"]
)
def test_every_format_of_files_gives_the_same(program: Program, tmp_path: Path, form: str) -> None:
    files = write_files(tmp_path)[form]
    assert program.run(files).text() == TOY_ANSWER
    assert program.run([str(file) for file in files]).text() == TOY_ANSWER
    if len(files) == 1:
        assert program.run(files[0]).text() == program.run(str(files[0])).text() == TOY_ANSWER


def test_lines_are_counted_in_each_file(program: Program, tmp_path: Path) -> None:
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text("win_lottery|1|1|a\nwin_lottery|x|1|a\n")
    second.write_text("\nwin_lottery|1|1\n-win_lottery|2|1|a\n-win_lottery|2|1|b")
    result = program.run([first, second])
    assert [(each.source, each.line) for each in result.summary.set_aside] == [
        (str(first), 2),
        (str(second), 2),
        (str(second), 4),
    ]
    # A record of one file is retracted by another.
    assert result.text() == ""


def test_standard_input(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TOY_RECORDS.encode())))
    assert program.run("-").text() == TOY_ANSWER


# -- times and values of tables ------------------------------------------------------------------


def read(program: Program, events: Any) -> Records:
    return read_events(events, program.checked)


def test_dates_and_times_are_seconds(program: Program) -> None:
    when = datetime.datetime(1970, 1, 1, 0, 1, tzinfo=datetime.UTC)
    columns: list[Any] = [
        pa.array([when], pa.timestamp("ms", "UTC")),
        pa.array([when.replace(tzinfo=None)], pa.timestamp("ns")),
        pa.array([60.0]),
        pa.array(["60"]),
        pa.array(["1970-01-01T01:01:00+01:00"]),
        pa.array([60], pa.uint64()),
    ]
    for column in columns:
        found = rows(read(program, {"win_lottery": pa.table({"occurrence": column, "who": ["a"]})}))
        assert found[1][1] == (60, 60)
    assert rows(read(program, [("win_lottery", when, when, "a")]))[1][1] == (60, 60)
    day = pa.table({"occurrence": pa.array([1], pa.date32()), "who": ["a"]})
    assert rows(read(program, {"win_lottery": day}))[1][1] == (86400, 86400)


def test_rows_with_something_missing_or_wrong_are_set_aside(program: Program) -> None:
    table = pa.table({
        "arrival": pa.array([1, None, 3, 4, 5]),
        "occurrence": pa.array([1.0, 2.0, float("inf"), 4.0, 2.0**63]),
        "who": ["a", "b", "c", None, "e"],
    })  # fmt: skip
    found = read(program, {"win_lottery": table})
    assert asides(found) == [
        (2, "the time is missing"),
        (3, "a time must be a whole number or like 2026-03-29T03:00"),
        (4, "a value is missing"),
        (5, "a time must lie between -2^62 and 2^62"),
    ]
    assert found.set_aside[2].text == "win_lottery|4|4.0|"
    assert list(rows(found)) == [1]


def test_rows_given_one_by_one_may_be_wrong(program: Program) -> None:
    given: list[Any] = [
        ("win_lottery", 1, 1, "a"), ("win_lottery", 1), ("win_lottery", "1:5", 1, "a"),
        ("win_lottery", 1, 1, None), ("win_lottery", 1, 1, float("nan")), ("foo", 1, 1),
        ("win_lottery", 1, 1, [1]), 7, {"occurrence": 1}, {"name": "win_lottery", "args": []},
        {"name": "win_lottery", "occurrence": 1, "args": "a"}, ("rich", 1, 1, "true", "a"),
        ("win_lottery", True, 1, "a"), ("0.5::win_lottery", 1, 1, "a"),
    ]  # fmt: skip
    found = read(program, given)
    assert list(rows(found)) == [1]
    assert (found.ignored, found.count) == ({"foo": 1}, len(given))
    assert [line for line, _ in asides(found)] == [2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14]


def test_values_of_rows_keep_their_types() -> None:
    program = kinds()
    given = [("plain", 1, 1, "3", 3), ("plain", 1, 1, 3.0, True)]
    assert [row[2] for row in rows(read(program, given)).values()] == [("3", 3), (3.0, "true")]


def test_fluents_of_rows_and_tables() -> None:
    program = kinds()
    wanted = {
        "speed/1": ((3, 2), (12, "v1")),
        "near/2": ((4, 4, "inf"), ("true", "v1", "v2")),
    }
    by_name: list[Any] = [
        {"name": "speed", "arrival": 3, "occurrence": 2, "value": 12, "args": ["v1"]},
        {"fluent": "near", "start": 4, "end": None, "value": True, "args": ["v1", "v2"]},
    ]
    as_tables = {
        "speed": pa.table({"arrival": [3], "occurrence": [2], "value": [12], "who": ["v1"]}),
        "near": pa.table({
            "W": ["v2"], "V": ["v1"], "value": [True], "start": [4],
            "end": pa.array([None], pa.int64()), "open": [True],
        }),
    }  # fmt: skip
    by_place = [("speed", 3, 2, 12, "v1"), ("near", 4, 4, None, "true", "v1", "v2")]
    for form in (by_name, as_tables, by_place):
        assert {row[0]: row[1:3] for row in rows(read(program, form)).values()} == wanted


def test_results_can_be_input_again(program: Program) -> None:
    result = program.run(TOY_RECORDS)
    later = cernis.load(
        "initiatedAt(seen(X)=L, T) :- happensAt(party(X), T), holdsAt(location(X)=L, T).\n"
        "holdsFor(at_home(X)=true, I) :- holdsFor(location(X)=home, I).\n"
    )
    wanted = "holdsFor(at_home(chris)=true, [(22,inf)]).\nholdsFor(seen(chris)=work, [(14,inf)]).\n"
    both = {"location": result.fluent("location"), "party": result.event("party")}
    assert later.run(both, end=30).text() == wanted
    assert later.run([result.intervals, result.happenings], end=30).text() == wanted


def test_occurrences_of_patterns_can_be_input_again() -> None:
    """As events at their ends, beside happenings that have no start."""
    found = cernis.load("e(X) <- a(X) seq b(X).\nhappensAt(d(X), T) :- happensAt(a(X), T).").run(
        [("a", 1, 1, "x"), ("b", 3, 3, "x")]
    )
    assert found.happenings["start"].to_pylist() == [None, 1]
    later = cernis.load("happensAt(f(X), T) :- happensAt(e(X), T).\n"
                        "happensAt(g(X), T) :- happensAt(d(X), T).\n")  # fmt: skip
    wanted = "happensAt(f(x), [3]).\nhappensAt(g(x), [1]).\n"
    assert later.run(found.happenings).text() == wanted
    assert later.run({"e": found.event("e"), "d": found.event("d")}).text() == wanted


def test_retractions_in_tables_and_mappings(program: Program) -> None:
    table = pa.table({
        "arrival": [1, 2, 3], "occurrence": [1, 2, 1], "who": ["a", "b", "a"],
        "retracts": [False, False, True],
    })  # fmt: skip
    assert program.run({"win_lottery": table}).fluent("rich").column("x").to_pylist() == ["b"]
    given = [
        {"name": "win_lottery", "occurrence": 1, "args": ["a"]},
        {"name": "-win_lottery", "arrival": 2, "occurrence": 1, "args": ["a"]},
        {"name": "win_lottery", "occurrence": 3, "args": ["b"]},
        {"name": "win_lottery", "arrival": 4, "occurrence": 3, "args": ["b"], "retracts": True},
    ]
    assert program.run(given).text() == ""


# -- wrong input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (3, "events cannot be a int"),
        (b"win_lottery|1|1|a", "events cannot be a bytes"),
        ({"win_lottery": 3}, "win_lottery must be a table or a list of rows, not a int"),
        ({"win_lottery": pa.table({"who": ["a"]})}, "has no column occurrence; there are who"),
        (pa.table({"occurrence": [1]}), "has no column name"),
        ({"rich": pa.table({"occurrence": [1], "v": [1], "x": [1]})}, "rich is defined by rules"),
        (
            {"win_lottery": pa.table({"occurrence": [1], "a": [1], "b": [1]})},
            "win_lottery has 1 column beside the times (X), not 2: a, b",
        ),
        (
            {"win_lottery": pa.table({"occurrence": [[1]], "a": [1]})},
            "column occurrence of win_lottery has the type list",
        ),
        (
            {"win_lottery": pa.table({"occurrence": [1], "a": [{"b": 1}]})},
            "column a of win_lottery has the type struct",
        ),
        ("nowhere.txt", "nowhere.txt: there is no such file"),
        (".", "is a directory; name files of it"),
    ],
)
def test_wrong_events_are_told(program: Program, events: Any, words: str) -> None:
    with pytest.raises(DataError) as error:
        program.run(events)
    assert words in str(error.value)


def test_text_where_a_number_is_compared_is_told() -> None:
    program = cernis.load("initiatedAt(fast(X)=true, T) :- happensAt(speed(X, S), T), S > 10.")
    table = pa.table({"occurrence": [1], "who": ["a"], "speed": ["high"]})
    result = program.run({"speed": table})
    assert result.summary.remarks == (
        "argument 2 of speed/2 is text in 1 of 1 records, where rules compare it as a number",
    )
    # One text among numbers compares with nothing, and is remarked on.
    result = program.run("speed|1|1|a|12\nspeed|2|2|b|high\n")
    assert result.text() == "holdsFor(fast(a)=true, [(2,inf)]).\n"
    assert result.summary.remarks == (
        "argument 2 of speed/2 is text in 1 of 2 records, where rules compare it as a number",
    )


def test_broken_files_are_told(program: Program, tmp_path: Path) -> None:
    for name in ("broken.parquet", "broken.csv"):
        (tmp_path / name).write_bytes(b"PAR1 no")
        with pytest.raises(DataError) as error:
            program.run(tmp_path / name)
        words = "is Parquet: give the file" if name.endswith("csv") else "cannot be read"
        assert f"{name}: {words}" in str(error.value)
    (tmp_path / "broken.jsonl").write_text('{"name": \n[1, 2\n["win_lottery", 1, 1, "a"]\n')
    result = program.run(tmp_path / "broken.jsonl")
    assert [(a.line, a.reason) for a in result.summary.set_aside] == [
        (1, "the line is not JSON"),
        (2, "the line is not JSON"),
    ]
    assert result.fluent("rich").column("start").to_pylist() == [2]


def test_strict_refuses_what_cannot_be_read(program: Program) -> None:
    text = "win_lottery|1|1|a\n" + "win_lottery|x|1|a\n" * 7
    with pytest.raises(DataError) as error:
        program.run(text, strict=True)
    lines = str(error.value).splitlines()
    assert lines[0] == "7 of 8 records cannot be used"
    assert lines[1] == "line:2: a time must be a whole number or like 2026-03-29T03:00"
    assert lines[-1] == "and 2 more"
    assert program.run("foo|1|1\nwin_lottery|1|1|a\n", strict=True).summary.ignored == {"foo": 1}


def test_no_events_at_all(program: Program) -> None:
    empty: list[Any] = ["\n", [], {}, iter(()), {"win_lottery": []}, one_table(True).slice(0, 0)]
    for events in empty:
        result = program.run(events)
        assert (result.text(), result.summary.records) == ("", 0)
        assert result.intervals.num_rows == result.happenings.num_rows == 0


def test_a_record_of_one_line_needs_no_line_end(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    program = cernis.load("initiatedAt(f(X)=true, T) :- happensAt(e(X), T).")
    assert len(program.run("e|1|1|ann").intervals) == 1
    Path("e|1|1|ann").write_text("e|1|1|bob\n", "utf-8")
    assert "bob" in program.run("e|1|1|ann").text()
    with pytest.raises(DataError, match="there is no such file .* a text record has fields with"):
        program.run("events.txt")
    with pytest.raises(DataError, match="is no name of a file"):
        program.run("a" * 5000)


def test_rules_that_are_the_name_of_a_file() -> None:
    with pytest.raises(cernis.ProgramError, match=r"read as rules.* give Path\('my rules.txt'\)"):
        cernis.load("my rules.txt")


def test_text_in_parquet_files_is_read_as_from_tables(program: Program, tmp_path: Path) -> None:
    table = pa.table(
        {
            "arrival": ["2020-01-01T00:00:09", "8", "9", "12", "13", "soon"],
            "occurrence": ["2020-01-01T00:00:08", "8", "9", "12", "13", "14"],
            "X": ["chris", "chris", None, "ann", "chris", "bob"],
            "Y": ["home", "work", "pub", "pub", "work", "home"],
            "retracts": ["false", "", "true", "false", None, "true"],
        }
    )
    pq.write_table(table, tmp_path / "go_to.parquet", row_group_size=2)
    from_file = read_events(tmp_path / "go_to.parquet", program.checked)
    from_table = read_events({"go_to": table}, program.checked)
    assert rows(from_file) == rows(from_table)
    assert sorted(rows(from_file)) == [1, 2, 4, 5]
    assert asides(from_file) == asides(from_table)
    # What was set aside leaves none of its values.
    (part,) = from_file.relations.values()
    assert [sorted(map(str, coded(column).values)) for column in part.columns] == [
        ["ann", "chris"],
        ["home", "pub", "work"],
    ]


@pytest.mark.parametrize("other", ["11", "1970-01-01T00:00:11"])
def test_times_of_csv_files_may_have_a_sign(program: Program, tmp_path: Path, other: str) -> None:
    file = tmp_path / "win_lottery.csv"
    file.write_text(f"occurrence,X\n+9,chris\n 10 ,chris\n{other},chris\n-0,chris\n")
    found = rows(read_events(file, program.checked))
    assert [found[line][1][1] for line in sorted(found)] == [9, 10, 11, 0]


def test_decimals_of_rows_are_read_as_those_of_columns() -> None:
    program = cernis.load("initiatedAt(at(X)=D, T) :- happensAt(dose(X, D), T).")
    rows = [("dose", 1, 1, "a", Decimal("2.50"))]
    table = pa.table({"X": ["a"], "D": [Decimal("2.50")], "occurrence": [1]})
    assert program.run(rows).text() == program.run({"dose": table}).text()
    assert "at(a)=2.5" in program.run(rows).text()


def test_titles_may_have_blanks_around_them(tmp_path: Path, program: Program) -> None:
    plain = pa.table({"who ": ["kim"], " occurrence": [3]})
    expected = "holdsFor(rich(kim)=true, [(4,inf)])."
    assert expected in program.run({"win_lottery": plain}).text()
    (tmp_path / "win_lottery.csv").write_text(" who, occurrence\n kim, 3\n")
    assert expected in program.run(tmp_path / "win_lottery.csv").text()
