"""One line of text as a record, exactly; the columnar reader leaves odd lines to this."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cernis.errors import ProgramError
from cernis.knowledge.ground_values import Value, field_value, is_ground, value
from cernis.records.gathering import (
    NO_CHANCE,
    NO_TIME,
    TOO_LARGE,
    Gathering,
    trouble_with_times,
)
from cernis.records.record_columns import INFINITE, RecordForm, RecordKind, fits, shown
from cernis.records.times import TooFine, Unusable
from cernis.syntax.parser import parse_term

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_CHANCE: Final = re.compile(r"[+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_COMPOUND: Final = re.compile(r"[^\W\d_A-Z]\w*\(.*\)", re.DOTALL)
_MOST_DIGITS: Final = 400

TOO_FEW: Final = "a record has a name, an arrival and an occurrence"


@dataclass(frozen=True, slots=True)
class Heading:
    """The first field of a record, understood; `reason` says why it cannot be used."""

    name: str
    retracts: bool = False
    reason: str = ""
    chance: float = 1.0


def heading(field: str) -> Heading:
    """The name of a record, with `-` before it if it retracts another, and its probability.

    >>> heading("-go_to").retracts, heading("0.7::go_to").chance, heading("7::go_to").reason
    (True, 0.7, 'a probability must be a number from 0 to 1')
    """
    chance, separator, name = field.strip().rpartition("::")
    chance = chance.strip(" \t\n\f\r")
    retracts = name.startswith("-")
    name = name.removeprefix("-").strip()
    if not separator:
        return Heading(name, retracts)
    if not _CHANCE.fullmatch(chance) or not 0 <= float(chance) <= 1:
        return Heading(name, retracts, NO_CHANCE)
    return Heading(name, retracts, chance=float(chance))


def field_of(text: str) -> Value:
    """The value of a field: a number or a ground compound term if it reads as one, else text.

    >>> field_of(" 003 "), field_of("north sea")
    (3, 'north sea')
    """
    text = text.strip()
    if _COMPOUND.fullmatch(text):
        try:
            term = parse_term(text)
        except ProgramError:
            return text
        return value(term) if is_ground(term) else text
    return field_value(text)


def is_whole(text: str) -> bool:
    """Is a field a whole number?"""
    text = text.strip()
    return _INTEGER.fullmatch(text) is not None and len(text) <= _MOST_DIGITS


def time_of(text: str, gathering: Gathering) -> int | None:
    """The time-point of a field; None if it is no whole number, date or time."""
    text = text.strip()
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= _MOST_DIGITS else None
    try:
        return gathering.time_point(text)
    except TooFine:
        raise
    except Unusable:
        return None


def _clock_time(text: str, gathering: Gathering) -> int | None:
    try:
        return time_of(text, gathering)
    except TooFine:
        return None


def read_line(line: str, place: int, gathering: Gathering) -> None:
    """Take one line in. A blank one is no record."""
    if not line.strip():
        return
    fields = line.split("|")
    head = heading(fields[0])
    if gathering.is_clock(head.name):
        time = None if head.retracts or len(fields) < 2 else _clock_time(fields[1], gathering)
        gathering.tell_clock_once(time, place, line)
        return
    record_id = None if gathering.ids is None or len(fields) < 2 else field_of(fields.pop())
    try:
        understood = head.reason or _understood(head.name, fields, gathering)
    except TooFine as error:
        gathering.set_aside_fraction(place, error, line)
        return
    if understood is None:
        gathering.ignore(head.name, 1)
    elif isinstance(understood, str):
        gathering.set_aside(place, understood, line)
    elif not all(map(fits, understood[2])) or (record_id is not None and not fits(record_id)):
        gathering.set_aside(place, TOO_LARGE, line)
    else:
        gathering.add_row(*understood, place, head.retracts, head.chance, record_id)


def _understood(
    name: str, fields: list[str], gathering: Gathering
) -> tuple[RecordForm, Sequence[int], Sequence[Value]] | str | None:
    """Form, times and values; or the reason why not; or None if no rule mentions the name."""
    if len(fields) == 1:
        return TOO_FEW
    shapes = gathering.shapes
    if not shapes.knows(name):
        return None
    nested = None
    if shapes.is_nested(name):
        nested = shapes.of_values(name, [field_of(text) for text in fields[3:]])
    form = nested[0] if nested else shapes.of_fields(name, len(fields))
    if not isinstance(form, RecordForm):
        return form
    count = len(form.titles)
    times = [time_of(text, gathering) for text in fields[1 : 1 + count] if text.strip() != "inf"]
    if form.kind is RecordKind.INTERVAL and fields[3].strip() == "inf":
        times.append(INFINITE)
    whole = [time for time in times if time is not None]
    if len(whole) < count:
        return NO_TIME
    trouble = trouble_with_times(form, whole)
    if trouble:
        return trouble
    declared = shapes.declared_text(form)
    if nested:
        values = [shown(v) if text else v for v, text in zip(nested[1], declared, strict=True)]
        return form, whole, values
    rest = zip(fields[1 + count :], declared, strict=True)
    return form, whole, [field.strip() if text else field_of(field) for field, text in rest]
