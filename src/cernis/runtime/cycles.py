"""Definitions that depend on one another: rounds until nothing changes.

What a rule says of a point depends on what held there, which earlier points decide. So each round
makes at least one more point of every causal chain right, and keeps right what is: the number of
rounds is the length of the longest chain, and what no round changes is the answer.

Rules mostly fall apart by some arguments, the key: what they say of one entity does not depend on
others. Entities for which a round has changed nothing drop out of the next. Without a key, what has
changed tells which instances of each definition are affected, and only those are evaluated again
(`spreading`). Where chains are long, the work goes through time stretch by stretch: after some
rounds all before the earliest change of the last one is right, and the next stretch begins there.
So a round works on a short stretch, and the many points that wait for those before them are not
worked out in vain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from cernis.check.model import FluentKind, Relation
from cernis.kernels.hashing import RowTable
from cernis.operators.context import Context, Points
from cernis.operators.grounding import distinct
from cernis.operators.simple import Carried
from cernis.operators.static import Piece, pieces, united
from cernis.plan.logical import Definition, Stratum
from cernis.runtime.carrying import cut_at
from cernis.runtime.spreading import (
    EVENT,
    FLUENT,
    INITIATIONS,
    TERMINATIONS,
    Changed,
    Instances,
    Reading,
    slot_domains_of,
)
from cernis.tables.columns import Array
from cernis.tables.domains import Domain
from cernis.tables.events import EventTable
from cernis.tables.fluents import Finder, FluentTable

T = TypeVar("T")
Booleans: TypeAlias = npt.NDArray[np.bool_]
CarriedOver: TypeAlias = dict[Relation, Carried]
Evaluate: TypeAlias = Callable[[Relation, Definition, Context, CarriedOver], int]
"""Evaluates a definition once, in a context; gives the conflicts between values."""

MOST_ROUNDS = 12
"""After so many rounds what is right by then is put by."""


@dataclass(slots=True)
class Keys:
    """The arguments by which the rules of a cycle fall apart."""

    positions: dict[Relation, tuple[int, ...]]

    def of(self, relation: Relation, arguments: list[Array]) -> list[Array] | None:
        """The key columns of a relation's rows; None if it has no key."""
        positions = self.positions.get(relation)
        return None if positions is None else [arguments[at] for at in positions]


class Entities:
    """A set of keys."""

    def __init__(self, keys: Keys, columns: list[Array], domains: list[Domain | None]) -> None:
        self._keys = keys
        self._domains = domains
        rows, _ = distinct(columns, domains)
        self.count = len(rows)
        different = [column[rows] for column in columns]
        self._finder = Finder(list(zip(different, domains, strict=True)), self.count)

    def mask(self, relation: Relation, arguments: list[Array]) -> Booleans | None:
        """For each row of a relation: is its key in the set? None if the relation has no key."""
        columns = self._keys.of(relation, arguments)
        if columns is None:
            return None
        return np.asarray(self._finder.one(columns, len(columns[0])) >= 0)


Some: TypeAlias = Entities | Instances
"""What a table can be cut down to."""


