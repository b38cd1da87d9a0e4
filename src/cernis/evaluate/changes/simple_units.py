"""Simple fluents and events brought up to date point by point."""

from __future__ import annotations

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.changes.differences import told_apart
from cernis.evaluate.changes.dirt import Dirt, joined
from cernis.evaluate.changes.splicing import behind, exchanged, exchanged_at
from cernis.evaluate.changes.stores import Places, Rows, Store
from cernis.evaluate.changes.units import Kept, Shared, Unit, Update
from cernis.evaluate.columns.strata import evaluate_definition
from cernis.kernels.array_types import Array, Bytes, Integers
from cernis.kernels.intervals.mending import mend, write_marks
from cernis.kernels.intervals.stretches import cut as cut_by
from cernis.kernels.intervals.stretches import lie_in
from cernis.kernels.order import in_order, order_by
from cernis.operators.definitions.marks import Marks
from cernis.operators.definitions.simple_fluents import Carried, Fired, SimpleFluent
from cernis.operators.query_context import Context
from cernis.plan.logical import Stratum
from cernis.plan.open_heads import leaves_open, marked_event
from cernis.tables.interval_tables import INFINITY
from cernis.tables.shelves import GroupedRows


class Changes:
    """Points that have changed, by key."""

    def __init__(self, before: int | None) -> None:
        self._before = before
        self._groups: list[Integers] = []
        self._times: list[Integers] = []

    def add(self, groups: Integers, times: Integers) -> None:
        """Note points; of neighbours after the last query, the first of a key is enough."""
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
        """Write marks down at places, and note points where they differ from those before."""
        points = np.empty((2, len(flags)), np.int64)
        before = -INFINITY if self._before is None else self._before
        count = int(write_marks(shelf.raw[0], column, shift, *places, np.ascontiguousarray(flags),
                                before, np.ascontiguousarray(times), *points))  # fmt: skip
        if count:
            self._groups.append(points[0, :count])
            self._times.append(points[1, :count])

    def points(self) -> tuple[Integers, Integers]:
        """All points, by key and time."""
        if not self._groups:
            none = np.empty(0, np.int64)
            return none, none
        groups, times = np.concatenate(self._groups), np.concatenate(self._times)
        if len(self._groups) > 1 or not in_order(groups, times):
            order = order_by(groups, times)
            groups, times = groups[order], times[order]
        return groups, times


def _first(groups: Integers, times: Integers) -> tuple[Integers, Integers]:
    """The keys in order, and the first point of each."""
    first = np.ones(len(groups), np.bool_)
    first[1:] = groups[1:] != groups[:-1]
    return groups[first], times[first]


class PointUnit(Unit):
    """A definition whose rules are evaluated at points: only where there is dirt.

    The dirt of the input is common to all units of a stage, and so are the tables of what lies
    there. What else has changed is looked at for itself.
    """

    def update(self, update: Update) -> None:
        """Bring the unit's relation up to the query."""
        self.evaluate_all(self._passes(update), update)

    def evaluate_all(self, passes: list[Dirt], update: Update) -> None:
        """Evaluate where there is dirt, in one pass or several."""
        for dirt in passes:
            self.evaluate(dirt, update)

    def _passes(self, update: Update) -> list[Dirt]:
        if self.is_affected_all(update):
            return [Dirt.all()]
        shared = update.shared[self.stage]
        base = shared.base if self.reads_input & set(update.changed) else Dirt.nothing()
        if base.everything:
            return [base]
        derived = frozenset(self._by_relation) - self.kept.input
        more = joined([*self.by_change(update, derived), *self.by_news(update)])
        if more.everything:
            return [more]
        low, high = update.window.edge, update.window.query + 1
        more = behind(more, low)
        starts, ends = more.starts, np.minimum(more.ends, high)
        own = starts < ends
        rows, starts, ends = cut_by(
            more.groups[own], starts[own], ends[own], base.groups, base.starts, base.ends,
            inside=False,
        )  # fmt: skip
        rest = Dirt(more.groups[own][rows], starts, ends)
        return [dirt for dirt in (base, rest) if dirt]


