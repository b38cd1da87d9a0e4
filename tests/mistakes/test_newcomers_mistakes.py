"""Typical mistakes of newcomers: each is told at once, with its cause and with what to do.

A mistake is told if an error or a warning has all of the words that stand beside it, the first ones
about the cause, the last one about the remedy. None may take a second, once the package is loaded.
"""

from __future__ import annotations

import gzip
import time
import warnings
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import cernis

RULES = """\
:- event([spo2(bed:text, value:float), discharge(bed:text)]).
initiatedAt(low(Bed)=true, T)  :- happensAt(spo2(Bed, Value), T), Value < 90.
terminatedAt(low(Bed)=true, T) :- happensAt(spo2(Bed, Value), T), Value >= 90.
terminatedAt(low(Bed)=true, T) :- happensAt(discharge(Bed), T).
"""
CSV = "bed,value,occurrence\nb1,85,2026-03-29T03:00\nb1,95,2026-03-29T04:00\n"
ROW = ("spo2", 3, 3, "b1", 85.0)
PROGRAM = cernis.load(RULES)
ATHENS = cernis.load(RULES, timezone="Europe/Athens")
FOLD = [datetime(2026, 10, 25, 3, 30)]
TWICE = ["bed", "value", "value", "occurrence"]
START = "initiatedAt(low(Bed)=true, T) :- happensAt(spo2(Bed, V), T)"
MOST_SECONDS = 1.0
"""Of processor time, as other work of the machine does not count."""

Mistake = Callable[[], Any]


def file(content: str | bytes, name: str = "spo2.csv", **settings: Any) -> Mistake:
    """A run over a file of such content."""

    def run() -> Any:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return PROGRAM.run(name, **settings)

    return run


def columns(name: str = "spo2", **values: Any) -> Mistake:
    """A run over a Parquet file with such columns."""

    def run() -> Any:
        parquet.write_table(pa.table(values), f"{name}.parquet")
        return PROGRAM.run(f"{name}.parquet")

    return run


def frame(name: str | None = "spo2", index: Any = None, **values: Any) -> Mistake:
    """A run over a data frame with such columns."""
    table = pd.DataFrame(values, index=index)
    return lambda: PROGRAM.run(table if name is None else {name: table})


def rows(*records: Any, **settings: Any) -> Mistake:
    """A run over such records."""
    return lambda: PROGRAM.run(list(records) or [ROW], **settings)


def rules(text: Any, **settings: Any) -> Mistake:
    """Loading such rules."""
    return lambda: cernis.load(text, **settings)


