"""The bindings of a rule over intervals: for which values of its variables it can give anything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cernis.check.model import Grounding, Pair
from cernis.errors import OverflowFault, TooManyMatches
from cernis.kernels.array_types import Array, Booleans
from cernis.kernels.bounds import TooManyPairs
from cernis.operators.collections import ROW
from cernis.operators.context.coded_columns import constant_column
from cernis.operators.context.query_context import Context
from cernis.operators.context.query_relations import QueryRelations
from cernis.operators.definitions.grounding import grounded
from cernis.operators.distinct import distinct
from cernis.operators.intervals.interval_lists import fetched, wanted_column
from cernis.operators.rule_pipeline import concatenated, run_steps
from cernis.plan.logical import (
    Compute,
    IntervalRule,
    Lookup,
)
from cernis.plan.properties.interval_needs import BoundCondition
from cernis.syntax.tree import Variable
from cernis.tables.columns import Column, Rows
from cernis.tables.interval_tables import FluentTable, empty_table


def instances(
    rule: IntervalRule, needed: frozenset[str], groundings: tuple[Grounding, ...], context: Context
) -> Rows:
    """The bindings of the rule's variables for which the needed lists are not empty.

    A variable gets its values from a needed list, from background knowledge, from grounding, or
    from any other list. One that stands in a single list and nowhere else may go without.
    """
    needs, rows = rule.needs, Rows(1)
    together = needs.together
    anchor: Pair | None = None
    for step in (fetch.step for fetch in needs.fetches):
        if step.output in needed:
            meets = anchor if step.output in together else None
            rows = _match(step.pair, rows, context, meets)
            anchor = step.pair if step.output in together else anchor
    rows, waiting = _apply(needs.conditions, rows, context)
    if needs.head_names - rows.columns.keys() and groundings:
        # A member may be given several times, by facts, by input, and by several rules.
        rows = distinct_rows(grounded(rule.head, groundings, rows, context))
        rows, waiting = _apply(waiting, rows, context)
    partial = [rows]
    for fetch in needs.fetches:
        pair, names = fetch.step.pair, fetch.names
        partial += [_match(pair, p, context) for p in partial if names - p.columns.keys()]
    wanted = needs.variables
    complete = []
    for each in partial:
        each, left = _apply(waiting, each, context)
        _refuse_overflow(left, wanted, each, context)
        if wanted <= each.columns.keys() and not left:
            complete.append(each)
    if not complete:
        return partial[0].take(np.empty(0, np.int64))
    return distinct_rows(concatenated(complete)) if len(complete) > 1 else complete[0]


def _apply(
    conditions: Sequence[BoundCondition], rows: Rows, context: Context
) -> tuple[Rows, list[BoundCondition]]:
    """Run the conditions whose variables are bound, and look-ups; gives those that must wait.

    One that computes a number that is too large waits, too: others may rule out such rows, and a
    row is no instance yet.
    """
    waiting, too_large = list(conditions), list[BoundCondition]()
    while True:
        able = (condition for condition in waiting if condition not in too_large)
        ready = next((condition for condition in able if _is_ready(condition, rows)), None)
        if ready is None:
            return rows, waiting
        try:
            rows = run_steps([ready.step], rows, context).settled()  # type: ignore[list-item]
        except OverflowFault:
            too_large.append(ready)
        else:
            waiting.remove(ready)
            too_large.clear()


def _refuse_overflow(
    left: Sequence[BoundCondition], wanted: frozenset[str], rows: Rows, context: Context
) -> None:
    """Raise what kept conditions waiting on rows that have all else that an instance needs."""
    steps = [condition.step for condition in left]
    computed = {step.variable for step in steps if isinstance(step, Compute)}
    if wanted <= rows.columns.keys() | computed:
        for condition in left:
            if _is_ready(condition, rows):
                run_steps([condition.step], rows, context)  # type: ignore[list-item]


def _is_ready(condition: BoundCondition, rows: Rows) -> bool:
    return isinstance(condition.step, Lookup) or condition.names <= rows.columns.keys()


def _match(pair: Pair, rows: Rows, context: Context, meets: Pair | None = None) -> Rows:
    """Rows beside the instances of a fluent.

    Where nothing else connects them, and the rows have a fluent that must hold at the same time
    (`meets`), only instances that do so at some point are taken.
    """
    terms = [*pair.args, pair.value]
    fluent = context.relations.fluents.get(pair.relation) or empty_table(
        *context.encoding.fluents[pair.relation]
    )
    columns = fluent.columns()
    bound = tuple(
        position for position, term in enumerate(terms)
        if not isinstance(term, Variable) or term.name in rows.columns
    )  # fmt: skip
    connected = any(isinstance(terms[position], Variable) for position in bound)
    try:
        if meets is not None and not connected and rows.length > 1:
            chosen, groups = _meeting(pair, meets, rows, fluent, context.relations)
        else:
            wanted = [
                wanted_column(terms[position], columns[position][1], rows) for position in bound
            ]
            chosen, groups = fluent.finder(bound).all(wanted, rows.length)
    except TooManyPairs as error:
        raise TooManyMatches(str(error), pair.span) from None
    more: dict[str, Column] = {}
    keep = np.ones(len(chosen), np.bool_)
    for position, term in enumerate(terms):
        if position in bound or not isinstance(term, Variable) or term.name == "_":
            continue
        column = Column(columns[position][0], columns[position][1], groups)
        if term.name in more:
            keep &= more[term.name].values == column.values
        else:
            more[term.name] = column
    result = rows.take(chosen).with_columns(more)
    return result if keep.all() else result.where(keep).settled()


def _meeting(
    pair: Pair, meets: Pair, rows: Rows, fluent: FluentTable, relations: QueryRelations
) -> tuple[Array, Array]:
    """Rows and instances whose intervals overlap somewhere."""
    from cernis.kernels.intervals.overlap import overlaps

    offsets, starts, ends = fetched(meets, rows, relations).packed()
    owner = np.repeat(np.arange(rows.length), np.diff(offsets))
    order = np.argsort(starts, kind="stable")
    own = _constant_groups(pair, fluent)
    groups = np.repeat(np.arange(len(fluent)), np.diff(fluent.offsets))
    mine = np.flatnonzero(own[groups])
    mine = mine[np.argsort(fluent.starts[mine], kind="stable")]
    left, right = overlaps(starts[order], ends[order], fluent.starts[mine], fluent.ends[mine])
    pairs = np.unique(owner[order][left] * max(len(fluent), 1) + groups[mine][right])
    return pairs // max(len(fluent), 1), pairs % max(len(fluent), 1)


def _constant_groups(pair: Pair, fluent: FluentTable) -> Booleans:
    """The groups of a fluent that have the constants of a literal."""
    mask = np.ones(len(fluent), np.bool_)
    for term, (data, domain) in zip([*pair.args, pair.value], fluent.columns(), strict=True):
        if not isinstance(term, Variable):
            mask &= data == constant_column(term, domain).data[0]
    return mask


def distinct_rows(rows: Rows) -> Rows:
    """Each combination of values once."""
    columns = [column for name, column in rows.columns.items() if name != ROW]
    if not columns:
        return rows.take(np.arange(min(rows.length, 1)))
    arrays = [column.expanded(rows.length) for column in columns]
    first, _ = distinct(arrays, [column.domain for column in columns])
    return rows.take(np.sort(first))
