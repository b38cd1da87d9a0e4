"""Uncertain fluents that depend on one another: point by point.

Which proofs there are depends only on which pairs may hold, not on how likely that is. So the
proofs of all rules are found first: rules ask whether a pair holds at a point, each such question
is a fact whose probability is awaited, and rounds go on until no further pair may hold. Then the
probabilities are carried through time for all pairs together, and those awaited at a point are
known when the point is reached.

That a pair itself holds is one and the same fact for its rules and for its inertia.
"""

from __future__ import annotations

import numpy as np

from cernis.check.model import FluentKind, Relation
from cernis.evaluate.probabilities.circuits import Circuits
from cernis.evaluate.probabilities.courses import Courses, courses_of, with_facts
from cernis.evaluate.probabilities.proof_groups import (
    Actions,
    Groups,
    Own,
    carried_together,
    grouped,
)
from cernis.evaluate.probabilities.proofs import (
    Awaited,
    Segments,
    Uncertainty,
    changes_relation,
    with_literals,
)
from cernis.evaluate.probabilities.uncertain_events import evaluate_event
from cernis.evaluate.probabilities.uncertain_facts import stacked
from cernis.evaluate.probabilities.uncertain_fluents import Outcome, UncertainFluent, begins
from cernis.kernels.array_types import Integers
from cernis.kernels.hashing import RowTable
from cernis.operators.definitions.rule_heads import slot_domains
from cernis.operators.query_context import Context
from cernis.plan.logical import Definition, Stratum
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import INFINITY, FluentTable, empty_table


def evaluate_cycle(
    stratum: Stratum, context: Context, uncertainty: Uncertainty, circuits: Circuits
) -> dict[Relation, Courses]:
    """The courses of all fluents of a cycle; its events are put into the context."""
    cycle = _Cycle(stratum, context, uncertainty)
    outcomes = cycle.settle()
    actions, firsts = _together(outcomes)
    pairs, times, nodes = cycle.awaited(firsts)
    facts, what = uncertainty.facts, ", ".join(str(own.relation) for own in outcomes)
    groups = grouped(actions, facts, circuits, what, _own(pairs, times, nodes))
    initial = np.concatenate([own.pairs.initial for own in outcomes])
    after = carried_together(groups, initial, facts, circuits, (times, nodes, pairs))
    found, since = {}, begins(context, uncertainty)
    for own, first in zip(outcomes, firsts, strict=True):
        mine = (groups.pairs >= first) & (groups.pairs < first + len(own.pairs))
        part = Groups(
            groups.pairs[mine] - first, groups.times[mine], groups.shape, groups.fact_offsets,
            groups.facts,
        )  # fmt: skip
        courses = courses_of(part, after[mine], own.pairs, since, context.tick)
        uncertainty.fluents[own.relation] = Segments(*with_facts(courses, facts))
        found[own.relation] = courses
    return found


