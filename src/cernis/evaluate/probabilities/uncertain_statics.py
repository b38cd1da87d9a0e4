"""Statically determined fluents under uncertainty: a formula over their parts at each point.

A list of intervals is a list of pieces, each with the literal that the list covers it. Operations
on lists cut their pieces where any of them begins or ends, and combine the literals of each piece.
The probability of a pair is that of its literal, in which its parts are facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from cernis.check.model import Pair, Relation
from cernis.evaluate.probabilities.circuits import Circuits
from cernis.evaluate.probabilities.courses import Courses, Pairs, course_of_segments
from cernis.evaluate.probabilities.proof_groups import Actions, group_actions, probabilities_now
from cernis.evaluate.probabilities.proofs import Uncertainty
from cernis.evaluate.probabilities.uncertain_facts import FALSE, TRUE, Conjunctions, Facts
from cernis.evaluate.probabilities.uncertain_fluents import first_point
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.kernels.order import stable_order
from cernis.knowledge.ground_values import value
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.grounding import allowed
from cernis.operators.definitions.rule_heads import head_column
from cernis.operators.distinct import distinct
from cernis.operators.intervals.bindings import distinct_rows, instances
from cernis.operators.intervals.interval_lists import matching_groups
from cernis.operators.rule_pipeline import concatenated
from cernis.plan.logical import Combine, Definition, Fetch, IntervalRule
from cernis.syntax.tree import Variable
from cernis.tables.columns import Rows
from cernis.tables.interval_tables import INFINITY, FluentTable, expanded

_MOST_KEYS: Final = 1 << 62


@dataclass(slots=True)
class LiteralPieces:
    """Pieces of time with literals, by owner; those of an owner are disjoint and in order."""

    owner: Integers
    starts: Integers
    ends: Integers
    literals: Integers

    def take(self, rows: Array) -> LiteralPieces:
        """Some of the pieces."""
        columns = (self.owner, self.starts, self.ends, self.literals)
        return LiteralPieces(*(column[rows] for column in columns))

    def since(self, first: int) -> LiteralPieces:
        """The parts of the pieces from a time on."""
        cut = replace(self, starts=np.maximum(self.starts, first))
        return cut.take(np.flatnonzero(cut.ends > cut.starts))


@dataclass(slots=True)
class _Cut:
    """Several lists, cut where any of them begins or ends.

    `pieces` have no literals yet. `covers` are the rows of the lists, sorted by the piece that they
    cover: `places` are these pieces.
    """

    pieces: LiteralPieces
    covers: LiteralPieces
    places: Integers
    numbers: Integers
    """The list of each cover."""


def _cut(lists: list[LiteralPieces]) -> _Cut:
    owner, starts, ends, literals = (
        np.concatenate([getattr(each, name) for each in lists])
        for name in ("owner", "starts", "ends", "literals")
    )
    numbers = np.repeat(np.arange(len(lists)), [len(each.owner) for each in lists])
    owners, times, places = _distinct_edges(np.tile(owner, 2), np.concatenate([starts, ends]))
    low, high = places.reshape(2, -1)
    covers = np.repeat(np.arange(len(owner)), high - low)
    places = expanded(low, high - low)
    order = stable_order(places, len(times))
    covers, places = covers[order], places[order]
    piece_ends = np.append(times[1:], INFINITY)[: len(times)]
    pieces = LiteralPieces(owners, times, piece_ends, np.full(len(times), FALSE, np.int64))
    rows = LiteralPieces(owner, starts, ends, literals).take(covers)
    return _Cut(pieces, rows, places, numbers[covers])


def _distinct_edges(owners: Integers, edges: Integers) -> tuple[Integers, Integers, Integers]:
    """Edges in the order of owners and time, each once; and the place of each among them."""
    if not len(edges):
        return owners, edges, edges
    is_open = edges == INFINITY
    least = int(edges.min())
    last = max(int(np.where(is_open, least, edges).max()) + 1, least)
    span = last - least + 1
    if (int(owners.max()) + 1) * span < _MOST_KEYS:
        # Lists are sorted, and sorting keys that are a few ascending runs is to merge them.
        keys = owners * span + (np.minimum(edges, last) - least)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        is_new = np.append(True, keys[1:] != keys[:-1])
    else:
        order = np.lexsort((edges, owners))
        is_new = (owners[order][1:] != owners[order][:-1]) | (edges[order][1:] != edges[order][:-1])
        is_new = np.append(True, is_new)
    places = np.empty(len(order), np.int64)
    places[order] = np.cumsum(is_new) - 1
    first = order[is_new]
    return owners[first], edges[first], places


def united(lists: list[LiteralPieces], facts: Facts) -> LiteralPieces:
    """Where at least one of the lists, which may overlap themselves, is true."""
    cut = _cut(lists)
    cut.pieces.literals = _any_of(cut, np.ones(len(cut.places), np.bool_), facts)
    return _possible(cut.pieces)


def _any_of(cut: _Cut, chosen: Booleans, facts: Facts) -> Integers:
    """For each piece, the literal that one of the chosen covers is true."""
    literals = cut.covers.literals[chosen]
    proofs = Conjunctions(
        np.append(0, np.cumsum(literals != TRUE)).astype(np.int64), literals[literals != TRUE]
    )
    return facts.any_of(cut.places[chosen], proofs, len(cut.pieces.owner))


def intersected(lists: list[LiteralPieces], facts: Facts) -> LiteralPieces:
    """Where all lists are true."""
    cut = _cut(lists)
    counts = np.bincount(cut.places, minlength=len(cut.pieces.owner))
    covered = counts[cut.places] == len(lists)
    pieces = np.flatnonzero(counts == len(lists))
    return _conjoined(cut.pieces.take(pieces), cut.covers.literals[covered], len(lists), facts)


def without(base: LiteralPieces, others: list[LiteralPieces], facts: Facts) -> LiteralPieces:
    """Where the base is true, and none of the others."""
    cut = _cut([base, *others])
    is_base = cut.numbers == 0
    other = _any_of(cut, ~is_base, facts) ^ 1
    places = cut.places[is_base]
    literals = np.stack([cut.covers.literals[is_base], other[places]], axis=1)
    possible = np.flatnonzero(literals[:, 1] != FALSE)
    pieces = cut.pieces.take(places[possible])
    return _conjoined(pieces, literals[possible].ravel(), 2, facts)


def _conjoined(
    pieces: LiteralPieces, literals: Integers, count: int, facts: Facts
) -> LiteralPieces:
    """Pieces with the conjunctions of literals, so many for each."""
    is_said = literals != TRUE
    offsets = np.append(0, np.cumsum(is_said))[:: max(count, 1)].astype(np.int64)
    proofs = Conjunctions(offsets, literals[is_said])
    size = len(pieces.owner)
    pieces.literals = facts.any_of(np.arange(size), proofs, size)
    return _possible(pieces)


def _possible(pieces: LiteralPieces) -> LiteralPieces:
    return pieces.take(np.flatnonzero(pieces.literals != FALSE))


class _Lists:
    """Evaluates the steps of a rule for rows: a list for each name."""

    def __init__(
        self, rows: Rows, tables: Mapping[Relation, FluentTable], context: Context,
        uncertainty: Uncertainty,
    ) -> None:  # fmt: skip
        self._rows = rows
        self._tables = tables
        self._context = context
        self._uncertainty = uncertainty
        self._first = _first_seen(context, uncertainty)

    def output(self, rule: IntervalRule) -> LiteralPieces:
        """What a rule gives for each row."""
        lists: dict[str, LiteralPieces] = {}
        for step in rule.steps:
            if isinstance(step, Fetch):
                lists[step.output] = self._fetched(step.pair)
            elif isinstance(step, Combine):
                lists[step.output] = self._combined(step, [lists[n] for n in step.inputs])
        return lists[rule.output]

    def _fetched(self, pair: Pair) -> LiteralPieces:
        """The pieces of a pair for each row; several instances of a row are united."""
        table = self._tables.get(pair.relation)
        none = np.empty(0, np.int64)
        if table is None or not len(table):
            return LiteralPieces(none, none, none, none)
        chosen, groups = matching_groups(pair, self._rows, table)
        lengths = table.offsets[groups + 1] - table.offsets[groups]
        places = expanded(table.offsets[groups], lengths)
        segments = self._uncertainty.fluents.get(pair.relation)
        literals = np.zeros(len(table.starts), np.int64) if segments is None else segments.literals
        fetched = LiteralPieces(
            np.repeat(chosen, lengths), table.starts[places], table.ends[places], literals[places]
        ).since(self._first)
        if np.all(chosen[1:] > chosen[:-1]):
            return fetched
        return united([fetched], self._uncertainty.facts)

    def _combined(self, step: Combine, inputs: list[LiteralPieces]) -> LiteralPieces:
        facts = self._uncertainty.facts
        if step.operator == "complement_all":
            return without(self._always(), inputs, facts)
        if not inputs:
            none = np.empty(0, np.int64)
            return LiteralPieces(none, none, none, none)
        if step.operator == "union_all":
            return united(inputs, facts)
        if step.operator == "intersect_all":
            return intersected(inputs, facts)
        assert step.operator == "relative_complement_all"
        return without(inputs[0], inputs[1:], facts) if len(inputs) > 1 else inputs[0]

    def _always(self) -> LiteralPieces:
        count = self._rows.length
        return LiteralPieces(
            np.arange(count), np.full(count, self._first), np.full(count, INFINITY),
            np.full(count, TRUE, np.int64),
        )  # fmt: skip


def _first_seen(context: Context, uncertainty: Uncertainty) -> int:
    """The first point that follows from the window; between two windows what was so goes on."""
    window = context.window
    return max(first_point(context, uncertainty), window.forgotten + window.tick)


@dataclass(slots=True)
class _HeadPieces:
    """The pieces that a rule gives, with the arguments and value of each."""

    columns: list[Array]
    pieces: LiteralPieces


def _rule_pieces(
    rule: IntervalRule, definition: Definition, context: Context, uncertainty: Uncertainty
) -> _HeadPieces | None:
    needs, tables = rule.needs, context.relations.fluents
    parts = [
        instances(rule, needed, definition.groundings, context) for needed in needs.alternatives
    ]
    rows = concatenated(parts)
    if len(parts) > 1 or needs.may_repeat:
        rows = distinct_rows(rows)
    if not rows.length:
        return None
    pieces = _Lists(rows, tables, context, uncertainty).output(rule)
    domains, value_domain = context.encoding.fluents[rule.head.relation]
    heads = zip((*rule.head.args, rule.head.value), (*domains, value_domain), strict=True)
    columns = [head_column(term, rows, domain)[pieces.owner] for term, domain in heads]
    return _HeadPieces(columns, pieces)


def evaluate_static_chances(
    definition: Definition, context: Context, uncertainty: Uncertainty, circuits: Circuits
) -> Courses:
    """The course of each pair of a statically determined fluent; its rules add up."""
    seen = _with_possible(context, uncertainty)
    rules = [rule for rule in definition.rules if isinstance(rule, IntervalRule)]
    heads = [_rule_pieces(rule, definition, seen, uncertainty) for rule in rules]
    parts = [head for head in heads if head is not None]
    gone = _before_window(definition, context, uncertainty)
    columns, (starts, ends, literals) = _stacked([*parts, gone])
    domains, value_domain = context.encoding.fluents[definition.relation]
    first, which = distinct(columns, [*domains, value_domain]) if len(starts) else (starts, starts)
    *arguments, values = (column[first] for column in columns)
    pairs = Pairs(arguments, values, domains, value_domain, np.zeros(len(first)))
    pieces = LiteralPieces(which.astype(np.int64), starts, ends, literals)
    pieces = _without_overlaps(pieces, len(first), uncertainty.facts)
    pieces = pieces.take(np.flatnonzero(_allowed(definition, pairs, context)[pieces.owner]))
    return _courses(definition, pairs, pieces, uncertainty.facts, circuits)


def _without_overlaps(pieces: LiteralPieces, owners: int, facts: Facts) -> LiteralPieces:
    """The pieces sorted by owner and time, where some may overlap."""
    owner = pieces.owner
    if (owner[1:] < owner[:-1]).any():
        pieces = pieces.take(stable_order(owner, owners))
        owner = pieces.owner
    follows = pieces.starts[1:] >= pieces.ends[:-1]
    if (follows | (owner[1:] != owner[:-1])).all():
        return pieces
    return united([pieces], facts)


def _stacked(
    parts: list[_HeadPieces],
) -> tuple[list[Array], tuple[Integers, Integers, Integers]]:
    """The columns of all parts; and the starts, ends and literals."""
    columns = [np.concatenate(each) for each in zip(*(part.columns for part in parts), strict=True)]
    starts, ends, literals = (
        np.concatenate([getattr(part.pieces, name) for part in parts])
        for name in ("starts", "ends", "literals")
    )
    return columns, (starts, ends, literals)


def _before_window(
    definition: Definition, context: Context, uncertainty: Uncertainty
) -> _HeadPieces:
    """What goes on between two windows, as the query before has left it: a fact for each pair."""
    none = np.empty(0, np.int64)
    held = (uncertainty.held or {}).get(definition.relation)
    start, end = first_point(context, uncertainty), _first_seen(context, uncertainty)
    if held is None or start >= end:
        pieces = LiteralPieces(none, none, none, none)
        return _HeadPieces([none] * (definition.relation.arity + 1), pieces)
    held = held.take(np.flatnonzero(_defined_values(definition, held)))
    count = len(held)
    pieces = LiteralPieces(
        np.arange(count), np.full(count, start), np.full(count, end),
        uncertainty.facts.add(held.initial),
    )  # fmt: skip
    return _HeadPieces([*held.arguments, held.values], pieces)


def _defined_values(definition: Definition, pairs: Pairs) -> Booleans:
    """The pairs of values that this definition's rules are about; others are defined elsewhere."""
    rules = [rule for rule in definition.rules if isinstance(rule, IntervalRule)]
    if any(isinstance(rule.head.value, Variable) for rule in rules):
        return np.ones(len(pairs), np.bool_)
    domain = pairs.value_domain
    held = pairs.values.tolist() if domain is None else domain.decode(pairs.values)
    named = [value(rule.head.value) for rule in rules]
    same = [any(type(v) is type(own) and v == own for own in named) for v in held]
    return np.array(same, np.bool_)


