"""`cernis.toml`: columns of files as records."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cernis
from cernis.errors import DataError
from cernis.program import Program

RULES = """\
collectIntervals(moored(_)=_).
initiatedAt(fast(V)=true, T) :- happensAt(velocity(V, S), T), S > 10.
terminatedAt(fast(V)=true, T) :- happensAt(gap_start(V), T).
holdsFor(resting(V)=true, I) :- holdsFor(moored(V)=quay, I).
"""

TOML = """\
[[input]]
file = "ais*.csv"
relation = "velocity"
arrival = "received"
occurrence = "t"
arguments = ["mmsi", "speed"]
where = { type = "position" }

[[input]]
file = "ais*.csv"
relation = "gap_start"
occurrence = "t"
arguments = ["mmsi"]
where = { type = "gap" }

[[input]]
file = "moorings.parquet"
relation = "moored"
start = "from"
end = "until"
value = "where"
arguments = ["ship"]
"""

AIS = """\
type,t,received,mmsi,speed,note
position,1,1,007,12.5,"a, b"
position,2,3,8,9,
gap,4,4,7,,
position,soon,5,9,11,
position,6,6,9,,
"""

ANSWER = "holdsFor(fast(7)=true, [(2,5)]).\nholdsFor(resting(7)=true, [(3,9),(20,inf)]).\n"


@pytest.fixture(scope="module")
def program() -> Program:
    return cernis.load(RULES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cernis.toml").write_text(TOML)
    (tmp_path / "ais-1.csv").write_text(AIS)
    table = pa.table({
        "ship": [7, 7], "from": [3, 20], "until": pa.array([9, None], pa.int64()),
        "where": ["quay", "quay"],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "moorings.parquet")
    return tmp_path


def test_columns_become_records(program: Program, folder: Path) -> None:
    result = program.run([folder / "ais-1.csv", folder / "moorings.parquet"], end=30)
    assert result.text() == ANSWER
    # Lines are those of the file, its titles being the first.
    assert [(aside.line, aside.reason) for aside in result.summary.set_aside] == [
        (5, "a time must be a whole number or like 2026-03-29T03:00"),
        (6, "a value is missing"),
    ]


def test_a_mapping_may_lie_elsewhere_or_be_given(
    program: Program, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [folder / "ais-1.csv", folder / "moorings.parquet"]
    elsewhere = folder / "other"
    elsewhere.mkdir()
    (folder / "cernis.toml").rename(elsewhere / "cernis.toml")
    assert program.run(files, end=30, mapping=elsewhere / "cernis.toml").text() == ANSWER
    assert program.run(files, end=30, mapping=tomllib.loads(TOML)).text() == ANSWER
    monkeypatch.chdir(elsewhere)
    assert program.run(files, end=30).text() == ANSWER


def test_the_example_of_the_documents(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "running.md").read_text("utf-8")
    mapping = "[[input]]" + page.partition("```toml\n[[input]]")[2].partition("```")[0]
    (tmp_path / "cernis.toml").write_text(mapping)
    rows = "type,t," + page.partition("```text\ntype,t,")[2].partition("```")[0]
    (tmp_path / "ais-1.csv").write_text(rows)
    result = cernis.load(RULES).run(tmp_path / "ais-1.csv")
    assert result.text() == "holdsFor(fast(227002330)=true, [(2,5)]).\n"


def test_other_delimiters_and_json(program: Program, tmp_path: Path) -> None:
    (tmp_path / "v.dat").write_text("who;when;how\n7;1;12\n")
    (tmp_path / "v.jsonl").write_text('{"who": 7, "when": 1, "how": 12.5}\n')
    entry = {
        "file": "v.*", "relation": "velocity", "occurrence": "when", "arguments": ["who", "how"],
        "delimiter": ";",
    }  # fmt: skip
    for name in ("v.dat", "v.jsonl"):
        result = program.run(tmp_path / name, mapping={"input": [entry]})
        assert result.text() == "holdsFor(fast(7)=true, [(2,inf)]).\n"


def test_times_may_be_dates(program: Program, tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("t,who,how\n1970-01-01T00:01:00Z,7,12\n1970-01-01,8,12\n")
    entry = {
        "file": "v.csv", "relation": "velocity", "occurrence": "t", "arguments": ["who", "how"],
    }  # fmt: skip
    result = program.run(tmp_path / "v.csv", mapping={"input": [entry]}, epoch=True)
    assert result.fluent("fast").select(["v", "start"]).to_pydict() == {
        "v": [7, 8],
        "start": [61, 1],
    }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"occurrence": "time"}, "has no column time, which velocity is to be read from; "
         "there are type, t, received, mmsi, speed, note"),
        ({"arguments": ["mmsi", "sped"]}, "has no column sped"),
        ({"where": {"kind": "x"}}, "has no column kind"),
        ({"arguments": ["mmsi"]}, "velocity has 2 columns beside the times, not 1: mmsi"),
        ({"colour": "red"}, "input 1: there is no key colour; there are file, relation"),
        ({"occurrence": None}, "input 1: give either occurrence, or start and end"),
        ({"start": "t", "end": "t"}, "input 1: give either occurrence, or start and end"),
        ({"relation": None}, "input 1: relation is missing"),
        ({"arrival": 3}, "input 1: arrival must be text"),
        ({"arguments": "mmsi"}, "input 1: arguments must be a list of column names"),
        ({"where": "x"}, "input 1: where must be a table of columns and values"),
    ],
)  # fmt: skip
def test_wrong_mappings_are_told(
    program: Program, folder: Path, change: dict[str, Any], words: str
) -> None:
    entry: dict[str, Any] = {
        "file": "ais-1.csv", "relation": "velocity", "occurrence": "t",
        "arguments": ["mmsi", "speed"], **change,
    }  # fmt: skip
    entry = {key: value for key, value in entry.items() if value is not None}
    with pytest.raises(DataError) as error:
        program.run(folder / "ais-1.csv", mapping={"input": [entry]})
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[input]\nfile = 'x'", "write [[input]]"),
        ("input = [", "cernis.toml: "),
        ("input = [3]", "input 1 is no table"),
    ],
)
def test_a_broken_toml_is_told(program: Program, folder: Path, text: str, words: str) -> None:
    (folder / "cernis.toml").write_text(text)
    with pytest.raises(DataError) as error:
        program.run(folder / "ais-1.csv")
    assert words in str(error.value)


def test_a_toml_that_is_not_there_is_told(program: Program, folder: Path) -> None:
    with pytest.raises(DataError) as error:
        program.run(folder / "ais-1.csv", mapping=folder / "nowhere.toml")
    assert "nowhere.toml: cannot be read" in str(error.value)
