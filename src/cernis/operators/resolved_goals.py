"""Goals proved by resolution, once for each distinct question."""

from __future__ import annotations

from typing import Any

import numpy as np

from cernis.check.goal_checks import named
from cernis.kernels.array_types import Array
from cernis.kernels.bounds import bounded
from cernis.knowledge import outputs
from cernis.knowledge.ground_values import told_apart
from cernis.operators.context.query_context import Context
from cernis.operators.distinct import distinct
from cernis.plan.logical import Resolve
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import Domain


def resolve_exec(step: Resolve, rows: Rows, context: Context) -> Rows:
    """The rows joined with the answers to a goal, or those it has none for."""
    inputs = sorted(named([step.goal]) & rows.columns.keys())
    which, tuples = _distinct(inputs, rows)
    answers = context.background.knowing(step.goal).solve_many(step.goal, inputs, tuples)
    if step.negated:
        fails = np.array([not answers[each] for each in tuples], np.bool_)
        return rows.where(fails[which])
    return _expanded(step, inputs, rows, which, [answers[each] for each in tuples])


def _distinct(inputs: list[str], rows: Rows) -> tuple[Array, list[tuple[Any, ...]]]:
    """The number of each row's question, and the distinct questions."""
    if not inputs:
        return np.zeros(rows.length, np.int64), [()]
    columns = [rows.columns[name] for name in inputs]
    arrays = [column.expanded(rows.length) for column in columns]
    first, which = distinct(arrays, [column.domain for column in columns])
    picked = [
        column.domain.decode(array[first]) if column.domain is not None else array[first].tolist()
        for column, array in zip(columns, arrays, strict=True)
    ]
    return which, list(zip(*map(_forms_told_apart, picked), strict=True))


def _forms_told_apart(values: list[Any]) -> list[Any]:
    """Values of which none is equal to one of another form; mostly there are no floats."""
    return list(map(told_apart, values)) if float in set(map(type, values)) else values


def _expanded(
    step: Resolve, inputs: list[str], rows: Rows, which: Array, answers: list[Any]
) -> Rows:
    counts = np.array(list(map(len, answers)), np.int64)
    begins = np.cumsum(counts) - counts
    flat = [answer for answers_of_row in answers for answer in answers_of_row]
    counts_of_rows = counts[which]
    bounded(int(counts_of_rows.sum()))
    chosen = np.repeat(np.arange(rows.length), counts_of_rows)
    before = np.cumsum(counts_of_rows) - counts_of_rows
    places = (
        np.arange(len(chosen))
        - np.repeat(before, counts_of_rows)
        + np.repeat(begins[which], counts_of_rows)
    )
    more: dict[str, Column] = {}
    for position, name in enumerate(outputs(step.goal, inputs)):
        # Each goal's answers are coded by themselves; where they are joined they are recoded.
        domain = Domain()
        more[name] = Column(domain.encode(answer[position] for answer in flat), domain, places)
    if step.rank:
        more[step.rank] = Column(places)
    return rows.take(chosen).with_columns(more)
