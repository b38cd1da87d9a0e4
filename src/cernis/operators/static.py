"""Statically determined fluents: lists of intervals combined, all instances at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cernis.check.goals import named
from cernis.check.model import Grounding, Pair, Relation
from cernis.errors import UnsupportedError
from cernis.kernels.allen import RELATIONS, related
from cernis.kernels.order import order_by
from cernis.kernels.overlap import overlaps
from cernis.kernels.sweep import cover, maximal, subtract
from cernis.operators.context import Context, constant_column, recoded
from cernis.operators.expressions import reckon
from cernis.operators.grounding import allowed, distinct, grounded
from cernis.operators.pipeline import ROW, concatenated, run_steps
from cernis.operators.simple import head_column, slot_domains
from cernis.plan.logical import (
    Branches,
    Combine,
    Compute,
    Definition,
    Exclude,
    Fetch,
    Filter,
    IntervalOperator,
    IntervalRule,
    Lookup,
    Require,
    Resolve,
    names_in,
)
from cernis.plan.pipeline import entity_names
from cernis.syntax.printer import show
from cernis.syntax.tree import Term, Variable
from cernis.tables.columns import Array, Column, Rows, pack
from cernis.tables.domains import Domain
from cernis.tables.fluents import INFINITY, FluentTable, empty_table

Integers: TypeAlias = npt.NDArray[np.int64]


@dataclass(slots=True)
class Lists:
    """One list of intervals a row: row r has list `groups[r]` of a collection, -1 is none."""

    groups: Integers
    offsets: Integers
    starts: Integers
    ends: Integers

    def packed(self) -> tuple[Integers, Integers, Integers]:
        """The lists row by row, as offsets, starts and ends."""
        return cover(self.groups[np.newaxis, :], self.offsets, self.starts, self.ends, 1)


def evaluate_static(
    relation: Relation, definition: Definition, context: Context
) -> tuple[FluentTable, list[Array] | None]:
    """The intervals of a fluent; several rules, and several rows of one, add up.

    Also gives the instances that may go on behind the query, if there are such.
    """
    domains, value_domain = slot_domains(relation, context)
    rules = [rule for rule in definition.rules if isinstance(rule, IntervalRule)]
    found = [one for rule in rules for one in _rule(rule, definition.groundings, context)]
    if len(found) == 1 and found[0].is_distinct and context.edge == context.start:
        table = found[0].table(domains, value_domain)
    else:
        table = united([each.piece(context) for each in found], relation, context)
    if definition.groundings and len(table):
        values, coded = table.values, value_domain
        if coded is None:
            coded = context.domains.of(("values of", relation))
            values = coded.encode(values.tolist())
        may = allowed(definition.groundings, table.arguments, domains, values, coded, context)
        table = table.take(np.flatnonzero(may)) if not may.all() else table
    unsure = [each.unsure_instances() for each in found if each.unsure is not None]
    columns = [np.concatenate(own) for own in zip(*unsure, strict=True)] if unsure else None
    return table, columns


Piece: TypeAlias = tuple[list[Array], Array, Integers, Integers]
"""Arguments, value, start and end of intervals, one a row."""


def united(pieces: Iterable[Piece], relation: Relation, context: Context) -> FluentTable:
    """Intervals in any order, overlapping or not, as a table of maximal ones."""
    domains, value_domain = slot_domains(relation, context)
    parts = [piece for piece in pieces if len(piece[2])]
    if not parts:
        return empty_table(domains, value_domain)
    arguments = [np.concatenate(own) for own in zip(*(p[0] for p in parts), strict=True)]
    values = np.concatenate([p[1] for p in parts])
    starts = np.concatenate([p[2] for p in parts])
    ends = np.concatenate([p[3] for p in parts])
    columns = [*arguments, values]
    sizes = [len(d) if d is not None else -1 for d in (*domains, value_domain)]
    packed = pack(columns, sizes) if min(sizes) > 0 else None
    keys = [packed[0]] if packed is not None else columns
    order = order_by(keys[0], starts) if len(keys) == 1 else np.lexsort((starts, *reversed(keys)))
    arguments, values = [column[order] for column in arguments], values[order]
    starts, ends = starts[order], ends[order]
    new = np.zeros(len(values), np.bool_)
    new[0] = True
    for column in (key[order] for key in keys):
        new[1:] |= column[1:] != column[:-1]
    heads = np.flatnonzero(new)
    owners, starts, ends = maximal(np.cumsum(new) - 1, starts, ends)
    counts = np.bincount(owners, minlength=len(heads))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return FluentTable(
        [column[heads] for column in arguments], values[heads], domains, value_domain,
        offsets, starts, ends,
    )  # fmt: skip


def reaching(table: FluentTable, relation: Relation, context: Context) -> FluentTable:
    """The groups of a table without the intervals that end at the window's edge or before.

    Those are put by: they stand as they are.
    """
    bound = context.edge + context.tick
    (piece,) = pieces(table)
    over = piece[3] <= bound
    if not over.any():
        return table
    context.past.setdefault(relation, []).append(chosen(piece, over))
    return united([chosen(piece, ~over)], relation, context)


def chosen(piece: Piece, mask: npt.NDArray[np.bool_]) -> Piece:
    """Some of the intervals."""
    return [column[mask] for column in piece[0]], piece[1][mask], piece[2][mask], piece[3][mask]


def pieces(table: FluentTable | None) -> list[Piece]:
    """The intervals of a table, one a row."""
    if table is None:
        return []
    owner = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    return [([c[owner] for c in table.arguments], table.values[owner], table.starts, table.ends)]


# -- one rule --------------------------------------------------------------------------------


def _rule(rule: IntervalRule, groundings: tuple[Grounding, ...], context: Context) -> list[_Found]:
    """The intervals one rule gives, for the instances some required fluent has."""
    alternatives = context.memo.once("alternatives", rule, lambda: _alternatives(rule))
    parts = [_instances(rule, needed, groundings, context) for needed in alternatives]
    rows = concatenated(parts, context)
    if len(parts) > 1 or context.memo.once("repeats", rule, lambda: _may_repeat(rule)):
        rows = _distinct_rows(rows)
    if not rows.length:
        return []
    lists = _evaluate(rule.steps, rows, context)
    offsets, starts, ends = lists[rule.output].packed()
    if not len(starts):
        return []
    domains, value_domain = slot_domains(rule.head.relation, context)
    arguments = [
        head_column(arg, rows, domain) for arg, domain in zip(rule.head.args, domains, strict=True)
    ]
    values = head_column(rule.head.value, rows, value_domain)
    names = {name for name in rows.columns if name != ROW}
    is_distinct = names <= entity_names(rule.head)
    unsure = _unsure_rows(rule, rows, context)
    return [_Found(arguments, values, offsets, starts, ends, is_distinct, unsure)]


def _unsure_rows(rule: IntervalRule, rows: Rows, context: Context) -> npt.NDArray[np.bool_] | None:
    """The rows that look at a fluent which may go on behind the query; None if there are none."""
    found: npt.NDArray[np.bool_] | None = None
    for step in rule.steps:
        if isinstance(step, Fetch) and step.pair.relation in context.unsure:
            chosen, groups = _matching(step.pair, rows, context.fluents[step.pair.relation])
            unsure = chosen[context.unsure_groups[step.pair.relation][groups]]
            if len(unsure):
                found = np.zeros(rows.length, np.bool_) if found is None else found
                found[unsure] = True
    return found


def _matching(pair: Pair, rows: Rows, fluent: FluentTable) -> tuple[Array, Array]:
    """Rows, and the groups of a fluent that match them."""
    terms, columns = [*pair.args, pair.value], fluent.columns()
    bound = tuple(
        at for at, term in enumerate(terms)
        if not isinstance(term, Variable) or term.name in rows.columns
    )  # fmt: skip
    wanted = [_wanted(terms[at], columns[at][1], rows) for at in bound]
    return fluent.finder(bound).all(wanted, rows.length)


def _may_repeat(rule: IntervalRule) -> bool:
    """May a binding be found several times, by values that nobody names?"""
    return "_" in names_in(rule.steps)


def _distinct_rows(rows: Rows) -> Rows:
    """Each combination of values once."""
    columns = [column for name, column in rows.columns.items() if name != ROW]
    if not columns:
        return rows.take(np.arange(min(rows.length, 1)))
    arrays = [column.expanded(rows.length) for column in columns]
    first, _ = distinct(arrays, [column.domain for column in columns])
    return rows.take(np.sort(first))


@dataclass(slots=True)
class _Found:
    """What a rule gives: a head and a list of intervals a row; each head once, if distinct."""

    arguments: list[Array]
    values: Array
    offsets: Integers
    starts: Integers
    ends: Integers
    is_distinct: bool
    unsure: npt.NDArray[np.bool_] | None = None
    """The rows that may go on behind the query."""

    def unsure_instances(self) -> list[Array]:
        """The arguments and values of those rows."""
        return [column[self.unsure] for column in (*self.arguments, self.values)]

    def table(self, domains: list[Domain | None], value_domain: Domain | None) -> FluentTable:
        """The rows that have intervals, as they are."""
        some = np.flatnonzero(np.diff(self.offsets))
        return FluentTable(
            [column[some] for column in self.arguments], self.values[some], domains, value_domain,
            np.append(self.offsets[some], self.offsets[-1]), self.starts, self.ends,
        )  # fmt: skip

    def piece(self, context: Context) -> Piece:
        """The intervals one by one. What was said of points up to the window's edge stands."""
        owner = np.repeat(np.arange(len(self.values)), np.diff(self.offsets))
        bound = context.edge + context.tick
        keep = self.ends > bound
        owner = owner[keep]
        starts = np.maximum(self.starts, bound)[keep]
        return [c[owner] for c in self.arguments], self.values[owner], starts, self.ends[keep]