class SimpleUnit(PointUnit):
    """A simple fluent, of which the points are kept.

    Where a key has at most one interval at a time, its intervals are mended around the points that
    differ. Else they are derived again from the first of these; with delayed effects, from the
    window's edge. Points that mark happenings of one event are kept with these.
    """

    def __init__(self, stage: int, stratum: Stratum, kept: Kept) -> None:
        super().__init__(stage, [stratum], kept)
        (self.definition,) = self.definitions.values()
        self.relation = self.definition.relation
        self.points = kept.points[self.relation] = kept.spaces.events(self.relation, 2)
        self.bits = kept.bits.setdefault(self.relation, [])
        self.lists = kept.fluents[self.relation]
        self.has_open = leaves_open(self.definition)["termination"]
        is_exclusive = kept.spaces.context.ties == "break" and not self.has_delays
        is_exclusive &= self.definition.ending_values is None
        is_whole = len(self.lists.positions) == self.relation.arity
        self._is_alone = is_exclusive and is_whole and self.lists.value_domain is not None
        self.event: Relation | None = None
        found = marked_event(self.definition)
        if found is not None and self._is_kept_alike(found[0]):
            self.event, self._positions = found
            self._number = kept.spaces.marking[self.event].index(self.relation)
            column = kept.events[self.event].mark_column(self._number)
            self._byte = column, self._number % 8 * 8

    def _is_kept_alike(self, event: Relation) -> bool:
        """Are the happenings of an event kept by the keys of the fluent?"""
        store, marking = self.kept.events[event], self.kept.spaces.marking.get(event, [])
        links = [link for link in self.links if link.relation == event]
        return self.relation in marking and all(self._is_same(store, link) for link in links)

    def evaluate_all(self, passes: list[Dirt], update: Update) -> None:
        """Derive the points where there is dirt, and the intervals after what has changed."""
        changed = Changes(update.before)
        fluent: SimpleFluent | None = None
        while passes:
            dirt = passes.pop()
            shared = self.look_at(dirt, update)
            fluent = SimpleFluent(self.relation, self.definition, self.cut(shared, update))
            is_new = self._points(fluent, shared, changed)
            if len(is_new) and not dirt.everything:
                # What happened to such instances at other times has not been asked for yet.
                passes.append(Dirt.whole(is_new, update.window.edge))
        if self.has_delays:
            for dirt in self.by_time(update):
                changed.add(dirt.groups, dirt.starts)
        if self.event is not None and self.event in update.gone:
            changed.add(*update.gone[self.event])
        groups, times = changed.points()
        if not len(groups):
            return
        if self._is_alone:
            self._mend(groups, times, update)
            return
        if fluent is None:
            fluent = SimpleFluent(self.relation, self.definition, update.context)
        self._rebuild(fluent, *_first(groups, times), update)
        update.outcome.conflicts += fluent.conflicts

    # -- points -----------------------------------------------------------------------------

    def _points(self, fluent: SimpleFluent, shared: Shared, changed: Changes) -> Integers:
        """Exchange the points in the dirt; gives the keys with new instances."""
        known: list[list[Array]] = []

        def recall(given: list[list[Array]]) -> list[Array]:
            known.append(self._known(given, shared.base))
            return known[0]

        marks = None
        if self.event is not None:
            table = fluent.context.events[self.event]
            marks = Marks(table.times, self._heads(table.arguments))
        fired = fluent.actions(recall, marks)
        rows = Rows(fired.arguments, [fired.times, fired.actions])
        rows = self._exchange(rows, shared.base, changed)
        if marks is not None:
            self._mark(marks, shared, changed)
        if not known:
            return np.empty(0, np.int64)
        one, two = Rows(known[0], known[0][:1]), Rows(rows.arguments, rows.arguments[:1])
        _, is_new = told_apart(one, two)
        groups = self.points.groups(rows.take(is_new))
        return groups[groups >= 0]

    def _heads(self, arguments: list[Array]) -> list[Array]:
        """The arguments of the fluent, from those of the event that it marks."""
        return [arguments[at] for at in self._positions]

    def _mark(self, marks: Marks, shared: Shared, changed: Changes) -> None:
        """Let marks take the place of others on the happenings in the dirt."""
        assert self.event is not None
        shelf = self.kept.events[self.event].shelf
        changed.add_marks(shelf, *self._byte, shared.places[self.event], self._flags(marks),
                          marks.times)  # fmt: skip

    def _flags(self, marks: Marks) -> Bytes:
        """Marks whose bits mean the same at each query."""
        self.bits.extend(action for action in marks.actions if action not in self.bits)
        bits = [self.bits.index(action) for action in marks.actions]
        if bits == list(range(len(bits))):
            return marks.flags
        table = np.zeros(256, np.uint8)
        for at, bit in enumerate(bits):
            table |= ((np.arange(256) >> at) & 1).astype(np.uint8) << np.uint8(bit)
        return table[marks.flags]

    def _exchange(self, found: Rows, dirt: Dirt, changed: Changes) -> Rows:
        """Let points take the place of others in the dirt; gives those that are new there."""
        store = self.points
        if dirt.everything:
            groups, _ = store.enter(found)
        else:
            groups = store.groups(found)
            own = lie_in(groups, found.columns[0], dirt.groups, dirt.starts, dirt.ends)
            if not own.all():
                found, groups = found.take(own), groups[own]
        places = store.within(dirt)
        old = store.rows(places)
        gone, come = told_apart(old, found)
        if not come.all():
            found, groups = found.take(come), groups[come]
        places = places[0][gone], places[1][gone]
        if len(groups) or len(places[0]):
            changed.add(places[1], old.columns[0][gone])
            changed.add(groups, found.columns[0])
            store.exchange(places, groups, found)
        return found

    def _known(self, given: list[list[Array]], dirt: Dirt) -> list[Array]:
        """The instances there are of keys that something was fired for."""
        whole = dirt
        if not dirt.everything:
            parts = [[own[at] for at in self.points.positions] for own in given]
            columns = [np.concatenate(each) for each in zip(*parts, strict=True)]
            length = sum(len(part[0]) for part in parts) if columns else 1
            groups = self.register.find(columns, length)
            whole = Dirt.whole(groups[groups >= 0], -INFINITY)
        points = self.points.rows(self.points.within(whole))
        parts = [points.arguments, self.lists.rows(self.lists.overlapping(whole)).arguments]
        begun = self.kept.begun.get(self.relation)
        if begun is not None:
            parts.append(begun.rows(begun.within(whole)).arguments)
        return [np.concatenate(own) for own in zip(*parts, strict=True)]

    # -- intervals --------------------------------------------------------------------------

    def _rebuild(
        self, fluent: SimpleFluent, keys: Integers, since: Integers, update: Update
    ) -> None:
        """Derive the intervals after the first changed point of each key again."""
        forever = np.full(len(keys), INFINITY)
        if self.has_delays:
            since = np.full(len(keys), update.window.edge)
            carried = self.carried(self.relation, Dirt(keys, since, forever), update)
            low = np.full(len(keys), update.bound)
        else:
            carried = self._carried(keys, since, fluent.context)
            low = since
        later = Dirt(keys, since, forever)
        fired = self._fired(later)
        arguments, values, starts, ends = fluent.intervals(fired, carried)
        new = Rows(arguments, [starts, ends, values])
        places = self.lists.overlapping(Dirt(keys, low, forever))
        old_ends = self.lists.shelf.column(1, places[0])
        own = old_ends > low[np.searchsorted(keys, places[1])]
        places = places[0][own], places[1][own]
        if self.has_delays:
            self._keep_begun(self.relation, later, fluent.context, update)
        old = self.lists.rows(places)
        groups = self.lists.groups(new)
        self.note(self.relation, *exchanged(self.lists, places, old, new, groups), update)

    def _mend(self, groups: Integers, times: Integers, update: Update) -> None:
        """Mend the intervals around changed points, where a key has at most one at a time."""
        before = -INFINITY if update.before is None else update.before
        events, byte, bits = GroupedRows(1), (0, 0), np.empty(0, np.int64)
        if self.event is not None:
            events, byte = self.kept.events[self.event].shelf, self._byte
            bits = np.array(self.bits, np.int64)
        found = mend(
            groups, times, before, update.context.tick, events.raw, *byte, bits,
            self.points.shelf.raw, self.lists.shelf.raw,
        )  # fmt: skip
        update.outcome.conflicts += found[3]
        self.note(self.relation, *exchanged_at(self.lists, *found[:3]), update)

    def _fired(self, later: Dirt) -> Fired:
        """The points kept of keys, from some point on."""
        rows = self.points.rows(self.points.within(later))
        marks = None
        if self.event is not None:
            marks = self._kept(later)
            marks.actions = self.bits
        return Fired(marks, rows.arguments, *rows.columns)

    def _kept(self, later: Dirt) -> Marks:
        """Marks as they were written down."""
        assert self.event is not None
        store = self.kept.events[self.event]
        places = store.within(later)
        times = store.shelf.column(0, places[0])
        marks = Marks(times, store.arguments(places, self._positions))
        marks.flags = np.ascontiguousarray(store.marks(self._number, places[0]))
        return marks

    def _carried(self, keys: Integers, since: Integers, cut: Context) -> Carried:
        """What holds at the first changed point of each key."""
        places = self.lists.overlapping(Dirt(keys, since, since + 1))
        rows = self.lists.rows(places)
        starts, ends, _ = rows.columns
        at = since[np.searchsorted(keys, places[1])]
        held = rows.take((starts <= at) & (ends > at))
        codes = self.codes(self.relation, held.columns[2], cut)
        return Carried(held.arguments, codes, held.columns[0])


class EventUnit(PointUnit):
    """A derived event."""

    def evaluate(self, dirt: Dirt, update: Update) -> None:
        """Derive the happenings where there is dirt."""
        ((relation, definition),) = self.definitions.items()
        cut = self.cut(self.look_at(dirt, update), update)
        evaluate_definition(definition, cut, {})
        table = cut.events[relation]
        store: Store = self.kept.events[relation]
        found = Rows(table.arguments, [table.times])
        if dirt.everything:
            groups, _ = store.enter(found)
        else:
            groups = store.groups(found)
            own = lie_in(groups, found.columns[0], dirt.groups, dirt.starts, dirt.ends)
            found, groups = found.take(own), groups[own]
        places = store.within(dirt)
        self.note(relation, *exchanged(store, places, store.rows(places), found, groups), update)