# -- tables ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Snapshot:
    """What a round has found out about the relations of a cycle."""

    fluents: dict[Relation, FluentTable] = field(default_factory=dict)
    events: dict[Relation, EventTable] = field(default_factory=dict)
    initiations: dict[Relation, Points] = field(default_factory=dict)
    terminations: dict[Relation, Points] = field(default_factory=dict)
    begun: dict[Relation, Points] = field(default_factory=dict)

    @classmethod
    def of(cls, context: Context, relations: list[Relation]) -> Snapshot:
        """The state of a context."""

        def own(tables: Mapping[Relation, T]) -> dict[Relation, T]:
            return {relation: tables[relation] for relation in relations if relation in tables}

        return cls(
            own(context.fluents), own(context.events), own(context.initiations),
            own(context.terminations), own(context.begun),
        )  # fmt: skip

    def enter(self, context: Context) -> None:
        """Make it the state of a context."""
        context.fluents.update(self.fluents)
        context.events.update(self.events)
        context.initiations.update(self.initiations)
        context.terminations.update(self.terminations)
        context.begun.update(self.begun)

    def pairs(
        self, other: Snapshot, relation: Relation
    ) -> Iterator[tuple[str, list[Array], list[Array]]]:
        """What two say of a relation: rows with arguments, value and times, by kind."""
        if relation in self.events:
            yield EVENT, _event_rows(self.events[relation]), _event_rows(other.events[relation])
        if relation in self.fluents:
            one, two = self.fluents[relation], other.fluents[relation]
            yield FLUENT, _fluent_rows(one), _fluent_rows(two)
        for kind, mine, theirs in (
            (INITIATIONS, self.initiations, other.initiations),
            (TERMINATIONS, self.terminations, other.terminations),
        ):
            if relation in mine:
                yield kind, _point_rows(mine[relation]), _point_rows(theirs[relation])

    def rows(self) -> Iterator[tuple[Relation, list[Array], list[Array]]]:
        """Each table as the arguments of its rows, and all columns."""
        for relation, fluent in self.fluents.items():
            columns = _fluent_rows(fluent)
            yield relation, columns[: relation.arity], columns
        for relation, events in self.events.items():
            yield relation, events.arguments, _event_rows(events)
        for kept in (self.initiations, self.terminations):
            for relation, points in kept.items():
                yield relation, points.arguments, _point_rows(points)

    def up_to(self, time: int) -> Snapshot:
        """What it says of happenings and changes up to a time; fluents stay as they are."""
        return Snapshot(
            self.fluents,
            {r: _between(own, None, time) for r, own in self.events.items()},
            {r: _points_up_to(own, time) for r, own in self.initiations.items()},
            {r: _points_up_to(own, time) for r, own in self.terminations.items()},
            self.begun,
        )

    def only(self, entities: Some, inside: bool = True) -> Snapshot:
        """What it says of some entities, or of all others."""
        return Snapshot(
            {r: _groups_of(r, own, entities, inside) for r, own in self.fluents.items()},
            {r: _rows_of(r, own, entities, inside) for r, own in self.events.items()},
            *(
                {r: _points_of(r, own, entities, inside) for r, own in kept.items()}
                for kept in (self.initiations, self.terminations, self.begun)
            ),
        )


def _fluent_rows(table: FluentTable) -> list[Array]:
    (piece,) = pieces(table)
    return [*piece[0], piece[1], piece[2], piece[3]]


def _event_rows(table: EventTable) -> list[Array]:
    return [*table.arguments, table.times]


def _point_rows(points: Points) -> list[Array]:
    return [*points.arguments, points.values, points.times]


def _chosen(mask: Booleans | None, inside: bool, length: int) -> npt.NDArray[np.int64]:
    if mask is None:
        return np.arange(length if inside else 0)
    return np.flatnonzero(mask if inside else ~mask)


def _groups_of(relation: Relation, table: FluentTable, entities: Some, inside: bool) -> FluentTable:
    mask = entities.mask(relation, table.arguments)
    return table.take(_chosen(mask, inside, len(table)))


def _rows_of(relation: Relation, table: EventTable, entities: Some, inside: bool) -> EventTable:
    mask = entities.mask(relation, table.arguments)
    return table.take(_chosen(mask, inside, len(table)))


def _points_of(relation: Relation, points: Points, entities: Some, inside: bool) -> Points:
    mask = entities.mask(relation, points.arguments)
    rows = _chosen(mask, inside, len(points.times))
    return Points([c[rows] for c in points.arguments], points.values[rows], points.times[rows])


def together(parts: list[Snapshot]) -> Snapshot:
    """What several say, each of entities of its own."""
    first = parts[0]
    return Snapshot(
        {r: _all_groups([part.fluents[r] for part in parts]) for r in first.fluents},
        {r: all_rows([part.events[r] for part in parts]) for r in first.events},
        {r: all_points([part.initiations[r] for part in parts]) for r in first.initiations},
        {r: all_points([part.terminations[r] for part in parts]) for r in first.terminations},
        {r: all_points([part.begun[r] for part in parts]) for r in first.begun},
    )


