"""Runs the steps of a rule over uncertain relations: each row is one proof of the rule's head.

Beside its columns a row has literals: the facts that the proof depends on. The table of an
uncertain event has one argument more, with a literal in each row, so a step that joins it brings
the literal. A negated step keeps a row in those worlds in which nothing comes out of the step for
it: it adds one literal, the negation of "some proof is true".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from cernis.check.model import Boundary, Changes, Event, Pair, Relation
from cernis.errors import UnsupportedError
from cernis.evaluate.probabilities.uncertain_facts import (
    FALSE,
    TRUE,
    Conjunctions,
    Facts,
    conjunctions,
)
from cernis.evaluate.probabilities.uncertain_terminations import asked, of_value, of_whatever
from cernis.evaluate.probabilities.worlds import Worlds
from cernis.kernels.array_types import Integers
from cernis.kernels.circuit_values import locate
from cernis.kernels.hashing import Numbering
from cernis.operators.collections import ROW
from cernis.operators.fluent_lookups import bind_groups, candidates
from cernis.operators.query_context import Context
from cernis.operators.rule_pipeline import aggregated, concatenated, run_steps
from cernis.plan.derived import Derived
from cernis.plan.logical import (
    Aggregate,
    AntiStab,
    Branches,
    EventAntiJoin,
    EventJoin,
    Except,
    Exclude,
    Lookup,
    Occurrence,
    PointOperator,
    Scan,
    Stab,
    parts_of,
)
from cernis.syntax.tree import Compound, Variable, functor
from cernis.tables.columns import Column, Rows
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable

if TYPE_CHECKING:
    from cernis.evaluate.probabilities.courses import Pairs


_HALF = 31
"""Bits for each of two numbers in one."""

_MOST_DOUBTFUL = 12
"""An aggregate over more uncertain proofs than this has too many possible worlds."""


@dataclass(slots=True)
class Segments:
    """An uncertain fluent: for each arguments and value, disjoint intervals that have a literal.

    What is awaited has intervals without literals: each point that is asked for is a fact of its
    own, whose probability is to come.
    """

    table: FluentTable
    literals: Integers
    awaited: Awaited | None = None


@dataclass(slots=True)
class Awaited:
    """Facts "the pair holds at the time" that have been asked for, numbered as they come."""

    nodes: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    _times: Numbering = field(default_factory=Numbering)
    _facts: Numbering = field(default_factory=Numbering)

    def literals(self, pairs: Integers, times: Integers, facts: Facts) -> Integers:
        """The facts that pairs hold at times; each is one fact however often it is asked for."""
        numbers = self._facts.of((pairs << _HALF) | self._times.of(times))
        more = len(self._facts) - len(self.nodes)
        if more:
            self.nodes = np.concatenate([self.nodes, facts.await_(more)])
        return self.nodes[numbers] * 2

    @property
    def pairs(self) -> Integers:
        """The pair of each fact."""
        return self._facts.keys >> _HALF

    @property
    def times(self) -> Integers:
        """The time of each fact."""
        numbers: Integers = self._facts.keys & ((1 << _HALF) - 1)
        return self._times.keys[numbers]


@dataclass(slots=True)
class Uncertainty:
    """The uncertain relations of a query so far, and the facts that they depend on."""

    facts: Facts = field(default_factory=Facts)
    events: set[Relation] = field(default_factory=set)
    fluents: dict[Relation, Segments] = field(default_factory=dict)
    predicates: dict[tuple[str, int], Segments] = field(default_factory=dict)
    """Background predicates whose facts have probabilities; as of a fluent that always holds."""
    watched: set[Relation] = field(default_factory=set)
    """Uncertain fluents whose initiations and terminations are tables of their own."""
    ended: set[Relation] = field(default_factory=set)
    """Those of them some rule of which ends any value."""
    held: Mapping[Relation, Pairs] | None = None
    """What held right after the edge of the window, by what was derived before; None at first."""
    derived: Derived = field(default_factory=Derived)

    def is_about(self, what: object) -> bool:
        """Does a part of a plan, which lives as long as that, speak of an uncertain relation?"""
        spoken: Spoken = self.derived.once("spoken", what, lambda: Spoken.of(what))
        return not (
            self.events.isdisjoint(spoken.events)
            and self.fluents.keys().isdisjoint(spoken.fluents)
            and self.predicates.keys().isdisjoint(spoken.predicates)
        )


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a part of a plan speaks of."""

    events: frozenset[Relation]
    fluents: frozenset[Relation]
    predicates: frozenset[tuple[str, int]]

    @staticmethod
    def of(what: object) -> Spoken:
        """All that some part of it speaks of."""
        parts = list(parts_of(what))
        goals = [part.goal for part in parts if isinstance(part, Lookup | Exclude)]
        return Spoken(
            frozenset(part.relation for part in parts if isinstance(part, Event)),
            frozenset(part.relation for part in parts if isinstance(part, Pair)),
            frozenset(map(functor, goals)),
        )


