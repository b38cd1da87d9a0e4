"""Input as the evaluator wants it: coded columns, sorted by time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cernis.check.checker import Checked
from cernis.check.model import Relation
from cernis.kernels.array_types import Array, Booleans, Floats, Integers
from cernis.kernels.order import ascending
from cernis.records.record_columns import (
    INFINITE,
    Coded,
    Column,
    RecordColumns,
    RecordKind,
    Records,
)
from cernis.tables.domains import Domain, Domains, numbers


@dataclass(slots=True)
class InputEvents:
    """Records of an event, sorted by occurrence."""

    arguments: list[Array]
    domains: list[Domain | None]
    times: Integers
    arrivals: Integers
    gone: Integers | None = None
    """When each record was taken back, if any was."""
    chances: Floats | None = None
    """The probability of each record, if some are uncertain."""


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
    at_points: Booleans | None = None
    """Which records are about points, if some are and others are about intervals."""
    chances: Floats | None = None


@dataclass(slots=True)
class EncodedInput:
    """All records a program can use, and how many there were of relations it does not know."""

    events: dict[Relation, InputEvents]
    fluents: dict[Relation, InputFluent]
    ignored: dict[str, int]
    tick: int = 1

    @property
    def first(self) -> int | None:
        """The first occurrence of all."""
        return min((int(times[0]) for times in self._times() if len(times)), default=None)

    @property
    def last(self) -> int | None:
        """The last point that any record is about, or at which one arrived or was retracted."""
        lasts = [int(times[-1]) for times in self._times() if len(times)]
        every: list[InputEvents | InputFluent] = [*self.events.values(), *self.fluents.values()]
        for own in every:
            gone = [] if own.gone is None else [own.gone[own.gone < INFINITE]]
            lasts += [int(times.max()) for times in (own.arrivals, *gone) if len(times)]
        for fluent in self.fluents.values():
            ends = fluent.ends[fluent.ends < INFINITE]
            lasts += [int(ends.max()) - self.tick] if len(ends) else []
        return max(lasts, default=None)

    @property
    def records(self) -> int:
        """How many records are used."""
        return sum(map(len, self._times()))

    def _times(self) -> list[Integers]:
        """The occurrences and starts, each sorted."""
        return [
            *(own.times for own in self.events.values()),
            *(own.starts for own in self.fluents.values()),
        ]


def read_tables(tables: Mapping[str, pa.Table], checked: Checked) -> Records:
    """Tables by relation name: `arrival, occurrence|start,end, [value,] arguments...`.

    A row that cannot be used is a DataError.
    """
    from cernis.records.record_sources import read_events, refuse_set_aside

    records = read_events(tables, checked)
    refuse_set_aside(records)
    return records


class Encoder:
    """Encodes columns by the slots they belong to."""

    def __init__(self, checked: Checked, domains: Domains, tick: int) -> None:
        self._checked = checked
        self._domains = domains
        self._tick = tick

    def encode_records(self, records: Records) -> EncodedInput:
        """Records of any source."""
        encoded = EncodedInput({}, {}, dict(records.ignored), self._tick)
        for form, records_of_form in records.relations.items():
            relation = form.relation
            if form.kind is RecordKind.EVENT:
                encoded.events[relation] = self._events(relation, records_of_form)
            else:
                new = self._fluent(relation, records_of_form)
                before = encoded.fluents.get(relation)
                encoded.fluents[relation] = new if before is None else _both(before, new)
        return encoded

    def _events(self, relation: Relation, records: RecordColumns) -> InputEvents:
        domains = [self.domain("event", relation, at) for at in range(relation.arity)]
        arrivals, times = records.times
        order = _order(times)
        arguments = [
            _sorted(encoded(column, domain), order)
            for column, domain in zip(records.columns, domains, strict=True)
        ]
        gone = None if records.gone is None else _sorted(records.gone, order)
        chances = None if records.chances is None else _sorted(records.chances, order)
        return InputEvents(
            arguments, domains, _sorted(times, order), _sorted(arrivals, order), gone, chances
        )

    def _fluent(self, relation: Relation, records: RecordColumns) -> InputFluent:
        domains = [self.domain("fluent", relation, at) for at in range(relation.arity)]
        value_domain = self.domain("fluent", relation, "value")
        from_points = records.form.kind is RecordKind.POINT
        starts = records.times[1]
        ends = starts + self._tick if from_points else records.times[2]
        order = _order(starts)
        values, *arguments = [
            _sorted(encoded(column, domain), order)
            for column, domain in zip(records.columns, [value_domain, *domains], strict=True)
        ]
        gone = None if records.gone is None else _sorted(records.gone, order)
        return InputFluent(
            arguments, values, domains, value_domain, _sorted(starts, order),
            _sorted(ends, order), _sorted(records.times[0], order), from_points, gone,
            chances=None if records.chances is None else _sorted(records.chances, order),
        )  # fmt: skip

    def give_chances(self, encoded: EncodedInput, relations: Iterable[Relation]) -> None:
        """Let the records of some relations have probabilities, whatever they are."""
        for relation in relations:
            if relation in self._checked.catalogue.events:
                events = encoded.events.setdefault(relation, self._no_events(relation))
                if events.chances is None:
                    events.chances = np.ones(len(events.times))
            else:
                fluent = encoded.fluents.setdefault(relation, self._no_fluent(relation))
                if fluent.chances is None:
                    fluent.chances = np.ones(len(fluent.starts))

    def _no_events(self, relation: Relation) -> InputEvents:
        none = np.empty(0, np.int64)
        domains = [self.domain("event", relation, at) for at in range(relation.arity)]
        return InputEvents([none] * relation.arity, domains, none, none)

    def _no_fluent(self, relation: Relation) -> InputFluent:
        none = np.empty(0, np.int64)
        domains = [self.domain("fluent", relation, at) for at in range(relation.arity)]
        value_domain = self.domain("fluent", relation, "value")
        return InputFluent(
            [none] * relation.arity, none, domains, value_domain, none, none, none, False
        )

    def domain(self, kind: str, relation: Relation, position: int | str) -> Domain | None:
        """The domain of a slot; None if it is held as an array of numbers."""
        return self._domains.encoding(self._checked.types.find((kind, relation, position)))


def _order(times: Integers) -> Integers | None:
    """The order of time, records of one time as they come; None if they are in it."""
    if ascending(np.ascontiguousarray(times)):
        return None
    return np.argsort(times, kind="stable")


def _sorted(column: Array, order: Integers | None) -> Array:
    return column if order is None else column[order]


def encoded(column: Column, domain: Domain | None) -> Array:
    """A column as codes of a domain, or as numbers if there is none."""
    if domain is None:
        return column if not isinstance(column, Coded) else numbers_at(column)
    if isinstance(column, Coded):
        codes = domain.encode(column.values)  # type: ignore[arg-type]
        return codes[column.codes] if len(codes) else np.empty(0, np.int64)
    if column.dtype == np.int64:
        return domain.encode_integers(column)  # type: ignore[arg-type]
    distinct, inverse = np.unique(column, return_inverse=True)
    return domain.encode(distinct.tolist())[inverse]


def numbers_at(column: Coded) -> Array:
    """The numbers of a column whose values are all of one form."""
    if not len(column):
        return np.empty(0, np.int64)
    used, places = np.unique(column.codes, return_inverse=True)
    return numbers([column.values[at] for at in used.tolist()])[places]


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
        np.concatenate([_at_points(first), _at_points(second)])[order],
        _both_chances(first, second, order),
    )


def _both_chances(first: InputFluent, second: InputFluent, order: Integers) -> Floats | None:
    if first.chances is None and second.chances is None:
        return None
    parts = [np.ones(len(f.starts)) if f.chances is None else f.chances for f in (first, second)]
    return np.concatenate(parts)[order]


def _at_points(fluent: InputFluent) -> Booleans:
    return np.full(len(fluent.starts), fluent.from_points)


def _gone(fluent: InputFluent) -> Integers:
    return np.full(len(fluent.starts), INFINITE) if fluent.gone is None else fluent.gone
