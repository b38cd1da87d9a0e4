"""Which column is probably meant, and what to write."""

from __future__ import annotations

import pytest

from cernis.records.column_troubles import (
    likely_argument,
    likely_time,
    line_to_add,
    missing_column,
    seems_separated,
)


@pytest.mark.parametrize(
    ("titles", "guess"),
    [
        (["bed", "Time"], "Time"), (["bed", "event_time", "x"], "event_time"),
        (["recorded_at_time", "t"], "t"), (["bed", "created_timestamp"], "created_timestamp"),
        (["bed", "value"], None),
    ],
)  # fmt: skip
def test_the_likely_time(titles: list[str], guess: str | None) -> None:
    assert likely_time(titles) == guess


def test_the_likely_argument() -> None:
    assert likely_argument("value", ["bed", "Valeu"]) == "Valeu"
    assert likely_argument("value", ["bed"]) is None


def test_what_to_write_is_there_in_all_three_ways() -> None:
    text = missing_column("spo2.csv", "occurrence", ["bed", "ts"], ["bed", "value"], ["ts"])
    assert "there are bed, ts; expected are occurrence, bed, value" in text
    for words in ('occurrence = "ts"', "--map occurrence=ts", "mapping={'occurrence': 'ts'}"):
        assert words in text
    assert "if another column is it" in line_to_add("value", None)


def test_an_index_is_named() -> None:
    text = missing_column("spo2", "occurrence", ["bed", "__index_level_0__"], ["bed"], [])
    assert 'df.reset_index(names="occurrence")' in text


def test_another_delimiter() -> None:
    assert seems_separated("bed;value", ",") == ";"
    assert seems_separated("bed,value", ";") == ","
    assert seems_separated("bed", ",") == ""
