"""Units: strata that are evaluated together, only where something that they read has changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cernis.check.model import FluentKind, Relation
from cernis.evaluate.changes.dirt import Dirt, joined
from cernis.evaluate.changes.incremental_stores import IncrementalStores, SharedTables, Update
from cernis.evaluate.changes.splicing import at_or_after, exchange_rows
from cernis.evaluate.changes.stores import Places, Store, StoredRows, event_table, fluent_table
from cernis.evaluate.columns.cycle_rounds import CycleRounds
from cernis.evaluate.columns.from_scratch import distinct_happenings
from cernis.evaluate.columns.strata import evaluate_definition
from cernis.evaluate.columns.window_carry import carried_at
from cernis.evaluate.query_loop import (
    RelationChange,
    attempts_of,
    rows_of_attempts,
)
from cernis.kernels.array_types import Array, Integers
from cernis.operators.context.query_context import Context
from cernis.operators.context.query_relations import QueryRelations
from cernis.operators.context.query_window import QueryWindow
from cernis.operators.definitions.simple_fluents import Carried
from cernis.plan.logical import (
    Definition,
    Delay,
)
from cernis.plan.properties.change_units import UnitPlan
from cernis.plan.properties.domain_uses import DomainUse
from cernis.plan.properties.key_reads import Link
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_pieces import pieces, united
from cernis.tables.interval_tables import INFINITY, FluentTable


class Unit:
    """Some strata of one stage, which are evaluated for the keys that have changes.

    For such a key, the whole window is evaluated.
    """

    def __init__(self, unit: UnitPlan, stores: IncrementalStores) -> None:
        self.unit = unit
        self.stage = unit.stage
        self.strata = unit.strata
        self.stores = stores
        self.register = stores.layout.registers[unit.stage]
        self.definitions = unit.definitions
        links_by_relation = [stores.layout.links[relation] for relation in self.definitions]
        links = dict.fromkeys(link for every in links_by_relation for link in every)
        self.links = [link for link in links if link.relation not in self.definitions]
        self._by_relation: dict[Relation, list[Link]] = {}
        for link in self.links:
            self._by_relation.setdefault(link.relation, []).append(link)
        self.reads_input = frozenset(self._by_relation) & frozenset(stores.input)
        self._knows_all_keys = unit.is_anchored and all(
            self._store(link.relation).register is self.register
            for link in self.links if len(link.pairs) == self.register.width
        )  # fmt: skip

    # -- what is affected -------------------------------------------------------------------

    def update(self, update: Update) -> None:
        """Bring the unit's relations up to the query."""
        dirt = self.affected(update)
        if dirt:
            self.evaluate(dirt, update)

    def must_evaluate_all(self, update: Update) -> bool:
        """Must everything be evaluated, whatever has changed?"""
        if update.before is None or self.unit.looks_back:
            return True
        return any(not use.pairs for use in self._changed_domains(update))

    def _changed_domains(self, update: Update) -> list[DomainUse]:
        """The domains whose members have changed, as the unit uses them."""
        changed = update.member_changes
        return [
            use
            for use in self.unit.domain_uses
            if use.predicate in changed or (use.predicate is None and changed)
        ]

    def affected(self, update: Update) -> Dirt:
        """The stretches, by the unit's keys, on which something that the unit reads has changed."""
        if self.must_evaluate_all(update):
            return Dirt.all()
        parts = [*self.by_change(update, frozenset(self._by_relation)), *self.by_time(update)]
        parts += [*self.by_new_keys(update), *self._by_own_first_points(update)]
        return joined(at_or_after(part, update.window.edge) for part in parts)

    def _by_own_first_points(self, update: Update) -> Iterator[Dirt]:
        """First points of the unit's own intervals that the query has reached."""
        for relation in self.stores.first_points & self.definitions.keys() & update.changed.keys():
            is_same = self.stores.fluents[relation].register is self.register
            yield update.changed[relation] if is_same else Dirt.all()

    def by_new_keys(self, update: Update) -> Iterator[Dirt]:
        """Keys that are new, and keys that members who joined or left a domain are about."""
        new_keys = update.new_keys.get(self.stage)
        if new_keys:
            yield Dirt.whole(np.concatenate(new_keys), update.window.edge)
        for use in self._changed_domains(update):
            assert use.predicate is not None
            positions = tuple(position for _, position in use.pairs)
            for columns in update.member_changes[use.predicate]:
                arguments = [columns[argument] for argument, _ in use.pairs]
                yield self._dirt_of_members(positions, arguments, update)

    def _dirt_of_members(
        self, positions: tuple[int, ...], arguments: list[Array], update: Update
    ) -> Dirt:
        """The keys that members of a domain are about.

        Keys that grounding did not allow may have no number yet, as everything before may have
        been evaluated for all keys at once. So they are entered here.
        """
        if len(positions) == self.register.width:
            groups = self._key_numbers(positions, arguments, len(arguments[0]), update)
        elif self._knows_all_keys:
            _, groups = self.register.matching(positions, arguments, len(arguments[0]))
        else:
            return Dirt.all()
        return Dirt.whole(groups, update.window.edge)

    def _key_numbers(
        self, positions: tuple[int, ...], arguments: list[Array], length: int, update: Update
    ) -> Integers:
        """The numbers of keys, given by all their arguments; keys that are new are noted."""
        order = np.argsort(positions)
        groups, new_keys = self.register.enter([arguments[place] for place in order], length)
        if len(new_keys):
            update.new_keys.setdefault(self.stage, []).append(new_keys)
        return groups

    def by_change(self, update: Update, relations: frozenset[Relation]) -> Iterator[Dirt]:
        """The stretches that changes of some relations affect."""
        for link in self.links:
            if link.relation in relations and link.relation in update.changed:
                yield self.forward(link, update.changed[link.relation], update)

    def by_time(self, update: Update) -> Iterator[Dirt]:
        """The stretches that time alone may change: effects come due, and intervals last longer."""
        before = update.window.edge if update.before is None else update.before
        if self.unit.has_delays:
            for relation, definition in self.definitions.items():
                if any(isinstance(rule, Delay) for rule in definition.rules):
                    yield _lasting(self.stores.fluents[relation], before)
                    yield _under_way(self.stores.effect_origins[relation], before)
        if self.unit.has_durations:
            for link in self.links:
                store = self.stores.fluents.get(link.relation)
                if store is not None:
                    yield self.forward(link, _lasting(store, before), update)

    def forward(self, link: Link, dirt: Dirt, update: Update) -> Dirt:
        """The dirt of a relation that the unit reads, as dirt of the unit's keys."""
        store = self._store(link.relation)
        if dirt.everything or self._is_same(store, link):
            return dirt
        columns = store.register.columns(dirt.groups)
        columns_by_position = dict(zip(store.positions, columns, strict=True))
        pairs = [
            (columns_by_position[read], position)
            for read, position in link.pairs
            if read in columns_by_position
        ]
        positions = tuple(position for _, position in pairs)
        arguments = [column for column, _ in pairs]
        if len(pairs) == self.register.width:
            groups = self._key_numbers(positions, arguments, len(dirt.groups), update)
            return Dirt.of(groups, dirt.starts, dirt.ends)
        if not pairs or not self.unit.is_anchored:
            return Dirt.all()
        rows, groups = self.register.matching(positions, arguments, len(dirt.groups))
        return Dirt.of(groups, dirt.starts[rows], dirt.ends[rows])

    def _is_same(self, store: Store, link: Link) -> bool:
        """Is a relation stored by the unit's own keys, and read by them?"""
        whole = tuple((read, position) for position, read in enumerate(store.positions))
        return store.register is self.register and link.pairs == whole

    def _store(self, relation: Relation) -> Store:
        store = self.stores.fluents.get(relation)
        return self.stores.events[relation] if store is None else store

    # -- what is read -----------------------------------------------------------------------

    def backward(self, link: Link, dirt: Dirt) -> Dirt:
        """The dirt of the unit's keys, as dirt of a relation that it reads: the rows to read."""
        store = self._store(link.relation)
        if dirt.everything or self._is_same(store, link):
            return dirt
        positions = dict(link.pairs)
        if any(position not in positions for position in store.positions):
            return Dirt.all()
        columns = self.register.columns(dirt.groups)
        wanted = [columns[positions[position]] for position in store.positions]
        groups = store.register.find(wanted, len(dirt.groups))
        known = groups >= 0
        return Dirt.of(groups[known], dirt.starts[known], dirt.ends[known])

    def shared_tables(self, dirt: Dirt, update: Update) -> SharedTables:
        """The tables that other units of the stage have read for the same dirt, or new ones."""
        shared = update.shared.get(self.stage)
        return (
            shared if shared is not None and shared.base is dirt else update.new_shared_tables(dirt)
        )

    def cut_context(self, shared: SharedTables, update: Update) -> Context:
        """The context with the rows that the unit reads where there is dirt, and no others."""
        dirt = shared.base
        relations = replace(
            update.context.relations, events={}, fluents={}, initiations={}, terminations={},
            effect_origins={}, past={}, open_at_query={},
        )  # fmt: skip
        cut = replace(update.context, relations=relations, caches=shared.caches)
        for relation, links in self._by_relation.items():
            if relation not in shared.tables:
                parts = [self.backward(link, dirt) for link in links]
                shared.tables[relation] = self._read(relation, joined(parts), shared, cut.window)
            if relation in self.stores.events:
                cut.relations.events[relation] = shared.tables[relation]
                continue
            cut.relations.fluents[relation] = shared.tables[relation]
            if relation in update.open_at_query:
                cut.relations.leave_open(relation, update.open_at_query[relation])
        return cut

    def _read(
        self, relation: Relation, dirt: Dirt, shared: SharedTables, window: QueryWindow
    ) -> EventTable | FluentTable:
        store = self.stores.fluents.get(relation)
        if store is None:
            store = self.stores.events[relation]
            places = shared.places[relation] = store.within(dirt)
            table = event_table(store, places)
            return distinct_happenings(table) if relation in self.stores.counted else table
        places = store.overlapping(dirt if dirt.everything else dirt.longer(window.tick))
        return fluent_table(store, self._reaching_window(store, places, window))

    def _reaching_window(self, store: Store, places: Places, window: QueryWindow) -> Places:
        """The intervals that reach into the window."""
        ends = store.shelf.column(1, places[0])
        seen = ends > window.edge + window.tick
        return places if seen.all() else (places[0][seen], places[1][seen])

    # -- evaluation -------------------------------------------------------------------------

    def evaluate(self, dirt: Dirt, update: Update) -> None:
        """Evaluate all strata for the keys that have dirt, and store what they derive."""
        whole = dirt if dirt.everything else Dirt.whole(dirt.keys(), update.window.edge)
        cut = self.cut_context(self.shared_tables(whole, update), update)
        carried: dict[Relation, Carried] = {}
        for relation, definition in self.definitions.items():
            if definition.kind == FluentKind.SIMPLE:
                carried[relation] = self.carried(relation, whole, update)
            elif definition.kind != "event":
                self._enter_standing(relation, whole, cut, update)
        for stratum in self.strata:
            if stratum.immediate:
                cycle = CycleRounds(stratum, evaluate_definition, cut)
                update.outcome.conflicts += cycle.settle(carried)
            else:
                for definition in stratum.definitions:
                    update.outcome.conflicts += evaluate_definition(definition, cut, carried)
        for relation, definition in self.definitions.items():
            self._take_over(relation, definition, whole, cut.relations, update)

    def carried(self, relation: Relation, whole: Dirt, update: Update) -> Carried:
        """The values that hold right after the edge, from what was derived up to it."""
        store = self.stores.fluents[relation]
        bound = update.bound
        places = self._across(store, whole, bound)
        rows = store.rows(places)
        starts, ends, values = rows.columns
        held = rows.take((starts <= bound) & (ends > bound))
        starts, _, values = held.columns
        codes = self.codes(relation, values, update.context)
        attempts = self.stores.effect_origins.get(relation)
        origins = None
        if attempts is not None:
            origins = attempts_of(attempts.rows(attempts.within(self._with_past(whole))))
        edge, tick = update.window.edge, update.context.window.tick
        return carried_at(origins, held.arguments, codes, starts, edge, tick)

    def codes(self, relation: Relation, values: Array, context: Context) -> Integers:
        """The codes that identify the values of a simple fluent."""
        if context.encoding.value(relation) is not None:
            return values
        return context.encoding.domains.value_domain(relation).encode_numbers(values)

    def _across(self, store: Store, whole: Dirt, bound: int) -> Places:
        """The intervals of some keys that overlap or touch a point."""
        if whole.everything:
            return store.shelf.everything()
        keys = whole.groups
        return store.overlapping(
            Dirt(keys, np.full(len(keys), bound), np.full(len(keys), bound + 1))
        )

    def _with_past(self, whole: Dirt) -> Dirt:
        """The same keys, with all of the time before the window."""
        if whole.everything:
            return whole
        return Dirt(whole.groups, np.full(len(whole.groups), -INFINITY), whole.ends)

    def _enter_standing(
        self, relation: Relation, whole: Dirt, cut: Context, update: Update
    ) -> None:
        """Enter the intervals that were derived up to the edge and reach it: they stand."""
        store = self.stores.fluents[relation]
        bound = update.bound
        rows = store.rows(self._across(store, whole, bound))
        starts, ends, _ = rows.columns
        rows = rows.take((starts < bound) & (ends >= bound))
        if len(rows):
            starts, _, values = rows.columns
            piece = rows.arguments, values, starts, np.full(len(rows), bound)
            cut.relations.fluents[relation] = united([piece], cut.encoding.fluents[relation])

    def _take_over(
        self,
        relation: Relation,
        definition: Definition,
        whole: Dirt,
        relations: QueryRelations,
        update: Update,
    ) -> None:
        if definition.kind == "event":
            store = self.stores.events[relation]
            table = relations.events[relation]
            rows = StoredRows(table.arguments, [table.times])
            places = store.within(whole)
        else:
            store = self.stores.fluents[relation]
            past = relations.past.get(relation, [])
            parts = [*past, *pieces(relations.fluents[relation])]
            rows = _rows_of_pieces(parts)
            is_simple = definition.kind == FluentKind.SIMPLE
            places = self._places_to_replace(store, whole, update.bound, is_simple)
            if is_simple:
                self._keep_effect_origins(relation, whole, relations, update)
            self._keep_open_at_query(relation, store, whole, relations, update)
        rows, groups = self.rows_of_keys(store, rows, whole)
        old = store.rows(places)
        self.note_change(relation, *exchange_rows(store, places, old, rows, groups), update)

    def _places_to_replace(self, store: Store, whole: Dirt, bound: int, is_simple: bool) -> Places:
        """The places of the intervals that are derived again: those that end after the bound.

        Of other fluents than simple ones also those that end at it, which may go on now.
        """
        if whole.everything:
            places = store.shelf.everything()
        else:
            keys = whole.groups
            places = store.overlapping(
                Dirt(keys, np.full(len(keys), bound), np.full(len(keys), INFINITY))
            )
        ends = store.shelf.column(1, places[0])
        chosen = ends > bound if is_simple else ends >= bound
        return places[0][chosen], places[1][chosen]

    def _keep_open_at_query(
        self,
        relation: Relation,
        store: Store,
        whole: Dirt,
        relations: QueryRelations,
        update: Update,
    ) -> None:
        mask = relations.open_at_query.get(relation)
        if mask is not None:
            table = relations.fluents[relation]
            open_rows = StoredRows(
                [column[mask] for column in table.arguments], [table.values[mask]]
            )
            open_rows, groups = self.rows_of_keys(store, open_rows, whole)
            if len(open_rows):
                update.open_at_query[relation] = [*open_rows.arguments, *open_rows.columns]
                self.stores.open_at_query[relation] = np.unique(groups)

    def _keep_effect_origins(
        self, relation: Relation, whole: Dirt, relations: QueryRelations, update: Update
    ) -> None:
        store = self.stores.effect_origins.get(relation)
        if store is None:
            return
        origins = rows_of_attempts(relations.effect_origins[relation])
        rows, groups = self.rows_of_keys(store, origins, whole)
        store.exchange(store.within(self._with_past(whole)), groups, rows)

    def rows_of_keys(
        self, store: Store, rows: StoredRows, whole: Dirt
    ) -> tuple[StoredRows, Integers]:
        """The rows that are about the keys that are evaluated, and the numbers of these keys."""
        if whole.everything:
            groups, _ = store.enter(rows)
            return rows, groups
        groups = store.groups(rows)
        keys = whole.groups
        places = np.minimum(np.searchsorted(keys, groups), len(keys) - 1)
        is_chosen = keys[places] == groups
        return (rows, groups) if is_chosen.all() else (rows.take(is_chosen), groups[is_chosen])

    def note_change(
        self, relation: Relation, change: RelationChange, dirt: Dirt, update: Update
    ) -> None:
        """Note a change of a relation, for the outcome and for the units that read it."""
        if len(change):
            update.outcome.add(relation, change)
            is_event = relation in self.stores.events
            times = change.removed.columns[0]
            dirt = (
                dirt if is_event else self.stores.around(relation, dirt, update.context.window.tick)
            )
            before = update.changed.get(relation, Dirt.nothing())
            update.changed[relation] = joined([before, dirt])
            if is_event:
                groups = self.stores.events[relation].groups(change.removed)
                earlier = update.removed_happenings.get(relation, (groups[:0], times[:0]))
                update.removed_happenings[relation] = (
                    np.concatenate([earlier[0], groups]), np.concatenate([earlier[1], times])
                )  # fmt: skip
            else:
                tick = update.context.window.tick
                self.stores.look_ahead(relation, change.added, update.window.query, tick)


def _lasting(store: Store, before: int) -> Dirt:
    """The keys with an interval that was open at the query before, from that query on."""
    groups = np.unique(store.shelf.reaching(INFINITY)[1])
    return Dirt(groups, np.full(len(groups), before), np.full(len(groups), INFINITY))


def _under_way(store: Store, before: int) -> Dirt:
    """The keys with an attempt that was under way at the query before, from that query on."""
    places, groups = store.shelf.everything()
    groups = np.unique(groups[store.shelf.column(2, places) == INFINITY])
    return Dirt(groups, np.full(len(groups), before), np.full(len(groups), INFINITY))


def _rows_of_pieces(parts: list[tuple[list[Array], Array, Integers, Integers]]) -> StoredRows:
    arguments = [
        np.concatenate(columns) for columns in zip(*(part[0] for part in parts), strict=True)
    ]
    values, starts, ends = (
        np.concatenate([part[column] for part in parts]) for column in (1, 2, 3)
    )
    return StoredRows(arguments, [starts, ends, values])
