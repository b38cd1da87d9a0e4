"""Definitions that depend on one another: a walk through time, or rounds until nothing changes.

Where rules allow it, all points are decided in the order of time, once
(`time_walk`). The rest of this is about rounds.

What a rule says of a point depends on what held there, which earlier points decide. So each round
makes at least one more point of every causal chain right, and keeps right what is: the number of
rounds is the length of the longest chain, and what no round changes is the answer.

Rules mostly fall apart by some arguments, the key: what they say of one entity does not depend on
others. Entities for which a round has changed nothing drop out of the next. Without a key, what has
changed shows which instances of each definition are affected, and only those are evaluated again
(`affected`). Where chains are long, the work goes through time stretch by stretch: after some
rounds all before the earliest change of the last one is right, and the next stretch begins there.
So a round works on a short stretch, and the many points that wait for those before them are not
worked out in vain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import TypeAlias

import numpy as np

from cernis.check.model import FluentKind, Relation
from cernis.evaluate.changes.affected import EVENT, Changed, Reading, slot_domains_of
from cernis.evaluate.changes.differences import Difference, changed_rows, difference, earliest
from cernis.evaluate.changes.snapshots import (
    Entities,
    Keys,
    Snapshot,
    all_attempts,
    all_points,
    all_rows,
    between,
    carried_of,
    groups_of,
    rows_of,
    together,
)
from cernis.evaluate.columns.window_carry import cut_at
from cernis.operators.definitions.simple_fluents import Carried
from cernis.operators.intervals.pieces import Piece, pieces, united
from cernis.operators.query_context import Attempts, Context
from cernis.plan.logical import Definition, Stratum
from cernis.tables.domains import Domain

CarriedOver: TypeAlias = dict[Relation, Carried]
Evaluate: TypeAlias = Callable[[Definition, Context, CarriedOver], int]
"""Evaluates a definition once, in a context; gives the conflicts between values."""

IN_ORDER = True
"""Cycles whose rules allow it are decided in one walk through time."""

MOST_ROUNDS = 12
"""After so many rounds, the stretch that is right by then is set aside."""


def in_order(stratum: Stratum, context: Context, carried: CarriedOver) -> int | None:
    """Evaluate a cycle in one walk through time; None if its rules do not allow that."""
    # Programs without cycles do not wait for this kernel to be compiled or fetched.
    from cernis.evaluate.columns import time_walk as ordered

    return ordered.in_order(stratum, context, carried)


class Cycle:
    """Brings the relations of one cyclic stratum to what no round changes."""

    def __init__(self, stratum: Stratum, evaluate: Evaluate, context: Context) -> None:
        self._stratum = stratum
        self._definitions = {own.relation: own for own in stratum.definitions}
        self._relations = list(self._definitions)
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
        conflicts = in_order(self._stratum, context, carried) if IN_ORDER else None
        if conflicts is not None:
            return conflicts
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
        for definition in self._definitions.values():
            found += self._evaluate(definition, context, carried)
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
            events={r: rows_of(r, t, entities, True) for r, t in context.events.items()},
            fluents={r: groups_of(r, t, entities, True) for r, t in context.fluents.items()},
            initiations=dict(context.initiations), terminations=dict(context.terminations),
            effect_origins={}, ordered={}, computed={}, past={}, entities=entities,
        )  # fmt: skip
        now.enter(cut)
        return cut, {r: carried_of(r, own, entities) for r, own in carried.items()}

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
            # Rounds about few instances cost little, so there may be more of them.
            is_long = number >= 4 * MOST_ROUNDS and since - context.tick > context.edge
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
            carried = {r: carried_of(r, c, instances) for r, c in carried.items() if r == relation}
        self._conflicts += self._evaluate(reading.definition, cut, carried)
        now = Snapshot.of(context, [relation])
        if not instances.everything:
            now = now.only(instances)
            together([before.only(instances, inside=False), now]).enter(context)
            before = before.only(instances)
        return min(context.query, self._spread(relation, before, now, readings))

    def _spread(
        self, relation: Relation, before: Snapshot, now: Snapshot, readings: list[Reading]
    ) -> int:
        """Let other definitions know what has changed; gives the first point that has."""
        since = self._context.query
        for kind, old, new in before.pairs(now, relation):
            rows = changed_rows(old, new)
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

        How far some rounds came decides how long the next stretch is.
        """
        over: dict[Relation, list[Piece]] = {relation: [] for relation in self._relations}
        begun: dict[Relation, list[Attempts]] = {relation: [] for relation in self._relations}
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
            for relation, attempts in now.begun.items():
                # Those that are under way are carried into the next stretch.
                begun[relation].append(attempts.take(np.flatnonzero(attempts.ends <= until)))
            low, width = until, 2 * width if until == high else until - low
        last = found[-1]
        return Snapshot(
            {r: united([*over[r], *pieces(t)], r, context) for r, t in last.fluents.items()},
            {r: all_rows([part.events[r] for part in found]) for r in last.events},
            {r: all_points([part.initiations[r] for part in found]) for r in last.initiations},
            {r: all_points([part.terminations[r] for part in found]) for r in last.terminations},
            {r: all_attempts([*begun[r], own]) for r, own in last.begun.items()},
        )

    def _slice(self, context: Context, low: int, high: int) -> Context:
        """The context of a stretch of time."""
        own = set(self._relations)
        is_last = high == self._context.query
        return replace(
            context,
            edge=low, query=high,
            events={r: between(t, low, high) for r, t in context.events.items() if r not in own},
            fluents={r: t for r, t in context.fluents.items() if r not in own},
            initiations={r: t for r, t in context.initiations.items() if r not in own},
            terminations={r: t for r, t in context.terminations.items() if r not in own},
            effect_origins={}, ordered={}, computed={}, past={},
            # Only at the query itself it is not known yet what ends there.
            unsure=context.unsure if is_last else set(),
        )  # fmt: skip
