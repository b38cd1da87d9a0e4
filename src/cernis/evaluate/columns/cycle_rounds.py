"""Definitions that depend on one another: a walk through time, or rounds until nothing changes.

Where the rules allow it, all points are decided once, in the order of time (`time_walk`). This
module is about the other cycles, which are evaluated in rounds.

What a rule derives at a point depends on what held there, and earlier points decide that. So each
round makes at least one more point of every causal chain right, and leaves the right points as they
are. The number of rounds is therefore the length of the longest chain, and a state that no round
changes is the answer.

Three things keep rounds small:

- Where the rules have a key, what they derive about one entity does not depend on other entities.
  An entity for which a round has changed nothing takes no part in the next round.
- Without a key, the changes of a round show which instances of each definition are affected, and
  only those are evaluated again (`affected`).
- Where chains are long, time is divided into stretches. After some rounds, everything before the
  earliest change of the last round is right, and the next stretch begins there. So the many points
  that depend on earlier ones are not evaluated before those are known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import TypeAlias

import numpy as np

from cernis.check.model import FluentKind, Relation
from cernis.evaluate.columns.affected import AffectedDefinition, ChangedRows, slot_domains_of
from cernis.evaluate.columns.differences import Difference, changed_rows, difference, earliest
from cernis.evaluate.columns.snapshots import (
    Entities,
    Keys,
    Snapshot,
    all_attempts,
    all_points,
    all_rows,
    between,
    carried_of,
    groups_of,
    joined_snapshots,
    rows_of,
)
from cernis.evaluate.columns.window_carry import cut_at
from cernis.operators.context.fluent_points import Attempts
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.simple_fluents import Carried
from cernis.plan.logical import Definition, Stratum
from cernis.plan.properties.rule_reads import EVENT
from cernis.tables.domains import Domain
from cernis.tables.interval_pieces import pieces, united
from cernis.tables.interval_tables import Piece

CarriedOver: TypeAlias = dict[Relation, Carried]
Evaluate: TypeAlias = Callable[[Definition, Context, CarriedOver], int]
"""Evaluates a definition once, in a context; gives the conflicts between values."""

MOST_ROUNDS = 12
"""After so many rounds, what is right by then is kept and the next stretch begins."""


def try_walk(stratum: Stratum, context: Context, carried: CarriedOver) -> int | None:
    """Evaluate a cycle in one walk through time; None if its rules do not allow that."""
    # The import is here so that programs without cycles do not wait for the kernel to be compiled.
    from cernis.evaluate.columns.time_walk import walk_cycle

    return walk_cycle(stratum, context, carried)


class CycleRounds:
    """Evaluates one cyclic stratum in rounds, until a round changes nothing."""

    def __init__(self, stratum: Stratum, evaluate: Evaluate, context: Context) -> None:
        self._stratum = stratum
        self._definitions = {definition.relation: definition for definition in stratum.definitions}
        self._relations = list(self._definitions)
        self._evaluate = evaluate
        self._keys = Keys(dict(stratum.keys))
        # Statically determined fluents depend on whole intervals, which a stretch may cut.
        kinds = {definition.kind for definition in stratum.definitions}
        self._can_be_cut = kinds <= {"event", FluentKind.SIMPLE}
        self._context = context
        self._conflicts = 0
        self._is_cut = False

    def settle(self, carried: CarriedOver) -> int:
        """Leave the answer in the context; gives the conflicts between values."""
        context = self._context
        conflicts = try_walk(self._stratum, context, carried)
        if conflicts is not None:
            return conflicts
        self._fixpoint(context, carried).enter(context.relations)
        if self._conflicts and self._is_cut:
            # The rounds were about some instances only, so one about all counts the conflicts.
            return self._round(context, carried)
        return self._conflicts

    def _fixpoint(self, context: Context, carried: CarriedOver) -> Snapshot:
        """The state that no round changes."""
        if self._can_be_cut:
            snapshot, until = self._rounds(context, carried)
            if until == context.window.query:
                return snapshot
            self._is_cut = True
            return self._by_stretches(context, carried, until)
        before = self._round_snapshot(context, carried)
        while True:
            now = self._round_snapshot(context, carried)
            if self._difference(before, now) is None:
                return now
            before = now

    def _rounds(self, context: Context, carried: CarriedOver) -> tuple[Snapshot, int]:
        """The state after some rounds, and the last point up to which it is right.

        That point is the query if nothing changes any more.
        """
        if self._keys.positions:
            return self._by_entity(context, carried)
        return self._by_instance(context, carried)

    def _difference(self, before: Snapshot, now: Snapshot) -> Difference | None:
        return difference(before, now, self._keys, self._domains, self._context.window.tick)

    def _round(self, context: Context, carried: CarriedOver) -> int:
        """Evaluate every definition; gives the conflicts."""
        conflicts = 0
        for definition in self._definitions.values():
            conflicts += self._evaluate(definition, context, carried)
        return conflicts

    def _round_snapshot(
        self, context: Context, carried: CarriedOver, entities: Entities | None = None
    ) -> Snapshot:
        """The state after one more round, of some entities or of all."""
        self._conflicts = self._round(context, carried)
        snapshot = Snapshot.of(context.relations, self._relations)
        if entities is not None:
            # Rules that begin with facts, or with a relation without the key, derive something
            # about other entities as well; that is left out.
            snapshot = snapshot.only(entities)
            snapshot.enter(context.relations)
        return snapshot

    # -- entities ---------------------------------------------------------------------------

    def _by_entity(self, context: Context, carried: CarriedOver) -> tuple[Snapshot, int]:
        """Rounds that leave out the entities for which nothing changes any more."""
        window = context.window
        before = self._round_snapshot(context, carried)
        done: list[Snapshot] = []
        entities: Entities | None = None
        first = window.edge
        for number in count():
            now = self._round_snapshot(context, carried, entities)
            change = self._difference(before, now)
            if change is None:
                return joined_snapshots([*done, now]), window.query
            if number >= MOST_ROUNDS and change.since - window.tick > first:
                return joined_snapshots([*done, now]), change.since - window.tick
            if change.entities is not None:
                self._is_cut = True
                entities = change.entities
                done.append(now.only(entities, inside=False))
                now = now.only(entities)
                context, carried = self._restricted_to(entities, now, context, carried)
            before = now
        raise AssertionError

    def _domains(self, relation: Relation) -> list[Domain | None]:
        return self._context.encoding.relations[relation][0]

    def _restricted_to(
        self, entities: Entities, now: Snapshot, context: Context, carried: CarriedOver
    ) -> tuple[Context, CarriedOver]:
        """The context restricted to some entities, with what is known about them so far."""
        known = context.relations
        relations = replace(
            known,
            events={r: rows_of(r, t, entities, True) for r, t in known.events.items()},
            fluents={r: groups_of(r, t, entities, True) for r, t in known.fluents.items()},
            initiations=dict(known.initiations), terminations=dict(known.terminations),
            effect_origins={}, past={},
        )  # fmt: skip
        cut = replace(context, relations=relations, caches=context.caches.for_other_tables())
        now.enter(cut.relations)
        return cut, {r: carried_of(r, own, entities) for r, own in carried.items()}

    # -- instances --------------------------------------------------------------------------

    def _by_instance(self, context: Context, carried: CarriedOver) -> tuple[Snapshot, int]:
        """Two whole rounds, and then rounds about the instances that changes have affected."""
        window = context.window
        before = self._round_snapshot(context, carried)
        now = self._round_snapshot(context, carried)
        readings = [self._reading(relation) for relation in self._relations]
        for number, relation in enumerate(self._relations):
            # The definitions up to this one were evaluated in the second round before it was.
            self._spread_changes(relation, before, now, readings[: number + 1])
        for number in count():
            if not any(reading.affected for reading in readings):
                return Snapshot.of(context.relations, self._relations), window.query
            # Only these can change in this round.
            waiting = [reading for reading in readings if reading.affected]
            since = min(
                [
                    self._evaluate_affected(reading, context, carried, readings)
                    for reading in waiting
                ]
            )
            # Rounds about few instances cost little, so more of them are allowed.
            is_long = number >= 4 * MOST_ROUNDS and since - window.tick > window.edge
            if is_long and any(reading.affected for reading in readings):
                return Snapshot.of(context.relations, self._relations), since - window.tick
        raise AssertionError

    def _reading(self, relation: Relation) -> AffectedDefinition:
        return AffectedDefinition(relation, self._definitions[relation], self._domains(relation))

    def _evaluate_affected(
        self,
        reading: AffectedDefinition,
        context: Context,
        carried: CarriedOver,
        readings: list[AffectedDefinition],
    ) -> int:
        """Evaluate the affected instances of a definition, and spread what has changed in them.

        Gives the first point at which something has changed, or the query.
        """
        relation, instances = reading.relation, reading.take_affected()
        before = Snapshot.of(context.relations, [relation])
        cut = context
        if not instances.everything:
            cut = replace(context, restriction=replace(context.restriction, instances=instances))
            self._is_cut = True
            carried = {r: carried_of(r, c, instances) for r, c in carried.items() if r == relation}
        self._conflicts += self._evaluate(reading.definition, cut, carried)
        now = Snapshot.of(context.relations, [relation])
        if not instances.everything:
            now = now.only(instances)
            joined_snapshots([before.only(instances, inside=False), now]).enter(context.relations)
            before = before.only(instances)
        return min(context.window.query, self._spread_changes(relation, before, now, readings))

    def _spread_changes(
        self,
        relation: Relation,
        before: Snapshot,
        now: Snapshot,
        readings: list[AffectedDefinition],
    ) -> int:
        """Let the definitions that read a relation note its changes; gives the first change."""
        since = self._context.window.query
        for kind, old, new in before.pairs(now, relation):
            rows = changed_rows(old, new)
            if rows is None:
                continue
            since = min(since, earliest(old, new, rows, relation.arity, self._context.window.tick))
            # Times were needed to compare rows; which instances are affected depends on the rest.
            count = relation.arity + (kind != EVENT)
            columns = [np.concatenate(both)[rows] for both in zip(old, new, strict=True)][:count]
            change = ChangedRows(
                kind, relation, columns, slot_domains_of(kind, relation, self._context.encoding)
            )
            for reading in readings:
                reading.note_change(change)
        return since

    # -- stretches --------------------------------------------------------------------------

    def _by_stretches(self, context: Context, carried: CarriedOver, until: int) -> Snapshot:
        """Rounds for one stretch of time after the other.

        What holds at the end of a stretch is carried over to the next. How far the rounds of a
        stretch came decides how long the next stretch is.
        """
        window = context.window
        over: dict[Relation, list[Piece]] = {relation: [] for relation in self._relations}
        origins: dict[Relation, list[Attempts]] = {relation: [] for relation in self._relations}
        parts: list[Snapshot] = []
        low, width = window.edge, until - window.edge
        while True:
            high = min(low + 2 * width, window.query)
            now, until = self._rounds(self._stretch_context(context, low, high), carried)
            parts.append(now.up_to(until))
            if until == window.query:
                break
            carried = dict(carried)
            for relation, table in now.fluents.items():
                attempts_so_far = now.effect_origins.get(relation)
                piece, carried[relation] = cut_at(
                    relation, table, attempts_so_far, until, window.tick, context.encoding.domains
                )
                over[relation].append(piece)
            for relation, attempts in now.effect_origins.items():
                # Those that are under way are carried into the next stretch.
                origins[relation].append(attempts.take(np.flatnonzero(attempts.ends <= until)))
            low, width = until, 2 * width if until == high else until - low
        last = parts[-1]
        return Snapshot(
            {
                r: united([*over[r], *pieces(t)], context.encoding.fluents[r])
                for r, t in last.fluents.items()
            },
            {r: all_rows([part.events[r] for part in parts]) for r in last.events},
            {r: all_points([part.initiations[r] for part in parts]) for r in last.initiations},
            {r: all_points([part.terminations[r] for part in parts]) for r in last.terminations},
            {
                r: all_attempts([*origins[r], last_part])
                for r, last_part in last.effect_origins.items()
            },
        )

    def _stretch_context(self, context: Context, low: int, high: int) -> Context:
        """The context of a stretch of time."""
        defined = set(self._relations)
        is_last = high == self._context.window.query
        known = context.relations
        relations = replace(
            known,
            events={r: between(t, low, high) for r, t in known.events.items() if r not in defined},
            fluents={r: t for r, t in known.fluents.items() if r not in defined},
            initiations={r: t for r, t in known.initiations.items() if r not in defined},
            terminations={r: t for r, t in known.terminations.items() if r not in defined},
            effect_origins={}, past={},
            # Only at the query itself is it unknown whether what holds there ends there.
            open_at_query=known.open_at_query if is_last else {},
        )  # fmt: skip
        window = replace(context.window, edge=low, query=high)
        caches = context.caches.for_other_tables()
        return replace(context, window=window, relations=relations, caches=caches)
