"""AIS sentences as a source: positions of vessels, and what vessels say of themselves.

Common position reports are decoded column-wise; messages in several parts, static data and rarer
types of position reports go through pyais, one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cernis.errors import DataError
from cernis.geo.ais_loops import (
    BAD_CHECKSUM,
    BAD_PAYLOAD,
    LEFT,
    NO_CHECKSUM,
    NO_SENTENCE,
    NO_TIME,
    OTHER_TYPE,
    POSITION,
    SHORT,
    decode,
)
from cernis.geo.ais_messages import OTHER, STATIC, AisMessage, Assembly
from cernis.kernels.array_types import Booleans, Bytes, Floats, Integers

REASONS = {
    NO_SENTENCE: "no AIS sentence",
    NO_CHECKSUM: "no checksum",
    BAD_CHECKSUM: "wrong checksum",
    BAD_PAYLOAD: "not a payload",
    SHORT: "too short",
}
UNTIMED, NOWHERE = "no time", "no position"

POSITION_SCHEMA = pa.schema([
    ("vessel", pa.int64()), ("t", pa.int64()), ("lon", pa.float64()), ("lat", pa.float64()),
    ("speed", pa.float64()), ("course", pa.float64()), ("heading", pa.float64()),
])  # fmt: skip
VESSEL_SCHEMA = pa.schema([
    ("vessel", pa.int64()), ("t", pa.int64()), ("name", pa.string()), ("ship_type", pa.int64()),
    ("draught", pa.float64()), ("callsign", pa.string()), ("destination", pa.string()),
])  # fmt: skip
ASIDE_SCHEMA = pa.schema([("line", pa.int64()), ("reason", pa.string()), ("text", pa.string())])

CHUNK = 1 << 26
"""Bytes of a file that are decoded at a time."""


@dataclass(frozen=True, slots=True)
class Sentences:
    """What AIS sentences say.

    `positions` has `vessel, t, lon, lat, speed, course, heading`, null where a vessel does not say;
    `vessels` a row for each report of static data: `vessel, t, name, ship_type, draught, callsign,
    destination`, null where not said; `set_aside` the lines that cannot be used: `line, reason,
    text`. `others` counts messages of types that are neither. Rows are in the order of lines, those
    of pyais after the others.
    """

    positions: pa.Table
    vessels: pa.Table
    set_aside: pa.Table
    others: int


def read_ais(
    source: str | Path | bytes | Iterable[str | bytes], *, time: int | None = None
) -> Sentences:
    """Decode AIS sentences: a file, bytes of lines, or lines.

    A line is a sentence (`!AIVDM`, `!AIVDO`, or of another talker) with a checksum, and its time in
    seconds or milliseconds since 1970 or as `2025-01-31T12:00:00`: before the sentence, in a tag
    block (`c:`), or after it. A message in several parts has the time of the first part that has
    one. Without a time it has `time`, if that is given; else it is set aside. Nothing in a line
    stops the reading. Blank lines are nothing.
    """
    assembly = Assembly()
    parts: list[_Part] = []
    line = 1
    for chunk in _chunks(source):
        part, count = _decoded(chunk, line, time, assembly)
        parts.append(part)
        line += count
    left = _Part([], [], *_messages(assembly.rest(), time))
    return _joined([*parts, left])


def vessel_facts(vessels: pa.Table) -> str:
    """What vessels last said, as facts: `vessel(V)`, `vesselType(V, Type)`, `draught(V, D)`.

    Types are those of the maritime rules; a vessel of another type, or of none, has no such fact.
    """
    kinds: dict[int, int] = {}
    draughts: dict[int, float] = {}
    rows = vessels.sort_by("t")
    for row in rows.select(["vessel", "ship_type", "draught"]).to_pylist():
        kinds.setdefault(row["vessel"], 0)
        kinds[row["vessel"]] = row["ship_type"] or kinds[row["vessel"]]
        if row["draught"]:
            draughts[row["vessel"]] = row["draught"]
    lines = [f"vessel({vessel})." for vessel in kinds]
    named = ((vessel, type_name(kind)) for vessel, kind in kinds.items())
    lines += [f"vesselType({vessel}, {name})." for vessel, name in named if name]
    lines += [f"draught({vessel}, {metres})." for vessel, metres in draughts.items()]
    return "".join(line + "\n" for line in lines)


def type_name(ship_type: int) -> str | None:
    """The type of a vessel in the words of the maritime rules, from its number in AIS; or none."""
    special = {30: "fishing", 31: "tug", 32: "tug", 36: "pleasureCraft", 37: "pleasureCraft",
               50: "pilotVessel", 51: "sar", 52: "tug"}  # fmt: skip
    return special.get(ship_type) or {6: "passenger", 7: "cargo", 8: "tanker"}.get(ship_type // 10)


@dataclass(slots=True)
class _Part:
    positions: list[pa.Table]
    set_aside: list[pa.Table]
    messages: list[AisMessage] = field(default_factory=list)
    faults: list[tuple[int, str, bytes]] = field(default_factory=list)
    others: int = 0


def _chunks(source: str | Path | bytes | Iterable[str | bytes]) -> Iterator[bytes]:
    if isinstance(source, bytes):
        yield source
    elif isinstance(source, str | Path):
        yield from _file_chunks(Path(source))
    else:
        yield b"\n".join(
            line.encode("utf-8", "replace") if isinstance(line, str) else line for line in source
        )


def _file_chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, cut after line breaks."""
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                yield chunk + file.readline()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error