def _alternatives(rule: IntervalRule) -> list[frozenset[str]]:
    """Sets of fetched lists that must not be empty for the result to be anything.

    A union needs one of its operands, an intersection all, a relative complement its first; a
    complement needs nothing. So an instance with a result has all lists of one set.
    """
    needs: dict[str, set[frozenset[str]]] = {}
    required: list[str] = []
    for step in rule.steps:
        if isinstance(step, Fetch):
            needs[step.output] = {frozenset([step.output])}
        elif isinstance(step, Combine):
            needs[step.output] = _needs(step, [needs[name] for name in step.inputs])
        elif isinstance(step, Require):
            required.append(step.intervals)
    result = needs[rule.output]
    for name in required:
        result = {one | other for one in result for other in needs[name]}
    return sorted((one for one in result if not any(other < one for other in result)), key=sorted)


def _needs(step: Combine, inputs: list[set[frozenset[str]]]) -> set[frozenset[str]]:
    if step.operator == "union_all":
        return set[frozenset[str]]().union(*inputs)
    if step.operator == "intersect_all":
        product = {frozenset[str]()}
        for own in inputs:
            product = {one | other for one in product for other in own}
        return product
    if step.operator == "complement_all":
        return {frozenset()}
    if step.operator in ("relative_complement_all", "intDurGreater", "intDurLess"):
        return inputs[0]
    # Only intervals that stand in a relation come out, and it takes two for one.
    return {one | other for one in inputs[0] for other in inputs[1]}


