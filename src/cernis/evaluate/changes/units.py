"""Units: parts of a plan that are brought up to date together, from what has changed below them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cernis.check.model import FluentKind, Relation
from cernis.evaluate.asked_domains import AskedDomain, asked_domains
from cernis.evaluate.changes.affected import literals
from cernis.evaluate.changes.dirt import Dirt, joined
from cernis.evaluate.changes.splicing import behind, exchanged, widened
from cernis.evaluate.changes.stores import Places, Rows, Store, event_table, fluent_table
from cernis.evaluate.columns.cycle_rounds import Cycle
from cernis.evaluate.columns.from_scratch import once
from cernis.evaluate.columns.strata import evaluate_definition
from cernis.evaluate.columns.window_carry import carried_at
from cernis.evaluate.query_loop import Change, Outcome, Predicate, attempts_of, rows_of_attempts
from cernis.evaluate.relation_layout import Spaces
from cernis.evaluate.windows import Window
from cernis.kernels.array_types import Array, Integers
from cernis.operators.definitions.simple_fluents import Carried
from cernis.operators.intervals.bindings import alternatives, is_local
from cernis.operators.intervals.pieces import pieces, united
from cernis.operators.query_context import Context
from cernis.plan.key_reads import Link
from cernis.plan.logical import (
    Combine,
    Definition,
    Delay,
    EventJoin,
    Fetch,
    IntervalRule,
    PointRule,
    Require,
    Scan,
    Stab,
    Stratum,
    parts_of,
)
from cernis.plan.open_heads import ends_any_value, leaves_open
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import INFINITY, FluentTable

DURATION = "intDurGreater"
LOOK_BACK = frozenset({"allen", "complement_all", "findall"})
"""Operators whose results change with what the window forgets."""


@dataclass(slots=True)
class Kept:
    """All that a session keeps of the relations of a program."""

    spaces: Spaces
    input: frozenset[Relation] = frozenset()
    """The relations that records are of."""
    events: dict[Relation, Store] = field(default_factory=dict)
    fluents: dict[Relation, Store] = field(default_factory=dict)
    points: dict[Relation, Store] = field(default_factory=dict)
    """What rules have fired for simple fluents: times and actions."""
    bits: dict[Relation, list[int]] = field(default_factory=dict)
    """The actions that bits of marks stand for."""
    begun: dict[Relation, Store] = field(default_factory=dict)
    """The initiations that delayed effects are counted from."""
    counted: frozenset[Relation] = frozenset()
    ahead: dict[Relation, list[tuple[Integers, Integers]]] = field(default_factory=dict)
    """Keys and points after the last query at which intervals are known to begin or end."""
    unsure: dict[Relation, Integers] = field(default_factory=dict)
    """Keys of fluents that may have gone on after the last query."""
    missed: set[Relation] = field(default_factory=set)
    """Fluents of which it matters when the window forgets an interval."""
    watched: frozenset[Relation] = frozenset()
    """Fluents whose initiations or terminations are conditions of rules."""
    first_points: frozenset[Relation] = frozenset()
    """Fluents of which rules ask for the first points of intervals."""

    def look_ahead(self, relation: Relation, come: Rows, query: int, tick: int) -> None:
        """Note where intervals begin or end after the query: others may wait for that."""
        store = self.fluents[relation]
        starts, ends = come.columns[:2]
        parts = [starts - tick, ends - tick]
        parts += [starts] if relation in self.first_points else []
        points = np.concatenate(parts)
        later = (points > query) & (points < INFINITY - tick)
        if later.any():
            groups = np.concatenate([store.groups(come)] * len(parts))
            self.ahead.setdefault(relation, []).append((groups[later], points[later]))

    def around(self, relation: Relation, dirt: Dirt, tick: int) -> Dirt:
        """Stretches on which a fluent has changed, with the points that rules may ask about."""
        dirt = widened(dirt, tick)
        # What a stretch ends with may be what an interval begins with now.
        return dirt.longer(tick) if relation in self.first_points else dirt

    def reached(self, query: int) -> Iterator[tuple[Relation, Dirt]]:
        """The points noted before that lie at a query or before it."""
        ahead, self.ahead = self.ahead, {}
        for relation, parts in ahead.items():
            groups, points = (np.concatenate(own) for own in zip(*parts, strict=True))
            now = points <= query
            if not now.all():
                self.ahead[relation] = [(groups[~now], points[~now])]
            if now.any():
                yield relation, Dirt.of(groups[now], points[now], points[now] + 1)


@dataclass(slots=True)
class Shared:
    """Dirt of a stage's keys, from its input, and tables of what lies there."""

    base: Dirt
    tables: dict[Relation, Any] = field(default_factory=dict)
    places: dict[Relation, Places] = field(default_factory=dict)
    """Where the rows of events' tables are kept."""
    ordered: dict[tuple[int, ...], tuple[Any, ...]] = field(default_factory=dict)
    computed: dict[tuple[object, ...], tuple[Any, object]] = field(default_factory=dict)


