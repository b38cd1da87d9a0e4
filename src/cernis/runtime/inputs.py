"""Input as the evaluator wants it: coded columns, sorted by time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cernis.check.checker import Checked
from cernis.check.model import FluentKind, Relation, Shape
from cernis.errors import DataError
from cernis.runtime.records import INFINITE, Records
from cernis.tables.columns import Array
from cernis.tables.domains import Domain, Domains, numbers

Integers: TypeAlias = npt.NDArray[np.int64]


@dataclass(slots=True)
class InputEvents:
    """Records of an event, sorted by occurrence."""

    arguments: list[Array]
    domains: list[Domain | None]
    times: Integers
    arrivals: Integers
    gone: Integers | None = None
    """When each record was taken back, if any was."""


@dataclass(slots=True)
class InputFluent:
    """Records of an input fluent, sorted by start; at points, end is start plus a tick."""

    arguments: list[Array]
    values: Array
    domains: list[Domain | None]
    value_domain: Domain | None
    starts: Integers
    ends: Integers
    arrivals: Integers
    from_points: bool
    gone: Integers | None = None


@dataclass(slots=True)
class Input:
    """All records a program can use, and how many there were of relations it does not know."""

    events: dict[Relation, InputEvents]
    fluents: dict[Relation, InputFluent]
    ignored: dict[str, int]
    tick: int = 1

    @property
    def first(self) -> int | None:
        """The first occurrence of all."""
        times = [t.times[0] for t in self.events.values() if len(t.times)]
        times += [t.starts[0] for t in self.fluents.values() if len(t.starts)]
        return int(min(times)) if times else None

    @property
    def last(self) -> int | None:
        """The last occurrence or arrival of all."""
        times = [max(t.times[-1], t.arrivals.max()) for t in self.events.values() if len(t.times)]
        times += [
            max(t.starts[-1], t.arrivals.max()) for t in self.fluents.values() if len(t.starts)
        ]
        for fluent in self.fluents.values():
            closed = fluent.ends[fluent.ends < INFINITE]
            times += [closed.max() - self.tick] if len(closed) else []
        return int(max(times)) if times else None

    @property
    def records(self) -> int:
        """How many records are used."""
        return sum(len(t.times) for t in self.events.values()) + sum(
            len(t.starts) for t in self.fluents.values()
        )


class Encoder:
    """Encodes columns by the slots they belong to."""

    def __init__(self, checked: Checked, domains: Domains, tick: int) -> None:
        self._checked = checked
        self._domains = domains
        self._tick = tick

    def encode(self, tables: Mapping[str, pa.Table]) -> Input:
        """Tables by relation name: `arrival, occurrence|start,end, [value,] arguments...`."""
        found = Input({}, {}, {}, self._tick)
        for name, table in tables.items():
            self._relation(name, table, found)
        return found

    def encode_records(self, records: Records) -> Input:
        """Records read from text."""
        found = Input({}, {}, {}, self._tick)
        for (name, titles, arity), own in records.relations.items():
            times = {
                title: np.array(column, np.int64)
                for title, column in zip(titles, own.times, strict=True)
            }
            relation = Relation(name, arity)
            if arity < 0:
                found.ignored[name] = found.ignored.get(name, 0) + len(own.times[0])
            else:
                if own.gone:
                    times["gone"] = np.full(len(own.times[0]), INFINITE)
                    times["gone"][list(own.gone)] = list(own.gone.values())
                if len(own.columns) == arity and "occurrence" in times:
                    self._add_events(relation, times, own.columns, found)
                else:
                    self._add_fluent(relation, times, own.columns, found)
        return found

    def _add_events(
        self, relation: Relation, times: dict[str, Integers], columns: list[list[Any]], found: Input
    ) -> None:
        domains = [self.domain("event", relation, at) for at in range(relation.arity)]
        arguments = [_listed(c, d, relation) for c, d in zip(columns, domains, strict=True)]
        order = np.argsort(times["occurrence"], kind="stable")
        found.events[relation] = InputEvents(
            [column[order] for column in arguments], domains, times["occurrence"][order],
            times["arrival"][order], times["gone"][order] if "gone" in times else None,
        )  # fmt: skip

    def _add_fluent(
        self, relation: Relation, times: dict[str, Integers], columns: list[list[Any]], found: Input
    ) -> None:
        domains = [self.domain("fluent", relation, at) for at in range(relation.arity)]
        value_domain = self.domain("fluent", relation, "value")
        from_points = "occurrence" in times
        starts = times["occurrence" if from_points else "start"]
        ends = starts + self._tick if from_points else times["end"]
        values, *arguments = [
            _listed(c, d, relation) for c, d in zip(columns, [value_domain, *domains], strict=True)
        ]
        order = np.argsort(starts, kind="stable")
        new = InputFluent(
            [column[order] for column in arguments], values[order], domains, value_domain,
            starts[order], ends[order], times["arrival"][order], from_points,
            times["gone"][order] if "gone" in times else None,
        )  # fmt: skip
        before = found.fluents.get(relation)
        found.fluents[relation] = new if before is None else _both(before, new)

    def _relation(self, name: str, table: pa.Table, found: Input) -> None:
        titles = table.column_names
        catalogue = self._checked.catalogue
        timed = [title for title in ("arrival", "occurrence", "start", "end") if title in titles]
        rest = [title for title in titles if title not in timed]
        as_event, as_fluent = Relation(name, len(rest)), Relation(name, len(rest) - 1)
        if as_event in catalogue.events and catalogue.events[as_event].is_input:
            found.events[as_event] = self._events(as_event, table, rest)
        elif (
            as_fluent in catalogue.fluents and catalogue.fluents[as_fluent].kind is FluentKind.INPUT
        ):
            found.fluents[as_fluent] = self._fluent(as_fluent, table, rest)
        else:
            found.ignored[name] = table.num_rows

    def _events(self, relation: Relation, table: pa.Table, titles: list[str]) -> InputEvents:
        domains = [self.domain("event", relation, at) for at in range(relation.arity)]
        times = _integers(table, "occurrence", relation)
        arrivals = (
            _integers(table, "arrival", relation) if "arrival" in table.column_names else times
        )
        arguments = [
            self.column(table.column(title), domain, relation, title)
            for title, domain in zip(titles, domains, strict=True)
        ]
        if len(times) > 1 and not np.all(times[1:] >= times[:-1]):
            order = np.argsort(times, kind="stable")
            times, arrivals = times[order], arrivals[order]
            arguments = [column[order] for column in arguments]
        return InputEvents(arguments, domains, times, arrivals)

    def _fluent(self, relation: Relation, table: pa.Table, titles: list[str]) -> InputFluent:
        domains = [self.domain("fluent", relation, at) for at in range(relation.arity)]
        value_domain = self.domain("fluent", relation, "value")
        from_points = "occurrence" in table.column_names
        starts = _integers(table, "occurrence" if from_points else "start", relation)
        ends = starts + self._tick if from_points else _integers(table, "end", relation)
        arrivals = (
            _integers(table, "arrival", relation) if "arrival" in table.column_names else starts
        )
        values = self.column(table.column(titles[0]), value_domain, relation, titles[0])
        arguments = [
            self.column(table.column(title), domain, relation, title)
            for title, domain in zip(titles[1:], domains, strict=True)
        ]
        order = np.argsort(starts, kind="stable")
        return InputFluent(
            [column[order] for column in arguments], values[order], domains, value_domain,
            starts[order], ends[order], arrivals[order], from_points,
        )  # fmt: skip

    def domain(self, kind: str, relation: Relation, position: int | str) -> Domain | None:
        """The domain of a slot; None if it holds numbers that are reckoned with."""
        types = self._checked.types
        if types.is_reckoned(kind, relation, position):
            return None
        return self._domains.of(types.find((kind, relation, position)))

    def column(
        self, column: pa.ChunkedArray, domain: Domain | None, relation: Relation, title: str
    ) -> Array:
        """A column in its slot's encoding."""
        if column.null_count:
            raise DataError(f"column {title} of {relation} has {column.null_count} empty cells")
        kind = column.type
        if domain is None:
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                raise DataError(f"column {title} of {relation} must hold numbers, not {kind}")
            return numbers(column.to_numpy())
        if pa.types.is_integer(kind):
            return domain.encode_integers(column.to_numpy().astype(np.int64, copy=False))
        if pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            return domain.encode(_plain(column.to_pylist()))
        coded = column.combine_chunks()
        if not pa.types.is_dictionary(coded.type):
            coded = coded.dictionary_encode()
        if isinstance(coded, pa.ChunkedArray):
            coded = coded.unify_dictionaries().combine_chunks()
        codes = domain.encode(coded.dictionary.to_pylist())
        indices = coded.indices.to_numpy(zero_copy_only=False)
        return codes[indices] if len(codes) else np.empty(0, np.int64)


