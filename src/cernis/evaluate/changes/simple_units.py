"""Units of simple fluents and of derived events, which are evaluated point by point."""

from __future__ import annotations

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.changes.differences import only_in_one
from cernis.evaluate.changes.dirt import Dirt, joined
from cernis.evaluate.changes.incremental_stores import IncrementalStores, SharedTables, Update
from cernis.evaluate.changes.splicing import at_or_after, exchange_at, exchange_rows
from cernis.evaluate.changes.stores import Places, Store, StoredRows
from cernis.evaluate.changes.units import Unit
from cernis.evaluate.columns.strata import evaluate_definition
from cernis.kernels.array_types import Array, Bytes, Integers
from cernis.kernels.intervals.mending import mend, write_marks
from cernis.kernels.intervals.stretches import cut as cut_by
from cernis.kernels.intervals.stretches import lie_in
from cernis.kernels.order import in_order, order_by
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.marks import Marks
from cernis.operators.definitions.simple_fluents import Carried, Fired, SimpleFluent
from cernis.plan.properties.change_units import UnitPlan
from cernis.plan.properties.open_heads import leaves_open, marked_event
from cernis.tables.interval_tables import INFINITY
from cernis.tables.shelves import GroupedRows


class ChangedPoints:
    """Collects the points that have changed, by key."""

    def __init__(self, before: int | None) -> None:
        self._before = before
        self._groups: list[Integers] = []
        self._times: list[Integers] = []

    def add(self, groups: Integers, times: Integers) -> None:
        """Add points; of those of one key after the last query, the first is enough."""
        if not len(groups):
            return
        first = np.ones(len(groups), np.bool_)
        first[1:] = (groups[1:] != groups[:-1]) | (times[1:] < times[:-1])
        if self._before is not None:
            late = times <= self._before
            first |= late
            first[1:] |= late[:-1]
        self._groups.append(groups[first])
        self._times.append(times[first])

    def add_marks(
        self,
        shelf: GroupedRows,
        column: int,
        shift: int,
        places: Places,
        flags: Bytes,
        times: Integers,
    ) -> None:
        """Write marks at places of a store, and add the points at which they have changed."""
        points = np.empty((2, len(flags)), np.int64)
        before = -INFINITY if self._before is None else self._before
        count = int(write_marks(shelf.raw[0], column, shift, *places, np.ascontiguousarray(flags),
                                before, np.ascontiguousarray(times), *points))  # fmt: skip
        if count:
            self._groups.append(points[0, :count])
            self._times.append(points[1, :count])

    def points(self) -> tuple[Integers, Integers]:
        """All points, sorted by key and time."""
        if not self._groups:
            none = np.empty(0, np.int64)
            return none, none
        groups, times = np.concatenate(self._groups), np.concatenate(self._times)
        if len(self._groups) > 1 or not in_order(groups, times):
            order = order_by(groups, times)
            groups, times = groups[order], times[order]
        return groups, times


def _first_of_each(groups: Integers, times: Integers) -> tuple[Integers, Integers]:
    """The keys, sorted, and the first point of each."""
    first = np.ones(len(groups), np.bool_)
    first[1:] = groups[1:] != groups[:-1]
    return groups[first], times[first]


class PointUnit(Unit):
    """A definition whose rules are evaluated at points, and only where there is dirt.

    The dirt of the input is common to all units of a stage, and so are the tables of what lies
    there. The dirt of derived relations is evaluated in a second pass of the unit alone.
    """

    def update(self, update: Update) -> None:
        """Bring the unit's relation up to the query."""
        self.evaluate_all(self._passes(update), update)

    def evaluate_all(self, passes: list[Dirt], update: Update) -> None:
        """Evaluate where there is dirt, in one pass or several."""
        for dirt in passes:
            self.evaluate(dirt, update)

    def _passes(self, update: Update) -> list[Dirt]:
        if self.must_evaluate_all(update):
            return [Dirt.all()]
        shared = update.shared[self.stage]
        base = shared.base if self.reads_input & set(update.changed) else Dirt.nothing()
        if base.everything:
            return [base]
        derived = frozenset(self._by_relation) - self.stores.input
        more = joined([*self.by_change(update, derived), *self.by_new_keys(update)])
        if more.everything:
            return [more]
        low, high = update.window.edge, update.window.query + 1
        more = at_or_after(more, low)
        starts, ends = more.starts, np.minimum(more.ends, high)
        is_left = starts < ends
        rows, starts, ends = cut_by(
            more.groups[is_left], starts[is_left], ends[is_left],
            base.groups, base.starts, base.ends, inside=False,
        )  # fmt: skip
        rest = Dirt(more.groups[is_left][rows], starts, ends)
        return [dirt for dirt in (base, rest) if dirt]