@dataclass(slots=True)
class Update:
    """One query under way: what has changed so far, and what came of it."""

    window: Window
    context: Context
    before: int | None
    """The query before this one."""
    changed: dict[Relation, Dirt] = field(default_factory=dict)
    fresh: dict[int, list[Integers]] = field(default_factory=dict)
    """Keys that came up for the first time, by stage."""
    gone: dict[Relation, tuple[Integers, Integers]] = field(default_factory=dict)
    """Keys and times of happenings that were taken back, or are no longer derived."""
    members: Mapping[Predicate, list[list[Array]]] = field(default_factory=dict)
    unsure: dict[Relation, list[Array]] = field(default_factory=dict)
    """Instances that depend on a point at the query and may go on after it: arguments and value."""
    missed: dict[Relation, Integers] = field(default_factory=dict)
    """Keys of fluents with intervals that this query is the first not to see."""
    outcome: Outcome = field(default_factory=Outcome)
    shared: dict[int, Shared] = field(default_factory=dict)
    """What units of a stage look at in common."""

    @property
    def bound(self) -> int:
        """The first point after the window's edge."""
        return self.window.edge + self.context.tick


def is_anchored(rule: object, key: tuple[int, ...]) -> bool:
    """Does something that must happen or hold for a rule carry all of the key?

    If not, the rule may derive something for keys that no record has named.
    """
    if isinstance(rule, IntervalRule):
        lists = {step.output: step.pair.args for step in rule.steps if isinstance(step, Fetch)}
        wanted = [rule.head.args[at] for at in key]
        return all(
            any(set(wanted) <= set(lists[name]) for name in needed) for needed in alternatives(rule)
        )
    if not isinstance(rule, PointRule):
        return True
    wanted = [rule.head.args[at] for at in key]
    steps = [step for step in rule.steps if isinstance(step, (Scan, EventJoin, Stab))]
    return any(set(wanted) <= set(own.terms) for own in literals(steps))


