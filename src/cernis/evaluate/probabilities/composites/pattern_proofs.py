"""Event patterns over uncertain records: each match is a proof.

Beside its columns a match has a literal: that all it is made of occurs, and that nothing which must
be absent does. Records are facts of their own at whatever point they are, so a record that several
matches are made of is one fact for all of them. Of occurrences with the same arguments and interval
there is one, the disjunction of its matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby
from typing import Final

import numpy as np

from cernis.check.model import Boundary, Event, Pair, Relation
from cernis.check.rewrites.validity import END, START
from cernis.errors import UnsupportedError
from cernis.evaluate.probabilities.circuits import Circuits
from cernis.evaluate.probabilities.composites.aggregated_proofs import slide_uncertain
from cernis.evaluate.probabilities.composites.selected_proofs import (
    FittingPairs,
    all_of,
    selected_chronologically,
    selected_recent,
)
from cernis.evaluate.probabilities.proof_groups import Actions, group_actions, probabilities_now
from cernis.evaluate.probabilities.proofs import (
    Prover,
    Uncertainty,
    edge_relation,
    with_literals,
)
from cernis.evaluate.probabilities.uncertain_events import put_happenings
from cernis.evaluate.probabilities.uncertain_facts import (
    FALSE,
    TRUE,
    Conjunctions,
    Facts,
    conjunctions,
    stacked,
)
from cernis.kernels.array_types import Array, Floats, Integers
from cernis.kernels.order import stable_order
from cernis.operators.collections import ROW
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.rule_heads import head_columns
from cernis.operators.distinct import distinct
from cernis.operators.occurrences import bound_rows, closed_intervals
from cernis.operators.patterns import pattern_operators
from cernis.operators.patterns.derived_events import ended_matches, with_head_values
from cernis.operators.patterns.matches import called, starts_of
from cernis.operators.patterns.pairing import (
    Sides,
    blocking_rows,
    combined_rows,
    selection_order,
    without_absent,
)
from cernis.operators.rule_pipeline import concatenated
from cernis.plan.logical import Definition, Match, PointRule, Stratum, parts_of
from cernis.plan.pattern_steps import (
    Around,
    Choice,
    Conditions,
    Instant,
    Join,
    Occurrences,
    Refine,
    Slide,
    Step,
    StepUse,
)
from cernis.plan.properties.pattern_needs import history_key
from cernis.syntax.tree import Variable
from cernis.tables.columns import Column, Rows
from cernis.tables.event_tables import EventTable
from cernis.tables.event_tables import stacked as stacked_tables

LITERAL: Final = "<literal>"
"""The column with the literal of a match."""
_OTHER: Final = "<literal of the right>"
_ABSENT: Final = "<literal of what is absent>"
_PAIR: Final = "<pair>"
"""The column with the number of the pair that a match is made of, under a policy."""


def has_patterns(definition: Definition) -> bool:
    """Are rules of a definition patterns?"""
    return any(isinstance(rule, Match) for rule in definition.rules)


def refuse_patterns(stratum: Stratum) -> None:
    """Raise an error for recursive patterns that are not defined over uncertain records."""
    recursion = stratum.recursion if stratum.immediate else None
    if recursion is not None and not recursion.grows:
        raise UnsupportedError(
            f"{', '.join(map(str, stratum.relations))}: this is not defined over uncertain records:"
            " a pattern that builds upon itself by a policy, an aggregate, the absence of what it "
            "defines, or rules that are no patterns; recursion that only adds occurrences is"
        )


def occurrence_relation(relation: Relation) -> Relation:
    """The occurrences of an uncertain pattern: arguments and literal, with starts."""
    return Relation(f"uncertain occurrences of {relation.name}", relation.arity + 1)


class PatternProver:
    """Evaluates the steps of patterns over uncertain events; each step once a query."""

    def __init__(self, uncertainty: Uncertainty, context: Context) -> None:
        self._uncertainty = uncertainty
        self._context = context
        self._evaluated: dict[int, list[Rows]] = {}

    def matches(self, part: StepUse) -> list[Rows]:
        """The matches of a part under the names it has there, each with its literal."""
        known = self._evaluated.get(id(part.step))
        if known is None:
            known = self._evaluated[id(part.step)] = self._rows_of(part.step)
        return [
            rows.with_columns({LITERAL: whole.columns[LITERAL]})
            for rows, whole in zip(called(part, known), known, strict=True)
        ]

    def forget(self, steps: Iterable[Step]) -> None:
        """Forget the matches of steps whose parts have changed."""
        for step in steps:
            self._evaluated.pop(id(step), None)

    def _rows_of(self, step: Step) -> list[Rows]:
        if not self._uncertainty.is_about(step):
            certain = pattern_operators.matches(StepUse(step, step.names), self._context)
            return [rows.with_columns({LITERAL: _true(rows.length)}) for rows in certain]
        if isinstance(step, Occurrences):
            return [self._occurrences(step)]
        if isinstance(step, Choice):
            return self._either(step)
        if isinstance(step, Refine):
            parts = self.matches(step.part)
            for are_slides, around in groupby(step.around, lambda each: isinstance(each, Slide)):
                if are_slides:
                    slides = [each for each in around if isinstance(each, Slide)]
                    parts = [self._slid(slides, concatenated(parts), step.part.names)]
                    continue
                for each in around:
                    parts = [self._refined(each, rows) for rows in parts]
            return parts
        assert isinstance(step, Join)
        assert not isinstance(step, Instant)
        return self._joined(step)

    def _occurrences(self, step: Occurrences) -> Rows:
        """One row for each occurrence: of those kept from before the window, and of the window."""
        atom = step.atom
        table = uncertain_occurrences(atom, self._context)
        before = self._uncertainty.occurred.get(history_key(atom))
        table = table if before is None else stacked_tables([before, table])
        pair = atom.pair if isinstance(atom, Boundary) else atom
        args = list(pair.args) if isinstance(pair, Event) else [*pair.args, pair.value]
        ends = Column(table.times)
        starts = ends if table.starts is None else Column(table.starts)
        rows = Rows(len(table), {START: starts}, ends)
        return bound_rows([*args, Variable(LITERAL)], table, rows).settled()

    def _either(self, step: Choice) -> list[Rows]:
        tables: dict[frozenset[str], list[Rows]] = {}
        for rows in (rows for part in step.parts for rows in self.matches(part)):
            tables.setdefault(frozenset(rows.columns), []).append(rows)
        return [concatenated(alike) for alike in tables.values()]

    def _refined(self, around: Around, rows: Rows, name: str = LITERAL) -> Rows:
        """What a condition leaves of matches; it may rest on uncertain background facts.

        The column of that name has the literal of each match.
        """
        if not self._uncertainty.is_about(around):
            return pattern_operators.refined(around, rows, self._context)
        assert isinstance(around, Conditions)
        assert rows.times is not None
        proofs = Prover(self._uncertainty, self._context).run(
            around.steps, rows.with_columns({END: rows.times})
        )
        names = {*proofs.names, END}
        columns = {
            name: column for name, column in proofs.rows.columns.items() if name not in names
        }
        kept = Rows(proofs.rows.length, columns, proofs.rows.times)
        literals = [proofs.rows.columns[n].expanded(kept.length) for n in (name, *proofs.names)]
        return kept.with_columns({name: Column(all_of(literals, self._uncertainty.facts))})

    def _slid(self, steps: Sequence[Slide], rows: Rows, names: Sequence[str]) -> Rows:
        """Matches with each outcome of aggregates over their windows."""
        facts, context = self._uncertainty.facts, self._context
        return slide_uncertain(steps, self._once(rows, names), names, context, facts, LITERAL)

    def _joined(self, step: Join) -> list[Rows]:
        lefts, rights = self.matches(step.left), self.matches(step.right)
        absent = [] if step.absent is None else self.matches(step.absent.part)
        absent = [_renamed(rows, _ABSENT) for rows in absent]
        if step.consumption != "unrestricted":
            return self._selected(step, lefts, rights, absent)
        return [
            self._fitting(step, left, right, *self._pairs(step, left, right, absent), absent)
            for left in lefts
            for right in rights
        ]

    def _pairs(
        self, step: Join, left: Rows, right: Rows, absent: list[Rows]
    ) -> tuple[Integers, Integers]:
        """The pairs of matches of both sides that the operator and certain absence allow."""
        none = np.empty(0, np.int64)
        lefts, rights = Sides(step, left, right, self._context.caches).pairs(none)
        certain = [rows for rows in map(_certain, absent) if rows.length]
        is_sure = step.absent is not None and not self._uncertainty.is_about(step.absent.around)
        if certain and is_sure:
            chosen = without_absent(
                step, left, right, lefts, rights, certain, self._context, pattern_operators.refined
            )
            lefts, rights = lefts[chosen], rights[chosen]
        return lefts, rights

    def _fitting(
        self, step: Join, left: Rows, right: Rows, lefts: Integers, rights: Integers,
        absent: list[Rows], has_sides: bool = True,
    ) -> Rows:  # fmt: skip
        """Pairs that fit in some world. The literal is that they fit; of both sides, if it has."""
        rows = combined_rows(step, left, _renamed(right, _OTHER), lefts, rights)
        gaps = left.points[lefts], starts_of(right)[rights]
        literals = [rows.columns[name].expanded(rows.length) for name in (LITERAL, _OTHER)]
        literals = literals if has_sides else []
        literals.append(self._nothing_between(step, rows, gaps, absent))
        literal = all_of(literals, self._uncertainty.facts)
        columns = {name: column for name, column in rows.columns.items() if name != _OTHER}
        columns |= {} if has_sides else {_PAIR: Column(np.arange(rows.length))}
        rows = Rows(rows.length, {**columns, LITERAL: Column(literal)}, rows.times)
        rows = rows.where(literal != FALSE).settled()
        for around in step.around:
            rows = self._refined(around, rows)
        return rows

    def _selected(
        self, step: Join, left: list[Rows], right: list[Rows], absent: list[Rows]
    ) -> list[Rows]:
        """The pairs that a policy selects in some world, among all that fit."""
        facts = self._uncertainty.facts
        if step.consumption == "chronological":
            left = [self._once(rows, step.left.names) for rows in left]
            right = [self._once(rows, step.right.names) for rows in right]
        parts, lefts, rights, fitting = [], [], [], []
        begins = [*accumulate((rows.length for rows in left), initial=0)]
        right_begins = [*accumulate((rows.length for rows in right), initial=0)]
        for one, begin in zip(left, begins, strict=False):
            for other, right_begin in zip(right, right_begins, strict=False):
                pairs = self._pairs(step, one, other, absent)
                rows = self._fitting(step, one, other, *pairs, absent, has_sides=False)
                numbers, literals = self._literals_of_pairs(rows)
                parts.append((rows, np.searchsorted(numbers, _column(rows, _PAIR))))
                lefts.append(pairs[0][numbers] + begin)
                rights.append(pairs[1][numbers] + right_begin)
                fitting.append(literals)
        order, triggers = selection_order(
            step, left, right, np.concatenate(lefts), np.concatenate(rights)
        )
        sides = np.concatenate([_column(rows, LITERAL) for rows in (*left, *right)])
        both = np.concatenate(lefts), np.concatenate(rights) + begins[-1]
        others = np.where(triggers == both[1], both[0], both[1])
        candidates = FittingPairs(
            triggers, others, sides[triggers], sides[others], np.concatenate(fitting)
        )
        by_policy = selected_recent if step.consumption == "recent" else selected_chronologically
        selected = np.empty(len(order), np.int64)
        selected[order] = by_policy(candidates.take(order), facts)
        ends = np.cumsum([len(numbers) for numbers in lefts])[:-1]
        return [
            self._of_selected(rows, literals[places])
            for (rows, places), literals in zip(parts, np.split(selected, ends), strict=True)
        ]

    def _literals_of_pairs(self, rows: Rows) -> tuple[Integers, Integers]:
        """The pairs that matches are made of, and the literal of each that it fits."""
        pairs = _column(rows, _PAIR)
        numbers, which = np.unique(pairs, return_inverse=True)
        order = stable_order(which.ravel(), len(numbers))
        proofs = conjunctions([_column(rows, LITERAL)[order]], rows.length)
        return numbers, self._uncertainty.facts.any_of(which.ravel()[order], proofs, len(numbers))

    def _of_selected(self, rows: Rows, selected: Integers) -> Rows:
        """The matches that are made of pairs, each with the literal that its pair is selected."""
        literal = all_of([_column(rows, LITERAL), selected], self._uncertainty.facts)
        columns = {name: column for name, column in rows.columns.items() if name != _PAIR}
        rows = Rows(rows.length, {**columns, LITERAL: Column(literal)}, rows.times)
        return rows.where(literal != FALSE).settled()

    def _once(self, rows: Rows, names: Iterable[str]) -> Rows:
        """Matches of the same values on the same interval as one, true if one of them is."""
        columns = [rows.columns[name] for name in names if name in rows.columns]
        values = [column.expanded(rows.length) for column in columns]
        domains = [column.domain for column in columns]
        first, which = distinct([*values, starts_of(rows), rows.points], [*domains, None, None])
        if len(first) == rows.length:
            return rows
        order = stable_order(which, len(first))
        proofs = conjunctions([_column(rows, LITERAL)[order]], rows.length)
        literals = self._uncertainty.facts.any_of(which[order], proofs, len(first))
        return rows.take(first).with_columns({LITERAL: Column(literals)})

    def _nothing_between(
        self, step: Join, rows: Rows, gaps: tuple[Integers, Integers], absent: list[Rows]
    ) -> Integers:
        """The literal that nothing which must be absent lies in the gap of each pair."""
        numbers, literals = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for others in absent:
            assert step.absent is not None
            blocking = blocking_rows(
                step.absent, rows, *gaps, others, self._context,
                lambda around, blocking, _: self._refined(around, blocking, _ABSENT),
            )  # fmt: skip
            numbers.append(blocking.columns[ROW].expanded(blocking.length))
            literals.append(blocking.columns[_ABSENT].expanded(blocking.length))
        groups, some = np.concatenate(numbers), np.concatenate(literals)
        order = stable_order(groups, rows.length) if len(groups) else groups
        proofs = conjunctions([some[order]], len(order))
        return self._uncertainty.facts.any_of(groups[order], proofs, rows.length) ^ 1


def _true(length: int) -> Column:
    return Column(np.full(length, TRUE, np.int64))


def _renamed(rows: Rows, name: str) -> Rows:
    """The rows with another name for their literals."""
    columns = {name if own == LITERAL else own: c for own, c in rows.columns.items()}
    return Rows(rows.length, columns, rows.times)


def _certain(absent: Rows) -> Rows:
    """What is sure to be there of what must be absent."""
    sure = absent.columns[_ABSENT].expanded(absent.length) == TRUE
    return absent.take(np.flatnonzero(sure))


def _column(rows: Rows, name: str) -> Integers:
    """A column of numbers, one for each row."""
    return rows.columns[name].expanded(rows.length)


def related_fluents(definition: Definition) -> set[Relation]:
    """The fluents whose intervals patterns of a definition are made of."""
    atoms = (part.atom for part in parts_of(definition.rules) if isinstance(part, Occurrences))
    return {atom.relation for atom in atoms if isinstance(atom, Pair)}


def uncertain_occurrences(atom: Event | Boundary | Pair, context: Context) -> EventTable:
    """The occurrences of an uncertain atom that end inside of the window, with their literals.

    The intervals of a fluent are the credible ones, which are in the context and certain.
    """
    tables = context.relations.events
    if isinstance(atom, Pair):
        held = closed_intervals(atom, context)
        literals = np.full(len(held), TRUE, np.int64)
        columns, domains = [*held.arguments, literals], [*held.domains, None]
        return EventTable(columns, domains, held.times, held.starts)
    if isinstance(atom, Event):
        with_starts = tables.get(occurrence_relation(atom.relation))
        return tables[with_literals(atom.relation)] if with_starts is None else with_starts
    edges = edge_relation(atom.pair.relation, atom.edge)
    if edges not in tables:
        raise UnsupportedError(
            f"{atom.edge}({atom.pair.relation}) is not defined over uncertain records in a pattern"
        )
    return tables[edges]


def evaluate_patterns(
    definition: Definition, context: Context, uncertainty: Uncertainty, prover: PatternProver
) -> None:
    """Put the occurrences of an event that has patterns into the context, with their literals."""
    relation = definition.relation
    domains = context.encoding.events[relation]
    parts = list(_occurrences_of(definition, context, uncertainty, prover))
    columns = [np.concatenate(each) for each in zip(*(part[0] for part in parts), strict=True)]
    starts = np.concatenate([part[1] for part in parts])
    ends = np.concatenate([part[2] for part in parts])
    proofs = stacked([part[3] for part in parts])
    first, which = distinct([*columns, starts, ends], [*domains, None, None])
    order = stable_order(which, len(first))
    literals = uncertainty.facts.any_of(which[order], proofs.take(order), len(first))
    columns = [column[first] for column in columns]
    starts, ends = starts[first], ends[first]
    context.relations.events[occurrence_relation(relation)] = EventTable(
        [*columns, literals], [*domains, None], ends, starts
    )
    put_happenings(
        with_literals(relation), columns, domains, ends, conjunctions([literals], len(literals)),
        context.relations, uncertainty,
    )  # fmt: skip
    uncertainty.events.add(relation)


def _occurrences_of(
    definition: Definition, context: Context, uncertainty: Uncertainty, prover: PatternProver
) -> Iterable[tuple[list[Array], Integers, Integers, Conjunctions]]:
    """The arguments, starts, ends and proofs that each rule gives."""
    domains = context.encoding.events[definition.relation]
    for rule in definition.rules:
        if isinstance(rule, PointRule):
            proofs = Prover(uncertainty, context).run(rule.steps)
            points = proofs.rows.points
            arguments = head_columns(rule.head.args, proofs.rows, domains)
            yield arguments, points, points, proofs.conjunctions()
        else:
            assert isinstance(rule, Match)
            for matched in ended_matches(prover.matches(rule.part), context):
                rows = with_head_values(rule, matched)
                literals = rows.columns[LITERAL].expanded(rows.length)
                arguments = head_columns(rule.head.args, rows, domains)
                proofs_of = conjunctions([literals], rows.length)
                yield arguments, starts_of(rows), rows.points, proofs_of


def literal_chances(literals: Integers, facts: Facts, circuits: Circuits, name: str) -> Floats:
    """The probability of each of some literals; `name` is for errors."""
    of_nodes = facts.chances[literals >> 1]
    chances: Floats = np.where(literals & 1, 1 - of_nodes, of_nodes)
    composite = np.flatnonzero(np.isnan(chances))
    count = len(composite)
    actions = Actions(
        np.arange(count), np.zeros(count, np.int64), np.zeros(count, np.int64),
        conjunctions([literals[composite]], count),
    )  # fmt: skip
    groups = group_actions(actions, facts, circuits, name)
    chances[composite] = probabilities_now(groups, facts, circuits)
    return chances
