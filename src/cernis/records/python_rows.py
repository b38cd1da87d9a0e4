"""Records given one by one: as tuples, as mappings, as lines of JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, BinaryIO, TypeAlias

from cernis.errors import DataError
from cernis.knowledge.ground_values import Value
from cernis.records.column_titles import CLOCK_TIMES, NAMES, ROLES, TableForm, table_form
from cernis.records.gathering import NO_CHANCE, Gathering, trouble_with_times
from cernis.records.record_columns import INFINITE, RecordForm, RecordKind, shown
from cernis.records.record_shapes import Shapes
from cernis.records.text_lines import TOO_FEW, heading
from cernis.records.times import TooFine, Unusable


def add_rows(rows: Iterable[Any], gathering: Gathering, source: str, name: str | None) -> None:
    """Take in tuples, in the order of text records, or mappings by title.

    Where the name of the relation is given, the records do not have it.
    """
    place = gathering.sources.begin(source)
    for row in rows:
        gathering.sources.grow(1)
        add_row(row, place, gathering, name)
        place += 1


def add_row(
    row: Any, place: int, gathering: Gathering, name: str | None = None, written: bytes = b""
) -> None:
    """Take in one record; `written` is what it was read from, if it was."""
    try:
        ids = gathering.ids
        if isinstance(row, Mapping):
            raw = _mapping(row, name, ids, gathering.shapes)
        else:
            raw = _sequence(row, name, ids)
        if gathering.is_clock(raw.name):
            gathering.tell_clock_once(_clock_time(raw, gathering), place, _shown(row, written))
            return
        if not gathering.shapes.knows(raw.name):
            gathering.ignore(raw.name, 1)
            return
        form, times, values, retracts, chance = _understood(raw, gathering)
    except TooFine as error:
        gathering.set_aside_fraction(place, error, _shown(row, written))
        return
    except Unusable as error:
        gathering.set_aside(place, str(error), _shown(row, written))
        return
    gathering.add_row(form, times, values, place, retracts, chance, raw.id)


def _clock_time(raw: _RawRecord, gathering: Gathering) -> int | None:
    """The time of a `$clock`: its latest, if it has several; None if it has none."""
    row = raw.row
    titles = [title for title in CLOCK_TIMES if row is not None and row.get(title) is not None]
    times = raw.times if row is None else [row[title] for title in titles]
    try:
        return None if raw.retracts else max(map(gathering.time_point, times), default=None)
    except Unusable:
        return None


def add_json_lines(stream: BinaryIO, gathering: Gathering, source: str) -> None:
    """Take in a stream of JSON objects or arrays, one on each line."""
    place = gathering.sources.begin(source)
    for line in stream:
        gathering.sources.grow(1)
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError:
                gathering.set_aside(place, "the line is not JSON", _shown(None, line))
            except RecursionError:
                reason = "the line is nested too deep for a record"
                gathering.set_aside(place, reason, _shown(None, line))
            else:
                add_row(row, place, gathering, written=line)
        place += 1


def _shown(row: Any, written: bytes) -> str:
    """A record as it was written, or else as Python shows it."""
    if written:
        return written.decode("utf-8", "replace").rstrip("\r\n")
    try:
        return str(row)
    except RecursionError:
        return "a record nested too deep to be shown"


_Record: TypeAlias = tuple[RecordForm, list[int], list[Value], bool, float]
"""Form, times and values of a record, whether it retracts another, and its probability."""


@dataclass(frozen=True, slots=True)
class _RawRecord:
    """A record as it was given: by title in `row`, else `times` and `values` are all its fields."""

    name: str
    retracts: bool
    times: Sequence[Any] = ()
    values: Sequence[Any] = ()
    chance: float = 1.0
    id: Value | None = None
    row: Mapping[Any, Any] | None = None
    listed: bool = False
    """Are the arguments a list, without titles?"""


def _sequence(row: Any, name: str | None, ids: str | None = None) -> _RawRecord:
    if not isinstance(row, Sequence) or isinstance(row, str | bytes):
        raise Unusable(f"a record is a tuple or a mapping, not a {type(row).__name__}")
    fields = list(row) if name is None else [name, *row]
    record_id = None if ids is None or not fields else value_of(fields.pop())
    if len(fields) < 3:
        raise Unusable(TOO_FEW)
    head = heading(str(fields[0]))
    if head.reason:
        raise Unusable(head.reason)
    return _RawRecord(head.name, head.retracts, fields[1:3], fields[3:], head.chance, record_id)


def _mapping(
    row: Mapping[Any, Any], name: str | None, ids: str | None, shapes: Shapes
) -> _RawRecord:
    record_id = None
    if ids is not None:
        if row.get(ids) is None:
            raise Unusable(f"there is no {ids}, which is to tell the record from others")
        record_id = value_of(row[ids])
        row = {key: value for key, value in row.items() if key != ids}
    if name is None:
        title = _relation_title(row, shapes)
        name = row[title]
        row = {key: value for key, value in row.items() if key != title}
    head = heading(name)
    if head.reason:
        raise Unusable(head.reason)
    listed = row.get("args")
    if listed is not None:
        if not isinstance(listed, Sequence) or isinstance(listed, str):
            raise Unusable("args must be a list")
        row = {key: value for key, value in row.items() if key in ROLES}
        row |= {f"argument {at}": value for at, value in enumerate(listed, 1)}
    elif "args" in row:
        row = {key: value for key, value in row.items() if key != "args"}
    return _RawRecord(
        head.name,
        head.retracts,
        chance=head.chance,
        id=record_id,
        row=row,
        listed=listed is not None,
    )


def _relation_title(row: Mapping[Any, Any], shapes: Shapes) -> str:
    """The title of the relation's name: of several, the first with a name that rules mention."""
    said = shapes.names.column("name")
    if said is not None and isinstance(row.get(said), str):
        return said
    titles = [title for title in NAMES if isinstance(row.get(title), str)]
    if not titles:
        raise Unusable("there is no name")
    return next((t for t in titles if shapes.knows(heading(row[t]).name)), titles[0])