def _listed(values: list[Any], domain: Domain | None, relation: Relation) -> Array:
    """Values read from text in their slot's encoding."""
    if domain is not None:
        return domain.encode(values)
    if any(isinstance(value, str) for value in values):
        # Text where a number is expected compares with nothing.
        return np.array([np.nan if isinstance(v, str) else v for v in values], np.float64)
    return numbers(values) if values else np.empty(0, np.int64)


def _both(first: InputFluent, second: InputFluent) -> InputFluent:
    starts = np.concatenate([first.starts, second.starts])
    order = np.argsort(starts, kind="stable")
    return InputFluent(
        [np.concatenate(own)[order] for own in zip(first.arguments, second.arguments, strict=True)],
        np.concatenate([first.values, second.values])[order],
        first.domains,
        first.value_domain,
        starts[order],
        np.concatenate([first.ends, second.ends])[order],
        np.concatenate([first.arrivals, second.arrivals])[order],
        first.from_points or second.from_points,
        np.concatenate([_gone(first), _gone(second)])[order],
    )


def _gone(fluent: InputFluent) -> Integers:
    return np.full(len(fluent.starts), INFINITE) if fluent.gone is None else fluent.gone


def _plain(values: Iterable[Any]) -> list[Any]:
    return [str(v).lower() if isinstance(v, bool) else v for v in values]


def _integers(table: pa.Table, title: str, relation: Relation) -> Integers:
    if title not in table.column_names:
        there = ", ".join(table.column_names)
        raise DataError(f"{relation} has no column {title}; there are {there}")
    column = table.column(title)
    if not pa.types.is_integer(column.type) or column.null_count:
        raise DataError(f"column {title} of {relation} must hold integers without gaps")
    return np.ascontiguousarray(column.to_numpy(), np.int64)


def declared_shape(checked: Checked, relation: Relation) -> Shape:
    """How the records of an input fluent are declared to come."""
    return checked.catalogue.fluents[relation].shape
