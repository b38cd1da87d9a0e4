"""Simple fluents under uncertainty: the proofs of their rules, then the course of each pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cernis.check.model import Pair, Relation
from cernis.evaluate.probabilities.circuits import Circuits
from cernis.evaluate.probabilities.courses import Courses, Pairs, courses_of
from cernis.evaluate.probabilities.proof_groups import Actions, group_actions, probabilities_after
from cernis.evaluate.probabilities.proofs import (
    Prover,
    Uncertainty,
    changes_relation,
    with_literals,
)
from cernis.evaluate.probabilities.uncertain_edges import put_edges
from cernis.evaluate.probabilities.uncertain_events import put_happenings
from cernis.evaluate.probabilities.uncertain_facts import Conjunctions, stacked
from cernis.evaluate.probabilities.uncertain_terminations import TerminationKind
from cernis.kernels.array_types import Array, Booleans, Floats, Integers
from cernis.kernels.hashing import Numbering
from cernis.operators.context.fluent_points import Points
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.asked_terminations import ANY, known_before
from cernis.operators.definitions.fluent_heads import EVER, NEVER, FluentHeads, FluentInstances
from cernis.operators.definitions.instance_keys import InstanceKeys
from cernis.operators.definitions.values_apart import ending_values
from cernis.operators.distinct import distinct
from cernis.operators.rule_pipeline import run_steps
from cernis.plan.logical import Definition, InitialPoints, PointRule
from cernis.plan.properties.open_heads import ends_any_value

_HALF = 31


@dataclass(slots=True)
class ProvenPoints:
    """Initiations or terminations as rules prove them: arguments, value (-1: any), time, proof."""

    arguments: list[Array]
    values: Integers
    times: Integers
    proofs: Conjunctions


@dataclass(slots=True)
class InitialPairs:
    """The pairs that hold initially, each once, with its probability."""

    arguments: list[Array]
    values: Integers
    chances: Floats


@dataclass(slots=True)
class FluentActions:
    """The pairs of a fluent, and the initiations and breaks of each."""

    relation: Relation
    pairs: Pairs
    actions: Actions
    earliest_initiations: Integers
    """The first time at which each pair may be initiated."""


class UncertainFluent:
    """Collects the proofs of one fluent's rules and sorts them by pair."""

    def __init__(self, definition: Definition, context: Context, uncertainty: Uncertainty) -> None:
        self.relation = definition.relation
        self._definition = definition
        self._context = context
        self._uncertainty = uncertainty
        self._heads = FluentHeads(definition, context)
        self._domains, self._value_domain = self._heads.domains, self._heads.value_domain

    def actions(self) -> FluentActions:
        """All initiations and breaks of the pairs that may come to hold."""
        return self._actions_by_pair(*self.changes())

    def changes(self) -> tuple[ProvenPoints, ProvenPoints, InitialPairs]:
        """All initiations and terminations by rules, and the pairs that hold at first."""
        rules, closed = self._definition.point_rules, self._definition.closed_rules
        initial = self._initial()
        points = [(rule, self._points(rule)) for rule in closed]
        points_by_kind = {kind: [rule_points for rule, rule_points in points if rule.kind == kind]
                 for kind in ("initiation", "termination")}  # fmt: skip
        read_terminations = [
            rule_points for rule, rule_points in points if rule.kind == "termination"
        ]
        is_watched = self.relation in self._uncertainty.watched
        if len(closed) < len(rules):
            known = self._instances(points_by_kind["initiation"], initial)
            for rule in rules:
                if rule.leaves_arguments_open:
                    points_by_kind[rule.kind].append(self._open_points(rule, known))
                if rule.leaves_arguments_open and rule.kind == "termination" and is_watched:
                    read_terminations.append(self._open_points(rule, known, is_known=True))
        initiations, terminations = (self._stacked(points_by_kind[k]) for k in points_by_kind)
        if is_watched:
            self._put_changes(initiations, True)
            self._put_terminations(self._stacked(read_terminations), initiations, initial)
        return initiations, terminations, initial

    # -- points -----------------------------------------------------------------------------

    def _points(self, rule: PointRule) -> ProvenPoints:
        proofs = Prover(self._uncertainty, self._context).run(rule.steps)
        assert isinstance(rule.head, Pair)
        arguments, values = self._heads.projected(rule.head, proofs.rows)
        return ProvenPoints(arguments, values, proofs.rows.points, proofs.conjunctions())

    def _initial(self) -> InitialPairs:
        """The pairs that hold when the window begins: initially, or at its edge."""
        held = self._uncertainty.held
        if held is None:
            return self._initial_clauses()
        pairs = held.get(self.relation)
        if pairs is None:
            return self._nothing()
        values = pairs.values
        if self._value_domain is None:
            values = self._heads.value_codes.encode(values.tolist())
        return InitialPairs(pairs.arguments, values, pairs.initial)

    def _nothing(self) -> InitialPairs:
        none = np.empty(0, np.int64)
        return InitialPairs([none] * self.relation.arity, none, np.empty(0))

    def _initial_clauses(self) -> InitialPairs:
        """The pairs of `initially` clauses; several clauses for one pair are independent."""
        parts: list[tuple[list[Array], Integers, Floats]] = []
        for rule in self._definition.rules:
            if isinstance(rule, InitialPoints):
                rows = run_steps(rule.steps, None, self._context).settled()
                arguments, values = self._heads.projected(rule.head, rows)
                first, _ = distinct([*arguments, values], [*self._domains, self._heads.value_codes])
                chance = 1.0 if rule.probability is None else rule.probability
                distinct_arguments = [column[first] for column in arguments]
                parts.append((distinct_arguments, values[first], np.full(len(first), chance)))
        if not parts:
            return self._nothing()
        columns = [
            np.concatenate(columns_of_parts)
            for columns_of_parts in zip(*(part[0] for part in parts), strict=True)
        ]
        values = np.concatenate([part[1] for part in parts])
        chances = np.concatenate([part[2] for part in parts])
        first, which = distinct([*columns, values], [*self._domains, self._heads.value_codes])
        missing = np.ones(len(first))
        np.multiply.at(missing, which, 1 - chances)
        return InitialPairs([column[first] for column in columns], values[first], 1 - missing)

    def _stacked(self, parts: list[ProvenPoints]) -> ProvenPoints:
        if not parts:
            none = np.empty(0, np.int64)
            return ProvenPoints([none] * self.relation.arity, none, none, stacked([]))
        return ProvenPoints(
            [
                np.concatenate(columns)
                for columns in zip(*(p.arguments for p in parts), strict=True)
            ],
            np.concatenate([p.values for p in parts]),
            np.concatenate([p.times for p in parts]),
            stacked([p.proofs for p in parts]),
        )

    def _put_changes(self, points: ProvenPoints, initiates: bool) -> None:
        """Enter initiations or terminations that are conditions of other rules."""
        values = self._heads.shown_values(points.values)
        put_happenings(
            changes_relation(self.relation, initiates), [*points.arguments, values],
            [*self._domains, self._value_domain], points.times, points.proofs,
            self._context.relations, self._uncertainty,
        )  # fmt: skip

    def put_no_terminations(self) -> None:
        """Enter no terminations, before the first round of a cycle."""
        nothing = self._stacked([])
        self._put_terminations(nothing, nothing, self._nothing())

    def _put_terminations(
        self, points: ProvenPoints, initiations: ProvenPoints, initial: InitialPairs
    ) -> None:
        """Enter terminations that are conditions of other rules, in each table for them."""
        if not ends_any_value(self._definition):
            self._put_changes(points, False)
            return
        self._uncertainty.ended.add(self.relation)
        is_any = points.values == ANY
        of_named_value = _taken(points, np.flatnonzero(~is_any))
        self._put_terminations_of(TerminationKind.WHATEVER, points)
        self._put_terminations_of(TerminationKind.ANY, _taken(points, np.flatnonzero(is_any)))
        self._put_terminations_of(TerminationKind.SAID, of_named_value)
        each = self._stacked([of_named_value, self._of_known_values(points, initiations, initial)])
        self._put_terminations_of(TerminationKind.EACH, each)

    def _put_terminations_of(self, kind: TerminationKind, points: ProvenPoints) -> None:
        columns, domains = list(points.arguments), list(self._domains)
        if kind.has_value:
            columns.append(self._heads.shown_values(points.values))
            domains.append(self._value_domain)
        relation = kind.of(self.relation)
        self._uncertainty.events.add(relation)
        put_happenings(
            with_literals(relation), columns, domains, points.times, points.proofs,
            self._context.relations, self._uncertainty,
        )  # fmt: skip

    def _of_known_values(
        self, points: ProvenPoints, initiations: ProvenPoints, initial: InitialPairs
    ) -> ProvenPoints:
        """Terminations of any value, as terminations of each value known at an earlier point."""
        of_any = _taken(points, np.flatnonzero(points.values == ANY))
        known = self._known_pairs(initiations, initial)
        rows, pairs = known_before(of_any.arguments, of_any.times, known, self._domains)
        arguments = [column[pairs] for column in known.arguments]
        proofs = of_any.proofs.take(rows)
        return ProvenPoints(arguments, known.values[pairs], of_any.times[rows], proofs)

    def _known_pairs(self, initiations: ProvenPoints, initial: InitialPairs) -> Points:
        """The pairs that grounding allows; without grounding, those initiated, and since when."""
        if self._definition.groundings:
            return self._heads.allowed_pairs()
        columns = [
            np.concatenate(o) for o in zip(initiations.arguments, initial.arguments, strict=True)
        ]
        times = np.concatenate([initiations.times, np.full(len(initial.values), EVER)])
        return Points(columns, np.concatenate([initiations.values, initial.values]), times)

    # -- heads that leave arguments open ----------------------------------------------------

    def _instances(self, initiations: list[ProvenPoints], initial: InitialPairs) -> FluentInstances:
        """The known instances, for heads that leave arguments open."""
        initiated = [(points.arguments, points.times) for points in initiations]
        is_watched = self.relation in self._uncertainty.watched
        return self._heads.instances(initiated, [initial.arguments], is_watched)

    def _open_points(
        self, rule: PointRule, known: FluentInstances, is_known: bool = False
    ) -> ProvenPoints:
        """A head that leaves arguments open is about all instances that match the rest."""
        proofs = Prover(self._uncertainty, self._context).run(rule.steps)
        filled = self._heads.filled(rule, proofs.rows, known, is_known=is_known)
        arguments, values = self._heads.projected(filled.head, filled.rows)
        conjunctions = proofs.conjunctions().take(filled.chosen)
        return ProvenPoints(arguments, values, filled.rows.points, conjunctions)

    # -- pairs ------------------------------------------------------------------------------

    def _actions_by_pair(
        self, initiations: ProvenPoints, terminations: ProvenPoints, initial: InitialPairs
    ) -> FluentActions:
        argument_lists = [initiations.arguments, terminations.arguments, initial.arguments]
        lengths = [len(initiations.values), len(terminations.values), len(initial.values)]
        keys = InstanceKeys(self._domains, argument_lists, self._context.caches)
        numbering = Numbering()
        initiated, terminated, held = (
            numbering.of(keys.of(arguments, length))
            for arguments, length in zip(argument_lists, lengths, strict=True)
        )
        may = self._heads.may_hold(initiations.arguments, initiations.values)
        may_hold = self._heads.may_hold(initial.arguments, initial.values)
        both = np.concatenate([
            (initiated[may] << _HALF) | initiations.values[may],
            (held[may_hold] << _HALF) | initial.values[may_hold],
        ])  # fmt: skip
        # Pairs are sorted by instance, so that those of one instance are adjacent.
        pairs = np.unique(both)
        instances, values = pairs >> _HALF, pairs & ((1 << _HALF) - 1)
        chances = np.zeros(len(pairs))
        chances[np.searchsorted(pairs, both[int(may.sum()) :])] = initial.chances[may_hold]
        since = np.full(len(pairs), NEVER)
        np.minimum.at(since, np.searchsorted(pairs, both[: int(may.sum())]), initiations.times[may])
        since[chances > 0] = (
            first_point(self._context, self._uncertainty) - self._context.window.tick
        )
        arguments = keys.arguments(numbering.keys[instances])
        shown = self._heads.shown_values(values)
        decoded_pairs = Pairs(arguments, shown, self._domains, self._value_domain, chances)
        actions = _actions(
            len(numbering), instances, values, (initiated, initiations), (terminated, terminations),
            self._end_others(initiations.values),
        )  # fmt: skip
        return FluentActions(self.relation, decoded_pairs, actions, since)

    def _end_others(self, values: Integers) -> Booleans:
        """For each initiation, whether its value ends other values."""
        ending = ending_values(self._definition, self._value_domain, self._context)
        return np.ones(len(values), np.bool_) if ending is None else ending.among(values)


