"""Records given one by one: as tuples, as mappings, as lines of JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from cernis.knowledge.values import Value
from cernis.runtime.columns import INFINITE, Form, Kind, shown
from cernis.runtime.gathering import NO_CHANCE, Gathering, trouble_with_times
from cernis.runtime.lines import TOO_FEW, heading
from cernis.runtime.times import SubSecond, Unusable, time_point

NAMES: Final = ("name", "event", "fluent")
"""Titles under which a record may tell its relation."""
TIMES: Final = ("arrival", "occurrence", "start", "end")
_KNOWN: Final = frozenset({*NAMES, *TIMES, "value", "args", "retracts", "probability"})
_POINTS: Final = (Kind.EVENT, Kind.POINT)


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
        given = _mapping(row, name, ids) if isinstance(row, Mapping) else _sequence(row, name, ids)
        if not gathering.shapes.knows(given.name):
            gathering.ignore(given.name, 1)
            return
        form, times, values = _understood(given, gathering)
    except SubSecond as error:
        gathering.set_aside_fraction(place, error, _shown(row, written))
        return
    except Unusable as error:
        gathering.set_aside(place, str(error), _shown(row, written))
        return
    gathering.add_row(form, times, values, place, given.retracts, given.chance, given.id)


def add_json_lines(stream: BinaryIO, gathering: Gathering, source: str) -> None:
    """Take in a stream of JSON objects or arrays, one a line."""
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


@dataclass(frozen=True, slots=True)
class _Given:
    """A record as it was given. Without titles, `times` and `values` are all its fields."""

    name: str
    retracts: bool
    kinds: Sequence[Kind]
    times: Sequence[Any]
    values: Sequence[Any]
    titles: tuple[str, ...] | None = None
    chance: float = 1.0
    id: Value | None = None


def _sequence(row: Any, name: str | None, ids: str | None = None) -> _Given:
    if not isinstance(row, Sequence) or isinstance(row, str | bytes):
        raise Unusable(f"a record is a tuple or a mapping, not a {type(row).__name__}")
    fields = list(row) if name is None else [name, *row]
    own = None if ids is None or not fields else value_of(fields.pop())
    if len(fields) < 3:
        raise Unusable(TOO_FEW)
    head = heading(str(fields[0]))
    if head.reason:
        raise Unusable(head.reason)
    return _Given(
        head.name, head.retracts, tuple(Kind), fields[1:3], fields[3:], chance=head.chance, id=own
    )


def _mapping(row: Mapping[Any, Any], name: str | None, ids: str | None = None) -> _Given:
    own = None
    if ids is not None:
        if row.get(ids) is None:
            raise Unusable(f"there is no {ids}, which is to tell the record from others")
        own = value_of(row[ids])
        row = {key: value for key, value in row.items() if key != ids}
    found = name if name is not None else next((row[t] for t in NAMES if t in row), None)
    if not isinstance(found, str):
        raise Unusable("there is no name")
    head = heading(found)
    if head.reason:
        raise Unusable(head.reason)
    on_interval = "start" in row
    if not on_interval and "occurrence" not in row:
        raise Unusable("there is no occurrence")
    start = row["start" if on_interval else "occurrence"]
    times = [row.get("arrival", start), start]
    if on_interval:
        times.append(row.get("end"))
    args, titles = row.get("args"), None
    if args is None:
        more = {key: value for key, value in row.items() if key not in _KNOWN and key != "open"}
        args, titles = list(more.values()), tuple(map(str, more))
    elif not isinstance(args, Sequence) or isinstance(args, str):
        raise Unusable("args must be a list")
    kinds = [Kind.INTERVAL] if on_interval else [Kind.POINT] if "value" in row else [Kind.EVENT]
    values = [row["value"], *args] if "value" in row else args
    retracts = head.retracts or row.get("retracts") is True
    chance = chance_of(row["probability"]) if "probability" in row else head.chance
    return _Given(head.name, retracts, kinds, times, values, titles, chance, own)


def _understood(given: _Given, gathering: Gathering) -> tuple[Form, list[int], list[Value]]:
    shapes, times, values = gathering.shapes, given.times, list(given.values)
    positional = len(given.kinds) > 1
    if positional:
        form = shapes.of_fields(given.name, 3 + len(values))
        if isinstance(form, Form) and form.kind is Kind.INTERVAL:
            times, values = [*times, values[0]], values[1:]
    else:
        form = shapes.of_columns(given.name, len(values), given.kinds)
    if not isinstance(form, Form):
        raise Unusable(form or f"no rule mentions {given.name}")
    if given.titles is not None:
        values = _by_title(form, given.titles, values, shapes.argument_names(form.relation))
    whole = [time_point(time) for time in times[:2]] + [end_of(time) for time in times[2:]]
    trouble = trouble_with_times(form, whole)
    if trouble:
        raise Unusable(trouble)
    slots = zip(map(value_of, values), shapes.declared_text(form), strict=True)
    return form, whole, [shown(value) if is_text else value for value, is_text in slots]


def _by_title(
    form: Form, titles: tuple[str, ...], values: list[Any], names: tuple[str, ...]
) -> list[Any]:
    """The values in the order of the arguments, if they are called as in the rules."""
    order = argument_order(titles, names)
    skipped = form.width - form.relation.arity
    return [*values[:skipped], *(values[skipped + at] for at in order)]


def argument_order(titles: Sequence[str], names: Sequence[str]) -> list[int]:
    """Where each argument stands: under its name, if all are, else in the order there is.

    >>> argument_order(["Y", "X"], ["X", "Y"]), argument_order(["b", "a"], ["X", "Y"])
    ([1, 0], [0, 1])
    """
    if sorted(titles) == sorted(names):
        return [list(titles).index(name) for name in names]
    return list(range(len(titles)))


def end_of(time: Any) -> int:
    """The end of an interval; None and infinity say that it is open."""
    return INFINITE if time is None or time == math.inf or time == "inf" else time_point(time)


def chance_of(given: Any) -> float:
    """The probability of a record; one that is missing or no number is none."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not 0 <= given <= 1:
        raise Unusable(NO_CHANCE)
    return float(given)


def value_of(given: Any) -> Value:
    """A Python value as the value of an argument: a truth value becomes text."""
    if hasattr(given, "item"):
        given = given.item()
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, float) and math.isnan(given):
        raise Unusable("a value is missing")
    if isinstance(given, int | float | str):
        return given
    if given is None:
        raise Unusable("a value is missing")
    raise Unusable(f"a value must be a number or text, not a {type(given).__name__}")