def _instances(
    rule: IntervalRule, needed: frozenset[str], groundings: tuple[Grounding, ...], context: Context
) -> Rows:
    """The bindings of the rule's variables for which the needed lists are not empty.

    A variable gets its values from a needed list, from background knowledge, from grounding, or
    from any other list. One that stands in a single list and nowhere else may go without.
    """
    fetches = [step for step in rule.steps if isinstance(step, Fetch)]
    conditions = [s for s in rule.steps if not isinstance(s, (Fetch, Combine, Require))]
    rows = Rows(1)
    together = context.memo.once("together", rule, lambda: _together(rule))
    anchor: Pair | None = None
    for step in fetches:
        if step.output in needed:
            meets = anchor if step.output in together else None
            rows = _match(step.pair, rows, context, meets)
            anchor = step.pair if step.output in together else anchor
    rows, waiting = _apply(conditions, rows, context)
    if entity_names(rule.head) - rows.columns.keys() and groundings:
        # A member may be given several times, by facts, by input, and by several rules.
        rows = _distinct_rows(grounded(rule.head, groundings, rows, context))
        rows, waiting = _apply(waiting, rows, context)
    partial = [rows]
    for step in fetches:
        names = _names_of(step, context)
        partial += [_match(step.pair, p, context) for p in partial if names - p.columns.keys()]
    wanted = context.memo.once("important", rule, lambda: _important(rule))
    complete = []
    for each in partial:
        each, left = _apply(waiting, each, context)
        if wanted <= each.columns.keys() and not left:
            complete.append(each)
    if not complete:
        return partial[0].take(np.empty(0, np.int64))
    return _distinct_rows(concatenated(complete, context)) if len(complete) > 1 else complete[0]


