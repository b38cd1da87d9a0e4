"""Runs the steps of a rule over uncertain relations: each row is one proof of the rule's head.

Beside its columns a row has literals: the facts that the proof depends on. The table of an
uncertain event has one argument more, with a literal in each row, so a step that joins it brings
the literal. A negated step keeps a row in those worlds in which nothing comes out of the step for
it: it adds one literal, the negation of "some proof is true".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

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
from cernis.evaluate.probabilities.uncertain_terminations import (
    step_of_any_value,
    step_of_value,
    termination_step,
)
from cernis.evaluate.probabilities.worlds import Worlds
from cernis.kernels.array_types import Booleans, Integers
from cernis.kernels.circuit_values import locate
from cernis.kernels.hashing import Numbering
from cernis.operators.collections import ROW
from cernis.operators.context.lasting_results import Memo
from cernis.operators.context.query_context import Context
from cernis.operators.fluent_lookups import bind_groups, candidates
from cernis.operators.rule_pipeline import aggregated, concatenated, run_steps
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
)
from cernis.plan.properties.pattern_needs import Key
from cernis.plan.properties.spoken_relations import SpokenRelations
from cernis.syntax.tree import Compound, Variable, functor
from cernis.tables.columns import Column, Rows
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable

if TYPE_CHECKING:
    from cernis.evaluate.probabilities.courses import Courses, Pairs


_HALF = 31
"""Bits for each of two numbers in one."""

_MOST_DOUBTFUL = 12
"""An aggregate over more uncertain proofs than this has too many possible worlds."""


@dataclass(slots=True)
class Segments:
    """An uncertain fluent: for each instance and value, disjoint intervals that have a literal.

    Where probabilities are awaited, intervals have no literals: each point at which a rule asks for
    the pair is a fact, whose probability becomes known later.
    """

    table: FluentTable
    literals: Integers
    awaited: Awaited | None = None
    known: FactsOfCycle | None = None
    """The facts that rules of the fluent's own cycle have asked for: others ask for the same."""


class FactsOfCycle(Protocol):
    """Facts that pairs hold at points, whose probabilities are known by now."""

    def put(self, literals: Integers, pairs: Integers, times: Integers, facts: Facts) -> None:
        """Write the literals of those pairs and times that there are facts about."""


@dataclass(slots=True)
class Awaited:
    """Facts "the pair holds at the time" that rules have asked for, in the order of asking."""

    nodes: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    _times: Numbering = field(default_factory=Numbering)
    _facts: Numbering = field(default_factory=Numbering)

    def literals(self, pairs: Integers, times: Integers, facts: Facts) -> Integers:
        """The facts that pairs hold at times; for the same pair and time it is the same fact."""
        numbers = self._facts.of((pairs << _HALF) | self._times.of(times))
        more = len(self._facts) - len(self.nodes)
        if more:
            self.nodes = np.concatenate([self.nodes, facts.await_(more)])
        return self.nodes[numbers] * 2

    def is_asked(self, pairs: Integers, times: Integers) -> Booleans:
        """For which pairs and times is there a fact?"""
        return known_keys(self._times, self._facts.keys, pairs, times)

    @property
    def pairs(self) -> Integers:
        """The pair of each fact."""
        return self._facts.keys >> _HALF

    @property
    def times(self) -> Integers:
        """The time of each fact."""
        numbers: Integers = self._facts.keys & ((1 << _HALF) - 1)
        return self._times.keys[numbers]


def known_keys(instants: Numbering, keys: Integers, owners: Integers, times: Integers) -> Booleans:
    """For which owners and times is there a key, made of the owner and the number of the time?"""
    known = instants.keys
    if not len(known):
        return np.zeros(len(owners), np.bool_)
    order = np.argsort(known)
    places = np.minimum(np.searchsorted(known[order], times), len(known) - 1)
    is_known = known[order][places] == times
    has_key: Booleans = is_known & np.isin((owners << _HALF) | order[places], keys)
    return has_key


