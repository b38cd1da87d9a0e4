"""The generators of the examples: deterministic, exact in number, well-formed, and fast."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cernis.check import check
from cernis.syntax import parse
from cernis.syntax.load import load_files
from examples.records import write_parquet, write_text

ROOT = Path(__file__).parent.parent
APPLICATIONS = (
    "toy", "maritime", "surveillance", "fleet", "netbill", "voting", "feedback", "weather",
    "trading", "jetstream",
)  # fmt: skip
SIZES = ((1, 1), (7, 3), (1000, 1), (1001, 20), (20_003, 100), (500, 700))

ARGUMENTS = {
    "toy": {"go_to": 2, "win_lottery": 1, "lose_wallet": 1},
    "maritime": {
        "entersArea": 2, "leavesArea": 2, "gap_start": 1, "gap_end": 1, "stop_start": 1,
        "stop_end": 1, "slow_motion_start": 1, "slow_motion_end": 1, "change_in_speed_start": 1,
        "change_in_speed_end": 1, "change_in_heading": 1, "velocity": 4, "proximity": 2,
    },
    "surveillance": {
        "appear": 1, "disappear": 1, "walking": 1, "running": 1, "active": 1, "inactive": 1,
        "abrupt": 1, "coord": 3, "orientation": 1, "appearance": 1,
    },
    "fleet": {
        "engineStarts": 1, "engineStops": 1, "weather": 2, "abruptAcceleration": 1,
        "abruptBraking": 1, "abruptCornering": 1, "speed": 2, "engineSpeed": 2, "fuelLevel": 2,
        "closeToGas": 1,
    },
    "netbill": {
        "request_quote": 3, "present_quote": 4, "accept_quote": 3, "send_EPO": 3, "send_goods": 3,
    },
    "voting": {"propose": 3, "second": 3, "vote": 4, "close_ballot": 3, "declare": 4},
    "feedback": {"inoculate": 1, "medicate": 1, "infect": 1, "irradiate": 1},
    "weather": {"sensor": 5, "reported": 2, "localized": 1},
    "trading": {"price": 2, "order": 2, "fill": 1, "cancel": 1},
    "jetstream": {"airplane": 2, "turbulence": 1, "leaves": 1},
}  # fmt: skip
AT_POINTS = {
    "walking", "running", "active", "inactive", "abrupt", "coord", "orientation", "appearance",
}  # fmt: skip
ON_INTERVALS = {"proximity"}


def generator(application: str) -> ModuleType:
    return import_module(f"examples.{application}.generate")


def relations(
    application: str, events: int, entities: int, seed: int = 7, late: float = 0.0
) -> dict[str, pa.Table]:
    made: dict[str, pa.Table] = generator(application).generate(events, entities, seed, late=late)
    return made


def leading_columns(name: str) -> list[str]:
    if name in ON_INTERVALS:
        return ["arrival", "start", "end", "value"]
    return ["arrival", "occurrence", "value"] if name in AT_POINTS else ["arrival", "occurrence"]


@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize(("events", "entities"), SIZES)
def test_makes_as_many_records_as_asked_for(application: str, events: int, entities: int) -> None:
    made = relations(application, events, entities)
    assert sum(map(len, made.values())) == events


@pytest.mark.parametrize("application", APPLICATIONS)
def test_makes_nothing_when_asked_for_nothing(application: str) -> None:
    assert sum(map(len, relations(application, 0, 3).values())) == 0


@pytest.mark.parametrize("application", APPLICATIONS)
def test_refuses_to_make_records_of_nobody(application: str) -> None:
    with pytest.raises(ValueError, match="needs an entity"):
        relations(application, 10, 0)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_same_seed_same_records_and_another_seed_others(application: str) -> None:
    first = relations(application, 5000, 30, late=0.2)
    assert first == relations(application, 5000, 30, late=0.2)
    assert first != relations(application, 5000, 30, seed=8, late=0.2)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_relations_have_their_columns_and_no_more(application: str) -> None:
    made = relations(application, 20_000, 40)
    assert set(made) == set(ARGUMENTS[application])
    for name, table in made.items():
        leading = leading_columns(name)
        assert table.column_names[: len(leading)] == leading
        assert len(table.column_names) - len(leading) == ARGUMENTS[application][name], name
        assert len(table) > 0, name
        assert all(column.null_count == 0 for column in table.columns)


@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize("late", [0.0, 0.3])
def test_records_arrive_in_order_and_never_before_their_time(application: str, late: float) -> None:
    lagging = 0
    for name, table in relations(application, 20_000, 40, late=late).items():
        arrival = table.column("arrival").to_numpy()
        time_of = table.column("end" if name in ON_INTERVALS else "occurrence").to_numpy()
        assert np.all(arrival >= time_of), name
        assert np.all(np.diff(arrival) >= 0), name
        lagging += int((arrival > time_of).sum())
    assert (lagging > 0) == (late > 0)


@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize(("events", "entities"), SIZES)
def test_times_are_after_0_and_starts_before_ends(
    application: str, events: int, entities: int
) -> None:
    for name, table in relations(application, events, entities).items():
        first = table.column("start" if name in ON_INTERVALS else "occurrence").to_numpy()
        assert np.all(first > 0), name
        if name in ON_INTERVALS:
            assert np.all(first < table.column("end").to_numpy())


def test_proximity_of_a_pair_is_disjoint_and_of_two() -> None:
    table = relations("maritime", 100_000, 60)["proximity"].sort_by(
        [("vessel1", "ascending"), ("vessel2", "ascending"), ("start", "ascending")]
    )
    one, other, start, end = (
        table.column(name).to_numpy() for name in ("vessel1", "vessel2", "start", "end")
    )
    same = (one[1:] == one[:-1]) & (other[1:] == other[:-1])
    assert np.all(one < other)
    assert np.all(start[1:][same] > end[:-1][same])


def test_no_vessel_has_two_velocities_at_once() -> None:
    table = relations("maritime", 50_000, 100)["velocity"]
    at = Counter(zip(*(table.column(name).to_pylist() for name in ("vessel", "occurrence")),
                     strict=True))  # fmt: skip
    assert max(at.values()) == 1


def test_velocity_dominates_the_maritime_stream() -> None:
    made = relations("maritime", 100_000, 500)
    assert len(made["velocity"]) > 70_000


def test_stations_are_met_where_the_fuel_level_is_reported() -> None:
    made = relations("fleet", 20_000, 40)
    levels = _keys(made["fuelLevel"], "vehicle")
    assert _keys(made["closeToGas"], "vehicle") <= levels


def test_every_tracked_entity_does_one_thing_and_is_somewhere() -> None:
    made = relations("surveillance", 40_000, 10)
    doing = [_keys(made[name], "id") for name in
             ("walking", "running", "active", "inactive", "abrupt")]  # fmt: skip
    places = _keys(made["coord"], "id")
    assert set().union(*doing) == places
    assert sum(map(len, doing)) == len(places) == len(made["coord"])
    assert all(time % 40 == 0 for _, time in places)


def _keys(table: pa.Table, entity: str) -> set[tuple[str, int]]:
    columns = (table.column(name).to_pylist() for name in (entity, "occurrence"))
    return set(zip(*columns, strict=True))


@pytest.mark.parametrize("application", APPLICATIONS)
def test_text_has_one_well_formed_record_a_line_in_order_of_arrival(
    application: str, tmp_path: Path
) -> None:
    path = tmp_path / "events.txt"
    write_text(relations(application, 6000, 30, late=0.1), path)
    records = [line.split("|") for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(records) == 6000
    for name, *fields in records:
        leading = leading_columns(name)
        assert len(fields) == len(leading) + ARGUMENTS[application][name]
        times = [field for field, column in zip(fields, leading, strict=False)
                 if column != "value"]  # fmt: skip
        assert all(re.fullmatch(r"\d+", field) for field in times)
        assert all(re.fullmatch(r"-?\d+(\.\d)?|[a-z]\w*", field) for field in fields)
    arrivals = [int(fields[1]) for fields in records]
    assert arrivals == sorted(arrivals)


def test_text_is_the_same_however_it_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = relations("maritime", 3000, 30, late=0.1)
    write_text(made, tmp_path / "whole.txt")
    monkeypatch.setattr("examples.records.CHUNK", 100)
    write_text(made, tmp_path / "cut.txt")
    assert (tmp_path / "whole.txt").read_bytes() == (tmp_path / "cut.txt").read_bytes()


def test_floats_keep_their_decimal_in_text(tmp_path: Path) -> None:
    write_text(relations("maritime", 3000, 30), tmp_path / "events.txt")
    lines = (tmp_path / "events.txt").read_text(encoding="utf-8").splitlines()
    speeds = [line.split("|")[4] for line in lines if line.startswith("velocity|")]
    assert speeds
    assert all(re.fullmatch(r"\d+\.\d", speed) for speed in speeds)


def test_parquet_holds_a_file_a_relation(tmp_path: Path) -> None:
    made = relations("fleet", 3000, 30)
    write_parquet(made, tmp_path)
    for name, table in made.items():
        read = pq.read_table(tmp_path / f"{name}.parquet")
        assert read.column_names == table.column_names
        assert read.to_pylist() == table.to_pylist()


def test_command_line_writes_records_and_facts(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "examples.toy.generate", "--events", "50", "--entities", "4",
               "--output", str(tmp_path / "new")]  # fmt: skip
    subprocess.run(command, check=True, cwd=ROOT)
    assert len((tmp_path / "new" / "events.txt").read_text(encoding="utf-8").splitlines()) == 50
    assert (tmp_path / "new" / "facts.cer").read_text(encoding="utf-8").count("person(") == 4


@pytest.mark.parametrize("application", APPLICATIONS)
def test_facts_beside_the_rules_are_those_of_the_generator(application: str) -> None:
    beside = (ROOT / "examples" / application / "facts.cer").read_text(encoding="utf-8")
    assert generator(application).facts() == beside


@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize("name", ["rules.cer", "facts.cer"])
def test_rules_and_facts_parse_without_diagnostics(application: str, name: str) -> None:
    path = ROOT / "examples" / application / name
    parsed = parse(path.read_text(encoding="utf-8"), path.name)
    assert parsed.items
    assert parsed.diagnostics == ()


@pytest.mark.parametrize("application", APPLICATIONS)
def test_rules_with_their_facts_check_without_diagnostics(application: str) -> None:
    folder = ROOT / "examples" / application
    checked = check(load_files([folder / "rules.cer"], [folder / "facts.cer"]))
    assert checked.diagnostics == ()


def test_every_threshold_is_used_and_every_used_one_is_there() -> None:
    for application in ("maritime", "fleet"):
        folder = ROOT / "examples" / application
        pattern = re.compile(r"thresholds\((\w+),")
        used = set(pattern.findall((folder / "rules.cer").read_text(encoding="utf-8")))
        there = set(pattern.findall((folder / "facts.cer").read_text(encoding="utf-8")))
        assert used == there


@pytest.mark.parametrize(
    ("application", "events", "entities"),
    [("maritime", 200_000, 1000), ("surveillance", 200_000, 50), ("fleet", 200_000, 1000)],
)
def test_200000_records_take_less_than_5_seconds(
    application: str, events: int, entities: int, tmp_path: Path
) -> None:
    relations(application, 100, 20)
    begun = time.perf_counter()
    write_text(relations(application, events, entities), tmp_path / "events.txt")
    assert time.perf_counter() - begun < 5.0
