"""Positions as AIS sentences, as a receiver writes them: a time, and a message of type 1.

The layout of the bits is that of ITU-R M.1371; all messages are packed at once.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from examples.records import Integers

# The fields of a position report, from its first bit on, and how many bits each has.
WIDTHS = {
    "type": 6, "repeat": 2, "vessel": 30, "status": 4, "turn": 8, "speed": 10, "accuracy": 1,
    "lon": 28, "lat": 27, "course": 12, "heading": 9, "second": 6, "maneuver": 2, "spare": 3,
    "raim": 1, "radio": 19,
}  # fmt: skip
CHARACTERS = sum(WIDTHS.values()) // 6


def sentences(positions: pa.Table) -> list[str]:
    """A line for each position of a table `vessel, t, lon, lat, speed, course, heading`."""
    fields = {name: np.zeros(len(positions), np.int64) for name in WIDTHS}
    fields["type"] += 1
    fields["turn"] -= 128
    fields["vessel"] = _column(positions, "vessel", 1)
    fields["speed"] = _column(positions, "speed", 10)
    fields["lon"] = _column(positions, "lon", 600_000)
    fields["lat"] = _column(positions, "lat", 600_000)
    fields["course"] = _column(positions, "course", 10)
    fields["heading"] = _column(positions, "heading", 1)
    times = _column(positions, "t", 1)
    fields["second"] = times % 60
    payloads = _armoured(_bits(fields))
    return [
        f"{time} {_checked(f'AIVDM,1,1,,A,{payload.decode()},0')}"
        for time, payload in zip(times.tolist(), payloads, strict=True)
    ]


def _column(positions: pa.Table, name: str, scale: int) -> Integers:
    return np.rint(positions[name].to_numpy() * scale).astype(np.int64)


def _bits(fields: dict[str, Integers]) -> Integers:
    """One row of bits for each message; negative numbers are in two's complement."""
    columns = [
        (fields[name][:, None] >> np.arange(width - 1, -1, -1)) & 1
        for name, width in WIDTHS.items()
    ]
    return np.concatenate(columns, axis=1)


def _armoured(bits: Integers) -> list[bytes]:
    """Six bits a character: 0 to 39 are `0` to `W`, 40 to 63 are `` ` `` to `w`."""
    values = bits.reshape(len(bits), CHARACTERS, 6) @ (1 << np.arange(5, -1, -1))
    letters = np.where(values < 40, values + 48, values + 56).astype(np.uint8)
    return letters.view(f"S{CHARACTERS}").ravel().tolist()


def _checked(sentence: str) -> str:
    check = 0
    for character in sentence.encode():
        check ^= character
    return f"!{sentence}*{check:02X}"
