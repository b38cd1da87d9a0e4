"""AIS messages that need more than a loop over bytes: in several parts, or of rarer types."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyais
from pyais.exceptions import AISBaseException

POSITIONS = (1, 2, 3, 18, 19, 27)
"""Types of messages in which vessels report their positions."""

STATIC_TYPES = (5, 19, 24)
"""Types of messages in which vessels speak of themselves. Type 19 does both."""

PLACE, STATIC, OTHER = "position", "static", "other"

PATIENCE = 60
"""Seconds within which all parts of a message come."""

INCOMPLETE, UNREADABLE = "incomplete message", "not decoded"

Fault = tuple[int, str, bytes]
"""The line, the reason, the text."""


@dataclass(slots=True)
class AisMessage:
    """A message that was decoded: where it began, when, of what kind, and what it says."""

    line: int
    time: int | None
    text: bytes
    kind: str
    fields: dict[str, Any]


@dataclass(slots=True)
class _Waiting:
    """The parts so far of a message in several."""

    line: int
    time: int | None
    parts: dict[int, bytes]


@dataclass(slots=True)
class Assembly:
    """Puts together the parts of messages, whatever comes between, and decodes them.

    Parts belong together if they have the same talker, number of parts, sequence number and
    channel, and their times, where known, are not more than `PATIENCE` apart. If a part comes a
    second time, the message before it is incomplete.
    """

    _waiting: dict[tuple[bytes, ...], _Waiting] = field(default_factory=dict)
    _messages: list[AisMessage] = field(default_factory=list)
    _faults: list[Fault] = field(default_factory=list)

    def add(self, line: int, time: int | None, text: bytes) -> None:
        """Take a line whose checksum is right."""
        sentence = text[text.index(b"!") :]
        talker, parts, number, *names = sentence.split(b",")[:5]
        if parts == b"1":
            self._decode(line, time, text, [sentence])
        elif not (parts.isdigit() and number.isdigit() and 1 <= int(number) <= int(parts)):
            self._faults.append((line, UNREADABLE, text))
        else:
            self._collect((talker, parts, *names), int(number), line, time, sentence)

    def taken(self) -> tuple[list[AisMessage], list[Fault]]:
        """What there is so far, which is then forgotten."""
        collected = self._messages, self._faults
        self._messages, self._faults = [], []
        return collected

    def rest(self) -> tuple[list[AisMessage], list[Fault]]:
        """What there is at the end: messages that wait for a part are incomplete."""
        for key in list(self._waiting):
            self._give_up(key)
        return self.taken()

    def _collect(
        self, key: tuple[bytes, ...], number: int, line: int, time: int | None, sentence: bytes
    ) -> None:
        waiting = self._waiting.get(key)
        if waiting and (number in waiting.parts or _apart(waiting.time, time)):
            self._give_up(key)
            waiting = None
        if waiting is None:
            waiting = self._waiting[key] = _Waiting(line, time, {})
        waiting.parts[number] = sentence
        waiting.time = time if waiting.time is None else waiting.time
        if len(waiting.parts) == int(key[1]):
            del self._waiting[key]
            parts = [waiting.parts[own] for own in sorted(waiting.parts)]
            self._decode(waiting.line, waiting.time, parts[0], parts)

    def _give_up(self, key: tuple[bytes, ...]) -> None:
        waiting = self._waiting.pop(key)
        text = next(iter(waiting.parts.values()))
        self._faults.append((waiting.line, INCOMPLETE, text))

    def _decode(self, line: int, time: int | None, text: bytes, parts: list[bytes]) -> None:
        try:
            said = pyais.decode(*parts).asdict()
        except (AISBaseException, ValueError, LookupError, TypeError, AttributeError):
            self._faults.append((line, UNREADABLE, text))
            return
        kind = said.get("msg_type")
        if kind in POSITIONS:
            self._messages.append(AisMessage(line, time, text, PLACE, _place(said)))
        if kind in STATIC_TYPES:
            self._messages.append(AisMessage(line, time, text, STATIC, _static(said)))
        if kind not in POSITIONS and kind not in STATIC_TYPES:
            self._messages.append(AisMessage(line, time, text, OTHER, {}))


def _apart(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and abs(other - one) > PATIENCE


def _place(said: dict[str, Any]) -> dict[str, Any]:
    # Long-range reports have whole knots, and say with 63 that there is no speed.
    fastest = 63 if said["msg_type"] == 27 else 102.3
    return {
        "vessel": int(said["mmsi"]),
        "lon": said.get("lon"),
        "lat": said.get("lat"),
        "speed": _below(said.get("speed"), fastest),
        "course": _below(said.get("course"), 360),
        "heading": _below(said.get("heading"), 360),
    }


def _below(value: Any, limit: float) -> float | None:
    return None if value is None or float(value) >= limit else float(value)


def _static(said: dict[str, Any]) -> dict[str, Any]:
    return {
        "vessel": int(said["mmsi"]),
        "name": _text(said.get("shipname")),
        "ship_type": int(said.get("ship_type") or 0) or None,
        "draught": float(said.get("draught") or 0) or None,
        "callsign": _text(said.get("callsign")),
        "destination": _text(said.get("destination")),
    }


def _text(value: Any) -> str | None:
    """Text without its padding; none if nothing is left."""
    return str(value).strip().rstrip("@").strip() or None if value is not None else None