def _all_groups(tables: list[FluentTable]) -> FluentTable:
    lengths = np.concatenate([np.diff(table.offsets) for table in tables])
    columns = zip(*(table.arguments for table in tables), strict=True)
    return FluentTable(
        [np.concatenate(own) for own in columns],
        np.concatenate([table.values for table in tables]),
        tables[0].domains,
        tables[0].value_domain,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.concatenate([table.starts for table in tables]),
        np.concatenate([table.ends for table in tables]),
    )


def all_rows(tables: list[EventTable]) -> EventTable:
    """The rows of several tables of one event."""
    columns = zip(*(table.arguments for table in tables), strict=True)
    return EventTable(
        [np.concatenate(own) for own in columns],
        tables[0].domains,
        np.concatenate([table.times for table in tables]),
    )


def all_points(parts: list[Points]) -> Points:
    """The points of several lists of one fluent."""
    columns = zip(*(part.arguments for part in parts), strict=True)
    return Points(
        [np.concatenate(own) for own in columns],
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.times for part in parts]),
    )


# -- what has changed ------------------------------------------------------------------------


def differing(old: list[Array], new: list[Array]) -> Booleans:
    """The rows, old ones first, that only one of two tables has; a row there twice is one."""
    if not len(old[0]) or not len(new[0]):
        return np.ones(len(old[0]) + len(new[0]), np.bool_)
    hashes = [_hashed(columns) for columns in (old, new)]
    table = RowTable(hashes[0])
    first, found = table.find(hashes[0]), table.find(hashes[1])
    is_there = found >= 0
    equal = [a[found[is_there]] == b[is_there] for a, b in zip(old, new, strict=True)]
    twins = [column[first] == column for column in old]
    if not all(map(np.all, (*equal, *twins))):
        # Two rows of one hash: their columns must tell.
        return _differing_plain(old, new)
    kept = np.zeros(len(old[0]), np.bool_)
    kept[found[is_there]] = True
    return np.concatenate([~kept[first], ~is_there])


def _hashed(columns: list[Array]) -> npt.NDArray[np.int64]:
    """One number a row that all its columns make up."""
    found = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        found ^= np.ascontiguousarray(column).view(np.uint64)
        found *= np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(32)
    return found.view(np.int64)


def _differing_plain(old: list[Array], new: list[Array]) -> Booleans:
    columns = [np.concatenate(both) for both in zip(old, new, strict=True)]
    is_new = np.repeat([False, True], [len(old[0]), len(new[0])])
    order = np.lexsort((is_new, *columns))
    same = np.ones(len(order) - 1, np.bool_)
    for column in columns:
        same &= column[order][1:] == column[order][:-1]
    # Stretches of equal rows: one with rows of both tables has not changed.
    stretch = np.concatenate([[0], np.cumsum(~same)])
    ranks = is_new[order]
    has_new, has_old = np.bincount(stretch, ranks) > 0, np.bincount(stretch, ~ranks) > 0
    found = np.empty(len(order), np.bool_)
    found[order] = (has_new ^ has_old)[stretch]
    return found


@dataclass(slots=True)
class Difference:
    """What a round has changed: from which point on, and of which entities if they can be told."""

    since: int
    entities: Entities | None