class _Cycle:
    """Finds all proofs of the rules of a cycle."""

    def __init__(self, stratum: Stratum, context: Context, uncertainty: Uncertainty) -> None:
        self._fluents = [d for d in stratum.definitions if d.kind == FluentKind.SIMPLE]
        self._events = [d for d in stratum.definitions if d.kind == "event"]
        self._context = context
        self._uncertainty = uncertainty
        self._awaited: dict[Relation, Awaited] = {}
        watched = any(d.relation in uncertainty.watched for d in self._fluents)
        # What happens at a point may rest on what else happens then, in any order of definitions.
        self._passes = len(stratum.definitions) + 1 if self._events or watched else 1

    def settle(self) -> list[Outcome]:
        """What rules do to all pairs that may hold."""
        for definition in self._events:
            self._uncertainty.events.add(definition.relation)
            self._no_happenings(with_literals(definition.relation), definition)
        for definition in self._fluents:
            if definition.relation in self._uncertainty.watched:
                for initiates in (True, False):
                    told = changes_relation(definition.relation, initiates)
                    self._no_happenings(told, definition)
                UncertainFluent(definition, self._context, self._uncertainty).tell_nothing()
        known: list[Outcome] | None = None
        while True:
            outcomes = self._round(known)
            if known is not None and all(map(_same, known, outcomes)):
                return outcomes
            known = outcomes

    def _round(self, known: list[Outcome] | None) -> list[Outcome]:
        """One more round, in which what was known before may hold."""
        for at, definition in enumerate(self._fluents):
            relation = definition.relation
            domains, value_domain = slot_domains(relation, self._context)
            table = empty_table(domains, value_domain)
            if known is not None:
                table = self._possible(known[at])
            self._awaited[relation] = Awaited()
            self._uncertainty.fluents[relation] = Segments(
                table, np.empty(0, np.int64), self._awaited[relation]
            )
        outcomes: list[Outcome] = []
        for _ in range(self._passes):
            for definition in self._events:
                evaluate_event(definition, self._context, self._uncertainty)
            outcomes = [
                UncertainFluent(definition, self._context, self._uncertainty).outcome()
                for definition in self._fluents
            ]
        return outcomes

    def _possible(self, outcome: Outcome) -> FluentTable:
        """From when on each pair may hold."""
        pairs = outcome.pairs
        return FluentTable(
            pairs.arguments, pairs.values, pairs.domains, pairs.value_domain,
            np.arange(len(pairs) + 1), outcome.since + self._context.tick,
            np.full(len(pairs), INFINITY),
        )  # fmt: skip

    def _no_happenings(self, relation: Relation, definition: Definition) -> None:
        context, own = self._context, definition.relation
        if definition.kind == "event":
            domains = [context.domain("event", own, at) for at in range(own.arity)]
        else:
            arguments, value_domain = slot_domains(own, context)
            domains = [*arguments, value_domain]
        none = np.empty(0, np.int64)
        context.events[relation] = EventTable([none] * relation.arity, [*domains, None], none)

    def awaited(self, firsts: list[int]) -> tuple[Integers, Integers, Integers]:
        """Pairs, numbered over all fluents, times and nodes of the facts that were asked for."""
        own = [self._awaited[definition.relation] for definition in self._fluents]
        return (
            np.concatenate([each.pairs + first for each, first in zip(own, firsts, strict=True)]),
            np.concatenate([each.times for each in own]),
            np.concatenate([each.nodes for each in own]),
        )


def _same(one: Outcome, other: Outcome) -> bool:
    """May the same pairs hold, from the same time on?"""
    columns = ([*own.pairs.arguments, own.pairs.values, own.since] for own in (one, other))
    return all(map(np.array_equal, *columns))


def _together(outcomes: list[Outcome]) -> tuple[Actions, list[int]]:
    """The actions of all fluents, with pairs numbered through; and the first pair of each."""
    counts = [len(own.pairs) for own in outcomes]
    firsts = [sum(counts[:at]) for at in range(len(counts))]
    actions = [own.actions for own in outcomes]
    return Actions(
        np.concatenate([a.pairs + first for a, first in zip(actions, firsts, strict=True)]),
        np.concatenate([a.times for a in actions]),
        np.concatenate([a.breaks for a in actions]),
        stacked([a.proofs for a in actions]),
    ), firsts


def _own(pairs: Integers, times: Integers, nodes: Integers) -> Own:
    """From pairs and times to the fact that the pair holds then."""
    known = np.unique(times)
    table = RowTable(pairs * len(known) + np.searchsorted(known, times))

    def found(of: Integers, at: Integers) -> Integers:
        if not len(known):
            return np.full(len(of), -1, np.int64)
        ranks = np.minimum(np.searchsorted(known, at), len(known) - 1)
        rows = table.find(np.where(known[ranks] == at, of * len(known) + ranks, -1))
        return np.where(rows >= 0, nodes[rows], -1)

    return found