def _actions(
    count: int, instances: Integers, values: Integers,
    initiations: tuple[Integers, ProvenPoints], terminations: tuple[Integers, ProvenPoints],
    end_others: Booleans,
) -> Actions:  # fmt: skip
    """For each point and each pair of its instance, whether it initiates or breaks the pair."""
    offsets = np.searchsorted(instances, np.arange(count + 1)).astype(np.int64)
    parts = []
    for point_instances, points in (initiations, terminations):
        many = np.diff(offsets)[point_instances]
        rows = np.repeat(np.arange(len(point_instances)), many)
        earlier = np.cumsum(many) - many
        pairs = np.arange(len(rows)) + np.repeat(offsets[point_instances] - earlier, many)
        same = points.values[rows] == values[pairs]
        if points is initiations[1]:
            keep, breaks = same | end_others[rows], ~same
        else:
            keep = same | (points.values[rows] == ANY)
            breaks = np.ones(len(rows), np.bool_)
        rows, pairs, breaks = rows[keep], pairs[keep], breaks[keep]
        is_whole = len(rows) == len(point_instances) and bool(np.all(many == 1))
        proofs = points.proofs if is_whole else points.proofs.take(rows)
        parts.append((pairs, points.times[rows], breaks.astype(np.int64), proofs))
    columns = list(zip(*parts, strict=True))
    pairs, times, breaks = (np.concatenate(column_parts) for column_parts in columns[:3])
    return Actions(pairs, times, breaks, stacked(list(columns[3])))


def _taken(points: ProvenPoints, rows: Integers) -> ProvenPoints:
    arguments = [column[rows] for column in points.arguments]
    return ProvenPoints(
        arguments, points.values[rows], points.times[rows], points.proofs.take(rows)
    )


def first_point(context: Context, uncertainty: Uncertainty) -> int:
    """The point from which on pairs have their initial probabilities."""
    window = context.window
    edge = window.start if uncertainty.held is None else window.edge
    return edge + window.tick


def evaluate_fluent(
    definition: Definition, context: Context, uncertainty: Uncertainty, circuits: Circuits
) -> Courses:
    """The course of each pair of a fluent that does not depend on itself; enters its segments."""
    fluent_actions = UncertainFluent(definition, context, uncertainty).actions()
    facts = uncertainty.facts
    groups = group_actions(fluent_actions.actions, facts, circuits, str(fluent_actions.relation))
    after = probabilities_after(groups, fluent_actions.pairs.initial, facts, circuits)
    since = first_point(context, uncertainty)
    courses = courses_of(groups, after, fluent_actions.pairs, since, context.window.tick)
    uncertainty.enter_courses(definition.relation, courses)
    if definition.relation in uncertainty.bounded:
        put_edges(fluent_actions, context, uncertainty)
    return courses