def _with_possible(context: Context, uncertainty: Uncertainty) -> Context:
    """The context, in which uncertain fluents have all the intervals in which they may hold."""
    fluents = {relation: _held(each.table) for relation, each in uncertainty.fluents.items()}
    relations = replace(
        context.relations, fluents=context.relations.fluents | fluents, open_at_query={}
    )
    return replace(context, relations=relations, caches=context.caches.for_other_tables())


def _held(table: FluentTable) -> FluentTable:
    """The table without pairs that hold nowhere, which are no instances of anything."""
    some = np.flatnonzero(np.diff(table.offsets))
    if len(some) == len(table):
        return table
    return FluentTable(
        [column[some] for column in table.arguments], table.values[some], table.domains,
        table.value_domain, np.append(table.offsets[some], len(table.starts)), table.starts,
        table.ends,
    )  # fmt: skip


def _allowed(definition: Definition, pairs: Pairs, context: Context) -> Booleans:
    """The pairs that grounding allows."""
    if not definition.groundings or not len(pairs):
        return np.ones(len(pairs), np.bool_)
    values, coded = pairs.values, pairs.value_domain
    if coded is None:
        coded = context.encoding.domains.value_domain(definition.relation)
        values = coded.encode_numbers(values)
    return allowed(definition.groundings, pairs.arguments, pairs.domains, values, coded, context)


def _courses(
    definition: Definition, pairs: Pairs, pieces: LiteralPieces, facts: Facts, circuits: Circuits
) -> Courses:
    """The courses of pairs, whose pieces are sorted by pair and time."""
    said = pieces.literals != TRUE
    proofs = Conjunctions(np.append(0, np.cumsum(said)).astype(np.int64), pieces.literals[said])
    kinds = np.zeros(len(pieces.owner), np.int64)
    actions = Actions(pieces.owner, pieces.starts, kinds, proofs)
    groups = group_actions(actions, facts, circuits, str(definition.relation))
    chances = probabilities_now(groups, facts, circuits)
    some = np.flatnonzero(chances > 0)
    pieces = pieces.take(some)
    return course_of_segments(pairs, pieces.owner, pieces.starts, pieces.ends, chances[some])
