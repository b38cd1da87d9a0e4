"""Series of probabilities that are fed directly."""

from __future__ import annotations

from pathlib import Path

import pytest

from cernis.answers.probability_series import intervals_of_series, read_series
from cernis.errors import DataError
from tests.cli.command import run as command

SERIES = [0, 0.5, 0.7, 0.9, 0.4, 0.1, 0, 0, 0.5, 1]


def test_maximal_intervals_of_the_paper() -> None:
    found = intervals_of_series(SERIES, overlapping=True).to_pylist()
    assert [(row["start"], row["end"]) for row in found] == [(1, 6), (2, 7), (8, 11)]
    chosen = intervals_of_series(SERIES, first=40, tick=40).to_pylist()
    assert [(row["start"], row["end"]) for row in chosen] == [(80, 280), (320, 440)]


def test_touching_intervals_are_one_in_bounded_memory() -> None:
    series = [0.0] * 8 + [1.0] * 5 + [0.0] * 8
    (row,) = intervals_of_series(series, threshold=0.7, memory=1).to_pylist()
    assert (row["start"], row["end"], row["probability"]) == (9, 14, 1.0)


def test_bad_series_are_said() -> None:
    with pytest.raises(DataError, match="point 2 of the series is 1.5"):
        intervals_of_series([0.5, 1.5])
    with pytest.raises(DataError, match="list of numbers"):
        intervals_of_series(["x"])  # type: ignore[list-item]
    with pytest.raises(DataError, match="tick"):
        intervals_of_series([0.5], tick=0)
    with pytest.raises(DataError, match="durations say what a memory forgets"):
        intervals_of_series([0.5], durations=(4.3, 2.4))
    assert intervals_of_series([]).num_rows == 0


def test_files(tmp_path: Path) -> None:
    text, table = tmp_path / "series.txt", tmp_path / "series.csv"
    text.write_text("\n".join(map(str, SERIES)) + "\n")
    table.write_text("frame,p\n" + "".join(f"{n},{p}\n" for n, p in enumerate(SERIES)))
    assert read_series(text) == SERIES
    assert read_series(table, "p") == SERIES
    with pytest.raises(DataError, match="no column probability; there are frame, p"):
        read_series(table)
    text.write_text("0.5\nhalf\n")
    with pytest.raises(DataError, match=r"series.txt:2: 'half' is no probability"):
        read_series(text)


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "series.txt"
    file.write_text("\n".join(map(str, SERIES)))
    done = command("series", str(file), "--memory", "2", "--durations", "4.3:2.4")
    assert done.code == 0, done.said
    assert done.out.splitlines()[0] == "start,end,probability"
    wrong = command("series", str(file), "--threshold", "2")
    assert (wrong.code, "threshold" in wrong.said) == (2, True)