def _names_of(step: Fetch, context: Context) -> set[str]:
    names: set[str] = context.memo.once("names", step, lambda: entity_names(step.pair))
    return names


def _important(rule: IntervalRule) -> set[str]:
    """The variables an instance needs: those of the head, of conditions and of several lists."""
    lists = [entity_names(step.pair) for step in rule.steps if isinstance(step, Fetch)]
    counts = Counter(name for names in lists for name in names)
    shared = {name for name, count in counts.items() if count > 1}
    parameters = [s.parameters for s in rule.steps if isinstance(s, Combine)]
    return entity_names(rule.head) | shared | named(t for own in parameters for t in own)


def _apply(
    conditions: Sequence[IntervalOperator], rows: Rows, context: Context
) -> tuple[Rows, list[IntervalOperator]]:
    """Run the conditions whose variables are bound, and look-ups; gives those that must wait."""
    waiting = list(conditions)
    while True:
        ready = next((step for step in waiting if _is_ready(step, rows, context)), None)
        if ready is None:
            return rows, waiting
        waiting.remove(ready)
        rows = run_steps([ready], rows, context).settled()  # type: ignore[list-item]


def _is_ready(step: IntervalOperator, rows: Rows, context: Context) -> bool:
    if isinstance(step, Lookup):
        return True
    needs: set[str] = context.memo.once("needs", step, lambda: needs_of(step))
    return needs <= rows.columns.keys()


def needs_of(step: object) -> set[str]:
    """The variables a condition must find bound."""
    if isinstance(step, Filter):
        return named([step.condition])
    if isinstance(step, Compute):
        return named([step.expression])
    if isinstance(step, Exclude):
        return {name for name in named([step.goal]) if not name.startswith("_")}
    if isinstance(step, Resolve):
        return named([step.goal]) - set(step.binds)
    bodies = step.branches if isinstance(step, Branches) else (getattr(step, "body", ()),)
    needs: set[str] = set()
    for body in bodies:
        bound: set[str] = set()
        for inner in body:
            if isinstance(inner, Lookup):
                # A look-up can give a variable its values; under a negation it must not.
                needs |= set() if isinstance(step, Branches) else set(inner.on) - bound
                bound |= {*inner.on, *inner.binds}
            else:
                needs |= needs_of(inner) - bound
                bound |= {inner.variable} if isinstance(inner, Compute) else set()
    return needs


