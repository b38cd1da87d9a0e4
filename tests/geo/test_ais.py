"""AIS sentences: pyais is the oracle, and no line stops the reading."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyais
import pyarrow as pa
import pytest
from pyais.encode import encode_dict

import cernis
from cernis.errors import DataError
from cernis.geo import ais
from cernis.geo.ais import read_ais, type_name, vessel_facts
from cernis.geo.events import positions_to_events

START = 1_700_000_000


def sentences(**fields: Any) -> list[str]:
    return encode_dict(fields, talker_id="AI", sentence_type="VDM", radio_channel="A")


def report(kind: int = 1, **fields: Any) -> str:
    said = {"mmsi": 227000001, "lon": -4.5, "lat": 48.25, "speed": 12.3, "course": 77.7,
            "heading": 80, **fields}  # fmt: skip
    (line,) = sentences(msg_type=kind, **said)
    return line


def static(**fields: Any) -> list[str]:
    said = {"mmsi": 227000001, "shipname": "ISLE OF SKYE", "ship_type": 70, "draught": 6.5,
            "callsign": "FABC", "destination": "BREST", **fields}  # fmt: skip
    return sentences(msg_type=5, **said)


def summed(body: str) -> str:
    """A sentence with its checksum."""
    return f"!{body}*{reduce(lambda total, byte: total ^ byte, body.encode(), 0):02X}"


def reasons(found: ais.Sentences) -> list[tuple[int, str]]:
    return [(row["line"], row["reason"]) for row in found.set_aside.to_pylist()]


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "mmsi": int(rng.integers(0, 1_000_000_000)),
        "lon": float(rng.integers(-108_000_000, 108_000_001)) / 600_000,
        "lat": float(rng.integers(-54_000_000, 54_000_001)) / 600_000,
        "speed": float(rng.integers(0, 1024)) / 10,
        "course": float(rng.integers(0, 3601)) / 10,
        "heading": int(rng.choice([511, rng.integers(0, 360)])),
    }


@pytest.mark.parametrize("kind", [1, 2, 3, 18, 19, 27])
def test_positions_are_those_of_pyais(kind: int) -> None:
    rng = np.random.default_rng(kind)
    lines, expected = [], []
    for number in range(200):
        own = drawn(rng) | ({"speed": int(rng.integers(0, 64))} if kind == 27 else {})
        parts = sentences(msg_type=kind, **own)
        lines += [f"{START + number} {part}" for part in parts]
        said = pyais.decode(*parts).asdict()
        limits = {"speed": 63 if kind == 27 else 102.3, "course": 360, "heading": 360}
        known = {name: said.get(name) for name in limits}
        expected.append({
            "vessel": int(said["mmsi"]), "t": START + number,
            "lon": said["lon"], "lat": said["lat"],
            **{name: None if own is None or own >= limits[name] else float(own)
               for name, own in known.items()},
        })  # fmt: skip
    found = read_ais(lines)
    assert reasons(found) == []
    assert len(found.positions) == 200
    for row, right in zip(found.positions.to_pylist(), expected, strict=True):
        assert row == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize(
    "line",
    [
        "1700000000 {}",
        "1700000000,{}",
        "1700000000.25;{}",
        "1700000000123,{}",
        "2023-11-14T22:13:20Z {}",
        "2023-11-14 22:13:20.5,{}",
        "\\s:station,c:1700000000*00\\{}",
        "\\g:1-2-99,c:1700000000123*00\\{}",
        "{},1700000000",
        "{}\r",
    ],
)
def test_the_time_of_a_line(line: str) -> None:
    found = read_ais([line.format(report())], time=1_700_000_000)
    assert found.positions["t"].to_pylist() == [1_700_000_000]
    bare = read_ais([line.format(report())])
    assert len(bare.positions) == (0 if "17000" not in line and "2023" not in line else 1)


@pytest.mark.parametrize(
    "date",
    ["1970-01-01T00:00:00", "2000-02-29T23:59:59", "2024-12-31T12:00:01", "1999-03-01T00:00:00"],
)
def test_dates(date: str) -> None:
    expected = int(np.datetime64(date, "s").astype(np.int64))
    assert read_ais([f"{date} {report()}"]).positions["t"].to_pylist() == [expected]


def test_static_data_in_two_parts_with_others_between() -> None:
    one, other = static(), static(mmsi=227000002, shipname="", ship_type=0, draught=0)
    other = [part.replace(",2,1,0,", ",2,1,1,").replace(",2,2,0,", ",2,2,1,") for part in other]
    other = [summed(part[1 : part.index("*")]) for part in other]
    lines = [f"{START} {one[0]}", f"{START + 1} {other[1]}", f"{START + 2} {report()}", one[1],
             f"{START + 3} {other[0]}"]  # fmt: skip
    found = read_ais(lines)
    assert found.vessels.to_pylist() == [
        {"vessel": 227000001, "t": START, "name": "ISLE OF SKYE", "ship_type": 70, "draught": 6.5,
         "callsign": "FABC", "destination": "BREST"},
        {"vessel": 227000002, "t": START + 1, "name": None, "ship_type": None, "draught": None,
         "callsign": "FABC", "destination": "BREST"},
    ]  # fmt: skip
    assert len(found.positions) == 1
    assert reasons(found) == []


def test_messages_that_lack_a_part() -> None:
    one, two = static()
    lines = [f"{START} {one}", f"{START + 1} {one}", f"{START + 2} {two}", f"{START + 3} {two}"]
    found = read_ais(lines)
    assert len(found.vessels) == 1
    assert reasons(found) == [(1, "incomplete message"), (4, "incomplete message")]
    late = read_ais([f"{START} {one}", f"{START + 3600} {two}"])
    assert [reason for _, reason in reasons(late)] == ["incomplete message"] * 2


def test_bad_lines_are_set_aside_with_their_reason() -> None:
    good = f"{START} {report()}"
    lines = [
        good, "", "hello", "$GPGGA,1,2*33", good[:-2] + "00", good[:-3], good[:-1], report(),
        f"{START} " + summed("AIVDM,1,1,,A,13u?etPv2;0n:,0"),
        f"{START} " + summed("AIVDM,1,1,,A,13u?etP[2;0n:dDPwUM1U1Cb069D,0"),
        f"{START} " + summed("AIVDM,1,1,,A,,0"), f"{START} " + summed("AIVDM,1"),
        f"{START} {report(lon=181.0, lat=91.0)}", f"{START} " + summed("AIVDM,2,x,3,A,55?,0"),
        f"{START} " + summed("AIVDM,1,1,,A,w3u?etP02;0n:dDPwUM1U1Cb069D,0"),
    ]  # fmt: skip
    assert reasons(read_ais(lines)) == [
        (3, "no AIS sentence"), (4, "no AIS sentence"), (5, "wrong checksum"),
        (6, "no checksum"), (7, "no checksum"), (8, "no time"), (9, "too short"),
        (10, "not a payload"), (11, "not a payload"), (12, "not a payload"), (13, "no position"),
        (14, "not decoded"), (15, "not a payload"),
    ]  # fmt: skip
    assert len(read_ais(lines).positions) == 1


def test_other_messages_are_counted() -> None:
    base = sentences(msg_type=4, mmsi=2275200, lon=0.0, lat=0.0)
    found = read_ais([f"{START} {line}" for line in base])
    assert (found.others, len(found.positions), len(found.set_aside)) == (1, 0, 0)


@pytest.mark.parametrize("seed", range(3))
def test_no_line_stops_the_reading(seed: int) -> None:
    """Lines with bytes changed, left out or put in; some with a checksum that is right again."""
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    whole = [f"{START} {line}" for line in [report(), report(18), *static(), report(27)]]
    lines = []
    for _ in range(3_000):
        line = bytearray(rng.choice(whole).encode())
        for _ in range(rng.integers(1, 4)):
            place = int(rng.integers(0, len(line)))
            change = rng.integers(0, 3)
            if change == 0:
                line[place] = rng.integers(0, 256)
            elif change == 1:
                del line[place]
            else:
                line.insert(place, rng.integers(32, 127))
        text = bytes(line).replace(b"\n", b"")
        bang, star = text.find(b"!"), text.rfind(b"*")
        if rng.random() < 0.7 and 0 <= bang < star:
            total = reduce(lambda own, byte: own ^ byte, text[bang + 1 : star], 0)
            text = text[: star + 1] + f"{total:02X}".encode()
        lines.append(text)
    found = read_ais(lines)
    assert len(found.set_aside) > 300
    assert len(found.positions) > 300
    assert found.set_aside["line"].to_pylist() == sorted(found.set_aside["line"].to_pylist())


def test_a_file_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{START + 10 * at} {line}" for at in range(50) for line in (report(), *static())]
    file = tmp_path / "a.nmea"
    file.write_text("\r\n".join(["bad", *lines]), "ascii", newline="")
    whole = read_ais(file)
    monkeypatch.setattr(ais, "CHUNK", 100)
    pieces = read_ais(file)
    for name in ("positions", "vessels", "set_aside"):
        assert getattr(pieces, name).equals(getattr(whole, name))
    assert (len(whole.positions), len(whole.vessels), len(whole.set_aside)) == (50, 50, 1)
    with pytest.raises(DataError, match="No such file"):
        read_ais(tmp_path / "b.nmea")


@pytest.mark.parametrize("empty", [b"", [], b"\n\n"])
def test_nothing(empty: Any) -> None:
    found = read_ais(empty)
    assert (len(found.positions), len(found.vessels), len(found.set_aside)) == (0, 0, 0)


def test_from_sentences_to_events_and_facts() -> None:
    moored = [f"{START + 180 * at} {report(speed=0.0)}" for at in range(4)]
    found = read_ais([*moored, *(f"{START} {part}" for part in static())])
    relations = positions_to_events(found.positions).relations
    assert relations["stop_start"].to_pylist() == [{"occurrence": START, "vessel": 227000001}]
    facts = vessel_facts(found.vessels)
    assert facts == "vessel(227000001).\nvesselType(227000001, cargo).\ndraught(227000001, 6.5).\n"
    cernis.load(facts + "happensAt(e(V), T) :- happensAt(f(V), T), vesselType(V, cargo).")


def test_facts_are_of_what_was_said_last() -> None:
    rows = [(1, 5, None, None), (1, 3, 30, 2.0), (1, 4, 52, None), (2, 1, 99, None)]
    columns = zip(*rows, strict=True)
    table = pa.table(dict(zip(("vessel", "t", "ship_type", "draught"), columns, strict=True)))
    assert vessel_facts(table) == "vessel(2).\nvessel(1).\nvesselType(1, tug).\ndraught(1, 2.0).\n"
    assert [type_name(own) for own in (0, 37, 50, 51, 69, 80, 90)] == [
        None, "pleasureCraft", "pilotVessel", "sar", "passenger", "tanker", None,
    ]  # fmt: skip
