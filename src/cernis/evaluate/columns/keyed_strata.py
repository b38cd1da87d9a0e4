"""Strata that are evaluated together, for those keys of their stage that have news.

For such a key everything is evaluated that the window holds of it. The answers for all other keys
stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cernis.check.model import FluentKind, Relation
from cernis.evaluate.columns.cycle_rounds import CycleRounds
from cernis.evaluate.columns.from_scratch import distinct_happenings
from cernis.evaluate.columns.key_sets import ALL_KEYS, KeySet, joined
from cernis.evaluate.columns.keyed_stores import (
    KeyedStores,
    KeyedUpdate,
    exchange_rows,
    places_of,
    rows_of_pieces,
)
from cernis.evaluate.columns.strata import evaluate_definition
from cernis.evaluate.columns.window_carry import carried_at
from cernis.evaluate.query_loop import attempts_of, rows_of_attempts
from cernis.evaluate.stores import Places, Store, StoredRows, event_table, fluent_table
from cernis.kernels.array_types import Array, Integers
from cernis.operators.context.query_context import Context
from cernis.operators.context.query_relations import QueryRelations
from cernis.operators.definitions.simple_fluents import Carried
from cernis.plan.logical import Definition, Delay
from cernis.plan.properties.confined_news import StrataPlan
from cernis.plan.properties.domain_uses import DomainUse
from cernis.plan.properties.key_reads import Link
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_pieces import pieces, united
from cernis.tables.interval_tables import INFINITY, FluentTable


class KeyedStrata:
    """Some strata of one stage, which are evaluated for the keys that have news."""

    def __init__(self, strata: StrataPlan, stores: KeyedStores) -> None:
        self._plan = strata
        self._stores = stores
        self._register = stores.layout.registers[strata.stage]
        self.definitions = strata.definitions
        links_by_relation = [stores.layout.links[relation] for relation in self.definitions]
        links = dict.fromkeys(link for every in links_by_relation for link in every)
        self._links = [link for link in links if link.relation not in self.definitions]
        self._by_relation = {
            link.relation: frozenset(each for each in self._links if each.relation == link.relation)
            for link in self._links
        }
        self._knows_all_keys = strata.is_anchored and all(
            stores.store_of(link.relation).register is self._register
            for link in self._links if len(link.pairs) == self._register.width
        )  # fmt: skip

    def update(self, update: KeyedUpdate) -> None:
        """Bring the relations of the strata up to the query."""
        keys = self._keys_with_news(update)
        if keys:
            self._evaluate(keys, update)

    # -- which keys have news ---------------------------------------------------------------

    def _keys_with_news(self, update: KeyedUpdate) -> KeySet:
        """The keys for which something has changed that the strata read."""
        if self._must_evaluate_all(update):
            return ALL_KEYS
        parts = [*self._by_change(update), *self._by_time(update), *self._by_new_keys(update)]
        keys = joined([*parts, *self._by_own_first_points(update)])
        return keys.or_all(self._register.count)

    def _must_evaluate_all(self, update: KeyedUpdate) -> bool:
        """Can news not be confined to keys?"""
        if update.before is None or self._plan.looks_back:
            return True
        return any(not use.pairs for use in self._changed_domains(update))

    def _changed_domains(self, update: KeyedUpdate) -> list[DomainUse]:
        """The domains whose members have changed, as the strata use them."""
        changed = update.member_changes
        return [
            use
            for use in self._plan.domain_uses
            if use.predicate in changed or (use.predicate is None and changed)
        ]

    def _by_change(self, update: KeyedUpdate) -> Iterator[KeySet]:
        """The keys that changes of what the strata read are about."""
        for link in self._links:
            if link.relation in update.changed:
                yield self._forward(link, update.changed[link.relation], update)

    def _by_time(self, update: KeyedUpdate) -> Iterator[KeySet]:
        """The keys of which effects may be due: what is initiated, or holds, starts their time."""
        for relation, definition in self.definitions.items():
            if any(isinstance(rule, Delay) for rule in definition.rules):
                yield _open_keys(self._stores.fluents[relation], 1)
                yield _open_keys(self._stores.effect_origins[relation], 2)

    def _by_new_keys(self, update: KeyedUpdate) -> Iterator[KeySet]:
        """Keys that are new, and keys that members who joined or left a domain are about."""
        new_keys = update.new_keys.get(self._plan.stage)
        if new_keys:
            yield KeySet.of(np.concatenate(new_keys))
        for use in self._changed_domains(update):
            assert use.predicate is not None
            positions = tuple(position for _, position in use.pairs)
            for columns in update.member_changes[use.predicate]:
                arguments = [columns[argument] for argument, _ in use.pairs]
                yield self._keys_of_members(positions, arguments, update)

    def _by_own_first_points(self, update: KeyedUpdate) -> Iterator[KeySet]:
        """First points of the strata's own intervals that the query has reached."""
        for relation in self._stores.first_points & self.definitions.keys() & update.changed.keys():
            is_same = self._stores.fluents[relation].register is self._register
            yield update.changed[relation] if is_same else ALL_KEYS

    def _keys_of_members(
        self, positions: tuple[int, ...], arguments: list[Array], update: KeyedUpdate
    ) -> KeySet:
        """The keys that members of a domain are about.

        Keys that grounding did not allow may have no number yet, as everything before may have
        been evaluated for all keys at once. So they are entered here.
        """
        if len(positions) == self._register.width:
            return self._entered(positions, arguments, len(arguments[0]), update)
        if self._knows_all_keys:
            return KeySet.of(self._register.matching(positions, arguments, len(arguments[0]))[1])
        return ALL_KEYS

    def _entered(
        self, positions: tuple[int, ...], arguments: list[Array], length: int, update: KeyedUpdate
    ) -> KeySet:
        """The keys given by all their arguments; keys that are new are noted."""
        order = np.argsort(positions)
        numbers, new_keys = self._register.enter([arguments[place] for place in order], length)
        if len(new_keys):
            update.new_keys.setdefault(self._plan.stage, []).append(new_keys)
        return KeySet.of(numbers)

    def _forward(self, link: Link, keys: KeySet, update: KeyedUpdate) -> KeySet:
        """The keys of the strata that some keys of a relation they read are about."""
        store = self._stores.store_of(link.relation)
        if keys.is_everything or self._is_same(store, link):
            return keys
        columns = store.register.columns(keys.numbers)
        columns_by_position = dict(zip(store.positions, columns, strict=True))
        pairs = [
            (columns_by_position[read], position)
            for read, position in link.pairs
            if read in columns_by_position
        ]
        positions = tuple(position for _, position in pairs)
        arguments = [column for column, _ in pairs]
        if len(pairs) == self._register.width:
            return self._entered(positions, arguments, len(keys.numbers), update)
        if not pairs or not self._plan.is_anchored:
            return ALL_KEYS
        return KeySet.of(self._register.matching(positions, arguments, len(keys.numbers))[1])

    def _is_same(self, store: Store, link: Link) -> bool:
        """Is a relation stored by the strata's own keys, and read by them?"""
        whole = tuple((read, position) for position, read in enumerate(store.positions))
        return store.register is self._register and link.pairs == whole

    # -- what is read -----------------------------------------------------------------------

    def _backward(self, link: Link, keys: KeySet) -> KeySet:
        """The keys of a relation that the strata read, for some keys of theirs."""
        store = self._stores.store_of(link.relation)
        if keys.is_everything or self._is_same(store, link):
            return keys
        positions = dict(link.pairs)
        if any(position not in positions for position in store.positions):
            return ALL_KEYS
        columns = self._register.columns(keys.numbers)
        wanted = [columns[positions[position]] for position in store.positions]
        numbers = store.register.find(wanted, len(keys.numbers))
        return KeySet.of(numbers[numbers >= 0])

    def _cut_context(self, keys: KeySet, update: KeyedUpdate) -> Context:
        """The context with the rows that the strata read for some keys, and no others."""
        shared = update.tables_of(self._plan.stage, keys, self._by_relation)
        relations = replace(
            update.context.relations, events={}, fluents={}, initiations={}, terminations={},
            effect_origins={}, past={}, open_at_query={},
        )  # fmt: skip
        cut = replace(update.context, relations=relations, caches=shared.caches)
        for relation, links in self._by_relation.items():
            if relation not in shared.tables:
                read = joined(self._backward(link, keys) for link in links)
                shared.tables[relation] = self._read(relation, read, update)
            if relation in self._stores.events:
                cut.relations.events[relation] = shared.tables[relation]
                continue
            cut.relations.fluents[relation] = shared.tables[relation]
            if relation in update.open_at_query:
                cut.relations.leave_open(relation, update.open_at_query[relation])
        return cut

    def _read(
        self, relation: Relation, keys: KeySet, update: KeyedUpdate
    ) -> EventTable | FluentTable:
        """What the window holds of a relation for some keys."""
        if keys.is_everything and relation in update.whole_tables:
            return update.whole_tables[relation]
        if relation in self._stores.events:
            store = self._stores.events[relation]
            table = event_table(store, places_of(store, keys))
            is_counted = relation in self._stores.layout.plan.roles.counted
            return distinct_happenings(table) if is_counted else table
        store = self._stores.fluents[relation]
        return fluent_table(store, _ending_from(store, keys, update.bound + 1))

    # -- evaluation -------------------------------------------------------------------------

    def _evaluate(self, keys: KeySet, update: KeyedUpdate) -> None:
        """Evaluate all strata for some keys, and store what they derive."""
        cut = self._cut_context(keys, update)
        carried: dict[Relation, Carried] = {}
        for relation, definition in self.definitions.items():
            if definition.kind == FluentKind.SIMPLE:
                # At the start of the run nothing is carried: what holds initially is derived again.
                if update.window.edge > update.context.window.start:
                    carried[relation] = self._carried(relation, keys, update)
            elif definition.kind != "event":
                self._enter_standing(relation, keys, cut, update)
        for stratum in self._plan.strata:
            if stratum.immediate:
                cycle = CycleRounds(stratum, evaluate_definition, cut)
                update.outcome.conflicts += cycle.settle(carried)
            else:
                for definition in stratum.definitions:
                    update.outcome.conflicts += evaluate_definition(definition, cut, carried)
        for relation, definition in self.definitions.items():
            self._store_rows(relation, definition, keys, cut.relations, update)
            update.forget_tables(relation)

    def _carried(self, relation: Relation, keys: KeySet, update: KeyedUpdate) -> Carried:
        """The values that hold right after the edge, from what was derived up to it."""
        store = self._stores.fluents[relation]
        rows = store.rows(_ending_from(store, keys, update.bound + 1))
        held = rows.take(rows.columns[0] <= update.bound)
        starts, _, values = held.columns
        if update.context.encoding.value(relation) is None:
            domain = update.context.encoding.domains.value_domain(relation)
            values = domain.encode_numbers(values)
        attempts, origins = self._stores.effect_origins.get(relation), None
        if attempts is not None:
            origins = attempts_of(attempts.rows(places_of(attempts, keys)))
        edge, tick = update.window.edge, update.context.window.tick
        return carried_at(origins, held.arguments, values, starts, edge, tick)

    def _enter_standing(
        self, relation: Relation, keys: KeySet, cut: Context, update: KeyedUpdate
    ) -> None:
        """Enter the intervals that were derived up to the edge and reach it: they stand."""
        store, bound = self._stores.fluents[relation], update.bound
        rows = store.rows(_ending_from(store, keys, bound))
        rows = rows.take(rows.columns[0] < bound)
        if len(rows):
            starts, _, values = rows.columns
            piece = rows.arguments, values, starts, np.full(len(rows), bound)
            cut.relations.fluents[relation] = united([piece], cut.encoding.fluents[relation])

    def _store_rows(
        self, relation: Relation, definition: Definition, keys: KeySet,
        relations: QueryRelations, update: KeyedUpdate,
    ) -> None:  # fmt: skip
        """Replace the rows of a relation for some keys by those that were derived."""
        if definition.kind == "event":
            store = self._stores.events[relation]
            table = relations.events[relation]
            rows = StoredRows(table.arguments, [table.times])
            places = places_of(store, keys)
        else:
            store = self._stores.fluents[relation]
            past = relations.past.get(relation, [])
            if keys.is_everything:
                update.whole_tables[relation] = relations.fluents[relation]
            rows = rows_of_pieces([*past, *pieces(relations.fluents[relation])])
            # Of statically determined fluents, intervals that end at the bound may go on now.
            is_simple = definition.kind == FluentKind.SIMPLE
            places = _ending_from(store, keys, update.bound + is_simple)
            if is_simple:
                self._store_effect_origins(relation, keys, relations)
            self._note_open_at_query(relation, store, keys, relations, update)
        change, changed = exchange_rows(store, places, *_rows_of_keys(store, rows, keys))
        update.note_changed(relation, changed)
        if len(change):
            update.outcome.add(relation, change)
            if definition.kind != "event":
                query, tick = update.window.query, update.context.window.tick
                self._stores.look_ahead(relation, change.added, query, tick)

    def _note_open_at_query(
        self, relation: Relation, store: Store, keys: KeySet, relations: QueryRelations,
        update: KeyedUpdate,
    ) -> None:  # fmt: skip
        """Note of what it is not known yet whether it goes on after the query."""
        mask = relations.open_at_query.get(relation)
        if mask is None:
            return
        table = relations.fluents[relation]
        open_rows = StoredRows([column[mask] for column in table.arguments], [table.values[mask]])
        open_rows, numbers = _rows_of_keys(store, open_rows, keys)
        if len(open_rows):
            update.open_at_query[relation] = [*open_rows.arguments, *open_rows.columns]
            self._stores.open_at_query[relation] = KeySet.of(numbers)

    def _store_effect_origins(
        self, relation: Relation, keys: KeySet, relations: QueryRelations
    ) -> None:
        store = self._stores.effect_origins.get(relation)
        if store is not None:
            origins = rows_of_attempts(relations.effect_origins[relation])
            rows, numbers = _rows_of_keys(store, origins, keys)
            store.exchange(places_of(store, keys), numbers, rows)


def _ending_from(store: Store, keys: KeySet, point: int) -> Places:
    """The intervals of some keys that end at a point or after it."""
    places, owners = places_of(store, keys)
    is_late = store.shelf.column(1, places) >= point
    return (places, owners) if is_late.all() else (places[is_late], owners[is_late])


def _open_keys(store: Store, column: int) -> KeySet:
    """The keys with a row whose column has no end."""
    places, owners = store.everything()
    return KeySet.of(owners[store.shelf.column(column, places) == INFINITY])


def _rows_of_keys(store: Store, rows: StoredRows, keys: KeySet) -> tuple[StoredRows, Integers]:
    """The rows that are about some keys, and the number of the key of each."""
    if keys.is_everything:
        return rows, store.enter(rows)[0]
    numbers = store.groups(rows)
    is_chosen = keys.mask(numbers)
    return (rows, numbers) if is_chosen.all() else (rows.take(is_chosen), numbers[is_chosen])