@dataclass(slots=True)
class Uncertainty:
    """The uncertain relations of a query so far, and the facts that they depend on."""

    facts: Facts = field(default_factory=Facts)
    events: set[Relation] = field(default_factory=set)
    fluents: dict[Relation, Segments] = field(default_factory=dict)
    predicates: dict[tuple[str, int], Segments] = field(default_factory=dict)
    """Background predicates whose facts have probabilities, as fluents that always hold."""
    watched: set[Relation] = field(default_factory=set)
    """Uncertain fluents whose initiations and terminations are tables."""
    ended: set[Relation] = field(default_factory=set)
    """The watched fluents that have a rule which ends any value."""
    bounded: frozenset[Relation] = frozenset()
    """Fluents whose starts or ends rules ask for."""
    edged: set[Relation] = field(default_factory=set)
    """Those of them that are uncertain, and whose starts and ends are tables."""
    is_exact: bool = False
    """Are pairs that rules relate carried together, by their joint distribution?"""
    lasting: list[Integers] = field(default_factory=list)
    """The facts of records on intervals, which are the same at several points."""
    exclusive: frozenset[Relation] = frozenset()
    """Fluents of which rules relate several values, which exclude each other."""
    occurred: dict[Key, EventTable] = field(default_factory=dict)
    """What occurred up to the edge of the window and patterns may need, with literals."""
    held: Mapping[Relation, Pairs] | None = None
    """The pairs that held right after the edge of the window; None at the first query."""
    memo: Memo = field(default_factory=Memo)
    """Results about parts of the plan that can be used again."""

    def enter_courses(self, relation: Relation, courses: Courses) -> None:
        """Enter the courses of a fluent: its probabilities are those of facts from now on."""
        from cernis.evaluate.probabilities.courses import with_facts
        from cernis.evaluate.probabilities.exclusive_values import facts_of_values

        enter = facts_of_values if relation in self.exclusive else with_facts
        self.fluents[relation] = Segments(*enter(courses, self.facts))

    def may_last(self) -> Booleans:
        """Which facts are of records on intervals?"""
        mask = np.zeros(self.facts.count, np.bool_)
        for literals in self.lasting:
            mask[literals >> 1] = True
        mask[0] = False
        return mask

    def is_about(self, part: object) -> bool:
        """Does a part of a plan, which lives as long as the plan, read an uncertain relation?"""
        spoken: SpokenRelations = self.memo.once("spoken", part, lambda: SpokenRelations.of(part))
        return not (
            self.events.isdisjoint(spoken.events)
            and self.fluents.keys().isdisjoint(spoken.fluents)
            and self.predicates.keys().isdisjoint(spoken.predicates)
        )


def with_literals(relation: Relation) -> Relation:
    """The relation of an uncertain event with one argument more, its literal."""
    return Relation(f"uncertain {relation.name}", relation.arity + 1)


def changes_relation(relation: Relation, initiates: bool) -> Relation:
    """The initiations or terminations of an uncertain fluent: arguments, value and literal."""
    kind = "initiations" if initiates else "terminations"
    return Relation(f"{kind} of {relation.name}", relation.arity + 2)


def edge_relation(relation: Relation, edge: str) -> Relation:
    """The starts or ends of an uncertain fluent: arguments, value and literal."""
    return Relation(f"{edge} of {relation.name}", relation.arity + 2)


def literal_table(table: EventTable, literals: Integers) -> EventTable:
    """The table of an uncertain event with its literals, without happenings that are false."""
    whole = EventTable([*table.arguments, literals], [*table.domains, None], table.times)
    possible = literals != FALSE
    return whole if possible.all() else whole.take(np.flatnonzero(possible))


@dataclass(slots=True)
class Proofs:
    """Rows, and the names of those columns that are literals."""

    rows: Rows
    names: tuple[str, ...]

    def conjunctions(self) -> Conjunctions:
        """The literals of each row; the rows must be settled."""
        columns = [self.rows.columns[name].expanded(self.rows.length) for name in self.names]
        return conjunctions(columns, self.rows.length)


