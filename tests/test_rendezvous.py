"""The example from raw AIS to rendez-vous: its sentences, its rules, and its command."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cernis.geo.ais import read_ais
from examples.rendezvous import __main__ as command
from examples.rendezvous.sentences import sentences
from examples.rendezvous.simulate import Simulation, simulate

SEED = 11


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    print(f"seed {SEED}")
    return simulate(SEED, meetings=4)


def test_sentences_say_what_was_reported(simulation: Simulation) -> None:
    positions = simulation.positions.slice(0, 2_000)
    messages = read_ais([line.encode() for line in sentences(positions)])
    assert messages.set_aside.num_rows == 0
    for name, step in {"vessel": 0, "t": 0, "lon": 1e-6, "lat": 1e-6, "speed": 0.051}.items():
        read, reported = messages.positions[name], positions[name]
        if name == "t":
            read = read.cast(pa.int64())
        np.testing.assert_allclose(read.to_numpy(), reported.to_numpy(), rtol=0, atol=step)


def test_all_that_met_is_found_and_nothing_else(
    simulation: Simulation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = command.recognised(command.received(simulation))
    planted = {(row["vessel1"], row["vessel2"]) for row in simulation.meetings.to_pylist()}
    assert len(planted) == 4
    assert {(row["v"], row["w"]) for row in result.fluent("rendezVous").to_pylist()} == planted
    assert result.fluent("sideBySide").num_rows > 100 * len(planted)
    page = command.write_map(result, simulation.positions, tmp_path / "map.html")
    assert "Rendez-vous at sea" in page.read_text("utf-8")
    command.compare(result, simulation)
    assert "4, found 4, wrong 0" in capsys.readouterr().out


def test_a_table_of_other_titles_is_read(simulation: Simulation, tmp_path: Path) -> None:
    titles = {name: title for title, name in command.TITLES.items()}
    table = simulation.positions
    dates = [str(np.datetime64(int(time), "s")) for time in table["t"].to_numpy()[:100]]
    table = table.slice(0, 100).set_column(1, "t", pa.array(dates))
    pq.write_table(
        table.rename_columns([titles[n] for n in table.column_names]), tmp_path / "p.parquet"
    )
    read = command.read(tmp_path / "p.parquet")
    assert read.column_names == list(command.COLUMNS)
    assert read["t"].cast(pa.int64()).to_pylist() == simulation.positions["t"].to_pylist()[:100]


def test_a_table_without_places_is_refused(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"MMSI": [1], "BaseDateTime": ["2026-01-01T00:00:00"]}), tmp_path / "p.parquet"
    )
    with pytest.raises(SystemExit, match="columns are missing: lon, lat"):
        command.read(tmp_path / "p.parquet")


def test_a_missing_file_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["rendezvous", "--ais", "nowhere.txt"])
    with pytest.raises(SystemExit):
        command.main()
    assert "there is no file nowhere.txt" in capsys.readouterr().err
