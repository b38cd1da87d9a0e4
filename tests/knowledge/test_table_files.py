from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cernis.errors import DataError
from cernis.knowledge import ColumnType, Knowledge, read_table
from tests.knowledge.programs import answers, clauses


def write(folder: Path, text: str | bytes, name: str = "ports.csv") -> Path:
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def test_a_header_names_the_columns(tmp_path: Path) -> None:
    found = read_table(write(tmp_path, "port,depth\nbrest,003\nrhu,4.5\n"), "port")
    assert list(found.rows()) == [("brest", 3), ("rhu", 4.5)]
    assert [column.name for column in found.columns] == ["port", "depth"]
    assert (found.name, found.arity) == ("port", 2)


def test_without_a_header_every_line_is_a_row(tmp_path: Path) -> None:
    found = read_table(write(tmp_path, "brest|3\nrhu|4\n"), "port", header=False, delimiter="|")
    assert list(found.rows()) == [("brest", 3), ("rhu", 4)]


def test_quotes_line_breaks_and_a_byte_order_mark(tmp_path: Path) -> None:
    text = '\ufeffa,b\r\n"x, y","two\nlines"\r\n\r\n1,"2"\r\n'
    found = read_table(write(tmp_path, text), "p")
    assert list(found.rows()) == [("x, y", "two\nlines"), (1, 2)]
    assert found.columns[0].name == "a"


def test_a_header_alone_is_an_empty_table(tmp_path: Path) -> None:
    found = read_table(write(tmp_path, "a,b\n"), "p")
    assert (len(found), found.arity) == (0, 2)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n1,2\n1\n", r"ports\.csv:3: 1 field, where the first row has 2"),
        ("a,b\n1,2\n\n1,2,3\n", r"ports\.csv:4: 3 fields"),
        ('a,b\n1,"2\n', r"ports\.csv:2: .*end of data"),
        ('a,b\n1,"2"x\n', r"ports\.csv:2: "),
        ("", "is empty"),
        (b"a,b\n\xff\xfe,1\n", "not UTF-8"),
    ],
)
def test_a_bad_file_says_where(tmp_path: Path, text: str | bytes, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_table(write(tmp_path, text), "p")


def test_a_file_that_is_not_there_or_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_table(tmp_path / "nowhere.csv", "p")
    with pytest.raises(DataError, match="is a directory"):
        read_table(tmp_path, "p")


def test_parquet(tmp_path: Path) -> None:
    table = pa.table({
        "name": pa.array(["a", "b"]),
        "kind": pa.array(["x", "x"]).dictionary_encode(),
        "depth": pa.array([1, 2], pa.int16()),
        "speed": pa.array([0.5, 2.0], pa.float32()),
        "open": [True, False],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "ports.parquet")
    found = read_table(tmp_path / "ports.parquet", "port")
    assert list(found.rows()) == [("a", "x", 1, 0.5, "true"), ("b", "x", 2, 2.0, "false")]
    assert found.columns[4].type is ColumnType.BOOLEAN
    assert found.columns[0].name == "name"


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (pa.array([1, None]), "row 2 of column `c` has no value"),
        (pa.array([0.5, float("nan")]), "row 2 of column `c` has no value"),
        (pa.array([[1], [2]]), "has the type list"),
        (pa.array([b"x", b"y"]), "cast it"),
    ],
)
def test_parquet_that_holds_no_facts(tmp_path: Path, column: pa.Array, says: str) -> None:
    pq.write_table(pa.table({"c": column}), tmp_path / "p.parquet")
    with pytest.raises(DataError, match=says):
        read_table(tmp_path / "p.parquet", "p")


def test_parquet_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_table(write(tmp_path, "hello", "p.parquet"), "p")


def test_a_table_is_a_predicate(tmp_path: Path) -> None:
    ports = read_table(write(tmp_path, "port,depth\nbrest,12\nrhu,4\n"), "port")
    deep = Knowledge(clauses("deep(P) :- port(P, D), D > 10."), {ports.key: ports})
    assert answers(deep, "deep(P)") == ["P=brest"]
    assert deep.table("port", 2) is ports
