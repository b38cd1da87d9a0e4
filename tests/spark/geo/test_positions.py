"""Positions to events on Spark: the same as in one process, however they are cut up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cernis.errors import DataError
from cernis.geo.areas import Areas
from cernis.geo.events import positions_to_events as in_process
from cernis.geo.parameters import Parameters
from examples.maritime.recognised import areas_of, program_for, recognised
from examples.maritime.simulate import Simulation, score, simulate
from tests.geo.tables import wandering
from tests.geo.test_ais import START, report, static

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    return simulate(20, 11, bad=0.002)


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of a table in an order of their own, times that are not known first."""
    found = [tuple(row.values()) for row in table.to_pylist()]
    return sorted(found, key=lambda row: tuple((own is not None, own) for own in row))


def frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    return spark.createDataFrame(table)


def expected(positions: pa.Table, **given: Any) -> dict[str, list[tuple[Any, ...]]]:
    found = in_process(positions, **given)
    return {
        name: rows(own) for name, own in {**found.relations, "set_aside": found.set_aside}.items()
    }


def test_data_frames_equal_one_process(spark: SparkSession, simulation: Simulation) -> None:
    from cernis.spark.positions import positions_to_events

    given: dict[str, Any] = {"areas": areas_of(simulation), "arrivals": True}
    found = positions_to_events(frame(spark, simulation.positions), partitions=3, **given)
    right = expected(simulation.positions, **given)
    assert {name: rows(own.toArrow()) for name, own in found.relations.items()} == {
        name: own for name, own in right.items() if name != "set_aside"
    }
    assert rows(found.set_aside.toArrow()) == right["set_aside"]
    found.release()


@pytest.mark.parametrize("partitions", [1, 4])
def test_files_equal_one_process(spark: SparkSession, tmp_path: Path, partitions: int) -> None:
    from cernis.spark.positions import write_events

    positions = wandering(partitions, 30, 60)
    named = positions.set_column(0, "vessel", positions["vessel"].cast(pa.string()))
    folder = tmp_path / "positions"
    folder.mkdir()
    for number in range(3):
        part = named.slice(number * 600, 600)
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=250)
    # Long intervals, that the edges of time buckets cut many times.
    parameters = Parameters(proximity_distance=5_000.0, proximity_step=5, proximity_bridge=10)
    files = write_events(
        folder, tmp_path / "events", parameters, partitions=partitions, spark=spark
    )
    found = {name: rows(pa.concat_tables(map(pq.read_table, own))) for name, own in files.items()}
    assert found == expected(named, parameters=parameters)
    assert len(found["proximity"]) > 50
    assert sorted(own.name for own in tmp_path.iterdir()) == ["events", "positions"]


def test_planted_behaviours_are_found_on_spark(
    spark: SparkSession, simulation: Simulation, tmp_path: Path
) -> None:
    from cernis.spark import recognise
    from cernis.spark.positions import write_events

    pq.write_table(simulation.positions, tmp_path / "positions.parquet")
    areas = areas_of(simulation)
    files = write_events(tmp_path / "positions.parquet", tmp_path / "events", areas=areas)
    events = [file for name, own in files.items() if name != "set_aside" for file in own]
    found = recognise(
        program_for(simulation), events, partitions=2, spark=spark
    ).intervals.toArrow()
    assert rows(found) == rows(recognised(simulation).intervals)
    for name, own in score(found, simulation.truth, 400).items():
        assert (own.missed, own.wrong) == ([], []), name


def test_sentences(spark: SparkSession, tmp_path: Path) -> None:
    from cernis.spark.ais_files import read_ais
    from cernis.spark.positions import positions_to_events

    folder = tmp_path / "ais"
    folder.mkdir()
    for number in range(2):
        lines = [f"{START + 180 * at} {report(mmsi=number, speed=0.0)}" for at in range(4)]
        lines += [f"{START} {part}" for part in static(mmsi=number)]
        (folder / f"{number}.nmea").write_text("\n".join([*lines, "bad"]))
    said = read_ais(folder, spark=spark)
    assert said.positions.count() == 8
    assert [row.vessel for row in said.vessels.orderBy("vessel").collect()] == [0, 1]
    assert [(row.line, row.reason) for row in said.set_aside.collect()] == [
        (7, "no AIS sentence")
    ] * 2
    assert [row.messages for row in said.others.collect()] == [0, 0]
    for source in (said, said.positions):
        stops = positions_to_events(source).relations["stop_start"]
        assert rows(stops.toArrow()) == [(START, 0), (START, 1)]
    with pytest.raises(DataError, match="no AIS file"):
        read_ais(tmp_path / "none.nmea", spark=spark)


def test_no_positions(spark: SparkSession, tmp_path: Path) -> None:
    from cernis.spark.positions import positions_to_events, write_events

    empty = wandering(1, 1, 1).slice(0, 0)
    found = positions_to_events(frame(spark, empty), areas=Areas({}))
    assert found.relations["velocity"].count() == 0
    pq.write_table(empty, tmp_path / "empty.parquet")
    assert write_events(tmp_path / "empty.parquet", tmp_path / "events", spark=spark) == {}


def test_bad_input(spark: SparkSession, tmp_path: Path) -> None:
    from cernis.spark.positions import positions_to_events, write_events

    with pytest.raises(DataError, match="no column lat; the columns are vessel, t, lon"):
        positions_to_events(frame(spark, wandering(1, 1, 1).select(["vessel", "t", "lon"])))
    numbers = wandering(1, 1, 1).set_column(0, "vessel", pa.array([1.5]))
    with pytest.raises(DataError, match="vessels must be whole numbers or text, and are double"):
        positions_to_events(frame(spark, numbers))
    with pytest.raises(DataError, match="no positions: .*none.parquet"):
        positions_to_events(tmp_path / "none.parquet", spark=spark)
    with pytest.raises(DataError, match="no positions: no Parquet file"):
        positions_to_events(tmp_path, spark=spark)
    (tmp_path / "text.parquet").write_text("no")
    with pytest.raises(DataError, match="no Parquet file"):
        positions_to_events(tmp_path / "text.parquet", spark=spark)
    with pytest.raises(DataError, match="exists already"):
        write_events(tmp_path / "text.parquet", tmp_path, spark=spark)
    with pytest.raises(DataError, match="no Parquet file"):
        write_events(tmp_path / "text.parquet", tmp_path / "events", spark=spark)
    assert [own.name for own in tmp_path.iterdir()] == ["text.parquet"]
