"""Makes the records of a cycle: its rules for all arguments, for the kernel that decides them.

A rule that input drives gives one record for each row. A rule that the cycle itself drives gives
one record for each instance of its driver. The heads of such records may be new instances that
drive other rules, so this is repeated until no instance is new.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from cernis.check.model import Pair, Relation
from cernis.evaluate.columns.cycle_instances import CycleInstances
from cernis.kernels.array_types import Array, Integers
from cernis.kernels.inertia.cycle_points import NEGATED, OF_POINT, VALUE
from cernis.kernels.inertia.points import ALL, NO_ACTION
from cernis.operators.collections import ROW
from cernis.operators.context.coded_columns import constant_column, recoded
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.grounding import allowed
from cernis.operators.definitions.rule_heads import agreeing, head_column
from cernis.operators.definitions.simple_fluents import Carried
from cernis.operators.rule_pipeline import run_steps
from cernis.plan.logical import Definition, InitialPoints, names_in
from cernis.plan.properties.cycle_causes import (
    EVENT,
    HOLDS,
    INITIATION,
    INPUT,
    STATE,
    Cause,
    CycleCondition,
    UnfitError,
)
from cernis.syntax.tree import Term, Variable
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import INFINITY

HAPPENS = 1
"""The action of an event."""
_MOST_TURNS = 40
"""If instances lead to new ones for more turns than this, they may do so without end."""
_MOST_INSTANCES = 1 << 30


@dataclass(slots=True)
class CycleRelation:
    """A relation that the rules of a cycle define or ask about, and its instances."""

    relation: Relation
    definition: Definition | None
    instances: CycleInstances
    value_domain: Domain | None = None
    positions: tuple[int, ...] | None = None
    """For an input event, the positions of the arguments that conditions give."""
    driven: int = 0
    """How many instances have already been used as drivers of rules."""
    _last_arguments: tuple[int, int, list[Array]] = (0, 0, [])

    @property
    def is_event(self) -> bool:
        """Is it an event and no fluent?"""
        return self.value_domain is None

    def arguments(self, low: int, high: int) -> list[Array]:
        """The arguments of some instances; called again for the same ones, the same arrays."""
        if self._last_arguments[:2] != (low, high):
            self._last_arguments = (low, high, self.instances.arguments(slice(low, high)))
        return self._last_arguments[2]


@dataclass(slots=True)
class RecordCondition:
    """A condition of the records of one rule: for each record, the instance that it is about."""

    condition: CycleCondition
    cycle_relation: CycleRelation
    columns: list[Array]
    length: int
    value: Integers | int | None
    """The code of the value, or one for each record; None if any value will do."""
    instance_numbers: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    """For each record the number of the instance, or -1; known when all are collected."""

    @property
    def kernel_code(self) -> int:
        """What the kernel is to look for. Values that differ by record are not part of it."""
        code = NEGATED * self.condition.negated
        if self.condition.kind == STATE:
            return code
        if self.condition.kind != HOLDS:
            return code | OF_POINT
        return code | ((self.value + 1) << VALUE if isinstance(self.value, int) else 0)


@dataclass(slots=True)
class RecordBatch:
    """The records of one rule: their heads, actions and conditions, and their times or drivers.

    `reported_action` is what other rules see of the head, `fluent_action` what it does to a fluent.
    """

    rank: int
    cycle_relation: CycleRelation
    heads: Integers
    reported_action: int
    fluent_action: int
    values: Integers | None = None
    conditions: Sequence[RecordCondition] = ()
    times: Integers | None = None
    driver: tuple[CycleCondition, Integers] | None = None


@dataclass(slots=True)
class CycleRecords:
    """Collects the records of all causes of a cycle."""

    definitions: Sequence[Definition]
    causes: Sequence[Cause]
    context: Context
    groups: dict[Relation, CycleRelation] = field(default_factory=dict)
    inputs: dict[tuple[Relation, tuple[int, ...]], CycleRelation] = field(default_factory=dict)
    states: dict[Relation, CycleRelation] = field(default_factory=dict)
    batches: list[RecordBatch] = field(default_factory=list)

    def __post_init__(self) -> None:
        for definition in self.definitions:
            relation = definition.relation
            if definition.kind == EVENT:
                domains = self.context.encoding.events[relation]
                self.groups[relation] = CycleRelation(relation, definition, CycleInstances(domains))
                continue
            domains, value_domain = self.context.encoding.fluents[relation]
            if value_domain is None:
                raise UnfitError
            group = CycleRelation(relation, definition, CycleInstances(domains), value_domain)
            self.groups[relation] = group

    def collect(self, carried: dict[Relation, Carried]) -> None:
        """Collect all records, beginning from the instances that are carried over."""
        for relation, group in self.groups.items():
            if relation in carried:
                carried_over = carried[relation]
                group.instances.enter(carried_over.arguments, len(carried_over.values))
                if carried_over.waiting is not None:
                    group.instances.enter(
                        carried_over.waiting.arguments, len(carried_over.waiting.times)
                    )
            if group.definition is not None:
                self._add_initial(group, group.definition)
        for cause in self.causes:
            if cause.driver is None:
                rows = run_steps(cause.steps, None, self.context).settled()
                self._add_cause(cause, rows, rows.points)
        self._add_driven()
        self._add_input()
        self._add_states()
        for batch in self.batches:
            for condition in batch.conditions:
                instances = condition.cycle_relation.instances
                condition.instance_numbers = instances.find(condition.columns, condition.length)

    # -- rows -------------------------------------------------------------------------------

    def _add_initial(self, group: CycleRelation, definition: Definition) -> None:
        context, window = self.context, self.context.window
        if window.edge > window.start:
            return
        for rule in definition.rules:
            if isinstance(rule, InitialPoints):
                rows = run_steps(rule.steps, None, context).settled()
                # What holds initially was not initiated at a point of the run.
                times = np.full(rows.length, window.start)
                self._add_to_fluent(
                    group,
                    rule.head,
                    rows,
                    RecordBatch(0, group, times, NO_ACTION, 1, None, (), times),
                )

    def _add_cause(
        self, cause: Cause, rows: Rows, times: Integers | None = None,
        driver: tuple[CycleCondition, Integers] | None = None,
    ) -> None:  # fmt: skip
        group = self.groups[cause.relation]
        conditions = [self._condition(condition, rows) for condition in cause.asks]
        starts = int(cause.head.kind == INITIATION)
        none = np.empty(0, np.int64)
        batch = RecordBatch(
            cause.rank, group, none, starts, starts, None, conditions, times, driver
        )
        if group.is_event:
            batch.reported_action, batch.fluent_action = HAPPENS, NO_ACTION
            args = self._head_columns(cause.head.args, group.instances.domains, rows)
            batch.heads = group.instances.enter(args, rows.length)
            self.batches.append(batch)
        else:
            assert isinstance(cause.rule.head, Pair)
            self._add_to_fluent(group, cause.rule.head, rows, batch)

    def _head_columns(
        self, args: Sequence[Term], domains: Sequence[Domain | None], rows: Rows
    ) -> list[Array]:
        return [head_column(arg, rows, domain) for arg, domain in zip(args, domains, strict=True)]

    def _add_to_fluent(
        self, group: CycleRelation, head: Pair, rows: Rows, batch: RecordBatch
    ) -> None:
        """Add records that change a fluent; an initiation that grounding forbids only breaks."""
        args = self._head_columns(head.args, group.instances.domains, rows)
        batch.heads = group.instances.enter(args, rows.length)
        is_watched = group.relation in self.context.roles.watched
        if isinstance(head.value, Variable) and head.value.name not in rows.columns:
            if is_watched:
                raise UnfitError
            batch.reported_action, batch.fluent_action = NO_ACTION, ALL
            self.batches.append(batch)
            return
        values = head_column(head.value, rows, group.value_domain)
        if not isinstance(head.value, Variable):
            code = int(constant_column(head.value, group.value_domain).data[0]) << 1
            batch.reported_action = (
                batch.reported_action
                if batch.reported_action == NO_ACTION
                else batch.reported_action | code
            )
            batch.fluent_action |= code
        else:
            batch.values = values
        batch.reported_action = batch.reported_action if is_watched else NO_ACTION
        self.batches += self._allowed(group, args, values, batch)

    def _allowed(
        self, group: CycleRelation, args: list[Array], values: Integers, batch: RecordBatch
    ) -> Iterator[RecordBatch]:
        groundings = group.definition.groundings if group.definition is not None else ()
        if not groundings or not batch.fluent_action & 1 or not len(values):
            yield batch
            return
        assert group.value_domain is not None
        may = allowed(
            groundings, args, list(group.instances.domains), values, group.value_domain,
            self.context,
        )  # fmt: skip
        if may.all():
            yield batch
            return
        yield _part(batch, np.flatnonzero(may), batch.fluent_action)
        yield _part(batch, np.flatnonzero(~may), ALL)

    # -- conditions -------------------------------------------------------------------------

    def _condition(self, condition: CycleCondition, rows: Rows) -> RecordCondition:
        if condition.kind == STATE:
            return self._state_condition(condition, rows)
        is_input = condition.kind == INPUT
        group = (
            self._input_relation(condition, rows) if is_input else self.groups[condition.relation]
        )
        args = condition.args
        if group.positions is not None:
            args = tuple(args[position] for position in group.positions)
        columns = [
            self._bound_column(arg, domain, rows)
            for arg, domain in zip(args, group.instances.domains, strict=True)
        ]
        value = self._value(condition.value, group, rows)
        return RecordCondition(condition, group, columns, rows.length, value)

    def _bound_column(self, arg: Term, domain: Domain | None, rows: Rows) -> Array:
        """The column of an argument that has a value in each row.

        A condition that leaves an argument open, so that any instance will do, does not fit.
        """
        if isinstance(arg, Variable):
            if arg.name not in rows.columns:
                raise UnfitError
            return recoded(rows.columns[arg.name], domain, rows.length)
        return recoded(constant_column(arg, domain), domain, rows.length)

    def _value(self, term: Term | None, group: CycleRelation, rows: Rows) -> Integers | int | None:
        if term is None or (isinstance(term, Variable) and term.name not in rows.columns):
            return None
        if isinstance(term, Variable):
            return recoded(rows.columns[term.name], group.value_domain, rows.length)
        return int(constant_column(term, group.value_domain).data[0])

    def _state_condition(self, condition: CycleCondition, rows: Rows) -> RecordCondition:
        """A condition on a fluent that the cycle does not define; the value is an argument, too."""
        relation = condition.relation
        if relation not in self.states:
            domains, value_domain = self.context.encoding.fluents[relation]
            self.states[relation] = CycleRelation(
                relation, None, CycleInstances([*domains, value_domain])
            )
        group = self.states[relation]
        assert condition.value is not None
        args = (*condition.args, condition.value)
        columns = [
            self._bound_column(arg, domain, rows)
            for arg, domain in zip(args, group.instances.domains, strict=True)
        ]
        return RecordCondition(condition, group, columns, rows.length, None)

    def _input_relation(self, condition: CycleCondition, rows: Rows) -> CycleRelation:
        """The input event of a condition, with the arguments that have values in each row."""
        free = [
            arg.name for arg in condition.args
            if isinstance(arg, Variable) and arg.name not in rows.columns
        ]  # fmt: skip
        named = [name for name in free if name != "_"]
        if len(named) != len(set(named)):
            raise UnfitError
        positions = tuple(
            position for position, arg in enumerate(condition.args)
            if not (isinstance(arg, Variable) and arg.name in free)
        )  # fmt: skip
        key = (condition.relation, positions)
        if key not in self.inputs:
            domains = [
                self.context.encoding.domain("event", condition.relation, position)
                for position in positions
            ]
            self.inputs[key] = CycleRelation(
                condition.relation, None, CycleInstances(domains), None, positions
            )
        return self.inputs[key]

    # -- what the cycle drives --------------------------------------------------------------

    def _add_driven(self) -> None:
        """Add the records that instances of the cycle drive, until no instance is new."""
        causes = [cause for cause in self.causes if cause.driver is not None]
        for _ in range(_MOST_TURNS):
            spans = {}
            for relation, group in self.groups.items():
                spans[relation] = (group.driven, len(group.instances))
                group.driven = len(group.instances)
                if group.driven > _MOST_INSTANCES:
                    raise UnfitError
            if all(low == high for low, high in spans.values()):
                return
            for cause in causes:
                assert cause.driver is not None
                low, high = spans[cause.driver.relation]
                if low < high:
                    self._drive(cause, cause.driver, low, high)
        raise UnfitError

    def _drive(self, cause: Cause, driver: CycleCondition, low: int, high: int) -> None:
        group = self.groups[driver.relation]
        rows = Rows(high - low, {ROW: Column(np.arange(low, high))})
        arguments = group.arguments(low, high)
        for arg, data, domain in zip(driver.args, arguments, group.instances.domains, strict=True):
            # As long as no instance has been dropped, other causes can share the column.
            is_whole = rows.length == high - low
            column = Column(data, domain, None if is_whole else rows.columns[ROW].values - low)
            rows = agreeing(arg, column, rows)
        if isinstance(driver.value, Variable) and self._uses(cause, driver.value.name):
            raise UnfitError
        rows = run_steps(cause.steps, rows, self.context).settled()
        self._add_cause(cause, rows, None, (driver, rows.columns[ROW].values))

    def _uses(self, cause: Cause, name: str) -> bool:
        """Does a rule use a variable anywhere besides the value of its driver?"""
        assert cause.driver is not None
        where = (cause.rule.head, cause.rule.steps[1:], cause.driver.args)
        return name != "_" and name in set(names_in(where))

    def _add_input(self) -> None:
        """Add records for the input events that conditions of the cycle ask about."""
        for batch in self.batches:
            for condition in batch.conditions:
                if condition.condition.kind in (INPUT, STATE):
                    condition.cycle_relation.instances.enter(condition.columns, condition.length)
        for (relation, positions), group in self.inputs.items():
            table = self.context.relations.events.get(relation)
            if table is None:
                continue
            columns = [table.arguments[position] for position in positions]
            numbers = group.instances.find(columns, len(table))
            rows = np.flatnonzero(numbers >= 0)
            self.batches.append(
                RecordBatch(
                    0, group, numbers[rows], HAPPENS, NO_ACTION, None, (), table.times[rows]
                )
            )

    def _add_states(self) -> None:
        """Add records for the other fluents that the cycle asks about, where these start and end.

        Their times are a tick earlier, since an initiation shows at the next point.
        """
        for relation, group in self.states.items():
            table = self.context.relations.fluents.get(relation)
            if table is None:
                continue
            numbers = group.instances.find([*table.arguments, table.values], len(table))
            owners = np.repeat(numbers, np.diff(table.offsets))
            for times, done in ((table.starts, 1), (table.ends, 0)):
                rows = np.flatnonzero((owners >= 0) & (times != INFINITY))
                batch = RecordBatch(0, group, owners[rows], NO_ACTION, done)
                batch.times = times[rows] - self.context.window.tick
                self.batches.append(batch)


def _part(batch: RecordBatch, rows: Integers, fluent_action: int) -> RecordBatch:
    """Some records of a batch, with another action on the fluent."""
    return RecordBatch(
        batch.rank, batch.cycle_relation, batch.heads[rows], batch.reported_action, fluent_action,
        None if batch.values is None else batch.values[rows],
        [_some_rows(condition, rows) for condition in batch.conditions],
        None if batch.times is None else batch.times[rows],
        None if batch.driver is None else (batch.driver[0], batch.driver[1][rows]),
    )  # fmt: skip


def _some_rows(condition: RecordCondition, rows: Integers) -> RecordCondition:
    """A condition for some of its records."""
    value = condition.value
    return RecordCondition(
        condition.condition, condition.cycle_relation,
        [column[rows] for column in condition.columns], len(rows),
        value[rows] if isinstance(value, np.ndarray) else value,
    )  # fmt: skip
