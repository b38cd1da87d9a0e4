"""Lists of intervals, one for each row, fetched and combined."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cernis.check.model import Pair
from cernis.errors import UnsupportedError
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.kernels.intervals.list_operations import cover, maximal, subtract
from cernis.kernels.order import order_by
from cernis.operators.collections import ROW
from cernis.operators.column_arithmetic import compared, rows_at
from cernis.operators.context.coded_columns import constant_column, recoded
from cernis.operators.context.query_context import Context
from cernis.operators.context.query_relations import QueryRelations
from cernis.operators.context.query_window import QueryWindow
from cernis.operators.expressions import numeric_value
from cernis.operators.rule_pipeline import run_steps
from cernis.plan.logical import Combine, Fetch, IntervalOperator, Require
from cernis.syntax.printer import show
from cernis.syntax.tree import Term, Variable
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import INFINITY, FluentTable

_Packed: TypeAlias = tuple[Integers, Integers, Integers]


@dataclass(slots=True)
class Lists:
    """A list of intervals for each row: row r has list `groups[r]` of a collection, -1 is none."""

    groups: Integers
    offsets: Integers
    starts: Integers
    ends: Integers

    def packed(self) -> tuple[Integers, Integers, Integers]:
        """The lists row by row, as offsets, starts and ends."""
        return cover(self.groups[np.newaxis, :], self.offsets, self.starts, self.ends, 1)


def wanted_column(term: Term, domain: Domain | None, rows: Rows) -> Array:
    """What a term of a literal stands for, row by row, in an encoding."""
    column = (
        rows.columns[term.name] if isinstance(term, Variable) else constant_column(term, domain)
    )
    return recoded(column, domain, rows.length)


def matching(pair: Pair, rows: Rows, fluent: FluentTable) -> tuple[Array, Array]:
    """Rows, and the groups of a fluent that match them."""
    terms, columns = [*pair.args, pair.value], fluent.columns()
    bound = tuple(
        position for position, term in enumerate(terms)
        if not isinstance(term, Variable) or term.name in rows.columns
    )  # fmt: skip
    wanted = [wanted_column(terms[position], columns[position][1], rows) for position in bound]
    return fluent.finder(bound).all(wanted, rows.length)


def evaluate_lists(
    steps: Iterable[IntervalOperator], rows: Rows, context: Context
) -> dict[str, Lists]:
    """The list of intervals that each name stands for, row by row."""
    lists: dict[str, Lists] = {}
    required: list[Require] = []
    for step in steps:
        if isinstance(step, Require):
            required.append(step)
        elif isinstance(step, (Fetch, Combine)):
            lists[step.output] = _list_of(step, lists, rows, context)
    for step in required:
        lists = _required(step, lists)
    return lists


def _list_of(step: Fetch | Combine, lists: dict[str, Lists], rows: Rows, context: Context) -> Lists:
    if context.measuring.profile is None:
        return _computed(step, lists, rows, context)
    with context.measuring.profile.measured(type(step).__name__, step.span, rows.length) as cost:
        result = _computed(step, lists, rows, context)
        cost.rows_out += len(result.packed()[1])
    return result


def _computed(
    step: Fetch | Combine, lists: dict[str, Lists], rows: Rows, context: Context
) -> Lists:
    if isinstance(step, Fetch):
        return fetched(step.pair, rows, context.relations)
    return _combined(step, [lists[name] for name in step.inputs], rows, context)


def fetched(pair: Pair, rows: Rows, relations: QueryRelations) -> Lists:
    """The maximal intervals of a pair for each row; several instances of a row are united."""
    fluent = relations.fluents.get(pair.relation)
    if fluent is None or not len(fluent):
        none = np.empty(0, np.int64)
        return Lists(np.full(rows.length, -1, np.int64), np.zeros(1, np.int64), none, none)
    columns = fluent.columns()
    terms = [*pair.args, pair.value]
    bound = tuple(
        position for position, term in enumerate(terms)
        if not isinstance(term, Variable) or term.name in rows.columns
    )  # fmt: skip
    wanted = [wanted_column(terms[position], columns[position][1], rows) for position in bound]
    if len(bound) == len(terms):
        groups = fluent.finder(bound).one(wanted, rows.length)
        return Lists(groups, fluent.offsets, fluent.starts, fluent.ends)
    return _gathered(*matching_groups(pair, rows, fluent), fluent, rows.length)


def matching_groups(pair: Pair, rows: Rows, fluent: FluentTable) -> tuple[Array, Array]:
    """Rows, and the groups of a fluent that match them; a variable has one value in a group."""
    terms, columns = [*pair.args, pair.value], fluent.columns()
    chosen, places = matching(pair, rows, fluent)
    free = [
        position for position, term in enumerate(terms)
        if isinstance(term, Variable) and term.name not in rows.columns
    ]  # fmt: skip
    same = _agreeing(
        [terms[position] for position in free], [columns[position][0][places] for position in free]
    )
    return (chosen, places) if same is None else (chosen[same], places[same])


def _agreeing(terms: list[Term], columns: list[Array]) -> Booleans | None:
    """The rows in which a variable that occurs several times has one value; None for all."""
    first: dict[str, Array] = {}
    same: Booleans | None = None
    for term, column in zip(terms, columns, strict=True):
        assert isinstance(term, Variable)
        if term.name != "_" and term.name in first:
            equal = first[term.name] == column
            same = equal if same is None else same & equal
        first.setdefault(term.name, column)
    return same


def _gathered(chosen: Array, groups: Array, fluent: FluentTable, length: int) -> Lists:
    """The several lists of each row as their union."""
    lengths = fluent.offsets[groups + 1] - fluent.offsets[groups]
    owner = np.repeat(chosen, lengths)
    places = np.repeat(fluent.offsets[groups] - np.cumsum(lengths) + lengths, lengths)
    places = places + np.arange(len(places))
    return normalised(owner, fluent.starts[places], fluent.ends[places], length)


def normalised(owner: Array, starts: Integers, ends: Integers, length: int) -> Lists:
    """Intervals of owners in any order as one list of maximal intervals for each owner."""
    order = order_by(owner, starts)
    owners, starts, ends = maximal(owner[order], starts[order], ends[order])
    counts = np.bincount(owners, minlength=length)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Lists(np.arange(length), offsets, starts, ends)


def _stacked(inputs: list[Lists]) -> tuple[Integers, Integers, Integers, Integers]:
    """Several collections as one, with the groups of each row in one matrix.

    Collections of one fluent share their intervals, which are there once then.
    """
    distinct = list({_identity(each): each for each in inputs}.values())
    if len(distinct) == 1:
        groups = np.stack([each.groups for each in inputs])
        return groups, distinct[0].offsets, distinct[0].starts, distinct[0].ends
    firsts, offsets = {}, [np.zeros(1, np.int64)]
    lists = places = 0
    for each in distinct:
        firsts[_identity(each)] = lists
        offsets.append(each.offsets[1:] + places)
        lists += len(each.offsets) - 1
        places += len(each.starts)
    groups = np.stack(
        [np.where(each.groups >= 0, each.groups + firsts[_identity(each)], -1) for each in inputs]
    )
    starts = np.concatenate([each.starts for each in distinct])
    ends = np.concatenate([each.ends for each in distinct])
    return groups, np.concatenate(offsets), starts, ends


def _identity(lists: Lists) -> tuple[int, int]:
    return id(lists.offsets), id(lists.starts)


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
        always = _always(rows.length, context.window)
        return _of(*subtract(*always, *cover(*_stacked(inputs), 1))) if inputs else _of(*always)
    if step.operator in ("intDurGreater", "intDurLess"):
        return _by_duration(step, inputs[0], rows, context.window)
    if step.operator == "findall":
        return _picked(step, inputs[0], rows, context)
    if step.operator == "allen":
        return _related(step, inputs[0], inputs[1], context.window.tick)
    if not inputs:
        return normalised(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64),
                          rows.length)  # fmt: skip
    raise UnsupportedError(f"{step.operator} is not supported yet")


def _related(step: Combine, source: Lists, target: Lists, tick: int) -> Lists:
    """The intervals of two lists in some pair of a relation, put together as the mode says."""
    from cernis.kernels.intervals.allen import RELATIONS, related

    relation, mode, *closed = (show(parameter).strip("'") for parameter in step.parameters)
    one, other = source.packed(), target.packed()
    if closed:
        chosen1, chosen2 = _related_closed(relation, one, other, tick)
    else:
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


def _related_closed(
    relation: str, one: _Packed, other: _Packed, tick: int
) -> tuple[Booleans, Booleans]:
    """The intervals in some pair of a relation, taken as `[start, end - tick]`.

    Of those, a single point meets nothing.
    """
    from cernis.kernels.intervals.allen import RELATIONS, related

    lasts = [np.where(ends == INFINITY, ends, ends - tick) for _, _, ends in (one, other)]
    offsets, starts, last = one[0], one[1], lasts[0]
    meeting = last > starts if relation == "meets" else np.ones(len(starts), np.bool_)
    if not meeting.all():
        offsets, starts, last = _filtered((offsets, starts, last), meeting)
    chosen, chosen2 = related(
        offsets, starts, last, other[0], other[1], lasts[1], RELATIONS.index(relation)
    )
    chosen1 = np.zeros(len(meeting), np.bool_)
    chosen1[meeting] = chosen
    return chosen1, chosen2


def _filtered(
    lists: tuple[Integers, Integers, Integers], mask: Booleans
) -> tuple[Integers, Integers, Integers]:
    offsets, starts, ends = lists
    before = np.concatenate([[0], np.cumsum(mask)]).astype(np.int64)
    return before[offsets], starts[mask], ends[mask]


def _always(length: int, window: QueryWindow) -> tuple[Integers, Integers, Integers]:
    """`[S+tick, inf)` for each row, S the start of the run."""
    first = window.start + window.tick
    return np.arange(length + 1), np.full(length, first), np.full(length, INFINITY)


def _by_duration(step: Combine, lists: Lists, rows: Rows, window: QueryWindow) -> Lists:
    """Those longer (an open one measured to the query) or those closed and shorter."""
    offsets, starts, ends = lists.packed()
    owner = np.repeat(np.arange(rows.length), np.diff(offsets))
    limit = rows_at(numeric_value(step.parameters[0], rows), rows.length, owner)
    is_open = ends == INFINITY
    length = np.where(is_open, window.query, ends) - starts
    is_greater = step.operator == "intDurGreater"
    keep = compared(">", length, limit) if is_greater else ~is_open & compared("<", length, limit)
    counts = np.bincount(owner[keep], minlength=rows.length)
    kept = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return _of(kept, starts[keep], ends[keep])


def _picked(step: Combine, lists: Lists, rows: Rows, context: Context) -> Lists:
    """The intervals whose start and end meet the conditions; an open end is infinite."""
    offsets, starts, ends = lists.packed()
    owner = np.repeat(np.arange(rows.length), np.diff(offsets))
    keep = np.zeros(len(starts), np.bool_)
    is_open = ends == INFINITY
    for part in (np.flatnonzero(~is_open), np.flatnonzero(is_open)):
        if len(part):
            last = np.full(len(part), np.inf) if is_open[part[0]] else ends[part]
            columns = {
                ROW: Column(part), step.bounds[0]: Column(starts[part]),
                step.bounds[1]: Column(last),
            }  # fmt: skip
            found = run_steps(step.steps, rows.take(owner[part]).with_columns(columns), context)
            keep[found.settled().columns[ROW].values] = True
    return _of(*_filtered((offsets, starts, ends), keep))


def _required(step: Require, lists: dict[str, Lists]) -> dict[str, Lists]:
    """Rows without intervals in the list that is required, or with some, have none in any."""
    needed = lists[step.intervals]
    some = np.zeros(len(needed.groups), np.bool_)
    has = needed.groups >= 0
    some[has] = (needed.offsets[needed.groups[has] + 1] - needed.offsets[needed.groups[has]]) > 0
    if step.negated:
        some = ~some
    return {
        key: Lists(np.where(some, each.groups, -1), each.offsets, each.starts, each.ends)
        for key, each in lists.items()
    }