def _together(rule: IntervalRule) -> frozenset[str]:
    """The fetched lists that hold at every point of the result.

    An intersection lies in all its operands, a relative complement in its first; of a union, only
    what all its operands lie in is sure.
    """
    inside: dict[str, frozenset[str]] = {}
    for step in rule.steps:
        if isinstance(step, Fetch):
            inside[step.output] = frozenset([step.output])
        elif isinstance(step, Combine):
            parts = [inside[name] for name in step.inputs]
            if step.operator == "intersect_all":
                inside[step.output] = frozenset[str]().union(*parts)
            elif step.operator == "union_all" and parts:
                inside[step.output] = frozenset.intersection(*parts)
            elif step.operator == "complement_all" or not parts:
                inside[step.output] = frozenset()
            elif step.operator == "allen":
                inside[step.output] = _related_inside(show(step.parameters[1]), *parts)
            else:
                inside[step.output] = parts[0]
    return inside[rule.output]


def _related_inside(mode: str, source: frozenset[str], target: frozenset[str]) -> frozenset[str]:
    """What the intervals that a relation gives lie in, by its mode of output."""
    if mode == "intersect":
        return source | target
    if mode in ("source", "complement"):
        return source
    return target if mode in ("target", "complement_inv") else source & target


def _match(pair: Pair, rows: Rows, context: Context, meets: Pair | None = None) -> Rows:
    """Rows beside the instances of a fluent.

    Where nothing else connects them, and the rows have a fluent that must hold at the same time
    (`meets`), only instances that do so at some point are taken.
    """
    terms = [*pair.args, pair.value]
    fluent = context.fluents.get(pair.relation) or empty_table(
        *slot_domains(pair.relation, context)
    )
    columns = fluent.columns()
    bound = tuple(
        at for at, term in enumerate(terms)
        if not isinstance(term, Variable) or term.name in rows.columns
    )  # fmt: skip
    connected = any(isinstance(terms[at], Variable) for at in bound)
    if meets is not None and not connected and rows.length > 1:
        chosen, found = _meeting(pair, meets, rows, fluent, context)
    else:
        wanted = [_wanted(terms[at], columns[at][1], rows) for at in bound]
        chosen, found = fluent.finder(bound).all(wanted, rows.length)
    more: dict[str, Column] = {}
    keep = np.ones(len(chosen), np.bool_)
    for at, term in enumerate(terms):
        if at in bound or not isinstance(term, Variable) or term.name == "_":
            continue
        column = Column(columns[at][0], columns[at][1], found)
        if term.name in more:
            keep &= more[term.name].values == column.values
        else:
            more[term.name] = column
    result = rows.take(chosen).with_columns(more)
    return result if keep.all() else result.where(keep).settled()


def _meeting(
    pair: Pair, meets: Pair, rows: Rows, fluent: FluentTable, context: Context
) -> tuple[Array, Array]:
    """Rows and instances whose intervals overlap somewhere."""
    offsets, starts, ends = _fetched(meets, rows, context).packed()
    owner = np.repeat(np.arange(rows.length), np.diff(offsets))
    order = np.argsort(starts, kind="stable")
    own = _constant_groups(pair, fluent)
    groups = np.repeat(np.arange(len(fluent)), np.diff(fluent.offsets))
    mine = np.flatnonzero(own[groups])
    mine = mine[np.argsort(fluent.starts[mine], kind="stable")]
    left, right = overlaps(starts[order], ends[order], fluent.starts[mine], fluent.ends[mine])
    pairs = np.unique(owner[order][left] * max(len(fluent), 1) + groups[mine][right])
    return pairs // max(len(fluent), 1), pairs % max(len(fluent), 1)


def _constant_groups(pair: Pair, fluent: FluentTable) -> npt.NDArray[np.bool_]:
    """The groups of a fluent that have the constants of a literal."""
    mask = np.ones(len(fluent), np.bool_)
    for term, (data, domain) in zip([*pair.args, pair.value], fluent.columns(), strict=True):
        if not isinstance(term, Variable):
            mask &= data == constant_column(term, domain).data[0]
    return mask


def _wanted(term: Term, domain: Domain | None, rows: Rows) -> Array:
    column = (
        rows.columns[term.name] if isinstance(term, Variable) else constant_column(term, domain)
    )
    return recoded(column, domain, rows.length)


# -- lists -----------------------------------------------------------------------------------


