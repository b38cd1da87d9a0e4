"""Uncertain fluents that depend on one another: evaluated point by point.

Which proofs there are depends only on which pairs may hold, not on how likely that is. So the
proofs of all rules are collected first. Where a rule asks whether a pair holds at a point, that is
a fact whose probability is not known yet. Rounds are repeated until no further pair may hold. Then
the probabilities of all pairs are computed together, in the order of time, so that those awaited at
a point are known when the point is reached.

That a pair itself holds at a point is the same fact for its rules and for its inertia.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from cernis.check.model import FluentKind, Relation
from cernis.evaluate.probabilities.circuits import Circuits
from cernis.evaluate.probabilities.courses import Courses, courses_of
from cernis.evaluate.probabilities.exact_carrying import exact_probabilities_after
from cernis.evaluate.probabilities.exclusive_values import AwaitedValues, CarriedFacts
from cernis.evaluate.probabilities.proof_groups import (
    HOLDING,
    Actions,
    AwaitedFacts,
    HoldingFacts,
    ProofGroups,
    group_actions,
    joint_probabilities_after,
)
from cernis.evaluate.probabilities.proofs import (
    Awaited,
    Segments,
    Uncertainty,
    changes_relation,
    with_literals,
)
from cernis.evaluate.probabilities.uncertain_edges import put_edges
from cernis.evaluate.probabilities.uncertain_events import evaluate_event
from cernis.evaluate.probabilities.uncertain_facts import conjunctions, stacked
from cernis.evaluate.probabilities.uncertain_fluents import (
    FluentActions,
    UncertainFluent,
    first_point,
)
from cernis.kernels.array_types import Integers
from cernis.kernels.hashing import RowTable
from cernis.operators.context.query_context import Context
from cernis.operators.distinct import distinct
from cernis.plan.logical import Definition, Stratum
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import INFINITY, FluentTable, empty_table


def evaluate_cycle(
    stratum: Stratum, context: Context, uncertainty: Uncertainty, circuits: Circuits
) -> dict[Relation, Courses]:
    """The courses of all fluents of a cycle; its events are put into the context."""
    cycle = _Cycle(stratum, context, uncertainty)
    fluent_actions = cycle.actions()
    cycle.add_holding(fluent_actions)
    actions, firsts = _all_actions(fluent_actions)
    awaited = cycle.awaited(firsts)
    facts, names = uncertainty.facts, ", ".join(str(each.relation) for each in fluent_actions)
    groups = group_actions(actions, facts, circuits, names, _holding_facts(awaited))
    initial = np.concatenate([each.pairs.initial for each in fluent_actions])
    if uncertainty.is_exact:
        instances = _instances(fluent_actions, uncertainty.exclusive)
        after = exact_probabilities_after(
            groups, initial, instances, facts, circuits, awaited, uncertainty.may_last(), names
        )
    else:
        after = joint_probabilities_after(groups, initial, facts, circuits, awaited)
    courses_by_fluent, since = {}, first_point(context, uncertainty)
    for actions_of_fluent, first in zip(fluent_actions, firsts, strict=True):
        is_of_fluent = (groups.pairs >= first) & (
            groups.pairs < first + len(actions_of_fluent.pairs)
        )
        part = ProofGroups(
            groups.pairs[is_of_fluent] - first, groups.times[is_of_fluent], groups.shape,
            groups.fact_offsets, groups.facts,
        )  # fmt: skip
        courses = courses_of(
            part, after[is_of_fluent], actions_of_fluent.pairs, since, context.window.tick
        )
        uncertainty.enter_courses(actions_of_fluent.relation, courses)
        cycle.keep_facts(actions_of_fluent.relation, courses)
        courses_by_fluent[actions_of_fluent.relation] = courses
        if actions_of_fluent.relation in uncertainty.bounded:
            put_edges(actions_of_fluent, context, uncertainty)
    return courses_by_fluent


class _Cycle:
    """Collects all proofs of the rules of a cycle."""

    def __init__(self, stratum: Stratum, context: Context, uncertainty: Uncertainty) -> None:
        self._fluents = [d for d in stratum.definitions if d.kind == FluentKind.SIMPLE]
        self._events = [d for d in stratum.definitions if d.kind == "event"]
        self._context = context
        self._uncertainty = uncertainty
        self._awaited: dict[Relation, Awaited] = {}
        watched = any(d.relation in uncertainty.watched for d in self._fluents)
        # An event at a point may depend on other events at it, whatever the order of definitions.
        self._passes = len(stratum.definitions) + 1 if self._events or watched else 1

    def actions(self) -> list[FluentActions]:
        """The initiations and breaks of all pairs that may hold."""
        for definition in self._events:
            self._uncertainty.events.add(definition.relation)
            self._no_happenings(with_literals(definition.relation), definition)
        for definition in self._fluents:
            if definition.relation in self._uncertainty.watched:
                for initiates in (True, False):
                    relation = changes_relation(definition.relation, initiates)
                    self._no_happenings(relation, definition)
                UncertainFluent(definition, self._context, self._uncertainty).put_no_terminations()
        known: list[FluentActions] | None = None
        while True:
            known, is_new = self._round(known)
            if not is_new:
                return known

    def _round(self, known: list[FluentActions] | None) -> tuple[list[FluentActions], bool]:
        """One more round, in which the pairs known from the round before may hold.

        Definitions that come later see at once what else may hold. Gives what came out, and whether
        it is anything new.
        """
        for number, definition in enumerate(self._fluents):
            self._let_hold(definition, None if known is None else known[number])
        fluent_actions: list[FluentActions] = []
        is_new = known is None
        for _ in range(self._passes):
            for definition in self._events:
                evaluate_event(definition, self._context, self._uncertainty)
            fluent_actions = []
            for number, definition in enumerate(self._fluents):
                outcome = UncertainFluent(definition, self._context, self._uncertainty).actions()
                fluent_actions.append(outcome)
                if known is None or not _same(known[number], outcome):
                    is_new = True
                    self._let_hold(definition, outcome)
        return fluent_actions, is_new

    def _let_hold(self, definition: Definition, outcome: FluentActions | None) -> None:
        """Let the pairs of a fluent hold from when they may: whether they do is awaited."""
        relation = definition.relation
        domains, value_domain = self._context.encoding.fluents[relation]
        table, awaited = empty_table(domains, value_domain), Awaited()
        if outcome is not None:
            table = self._possible(outcome)
            if relation in self._uncertainty.exclusive and not self._uncertainty.is_exact:
                awaited = AwaitedValues.of(outcome.pairs)
        self._awaited[relation] = awaited
        self._uncertainty.fluents[relation] = Segments(table, np.empty(0, np.int64), awaited)

    def _possible(self, outcome: FluentActions) -> FluentTable:
        """A table of all pairs, each from the first point on at which it may hold."""
        pairs = outcome.pairs
        return FluentTable(
            pairs.arguments, pairs.values, pairs.domains, pairs.value_domain,
            np.arange(len(pairs) + 1), outcome.earliest_initiations + self._context.window.tick,
            np.full(len(pairs), INFINITY),
        )  # fmt: skip

    def _no_happenings(self, relation: Relation, definition: Definition) -> None:
        context, defined = self._context, definition.relation
        if definition.kind == "event":
            domains = context.encoding.events[defined]
        else:
            arguments, value_domain = context.encoding.fluents[defined]
            domains = [*arguments, value_domain]
        none = np.empty(0, np.int64)
        table = EventTable([none] * relation.arity, [*domains, None], none)
        context.relations.events[relation] = table

    def keep_facts(self, relation: Relation, courses: Courses) -> None:
        """Let later rules use the facts that events of the cycle rest on."""
        read = self._uncertainty.watched | self._uncertainty.bounded
        if self._events or any(definition.relation in read for definition in self._fluents):
            known = CarriedFacts(self._awaited[relation], courses)
            known.fill(self._uncertainty.facts)
            self._uncertainty.fluents[relation].known = known

    def add_holding(self, outcomes: list[FluentActions]) -> None:
        """Add rows that say when a pair holds, where rules ask for values that it excludes."""
        for outcome in outcomes:
            awaited, actions = self._awaited[outcome.relation], outcome.actions
            if not isinstance(awaited, AwaitedValues) or not len(actions.pairs):
                continue
            first, _ = distinct([actions.pairs, actions.times], [None, None])
            pairs, times = actions.pairs[first], actions.times[first]
            asked = awaited.is_asked(pairs, times)
            pairs, times = pairs[asked], times[asked]
            literals = awaited.literals(pairs, times, self._uncertainty.facts)
            outcome.actions = Actions(
                np.concatenate([actions.pairs, pairs]), np.concatenate([actions.times, times]),
                np.concatenate([actions.breaks, np.full(len(pairs), HOLDING)]),
                stacked([actions.proofs, conjunctions([literals], len(pairs))]),
            )  # fmt: skip

    def awaited(self, firsts: list[int]) -> AwaitedFacts:
        """The awaited facts, with pairs numbered over all fluents."""
        parts = [
            part
            for definition, first in zip(self._fluents, firsts, strict=True)
            for part in _awaited_parts(self._awaited[definition.relation], first)
        ]
        columns = zip(*parts, strict=True)
        return AwaitedFacts(*(np.concatenate(column).astype(np.int64) for column in columns))


def _instances(outcomes: list[FluentActions], exclusive: Collection[Relation]) -> Integers:
    """The instance of each pair, numbered over all fluents; -1 where values may hold together."""
    parts, count = [np.empty(0, np.int64)], 0
    for outcome in outcomes:
        firsts = AwaitedValues.of(outcome.pairs).firsts
        is_apart = outcome.relation in exclusive
        parts.append(firsts + count if is_apart else np.full(len(firsts), -1, np.int64))
        count += len(firsts)
    return np.concatenate(parts)


def _awaited_parts(awaited: Awaited, first: int) -> Iterator[tuple[Integers, ...]]:
    """Pairs, times, nodes, and the first and last pair of the instance."""
    if not isinstance(awaited, AwaitedValues):
        none = np.full(len(awaited.nodes), -1, np.int64)
        yield awaited.pairs + first, awaited.times, awaited.nodes, none, none
        return
    for facts, is_value in ((awaited, True), (awaited.together, False)):
        pairs = facts.pairs
        shown = pairs + first if is_value else np.full(len(pairs), -1, np.int64)
        yield (
            shown, facts.times, facts.nodes, awaited.firsts[pairs] + first,
            awaited.lasts[pairs] + first,
        )  # fmt: skip


def _same(one: FluentActions, other: FluentActions) -> bool:
    """May the same pairs hold, from the same times on?"""
    columns = (
        [*each.pairs.arguments, each.pairs.values, each.earliest_initiations]
        for each in (one, other)
    )
    return all(map(np.array_equal, *columns))


def _all_actions(outcomes: list[FluentActions]) -> tuple[Actions, list[int]]:
    """The actions of all fluents, with pairs numbered over all; and the first pair of each."""
    counts = [len(each.pairs) for each in outcomes]
    firsts = [sum(counts[:number]) for number in range(len(counts))]
    actions = [each.actions for each in outcomes]
    return Actions(
        np.concatenate([a.pairs + first for a, first in zip(actions, firsts, strict=True)]),
        np.concatenate([a.times for a in actions]),
        np.concatenate([a.breaks for a in actions]),
        stacked([a.proofs for a in actions]),
    ), firsts


def _holding_facts(awaited: AwaitedFacts) -> HoldingFacts:
    """A function that gives for pairs and times the facts that the pairs hold then, or -1.

    Where values exclude each other, rows say when a pair holds.
    """
    awaited = awaited.take(np.flatnonzero(awaited.firsts < 0))
    pairs, times, nodes = awaited.pairs, awaited.times, awaited.nodes
    known_times = np.unique(times)
    table = RowTable(pairs * len(known_times) + np.searchsorted(known_times, times))

    def facts_at(fact_pairs: Integers, fact_times: Integers) -> Integers:
        if not len(known_times):
            return np.full(len(fact_pairs), -1, np.int64)
        ranks = np.minimum(np.searchsorted(known_times, fact_times), len(known_times) - 1)
        rows = table.find(
            np.where(known_times[ranks] == fact_times, fact_pairs * len(known_times) + ranks, -1)
        )
        return np.where(rows >= 0, nodes[rows], -1)

    return facts_at
