"""Evaluates a query from what has changed since the query before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from cernis.check.model import FluentKind, Relation
from cernis.evaluate.answer import Answer
from cernis.evaluate.changes.dirt import Dirt, joined
from cernis.evaluate.changes.incremental_stores import IncrementalStores, Update
from cernis.evaluate.changes.simple_units import EventUnit, SimpleUnit
from cernis.evaluate.changes.splicing import at_or_after, splice, within_dirt
from cernis.evaluate.changes.static_units import StaticUnit
from cernis.evaluate.changes.stores import Store, StoredRows, fluent_table
from cernis.evaluate.changes.units import Unit
from cernis.evaluate.query_loop import Admitted, AnswerChanges, Handover, QueryInput, QueryOutcome
from cernis.evaluate.relation_layout import RelationLayout
from cernis.evaluate.windows import Window
from cernis.evaluate.working_memory import WorkingMemory
from cernis.kernels.array_types import Integers
from cernis.operators.context.query_context import Context
from cernis.plan.logical import Delay
from cernis.plan.properties.change_units import UnitKind, UnitPlan
from cernis.plan.properties.key_reads import Link
from cernis.tables.interval_tables import INFINITY, FluentTable

_UNITS: Final[Mapping[UnitKind, type[Unit]]] = {
    UnitKind.EVENT: EventUnit, UnitKind.SIMPLE: SimpleUnit, UnitKind.STATIC: StaticUnit,
    UnitKind.WHOLE: Unit,
}  # fmt: skip


class FromChanges:
    """Keeps all derived rows by key, and evaluates again only what changes affect."""

    is_incremental = True
    key_count = 0
    """All numbers of combinations of values are those of tables."""
    kept_occurrences = dropped_occurrences = 0
    """Only patterns keep occurrences, and programs with patterns are not evaluated by changes."""

    def __init__(self, memory: WorkingMemory, layout: RelationLayout) -> None:
        self._memory = memory
        self._layout = layout
        self._plan = layout.plan
        self._last_query: int | None = None
        self._bound = -INFINITY
        self._outcome = QueryOutcome()
        self._stores = IncrementalStores(
            layout, frozenset(memory.stores), counted=self._plan.roles.counted,
            first_points=self._plan.first_points,
        )  # fmt: skip
        self._enter_stores()
        self._units = [list(map(self._make_unit, units)) for units in self._plan.change_units]

    def _enter_stores(self) -> None:
        stores, layout = self._stores, self._layout
        for relation, store in self._memory.stores.items():
            if store.width == 1:
                stores.events[relation] = store
            else:
                stores.fluents[relation] = layout.fluent_store(relation)
        for stage in self._plan.stages:
            for stratum in stage.strata:
                for definition in stratum.definitions:
                    relation = definition.relation
                    if definition.kind == "event":
                        stores.events[relation] = layout.event_store(relation)
                        continue
                    stores.fluents[relation] = layout.fluent_store(relation)
                    if any(isinstance(rule, Delay) for rule in definition.rules):
                        stores.effect_origins[relation] = layout.event_store(relation, 3)

    def _make_unit(self, unit: UnitPlan) -> Unit:
        return _UNITS[unit.kind](unit, self._stores)

    @staticmethod
    def fits(layout: RelationLayout) -> bool:
        """Can a program be evaluated from changes?"""
        return layout.has_coded_keys and layout.plan.may_follow_changes

    def pass_edge(self, window: Window) -> None:
        """Nothing has to be kept here: `update` asks each store what it forgets."""

    def can_read(self, query_input: QueryInput) -> bool:
        """Can it evaluate the records that have come? Columns can read all."""
        return True

    def update(self, query_input: QueryInput) -> int:
        """Evaluate all that changes affect; gives the number of conflicts between values."""
        window, context, admitted = query_input.window, query_input.context, query_input.admitted
        update = Update(
            window, context, self._last_query, member_changes=query_input.member_changes
        )
        self._note_forgotten(update)
        self._forget(update)
        self._recheck_last_query(update)
        new_stretches = self._new_stretches(admitted, update)
        for relation, change in admitted.items():
            self._enter_changes(relation, change, new_stretches, update)
        for stage, units in enumerate(self._units):
            update.shared[stage] = update.new_shared_tables(self._input_dirt(units, update))
            for unit in units:
                with context.measuring.timed(tuple(unit.definitions)):
                    unit.update(update)
        self._outcome = update.outcome
        return update.outcome.conflicts

    def settle(self, query_input: QueryInput) -> None:
        """Let the next query begin after this one."""
        self._last_query = query_input.window.query

    def changes(self, query_input: QueryInput) -> AnswerChanges:
        """How the answer differs from the one of the query before."""
        return self._outcome.changes

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

    def assume_reported(self, handover: Handover) -> None:
        """Never called: only an evaluation from scratch compares with what was reported."""
        raise AssertionError("only an evaluation from scratch derives whole relations again")

    def take_over(self, handover: Handover, context: Context) -> None:
        """Go on from where another evaluator has stopped; the next query derives all points."""
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

    def _note_forgotten(self, update: Update) -> None:
        """Note the keys of intervals that have just left the window, where durations need that."""
        if update.bound == self._bound:
            update.newly_forgotten = dict.fromkeys(
                self._stores.watched_for_forgetting, np.empty(0, np.int64)
            )
            return
        for relation in self._stores.watched_for_forgetting:
            shelf = self._stores.fluents[relation].shelf
            groups = np.arange(shelf.groups)
            low, high = np.full(len(groups), self._bound), np.full(len(groups), update.bound)
            places, owners = shelf.overlapping(groups, low, high)
            ends = shelf.column(1, places)
            missed = owners[(ends > self._bound) & (ends <= update.bound)]
            update.newly_forgotten[relation] = np.unique(missed)
        self._bound = update.bound

    def _forget(self, update: Update) -> None:
        for store in self._stores.fluents.values():
            # An interval that ends right at the edge may go on after it.
            store.shelf.forget(update.bound - 1)
        for relation, store in self._stores.events.items():
            if relation not in self._memory.stores:
                store.shelf.forget(update.window.edge)
        for store in self._stores.points.values():
            store.shelf.forget(self._points_edge(update))

    def _points_edge(self, update: Update) -> int:
        """The last point to forget; the start is kept, where what holds initially is a point."""
        edge, start = update.window.edge, update.context.window.start
        return edge if edge > start else edge - 1

    def _recheck_last_query(self, update: Update) -> None:
        """Mark as changed what seemed to end at the last query: it may have ended or gone on."""
        open_at_query, self._stores.open_at_query = self._stores.open_at_query, {}
        for relation, groups in open_at_query.items():
            points = np.full(len(groups), update.before)
            update.changed[relation] = Dirt(groups, points, points + 1)
        for relation, dirt in self._stores.reached(update.window.query):
            before = update.changed.get(relation, Dirt.nothing())
            update.changed[relation] = joined([before, dirt])

    def _input_dirt(self, units: list[Unit], update: Update) -> Dirt:
        """The stretches of a stage that changes of the input affect, whichever units read them."""
        parts: list[Dirt] = []
        seen: set[Link] = set()
        for unit in units:
            for link in unit.links:
                if link.relation in self._stores.input and link not in seen:
                    seen.add(link)
                    parts += unit.by_change(update, frozenset([link.relation]))
        return joined(at_or_after(part, update.window.edge) for part in parts)

    def _new_stretches(
        self, admitted: Mapping[Relation, Admitted], update: Update
    ) -> dict[int, Dirt]:
        """For each register, a stretch after the last query for each key that has new records.

        All that happens after the last query is new, so one stretch serves all relations of a key.
        """
        if update.before is None:
            return {}
        keys_by_register: dict[int, list[Integers]] = {}
        for relation, change in admitted.items():
            store = self._memory.stores[relation]
            if store.width == 1 and len(change.added):
                added_keys = change.added_keys[change.added.columns[0] > update.before]
                keys_by_register.setdefault(id(store.register), []).append(added_keys)
        stretches = {}
        for register, parts in keys_by_register.items():
            keys = np.flatnonzero(np.bincount(np.concatenate(parts)))
            low, high = update.before + 1, update.window.query + 1
            stretches[register] = Dirt(keys, np.full(len(keys), low), np.full(len(keys), high))
        return stretches

    def _enter_changes(
        self, relation: Relation, admitted: Admitted, new_stretches: dict[int, Dirt], update: Update
    ) -> None:
        """Enter the rows of an input relation that were added or removed."""
        stage = self._layout.homes[relation].stage if relation in self._layout.homes else None
        if stage is not None and len(admitted.new_keys):
            update.new_keys.setdefault(stage, []).append(admitted.new_keys)
        store = self._memory.stores[relation]
        rows = [admitted.added, admitted.removed]
        groups = np.concatenate([admitted.added_keys, store.groups(admitted.removed)])
        starts = np.concatenate([part.columns[0] for part in rows])
        if store.width == 1:
            if len(admitted.removed):
                update.removed_happenings[relation] = (
                    groups[len(admitted.added_keys) :],
                    admitted.removed.columns[0],
                )
            late = starts <= (update.before if update.before is not None else INFINITY)
            late_points = Dirt.of(groups[late], starts[late], starts[late] + 1)
            update.changed[relation] = joined(
                [new_stretches[id(store.register)], late_points]
                if id(store.register) in new_stretches
                else [late_points]
            )
            return
        self._leave_open(relation, admitted, update)
        ends = np.concatenate([part.columns[1] for part in rows])
        dirt = at_or_after(Dirt.of(groups, starts, ends), update.bound)
        raw = store.rows(places := store.overlapping(dirt))
        intervals, owners = within_dirt(dirt, StoredRows(raw.arguments, raw.columns[:3]), places[1])
        self._splice(relation, dirt, intervals, owners, update)

    def _splice(
        self,
        relation: Relation,
        dirt: Dirt,
        intervals: StoredRows,
        owners: Integers,
        update: Update,
    ) -> None:
        """Replace the intervals of an input fluent where there is dirt."""
        change, changed = splice(
            self._stores.fluents[relation], dirt, intervals, owners, update.bound
        )
        tick = update.context.window.tick
        self._stores.look_ahead(relation, change.added, update.window.query, tick)
        if changed:
            before = update.changed.get(relation, Dirt.nothing())
            update.changed[relation] = joined(
                [before, self._stores.around(relation, changed, tick)]
            )

    def _leave_open(self, relation: Relation, change: Admitted, update: Update) -> None:
        """Note what a record says about the query itself: it may go on after the query."""
        starts, _, _, is_point = change.added.columns
        last = (starts == update.window.query) & (is_point == 1)
        if last.any():
            open_rows = change.added.take(last)
            update.open_at_query[relation] = [*open_rows.arguments, open_rows.columns[2]]
            groups = np.unique(self._memory.stores[relation].groups(open_rows))
            self._stores.open_at_query[relation] = groups

    def answer(self) -> Answer:
        """All that is recognised within the window."""
        catalogue = self._plan.checked.catalogue
        hidden = self._plan.checked.definitions.auxiliary
        return Answer({
            relation: _table(store)
            for relation, store in self._stores.fluents.items()
            if catalogue.fluents[relation].kind is not FluentKind.INPUT and relation not in hidden
        })  # fmt: skip


def _table(store: Store) -> FluentTable:
    return fluent_table(store, store.shelf.everything())


def _all_rows(store: Store) -> StoredRows:
    return store.rows(store.shelf.everything())


_NOWHERE = np.empty(0, np.int64), np.empty(0, np.int64)