def _evaluate(steps: Iterable[IntervalOperator], rows: Rows, context: Context) -> dict[str, Lists]:
    """The list of intervals behind each name, row by row."""
    lists: dict[str, Lists] = {}
    required: list[str] = []
    for step in steps:
        if isinstance(step, Require):
            required.append(step.intervals)
        elif isinstance(step, (Fetch, Combine)):
            lists[step.output] = _list_of(step, lists, rows, context)
    for name in required:
        lists = _required(name, lists)
    return lists


def _list_of(step: Fetch | Combine, lists: dict[str, Lists], rows: Rows, context: Context) -> Lists:
    if context.profile is None:
        return _computed(step, lists, rows, context)
    with context.profile.measured(type(step).__name__, step.span, rows.length) as cost:
        result = _computed(step, lists, rows, context)
        cost.rows_out += len(result.packed()[1])
    return result


def _computed(
    step: Fetch | Combine, lists: dict[str, Lists], rows: Rows, context: Context
) -> Lists:
    if isinstance(step, Fetch):
        return _fetched(step.pair, rows, context)
    return _combined(step, [lists[name] for name in step.inputs], rows, context)


def _fetched(pair: Pair, rows: Rows, context: Context) -> Lists:
    fluent = context.fluents.get(pair.relation)
    if fluent is None or not len(fluent):
        none = np.empty(0, np.int64)
        return Lists(np.full(rows.length, -1, np.int64), np.zeros(1, np.int64), none, none)
    columns = fluent.columns()
    terms = [*pair.args, pair.value]
    bound = tuple(
        at for at, term in enumerate(terms)
        if not isinstance(term, Variable) or term.name in rows.columns
    )  # fmt: skip
    wanted = [_wanted(terms[at], columns[at][1], rows) for at in bound]
    if len(bound) == len(terms):
        groups = fluent.finder(bound).one(wanted, rows.length)
        return Lists(groups, fluent.offsets, fluent.starts, fluent.ends)
    chosen, found = fluent.finder(bound).all(wanted, rows.length)
    free = [at for at in range(len(terms)) if at not in bound]
    same = _agreeing([terms[at] for at in free], [columns[at][0][found] for at in free])
    if same is not None:
        chosen, found = chosen[same], found[same]
    return _gathered(chosen, found, fluent, rows.length)


def _agreeing(terms: list[Term], columns: list[Array]) -> npt.NDArray[np.bool_] | None:
    """The rows in which a variable that occurs several times has one value; None for all."""
    first: dict[str, Array] = {}
    same: npt.NDArray[np.bool_] | None = None
    for term, column in zip(terms, columns, strict=True):
        assert isinstance(term, Variable)
        if term.name != "_" and term.name in first:
            equal = first[term.name] == column
            same = equal if same is None else same & equal
        first.setdefault(term.name, column)
    return same


def _gathered(chosen: Array, found: Array, fluent: FluentTable, length: int) -> Lists:
    """Several lists a row as their union."""
    lengths = fluent.offsets[found + 1] - fluent.offsets[found]
    owner = np.repeat(chosen, lengths)
    places = np.repeat(fluent.offsets[found] - np.cumsum(lengths) + lengths, lengths)
    places = places + np.arange(len(places))
    return normalised(owner, fluent.starts[places], fluent.ends[places], length)


def normalised(owner: Array, starts: Integers, ends: Integers, length: int) -> Lists:
    """Intervals of owners in any order as one list of maximal intervals an owner."""
    order = order_by(owner, starts)
    owners, starts, ends = maximal(owner[order], starts[order], ends[order])
    counts = np.bincount(owners, minlength=length)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Lists(np.arange(length), offsets, starts, ends)


def _stacked(inputs: list[Lists]) -> tuple[Integers, Integers, Integers, Integers]:
    """Several collections as one, with the groups of each row in one matrix."""
    groups, offsets = [], [np.zeros(1, np.int64)]
    lists = places = 0
    for own in inputs:
        groups.append(np.where(own.groups >= 0, own.groups + lists, -1))
        offsets.append(own.offsets[1:] + places)
        lists += len(own.offsets) - 1
        places += len(own.starts)
    starts = np.concatenate([own.starts for own in inputs])
    ends = np.concatenate([own.ends for own in inputs])
    return np.ascontiguousarray(np.stack(groups)), np.concatenate(offsets), starts, ends


