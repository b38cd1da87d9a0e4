"""Decides a cycle in one walk through time, where its rules allow that.

Conditions that do not depend on the cycle are decided first, column by column. The rows that are
left become numbered records for a kernel (`kernels/inertia/unfold.py`), which goes through all
records in the order of time. No point is looked at twice, however long the chains of causes are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.columns.cycle_records import (
    HAPPENS,
    CycleRecords,
    CycleRelation,
    RecordBatch,
    RecordCondition,
)
from cernis.kernels.array_types import Booleans, Integers, Matrix, SmallMatrix
from cernis.kernels.components import components
from cernis.kernels.inertia.cycle_points import (
    ALWAYS,
    ANY_END,
    ANY_INITIATION,
    ANY_START,
    ANY_TERMINATION,
    EDGE,
    NOTHING,
    ONCE,
)
from cernis.kernels.inertia.delays import Effects as EffectTables
from cernis.kernels.inertia.delays import under_way
from cernis.kernels.inertia.points import NEVER, NO_EFFECT, NO_POINT
from cernis.kernels.inertia.unfold import Causes, Effects, Three, Unfolded, picked, unfold
from cernis.kernels.order import placed, ranks, stable_order
from cernis.operators.context.fluent_points import Attempts, Points
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.effects import effects_of, moved_alike
from cernis.operators.definitions.grouped_intervals import grouped
from cernis.operators.definitions.simple_fluents import Carried
from cernis.plan.logical import Delay, Stratum
from cernis.plan.properties.cycle_causes import (
    END,
    EVENT,
    HOLDS,
    INITIATION,
    INPUT,
    START,
    STATE,
    TERMINATION,
    CycleCondition,
    UnfitError,
)
from cernis.tables.domains import Domain
from cernis.tables.event_tables import by_time
from cernis.tables.interval_tables import FluentTable

_NONE = np.empty(0, np.int64)
_ANY = {
    INITIATION: ANY_INITIATION, TERMINATION: ANY_TERMINATION, START: ANY_START, END: ANY_END,
}  # fmt: skip


def walk_cycle(stratum: Stratum, context: Context, carried: dict[Relation, Carried]) -> int | None:
    """Evaluate a cycle in the order of time and leave its answer in the context.

    Gives the conflicts between values; None, and nothing in the context, if that cannot be done.
    """
    if context.window.ties != "break":
        return None
    causes = stratum.causes
    if causes is None:
        return None
    try:
        cycle_records = CycleRecords(stratum.definitions, causes, context)
        cycle_records.collect(carried)
        return _Walk(stratum, cycle_records, context, carried).run()
    except UnfitError:
        return None


@dataclass(slots=True)
class _Walk:
    """Makes the kernel's tables from the records of a cycle, and relations from its result."""

    stratum: Stratum
    cycle_records: CycleRecords
    context: Context
    carried: dict[Relation, Carried]
    _cycle_relations: list[CycleRelation] = field(init=False)
    _bases: dict[int, int] = field(init=False)
    _classes: list[dict[int, int]] = field(init=False)
    _slots: int = 0
    _effects: dict[int, EffectTables] = field(default_factory=dict)

    def __post_init__(self) -> None:
        cycle_records = self.cycle_records
        self._cycle_relations = [
            *cycle_records.groups.values(),
            *cycle_records.inputs.values(),
            *cycle_records.states.values(),
        ]
        ends = np.cumsum([0, *(len(group.instances) for group in self._cycle_relations)]).tolist()
        self._bases = {
            id(group): base for group, base in zip(self._cycle_relations, ends, strict=False)
        }
        self._classes = [{} for _ in self._cycle_relations]

    def run(self) -> int:
        """Leave the relations of the cycle in the context; gives the conflicts between values."""
        window = self.context.window
        timed = [batch for batch in self.cycle_records.batches if batch.driver is None]
        driven = [batch for batch in self.cycle_records.batches if batch.driver is not None]
        # Records are sorted by time below, and sorting is stable; so those of one time are
        # decided in the order of ranks.
        timed.sort(key=lambda batch: batch.rank)
        self._check_times(timed)
        self._number_classes()
        self._effects = {
            id(group): self._effects_of(group) for group in self._cycle_relations if _delays(group)
        }
        rules = self._rules([*timed, *driven])
        width = self._width([*timed, *driven])
        records = self._records(timed, 0, width)
        inner, triggers = self._driven_records(driven, len(timed), width)
        relations, effects = self._relations()
        groups, count = self._parts()
        records, times, ends = self._sorted(timed, records, groups, count)
        rank, first = ranks(groups, count)
        causes = Causes(
            rules, relations, self._class_table(), self._relation_of(), effects, records, times,
            ends, placed(np.arange(len(groups)), rank), first[1:], inner, triggers,
            window.edge, window.query, window.tick, self._quiet(),
        )  # fmt: skip
        held, starts, dues, waiting, origins = self._state_before()
        unfolded = self._measured_unfold(causes, held, starts, dues, waiting)
        unfolded.initiations = [
            np.concatenate(both) for both in zip(origins, unfolded.initiations, strict=True)
        ]
        self._leave_relations(unfolded)
        return unfolded.conflicts

    def _measured_unfold(
        self, causes: Causes, held: Integers, starts: Integers, dues: Integers, waiting: Three
    ) -> Unfolded:
        profile = self.context.measuring.profile
        if profile is None:
            return unfold(causes, held, starts, dues, waiting)
        span, rows = self.stratum.definitions[0].rules[0].span, len(causes.records)
        with profile.measured(f"Walk {self.stratum.relations[0]}", span, rows) as cost:
            unfolded = unfold(causes, held, starts, dues, waiting)
            cost.rows_out += unfolded.decided
        return unfolded

    # -- what there is before ---------------------------------------------------------------

    def _check_times(self, timed: list[RecordBatch]) -> None:
        """Check that all points lie whole ticks apart: the kernel knows no points between ticks."""
        tick, edge = self.context.window.tick, self.context.window.edge
        if tick == 1:
            return
        for carried_over in self.carried.values():
            _check_ticks(carried_over.starts - edge, tick)
            if carried_over.since is not None:
                _check_ticks(carried_over.since - edge, tick)
            if carried_over.waiting is not None:
                _check_ticks(carried_over.waiting.times - edge, tick)
        for batch in timed:
            assert batch.times is not None
            _check_ticks(batch.times - edge, tick)

    def _state_before(self) -> tuple[Integers, Integers, Integers, Three, list[Integers]]:
        """The state before the walk, from what is carried over.

        For each instance: its value, since when it holds, and when its next effect is due. Then the
        effects that are still to come of instances without a value. Then the initiations from which
        effects count, where these are not the starts of the values.
        """
        count = sum(len(group.instances) for group in self._cycle_relations)
        held, starts = np.full(count, NOTHING), np.zeros(count, np.int64)
        dues = np.full(count, NEVER)
        origins: list[list[Integers]] = [[np.empty(0, np.int64)] for _ in range(3)]
        waiting: list[list[Integers]] = [[np.empty(0, np.int64)] for _ in range(3)]
        for relation, carried_over in self.carried.items():
            group = self.cycle_records.groups.get(relation)
            if group is None:
                continue
            local = group.instances.find(carried_over.arguments, len(carried_over.values))
            places = self._bases[id(group)] + local
            held[places], starts[places] = carried_over.values, carried_over.starts
            if id(group) in self._effects:
                tick = self.context.window.tick
                since = (
                    carried_over.since
                    if carried_over.since is not None
                    else carried_over.starts - tick
                )
                dues[places], moved = _dues(
                    self._effects[id(group)], local, carried_over.values, since
                )
                noted = moved | ((since != carried_over.starts - tick) & (dues[places] != NEVER))
                for to, column in zip(origins, (places, carried_over.values, since), strict=True):
                    to.append(column[noted])
                if carried_over.waiting is not None:
                    self._add_waiting(group, carried_over.waiting, waiting, origins)
        first, second, third = (np.concatenate(columns) for columns in waiting)
        origin_columns = [np.concatenate(columns) for columns in origins]
        return held, starts, dues, (first, second, third), origin_columns

    def _add_waiting(
        self,
        group: CycleRelation,
        points: Points,
        waiting: list[list[Integers]],
        origins: list[list[Integers]],
    ) -> None:
        """Add the initiations under way of instances that have no value now."""
        local = group.instances.find(points.arguments, len(points.times))
        places = self._bases[id(group)] + local
        dues, _ = _dues(self._effects[id(group)], local, points.values, points.times)
        for to, column in zip(waiting, (places, points.values, dues), strict=True):
            to.append(column)
        for to, column in zip(origins, (places, points.values, points.times), strict=True):
            to.append(column)

    # -- tables -----------------------------------------------------------------------------

    def _number_classes(self) -> None:
        """Make a class for each kind of happening that a record waits for or asks about."""
        for number, group in enumerate(self._cycle_relations):
            if group.is_event and group.relation not in self.cycle_records.states:
                self._class_of(number, HAPPENS)
        for batch in self.cycle_records.batches:
            for condition in batch.conditions:
                if condition.condition.kind not in (HOLDS, STATE):
                    self._slots_of(condition.condition, condition.cycle_relation, condition.value)
            if batch.driver is not None:
                driver, group = batch.driver[0], self.cycle_records.groups[batch.driver[0].relation]
                self._slots_of(driver, group, self._driver_value(driver, group))

    def _driver_value(self, driver: CycleCondition, group: CycleRelation) -> int | None:
        from cernis.operators.context.coded_columns import constant_column
        from cernis.syntax.tree import Variable

        if driver.value is None or isinstance(driver.value, Variable):
            return None
        return int(constant_column(driver.value, group.value_domain).data[0])

    def _class_of(self, number: int, action: int) -> int:
        """The first slot of the class of an action; a class that is new gets its slots here."""
        if action not in self._classes[number]:
            self._classes[number][action] = self._slots
            self._slots += len(self._cycle_relations[number].instances)
        return self._classes[number][action]

    def _slots_of(
        self, condition: CycleCondition, group: CycleRelation, value: Integers | int | None
    ) -> int:
        """The first slot of the class that a condition or driver asks about."""
        number = next(
            number for number, other in enumerate(self._cycle_relations) if other is group
        )
        if condition.kind in (EVENT, INPUT):
            return self._class_of(number, HAPPENS)
        if value is None:
            return self._class_of(number, _ANY[condition.kind])
        if not isinstance(value, int):
            raise UnfitError
        action = value << 1 | (condition.kind in (INITIATION, START))
        return self._class_of(number, action | EDGE * (condition.kind in (START, END)))

    def _class_table(self) -> Matrix:
        rows = [[action, base] for classes in self._classes for action, base in classes.items()]
        return np.array(rows, np.int64).reshape(-1, 2)

    def _relation_of(self) -> Integers:
        counts = [len(group.instances) for group in self._cycle_relations]
        return np.repeat(np.arange(len(counts)), counts)

    def _effects_of(self, group: CycleRelation) -> EffectTables:
        assert group.value_domain is not None
        assert group.definition is not None
        arguments = group.instances.arguments(slice(None))
        delays = _delays(group)
        domains: list[Domain | None] = [*group.instances.domains]
        if moved_alike(delays, arguments, domains, self.context) is not None:
            raise UnfitError
        effects = effects_of(
            delays, arguments, domains, group.value_domain, group.definition.groundings,
            self.context,
        )  # fmt: skip
        known = effects.delays[effects.delays != NO_EFFECT]
        if self.context.window.tick > 1:
            _check_ticks(known, self.context.window.tick)
        return effects

    def _quiet(self) -> int:
        """The point whose initiations have no effects, if there is one."""
        return max((effects.quiet for effects in self._effects.values()), default=NO_POINT)

    def _relations(self) -> tuple[Matrix, Effects]:
        """A row for each relation, and the tables of the effects of all relations in a row."""
        rows, parts = [], [[np.zeros(1, np.int64)] for _ in range(5)]
        first = 0
        for group, classes in zip(self._cycle_relations, self._classes, strict=True):
            is_watched = group.relation in self.context.roles.watched
            kept = ONCE if group.is_event else ALWAYS * is_watched
            row = [first, first + len(classes), self._bases[id(group)], kept, *[0] * 7]
            edges = self._edges(group)
            first += len(classes)
            effects = self._effects.get(id(group))
            if effects is not None:
                width = effects.delays.shape[1]
                sizes = [sum(len(each) for each in part) for part in parts]
                row[4:] = [
                    sizes[0], sizes[1], width, effects.done.shape[1] // width, sizes[2],
                    int(len(effects.delays) > 1), sizes[4],
                ]  # fmt: skip
                for part, table in zip(
                    parts,
                    (
                        effects.slots,
                        effects.delays,
                        effects.reported,
                        effects.done,
                        effects.postponable,
                    ),
                    strict=True,
                ):
                    part.append(np.ascontiguousarray(table).reshape(-1))
            rows.append([*row, edges])
        slots, delays, reported, done, moved = (np.concatenate(part) for part in parts)
        return np.array(rows, np.int64).reshape(-1, 12), (slots, delays, reported, done, moved)

    def _edges(self, group: CycleRelation) -> int:
        """The rank at which the starts and ends of a fluent are known; 0 if no rule needs them."""
        kinds = {condition.kind for cause in self.cycle_records.causes for condition in cause.needs
                 if condition.relation == group.relation}  # fmt: skip
        if not kinds & {START, END}:
            return 0
        ranks_of_causes = [
            cause.rank for cause in self.cycle_records.causes if cause.relation == group.relation
        ]
        return 1 + max(ranks_of_causes, default=0)

    # -- records ----------------------------------------------------------------------------

    def _width(self, batches: Iterable[RecordBatch]) -> int:
        return max((2 + len(batch.conditions) + _values(batch) for batch in batches), default=2)

    def _rules(self, batches: list[RecordBatch]) -> Matrix:
        """The kernel's table of rules, with one row for each batch."""
        most = max((len(batch.conditions) for batch in batches), default=0)
        rules = np.zeros((max(len(batches), 1), 5 + 2 * most), np.int64)
        for row, batch in zip(rules, batches, strict=False):
            values_at = 2 + len(batch.conditions)
            row[:5] = (
                batch.reported_action,
                batch.fluent_action,
                0,
                batch.rank,
                len(batch.conditions),
            )
            if batch.values is not None:
                row[2] = values_at
                values_at += 1
            for position, condition in enumerate(batch.conditions):
                row[5 + 2 * position] = condition.kernel_code
                if _has_values(condition):
                    row[6 + 2 * position] = values_at
                    values_at += 1
        return rules

    def _records(self, batches: list[RecordBatch], first: int, width: int) -> SmallMatrix:
        counts = [len(batch.heads) for batch in batches]
        records = np.empty((sum(counts), width), np.int32)
        low = 0
        for rule, (batch, count) in enumerate(zip(batches, counts, strict=True)):
            part = records[low : low + count]
            part[:, 0] = first + rule
            part[:, 1] = self._bases[id(batch.cycle_relation)] + batch.heads
            for position, condition in enumerate(batch.conditions):
                part[:, 2 + position] = self._targets(condition)
            values_at = 2 + len(batch.conditions)
            for values in (
                batch.values,
                *(each.value for each in batch.conditions if _has_values(each)),
            ):
                if values is not None:
                    part[:, values_at] = values
                    values_at += 1
            low += count
        return records

    def _targets(self, condition: RecordCondition) -> Integers:
        """What a condition is about in each record: an instance, a slot, or -1 for neither."""
        if condition.condition.kind in (HOLDS, STATE):
            base = self._bases[id(condition.cycle_relation)]
        else:
            base = self._slots_of(condition.condition, condition.cycle_relation, condition.value)
        return np.where(condition.instance_numbers >= 0, condition.instance_numbers + base, -1)

    def _driven_records(
        self, batches: list[RecordBatch], first: int, width: int
    ) -> tuple[SmallMatrix, Integers]:
        """The records that the cycle drives, sorted by the slot that drives them."""
        records, drivers = self._records(batches, first, width), [np.empty(0, np.int64)]
        for batch in batches:
            assert batch.driver is not None
            driver, instances = batch.driver
            group = self.cycle_records.groups[driver.relation]
            base = self._slots_of(driver, group, self._driver_value(driver, group))
            drivers.append(base + instances)
        slots = np.concatenate(drivers)
        rank, triggers = ranks(slots, self._slots)
        return picked(records, placed(np.arange(len(rank)), rank)), triggers

    # -- order ------------------------------------------------------------------------------

    def _parts(self) -> tuple[Integers, int]:
        """For each instance the part of the cycle it belongs to, and how many parts there are.

        Instances that records connect belong to one part. The kernel walks through one part after
        the other, so that it works on little memory at a time.
        """
        count = sum(len(group.instances) for group in self._cycle_relations)
        return components(count, self._links())

    def _links(self) -> Iterator[tuple[Integers, Integers]]:
        for batch in self.cycle_records.batches:
            heads = batch.heads + self._bases[id(batch.cycle_relation)]
            if batch.driver is not None:
                group = self.cycle_records.groups[batch.driver[0].relation]
                yield heads, batch.driver[1] + self._bases[id(group)]
            for condition in batch.conditions:
                base = self._bases[id(condition.cycle_relation)]
                if (
                    condition.cycle_relation is not batch.cycle_relation
                    or condition.instance_numbers is not batch.heads
                ):
                    yield (
                        heads,
                        np.where(
                            condition.instance_numbers >= 0, condition.instance_numbers + base, -1
                        ),
                    )

    def _sorted(
        self, timed: list[RecordBatch], records: SmallMatrix, groups: Integers, count: int
    ) -> tuple[SmallMatrix, Integers, Integers]:
        """Records sorted by part and time (stably), their times, and where each part ends."""
        times = np.concatenate(
            [_NONE, *(batch.times for batch in timed if batch.times is not None)]
        )
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

    def _leave_relations(self, unfolded: Unfolded) -> None:
        """Leave the relations of the cycle in the context."""
        for group in self.cycle_records.groups.values():
            base, size = self._bases[id(group)], len(group.instances)
            if group.is_event or group.relation in self.context.roles.watched:
                happened = _within(unfolded.happened, base, size)
                (self._leave_event if group.is_event else self._leave_changes)(group, happened)
            if group.is_event:
                continue
            self.context.relations.fluents[group.relation] = self._table(
                group, *_within(unfolded.intervals, base, size)
            )
            if id(group) in self._effects:
                instances, *attempts = under_way(*_within(unfolded.initiations, base, size))
                arguments = group.instances.arguments(instances)
                origins = self.context.relations.effect_origins
                origins[group.relation] = Attempts(arguments, *attempts)

    def _table(
        self,
        group: CycleRelation,
        instances: Integers,
        values: Integers,
        starts: Integers,
        ends: Integers,
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
        self, group: CycleRelation, instances: Integers, values: Integers, times: Integers
    ) -> Points:
        return Points(group.instances.arguments(instances), values, times)

    def _leave_event(self, group: CycleRelation, happened: list[Integers]) -> None:
        self.context.relations.events[group.relation] = by_time(
            group.instances.arguments(happened[0]), list(group.instances.domains), happened[2]
        )

    def _leave_changes(self, group: CycleRelation, happened: list[Integers]) -> None:
        relations = self.context.relations
        for kept, starts in ((relations.initiations, 1), (relations.terminations, 0)):
            rows = np.flatnonzero(happened[1] & 1 == starts)
            kept[group.relation] = self._points(
                group, happened[0][rows], happened[1][rows] >> 1, happened[2][rows]
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
    rows = np.flatnonzero((columns[0] >= base) & (columns[0] < base + count))
    return [columns[0][rows] - base, *(column[rows] for column in columns[1:])]


def _delays(group: CycleRelation) -> list[Delay]:
    rules = group.definition.rules if group.definition is not None else ()
    return [rule for rule in rules if isinstance(rule, Delay)]


def _has_values(condition: RecordCondition) -> bool:
    return isinstance(condition.value, np.ndarray)


def _values(batch: RecordBatch) -> int:
    """How many columns of values the records of a batch have."""
    return (batch.values is not None) + sum(map(_has_values, batch.conditions))


def _check_ticks(times: Integers, tick: int) -> None:
    if (times % tick).any():
        raise UnfitError