def difference(
    before: Snapshot, now: Snapshot, keys: Keys,
    domains: Callable[[Relation], list[Domain | None]], tick: int,
) -> Difference | None:  # fmt: skip
    """How two rounds differ; None if they do not."""
    parts: list[list[Array]] = []
    known: list[Domain | None] = []
    times: list[int] = []
    all_told = True
    for one, other in zip(before.rows(), now.rows(), strict=True):
        relation, (old, new) = one[0], (one[2], other[2])
        rows = _changed_rows(old, new)
        if rows is None:
            continue
        times.append(earliest(old, new, rows, relation.arity, tick))
        arguments = [np.concatenate(both) for both in zip(one[1], other[1], strict=True)]
        columns = keys.of(relation, arguments)
        if columns is None:
            all_told = False
            continue
        parts.append([column[rows] for column in columns])
        known = [domains(relation)[at] for at in keys.positions[relation]]
    if not times:
        return None
    if not all_told or not known:
        return Difference(min(times), None)
    columns = [np.concatenate(own) for own in zip(*parts, strict=True)]
    return Difference(min(times), Entities(keys, columns, known))


def _changed_rows(old: list[Array], new: list[Array]) -> Booleans | None:
    if _equal(old, new):
        return None
    rows = differing(old, new)
    return rows if rows.any() else None


def earliest(old: list[Array], new: list[Array], rows: Booleans, arity: int, tick: int) -> int:
    """The first point that differs, given which rows do: points have one time, intervals two.

    Intervals that begin together differ where the first of them ends. What begins or ends at t does
    so by what happens a tick before.
    """
    count = len(old[0])
    gone, come = [c[rows[:count]] for c in old], [c[rows[count:]] for c in new]
    if len(old) < arity + 3:
        return int(min(column.min() for column in (gone[-1], come[-1]) if len(column)))
    firsts = [np.concatenate([gone[-2], come[-2]])]
    if len(gone[0]) and len(come[0]):
        found = RowTable(_hashed(gone[:-1])).find(_hashed(come[:-1]))
        pairs = np.flatnonzero(found >= 0)
        same = [a[found[pairs]] == b[pairs] for a, b in zip(gone[:-1], come[:-1], strict=True)]
        pairs = pairs[np.logical_and.reduce(same)]
        alone = np.ones(len(firsts[0]), np.bool_)
        alone[found[pairs]] = alone[len(gone[0]) + pairs] = False
        firsts = [firsts[0][alone], np.minimum(gone[-1][found[pairs]], come[-1][pairs])]
    return int(min(column.min() for column in firsts if len(column))) - tick


def _equal(old: list[Array], new: list[Array]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(old, new, strict=True))


# -- rounds ----------------------------------------------------------------------------------