def _of(offsets: Integers, starts: Integers, ends: Integers) -> Lists:
    return Lists(np.arange(len(offsets) - 1), offsets, starts, ends)


def _combined(step: Combine, inputs: list[Lists], rows: Rows, context: Context) -> Lists:
    if step.operator in ("union_all", "intersect_all") and inputs:
        least = 1 if step.operator == "union_all" else len(inputs)
        return _of(*cover(*_stacked(inputs), least))
    if step.operator == "relative_complement_all":
        if len(inputs) == 1:
            return inputs[0]
        rest = cover(*_stacked(inputs[1:]), 1)
        return _of(*subtract(*inputs[0].packed(), *rest))
    if step.operator == "complement_all":
        always = _always(rows.length, context)
        return _of(*subtract(*always, *cover(*_stacked(inputs), 1))) if inputs else _of(*always)
    if step.operator in ("intDurGreater", "intDurLess"):
        return _by_duration(step, inputs[0], rows, context)
    if step.operator == "allen":
        return _related(step, *inputs)
    if not inputs:
        return normalised(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64),
                          rows.length)  # fmt: skip
    raise UnsupportedError(f"{step.operator} is not supported yet")


def _related(step: Combine, source: Lists, target: Lists) -> Lists:
    """The intervals of two lists in some pair of a relation, put together as the mode says."""
    relation, mode = (show(parameter).strip("'") for parameter in step.parameters)
    one, other = source.packed(), target.packed()
    chosen1, chosen2 = related(*one, *other, RELATIONS.index(relation))
    left, right = _of(*_filtered(one, chosen1)), _of(*_filtered(other, chosen2))
    if mode == "source":
        return left
    if mode == "target":
        return right
    if mode in ("union", "intersect"):
        return _of(*cover(*_stacked([left, right]), 1 if mode == "union" else 2))
    first, second = (left, right) if mode == "complement" else (right, left)
    return _of(*subtract(*first.packed(), *second.packed()))


def _filtered(
    lists: tuple[Integers, Integers, Integers], mask: npt.NDArray[np.bool_]
) -> tuple[Integers, Integers, Integers]:
    offsets, starts, ends = lists
    before = np.concatenate([[0], np.cumsum(mask)]).astype(np.int64)
    return before[offsets], starts[mask], ends[mask]


def _always(length: int, context: Context) -> tuple[Integers, Integers, Integers]:
    """`[S+tick, inf)` for each row, S the start of the run."""
    first = context.start + context.tick
    return np.arange(length + 1), np.full(length, first), np.full(length, INFINITY)


def _by_duration(step: Combine, lists: Lists, rows: Rows, context: Context) -> Lists:
    """Those longer (an open one measured to the query) or those closed and shorter."""
    offsets, starts, ends = lists.packed()
    owner = np.repeat(np.arange(rows.length), np.diff(offsets))
    limit = np.broadcast_to(reckon(step.parameters[0], rows), rows.length)[owner]
    is_open = ends == INFINITY
    length = np.where(is_open, context.query, ends) - starts
    keep = length > limit if step.operator == "intDurGreater" else ~is_open & (length < limit)
    counts = np.bincount(owner[keep], minlength=rows.length)
    kept = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return _of(kept, starts[keep], ends[keep])


def _required(name: str, lists: dict[str, Lists]) -> dict[str, Lists]:
    """Rows without intervals in the named list have none in any."""
    own = lists[name]
    some = np.zeros(len(own.groups), np.bool_)
    has = own.groups >= 0
    some[has] = (own.offsets[own.groups[has] + 1] - own.offsets[own.groups[has]]) > 0
    return {
        key: Lists(np.where(some, each.groups, -1), each.offsets, each.starts, each.ends)
        for key, each in lists.items()
    }