class SimpleUnit(PointUnit):
    """A simple fluent, whose initiations and terminations are stored as points.

    Where a key has at most one interval at a time, its intervals are mended around the points that
    have changed. Otherwise they are derived again from the first of these points on, or, with
    delayed effects, from the window's edge on. Points that fall on happenings of one event are
    stored as marks on these.
    """

    def __init__(self, unit: UnitPlan, stores: IncrementalStores) -> None:
        super().__init__(unit, stores)
        (self.definition,) = self.definitions.values()
        self.relation = self.definition.relation
        self.points = stores.points[self.relation] = stores.layout.event_store(self.relation, 2)
        self.bits = stores.bits.setdefault(self.relation, [])
        self.lists = stores.fluents[self.relation]
        self.has_open = leaves_open(self.definition)["termination"]
        is_exclusive = stores.layout.context.window.ties == "break" and not self.unit.has_delays
        is_exclusive &= self.definition.ending_values is None
        is_whole = len(self.lists.positions) == self.relation.arity
        self._has_one_interval = is_exclusive and is_whole and self.lists.value_domain is not None
        self.event: Relation | None = None
        marked = marked_event(self.definition)
        if marked is not None and self._is_kept_alike(marked[0]):
            self.event, self._positions = marked
            self._number = stores.layout.marking_fluents[self.event].index(self.relation)
            column = stores.events[self.event].mark_column(self._number)
            self._byte = column, self._number % 8 * 8

    def _is_kept_alike(self, event: Relation) -> bool:
        """Are the happenings of an event stored by the keys of the fluent?"""
        store, marking = (
            self.stores.events[event],
            self.stores.layout.marking_fluents.get(event, []),
        )
        links = [link for link in self.links if link.relation == event]
        return self.relation in marking and all(self._is_same(store, link) for link in links)

    def evaluate_all(self, passes: list[Dirt], update: Update) -> None:
        """Derive the points where there is dirt, and the intervals after points that changed."""
        changed = ChangedPoints(update.before)
        fluent: SimpleFluent | None = None
        while passes:
            dirt = passes.pop()
            shared = self.shared_tables(dirt, update)
            fluent = SimpleFluent(self.relation, self.definition, self.cut_context(shared, update))
            is_new = self._update_points(fluent, shared, changed)
            if len(is_new) and not dirt.everything:
                # Rules that leave arguments open are about these instances as well, at all points.
                passes.append(Dirt.whole(is_new, update.window.edge))
        if self.unit.has_delays:
            for dirt in self.by_time(update):
                changed.add(dirt.groups, dirt.starts)
        if self.event is not None and self.event in update.removed_happenings:
            changed.add(*update.removed_happenings[self.event])
        groups, times = changed.points()
        if not len(groups):
            return
        if self._has_one_interval:
            self._mend_intervals(groups, times, update)
            return
        if fluent is None:
            fluent = SimpleFluent(self.relation, self.definition, update.context)
        self._rebuild(fluent, *_first_of_each(groups, times), update)
        update.outcome.conflicts += fluent.conflicts

    # -- points -----------------------------------------------------------------------------

    def _update_points(
        self, fluent: SimpleFluent, shared: SharedTables, changed: ChangedPoints
    ) -> Integers:
        """Replace the points in the dirt; gives the keys that have new instances."""
        known: list[list[Array]] = []

        def recall(fired: list[list[Array]]) -> list[Array]:
            known.append(self._known_instances(fired, shared.base))
            return known[0]

        marks = None
        if self.event is not None:
            table = fluent.context.relations.events[self.event]
            marks = Marks(table.times, self._heads(table.arguments))
        fired = fluent.actions(recall, marks)
        rows = StoredRows(fired.arguments, [fired.times, fired.actions])
        rows = self._exchange_points(rows, shared.base, changed)
        if marks is not None:
            self._write_marks(marks, shared, changed)
        if not known:
            return np.empty(0, np.int64)
        one, two = (
            StoredRows(known[0], known[0][:1]),
            StoredRows(rows.arguments, rows.arguments[:1]),
        )
        _, is_new = only_in_one(one, two)
        groups = self.points.groups(rows.take(is_new))
        return groups[groups >= 0]

    def _heads(self, arguments: list[Array]) -> list[Array]:
        """The arguments of the fluent, taken from those of the event that it marks."""
        return [arguments[position] for position in self._positions]

    def _write_marks(self, marks: Marks, shared: SharedTables, changed: ChangedPoints) -> None:
        """Replace the marks on the happenings in the dirt."""
        assert self.event is not None
        shelf = self.stores.events[self.event].shelf
        changed.add_marks(shelf, *self._byte, shared.places[self.event], self._flags(marks),
                          marks.times)  # fmt: skip

    def _flags(self, marks: Marks) -> Bytes:
        """Marks with bits that stand for the same actions at every query."""
        self.bits.extend(action for action in marks.actions if action not in self.bits)
        bits = [self.bits.index(action) for action in marks.actions]
        if bits == list(range(len(bits))):
            return marks.flags
        table = np.zeros(256, np.uint8)
        for place, bit in enumerate(bits):
            table |= ((np.arange(256) >> place) & 1).astype(np.uint8) << np.uint8(bit)
        return table[marks.flags]

    def _exchange_points(
        self, points: StoredRows, dirt: Dirt, changed: ChangedPoints
    ) -> StoredRows:
        """Replace the points in the dirt; gives those that are new there."""
        store = self.points
        if dirt.everything:
            groups, _ = store.enter(points)
        else:
            groups = store.groups(points)
            is_inside = lie_in(groups, points.columns[0], dirt.groups, dirt.starts, dirt.ends)
            if not is_inside.all():
                points, groups = points.take(is_inside), groups[is_inside]
        places = store.within(dirt)
        old = store.rows(places)
        is_removed, is_added = only_in_one(old, points)
        if not is_added.all():
            points, groups = points.take(is_added), groups[is_added]
        places = places[0][is_removed], places[1][is_removed]
        if len(groups) or len(places[0]):
            changed.add(places[1], old.columns[0][is_removed])
            changed.add(groups, points.columns[0])
            store.exchange(places, groups, points)
        return points

    def _known_instances(self, fired: list[list[Array]], dirt: Dirt) -> list[Array]:
        """The known instances of the keys for which rules have fired."""
        whole = dirt
        if not dirt.everything:
            parts = [[columns[position] for position in self.points.positions] for columns in fired]
            columns = [np.concatenate(each) for each in zip(*parts, strict=True)]
            length = sum(len(part[0]) for part in parts) if columns else 1
            groups = self.register.find(columns, length)
            whole = Dirt.whole(groups[groups >= 0], -INFINITY)
        points = self.points.rows(self.points.within(whole))
        parts = [points.arguments, self.lists.rows(self.lists.overlapping(whole)).arguments]
        origins = self.stores.effect_origins.get(self.relation)
        if origins is not None:
            parts.append(origins.rows(origins.within(whole)).arguments)
        return [np.concatenate(columns) for columns in zip(*parts, strict=True)]

    # -- intervals --------------------------------------------------------------------------

    def _rebuild(
        self, fluent: SimpleFluent, keys: Integers, since: Integers, update: Update
    ) -> None:
        """Derive the intervals after the first changed point of each key again."""
        forever = np.full(len(keys), INFINITY)
        if self.unit.has_delays:
            since = np.full(len(keys), update.window.edge)
            carried = self.carried(self.relation, Dirt(keys, since, forever), update)
            low = np.full(len(keys), update.bound)
        else:
            carried = self._held_at(keys, since, fluent.context)
            low = since
        later = Dirt(keys, since, forever)
        fired = self._stored_points(later)
        arguments, values, starts, ends = fluent.intervals(fired, carried)
        new = StoredRows(arguments, [starts, ends, values])
        places = self.lists.overlapping(Dirt(keys, low, forever))
        old_ends = self.lists.shelf.column(1, places[0])
        is_after = old_ends > low[np.searchsorted(keys, places[1])]
        places = places[0][is_after], places[1][is_after]
        if self.unit.has_delays:
            self._keep_effect_origins(self.relation, later, fluent.context.relations, update)
        old = self.lists.rows(places)
        groups = self.lists.groups(new)
        self.note_change(
            self.relation, *exchange_rows(self.lists, places, old, new, groups), update
        )

    def _mend_intervals(self, groups: Integers, times: Integers, update: Update) -> None:
        """Mend the intervals around changed points, where a key has at most one at a time."""
        before = -INFINITY if update.before is None else update.before
        events, byte, bits = GroupedRows(1), (0, 0), np.empty(0, np.int64)
        if self.event is not None:
            events, byte = self.stores.events[self.event].shelf, self._byte
            bits = np.array(self.bits, np.int64)
        mended = mend(
            groups, times, before, update.context.window.tick, events.raw, *byte, bits,
            self.points.shelf.raw, self.lists.shelf.raw,
        )  # fmt: skip
        update.outcome.conflicts += mended[3]
        self.note_change(self.relation, *exchange_at(self.lists, *mended[:3]), update)

    def _stored_points(self, later: Dirt) -> Fired:
        """The stored points of some keys, from some point on."""
        rows = self.points.rows(self.points.within(later))
        marks = None
        if self.event is not None:
            marks = self._stored_marks(later)
            marks.actions = self.bits
        return Fired(marks, rows.arguments, *rows.columns)

    def _stored_marks(self, later: Dirt) -> Marks:
        """The marks that are stored on the happenings of the event."""
        assert self.event is not None
        store = self.stores.events[self.event]
        places = store.within(later)
        times = store.shelf.column(0, places[0])
        marks = Marks(times, store.arguments(places, self._positions))
        marks.flags = np.ascontiguousarray(store.marks(self._number, places[0]))
        return marks

    def _held_at(self, keys: Integers, since: Integers, cut: Context) -> Carried:
        """The values that hold at the first changed point of each key."""
        places = self.lists.overlapping(Dirt(keys, since, since + 1))
        rows = self.lists.rows(places)
        starts, ends, _ = rows.columns
        first_change = since[np.searchsorted(keys, places[1])]
        held = rows.take((starts <= first_change) & (ends > first_change))
        codes = self.codes(self.relation, held.columns[2], cut)
        return Carried(held.arguments, codes, held.columns[0])


class EventUnit(PointUnit):
    """A derived event."""

    def evaluate(self, dirt: Dirt, update: Update) -> None:
        """Derive the happenings where there is dirt."""
        ((relation, definition),) = self.definitions.items()
        cut = self.cut_context(self.shared_tables(dirt, update), update)
        evaluate_definition(definition, cut, {})
        table = cut.relations.events[relation]
        store: Store = self.stores.events[relation]
        happenings = StoredRows(table.arguments, [table.times])
        if dirt.everything:
            groups, _ = store.enter(happenings)
        else:
            groups = store.groups(happenings)
            is_inside = lie_in(groups, happenings.columns[0], dirt.groups, dirt.starts, dirt.ends)
            happenings, groups = happenings.take(is_inside), groups[is_inside]
        places = store.within(dirt)
        self.note_change(
            relation, *exchange_rows(store, places, store.rows(places), happenings, groups), update
        )
