"""The causes of a cycle for all arguments there are: records for the kernel that decides them.

Rules that input drives give one record for each row. Those that the cycle drives give one for each
instance of their driver; new heads among them may drive others, so this goes on until no instance
is new.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from cernis.check.model import Pair, Relation
from cernis.evaluate.columns.cycle_instances import Instances
from cernis.kernels.array_types import Array, Integers
from cernis.kernels.inertia.delays import ALL, NO_ACTION
from cernis.kernels.inertia.unfold import NEGATED, OF_POINT, VALUE
from cernis.operators.collections import ROW
from cernis.operators.definitions.grounding import allowed
from cernis.operators.definitions.rule_heads import agreeing, head_column, slot_domains
from cernis.operators.definitions.simple_fluents import Carried
from cernis.operators.query_context import Context, constant_column, recoded
from cernis.operators.rule_pipeline import run_steps
from cernis.plan.cycle_causes import (
    EVENT,
    HOLDS,
    INITIATION,
    INPUT,
    STATE,
    Cause,
    CycleCondition,
    UnfitError,
)
from cernis.plan.logical import Definition, InitialPoints, names_in
from cernis.syntax.tree import Term, Variable
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import INFINITY

HAPPENS = 1
"""The action of an event."""
_MOST_TURNS = 40
"""If instances lead to new ones for longer, they may do so without end."""
_MOST_INSTANCES = 1 << 30


@dataclass(slots=True)
class Group:
    """A relation of the cycle, or what is asked of an input event, and its instances."""

    relation: Relation
    definition: Definition | None
    instances: Instances
    value_domain: Domain | None = None
    positions: tuple[int, ...] | None = None
    """Of an input event: the arguments that are asked for."""
    reached: int = 0
    """So many instances have driven what they drive."""
    _given: tuple[int, int, list[Array]] = (0, 0, [])

    @property
    def is_event(self) -> bool:
        """Is it an event and no fluent?"""
        return self.value_domain is None

    def arguments(self, low: int, high: int) -> list[Array]:
        """The arguments of some instances; the same arrays if asked for again."""
        if self._given[:2] != (low, high):
            self._given = (low, high, self.instances.arguments(slice(low, high)))
        return self._given[2]


@dataclass(slots=True)
class Condition:
    """What records ask of an instance each: the arguments, and the value or its code."""

    asked: CycleCondition
    of: Group
    columns: list[Array]
    length: int
    value: Integers | int | None
    """None for whatever value."""
    found: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    """The number of each instance, or -1; known when all have been collected."""

    @property
    def wanted(self) -> int:
        """As the kernel has it; a value of its own for each record is left out."""
        wanted = NEGATED * self.asked.negated
        if self.asked.kind == STATE:
            return wanted
        if self.asked.kind != HOLDS:
            return wanted | OF_POINT
        return wanted | ((self.value + 1) << VALUE if isinstance(self.value, int) else 0)


@dataclass(slots=True)
class Batch:
    """Records of one rule: their conditions and actions, their heads, their times or drivers."""

    rank: int
    of: Group
    heads: Integers
    told: int
    done: int
    values: Integers | None = None
    conditions: Sequence[Condition] = ()
    times: Integers | None = None
    driver: tuple[CycleCondition, Integers] | None = None


@dataclass(slots=True)
class Grounded:
    """Collects the records of all causes."""

    definitions: Sequence[Definition]
    causes: Sequence[Cause]
    context: Context
    groups: dict[Relation, Group] = field(default_factory=dict)
    inputs: dict[tuple[Relation, tuple[int, ...]], Group] = field(default_factory=dict)
    states: dict[Relation, Group] = field(default_factory=dict)
    batches: list[Batch] = field(default_factory=list)

    def __post_init__(self) -> None:
        for definition in self.definitions:
            relation = definition.relation
            if definition.kind == EVENT:
                domains = [
                    self.context.domain("event", relation, at) for at in range(relation.arity)
                ]
                self.groups[relation] = Group(relation, definition, Instances(domains))
                continue
            domains, value_domain = slot_domains(relation, self.context)
            if value_domain is None:
                raise UnfitError
            group = Group(relation, definition, Instances(domains), value_domain)
            self.groups[relation] = group

    def collect(self, carried: dict[Relation, Carried]) -> None:
        """All records there are."""
        for relation, group in self.groups.items():
            if relation in carried:
                own = carried[relation]
                group.instances.of(own.arguments, len(own.values))
                if own.waiting is not None:
                    group.instances.of(own.waiting.arguments, len(own.waiting.times))
            if group.definition is not None:
                self._initial(group, group.definition)
        for cause in self.causes:
            if cause.driver is None:
                rows = run_steps(cause.steps, None, self.context).settled()
                self._add(cause, rows, rows.points)
        self._driven()
        self._input()
        self._state()
        for batch in self.batches:
            for each in batch.conditions:
                each.found = each.of.instances.find(each.columns, each.length)

    # -- rows -------------------------------------------------------------------------------

    def _initial(self, group: Group, definition: Definition) -> None:
        context = self.context
        if context.edge > context.start:
            return
        for rule in definition.rules:
            if isinstance(rule, InitialPoints):
                rows = run_steps(rule.steps, None, context).settled()
                # What holds initially was not initiated at a point of the run.
                times = np.full(rows.length, context.start)
                self._enter(
                    group, rule.head, rows, Batch(0, group, times, NO_ACTION, 1, None, (), times)
                )

    def _add(
        self, cause: Cause, rows: Rows, times: Integers | None = None,
        driver: tuple[CycleCondition, Integers] | None = None,
    ) -> None:  # fmt: skip
        group = self.groups[cause.relation]
        conditions = [self._condition(asked, rows) for asked in cause.asks]
        starts = int(cause.head.kind == INITIATION)
        none = np.empty(0, np.int64)
        batch = Batch(cause.rank, group, none, starts, starts, None, conditions, times, driver)
        if group.is_event:
            batch.told, batch.done = HAPPENS, NO_ACTION
            args = self._columns(cause.head.args, group.instances.domains, rows)
            batch.heads = group.instances.of(args, rows.length)
            self.batches.append(batch)
        else:
            assert isinstance(cause.rule.head, Pair)
            self._enter(group, cause.rule.head, rows, batch)

    def _columns(
        self, args: Sequence[Term], domains: Sequence[Domain | None], rows: Rows
    ) -> list[Array]:
        return [head_column(arg, rows, own) for arg, own in zip(args, domains, strict=True)]

    def _enter(self, group: Group, head: Pair, rows: Rows, batch: Batch) -> None:
        """Enter records that change a fluent; initiations that grounding forbids only break."""
        args = self._columns(head.args, group.instances.domains, rows)
        batch.heads = group.instances.of(args, rows.length)
        is_watched = group.relation in self.context.watched
        if isinstance(head.value, Variable) and head.value.name not in rows.columns:
            if is_watched:
                raise UnfitError
            batch.told, batch.done = NO_ACTION, ALL
            self.batches.append(batch)
            return
        values = head_column(head.value, rows, group.value_domain)
        if not isinstance(head.value, Variable):
            code = int(constant_column(head.value, group.value_domain).data[0]) << 1
            batch.told = batch.told if batch.told == NO_ACTION else batch.told | code
            batch.done |= code
        else:
            batch.values = values
        batch.told = batch.told if is_watched else NO_ACTION
        self.batches += self._allowed(group, args, values, batch)

    def _allowed(
        self, group: Group, args: list[Array], values: Integers, batch: Batch
    ) -> Iterator[Batch]:
        groundings = group.definition.groundings if group.definition is not None else ()
        if not groundings or not batch.done & 1 or not len(values):
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
        yield _part(batch, np.flatnonzero(may), batch.done)
        yield _part(batch, np.flatnonzero(~may), ALL)

    # -- conditions -------------------------------------------------------------------------

    def _condition(self, asked: CycleCondition, rows: Rows) -> Condition:
        if asked.kind == STATE:
            return self._of_state(asked, rows)
        is_input = asked.kind == INPUT
        group = self._of_input(asked, rows) if is_input else self.groups[asked.relation]
        args = asked.args
        if group.positions is not None:
            args = tuple(args[at] for at in group.positions)
        columns = [
            self._known(arg, domain, rows)
            for arg, domain in zip(args, group.instances.domains, strict=True)
        ]
        value = self._value(asked.value, group, rows)
        return Condition(asked, group, columns, rows.length, value)

    def _known(self, arg: Term, domain: Domain | None, rows: Rows) -> Array:
        """An argument that has a value. Conditions on some instance or other do not fit."""
        if isinstance(arg, Variable):
            if arg.name not in rows.columns:
                raise UnfitError
            return recoded(rows.columns[arg.name], domain, rows.length)
        return recoded(constant_column(arg, domain), domain, rows.length)

    def _value(self, term: Term | None, group: Group, rows: Rows) -> Integers | int | None:
        if term is None or (isinstance(term, Variable) and term.name not in rows.columns):
            return None
        if isinstance(term, Variable):
            return recoded(rows.columns[term.name], group.value_domain, rows.length)
        return int(constant_column(term, group.value_domain).data[0])

    def _of_state(self, asked: CycleCondition, rows: Rows) -> Condition:
        """What is asked of a fluent that the cycle does not define; a value is an argument."""
        relation = asked.relation
        if relation not in self.states:
            domains, value_domain = slot_domains(relation, self.context)
            self.states[relation] = Group(relation, None, Instances([*domains, value_domain]))
        group = self.states[relation]
        assert asked.value is not None
        args = (*asked.args, asked.value)
        columns = [
            self._known(arg, domain, rows)
            for arg, domain in zip(args, group.instances.domains, strict=True)
        ]
        return Condition(asked, group, columns, rows.length, None)

    def _of_input(self, asked: CycleCondition, rows: Rows) -> Group:
        """What is asked of an input event: the arguments that have values."""
        free = [
            arg.name for arg in asked.args
            if isinstance(arg, Variable) and arg.name not in rows.columns
        ]  # fmt: skip
        named = [name for name in free if name != "_"]
        if len(named) != len(set(named)):
            raise UnfitError
        known = tuple(
            at for at, arg in enumerate(asked.args)
            if not (isinstance(arg, Variable) and arg.name in free)
        )  # fmt: skip
        key = (asked.relation, known)
        if key not in self.inputs:
            domains = [self.context.domain("event", asked.relation, at) for at in known]
            self.inputs[key] = Group(asked.relation, None, Instances(domains), None, known)
        return self.inputs[key]

    # -- what the cycle drives --------------------------------------------------------------

    def _driven(self) -> None:
        """Records for all instances that can drive some, until there are no new ones."""
        causes = [cause for cause in self.causes if cause.driver is not None]
        for _ in range(_MOST_TURNS):
            spans = {}
            for relation, group in self.groups.items():
                spans[relation] = (group.reached, len(group.instances))
                group.reached = len(group.instances)
                if group.reached > _MOST_INSTANCES:
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
        given = group.arguments(low, high)
        for arg, data, domain in zip(driver.args, given, group.instances.domains, strict=True):
            # As long as all instances are there, columns stay what they are for other causes.
            is_whole = rows.length == high - low
            column = Column(data, domain, None if is_whole else rows.columns[ROW].values - low)
            rows = agreeing(arg, column, rows)
        if isinstance(driver.value, Variable) and self._uses(cause, driver.value.name):
            raise UnfitError
        rows = run_steps(cause.steps, rows, self.context).settled()
        self._add(cause, rows, None, (driver, rows.columns[ROW].values))

    def _uses(self, cause: Cause, name: str) -> bool:
        """Is a name used but for the driver's value?"""
        assert cause.driver is not None
        where = (cause.rule.head, cause.rule.steps[1:], cause.driver.args)
        return name != "_" and name in set(names_in(where))

    def _input(self) -> None:
        """Records for input events that conditions of the cycle ask about, at their times."""
        for batch in self.batches:
            for own in batch.conditions:
                if own.asked.kind in (INPUT, STATE):
                    own.of.instances.of(own.columns, own.length)
        for (relation, positions), group in self.inputs.items():
            table = self.context.events.get(relation)
            if table is None:
                continue
            columns = [table.arguments[at] for at in positions]
            found = group.instances.find(columns, len(table))
            rows = np.flatnonzero(found >= 0)
            self.batches.append(
                Batch(0, group, found[rows], HAPPENS, NO_ACTION, None, (), table.times[rows])
            )

    def _state(self) -> None:
        """Records for other fluents that the cycle asks about, where these begin and end.

        It is initiated and terminated a tick before it shows, as what the cycle defines is.
        """
        for relation, group in self.states.items():
            table = self.context.fluents.get(relation)
            if table is None:
                continue
            found = group.instances.find([*table.arguments, table.values], len(table))
            owners = np.repeat(found, np.diff(table.offsets))
            for times, done in ((table.starts, 1), (table.ends, 0)):
                rows = np.flatnonzero((owners >= 0) & (times != INFINITY))
                batch = Batch(0, group, owners[rows], NO_ACTION, done)
                batch.times = times[rows] - self.context.tick
                self.batches.append(batch)


def _part(batch: Batch, rows: Integers, done: int) -> Batch:
    """Some records of a batch, that do something else."""
    conditions = [
        Condition(
            own.asked, own.of, [column[rows] for column in own.columns], len(rows),
            own.value[rows] if isinstance(own.value, np.ndarray) else own.value,
        )
        for own in batch.conditions
    ]  # fmt: skip
    return Batch(
        batch.rank, batch.of, batch.heads[rows], batch.told, done,
        None if batch.values is None else batch.values[rows], conditions,
        None if batch.times is None else batch.times[rows],
        None if batch.driver is None else (batch.driver[0], batch.driver[1][rows]),
    )  # fmt: skip
