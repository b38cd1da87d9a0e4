"""Evaluates queries from what has changed since the one before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from cernis.check.model import Boundary, FluentKind, Relation
from cernis.evaluate.answer import Answer
from cernis.evaluate.changes.affected import INITIATIONS, TERMINATIONS, literals
from cernis.evaluate.changes.dirt import Dirt, joined
from cernis.evaluate.changes.simple_units import EventUnit, SimpleUnit
from cernis.evaluate.changes.splicing import behind, inside, splice
from cernis.evaluate.changes.static_units import StaticUnit, can_be_cut
from cernis.evaluate.changes.stores import Rows, Store, fluent_table
from cernis.evaluate.changes.units import Kept, Shared, Unit, Update
from cernis.evaluate.query_loop import Admitted, Changed, Handover, News, Outcome
from cernis.evaluate.relation_layout import Spaces
from cernis.evaluate.windows import Window
from cernis.evaluate.working_memory import Memory
from cernis.kernels.array_types import Integers
from cernis.operators.query_context import Context
from cernis.plan.builder import Plan
from cernis.plan.key_reads import Link
from cernis.plan.logical import Delay, PointRule, Stratum, parts_of
from cernis.plan.open_heads import leaves_open
from cernis.tables.interval_tables import INFINITY, FluentTable


class FromChanges:
    """Keeps what was derived by key, and evaluates again only what changes affect."""

    is_incremental = True
    kept = dropped = 0
    """Programs with patterns, which keep occurrences, are not evaluated so."""

    def __init__(self, memory: Memory, spaces: Spaces) -> None:
        self._memory = memory
        self._spaces = spaces
        self._plan = spaces.plan
        self._before: int | None = None
        self._bound = -INFINITY
        self._watched = self._plan.roles.watched
        self._outcome = Outcome()
        self._kept = Kept(
            spaces, frozenset(memory.stores), counted=self._plan.roles.counted,
            watched=self._watched, first_points=_first_points(self._plan),
        )  # fmt: skip
        self._enter_stores()
        self._units = [list(self._unite(at)) for at in range(len(self._plan.stages))]

    def _enter_stores(self) -> None:
        kept, spaces = self._kept, self._spaces
        for relation, store in self._memory.stores.items():
            if store.width == 1:
                kept.events[relation] = store
            else:
                kept.fluents[relation] = spaces.fluent(relation)
        for stage in self._plan.stages:
            for stratum in stage.strata:
                for definition in stratum.definitions:
                    relation = definition.relation
                    if definition.kind == "event":
                        kept.events[relation] = spaces.events(relation)
                        continue
                    kept.fluents[relation] = spaces.fluent(relation)
                    if any(isinstance(rule, Delay) for rule in definition.rules):
                        kept.begun[relation] = spaces.events(relation, 3)

    def _unite(self, at: int) -> Iterator[Unit]:
        """The units of a stage: strata that ask for changes of others go together with those."""
        strata = self._plan.stages[at].strata
        first = 0
        while first < len(strata):
            last = first
            for later in range(first + 1, len(strata)):
                named = {r for s in strata[first : last + 1] for r in s.relations}
                if any(named & _asked(strata[k]) for k in range(last + 1, later + 1)):
                    last = later
            yield self._unit(at, strata[first : last + 1])
            first = last + 1

    def _unit(self, at: int, strata: tuple[Stratum, ...]) -> Unit:
        """The unit that evaluates as little as it can."""
        definitions = [d for stratum in strata for d in stratum.definitions]
        relations = {definition.relation for definition in definitions}
        is_plain = len(definitions) == 1 and not strata[0].immediate
        if is_plain and not relations & self._watched:
            (definition,) = definitions
            if definition.kind == "event":
                return EventUnit(at, strata, self._kept)
            if definition.kind == FluentKind.SIMPLE:
                if not leaves_open(definition)["initiation"]:
                    return SimpleUnit(at, strata[0], self._kept)
            elif can_be_cut(definition):
                return StaticUnit(at, strata[0], self._kept)
        return Unit(at, strata, self._kept)

    @staticmethod
    def fits(spaces: Spaces) -> bool:
        """Can a program be evaluated so?"""
        # What a rule looks back at before the window's edge is not kept by key.
        if not spaces.are_coded or spaces.plan.roles.looked_back_at:
            return False
        known: set[Relation] = set()
        for stage in spaces.plan.stages:
            if known & {r for stratum in stage.strata for r in _asked(stratum)}:
                return False
            defined = [r for stratum in stage.strata for r in stratum.relations]
            if len(set(defined)) < len(defined) or known & set(defined):
                return False
            known |= set(defined)
        return True

    def pass_edge(self, window: Window) -> None:
        """Nothing has to be kept here: `update` asks each store what it forgets."""

    def update(self, news: News) -> int:
        """Bring all that changes affect up to a query; gives the conflicts between values."""
        window, context, admitted = news.window, news.context, news.admitted
        context.watched = self._watched
        update = Update(window, context, self._before, members=news.members)
        self._miss(update)
        self._forget(update)
        self._make_sure(update)
        stretches = self._news(admitted, update)
        for relation, change in admitted.items():
            self._enter(relation, change, stretches, update)
        for at, units in enumerate(self._units):
            update.shared[at] = Shared(self._base(units, update))
            for unit in units:
                with context.timed(tuple(unit.definitions)):
                    unit.update(update)
        self._outcome = update.outcome
        return update.outcome.conflicts

    def settle(self, news: News) -> None:
        """Let the next query begin after this one."""
        self._before = news.window.query

    def changes(self, news: News) -> Changed:
        """How the answer differs from the one of the query before."""
        return self._outcome.changes

    def handed_over(self, query: int) -> Handover:
        """What the last query has left."""
        kept = self._kept
        return Handover(
            query,
            {relation: _all(store) for relation, store in kept.fluents.items()},
            {relation: _all(store) for relation, store in kept.events.items()
             if relation not in kept.input},
            {relation: _all(store) for relation, store in kept.begun.items()},
        )  # fmt: skip

    def assume_reported(self, left: Handover) -> None:
        """Never called: only an evaluation from scratch compares with what was reported."""
        raise AssertionError("only an evaluation from scratch finds relations anew")

    def take_over(self, left: Handover, context: Context) -> None:
        """Go on from where another has stopped; points are found at the next query."""
        kept = self._kept
        for stores, given in (
            (kept.fluents, left.fluents), (kept.events, left.events),
            (kept.begun, left.begun),
        ):  # fmt: skip
            for relation, rows in given.items():
                if relation in stores:
                    store = stores[relation]
                    store.exchange(_NOWHERE, store.enter(rows)[0], rows)
                    if stores is kept.fluents:
                        kept.look_ahead(relation, rows, left.query, context.tick)

    def _miss(self, update: Update) -> None:
        """Note the keys of intervals that are seen no longer, where others may miss them."""
        if update.bound == self._bound:
            update.missed = dict.fromkeys(self._kept.missed, np.empty(0, np.int64))
            return
        for relation in self._kept.missed:
            shelf = self._kept.fluents[relation].shelf
            groups = np.arange(shelf.groups)
            low, high = np.full(len(groups), self._bound), np.full(len(groups), update.bound)
            places, owners = shelf.overlapping(groups, low, high)
            ends = shelf.column(1, places)
            missed = owners[(ends > self._bound) & (ends <= update.bound)]
            update.missed[relation] = np.unique(missed)
        self._bound = update.bound

    def _forget(self, update: Update) -> None:
        for store in self._kept.fluents.values():
            # What ends right at the edge may go on after it.
            store.shelf.forget(update.bound - 1)
        for relation, store in self._kept.events.items():
            if relation not in self._memory.stores:
                store.shelf.forget(update.window.edge)
        for store in self._kept.points.values():
            store.shelf.forget(self._points_edge(update))

    def _points_edge(self, update: Update) -> int:
        """Up to where points are forgotten: what holds initially is a point at the start."""
        edge, start = update.window.edge, update.context.start
        return edge if edge > start else edge - 1

    def _make_sure(self, update: Update) -> None:
        """Look again at what seemed to end at the last query: it may have ended, or gone on."""
        unsure, self._kept.unsure = self._kept.unsure, {}
        for relation, groups in unsure.items():
            points = np.full(len(groups), update.before)
            update.changed[relation] = Dirt(groups, points, points + 1)
        for relation, dirt in self._kept.reached(update.window.query):
            before = update.changed.get(relation, Dirt.nothing())
            update.changed[relation] = joined([before, dirt])

    def _base(self, units: list[Unit], update: Update) -> Dirt:
        """What changes of the input affect in a stage, whichever units read it."""
        parts: list[Dirt] = []
        seen: set[Link] = set()
        for unit in units:
            for link in unit.links:
                if link.relation in self._kept.input and link not in seen:
                    seen.add(link)
                    parts += unit.by_change(update, frozenset([link.relation]))
        return joined(behind(part, update.window.edge) for part in parts)

    def _news(self, admitted: Mapping[Relation, Admitted], update: Update) -> dict[int, Dirt]:
        """For each register, the keys of records that are in time, from the last query on.

        All that happens there is new, so there is one stretch for each key, whatever the relation.
        """
        if update.before is None:
            return {}
        found: dict[int, list[Integers]] = {}
        for relation, change in admitted.items():
            store = self._memory.stores[relation]
            if store.width == 1 and len(change.come):
                own = change.groups[change.come.columns[0] > update.before]
                found.setdefault(id(store.register), []).append(own)
        news = {}
        for name, parts in found.items():
            keys = np.flatnonzero(np.bincount(np.concatenate(parts)))
            low, high = update.before + 1, update.window.query + 1
            news[name] = Dirt(keys, np.full(len(keys), low), np.full(len(keys), high))
        return news

    def _enter(
        self, relation: Relation, admitted: Admitted, news: dict[int, Dirt], update: Update
    ) -> None:
        """Take over what came and went of an input relation."""
        stage = self._spaces.homes[relation].stage if relation in self._spaces.homes else None
        if stage is not None and len(admitted.fresh):
            update.fresh.setdefault(stage, []).append(admitted.fresh)
        store = self._memory.stores[relation]
        rows = [admitted.come, admitted.gone]
        groups = np.concatenate([admitted.groups, store.groups(admitted.gone)])
        starts = np.concatenate([own.columns[0] for own in rows])
        if store.width == 1:
            if len(admitted.gone):
                update.gone[relation] = groups[len(admitted.groups) :], admitted.gone.columns[0]
            late = starts <= (update.before if update.before is not None else INFINITY)
            own = Dirt.of(groups[late], starts[late], starts[late] + 1)
            update.changed[relation] = joined(
                [news[id(store.register)], own] if id(store.register) in news else [own]
            )
            return
        self._leave_open(relation, admitted, update)
        ends = np.concatenate([own.columns[1] for own in rows])
        dirt = behind(Dirt.of(groups, starts, ends), update.bound)
        raw = store.rows(places := store.overlapping(dirt))
        found, owners = inside(dirt, Rows(raw.arguments, raw.columns[:3]), places[1])
        self._splice(relation, dirt, found, owners, update)

    def _splice(
        self, relation: Relation, dirt: Dirt, found: Rows, owners: Integers, update: Update
    ) -> None:
        """Let intervals of an input fluent take the place of what was there."""
        change, changed = splice(self._kept.fluents[relation], dirt, found, owners, update.bound)
        tick = update.context.tick
        self._kept.look_ahead(relation, change.come, update.window.query, tick)
        if changed:
            before = update.changed.get(relation, Dirt.nothing())
            update.changed[relation] = joined([before, self._kept.around(relation, changed, tick)])

    def _leave_open(self, relation: Relation, change: Admitted, update: Update) -> None:
        """What has a point at the query may go on after it."""
        starts, _, _, is_point = change.come.columns
        last = (starts == update.window.query) & (is_point == 1)
        if last.any():
            own = change.come.take(last)
            update.unsure[relation] = [*own.arguments, own.columns[2]]
            groups = np.unique(self._memory.stores[relation].groups(own))
            self._kept.unsure[relation] = groups

    def answer(self) -> Answer:
        """What the window knows of."""
        catalogue = self._plan.checked.catalogue
        hidden = self._plan.checked.definitions.auxiliary
        return Answer({
            relation: _table(store)
            for relation, store in self._kept.fluents.items()
            if catalogue.fluents[relation].kind is not FluentKind.INPUT and relation not in hidden
        })  # fmt: skip


def _table(store: Store) -> FluentTable:
    return fluent_table(store, store.shelf.everything())


def _all(store: Store) -> Rows:
    return store.rows(store.shelf.everything())


_NOWHERE = np.empty(0, np.int64), np.empty(0, np.int64)


def _first_points(plan: Plan) -> frozenset[Relation]:
    """The fluents of which rules ask for the first points of intervals."""
    return frozenset(
        part.pair.relation
        for part in parts_of(plan.stages)
        if isinstance(part, Boundary) and part.edge == "startI"
    )


def _asked(stratum: Stratum) -> set[Relation]:
    """The fluents whose initiations or terminations the rules of a stratum ask for."""
    rules = [r for d in stratum.definitions for r in d.rules if isinstance(r, PointRule)]
    return {
        literal.relation
        for rule in rules
        for literal in literals(rule.steps)
        if literal.kind in (INITIATIONS, TERMINATIONS)
    } - set(stratum.relations)
