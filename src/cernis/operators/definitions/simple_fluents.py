"""Simple fluents: the points of their rules, then their intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cernis.check.model import Pair, Relation
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.kernels.inertia.marked_rows import hold_rows
from cernis.kernels.inertia.plain_inertia import hold, hold_each
from cernis.operators.context.coded_columns import constant_column
from cernis.operators.context.fluent_points import Attempts, Points
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.actions import (
    SortedActions,
    all_of,
    chosen_actions,
    merged_actions,
    sorted_actions,
    with_waiting,
)
from cernis.operators.definitions.asked_terminations import with_known_values
from cernis.operators.definitions.change_points import effects_as_points, stacked
from cernis.operators.definitions.fluent_heads import (
    EVER,
    FluentHeads,
    FluentInstances,
    MatchRanges,
)
from cernis.operators.definitions.grounding import allowed_values
from cernis.operators.definitions.grouped_intervals import grouped
from cernis.operators.definitions.instance_keys import InstanceKeys
from cernis.operators.definitions.marks import Marked, Marks, by_instance, marked
from cernis.operators.definitions.open_ends import first_ends
from cernis.operators.definitions.rule_heads import fired, head_column
from cernis.operators.definitions.values_apart import (
    breaks_of,
    ending_values,
    hold_apart,
    sorted_by_instance,
)
from cernis.operators.rule_pipeline import run_steps
from cernis.plan.logical import Definition, InitialPoints, PointRule
from cernis.syntax.tree import Variable
from cernis.tables.columns import Column, Rows
from cernis.tables.interval_tables import FluentTable


@dataclass(slots=True)
class Carried:
    """What holds already when the window begins: arguments, value and start of each."""

    arguments: list[Array]
    values: Integers
    starts: Integers
    since: Integers | None = None
    """The initiation that delayed effects of each are counted from; None if starts show it."""
    waiting: Points | None = None
    """Initiations with effects still to come, of what does not hold."""

    def take(self, rows: Booleans) -> Carried:
        """What is so of some rows; initiations with effects to come stay."""
        arguments = [column[rows] for column in self.arguments]
        since = None if self.since is None else self.since[rows]
        return Carried(arguments, self.values[rows], self.starts[rows], since, self.waiting)


_FEW = 8
"""Up to so many terminations for each initiation and each point are written out."""


class SimpleFluent:
    """Collects the points of one fluent and turns them into intervals."""

    def __init__(self, relation: Relation, definition: Definition, context: Context) -> None:
        self.relation = relation
        self.definition = definition
        self.context = context
        self._heads = FluentHeads(definition, context)
        self.domains, self.value_domain = self._heads.domains, self._heads.value_domain
        self.conflicts = 0
        self._is_watched = relation in context.roles.watched
        self._effects = self._heads.no_points(), self._heads.no_points()
        """What delayed effects initiate and terminate."""
        self._ending = ending_values(definition, self.value_domain, context)

    def evaluate(self, carried: Carried | None) -> FluentTable:
        """The intervals of the fluent in this window."""
        carried = carried or self._nothing_carried()
        is_open = self.definition.open_rules
        outcomes = [(rule, self._fired(rule)) for rule in self.definition.closed_rules]
        # Rows that are marked are not looked at one by one, as where others may own them.
        asks = self.context.restriction.owned is not None
        marks, rest = (None, outcomes) if asks else self._marks(outcomes)
        initiations = [self._initial(r) for r in self.definition.rules
                       if isinstance(r, InitialPoints)]  # fmt: skip
        first = len(initiations)
        initiations += [self._points(r, rows) for r, rows in rest if r.kind == "initiation"]
        terminations = [self._points(r, rows) for r, rows in rest if r.kind == "termination"]
        ending = [*terminations]
        if is_open:
            known = self._instances(initiations, carried)
            initiations += [self._open(r, known) for r in is_open if r.kind == "initiation"]
            ends = [rule for rule in is_open if rule.kind == "termination"]
            terminations += [self._open_end(r, known, initiations, carried) for r in ends]
            if self._is_watched:
                ending += [self._open(rule, known) for rule in ends]
        table = self._measured(marks, initiations, terminations, carried)
        if self._is_watched:
            # What holds initially was not initiated at a point of the run.
            self._keep(initiations[:first], initiations[first:], ending, carried)
        return table

    def _fired(self, rule: PointRule) -> Rows:
        return fired(rule, self.relation, self.domains, self.context)

    def _measured(
        self, marks: Marks | None, initiations: list[Points], terminations: list[Points],
        carried: Carried,
    ) -> FluentTable:  # fmt: skip
        profile = self.context.measuring.profile
        if profile is None:
            return self._intervals(marks, initiations, terminations, carried)
        points = sum(len(each.times) for each in (*initiations, *terminations))
        points += int(np.count_nonzero(marks.flags)) if marks is not None else 0
        span = self.definition.rules[0].span
        with profile.measured(f"Inertia {self.relation}", span, points) as cost:
            table = self._intervals(marks, initiations, terminations, carried)
            cost.rows_out += len(table.starts)
        return table

    def _marks(
        self, outcomes: list[tuple[PointRule, Rows]]
    ) -> tuple[Marks | None, list[tuple[PointRule, Rows]]]:
        """The rules that mark rows of the largest table, and the others."""
        # Rules whose points others ask for, or that leave instances open, need them written out.
        whole = self._is_watched or self.definition.open_rules or self._ending is not None
        if self.context.window.ties != "break" or whole or self.definition.delays:
            return None, outcomes
        outcomes_with_marks = [(rule, rows, self._marked(rule, rows)) for rule, rows in outcomes]
        some = [rule_marks for _, _, rule_marks in outcomes_with_marks if rule_marks is not None]
        largest = max(some, key=lambda own: len(own.times), default=None)
        if largest is None:
            return None, outcomes
        marks = Marks(largest.times, largest.arguments)
        rest = []
        for rule, rows, rule_marks in outcomes_with_marks:
            if rule_marks is not None and marks.fits(rule_marks):
                self._mark(marks, rule_marks)
            else:
                rest.append((rule, rows))
        return marks, rest

    def _marked(self, rule: PointRule, rows: Rows) -> Marked | None:
        assert isinstance(rule.head, Pair)
        value = rule.head.value
        if isinstance(value, Variable):
            action = -2 if rule.kind == "termination" and value.name not in rows.columns else None
        elif self.value_domain is None:
            action = None
        else:
            code = int(constant_column(value, self.value_domain).data[0])
            action = code * 2 + (rule.kind == "initiation")
        return None if action is None else marked(rule.head, rows, self.domains, action)

    def _mark(self, marks: Marks, rule_marks: Marked) -> None:
        """Mark the rows of a rule; initiations that grounding forbids only break."""
        if not rule_marks.action & 1 or not self.definition.groundings:
            marks.add_rule(rule_marks)
            return
        may = self._may(rule_marks)
        if may is None:
            marks.add_rule(rule_marks)
            return
        rows = rule_marks.chosen()
        marks.add(rows[may], rule_marks.action)
        marks.add(rows[~may], -2)

    def _may(self, rule_marks: Marked) -> Booleans | None:
        """For each row: does grounding allow its pair? None if it allows all.

        For one argument, all values that it can take are asked for at once.
        """
        assert self.value_domain is not None
        columns = rule_marks.arguments
        if len(columns) == 1:
            domain = self.domains[0]
            assert domain is not None
            each = allowed_values(
                self.relation, self.definition.groundings, domain, rule_marks.action >> 1,
                self.value_domain, self.context,
            )  # fmt: skip
            if each.all():
                return None
            return np.asarray(each[columns[0][rule_marks.chosen()]])
        rows = rule_marks.chosen()
        columns = [column[rows] for column in columns]
        values = np.full(len(columns[0]), rule_marks.action >> 1)
        return self._heads.may_hold(columns, values)

    def _nothing_carried(self) -> Carried:
        none = np.empty(0, np.int64)
        return Carried([none] * self.relation.arity, none, none)

    # -- points -----------------------------------------------------------------------------

    def _initial(self, rule: InitialPoints) -> Points:
        context = self.context
        if context.window.edge > context.window.start:
            return self._heads.no_points()
        rows = run_steps(rule.steps, None, context).settled()
        return self._project(rule.head, rows, np.full(rows.length, context.window.start))

    def _points(self, rule: PointRule, rows: Rows) -> Points:
        rows = rows.settled()
        assert isinstance(rule.head, Pair)
        return self._project(rule.head, rows, rows.points)

    def _project(self, head: Pair, rows: Rows, times: Integers) -> Points:
        arguments, values = self._heads.projected(head, rows)
        owned = self.context.restriction.owned
        mine = None if owned is None else owned(self.relation, arguments, self.domains)
        if mine is None:
            return Points(arguments, values, times)
        return Points([column[mine] for column in arguments], values[mine], times[mine])

    def _instances(self, initiations: list[Points], carried: Carried) -> FluentInstances:
        """The known instances, for heads that leave arguments open."""
        initiated = [(points.arguments, points.times) for points in initiations]
        return self._heads.instances(initiated, _all_carried(carried), self._is_watched)

    def _open(self, rule: PointRule, instances: FluentInstances) -> Points:
        """A head that leaves arguments open is about all known instances that match the rest."""
        rows = run_steps(rule.steps, None, self.context).settled()
        return self._of_open(rule, rows, instances, is_known=True)

    def _of_open(
        self, rule: PointRule, rows: Rows, instances: FluentInstances,
        ranges: MatchRanges | None = None, is_known: bool = False,
    ) -> Points:  # fmt: skip
        filled = self._heads.filled(rule, rows, instances, ranges, is_known)
        return self._project(filled.head, filled.rows, filled.rows.points)

    def _open_end(
        self, rule: PointRule, instances: FluentInstances, initiations: list[Points],
        carried: Carried,
    ) -> Points:  # fmt: skip
        """The terminations of a head that leaves arguments open, as far as they end anything.

        A pair that is initiated ends with the first termination after that point; one at the very
        point is a tie. Others change nothing, so that two for each initiation will do, however
        many terminations and instances there are. Where rules ask for them, and where effects
        initiate a pair at points that are not known yet, all are given.
        """
        rows = run_steps(rule.steps, None, self.context).settled()
        assert isinstance(rule.head, Pair)
        ranges = self._heads.ranges(rule.head, rows, instances)
        few = _FEW * (rows.length + sum(len(points.times) for points in initiations))
        if self._is_watched or self.definition.delays or ranges[1].sum() <= few:
            return self._of_open(rule, rows, instances, ranges)
        # What is carried was initiated before all points of the window.
        long_ago = np.full(len(carried.values), EVER)
        held = Points(carried.arguments, carried.values, long_ago)
        initiated = stacked([*initiations, held], self._heads.no_points())
        chosen, ended = first_ends(
            *self._keyed(rule.head, rows, initiated), rows.points, initiated.times
        )
        picked = rows.take(ended)
        more = {
            f"<{at}>": Column(column[chosen], self.domains[at])
            for at, column in enumerate(initiated.arguments)
        }
        head = replace(rule.head, args=tuple(Variable(name) for name in more))
        return self._project(head, picked.with_columns(more), picked.points)

    def _keyed(self, head: Pair, rows: Rows, initiated: Points) -> tuple[Integers, Integers]:
        """Numbers for the bound arguments of a head, and for the same arguments of initiations."""
        bound = self._heads.bound_positions(head, rows)
        domains = [self.domains[at] for at in bound]
        wanted = [initiated.arguments[at] for at in bound]
        known = [head_column(head.args[at], rows, self.domains[at]) for at in bound]
        if not isinstance(head.value, Variable) or head.value.name in rows.columns:
            domains.append(self._heads.value_codes)
            wanted.append(initiated.values)
            known.append(self._heads.coded_values(head.value, rows))
        keys = InstanceKeys(domains, [known, wanted], self.context.caches)
        return keys.of(known, rows.length), keys.of(wanted, len(initiated.times))

    def _keep(
        self, initial: list[Points], initiations: list[Points], terminations: list[Points],
        carried: Carried,
    ) -> None:  # fmt: skip
        """Keep the points at which rules fire, for other rules that have them as conditions."""
        nothing, (initiated, ended) = self._heads.no_points(), self._effects
        relations = self.context.relations
        relations.initiations[self.relation] = stacked([*initiations, initiated], nothing)
        all_terminations = stacked([*terminations, ended], nothing)
        if (all_terminations.values < 0).any():
            known = self._known_pairs([*initial, *initiations, initiated], carried)
            all_terminations = with_known_values(all_terminations, known, self.domains)
        self.context.relations.terminations[self.relation] = all_terminations

    def _known_pairs(self, initiations: list[Points], carried: Carried) -> Points:
        """The pairs that grounding allows; without any, those that are carried or initiated."""
        if self.definition.groundings:
            return self._heads.allowed_pairs()
        held = Points(carried.arguments, carried.values, np.full(len(carried.values), EVER))
        waiting = [] if carried.waiting is None else [carried.waiting]
        return stacked([held, *waiting, *initiations], self._heads.no_points())

    # -- intervals --------------------------------------------------------------------------

    def _intervals(
        self, marks: Marks | None, initiations: list[Points], terminations: list[Points],
        carried: Carried,
    ) -> FluentTable:  # fmt: skip
        given = [points.arguments for points in (*initiations, *terminations)]
        keys = InstanceKeys(self.domains, [*given, *_all_carried(carried)], self.context.caches)
        lists = []
        for points in initiations:
            instances = keys.of(points.arguments, len(points.times))
            lists.append(sorted_actions(instances, points.times, self._actions(points), keys.size))
        for points in terminations:
            instances = keys.of(points.arguments, len(points.times))
            lists.append(sorted_actions(instances, points.times, points.values * 2, keys.size))
        return self._table(keys, *self._held(keys, marks, merged_actions(lists), carried))

    def _held(
        self, keys: InstanceKeys, marks: Marks | None, actions: SortedActions, carried: Carried
    ) -> list[Integers]:
        """Instances, values, starts and ends of intervals, from sorted actions."""
        if self._ending is None:
            return self._one_at_a_time(keys, marks, actions, carried)
        ends, is_named = self._ending.ends(actions[2]), self._ending.among(carried.values)
        named = chosen_actions(actions, ends)
        one = self._one_at_a_time(keys, None, named, carried.take(is_named))
        rest = carried.take(~is_named)
        before = keys.of(rest.arguments, len(rest.values)), rest.values, rest.starts
        late = keys.of(self._effects[0].arguments, len(self._effects[0].times))
        breaks = breaks_of(named, late, self._effects[0].times)
        others = chosen_actions(actions, ~ends)
        rest_held = hold_apart(
            others, before, breaks, self.context.window.ties, self.context.window.tick
        )
        return sorted_by_instance(one, rest_held)

    def _one_at_a_time(
        self, keys: InstanceKeys, marks: Marks | None, actions: SortedActions, carried: Carried
    ) -> list[Integers]:
        """The intervals of values that end one another."""
        held = keys.of(carried.arguments, len(carried.values))
        order = np.argsort(held, kind="stable")
        before = held[order], carried.values[order], carried.starts[order]
        tick = self.context.window.tick
        if self.definition.delays:
            result = self._delayed(keys, actions, before, carried, order)
        elif marks is not None:
            codes, rows = (
                np.array(marks.actions, np.int64),
                by_instance(marks, keys, self.context.caches),
            )
            result = hold_rows(*rows, codes, *actions, *before, tick)
        elif self.context.window.ties == "break":
            result = hold(*actions, *before, tick)
        else:
            result = hold_each(*actions, *before, tick)
        *columns, self.conflicts = result
        return columns

    def _delayed(
        self, keys: InstanceKeys, actions: SortedActions, before: SortedActions, carried: Carried,
        order: Integers,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Intervals with delayed effects; keeps the initiations that later windows count from."""
        # Programs without deadlines do not wait for this kernel to be compiled or fetched.
        from cernis.operators.definitions.delayed_inertia import DelayedFluent

        fluent = DelayedFluent(
            self.definition.delays, self.definition.groundings, keys.arguments, self.domains,
            self._heads.value_codes, self._asks_for_effects(),
        )  # fmt: skip
        since = (
            carried.since
            if carried.since is not None
            else carried.starts - self.context.window.tick
        )
        all_before = with_waiting((*before, since[order]), keys, carried.waiting)
        known = all_of(actions[0], all_before[0])
        walked = fluent.hold(known, actions, all_before, self.context)
        groups, *attempts = walked[4:8]
        origins = Attempts(keys.arguments(groups), *attempts)
        self.context.relations.effect_origins[self.relation] = origins
        self._effects = effects_as_points(keys, *walked[8:11])
        return (*walked[:4], walked[11])

    def _asks_for_effects(self) -> bool:
        """Is it asked what effects initiate and terminate?"""
        return self._ending is not None or self._is_watched

    def _actions(self, points: Points) -> Integers:
        """Initiations; one that grounding does not allow only breaks other values, if any."""
        actions = points.values * 2 + 1
        if self.definition.groundings:
            may = self._heads.may_hold(points.arguments, points.values)
            breaking = -2 if self._ending is None else self._ending.breaking(points.values)
            actions = actions if may.all() else np.where(may, actions, breaking)
        return actions

    def _table(
        self,
        keys: InstanceKeys,
        instances: Integers,
        values: Integers,
        starts: Integers,
        ends: Integers,
    ) -> FluentTable:
        """Intervals sorted by instance and start, as lists by instance and value."""
        instances, values, offsets, starts, ends = grouped(
            instances, values, starts, ends, keys.size
        )
        return FluentTable(
            keys.arguments(instances), self._heads.shown_values(values), self.domains,
            self.value_domain, offsets, starts, ends,
        )  # fmt: skip


def _all_carried(carried: Carried) -> list[list[Array]]:
    """The arguments of what is carried: of what holds, and of what only has effects to come."""
    waiting = carried.waiting
    return [carried.arguments] if waiting is None else [carried.arguments, waiting.arguments]