class Cycle:
    """Brings the relations of one cyclic stratum to what no round changes."""

    def __init__(
        self, stratum: Stratum, relations: list[Relation], evaluate: Evaluate, context: Context
    ) -> None:
        self._relations = relations
        self._definitions = dict(zip(relations, stratum.definitions, strict=True))
        self._evaluate = evaluate
        self._keys = Keys(dict(stratum.keys))
        # A stretch of time says nothing of intervals that reach beyond it.
        kinds = {definition.kind for definition in stratum.definitions}
        self._can_be_cut = kinds <= {"event", FluentKind.SIMPLE}
        self._context = context
        self._conflicts = 0
        self._is_cut = False
        self.rounds = 0

    def settle(self, carried: CarriedOver) -> int:
        """Leave the answer in the context; gives the conflicts between values."""
        context = self._context
        self._settled(context, carried).enter(context)
        if self._conflicts and self._is_cut:
            # Rounds about some instances only do not tell the conflicts of all.
            return self._round(context, carried)
        return self._conflicts

    def _settled(self, context: Context, carried: CarriedOver) -> Snapshot:
        """What no round changes."""
        if self._can_be_cut:
            found, until = self._rounds(context, carried)
            if until == context.query:
                return found
            self._is_cut = True
            return self._by_stretches(context, carried, until)
        before = self._found(context, carried)
        while True:
            now = self._found(context, carried)
            if self._difference(before, now) is None:
                return now
            before = now

    def _rounds(self, context: Context, carried: CarriedOver) -> tuple[Snapshot, int]:
        """Some rounds, and the last point up to which they are right: the query, if all is."""
        if self._keys.positions:
            return self._by_entity(context, carried)
        return self._by_instance(context, carried)

    def _difference(self, before: Snapshot, now: Snapshot) -> Difference | None:
        return difference(before, now, self._keys, self._domains, self._context.tick)

    def _round(self, context: Context, carried: CarriedOver) -> int:
        """Evaluate every definition; gives the conflicts."""
        self.rounds += 1
        found = 0
        for relation, definition in self._definitions.items():
            found += self._evaluate(relation, definition, context, carried)
        return found

    def _found(self, context: Context, carried: CarriedOver) -> Snapshot:
        self._conflicts = self._round(context, carried)
        found = Snapshot.of(context, self._relations)
        if context.entities is not None:
            # Rules that begin with what has no key, or with facts, speak of others too.
            found = found.only(context.entities)
            found.enter(context)
        return found

    # -- entities ---------------------------------------------------------------------------

    def _by_entity(self, context: Context, carried: CarriedOver) -> tuple[Snapshot, int]:
        """Rounds that entities drop out of."""
        before = self._found(context, carried)
        done: list[Snapshot] = []
        first = context.edge
        for number in count():
            now = self._found(context, carried)
            found = self._difference(before, now)
            if found is None:
                return together([*done, now]), context.query
            if number >= MOST_ROUNDS and found.since - context.tick > first:
                return together([*done, now]), found.since - context.tick
            if found.entities is not None:
                self._is_cut = True
                done.append(now.only(found.entities, inside=False))
                now = now.only(found.entities)
                context, carried = self._about(found.entities, now, context, carried)
            before = now
        raise AssertionError

    def _domains(self, relation: Relation) -> list[Domain | None]:
        kind = "fluent" if relation in self._context.catalogue.fluents else "event"
        return [self._context.domain(kind, relation, at) for at in range(relation.arity)]

    def _about(
        self, entities: Entities, now: Snapshot, context: Context, carried: CarriedOver
    ) -> tuple[Context, CarriedOver]:
        """The context cut down to some entities, with what is known of them so far."""
        cut = replace(
            context,
            events={r: _rows_of(r, t, entities, True) for r, t in context.events.items()},
            fluents={r: _groups_of(r, t, entities, True) for r, t in context.fluents.items()},
            initiations=dict(context.initiations), terminations=dict(context.terminations),
            begun={}, ordered={}, computed={}, past={}, entities=entities,
        )  # fmt: skip
        now.enter(cut)
        return cut, {r: _carried_of(r, own, entities) for r, own in carried.items()}

    # -- instances --------------------------------------------------------------------------

    def _by_instance(self, context: Context, carried: CarriedOver) -> tuple[Snapshot, int]:
        """Two rounds, and then only what changes have affected."""
        before = self._found(context, carried)
        now = self._found(context, carried)
        readings = [self._reading(relation) for relation in self._relations]
        for at, relation in enumerate(self._relations):
            # Those before it in the round have not seen what became of it there.
            self._spread(relation, before, now, readings[: at + 1])
        for number in count():
            if not any(reading.affected for reading in readings):
                return Snapshot.of(context, self._relations), context.query
            self.rounds += 1
            # What was not changed in a round is not changed by what follows from it.
            waiting = [reading for reading in readings if reading.affected]
            since = min([self._again(reading, context, carried, readings) for reading in waiting])
            is_long = number >= MOST_ROUNDS and since - context.tick > context.edge
            if is_long and any(reading.affected for reading in readings):
                return Snapshot.of(context, self._relations), since - context.tick
        raise AssertionError

    def _reading(self, relation: Relation) -> Reading:
        return Reading(relation, self._definitions[relation], self._domains(relation))

    def _again(
        self, reading: Reading, context: Context, carried: CarriedOver, readings: list[Reading]
    ) -> int:
        """Evaluate a definition for what is affected of it, and spread what that changes.

        Gives the first point that it changes, or the query.
        """
        relation, instances = reading.relation, reading.taken()
        before = Snapshot.of(context, [relation])
        cut = context if instances.everything else replace(context, instances=instances)
        if not instances.everything:
            self._is_cut = True
            carried = {r: _carried_of(r, c, instances) for r, c in carried.items() if r == relation}
        self._conflicts += self._evaluate(relation, reading.definition, cut, carried)
        now = Snapshot.of(context, [relation])
        if not instances.everything:
            now = now.only(instances)
            together([before.only(instances, inside=False), now]).enter(context)
            before = before.only(instances)
        return min(context.query, self._spread(relation, before, now, readings))

    def _spread(
        self, relation: Relation, before: Snapshot, now: Snapshot, readings: list[Reading]
    ) -> int:
        """Tell others what has changed; gives the first point that has."""
        since = self._context.query
        for kind, old, new in before.pairs(now, relation):
            rows = _changed_rows(old, new)
            if rows is None:
                continue
            since = min(since, earliest(old, new, rows, relation.arity, self._context.tick))
            # Times tell rows apart, and are no matter beyond that.
            count = relation.arity + (kind != EVENT)
            columns = [np.concatenate(both)[rows] for both in zip(old, new, strict=True)][:count]
            change = Changed(
                kind, relation, columns, slot_domains_of(kind, relation, self._context)
            )
            for reading in readings:
                reading.hear(change)
        return since

    # -- stretches --------------------------------------------------------------------------

    def _by_stretches(self, context: Context, carried: CarriedOver, until: int) -> Snapshot:
        """Stretch by stretch: what holds at the end of one is carried into the next.

        How far some rounds came tells how long the next stretch should be.
        """
        over: dict[Relation, list[Piece]] = {relation: [] for relation in self._relations}
        found: list[Snapshot] = []
        low, width = context.edge, until - context.edge
        while True:
            high = min(low + 2 * width, context.query)
            now, until = self._rounds(self._slice(context, low, high), carried)
            found.append(now.up_to(until))
            if until == context.query:
                break
            carried = dict(carried)
            for relation, table in now.fluents.items():
                piece, carried[relation] = cut_at(
                    relation, table, now.begun.get(relation), until, context.tick, context.domains
                )
                over[relation].append(piece)
            low, width = until, 2 * width if until == high else until - low
        last = found[-1]
        return Snapshot(
            {r: united([*over[r], *pieces(t)], r, context) for r, t in last.fluents.items()},
            {r: all_rows([part.events[r] for part in found]) for r in last.events},
            {r: all_points([part.initiations[r] for part in found]) for r in last.initiations},
            {r: all_points([part.terminations[r] for part in found]) for r in last.terminations},
            last.begun,
        )

    def _slice(self, context: Context, low: int, high: int) -> Context:
        """The context of a stretch of time."""
        own = set(self._relations)
        is_last = high == self._context.query
        return replace(
            context,
            edge=low, query=high,
            events={r: _between(t, low, high) for r, t in context.events.items() if r not in own},
            fluents={r: t for r, t in context.fluents.items() if r not in own},
            initiations={r: t for r, t in context.initiations.items() if r not in own},
            terminations={r: t for r, t in context.terminations.items() if r not in own},
            begun={}, ordered={}, computed={}, past={},
            # Only at the query itself it is not known yet what ends there.
            unsure=context.unsure if is_last else set(),
        )  # fmt: skip


def _between(table: EventTable, low: int | None, high: int) -> EventTable:
    """The happenings after a time, if one is given, and up to another."""
    inside = table.times <= high
    return table.take(np.flatnonzero(inside if low is None else inside & (table.times > low)))


def _points_up_to(points: Points, time: int) -> Points:
    rows = np.flatnonzero(points.times <= time)
    return Points([c[rows] for c in points.arguments], points.values[rows], points.times[rows])


def _carried_of(relation: Relation, carried: Carried, entities: Some) -> Carried:
    mask = entities.mask(relation, carried.arguments)
    rows = _chosen(mask, True, len(carried.starts))
    since = None if carried.since is None else carried.since[rows]
    arguments = [column[rows] for column in carried.arguments]
    return Carried(arguments, carried.values[rows], carried.starts[rows], since)
