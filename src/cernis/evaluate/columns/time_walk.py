"""A cycle decided in one walk through time, where its rules allow that.

Conditions that do not depend on the cycle are decided first, column by column. What is left is
numbered and given to a kernel (`kernels/inertia/unfold.py`) that goes through all records in the
order of time. No point is looked at twice, however long the chains of causes are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.columns.cycle_records import HAPPENS, Batch, Condition, Grounded, Group
from cernis.kernels.array_types import Booleans, Integers, Matrix, SmallMatrix
from cernis.kernels.components import components
from cernis.kernels.inertia.delays import NEVER, NO_EFFECT, NO_POINT, under_way
from cernis.kernels.inertia.delays import Effects as EffectTables
from cernis.kernels.inertia.unfold import (
    ALWAYS,
    ANY_END,
    ANY_INITIATION,
    ANY_START,
    ANY_TERMINATION,
    EDGE,
    NOTHING,
    ONCE,
    Causes,
    Effects,
    Three,
    Unfolded,
    picked,
    unfold,
)
from cernis.kernels.order import placed, ranks, stable_order
from cernis.operators.definitions.effects import effects_of, moved_alike
from cernis.operators.definitions.grouped_intervals import grouped
from cernis.operators.definitions.simple_fluents import Carried
from cernis.operators.query_context import Attempts, Context, Points
from cernis.plan.cycle_causes import (
    END,
    EVENT,
    HOLDS,
    INITIATION,
    INPUT,
    START,
    STATE,
    TERMINATION,
    Cause,
    CycleCondition,
    UnfitError,
    causes_of,
)
from cernis.plan.logical import Delay, Stratum
from cernis.tables.domains import Domain
from cernis.tables.event_tables import by_time
from cernis.tables.interval_tables import FluentTable

_NONE = np.empty(0, np.int64)
_ANY = {
    INITIATION: ANY_INITIATION, TERMINATION: ANY_TERMINATION, START: ANY_START, END: ANY_END,
}  # fmt: skip


def in_order(stratum: Stratum, context: Context, carried: dict[Relation, Carried]) -> int | None:
    """Evaluate a cycle in the order of time and leave its answer in the context.

    Gives the conflicts between values; None, and nothing in the context, if that cannot be done.
    """
    if context.ties != "break" or context.entities is not None or context.instances is not None:
        return None
    causes = context.derived.once("causes", stratum, lambda: _causes(stratum))
    if causes is None:
        return None
    try:
        grounded = Grounded(stratum.definitions, causes, context)
        grounded.collect(carried)
        return _Walk(stratum, grounded, context, carried).run()
    except UnfitError:
        return None


def _causes(stratum: Stratum) -> list[Cause] | None:
    try:
        return causes_of(stratum)
    except UnfitError:
        return None


@dataclass(slots=True)
class _Walk:
    """Makes the tables of a walk from grounded causes, and relations from what it finds."""

    stratum: Stratum
    grounded: Grounded
    context: Context
    carried: dict[Relation, Carried]
    _groups: list[Group] = field(init=False)
    _bases: dict[int, int] = field(init=False)
    _classes: list[dict[int, int]] = field(init=False)
    _slots: int = 0
    _effects: dict[int, EffectTables] = field(default_factory=dict)

    def __post_init__(self) -> None:
        own = self.grounded
        self._groups = [*own.groups.values(), *own.inputs.values(), *own.states.values()]
        ends = np.cumsum([0, *(len(own.instances) for own in self._groups)]).tolist()
        self._bases = {id(own): base for own, base in zip(self._groups, ends, strict=False)}
        self._classes = [{} for _ in self._groups]

    def run(self) -> int:
        """The answer, into the context; gives the conflicts."""
        timed = [own for own in self.grounded.batches if own.driver is None]
        driven = [own for own in self.grounded.batches if own.driver is not None]
        # Sorting keeps records of one time as they are, so they come by rank.
        timed.sort(key=lambda own: own.rank)
        self._check_times(timed)
        self._number_classes()
        self._effects = {id(own): self._effects_of(own) for own in self._groups if _delays(own)}
        rules = self._rules([*timed, *driven])
        width = self._width([*timed, *driven])
        records = self._records(timed, 0, width)
        inner, triggers = self._inner(driven, len(timed), width)
        relations, effects = self._relations()
        groups, count = self._parts()
        records, times, ends = self._sorted(timed, records, groups, count)
        rank, first = ranks(groups, count)
        causes = Causes(
            rules, relations, self._class_table(), self._relation_of(), effects, records, times,
            ends, placed(np.arange(len(groups)), rank), first[1:], inner, triggers,
            self.context.edge, self.context.query, self.context.tick, self._quiet(),
        )  # fmt: skip
        held, starts, dues, waiting, begun = self._before()
        found = self._unfolded(causes, held, starts, dues, waiting)
        found.initiations = [
            np.concatenate(both) for both in zip(begun, found.initiations, strict=True)
        ]
        self._leave(found)
        return found.conflicts

    def _unfolded(
        self, causes: Causes, held: Integers, starts: Integers, dues: Integers, waiting: Three
    ) -> Unfolded:
        profile = self.context.profile
        if profile is None:
            return unfold(causes, held, starts, dues, waiting)
        span, rows = self.stratum.definitions[0].rules[0].span, len(causes.records)
        with profile.measured(f"Walk {self.stratum.relations[0]}", span, rows) as cost:
            found = unfold(causes, held, starts, dues, waiting)
            cost.rows_out += found.decided
        return found

    # -- what there is before ---------------------------------------------------------------

    def _check_times(self, timed: list[Batch]) -> None:
        """All points must lie whole ticks apart, or something may hold between two of them."""
        tick, edge = self.context.tick, self.context.edge
        if tick == 1:
            return
        for own in self.carried.values():
            _check_ticks(own.starts - edge, tick)
            if own.since is not None:
                _check_ticks(own.since - edge, tick)
            if own.waiting is not None:
                _check_ticks(own.waiting.times - edge, tick)
        for batch in timed:
            assert batch.times is not None
            _check_ticks(batch.times - edge, tick)

    def _before(self) -> tuple[Integers, Integers, Integers, Three, list[Integers]]:
        """What instances hold at first, since when, until which effect; what others wait for.

        And the initiations that effects count from, where starts do not show them.
        """
        count = sum(len(own.instances) for own in self._groups)
        held, starts = np.full(count, NOTHING), np.zeros(count, np.int64)
        dues = np.full(count, NEVER)
        begun: list[list[Integers]] = [[np.empty(0, np.int64)] for _ in range(3)]
        waiting: list[list[Integers]] = [[np.empty(0, np.int64)] for _ in range(3)]
        for relation, own in self.carried.items():
            group = self.grounded.groups.get(relation)
            if group is None:
                continue
            local = group.instances.find(own.arguments, len(own.values))
            places = self._bases[id(group)] + local
            held[places], starts[places] = own.values, own.starts
            if id(group) in self._effects:
                tick = self.context.tick
                since = own.since if own.since is not None else own.starts - tick
                dues[places], moved = _dues(self._effects[id(group)], local, own.values, since)
                noted = moved | ((since != own.starts - tick) & (dues[places] != NEVER))
                for to, column in zip(begun, (places, own.values, since), strict=True):
                    to.append(column[noted])
                if own.waiting is not None:
                    self._wait(group, own.waiting, waiting, begun)
        first, second, third = (np.concatenate(own) for own in waiting)
        noted_before = [np.concatenate(own) for own in begun]
        return held, starts, dues, (first, second, third), noted_before

    def _wait(
        self, group: Group, own: Points, waiting: list[list[Integers]], begun: list[list[Integers]]
    ) -> None:
        """Add what is under way of instances that hold nothing."""
        local = group.instances.find(own.arguments, len(own.times))
        places = self._bases[id(group)] + local
        dues, _ = _dues(self._effects[id(group)], local, own.values, own.times)
        for to, column in zip(waiting, (places, own.values, dues), strict=True):
            to.append(column)
        for to, column in zip(begun, (places, own.values, own.times), strict=True):
            to.append(column)

    # -- tables -----------------------------------------------------------------------------

    def _number_classes(self) -> None:
        """A class for each kind of happening that something waits for or asks about."""
        for at, group in enumerate(self._groups):
            if group.is_event and group.relation not in self.grounded.states:
                self._class_of(at, HAPPENS)
        for batch in self.grounded.batches:
            for own in batch.conditions:
                if own.asked.kind not in (HOLDS, STATE):
                    self._slots_of(own.asked, own.of, own.value)
            if batch.driver is not None:
                driver, group = batch.driver[0], self.grounded.groups[batch.driver[0].relation]
                self._slots_of(driver, group, self._driver_value(driver, group))

    def _driver_value(self, driver: CycleCondition, group: Group) -> int | None:
        from cernis.operators.query_context import constant_column
        from cernis.syntax.tree import Variable

        if driver.value is None or isinstance(driver.value, Variable):
            return None
        return int(constant_column(driver.value, group.value_domain).data[0])

    def _class_of(self, at: int, action: int) -> int:
        """The first slot of a class."""
        if action not in self._classes[at]:
            self._classes[at][action] = self._slots
            self._slots += len(self._groups[at].instances)
        return self._classes[at][action]

    def _slots_of(self, asked: CycleCondition, group: Group, value: Integers | int | None) -> int:
        """The first slot of the class that a condition or driver asks about."""
        at = next(at for at, own in enumerate(self._groups) if own is group)
        if asked.kind in (EVENT, INPUT):
            return self._class_of(at, HAPPENS)
        if value is None:
            return self._class_of(at, _ANY[asked.kind])
        if not isinstance(value, int):
            raise UnfitError
        action = value << 1 | (asked.kind in (INITIATION, START))
        return self._class_of(at, action | EDGE * (asked.kind in (START, END)))

    def _class_table(self) -> Matrix:
        rows = [[action, base] for own in self._classes for action, base in own.items()]
        return np.array(rows, np.int64).reshape(-1, 2)

    def _relation_of(self) -> Integers:
        counts = [len(own.instances) for own in self._groups]
        return np.repeat(np.arange(len(counts)), counts)

    def _effects_of(self, group: Group) -> EffectTables:
        assert group.value_domain is not None
        assert group.definition is not None
        arguments = group.instances.arguments(slice(None))
        delays = _delays(group)
        domains: list[Domain | None] = [*group.instances.domains]
        if moved_alike(delays, arguments, domains, self.context) is not None:
            raise UnfitError
        found = effects_of(
            delays, arguments, domains, group.value_domain, group.definition.groundings,
            self.context,
        )  # fmt: skip
        known = found.delays[found.delays != NO_EFFECT]
        if self.context.tick > 1:
            _check_ticks(known, self.context.tick)
        return found

    def _quiet(self) -> int:
        """The point whose initiations have no effects, if there is one."""
        return max((own.quiet for own in self._effects.values()), default=NO_POINT)

    def _relations(self) -> tuple[Matrix, Effects]:
        """A row for each relation; the tables of effects of all, one after the other."""
        rows, parts = [], [[np.zeros(1, np.int64)] for _ in range(5)]
        first = 0
        for group, classes in zip(self._groups, self._classes, strict=True):
            kept = ONCE if group.is_event else ALWAYS * (group.relation in self.context.watched)
            row = [first, first + len(classes), self._bases[id(group)], kept, *[0] * 7]
            edges = self._edges(group)
            first += len(classes)
            own = self._effects.get(id(group))
            if own is not None:
                width = own.delays.shape[1]
                sizes = [sum(len(each) for each in part) for part in parts]
                row[4:] = [
                    sizes[0], sizes[1], width, own.done.shape[1] // width, sizes[2],
                    int(len(own.delays) > 1), sizes[4],
                ]  # fmt: skip
                for part, table in zip(
                    parts,
                    (own.slots, own.delays, own.reported, own.done, own.postponable),
                    strict=True,
                ):
                    part.append(np.ascontiguousarray(table).reshape(-1))
            rows.append([*row, edges])
        slots, delays, told, done, moved = (np.concatenate(part) for part in parts)
        return np.array(rows, np.int64).reshape(-1, 12), (slots, delays, told, done, moved)

    def _edges(self, group: Group) -> int:
        """The rank at which starts and ends are known; 0 if nobody asks for them."""
        kinds = {own.kind for cause in self.grounded.causes for own in cause.needs
                 if own.relation == group.relation}  # fmt: skip
        if not kinds & {START, END}:
            return 0
        own = [cause.rank for cause in self.grounded.causes if cause.relation == group.relation]
        return 1 + max(own, default=0)

    # -- records ----------------------------------------------------------------------------

    def _width(self, batches: Iterable[Batch]) -> int:
        return max((2 + len(own.conditions) + _values(own) for own in batches), default=2)

    def _rules(self, batches: list[Batch]) -> Matrix:
        """One row for each batch."""
        most = max((len(own.conditions) for own in batches), default=0)
        rules = np.zeros((max(len(batches), 1), 5 + 2 * most), np.int64)
        for row, own in zip(rules, batches, strict=False):
            values_at = 2 + len(own.conditions)
            row[:5] = own.told, own.done, 0, own.rank, len(own.conditions)
            if own.values is not None:
                row[2] = values_at
                values_at += 1
            for at, condition in enumerate(own.conditions):
                row[5 + 2 * at] = condition.wanted
                if _has_values(condition):
                    row[6 + 2 * at] = values_at
                    values_at += 1
        return rules

    def _records(self, batches: list[Batch], first: int, width: int) -> SmallMatrix:
        counts = [len(own.heads) for own in batches]
        records = np.empty((sum(counts), width), np.int32)
        low = 0
        for rule, (own, count) in enumerate(zip(batches, counts, strict=True)):
            part = records[low : low + count]
            part[:, 0] = first + rule
            part[:, 1] = self._bases[id(own.of)] + own.heads
            for at, condition in enumerate(own.conditions):
                part[:, 2 + at] = self._targets(condition)
            values_at = 2 + len(own.conditions)
            for values in (
                own.values,
                *(each.value for each in own.conditions if _has_values(each)),
            ):
                if values is not None:
                    part[:, values_at] = values
                    values_at += 1
            low += count
        return records

    def _targets(self, condition: Condition) -> Integers:
        """The instance of each record, or its slot, or -1."""
        if condition.asked.kind in (HOLDS, STATE):
            base = self._bases[id(condition.of)]
        else:
            base = self._slots_of(condition.asked, condition.of, condition.value)
        return np.where(condition.found >= 0, condition.found + base, -1)

    def _inner(self, batches: list[Batch], first: int, width: int) -> tuple[SmallMatrix, Integers]:
        """Records by the slot that drives them."""
        records, drivers = self._records(batches, first, width), [np.empty(0, np.int64)]
        for batch in batches:
            assert batch.driver is not None
            driver, instances = batch.driver
            group = self.grounded.groups[driver.relation]
            base = self._slots_of(driver, group, self._driver_value(driver, group))
            drivers.append(base + instances)
        slots = np.concatenate(drivers)
        rank, triggers = ranks(slots, self._slots)
        return picked(records, placed(np.arange(len(rank)), rank)), triggers

    # -- order ------------------------------------------------------------------------------

    def _parts(self) -> tuple[Integers, int]:
        """For each instance the part of the cycle it belongs to, and how many parts there are.

        Instances that records connect belong to one part. Parts can be walked through one by one,
        with little to keep at hand.
        """
        count = sum(len(own.instances) for own in self._groups)
        return components(count, self._links())

    def _links(self) -> Iterator[tuple[Integers, Integers]]:
        for batch in self.grounded.batches:
            heads = batch.heads + self._bases[id(batch.of)]
            if batch.driver is not None:
                group = self.grounded.groups[batch.driver[0].relation]
                yield heads, batch.driver[1] + self._bases[id(group)]
            for own in batch.conditions:
                base = self._bases[id(own.of)]
                if own.of is not batch.of or own.found is not batch.heads:
                    yield heads, np.where(own.found >= 0, own.found + base, -1)

    def _sorted(
        self, timed: list[Batch], records: SmallMatrix, groups: Integers, count: int
    ) -> tuple[SmallMatrix, Integers, Integers]:
        """Records by group and time, as they are otherwise; their times; where groups end."""
        times = np.concatenate([_NONE, *(own.times for own in timed if own.times is not None)])
        if not len(times):
            return records, times, np.zeros(count, np.int64)
        part = groups[records[:, 1]]
        ends = np.cumsum(np.bincount(part, minlength=count))
        low = int(times.min())
        span = int(times.max()) - low + 1
        if count * span < 1 << 62:
            order = stable_order(part * span + (times - low), count * span)
        else:
            order = np.lexsort((times, part))
        return picked(records, order), times[order], ends

    # -- what is found ----------------------------------------------------------------------

    def _leave(self, found: Unfolded) -> None:
        """Leave relations in the context."""
        for group in self.grounded.groups.values():
            base, size = self._bases[id(group)], len(group.instances)
            if group.is_event or group.relation in self.context.watched:
                happened = _within(found.happened, base, size)
                (self._leave_event if group.is_event else self._leave_changes)(group, happened)
            if group.is_event:
                continue
            self.context.fluents[group.relation] = self._table(
                group, *_within(found.intervals, base, size)
            )
            if id(group) in self._effects:
                own, *attempts = under_way(*_within(found.initiations, base, size))
                arguments = group.instances.arguments(own)
                self.context.effect_origins[group.relation] = Attempts(arguments, *attempts)

    def _table(
        self, group: Group, instances: Integers, values: Integers, starts: Integers, ends: Integers
    ) -> FluentTable:
        size = len(group.instances)
        instances, values, offsets, starts, ends = grouped(
            instances, values, starts, ends, size, is_sorted=False
        )
        return FluentTable(
            group.instances.arguments(instances), values, list(group.instances.domains),
            group.value_domain, offsets, starts, ends,
        )  # fmt: skip

    def _points(
        self, group: Group, instances: Integers, values: Integers, times: Integers
    ) -> Points:
        return Points(group.instances.arguments(instances), values, times)

    def _leave_event(self, group: Group, happened: list[Integers]) -> None:
        self.context.events[group.relation] = by_time(
            group.instances.arguments(happened[0]), list(group.instances.domains), happened[2]
        )

    def _leave_changes(self, group: Group, happened: list[Integers]) -> None:
        for kept, starts in ((self.context.initiations, 1), (self.context.terminations, 0)):
            own = np.flatnonzero(happened[1] & 1 == starts)
            kept[group.relation] = self._points(
                group, happened[0][own], happened[1][own] >> 1, happened[2][own]
            )


def _dues(
    effects: EffectTables, instances: Integers, values: Integers, since: Integers
) -> tuple[Integers, Booleans]:
    """When the effects of initiations are due, and which of them can be postponed."""
    slots = effects.slots[values]
    lines = instances if len(effects.delays) > 1 else np.zeros(len(instances), np.int64)
    delay = effects.delays[lines, slots]
    is_none = (delay == NO_EFFECT) | (since == effects.quiet)
    return np.where(is_none, NEVER, since + delay), effects.postponable[slots] != 0


def _within(columns: list[Integers], base: int, count: int) -> list[Integers]:
    """The rows of some instances, numbered from 0."""
    own = np.flatnonzero((columns[0] >= base) & (columns[0] < base + count))
    return [columns[0][own] - base, *(column[own] for column in columns[1:])]


def _delays(group: Group) -> list[Delay]:
    rules = group.definition.rules if group.definition is not None else ()
    return [rule for rule in rules if isinstance(rule, Delay)]


def _has_values(condition: Condition) -> bool:
    return isinstance(condition.value, np.ndarray)


def _values(batch: Batch) -> int:
    """How many columns of values its records have."""
    return (batch.values is not None) + sum(map(_has_values, batch.conditions))


def _check_ticks(times: Integers, tick: int) -> None:
    if (times % tick).any():
        raise UnfitError
