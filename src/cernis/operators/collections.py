"""Lists of what comes out of a pipeline for each row: `findall/3` and its kin.

A list is a term like any other: each distinct one gets a code, and built-in predicates of lists
are asked once for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from cernis.check.goal_checks import named
from cernis.kernels.array_types import Array
from cernis.knowledge.ground_values import Value, standard_order, term_of, value
from cernis.plan.logical import Aggregate
from cernis.syntax.tree import Atom, Compound, Term, Variable
from cernis.syntax.tree import Sequence as ListTerm
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import Domain

LISTED = frozenset({"findall", "bagof", "setof", "set", "max_with", "min_with"})
"""Kinds of aggregates whose result is a list, or one of the things that would be listed."""

ROW = "<row>"
"""The column that says which row of an outer pipeline a row of an inner one comes from."""


def listed(step: Aggregate, rows: Rows, inner: Rows) -> Rows:
    """Each row with the list of what the inner rows that name it make of the template.

    `findall` and `set` give an empty list where there is nothing; `bagof` and `setof` give nothing
    there, and a row for each value of their other variables where there is something; so does
    the greatest or least.
    """
    inner = inner.take(sorted_rows(inner, (ROW, *step.order)))
    items = _items(step.template, inner)
    owners = inner.columns[ROW].expanded(inner.length)
    if step.kind in ("bagof", "setof"):
        inner, ends, order = _by_value(step.by, inner)
        lists = [[items[row] for row in order[low:high]] for low, high in pairwise([0, *ends])]
        rows = rows.take(inner.columns[ROW].values)
        more = {name: inner.columns[name] for name in step.by}
        return _with_lists(step, lists, rows.with_columns(more))
    ends = np.cumsum(np.bincount(owners, minlength=rows.length)).tolist()
    lists = [items[low:high] for low, high in pairwise([0, *ends])]
    if step.kind in ("max_with", "min_with"):
        some = [row for row, each in enumerate(lists) if _extreme(step.kind, each) is not None]
        lists, rows = [lists[row] for row in some], rows.take(np.array(some, np.int64))
    return _with_lists(step, lists, rows)


def _with_lists(step: Aggregate, lists: list[list[Term]], rows: Rows) -> Rows:
    """Rows with what is made of a list for each."""
    assert isinstance(step.result, Variable)
    domain = Domain()
    results = [domain.code(_result(step.kind, each)) for each in lists]  # type: ignore[arg-type]
    return rows.with_columns({step.result.name: Column(np.array(results, np.int64), domain)})


def _by_value(by: tuple[str, ...], inner: Rows) -> tuple[Rows, list[int], list[int]]:
    """The first inner row of each row and value of some columns, and the rows of each of these.

    The latter as one list, and where each part of it ends.
    """
    columns = [inner.columns[name].expanded(inner.length) for name in (ROW, *by)]
    order = np.lexsort(columns[::-1])
    changes = np.zeros(max(inner.length - 1, 0), np.bool_)
    for column in columns:
        changes |= np.diff(column[order]) != 0
    begins = np.r_[0, 1 + np.flatnonzero(changes)][: inner.length]
    ends = [*begins[1:].tolist(), inner.length] if inner.length else []
    return inner.take(order[begins]), ends, order.tolist()


def _result(kind: str, items: list[Term]) -> Value:
    if kind in ("max_with", "min_with"):
        best = _extreme(kind, items)
        assert best is not None
        return best
    if kind in ("setof", "set"):
        once = {value(item): item for item in items}
        items = [once[each] for each in sorted(once, key=standard_order)]
    return value(ListTerm(tuple(items))) if items else "[]"


def _extreme(kind: str, items: list[Term]) -> Value | None:
    """The first of the greatest or least, with what goes with it; None if there is none."""
    best: Any = None
    for item in items:
        assert isinstance(item, Compound)
        number = value(item.args[0])
        if isinstance(number, int | float):
            better = best is None or (number > best[0] if kind == "max_with" else number < best[0])
            best = (number, item) if better else best
    return None if best is None else value(best[1])


def _items(template: Term, inner: Rows) -> list[Term]:
    """What the template is in each row."""
    names = sorted(named([template]))
    if isinstance(template, Variable) and names:
        return _terms(inner.columns[template.name], inner.length)
    columns = {name: _terms(inner.columns[name], inner.length) for name in names}
    if not columns:
        return [_filled(template, {})] * inner.length
    rows = zip(*columns.values(), strict=True)
    return [_filled(template, dict(zip(columns, row, strict=True))) for row in rows]


def _filled(template: Term, values: dict[str, Term]) -> Term:
    if isinstance(template, Variable):
        # A variable without a name is in a list what it is alone: something.
        return values.get(template.name, Atom("_"))
    if isinstance(template, Compound):
        return Compound(template.functor, tuple(_filled(arg, values) for arg in template.args))
    if isinstance(template, ListTerm):
        tail = None if template.tail is None else _filled(template.tail, values)
        return ListTerm(tuple(_filled(item, values) for item in template.items), tail)
    return template


def _terms(column: Column, length: int) -> list[Term]:
    values = column.expanded(length)
    if column.domain is None:
        return [term_of(each) for each in values.tolist()]
    known: dict[int, Term] = {}
    for code in np.unique(values).tolist():
        known[code] = term_of(column.domain.values[code])
    return [known[code] for code in values.tolist()]


def sorted_rows(rows: Rows, names: Sequence[str]) -> Array:
    """The order in which rows are sorted by some columns, each in the standard order of terms."""
    keys = [_standard(rows.columns[name], rows.length) for name in names if name in rows.columns]
    return np.lexsort(keys[::-1]) if keys else np.arange(rows.length)


def _standard(column: Column, length: int) -> Array:
    values = column.expanded(length)
    if column.domain is None or not length:
        return values
    codes, which = np.unique(values, return_inverse=True)
    known = [column.domain.values[code] for code in codes.tolist()]
    order = sorted(range(len(known)), key=lambda at: standard_order(known[at]))
    rank = np.empty(len(known), np.int64)
    rank[order] = np.arange(len(known))
    ranks: Array = rank[which.ravel()]
    return ranks