MISTAKES: dict[str, tuple[Mistake, list[str]]] = {
    # names and columns
    "a file called as no relation": (
        file(CSV, "vitals.csv"),
        ["of no relation", "input is discharge, spo2", "Call the file spo2"]),
    "a table called as no relation": (
        frame("sp02", bed=["b"], value=[8.0], occurrence=[1]), ["sp02", "did you mean `spo2`"]),
    "a table without a relation": (
        frame(None, bed=["b"], value=[8.0], occurrence=[1]), ["no column name", "{'spo2': table}"]),
    "times in a column of another name": (
        file(CSV.replace("occurrence", "time")),
        ["no column occurrence; there are bed, value, time", 'occurrence = "time"']),
    "times in the index": (
        frame(bed=["b"], value=[8.0], index=pd.to_datetime(["2026-01-01"])),
        ["no column occurrence", "df.reset_index"]),
    "a misspelt column": (
        file(CSV.replace("value", "valeu")), ["bed, valeu", "bed, value", 'value = "valeu"']),
    "a missing column": (
        file("bed,occurrence\nb1,3\n"), ["2 columns", "not 1: bed", "value = "]),
    "Parquet without the column": (
        columns(bed=["b1"], occurrence=[3]), ["2 columns", "not 1: bed", "value = "]),
    "two columns of one name": (
        file("bed,value,value,occurrence\nb,1,2,3\n"), ["two columns value", "there are"]),
    "a mapping of a role that is none": (
        rows(mapping={"occurence": "time"}), ["occurence is neither a role", "occurrence"]),
    # files
    "an empty file": (file(""), ["spo2.csv is empty", "titles"]),
    "a file that is not there": (lambda: PROGRAM.run("spo3.csv"), ["no such file", "looked in"]),
    "a directory": (lambda: PROGRAM.run("."), ["is a directory", "name files of it"]),
    "semicolons": (file(CSV.replace(",", ";")), ["';' between titles", 'delimiter = ";"']),
    "tabs": (file(CSV.replace(",", "\t")), ["between titles", "delimiter"]),
    "another encoding": (
        file(CSV.replace("b1", "Bétt").encode("latin-1")),
        ["spo2.csv:2", "not UTF-8", "encoding ="]),
    "the encoding of spreadsheets": (
        file(CSV.encode("utf-16")), ["not UTF-8", 'encoding = "utf-16"']),
    "a short line": (file(CSV + "b2,3\n"), ["spo2.csv:4", "2 fields, and the first line 3"]),
    "a long line": (file(CSV + "b2,3,4,5\n"), ["spo2.csv:4", "4 fields, and the first line 3"]),
    "a compressed file": (file(gzip.compress(CSV.encode()), "spo2.csv.gz"), ["gzip", "unpack it"]),
    "a spreadsheet": (
        file(b"PK\x03\x04abc", "spo2.xlsx"), ["a spreadsheet", "save the sheet as CSV"]),
    "CSV called Parquet": (file(CSV, "spo2.parquet"), ["spo2.parquet", "cannot be read"]),
    # types and values
    "text where a number is declared": (
        file(CSV.replace("85", "n/a")), ["spo2.csv:2", "declared float, and n/a is not a number"]),
    "a decimal comma": (
        file(CSV.replace(",", ";").replace("85", "85,5"), mapping={"delimiter": ";"}),
        ["85,5 is not a number", "write 85.5"]),
    "a missing value": (
        frame(bed=["b", None], value=[8.0, 9.0], occurrence=[1, 2]),
        ["spo2:2", "a value is missing"]),
    "numbers and text in one column": (
        frame(bed=["b", 3], value=[8.0, 9.0], occurrence=[1, 2]), ["column bed", "astype(str)"]),
    "lists in a column": (
        columns(bed=[["b"]], value=[8.0], occurrence=[1]), ["column bed", "list", "cast it"]),
    # times
    "times of another form": (
        file(CSV.replace("2026-03-29T03:00", "29.03.2026 03:00")),
        ["spo2.csv:2", "a time must be a whole number or like 2026-03-29T03:00"]),
    "missing times": (
        frame(bed=["b"], value=[8.0], occurrence=[pd.NaT]), ["the time is missing"]),
    "times that are truth values": (
        frame(bed=["b"], value=[8.0], occurrence=[True]),
        ["type bool", "a whole number or a date"]),
    "fractions of seconds": (
        file(CSV.replace("03:00", "03:00:00.250")), ["fraction of a second", "time(unit(ms))"]),
    "milliseconds without a unit": (
        rows(("spo2", 1774753200000, 1774753200000, "b", 85.0)),
        ["seem to count ms", "time_unit=ms"]),
    "a unit that is none": (rules(START + ".", time_unit="minutes"), ["s, ms, us or ns"]),
    "a zone that is none": (rules(START + ".", timezone="Athens"), ["'Athens'", "Europe/Athens"]),
    "a window that is none": (rows(window="2 hrs"), ["window must be", "2h"]),
    "a run that ends before it starts": (rows(start=9, end=3), ["ends at 3", "starts at 9"]),
    "times with and without a zone": (
        file(CSV.replace("03:00", "03:00+02:00")),
        ["some times have a zone, and 1 have none, such as 2026-03-29T04:00", "say timezone="]),
    "a time that clocks skip": (
        lambda: ATHENS.run("spo2|1|2026-03-29T03:30|b1|85\n"),
        ["clocks in Europe/Athens skip 1 of the times", "write times with a zone"]),
    "a time that clocks show twice": (
        lambda: ATHENS.run({"spo2": pa.table({"bed": ["b"], "value": [8.0], "occurrence": FOLD})}),
        ["clocks in Europe/Athens show", "twice", "write times with a zone"]),
    "days as numbers": (
        file(CSV.replace("2026-03-29T03:00", "20260329").replace("2026-03-29T04:00", "20260330")),
        ["20260329 count seconds", "write 2026-03-29"]),
    "seconds with a point": (
        frame(bed=["b"], value=[8.0], occurrence=[1774753200.25]),
        ["1774753200.25 is no whole number", "round_times=True"]),
    "nanoseconds": (
        frame(bed=["b"], value=[8.0], occurrence=pd.to_datetime([1], unit="ns")),
        ["fraction of a second", "time(unit(ms))"]),
    "periods": (
        frame(bed=["b"], value=[8.0], occurrence=pd.period_range("2026-01", periods=1, freq="M")),
        ["a time is a whole number or a date", "dt.to_timestamp()"]),
    "durations": (
        frame(bed=["b"], value=[8.0], occurrence=pd.to_timedelta([1], unit="s")),
        ["duration", "add a duration to the time"]),
    # the nastiest of columns
    "two columns of one name in a data frame": (
        lambda: PROGRAM.run({"spo2": pd.DataFrame([["b", 1, 2, 3]], columns=TWICE)}),
        ["two columns value", "bed, value, value, occurrence", "otherwise"]),
    "a column of nothing": (
        columns(bed=pa.nulls(1), value=[8.0], occurrence=[1]), ["1 record set aside", "missing"]),
    "keys that are no numbers": (
        frame(bed=[7.0, float("nan")], value=[8.0, 9.0], occurrence=[1, 2]),
        ["spo2:2", "a value is missing"]),
    "structures in a column": (
        columns(bed=[{"ward": 1, "bed": 2}], value=[8.0], occurrence=[1]),
        ["column bed", "struct", "cast it"]),
    "a query that was not run": (
        lambda: PROGRAM.run({"spo2": pl.LazyFrame({"bed": ["b"]})}), ["LazyFrame", "collect()"]),
    "a quotation mark that stays open": (
        file(CSV + '"b2,85,2026-03-29T05:00\n'), ["spo2.csv:4", "never closed", "written twice"]),
    # records one by one
    "no arrival in a tuple": (
        rows(("spo2", 3, "b", 85.0)), ["(name, arrival, occurrence, bed, value), not 4"]),
    "one record and no list": (lambda: PROGRAM.run(ROW), ["one record", "give a list"]),
    "one mapping and no list": (
        lambda: PROGRAM.run({"name": "spo2", "bed": "b", "value": 3, "occurrence": 1}),
        ["one record", "in a list"]),
    "no events": (
        lambda: PROGRAM.run(None), ["cannot be a NoneType", "give tables, rows or files"]),
    # rules
    "less or equal as elsewhere": (rules(START + ", V <= 90."), ["`<=`", "V =< 90."]),
    "unequal as elsewhere": (rules(START + ", V != 90."), ["`!=`", "V =\\= 90."]),
    "and as elsewhere": (rules(START + " && V < 90."), ["`&&`", "T), V < 90."]),
    "the word and": (rules(START + " and V < 90."), ["`and`", "T), V < 90."]),
    "a comment as in Python": (rules("# low\n" + START + "."), ["`#`", "% low"]),
    "a comment as in C": (rules("// low\n" + START + "."), ["`//`", "a comment begins with `%`"]),
    "a full stop forgotten": (
        rules(START + "\n" + START + "."), ["`.`", "is missing", START + "."]),
    "a lower-case variable": (
        rules(START + ".\nterminatedAt(low(bed)=true, T) :- happensAt(discharge(bed), T)."),
        ["bed", "Bed"]),
    "two names for the time": (
        rules(START.replace("V), T)", "V), Time)") + "."),
        ["Time is not the time of this rule", "happensAt(spo2(Bed, V), T)."]),
    "a bracket forgotten": (rules(START.replace("V)", "V", 1) + "."), ["never closed by `)`"]),
    "a variable from nowhere": (rules(START + ", X < 90."), ["needs a value for X"]),
    "facts forgotten": (rules(START + ", ward(Bed, _)."), ["no predicate ward/2", "facts"]),
    "a misspelt happensAt": (
        rules(START.replace("happensAt", "happenAt") + "."), ["happenAt", "happensAt"]),
    "a misspelt initiatedAt": (
        rules(START.replace("initiatedAt", "initiated") + "."), ["initiated", "initiatedAt"]),
    "a fluent without a value": (
        rules(START.replace("=true", "") + "."), ["needs a fluent with its value", "=true"]),
    "a misspelt fluent": (
        rules(START + ".\nterminatedAt(lwo(Bed)=true, T) :- happensAt(discharge(Bed), T)."),
        ["lwo(Bed)=true is terminated, but nothing initiates it", "remove this rule, or add"]),
    "quotation marks of word processors": (
        rules(START + ", Bed = \u2018b1\u2019."), ["U+2018", "'"]),
    "a file of rules that is not there": (rules("rules.cer"), ["rules.cer", "does not exist"]),
    "rules of no kind": (rules(None), ["a program is", "NoneType"]),
    "columns of facts that do not fit": (
        rules(START + ", ward(Bed, _).", facts={"ward": [("b1", "w1", 3)]}),
        ["3 columns", "ask for 2", "as many columns"]),
    "facts that are no tables": (
        rules(START + ", ward(Bed, _).", facts=pd.DataFrame({"bed": ["b1"]})),
        ["facts are tables by the names of predicates", "{'bed': table}"]),
    "an unknown setting": (lambda: PROGRAM.run([ROW], windw="2h"), ["windw"]),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """The package and what it needs are loaded: this is not what a mistake takes."""
    PROGRAM.run({"spo2": pa.table({"bed": ["b"], "value": [80.0], "occurrence": [1]})})
    np.zeros(1)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_its_cause_and_what_to_do(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make, words = MISTAKES[name]
    began = time.process_time()
    told = messages(make)
    took = time.process_time() - began
    text = "\n".join(told)
    print(text)
    assert told, "nothing is said"
    assert [each for each in words if each not in text] == []
    assert took < MOST_SECONDS


def messages(make: Mistake) -> list[str]:
    """What a user reads: the error, or else warnings and diagnostics."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = make()
        except (cernis.CernisError, TypeError) as error:
            return [str(error)]
    told = [str(each.message) for each in warned]
    if isinstance(result, cernis.Program):
        told += [f"{each.message}; {each.help}" for each in result.diagnostics]
    return told


def test_there_are_more_than_seventy_mistakes() -> None:
    assert len(MISTAKES) >= 75