def _understood(raw: _RawRecord, gathering: Gathering) -> _Record:
    shapes = gathering.shapes
    if raw.row is not None:
        return _by_title(raw, raw.row, gathering)
    times, values = raw.times, list(raw.values)
    form = shapes.of_fields(raw.name, 3 + len(values))
    if not isinstance(form, RecordForm):
        raise Unusable(form or f"no rule mentions {raw.name}")
    if form.kind is RecordKind.INTERVAL:
        times, values = [*times, values[0]], values[1:]
    return _record(form, times, values, raw.retracts, raw.chance, gathering)


def _by_title(raw: _RawRecord, row: Mapping[Any, Any], gathering: Gathering) -> _Record:
    """A record by the titles of its fields, which are understood as those of a table are."""
    key = (raw.name, raw.listed, *map(str, row))
    if key not in gathering.table_forms:
        gathering.table_forms[key] = _table_form(raw, row, gathering.shapes)
    table = gathering.table_forms[key]
    if isinstance(table, str):
        raise Unusable(table)
    gathering.warn(table.warning)
    gathering.note(table.note)
    fields, titles = {str(title): value for title, value in row.items()}, table.titles
    start = fields[titles.start]
    times = [start if titles.arrival is None else fields[titles.arrival], start]
    if titles.end is not None:
        times.append(fields.get(titles.end))
    retracts = titles.retracts is not None and fields[titles.retracts] is True
    chance = raw.chance
    if titles.probability is not None:
        chance = chance_of(fields[titles.probability])
    values = [fields[title] for title in table.columns]
    return _record(table.form, times, values, raw.retracts or retracts, chance, gathering)


def _table_form(raw: _RawRecord, row: Mapping[Any, Any], shapes: Shapes) -> TableForm | str:
    """How rows with such titles are understood, or the reason why they are not."""
    titles = [str(title) for title in row]
    if "start" in row and "occurrence" not in row and "end" not in row:
        # An interval without an end is open.
        titles.append("end")
    try:
        return table_form(raw.name, titles, shapes, raw.name, listed=raw.listed)
    except DataError as error:
        return str(error)


def _record(
    form: RecordForm, times: Sequence[Any], values: Sequence[Any], retracts: bool, chance: float,
    gathering: Gathering,
) -> _Record:  # fmt: skip
    whole = [gathering.time_point(time) for time in times[:2]]
    whole += [end_of(time, gathering) for time in times[2:]]
    trouble = trouble_with_times(form, whole)
    if trouble:
        raise Unusable(trouble)
    slots = zip(map(value_of, values), gathering.shapes.declared_text(form), strict=True)
    read = [shown(value) if is_text else value for value, is_text in slots]
    return form, whole, read, retracts, chance


def end_of(time: Any, gathering: Gathering) -> int:
    """The end of an interval; None and infinity say that it is open."""
    is_open = time is None or time == math.inf or (isinstance(time, str) and time == "inf")
    return INFINITE if is_open else gathering.time_point(time)


def chance_of(value: Any) -> float:
    """The probability of a record; one that is missing or no number is none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:
        raise Unusable(NO_CHANCE)
    return float(value)


def value_of(value: Any) -> Value:
    """A Python value as the value of an argument: a truth value becomes text."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isnan(value):
        raise Unusable("a value is missing")
    if isinstance(value, int | float | str):
        return value
    if isinstance(value, Decimal):
        # As columns of decimals are read.
        return value_of(float(value))
    if value is None:
        raise Unusable("a value is missing")
    raise Unusable(f"a value must be a number or text, not a {type(value).__name__}")
