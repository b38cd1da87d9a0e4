"""The compiled pass over AIS sentences equals its twin in plain Python."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import Any

import numpy as np

from cernis.geo import ais_loops as loops
from tests.geo.test_ais import report, sentences, static, summed

FIELDS = ("kinds", "times", "vessel", "lon", "lat", "speed", "course", "heading")


def plain(line: bytes) -> dict[str, Any]:
    """What one line is, field by field."""
    found: dict[str, Any] = {"kinds": loops.NO_SENTENCE, "times": loops.NO_TIME}
    if not line:
        return {**found, "kinds": loops.BLANK}
    before, bang, rest = line.partition(b"!")
    if not bang or rest[2:4] != b"VD" or rest[4:5] not in (b"M", b"O") or rest[5:6] != b",":
        return found
    body, star, after = rest.partition(b"*")
    try:
        told = int(after[:2].decode(), 16) if star and len(after[:2].strip()) == 2 else None
    except ValueError:
        told = None
    if told is None:
        return {**found, "kinds": loops.NO_CHECKSUM}
    total = 0
    for byte in body:
        total ^= byte
    if total != told:
        return {**found, "kinds": loops.BAD_CHECKSUM}
    return {**found, "times": time_of(before, after[2:]), **said(body)}


def time_of(before: bytes, after: bytes) -> int:
    if before.startswith(b"\\"):
        return whole(before.partition(b"c:")[2]) if b"c:" in before else later(after)
    if not before:
        return later(after)
    try:
        moment = datetime.strptime(
            before[:10].decode() + before[11:19].decode(), "%Y-%m-%d%H:%M:%S"
        )
        return int(moment.replace(tzinfo=UTC).timestamp())
    except ValueError:
        return whole(before)


def later(after: bytes) -> int:
    return whole(after[1:]) if after.startswith(b",") else loops.NO_TIME


def whole(text: bytes) -> int:
    digits = ""
    for byte in text[:18].decode("latin-1"):
        if byte not in "0123456789":
            break
        digits += byte
    number = int(digits) if digits else loops.NO_TIME
    return number // 1000 if number > 100_000_000_000 else number


def said(body: bytes) -> dict[str, Any]:
    """What a sentence with a right checksum says."""
    parts = body.split(b",")
    payload = parts[5] if len(parts) > 6 else b""
    if not payload or any(byte < 48 or byte > 119 or 88 <= byte <= 95 for byte in payload):
        return {"kinds": loops.BAD_PAYLOAD}
    if body[6:8] != b"1,":
        return {"kinds": loops.LEFT}
    values = [byte - 48 for byte in payload]
    bits = "".join(f"{value - 8 if value > 40 else value:06b}" for value in values)
    kind = int(bits[:6], 2)
    if kind in (5, 19, 24, 27):
        return {"kinds": loops.LEFT}
    if kind not in (1, 2, 3, 18):
        return {"kinds": loops.OTHER_TYPE if 1 <= kind <= 27 else loops.BAD_PAYLOAD}
    fill = int(parts[6][:1]) if parts[6][:1].isdigit() else 0
    if len(bits) - fill < 168:
        return {"kinds": loops.SHORT}
    shift = 4 if kind == 18 else 0

    def number(first: int, count: int, signed: bool = False) -> int:
        found = int(bits[first : first + count], 2)
        return found - (1 << count) if signed and bits[first] == "1" else found

    return {
        "kinds": loops.POSITION, "vessel": number(8, 30), "speed": number(50 - shift, 10) / 10,
        "lon": number(61 - shift, 28, True) / 600_000,
        "lat": number(89 - shift, 27, True) / 600_000,
        "course": number(116 - shift, 12) / 10, "heading": number(128 - shift, 9),
    }  # fmt: skip


def drawn(random: Random) -> str:
    """A line: a report of some type, with its time somewhere, and sometimes something wrong."""
    fields = {
        "mmsi": random.randrange(10**9), "lon": random.uniform(-180, 180),
        "lat": random.uniform(-90, 90), "speed": random.uniform(0, 102),
        "course": random.uniform(0, 360), "heading": random.randrange(360),
    }  # fmt: skip
    line = random.choice(
        (
            lambda: report(random.choice((1, 2, 3, 18)), **fields),
            lambda: report(random.choice((1, 18)), **fields),
            lambda: random.choice(static(mmsi=fields["mmsi"])),
            lambda: sentences(msg_type=4, mmsi=fields["mmsi"])[0],
            lambda: summed(f"AIVDM,1,1,,A,{random.choice('13BH')}{'0' * random.randrange(40)},0"),
            lambda: summed("AIVDM,1,1,,A,,0"),
            lambda: "!AIVDM,nothing",
            lambda: "",
        )
    )()
    if line and random.random() < 0.2:
        at = random.randrange(len(line))
        line = line[:at] + random.choice("0wX*,!Z \\") + line[at + 1 :]
    when = random.randrange(1_600_000_000, 1_800_000_000)
    moment = datetime.fromtimestamp(when, UTC)
    return random.choice((
        f"{line}", f"{when} {line}", f"{when}123 {line}", f"{line},{when}",
        f"\\c:{when}*00\\{line}",
        f"{moment:%Y-%m-%dT%H:%M:%S} {line}", f"{moment:%Y-%m-%d %H:%M:%S}{line}",
    )) if line else ""  # fmt: skip


def test_decoding() -> None:
    random = Random(12)
    lines = [drawn(random).encode("latin-1") for _ in range(4000)]
    ends = np.cumsum([len(line) for line in lines])
    starts = np.append(0, ends[:-1])
    text = np.frombuffer(b"".join(lines), np.uint8)
    found = {name: np.zeros(len(lines), np.int64) for name in FIELDS[:3]}
    found |= {name: np.zeros(len(lines)) for name in FIELDS[3:]}
    loops.decode(text, starts, ends, *found.values())
    seen = set()
    for at, line in enumerate(lines):
        expected = plain(line)
        seen.add(expected["kinds"])
        own = {name: found[name][at].item() for name in expected}
        assert own == expected, f"seed 12: {line!r}"
    assert seen == set(range(9))