def with_literals(relation: Relation) -> Relation:
    """The relation of an uncertain event with one argument more, its literal."""
    return Relation(f"uncertain {relation.name}", relation.arity + 1)


def changes_relation(relation: Relation, initiates: bool) -> Relation:
    """The initiations or terminations of an uncertain fluent: arguments, value and literal."""
    kind = "initiations" if initiates else "terminations"
    return Relation(f"{kind} of {relation.name}", relation.arity + 2)


def literal_table(table: EventTable, literals: Integers) -> EventTable:
    """The table of an uncertain event with its literals; what is never true is left out."""
    found = EventTable([*table.arguments, literals], [*table.domains, None], table.times)
    possible = literals != FALSE
    return found if possible.all() else found.take(np.flatnonzero(possible))


@dataclass(slots=True)
class Proofs:
    """Rows, and the columns of them that are literals."""

    rows: Rows
    names: tuple[str, ...]

    def conjunctions(self) -> Conjunctions:
        """The literals of each row; the rows must be settled."""
        columns = [self.rows.columns[name].expanded(self.rows.length) for name in self.names]
        return conjunctions(columns, self.rows.length)


class Prover:
    """Runs steps, and names the literals that they bring."""

    def __init__(self, uncertainty: Uncertainty, context: Context) -> None:
        self._uncertainty = uncertainty
        self._context = context
        self._names: list[str] = []
        self._last = 0

    def run(self, steps: Sequence[PointOperator], rows: Rows | None = None) -> Proofs:
        """The proofs that come out of a pipeline; without rows to begin with, it makes its own."""
        before = len(self._names)
        rows = self._run(steps, rows).settled()
        names = tuple(self._names[before:])
        del self._names[before:]
        return Proofs(rows, names)

    def _run(self, steps: Sequence[PointOperator], rows: Rows | None) -> Rows:
        plain: list[PointOperator] = []
        for step in steps:
            step = self._asked(step)
            if not self._uncertainty.is_about(step):
                plain.append(step)
            elif isinstance(step, Scan | EventJoin):
                plain.append(replace(step, occurrence=self._told(step.occurrence)))
            else:
                rows = run_steps(plain, rows, self._context) if plain else rows
                plain = []
                rows = self._step(step, (rows if rows is not None else Rows(1)).settled())
        if plain or rows is None:
            rows = run_steps(plain, rows, self._context)
        return rows

    def _asked(self, step: PointOperator) -> PointOperator:
        """A step that asks for terminations, among which are some of any value, as it is meant."""
        if not isinstance(step, Scan | EventJoin) or not self._asks_for_ended(step.occurrence):
            return step
        found: PointOperator = self._uncertainty.derived.once("ended", step, lambda: asked(step))
        return found

    def _asks_for_ended(self, occurrence: Occurrence) -> bool:
        if not isinstance(occurrence, Changes) or occurrence.initiates:
            return False
        return occurrence.pair.relation in self._uncertainty.ended

    def _denied(self, step: EventAntiJoin, rows: Rows) -> PointOperator:
        """The step that a negation is about."""
        positive = EventJoin(step.occurrence, (), step.span)
        if not self._asks_for_ended(step.occurrence):
            return positive
        assert isinstance(step.occurrence, Changes)
        value = step.occurrence.pair.value
        is_known = not isinstance(value, Variable) or value.name in rows.columns
        return of_value(positive) if is_known else of_whatever(positive)

    def _step(self, step: PointOperator, rows: Rows) -> Rows:
        if isinstance(step, Stab):
            return self._stab(step, rows)
        if isinstance(step, AntiStab):
            return self._unless(self._once(step, Stab(step.pair, (), step.span)), rows)
        if isinstance(step, EventAntiJoin):
            return self._unless(self._once(step, self._denied(step, rows)), rows)
        if isinstance(step, Except):
            return self._unless(step.body, rows)
        if isinstance(step, Lookup):
            return self._look_up(step, rows)
        if isinstance(step, Exclude):
            return self._unless(self._once(step, Lookup(step.goal, (), (), step.span)), rows)
        if isinstance(step, Branches):
            return self._branches(step, rows)
        assert isinstance(step, Aggregate)
        return self._aggregate(step, rows)

    def _once(self, step: PointOperator, positive: PointOperator) -> tuple[PointOperator, ...]:
        """The body of what a step negates: one and the same at every query."""
        found: tuple[PointOperator, ...] = self._uncertainty.derived.once(
            "negated", step, lambda: (positive,)
        )
        return found

    def _name(self) -> str:
        self._last += 1
        name = f"<fact {self._last}>"
        self._names.append(name)
        return name

    def _told(self, occurrence: Occurrence) -> Event:
        """An occurrence as an event with its literal as a further argument."""
        told = Variable(self._name())
        if isinstance(occurrence, Event):
            return Event(with_literals(occurrence.relation), (*occurrence.args, told))
        pair = occurrence.pair
        if isinstance(occurrence, Boundary):
            raise UnsupportedError(
                f"{occurrence.edge}({pair.relation}) is not defined: under uncertainty a fluent "
                "has a probability at each point, and no start or end; a statically determined "
                "fluent that is made of it has both"
            )
        assert isinstance(occurrence, Changes)
        relation = changes_relation(pair.relation, occurrence.initiates)
        return Event(relation, (*pair.args, pair.value, told))

    def _stab(self, step: Stab, rows: Rows) -> Rows:
        """Rows at whose time the pair may hold, with the literal that it does."""
        own = self._uncertainty.fluents[step.pair.relation]
        chosen, groups, is_whole = candidates(step.pair, rows, own.table)
        times = rows.points if is_whole else rows.points[chosen]
        table = own.table
        found = locate(groups, times, table.offsets, table.starts, table.ends)
        kept = np.flatnonzero(found >= 0)
        literals = self._literals(own, groups[kept], times[kept], found[kept])
        rows = rows.take(kept if is_whole else chosen[kept])
        rows = rows.with_columns({self._name(): Column(literals)})
        return rows if is_whole else bind_groups(step.pair, rows, table, groups[kept])

    def _look_up(self, step: Lookup, rows: Rows) -> Rows:
        """Rows joined with uncertain facts, with the literal of each."""
        key = functor(step.goal)
        own = self._uncertainty.predicates[key]
        args = step.goal.args if isinstance(step.goal, Compound) else ()
        pair = Pair(Relation(*key), args, Variable("_"))
        chosen, groups, _ = candidates(pair, rows, own.table)
        rows = rows.take(chosen).with_columns({self._name(): Column(own.literals[groups])})
        return bind_groups(pair, rows, own.table, groups)

    def _literals(
        self, own: Segments, groups: Integers, times: Integers, found: Integers
    ) -> Integers:
        if own.awaited is None:
            return own.literals[found]
        return own.awaited.literals(groups, times, self._uncertainty.facts)

    def _inner(
        self, body: Sequence[PointOperator], rows: Rows
    ) -> tuple[Rows, Integers, Conjunctions]:
        """What comes out of a body for each row, in the order of rows; the row, and the proof."""
        inner = self.run(body, rows.with_columns({ROW: Column(np.arange(rows.length))}))
        own = inner.rows.columns[ROW].expanded(inner.rows.length)
        proofs = inner.conjunctions()
        if not len(own) or np.all(own[1:] >= own[:-1]):
            return inner.rows, own, proofs
        order = np.argsort(own, kind="stable")
        return inner.rows.take(order), own[order], proofs.take(order)

    def _aggregate(self, step: Aggregate, rows: Rows) -> Rows:
        """Each row once for each possible world of what is aggregated for it.

        A world says of every uncertain proof of the body whether it is true. Each row gets the
        aggregate over those that are, and the literals of its world.
        """
        inner, own, proofs = self._inner(step.body, rows)
        literals = self._uncertainty.facts.any_of(np.arange(len(own)), proofs, len(own))
        doubtful = np.flatnonzero(literals != TRUE)
        counts = np.bincount(own[doubtful], minlength=rows.length)
        if int(counts.max(initial=0)) > _MOST_DOUBTFUL:
            raise UnsupportedError(
                f"{step.kind} over {int(counts.max())} uncertain events or fluents at one point is "
                f"too much: with more than {_MOST_DOUBTFUL} there are too many possible worlds"
            )
        worlds = Worlds(counts)
        ranks = np.full(len(own), -1, np.int64)
        ranks[doubtful] = np.arange(len(doubtful)) - worlds.first[own[doubtful]]
        chosen, told = worlds.members(own, ranks)
        some = rows.take(worlds.rows).with_columns(
            {self._name(): Column(column) for column in worlds.literals(literals[doubtful])}
        )
        return aggregated(step, some, inner.take(chosen).with_columns({ROW: Column(told)}))

    def _unless(self, body: Sequence[PointOperator], rows: Rows) -> Rows:
        """Rows with the literal that nothing comes out of the body for them."""
        _, own, proofs = self._inner(body, rows)
        literals = self._uncertainty.facts.any_of(own, proofs, rows.length) ^ 1
        rows = rows.with_columns({self._name(): Column(literals)})
        return rows.where(literals != FALSE).settled()

    def _branches(self, step: Branches, rows: Rows) -> Rows:
        """What comes out of any branch; a literal of another branch is true."""
        outcomes, names = [], []
        for branch in step.branches:
            starts = bool(branch) and isinstance(branch[0], Scan)
            before = len(self._names)
            outcomes.append(self._run(branch, None if starts else rows).settled())
            names.append(self._names[before:])
        every = [name for own in names for name in own]
        padded = [
            part.with_columns({n: _true(part.length) for n in every if n not in own})
            for part, own in zip(outcomes, names, strict=True)
        ]
        return concatenated(padded, self._context)


def _true(length: int) -> Column:
    return Column(np.full(length, TRUE, np.int64))
