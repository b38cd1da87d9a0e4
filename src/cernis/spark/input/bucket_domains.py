"""Domains that the input fills: members that are determined from all of it before a run.

A bucket sees only the records that are sent to it. Where its rules need other members, too (see
`plan/properties/foreign_domains.py`), all records are looked at beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from cernis.check.model import (
    Definitions,
    Grounding,
    Pair,
)
from cernis.evaluate.windows import Window
from cernis.kernels.array_types import Floats, Integers
from cernis.knowledge.ground_values import Value
from cernis.plan.properties.foreign_domains import Key, groundings_of
from cernis.records.record_columns import INFINITE, RecordColumns, RecordKind, Records, coded, taken
from cernis.spark.exchange.batch_job import Member, Spans
from cernis.spark.exchange.pack import distinct_rows
from cernis.syntax.tree import Term, Variable, children

FOREVER: Final = math.inf
"""After every query."""

Members = dict[Key, dict[Member, Spans]]


# -- members -----------------------------------------------------------------------------------


def members_of(
    records: Records, definitions: Definitions, keys: set[Key], queries: list[Window], tick: int
) -> Members:
    """The members that resolved records make, and at which queries they are members.

    A value is a member from the first query that sees a record with it, until the query that no
    longer sees that record because it was taken back.
    """
    members: Members = {key: {} for key in keys}
    for part in records.relations.values():
        first, last = _queries_of(part, queries, tick)
        for key in keys:
            for grounding, goal in groundings_of(definitions, key):
                if grounding.entity.relation == part.form.relation:
                    _enter(members[key], grounding, goal, part, first, last)
    return members


def members_at(members: Mapping[Member, Spans], query: int) -> list[tuple[Value, ...]]:
    """The members at a query, in an order that is always the same."""
    there = [
        tuple(value for _, value in member)
        for member, spans in members.items()
        if any(first <= query < last for first, last in spans)
    ]
    return sorted(there, key=repr)


def join_spans(members: dict[Member, Spans], member: Member, spans: Spans) -> None:
    """Let a value be a member at further queries."""
    known = (*members.get(member, ()), *spans)
    lasting = min((first for first, last in known if last == FOREVER), default=FOREVER)
    before = {span for span in known if span[1] != FOREVER and span[0] < lasting}
    members[member] = (*sorted(before), *([(int(lasting), FOREVER)] if lasting < FOREVER else []))


def _queries_of(part: RecordColumns, queries: list[Window], tick: int) -> tuple[Integers, Floats]:
    """The first query that sees each record, -1 if none does, and the first that no longer does.

    A record that is not taken back is a member's for ever, and so is one that is taken back only
    when the window has passed it. If the first query after a record does not see it, since it is
    forgotten or taken back by then, no later query does.
    """
    times = np.array([window.query for window in queries], np.int64)
    edges = np.array([window.forgotten for window in queries], np.int64)
    arrival, start = part.times[:2]
    first = np.searchsorted(times, np.maximum(arrival, start))
    places = np.minimum(first, len(times) - 1)
    ends = part.times[2] - tick if part.form.kind is RecordKind.INTERVAL else start
    seen = ends > edges[places]
    last = np.full(len(part), FOREVER)
    if part.gone is not None:
        seen &= part.gone > times[places]
        taking_back = np.searchsorted(times, part.gone)
        in_time = ends > edges[np.minimum(taking_back, len(times) - 1)]
        last = np.where((part.gone < INFINITE) & in_time, taking_back, FOREVER)
    return np.where((first < len(times)) & seen, first, -1), last


def _enter(
    members: dict[Member, Spans], grounding: Grounding, goal: Term, part: RecordColumns,
    first: Integers, last: Floats,
) -> None:  # fmt: skip
    entity = grounding.entity
    terms = [entity.value, *entity.args] if isinstance(entity, Pair) else [*entity.args]
    columns = {
        term.name: column
        for term, column in zip(terms, part.columns, strict=True)
        if isinstance(term, Variable)
    }
    args = children(goal)
    if not args or not all(isinstance(arg, Variable) and arg.name in columns for arg in args):
        return
    chosen = [coded(columns[arg.name]) for arg in args if isinstance(arg, Variable)]
    # Of records that are never taken back, the first of each member is enough.
    lasting = np.flatnonzero((first >= 0) & (last == FOREVER))
    lasting = lasting[np.argsort(first[lasting], kind="stable")]
    rows = lasting[distinct_rows([taken(column, lasting) for column in chosen])]
    for row in (*rows.tolist(), *np.flatnonzero((first >= 0) & (last < FOREVER)).tolist()):
        values = [column.values[int(column.codes[row])] for column in chosen]
        member = tuple((type(value).__name__, value) for value in values)
        join_spans(members, member, ((int(first[row]), float(last[row])),))
