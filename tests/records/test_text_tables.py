"""Tables of text: read as lines of fields, or by Arrow where there is more to understand."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from cernis.records.record_columns import cell
from cernis.records.text_tables import TextTable, _plain_table, _table_by_arrow, read_text_table

FIELDS = [
    "1",
    "2",
    "2.5",
    "-3.0",
    "a",
    "north sea",
    " x ",
    "",
    "1e5",
    "é",
    "007",
    "0x1f",
    "a|b",
    "+7",
]


def contents(table: TextTable) -> dict[str, list[object]]:
    return {title: table.column(title).to_pylist() for title in table.column_names}


def drawn(seed: int) -> bytes:
    """Lines of three fields, or now and then of another number."""
    chance = Random(seed)
    pool = chance.choice([FIELDS, ["1", "2"], ["1.5", "2.25"], ["a", "b"]])
    lines = [",".join(chance.choices(pool, k=3)) for _ in range(chance.randrange(12))]
    if chance.random() < 0.2:
        lines.insert(0, chance.choice(["", "a,b", '"q",1,2', '"a,b",1,""', "a\rb,1,2", "1,2,3,4"]))
    ending = chance.choice(["\n", "\r\n"])
    last = chance.choice(["", ending])
    return (ending.join(["one,two,three", *lines]) + last).encode()


@pytest.mark.parametrize("seed", range(150))
def test_plain_tables_are_what_arrow_reads(seed: int, tmp_path: Path) -> None:
    print("seed", seed)
    file = tmp_path / "table.csv"
    file.write_bytes(drawn(seed))
    plain = _plain_table(drawn(seed), ",")
    if plain is None:
        return
    by_arrow = _table_by_arrow(file, drawn(seed), ",")
    assert plain.num_rows == by_arrow.num_rows
    assert contents(plain) == contents(by_arrow)
    for title in plain.column_names:
        ours, theirs = (table.values(title, False) for table in (plain, by_arrow))
        assert type(ours) is type(theirs)
        rows = range(plain.num_rows)
        assert [repr(cell(ours, row)) for row in rows] == [repr(cell(theirs, row)) for row in rows]


@pytest.mark.parametrize(
    "content",
    [b'"one",two\n1,2\n', b"one,two\n1,2\n\n3,4\n", b"\xef\xbb\xbfone,two\n1,2\n", b"one\n1\n",
     b"one,two\na\rb,2\n", b""],
)  # fmt: skip
def test_other_tables_are_left_to_arrow(content: bytes) -> None:
    assert _plain_table(content, ",") is None


def test_quotes_are_understood(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text('one;two\n"a;b";""\n"say ""so""";\n')
    table = read_text_table(file, ";")
    assert contents(table) == {"one": ["a;b", 'say "so"'], "two": ["", None]}
    gaps = table.gaps("two")
    assert gaps is not None
    assert gaps.tolist() == [False, True]


def test_some_rows(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("time,who\n1,a\n2,\n3,c\n")
    table = read_text_table(file, ",").filter(np.array([False, True, True]))
    assert contents(table) == {"time": ["2", "3"], "who": [None, "c"]}
    again = table.filter(np.array([False, True]))
    assert again.num_rows == 1
    assert again.written("time").fields.all_written() == [b"3"]
    assert again.gaps("who").tolist() == [False]  # type: ignore[union-attr]
