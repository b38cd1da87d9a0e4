"""Goals proved by resolution, once for each distinct question."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cernis.check.goals import named
from cernis.knowledge import outputs
from cernis.operators.context import Context
from cernis.plan.logical import Resolve
from cernis.syntax.tree import Compound, Term, Variable, functor
from cernis.tables.columns import Array, Column, Rows
from cernis.tables.domains import Domain

_OF_LISTS: dict[str, Callable[[Any], Any]] = {
    "length": len,
    "sum_list": sum,
    "sumlist": sum,
    "max_list": max,
    "min_list": min,
}


def resolve_exec(step: Resolve, rows: Rows, context: Context) -> Rows:
    """The rows joined with the answers to a goal, or those it has none for."""
    if _is_of_collected(step.goal, rows):
        return _of_collected(step, rows)
    inputs = sorted(named([step.goal]) & rows.columns.keys())
    which, tuples = _distinct(inputs, rows)
    answers = context.knowledge.solve_many(step.goal, inputs, tuples)
    if step.negated:
        fails = np.array([not answers[each] for each in tuples], np.bool_)
        return rows.where(fails[which])
    return _expanded(step.goal, inputs, rows, which, [answers[each] for each in tuples])


def _distinct(inputs: list[str], rows: Rows) -> tuple[Array, list[tuple[Any, ...]]]:
    """The number of each row's question, and the distinct questions."""
    if not inputs:
        return np.zeros(rows.length, np.int64), [()]
    columns = [rows.columns[name] for name in inputs]
    arrays = [column.expanded(rows.length) for column in columns]
    keys = arrays[0] if len(arrays) == 1 else np.rec.fromarrays(arrays)
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    picked = [
        column.domain.decode(array[first]) if column.domain is not None else array[first].tolist()
        for column, array in zip(columns, arrays, strict=True)
    ]
    return which.ravel(), list(zip(*picked, strict=True))


def _expanded(goal: Term, inputs: list[str], rows: Rows, which: Array, answers: list[Any]) -> Rows:
    counts = np.array([len(own) for own in answers], np.int64)
    begins = np.cumsum(counts) - counts
    flat = [answer for own in answers for answer in own]
    chosen = np.repeat(np.arange(rows.length), counts[which])
    own = counts[which]
    behind = np.cumsum(own) - own
    places = np.arange(len(chosen)) - np.repeat(behind, own) + np.repeat(begins[which], own)
    more: dict[str, Column] = {}
    for at, name in enumerate(outputs(goal, inputs)):
        # Each goal's answers are coded by themselves; where they are joined they are recoded.
        domain = Domain()
        more[name] = Column(domain.encode(answer[at] for answer in flat), domain, places)
    return rows.take(chosen).with_columns(more)


def _is_of_collected(goal: Term, rows: Rows) -> bool:
    if functor(goal)[0] not in _OF_LISTS or not isinstance(goal, Compound):
        return False
    source = goal.args[0]
    if not isinstance(source, Variable) or source.name not in rows.columns:
        return False
    return rows.columns[source.name].data.dtype == object


def _of_collected(step: Resolve, rows: Rows) -> Rows:
    """The length, sum, maximum or minimum of lists that were collected for each row."""
    assert isinstance(step.goal, Compound)
    source, result = step.goal.args
    assert isinstance(source, Variable)
    lists = rows.columns[source.name].expanded(rows.length)
    fold = _OF_LISTS[step.goal.functor]
    some = np.array([fold in (len, sum) or len(own) > 0 for own in lists], np.bool_)
    values = np.array([fold(own) if ok else 0 for own, ok in zip(lists, some, strict=True)])
    if isinstance(result, Variable) and result.name not in rows.columns:
        return rows.with_columns({result.name: Column(values)}).where(some)
    from cernis.operators.expressions import reckon

    return rows.where(some & (values == reckon(result, rows)))