def _lines(text: bytes) -> tuple[Bytes, Integers, Integers]:
    """The bytes of a text, and where its lines start and stop, without what ends them."""
    content = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(content == 10)
    if len(content) and content[-1] != 10:
        ends = np.append(ends, len(content))
    starts = np.concatenate([np.zeros(min(1, len(ends)), np.int64), ends[:-1] + 1])
    returns = (ends > starts) & (content[np.maximum(ends - 1, 0)] == 13) if len(ends) else 0
    return content, starts, ends - returns


def _decoded(text: bytes, line: int, time: int | None, assembly: Assembly) -> tuple[_Part, int]:
    content, starts, stops = _lines(text)
    count = len(starts)
    kinds, times, vessel = (np.empty(count, np.int64) for _ in range(3))
    numbers = [np.empty(count, np.float64) for _ in range(5)]
    decode(content, starts, stops, kinds, times, vessel, *numbers)
    if time is not None:
        times[times == NO_TIME] = time
    is_position = kinds == POSITION
    somewhere = (np.abs(numbers[0]) <= 180) & (np.abs(numbers[1]) <= 90)
    kept = is_position & somewhere & (times != NO_TIME)
    positions = _positions(vessel[kept], times[kept], [column[kept] for column in numbers])
    aside = [_aside(text, starts, stops, kinds == kind, line, REASONS[kind]) for kind in REASONS]
    aside.append(_aside(text, starts, stops, is_position & (times == NO_TIME), line, UNTIMED))
    lost = is_position & (times != NO_TIME) & ~somewhere
    aside.append(_aside(text, starts, stops, lost, line, NOWHERE))
    for row in np.flatnonzero(kinds == LEFT).tolist():
        known = None if times[row] == NO_TIME else int(times[row])
        assembly.add(line + row, known, text[starts[row] : stops[row]])
    messages, faults, others = _messages(assembly.taken(), time)
    others += int((kinds == OTHER_TYPE).sum())
    return _Part([positions], aside, messages, faults, others), count


def _positions(vessel: Integers, time: Integers, numbers: list[Floats]) -> pa.Table:
    lon, lat, speed, course, heading = numbers
    limits = ((speed, 102.3), (course, 360.0), (heading, 360.0))
    said = [pa.array(column, mask=column >= limit) for column, limit in limits]
    return pa.table([vessel, time, lon, lat, *said], schema=POSITION_SCHEMA)


def _aside(
    text: bytes, starts: Integers, stops: Integers, mask: Booleans, line: int,
    reason: str,
) -> pa.Table:  # fmt: skip
    rows = np.flatnonzero(mask)
    shown = [_shown(text[starts[row] : stops[row]]) for row in rows.tolist()]
    return pa.table([rows + line, [reason] * len(rows), shown], schema=ASIDE_SCHEMA)


def _shown(line: bytes) -> str:
    return line[:200].decode("utf-8", "replace")


def _messages(
    decoded: tuple[list[AisMessage], list[tuple[int, str, bytes]]], time: int | None
) -> tuple[list[AisMessage], list[tuple[int, str, bytes]], int]:
    """The messages that say something, the lines that do not, and how many are of other types."""
    messages, faults = decoded
    kept: list[AisMessage] = []
    others = 0
    for message in messages:
        if message.kind == OTHER:
            others += 1
        elif message.time is None and time is None:
            faults.append((message.line, UNTIMED, message.text))
        elif message.kind != STATIC and not _somewhere(message):
            faults.append((message.line, NOWHERE, message.text))
        else:
            message.fields["t"] = time if message.time is None else message.time
            kept.append(message)
    return kept, faults, others


def _somewhere(message: AisMessage) -> bool:
    lon, lat = message.fields["lon"], message.fields["lat"]
    return lon is not None and lat is not None and abs(lon) <= 180 and abs(lat) <= 90


def _joined(parts: list[_Part]) -> Sentences:
    messages = [message for part in parts for message in part.messages]
    faults = [fault for part in parts for fault in part.faults]
    columns = [[fault[0] for fault in faults], [fault[1] for fault in faults]]
    texts = [_shown(fault[2]) for fault in faults]
    aside = pa.table([*columns, texts], schema=ASIDE_SCHEMA)
    said = {kind: [own.fields for own in messages if (own.kind == STATIC) == kind]
            for kind in (True, False)}  # fmt: skip
    positions = [table for part in parts for table in part.positions]
    asides = [table for part in parts for table in part.set_aside]
    return Sentences(
        pa.concat_tables([*positions, _table(said[False], POSITION_SCHEMA)]),
        _table(said[True], VESSEL_SCHEMA),
        pa.concat_tables([*asides, aside]).sort_by("line"),
        sum(part.others for part in parts),
    )


def _table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=schema)
