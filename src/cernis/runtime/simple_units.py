"""Simple fluents and events brought up to date point by point."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cernis.operators.context import Context
from cernis.operators.simple import Carried, SimpleFluent, leaves_open
from cernis.plan.logical import Stratum
from cernis.runtime.dirt import Dirt, joined
from cernis.runtime.evaluator import told_apart
from cernis.runtime.splicing import exchanged
from cernis.runtime.stores import Rows, Store
from cernis.runtime.units import Kept, Unit, Update
from cernis.kernels.stretches import lie_in
from cernis.tables.columns import Array
from cernis.tables.fluents import INFINITY

Integers: TypeAlias = npt.NDArray[np.int64]


class SimpleUnit(Unit):
    """A simple fluent of which the points are kept: rules are evaluated only where there is dirt.

    The intervals of a key are made anew from the first point that differs; with delayed effects,
    from the window's edge.
    """

    def __init__(self, stage: int, stratum: Stratum, kept: Kept) -> None:
        super().__init__(stage, [stratum], kept)
        (self.definition,) = self.definitions.values()
        self.relation = self.definition.relation
        self.points = kept.spaces.events(self.relation, 2)
        kept.points[self.relation] = self.points
        self.lists = kept.fluents[self.relation]
        self.has_open = leaves_open(self.definition)["termination"]

    def evaluate(self, dirt: Dirt, update: Update) -> None:
        """Find the points anew where there is dirt, and the intervals behind what has changed."""
        cut = self.cut(dirt, update)
        fluent = SimpleFluent(self.relation, self.definition, cut)
        changed, is_new = self._points(fluent, dirt, update)
        if len(is_new) and self.has_open and not dirt.everything:
            # What others did at other times to such instances has not been asked for yet.
            dirt = joined([dirt, Dirt.whole(is_new, update.window.edge)])
            fluent = SimpleFluent(self.relation, self.definition, self.cut(dirt, update))
            more, _ = self._points(fluent, dirt, update)
            changed = joined([changed, more])
        if self.has_delays and update.before is not None:
            changed = joined([changed, *self.by_time(update)])
        if changed:
            self._rebuild(fluent, changed, cut, update)
            update.outcome.conflicts += fluent.conflicts

    def _points(
        self, fluent: SimpleFluent, dirt: Dirt, update: Update
    ) -> tuple[Dirt, Integers]:
        """Exchange the points in the dirt; gives where they differ, and keys with new instances."""
        known = self._known(dirt) if self.has_open else self._nothing()
        arguments, times, actions = fluent.actions(known)
        found, groups = self._within(Rows(arguments, [times, actions]), dirt)
        places = self.points.within(dirt)
        old = self.points.rows(places)
        gone, come = told_apart(old, found)
        owners = np.concatenate([places[1][gone], groups[come]])
        if not len(owners):
            return Dirt.nothing(), owners
        points = np.concatenate([old.columns[0][gone], found.columns[0][come]])
        is_new = owners[:0]
        if self.has_open:
            _, unknown = told_apart(Rows(known, [known[0]]), Rows(found.arguments, [
                found.arguments[0]]))  # fmt: skip
            is_new = groups[unknown]
        self.points.exchange(
            (places[0][gone], places[1][gone]), groups[come], found.take(come)
        )
        return Dirt.of(owners, points, points + 1), is_new

    def _within(self, found: Rows, dirt: Dirt) -> tuple[Rows, Integers]:
        """The points that lie in the dirt, and their keys."""
        if dirt.everything:
            groups, _ = self.points.enter(found)
            return found, groups
        groups = self.points.groups(found)
        own = lie_in(groups, found.columns[0], dirt.groups, dirt.starts, dirt.ends)
        return (found, groups) if own.all() else (found.take(own), groups[own])

    def _known(self, dirt: Dirt) -> list[Array]:
        """The instances of keys with dirt."""
        whole = dirt if dirt.everything else Dirt.whole(dirt.keys(), -INFINITY)
        points = self.points.rows(self.points.within(whole))
        lists = self.lists.rows(self.lists.overlapping(whole))
        return [np.concatenate(own) for own in zip(points.arguments, lists.arguments, strict=True)]

    def _nothing(self) -> list[Array]:
        return [np.empty(0, np.int64)] * max(self.relation.arity, 1)

    def _rebuild(
        self, fluent: SimpleFluent, changed: Dirt, cut: Context, update: Update
    ) -> None:
        """Make the intervals behind the first changed point of each key anew."""
        first = np.concatenate([[True], changed.groups[1:] != changed.groups[:-1]])
        keys, since = changed.groups[first], changed.starts[first]
        if self.has_delays:
            since = np.full(len(keys), update.window.edge)
            whole = Dirt(keys, since, np.full(len(keys), INFINITY))
            carried = self.carried(self.relation, whole, update)
            low = np.full(len(keys), update.bound)
        else:
            carried = self._carried(keys, since, cut)
            low = since
        behind = Dirt(keys, since, np.full(len(keys), INFINITY))
        rows = self.points.rows(self.points.within(behind))
        found = fluent.intervals(rows.arguments, *rows.columns, carried)
        new = Rows(found[0], [found[2], found[3], found[1]])
        places = self.lists.overlapping(Dirt(keys, low, behind.ends))
        ends = self.lists.shelf.rows(places[0])[1]
        own = ends > low[np.searchsorted(keys, places[1])]
        places = places[0][own], places[1][own]
        if self.has_delays:
            self._keep_begun(self.relation, whole, fluent.context, update)
        old = self.lists.rows(places)
        self.note(
            self.relation, *exchanged(self.lists, places, old, new, self.lists.groups(new)), update
        )

    def _carried(self, keys: Integers, since: Integers, cut: Context) -> Carried:
        """What holds at the first changed point of each key."""
        places = self.lists.overlapping(Dirt(keys, since, since + 1))
        rows = self.lists.rows(places)
        starts, ends, _ = rows.columns
        at = since[np.searchsorted(keys, places[1])]
        held = rows.take((starts <= at) & (ends > at))
        codes = self.codes(self.relation, held.columns[2], cut)
        return Carried(held.arguments, codes, held.columns[0])


class EventUnit(Unit):
    """A derived event: its rules are evaluated only where there is dirt."""

    def evaluate(self, dirt: Dirt, update: Update) -> None:
        """Find the happenings anew where there is dirt."""
        from cernis.runtime.query import evaluate_definition

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
        self.note(
            relation, *exchanged(store, places, store.rows(places), found, groups), update
        )
