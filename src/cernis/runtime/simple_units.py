"""Simple fluents and events brought up to date point by point."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cernis.kernels.stretches import cut as cut_by
from cernis.kernels.stretches import lie_in
from cernis.operators.context import Context
from cernis.operators.marks import Marks
from cernis.operators.simple import Carried, Fired, SimpleFluent, leaves_open
from cernis.plan.logical import Stratum
from cernis.runtime.dirt import Dirt, joined
from cernis.runtime.evaluator import told_apart
from cernis.runtime.query import evaluate_definition
from cernis.runtime.splicing import behind, exchanged
from cernis.runtime.stores import Rows, Store
from cernis.runtime.units import Kept, Unit, Update
from cernis.tables.columns import Array
from cernis.tables.fluents import INFINITY

Integers: TypeAlias = npt.NDArray[np.int64]


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

    The intervals of a key are made anew from the first point that differs; with delayed effects,
    from the window's edge. Points that mark rows of one event are kept as such, all marks of a row
    in one.
    """

    def __init__(self, stage: int, stratum: Stratum, kept: Kept) -> None:
        super().__init__(stage, [stratum], kept)
        (self.definition,) = self.definitions.values()
        self.relation = self.definition.relation
        self.points = kept.points[self.relation] = kept.spaces.events(self.relation, 2)
        self.marks = kept.marks[self.relation] = kept.spaces.events(self.relation, 2)
        self.bits = kept.bits.setdefault(self.relation, [])
        self.lists = kept.fluents[self.relation]
        self.has_open = leaves_open(self.definition)["termination"]

    def evaluate_all(self, passes: list[Dirt], update: Update) -> None:
        """Find the points anew where there is dirt, and the intervals behind what has changed."""
        changed: list[Dirt] = []
        fluent: SimpleFluent | None = None
        while passes:
            dirt = passes.pop()
            fluent = SimpleFluent(self.relation, self.definition, self.cut(dirt, update))
            differs, is_new = self._points(fluent, dirt)
            changed.append(differs)
            if len(is_new) and not dirt.everything:
                # What happened to such instances at other times has not been asked for yet.
                passes.append(Dirt.whole(is_new, update.window.edge))
        if self.has_delays and update.before is not None:
            changed += self.by_time(update)
        where = joined(changed)
        if where:
            if fluent is None:
                fluent = SimpleFluent(self.relation, self.definition, update.context)
            self._rebuild(fluent, where, update)
            update.outcome.conflicts += fluent.conflicts

    # -- points -----------------------------------------------------------------------------

    def _points(self, fluent: SimpleFluent, dirt: Dirt) -> tuple[Dirt, Integers]:
        """Exchange the points in the dirt; gives where they differ, and keys with new instances."""
        known: list[list[Array]] = []

        def recall(given: list[list[Array]]) -> list[Array]:
            known.append(self._known(given, dirt))
            return known[0]

        fired = fluent.actions(recall)
        rows = Rows(fired.arguments, [fired.times, fired.actions])
        differs = self._exchange(self.points, rows, dirt)
        if fired.marks is not None or len(self.marks):
            differs = joined([differs, self._exchange(self.marks, self._marked(fired.marks), dirt)])
        if not known:
            return differs, np.empty(0, np.int64)
        one, two = Rows(known[0], known[0][:1]), Rows(rows.arguments, rows.arguments[:1])
        _, is_new = told_apart(one, two)
        groups = self.points.groups(rows.take(is_new))
        return differs, groups[groups >= 0]

    def _marked(self, marks: Marks | None) -> Rows:
        """The rows with marks; bits mean the same at each query."""
        if marks is None:
            none = np.empty(0, np.int64)
            return Rows([none] * self.relation.arity, [none, none])
        self.bits.extend(action for action in marks.actions if action not in self.bits)
        bits = [self.bits.index(action) for action in marks.actions]
        flags = marks.flags
        if bits != list(range(len(bits))):
            table = np.zeros(256, np.uint8)
            for at, bit in enumerate(bits):
                table |= ((np.arange(256) >> at) & 1).astype(np.uint8) << np.uint8(bit)
            flags = table[flags]
        rows = np.flatnonzero(flags)
        arguments = [column[rows] for column in marks.arguments]
        return Rows(arguments, [marks.times[rows], flags[rows].astype(np.int64)])

    def _exchange(self, store: Store, found: Rows, dirt: Dirt) -> Dirt:
        """Let points take the place of others in the dirt; gives where they differ."""
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
        owners = np.concatenate([places[1][gone], groups])
        if not len(owners):
            return Dirt.nothing()
        points = np.concatenate([old.columns[0][gone], found.columns[0]])
        store.exchange((places[0][gone], places[1][gone]), groups, found)
        return Dirt.of(owners, points, points + 1)

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
        lists = self.lists.rows(self.lists.overlapping(whole))
        return [np.concatenate(own) for own in zip(points.arguments, lists.arguments, strict=True)]

    # -- intervals --------------------------------------------------------------------------

    def _rebuild(self, fluent: SimpleFluent, changed: Dirt, update: Update) -> None:
        """Make the intervals behind the first changed point of each key anew."""
        first = np.concatenate([[True], changed.groups[1:] != changed.groups[:-1]])
        keys, since = changed.groups[first], changed.starts[first]
        forever = np.full(len(keys), INFINITY)
        if self.has_delays:
            since = np.full(len(keys), update.window.edge)
            carried = self.carried(self.relation, Dirt(keys, since, forever), update)
            low = np.full(len(keys), update.bound)
        else:
            carried = self._carried(keys, since, fluent.context)
            low = since
        later = Dirt(keys, since, forever)
        arguments, values, starts, ends = fluent.intervals(self._fired(later), carried)
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

    def _fired(self, later: Dirt) -> Fired:
        """The points kept of keys, from some point on."""
        rows = self.points.rows(self.points.within(later))
        marks = None
        if len(self.marks):
            own = self.marks.rows(self.marks.within(later))
            marks = Marks(own.columns[0], own.arguments)
            marks.flags = own.columns[1].astype(np.uint8)
            marks.actions = self.bits
        return Fired(marks, rows.arguments, *rows.columns)

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
        """Find the happenings anew where there is dirt."""
        ((relation, definition),) = self.definitions.items()
        cut = self.cut(dirt, update)
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
