"""Evaluates strata by columns, for the keys that have news; the answers for all others stand."""

from __future__ import annotations

from typing import Final

import numpy as np

from cernis.check.model import FluentKind, Relation
from cernis.evaluate.answer import Answer
from cernis.evaluate.columns.key_sets import ALL_KEYS, MOST_SELECTED, KeySet
from cernis.evaluate.columns.keyed_stores import (
    KeyedStores,
    KeyedUpdate,
    exchange_rows,
    places_of,
    rows_of_pieces,
)
from cernis.evaluate.columns.keyed_strata import KeyedStrata
from cernis.evaluate.query_loop import Admitted, AnswerChanges, Handover, QueryInput, QueryOutcome
from cernis.evaluate.relation_layout import RelationLayout
from cernis.evaluate.stores import Places, Store, StoredRows, fluent_table
from cernis.evaluate.windows import Window
from cernis.evaluate.working_memory import WorkingMemory
from cernis.operators.context.query_context import Context
from cernis.plan.logical import Delay
from cernis.tables.interval_pieces import chosen, pieces, united
from cernis.tables.interval_tables import INFINITY, FluentTable, Piece

_NOWHERE: Final[Places] = np.empty(0, np.int64), np.empty(0, np.int64)


class KeyedColumns:
    """Keeps all derived rows by key, and evaluates again only the keys that have news.

    A key has news if records of it came or went, if what lower strata say of it has changed, or if
    time alone may change it: where an effect may be due, and where an interval is known to start or
    end.
    """

    is_incremental = True
    key_count = 0
    """All numbers of combinations of values are those of tables."""
    kept_occurrences = dropped_occurrences = 0
    """Only patterns keep occurrences, and programs with patterns are evaluated from scratch."""

    def __init__(self, memory: WorkingMemory, layout: RelationLayout) -> None:
        self._memory = memory
        self._layout = layout
        self._plan = layout.plan
        self._last_query: int | None = None
        self._outcome = QueryOutcome()
        self._stores = KeyedStores(layout, frozenset(memory.stores))
        self._enter_stores()
        self._strata = [
            KeyedStrata(strata, self._stores)
            for of_stage in self._plan.keyed_strata
            for strata in of_stage
        ]

    def _enter_stores(self) -> None:
        stores, layout = self._stores, self._layout
        for relation, store in self._memory.stores.items():
            if store.has_intervals:
                stores.fluents[relation] = store.of_width(3)
            else:
                stores.events[relation] = store
        strata = (stratum for stage in self._plan.stages for stratum in stage.strata)
        for definition in (each for stratum in strata for each in stratum.definitions):
            relation = definition.relation
            if definition.kind == "event":
                stores.events[relation] = layout.event_store(relation)
                continue
            stores.fluents[relation] = layout.fluent_store(relation)
            if any(isinstance(rule, Delay) for rule in definition.rules):
                stores.effect_origins[relation] = layout.event_store(relation, 3)

    @staticmethod
    def fits(layout: RelationLayout) -> bool:
        """Can news be confined to keys?"""
        return layout.has_coded_keys and layout.plan.confines_news

    # -- one query --------------------------------------------------------------------------

    def pass_edge(self, window: Window) -> None:
        """Nothing has to be kept here: `update` asks each store what it forgets."""

    def can_read(self, query_input: QueryInput) -> bool:
        """Can it evaluate the records that have come? Columns can read all."""
        return True

    def update(self, query_input: QueryInput) -> int:
        """Evaluate all keys that have news; gives the number of conflicts between values."""
        window, context = query_input.window, query_input.context
        update = KeyedUpdate(window, context, self._last_query, query_input.member_changes)
        self._forget(update)
        self._check_last_query_again(update)
        for relation, admitted in query_input.admitted.items():
            self._enter_changes(relation, admitted, update)
        for strata in self._strata:
            with context.measuring.timed(tuple(strata.definitions)):
                strata.update(update)
        self._outcome = update.outcome
        return update.outcome.conflicts

    def settle(self, query_input: QueryInput) -> None:
        """Let the next query begin after this one."""
        self._last_query = query_input.window.query

    def changes(self, query_input: QueryInput) -> AnswerChanges:
        """How the answer differs from the one of the query before."""
        return self._outcome.changes

    def answer(self) -> Answer:
        """All that is recognised within the window."""
        catalogue = self._plan.checked.catalogue
        hidden = self._plan.checked.definitions.auxiliary
        return Answer({
            relation: _table(store)
            for relation, store in self._stores.fluents.items()
            if catalogue.fluents[relation].kind is not FluentKind.INPUT and relation not in hidden
        })  # fmt: skip

    def _forget(self, update: KeyedUpdate) -> None:
        for store in self._stores.fluents.values():
            # An interval that ends right at the edge may go on after it.
            store.shelf.forget(update.bound - 1)
        for relation, store in self._stores.events.items():
            if relation not in self._memory.stores:
                store.shelf.forget(update.window.edge)

    def _check_last_query_again(self, update: KeyedUpdate) -> None:
        """Mark as changed what seemed to end at the last query: it may have ended or gone on."""
        open_at_query, self._stores.open_at_query = self._stores.open_at_query, {}
        for relation, keys in (*open_at_query.items(), *self._stores.reached(update.window.query)):
            update.note_changed(relation, keys)

    # -- input ------------------------------------------------------------------------------

    def _enter_changes(self, relation: Relation, admitted: Admitted, update: KeyedUpdate) -> None:
        """Enter the rows of an input relation that were added or removed."""
        home = self._layout.homes.get(relation)
        if home is not None and home.stage is not None and len(admitted.new_keys):
            update.new_keys.setdefault(home.stage, []).append(admitted.new_keys)
        store = self._memory.stores[relation]
        numbers = [admitted.added_keys, store.groups(admitted.removed)]
        keys = KeySet.of(np.concatenate(numbers))
        if store.has_intervals:
            self._note_open_at_query(relation, admitted, update)
            self._unite_again(relation, keys, update)
        else:
            update.note_changed(relation, keys)

    def _unite_again(self, relation: Relation, keys: KeySet, update: KeyedUpdate) -> None:
        """Unite the records of an input fluent for some keys; what lies before the edge stands."""
        memory, store = self._memory.stores[relation], self._stores.fluents[relation]
        memory_places = places_of(memory, keys)
        is_most = len(memory_places[0]) > MOST_SELECTED * len(memory)
        if is_most:
            memory_places = memory.everything()
        places = places_of(store, ALL_KEYS if is_most else keys)
        standing = _cut(store.rows(places), -INFINITY, update.bound)
        records = _cut(memory.rows(memory_places), update.bound, INFINITY)
        table = united([standing, records], update.context.encoding.fluents[relation])
        rows = rows_of_pieces(pieces(table))
        if is_most:
            self._stores.upcoming_points.pop(relation, None)
            store.renew(rows)
            if not (rows.columns[1] <= update.bound).any():
                update.whole_tables[relation] = table
        else:
            change, keys = exchange_rows(store, places, rows, store.groups(rows))
            rows = change.added
        query, tick = update.window.query, update.context.window.tick
        self._stores.look_ahead(relation, rows, query, tick)
        update.note_changed(relation, keys)

    def _note_open_at_query(
        self, relation: Relation, change: Admitted, update: KeyedUpdate
    ) -> None:
        """Note what a record says about the query itself: it may go on after the query."""
        starts, _, _, is_point = change.added.columns
        last = (starts == update.window.query) & (is_point == 1)
        if last.any():
            open_rows = change.added.take(last)
            update.open_at_query[relation] = [*open_rows.arguments, open_rows.columns[2]]
            store = self._stores.fluents[relation]
            self._stores.open_at_query[relation] = KeySet.of(store.enter(open_rows)[0])

    # -- from one to another ----------------------------------------------------------------

    def hand_over(self, query: int) -> Handover:
        """The state after the last query, from which another evaluator can go on."""
        stores = self._stores
        return Handover(
            query,
            {relation: _all_rows(store) for relation, store in stores.fluents.items()},
            {relation: _all_rows(store) for relation, store in stores.events.items()
             if relation not in stores.input},
            {relation: _all_rows(store) for relation, store in stores.effect_origins.items()},
        )  # fmt: skip

    def take_over(self, handover: Handover, context: Context) -> None:
        """Go on from where another evaluator has stopped; the next query evaluates all keys."""
        stores = self._stores
        for store_by_relation, rows_by_relation in (
            (stores.fluents, handover.fluents), (stores.events, handover.events),
            (stores.effect_origins, handover.effect_origins),
        ):  # fmt: skip
            for relation, rows in rows_by_relation.items():
                if relation in store_by_relation:
                    store = store_by_relation[relation]
                    store.exchange(_NOWHERE, store.enter(rows)[0], rows)
                    if store_by_relation is stores.fluents:
                        stores.look_ahead(relation, rows, handover.query, context.window.tick)

    def assume_reported(self, handover: Handover) -> None:
        """Never called: only an evaluation from scratch compares with what was reported."""
        raise AssertionError("only an evaluation from scratch derives whole relations again")


def _cut(rows: StoredRows, low: int, high: int) -> Piece:
    """The parts of intervals between two points, one in each row."""
    starts, ends, values = rows.columns[:3]
    starts, ends = np.maximum(starts, low), np.minimum(ends, high)
    return chosen((rows.arguments, values, starts, ends), starts < ends)


def _table(store: Store) -> FluentTable:
    return fluent_table(store, store.everything())


def _all_rows(store: Store) -> StoredRows:
    return store.rows(store.everything())