class Prover:
    """Runs the steps of a rule, and names the columns of the literals that they add."""

    def __init__(self, uncertainty: Uncertainty, context: Context) -> None:
        self._uncertainty = uncertainty
        self._context = context
        self._names: list[str] = []
        self._last = 0

    def run(self, steps: Sequence[PointOperator], rows: Rows | None = None) -> Proofs:
        """The proofs that a pipeline gives, from some rows or, without any, from its first step."""
        before = len(self._names)
        rows = self._run(steps, rows).settled()
        names = tuple(self._names[before:])
        del self._names[before:]
        return Proofs(rows, names)

    def _run(self, steps: Sequence[PointOperator], rows: Rows | None) -> Rows:
        plain: list[PointOperator] = []
        for step in steps:
            step = self._with_terminations(step)
            if not self._uncertainty.is_about(step):
                plain.append(step)
            elif isinstance(step, Scan | EventJoin):
                plain.append(replace(step, occurrence=self._with_literal(step.occurrence)))
            else:
                rows = run_steps(plain, rows, self._context) if plain else rows
                plain = []
                rows = self._step(step, (rows if rows is not None else Rows(1)).settled())
        if plain or rows is None:
            rows = run_steps(plain, rows, self._context)
        return rows

    def _with_terminations(self, step: PointOperator) -> PointOperator:
        """A step that reads terminations, some of which are of any value, reads their tables."""
        if not isinstance(step, Scan | EventJoin) or not self._reads_open_terminations(
            step.occurrence
        ):
            return step
        terminations: PointOperator = self._uncertainty.memo.once(
            "ended", step, lambda: termination_step(step)
        )
        return terminations

    def _reads_open_terminations(self, occurrence: Occurrence) -> bool:
        if not isinstance(occurrence, Changes) or occurrence.initiates:
            return False
        return occurrence.pair.relation in self._uncertainty.ended

    def _negated_step(self, step: EventAntiJoin, rows: Rows) -> PointOperator:
        """The step that a negation negates."""
        positive = EventJoin(step.occurrence, (), step.span)
        if not self._reads_open_terminations(step.occurrence):
            return positive
        assert isinstance(step.occurrence, Changes)
        value = step.occurrence.pair.value
        is_known = not isinstance(value, Variable) or value.name in rows.columns
        return step_of_value(positive) if is_known else step_of_any_value(positive)

    def _step(self, step: PointOperator, rows: Rows) -> Rows:
        if isinstance(step, Stab):
            return self._stab(step, rows)
        if isinstance(step, AntiStab):
            return self._unless(self._negated_body(step, Stab(step.pair, (), step.span)), rows)
        if isinstance(step, EventAntiJoin):
            return self._unless(self._negated_body(step, self._negated_step(step, rows)), rows)
        if isinstance(step, Except):
            return self._unless(step.body, rows)
        if isinstance(step, Lookup):
            return self._look_up(step, rows)
        if isinstance(step, Exclude):
            return self._unless(
                self._negated_body(step, Lookup(step.goal, (), (), step.span)), rows
            )
        if isinstance(step, Branches):
            return self._branches(step, rows)
        assert isinstance(step, Aggregate)
        return self._aggregate(step, rows)

    def _negated_body(
        self, step: PointOperator, positive: PointOperator
    ) -> tuple[PointOperator, ...]:
        """The steps that a step negates: the same object at every query, to be used as a key."""
        body: tuple[PointOperator, ...] = self._uncertainty.memo.once(
            "negated", step, lambda: (positive,)
        )
        return body

    def _name(self) -> str:
        self._last += 1
        name = f"<fact {self._last}>"
        self._names.append(name)
        return name

    def _with_literal(self, occurrence: Occurrence) -> Event:
        """An occurrence as an event with its literal as one more argument."""
        literal = Variable(self._name())
        if isinstance(occurrence, Event):
            return Event(with_literals(occurrence.relation), (*occurrence.args, literal))
        pair = occurrence.pair
        if isinstance(occurrence, Boundary):
            if pair.relation not in self._uncertainty.edged or occurrence.edge == "startI":
                raise UnsupportedError(
                    f"{occurrence.edge}({pair.relation}) is not defined over uncertain records: "
                    "start and end are, of input and of simple fluents, in rules that these do "
                    "not depend on in turn; a statically determined fluent that is made of it has "
                    "both, too"
                )
            relation = edge_relation(pair.relation, occurrence.edge)
            return Event(relation, (*pair.args, pair.value, literal))
        assert isinstance(occurrence, Changes)
        relation = changes_relation(pair.relation, occurrence.initiates)
        return Event(relation, (*pair.args, pair.value, literal))

    def _stab(self, step: Stab, rows: Rows) -> Rows:
        """Rows at whose time the pair may hold, with the literal that it does."""
        segments = self._uncertainty.fluents[step.pair.relation]
        chosen, groups, is_whole = candidates(step.pair, rows, segments.table)
        times = rows.points if is_whole else rows.points[chosen]
        table = segments.table
        places = locate(groups, times, table.offsets, table.starts, table.ends)
        kept = np.flatnonzero(places >= 0)
        literals = self._literals(segments, groups[kept], times[kept], places[kept])
        rows = rows.take(kept if is_whole else chosen[kept])
        rows = rows.with_columns({self._name(): Column(literals)})
        return rows if is_whole else bind_groups(step.pair, rows, table, groups[kept])

    def _look_up(self, step: Lookup, rows: Rows) -> Rows:
        """Rows joined with uncertain facts, with the literal of each."""
        key = functor(step.goal)
        segments = self._uncertainty.predicates[key]
        args = step.goal.args if isinstance(step.goal, Compound) else ()
        pair = Pair(Relation(*key), args, Variable("_"))
        chosen, groups, _ = candidates(pair, rows, segments.table)
        rows = rows.take(chosen).with_columns({self._name(): Column(segments.literals[groups])})
        return bind_groups(pair, rows, segments.table, groups)

    def _literals(
        self, segments: Segments, groups: Integers, times: Integers, places: Integers
    ) -> Integers:
        if segments.awaited is None:
            literals = segments.literals[places]
            if segments.known is not None:
                segments.known.put(literals, groups, times, self._uncertainty.facts)
            return literals
        return segments.awaited.literals(groups, times, self._uncertainty.facts)

    def _proofs_by_row(
        self, body: Sequence[PointOperator], rows: Rows
    ) -> tuple[Rows, Integers, Conjunctions]:
        """The rows that a body gives for each row, in their order; these rows, and the proofs."""
        inner = self.run(body, rows.with_columns({ROW: Column(np.arange(rows.length))}))
        row_numbers = inner.rows.columns[ROW].expanded(inner.rows.length)
        proofs = inner.conjunctions()
        if not len(row_numbers) or np.all(row_numbers[1:] >= row_numbers[:-1]):
            return inner.rows, row_numbers, proofs
        order = np.argsort(row_numbers, kind="stable")
        return inner.rows.take(order), row_numbers[order], proofs.take(order)

    def _aggregate(self, step: Aggregate, rows: Rows) -> Rows:
        """Repeat each row once for each possible world of the proofs that are aggregated for it.

        In a world, each uncertain proof of the body is either true or false. The row gets the
        aggregate over the true ones, and the literals of its world.
        """
        inner, row_numbers, proofs = self._proofs_by_row(step.body, rows)
        literals = self._uncertainty.facts.any_of(
            np.arange(len(row_numbers)), proofs, len(row_numbers)
        )
        doubtful = np.flatnonzero(literals != TRUE)
        counts = np.bincount(row_numbers[doubtful], minlength=rows.length)
        if int(counts.max(initial=0)) > _MOST_DOUBTFUL:
            raise UnsupportedError(
                f"{step.kind} over {int(counts.max())} uncertain events or fluents at one point is "
                f"too much: with more than {_MOST_DOUBTFUL} there are too many possible worlds"
            )
        worlds = Worlds(counts)
        ranks = np.full(len(row_numbers), -1, np.int64)
        ranks[doubtful] = np.arange(len(doubtful)) - worlds.first[row_numbers[doubtful]]
        chosen, world_rows = worlds.members(row_numbers, ranks)
        some = rows.take(worlds.rows).with_columns(
            {self._name(): Column(column) for column in worlds.literals(literals[doubtful])}
        )
        return aggregated(step, some, inner.take(chosen).with_columns({ROW: Column(world_rows)}))

    def _unless(self, body: Sequence[PointOperator], rows: Rows) -> Rows:
        """Rows with the literal that the body gives nothing for them."""
        _, row_numbers, proofs = self._proofs_by_row(body, rows)
        literals = self._uncertainty.facts.any_of(row_numbers, proofs, rows.length) ^ 1
        rows = rows.with_columns({self._name(): Column(literals)})
        return rows.where(literals != FALSE).settled()

    def _branches(self, step: Branches, rows: Rows) -> Rows:
        """The rows of all branches; literals of other branches are true in a row."""
        outcomes, names = [], []
        for branch in step.branches:
            starts = bool(branch) and isinstance(branch[0], Scan)
            before = len(self._names)
            outcomes.append(self._run(branch, None if starts else rows).settled())
            names.append(self._names[before:])
        every = [name for branch_names in names for name in branch_names]
        padded = [
            part.with_columns({n: _true(part.length) for n in every if n not in branch_names})
            for part, branch_names in zip(outcomes, names, strict=True)
        ]
        return concatenated(padded)


def _true(length: int) -> Column:
    return Column(np.full(length, TRUE, np.int64))