class Unit:
    """Some strata of one stage, brought up to date by evaluating them for all keys with changes.

    What is evaluated of such a key is its whole window.
    """

    def __init__(self, stage: int, strata: Iterable[Stratum], kept: Kept) -> None:
        self.stage = stage
        self.strata = tuple(strata)
        self.kept = kept
        self.register = kept.spaces.registers[stage]
        self.definitions = {d.relation: d for s in self.strata for d in s.definitions}
        own = [kept.spaces.links[relation] for relation in self.definitions]
        links = dict.fromkeys(link for every in own for link in every)
        self.links = [link for link in links if link.relation not in self.definitions]
        self._by_relation: dict[Relation, list[Link]] = {}
        for link in self.links:
            self._by_relation.setdefault(link.relation, []).append(link)
        self.reads_input = frozenset(self._by_relation) & frozenset(kept.input)
        self.has_delays = any(isinstance(part, Delay) for part in parts_of(self._rules()))
        operators = {part.operator for part in parts_of(self._rules()) if isinstance(part, Combine)}
        self.has_durations = DURATION in operators
        requires = any(isinstance(part, Require) for part in parts_of(self._rules()))
        # Who can be initiated by a head that leaves that open changes with what is forgotten.
        simple = [own for own in self.definitions.values() if own.kind == FluentKind.SIMPLE]
        is_open = any(leaves_open(own)["initiation"] or self._tells_known(own) for own in simple)
        self.looks_back = requires or is_open or bool(LOOK_BACK & operators) or not self._is_local()
        self.is_anchored = all(
            is_anchored(rule, kept.spaces.homes[relation].positions)
            for relation, definition in self.definitions.items()
            for rule in definition.rules
        )
        self.asked = asked_domains(self.definitions.values(), kept.spaces)
        self._hears_of_all_keys = self.is_anchored and all(
            self._store(link.relation).register is self.register
            for link in self.links if len(link.pairs) == self.register.width
        )  # fmt: skip

    def _tells_known(self, definition: Definition) -> bool:
        """Do rules have conditions on terminations of whatever was initiated before?"""
        ends = leaves_open(definition)["termination"] or ends_any_value(definition)
        return ends and definition.relation in self.kept.watched

    def _rules(self) -> tuple[object, ...]:
        return tuple(rule for definition in self.definitions.values() for rule in definition.rules)

    def _is_local(self) -> bool:
        return all(
            is_local(rule, bool(definition.groundings))
            for definition in self.definitions.values()
            for rule in definition.rules
            if isinstance(rule, IntervalRule)
        )

    # -- what is affected -------------------------------------------------------------------

    def update(self, update: Update) -> None:
        """Bring the unit's relations up to the query."""
        dirt = self.affected(update)
        if dirt:
            self.evaluate(dirt, update)

    def is_affected_all(self, update: Update) -> bool:
        """Must everything be evaluated, whatever has changed?"""
        if update.before is None or self.looks_back:
            return True
        return any(not asked.pairs for asked in self._asked_now(update))

    def _asked_now(self, update: Update) -> list[AskedDomain]:
        """What the unit asks of domains whose members have changed."""
        return [
            asked for asked in self.asked
            if (asked.predicate is None and update.members) or asked.predicate in update.members
        ]  # fmt: skip

    def affected(self, update: Update) -> Dirt:
        """The stretches on which something that the unit reads has changed, by its own keys."""
        if self.is_affected_all(update):
            return Dirt.all()
        parts = [*self.by_change(update, frozenset(self._by_relation)), *self.by_time(update)]
        parts += [*self.by_news(update), *self._by_own_first_points(update)]
        return joined(behind(part, update.window.edge) for part in parts)

    def _by_own_first_points(self, update: Update) -> Iterator[Dirt]:
        """First points of the unit's own intervals that time has come to: its rules may wait."""
        for relation in self.kept.first_points & self.definitions.keys() & update.changed.keys():
            is_same = self.kept.fluents[relation].register is self.register
            yield update.changed[relation] if is_same else Dirt.all()

    def by_news(self, update: Update) -> Iterator[Dirt]:
        """Keys that came up for the first time, or that new members of domains are about."""
        fresh = update.fresh.get(self.stage)
        if fresh:
            yield Dirt.whole(np.concatenate(fresh), update.window.edge)
        for asked in self._asked_now(update):
            assert asked.predicate is not None
            wanted = tuple(at for _, at in asked.pairs)
            for columns in update.members[asked.predicate]:
                given = [columns[own] for own, _ in asked.pairs]
                yield self._of_members(wanted, given, update)

    def _of_members(self, wanted: tuple[int, ...], given: list[Array], update: Update) -> Dirt:
        """The keys that new members are about.

        What was there before may have been evaluated for all keys at once, so that keys which
        grounding did not allow have not come up yet.
        """
        if len(wanted) == self.register.width:
            groups = self._entered(wanted, given, len(given[0]), update)
        elif self._hears_of_all_keys:
            _, groups = self.register.matching(wanted, given, len(given[0]))
        else:
            return Dirt.all()
        return Dirt.whole(groups, update.window.edge)

    def _entered(
        self, wanted: tuple[int, ...], given: list[Array], length: int, update: Update
    ) -> Integers:
        """Whole keys as groups; those that came up for the first time are noted."""
        order = np.argsort(wanted)
        groups, fresh = self.register.enter([given[at] for at in order], length)
        if len(fresh):
            update.fresh.setdefault(self.stage, []).append(fresh)
        return groups

    def by_change(self, update: Update, relations: frozenset[Relation]) -> Iterator[Dirt]:
        """What changes of some relations affect."""
        for link in self.links:
            if link.relation in relations and link.relation in update.changed:
                yield self.forward(link, update.changed[link.relation], update)

    def by_time(self, update: Update) -> Iterator[Dirt]:
        """What the passing of time alone may change: effects that are due, intervals that last."""
        before = update.window.edge if update.before is None else update.before
        if self.has_delays:
            for relation, definition in self.definitions.items():
                if any(isinstance(rule, Delay) for rule in definition.rules):
                    yield _lasting(self.kept.fluents[relation], before)
                    yield _under_way(self.kept.begun[relation], before)
        if self.has_durations:
            for link in self.links:
                store = self.kept.fluents.get(link.relation)
                if store is not None:
                    yield self.forward(link, _lasting(store, before), update)

    def forward(self, link: Link, dirt: Dirt, update: Update) -> Dirt:
        """Dirt of a relation that is read, as dirt of the unit's keys."""
        store = self._store(link.relation)
        if dirt.everything or self._is_same(store, link):
            return dirt
        columns = store.register.columns(dirt.groups)
        known = dict(zip(store.positions, columns, strict=True))
        pairs = [(known[own], at) for own, at in link.pairs if own in known]
        wanted = tuple(at for _, at in pairs)
        given = [column for column, _ in pairs]
        if len(pairs) == self.register.width:
            groups = self._entered(wanted, given, len(dirt.groups), update)
            return Dirt.of(groups, dirt.starts, dirt.ends)
        if not pairs or not self.is_anchored:
            return Dirt.all()
        rows, groups = self.register.matching(wanted, given, len(dirt.groups))
        return Dirt.of(groups, dirt.starts[rows], dirt.ends[rows])

    def _is_same(self, store: Store, link: Link) -> bool:
        """Is a relation kept by the unit's own keys, and read by them?"""
        whole = tuple((own, at) for at, own in enumerate(store.positions))
        return store.register is self.register and link.pairs == whole

    def _store(self, relation: Relation) -> Store:
        store = self.kept.fluents.get(relation)
        return self.kept.events[relation] if store is None else store

    # -- what is read -----------------------------------------------------------------------

    def backward(self, link: Link, dirt: Dirt) -> Dirt:
        """Dirt of the unit's keys, as that of a relation that is read: what is to be looked at."""
        store = self._store(link.relation)
        if dirt.everything or self._is_same(store, link):
            return dirt
        positions = dict(link.pairs)
        if any(at not in positions for at in store.positions):
            return Dirt.all()
        columns = self.register.columns(dirt.groups)
        wanted = [columns[positions[at]] for at in store.positions]
        groups = store.register.find(wanted, len(dirt.groups))
        known = groups >= 0
        return Dirt.of(groups[known], dirt.starts[known], dirt.ends[known])

    def look_at(self, dirt: Dirt, update: Update) -> Shared:
        """What others have looked at already, or a beginning."""
        shared = update.shared.get(self.stage)
        return shared if shared is not None and shared.base is dirt else Shared(dirt)

    def cut(self, shared: Shared, update: Update) -> Context:
        """The context with what the unit reads where there is dirt, and nothing else."""
        dirt = shared.base
        cut = replace(
            update.context,
            events={}, fluents={}, initiations={}, terminations={}, effect_origins={}, past={},
            ordered=shared.ordered, computed=shared.computed, unsure=set(), unsure_groups={},
        )  # fmt: skip
        for relation, links in self._by_relation.items():
            if relation not in shared.tables:
                parts = [self.backward(link, dirt) for link in links]
                shared.tables[relation] = self._read(relation, joined(parts), shared, cut)
            if relation in self.kept.events:
                cut.events[relation] = shared.tables[relation]
                continue
            cut.fluents[relation] = shared.tables[relation]
            if relation in update.unsure:
                cut.leave_open(relation, update.unsure[relation])
        return cut

    def _read(
        self, relation: Relation, dirt: Dirt, shared: Shared, cut: Context
    ) -> EventTable | FluentTable:
        store = self.kept.fluents.get(relation)
        if store is None:
            store = self.kept.events[relation]
            places = shared.places[relation] = store.within(dirt)
            table = event_table(store, places)
            return once(table) if relation in self.kept.counted else table
        places = store.overlapping(dirt if dirt.everything else dirt.longer(cut.tick))
        return fluent_table(store, self._seen(store, places, cut))

    def _seen(self, store: Store, places: Places, cut: Context) -> Places:
        """The intervals that reach into the window."""
        ends = store.shelf.column(1, places[0])
        seen = ends > cut.edge + cut.tick
        return places if seen.all() else (places[0][seen], places[1][seen])

    # -- evaluation -------------------------------------------------------------------------

    def evaluate(self, dirt: Dirt, update: Update) -> None:
        """Evaluate all strata for the keys that have dirt, and take over what they say."""
        whole = dirt if dirt.everything else Dirt.whole(dirt.keys(), update.window.edge)
        cut = self.cut(self.look_at(whole, update), update)
        carried: dict[Relation, Carried] = {}
        for relation, definition in self.definitions.items():
            if definition.kind == FluentKind.SIMPLE:
                carried[relation] = self.carried(relation, whole, update)
            elif definition.kind != "event":
                self._say_before(relation, whole, cut, update)
        for stratum in self.strata:
            if stratum.immediate:
                cycle = Cycle(stratum, evaluate_definition, cut)
                update.outcome.conflicts += cycle.settle(carried)
            else:
                for definition in stratum.definitions:
                    found = evaluate_definition(definition, cut, carried)
                    update.outcome.conflicts += found
        for relation, definition in self.definitions.items():
            self._take_over(relation, definition, whole, cut, update)

    def carried(self, relation: Relation, whole: Dirt, update: Update) -> Carried:
        """What holds right after the edge, from what was derived up to it."""
        store = self.kept.fluents[relation]
        bound = update.bound
        places = self._across(store, whole, bound)
        rows = store.rows(places)
        starts, ends, values = rows.columns
        held = rows.take((starts <= bound) & (ends > bound))
        starts, _, values = held.columns
        codes = self.codes(relation, values, update.context)
        attempts = self.kept.begun.get(relation)
        begun = None
        if attempts is not None:
            begun = attempts_of(attempts.rows(attempts.within(self._all_of(whole))))
        edge, tick = update.window.edge, update.context.tick
        return carried_at(begun, held.arguments, codes, starts, edge, tick)

    def codes(self, relation: Relation, values: Array, context: Context) -> Integers:
        """The codes that identify the values of a simple fluent."""
        if context.domain("fluent", relation, "value") is not None:
            return values
        return context.domains.value_domain(relation).encode_numbers(values)

    def _across(self, store: Store, whole: Dirt, bound: int) -> Places:
        """The intervals of some keys that overlap or touch a point."""
        if whole.everything:
            return store.shelf.everything()
        keys = whole.groups
        return store.overlapping(
            Dirt(keys, np.full(len(keys), bound), np.full(len(keys), bound + 1))
        )

    def _all_of(self, whole: Dirt) -> Dirt:
        """All of the keys, from before the window on."""
        if whole.everything:
            return whole
        return Dirt(whole.groups, np.full(len(whole.groups), -INFINITY), whole.ends)

    def _say_before(self, relation: Relation, whole: Dirt, cut: Context, update: Update) -> None:
        """Take over what was derived up to the edge and reaches it: it stands."""
        store = self.kept.fluents[relation]
        bound = update.bound
        rows = store.rows(self._across(store, whole, bound))
        starts, ends, _ = rows.columns
        rows = rows.take((starts < bound) & (ends >= bound))
        if len(rows):
            starts, _, values = rows.columns
            piece = rows.arguments, values, starts, np.full(len(rows), bound)
            cut.fluents[relation] = united([piece], relation, cut)

    def _take_over(
        self, relation: Relation, definition: Definition, whole: Dirt, cut: Context, update: Update
    ) -> None:
        if definition.kind == "event":
            store = self.kept.events[relation]
            table = cut.events[relation]
            found = Rows(table.arguments, [table.times])
            places = store.within(whole)
        else:
            store = self.kept.fluents[relation]
            parts = [*cut.past.get(relation, []), *pieces(cut.fluents[relation])]
            found = _rows(parts)
            is_simple = definition.kind == FluentKind.SIMPLE
            places = self._in_question(store, whole, update.bound, is_simple)
            if is_simple:
                self._keep_begun(relation, whole, cut, update)
            self._keep_unsure(relation, store, whole, cut, update)
        found, groups = self.of_keys(store, found, whole)
        old = store.rows(places)
        self.note(relation, *exchanged(store, places, old, found, groups), update)

    def _in_question(self, store: Store, whole: Dirt, bound: int, is_simple: bool) -> Places:
        """The intervals to be derived again: of simple fluents those that end after the bound."""
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

    def _keep_unsure(
        self, relation: Relation, store: Store, whole: Dirt, cut: Context, update: Update
    ) -> None:
        if relation in cut.unsure:
            table, mask = cut.fluents[relation], cut.unsure_groups[relation]
            own = Rows([column[mask] for column in table.arguments], [table.values[mask]])
            own, groups = self.of_keys(store, own, whole)
            if len(own):
                update.unsure[relation] = [*own.arguments, *own.columns]
                self.kept.unsure[relation] = np.unique(groups)

    def _keep_begun(self, relation: Relation, whole: Dirt, cut: Context, update: Update) -> None:
        store = self.kept.begun.get(relation)
        if store is None:
            return
        found, groups = self.of_keys(store, rows_of_attempts(cut.effect_origins[relation]), whole)
        store.exchange(store.within(self._all_of(whole)), groups, found)

    def of_keys(self, store: Store, found: Rows, whole: Dirt) -> tuple[Rows, Integers]:
        """The rows that are about the keys in question, and their keys."""
        if whole.everything:
            groups, _ = store.enter(found)
            return found, groups
        groups = store.groups(found)
        keys = whole.groups
        at = np.minimum(np.searchsorted(keys, groups), len(keys) - 1)
        own = keys[at] == groups
        return (found, groups) if own.all() else (found.take(own), groups[own])

    def note(self, relation: Relation, change: Change, dirt: Dirt, update: Update) -> None:
        """Note what has changed, for the units that read it."""
        if len(change):
            update.outcome.add(relation, change)
            is_event = relation in self.kept.events
            times = change.gone.columns[0]
            dirt = dirt if is_event else self.kept.around(relation, dirt, update.context.tick)
            before = update.changed.get(relation, Dirt.nothing())
            update.changed[relation] = joined([before, dirt])
            if is_event:
                groups = self.kept.events[relation].groups(change.gone)
                known = update.gone.get(relation, (groups[:0], times[:0]))
                update.gone[relation] = (
                    np.concatenate([known[0], groups]), np.concatenate([known[1], times])
                )  # fmt: skip
            else:
                tick = update.context.tick
                self.kept.look_ahead(relation, change.come, update.window.query, tick)


def _lasting(store: Store, before: int) -> Dirt:
    """The keys with an interval that was open at the query before, from there on."""
    groups = np.unique(store.shelf.reaching(INFINITY)[1])
    return Dirt(groups, np.full(len(groups), before), np.full(len(groups), INFINITY))


def _under_way(store: Store, before: int) -> Dirt:
    """The keys with an attempt that was under way at the query before, from there on."""
    places, groups = store.shelf.everything()
    groups = np.unique(groups[store.shelf.column(2, places) == INFINITY])
    return Dirt(groups, np.full(len(groups), before), np.full(len(groups), INFINITY))


def _rows(parts: list[tuple[list[Array], Array, Integers, Integers]]) -> Rows:
    arguments = [np.concatenate(own) for own in zip(*(part[0] for part in parts), strict=True)]
    values, starts, ends = (np.concatenate([part[at] for part in parts]) for at in (1, 2, 3))
    return Rows(arguments, [starts, ends, values])
