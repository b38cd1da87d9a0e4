"""Runs the steps of a rule over time-points, and the operators that hold steps of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from cernis.check.model import Event, Pair
from cernis.errors import OverflowFault, TooManyMatches
from cernis.kernels.array_types import Array
from cernis.kernels.bounds import TooManyPairs
from cernis.operators.collections import LISTED, ROW, listed, sorted_rows
from cernis.operators.column_arithmetic import Numeric
from cernis.operators.conditions import (
    all_true,
    compute_exec,
    exclude_exec,
    filter_exec,
    lookup_exec,
)
from cernis.operators.context.query_context import Context
from cernis.operators.expressions import as_column, compare, numeric_value, overflow, shared
from cernis.operators.fluent_lookups import anti_stab_exec, stab_exec
from cernis.operators.occurrences import event_anti_join_exec, event_join_exec, scan_exec
from cernis.operators.patterns.totals import has_overflow, totals, with_values
from cernis.operators.resolved_goals import resolve_exec
from cernis.plan.logical import (
    Aggregate,
    AntiStab,
    Branches,
    Compute,
    EventAntiJoin,
    EventJoin,
    Except,
    Exclude,
    Filter,
    Lookup,
    PointOperator,
    Resolve,
    Scan,
    Stab,
    names_in,
    parts_of,
)
from cernis.plan.text_order import in_text_order
from cernis.syntax.printer import show
from cernis.syntax.tree import Compound, Term, Variable
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import Domain

_FOUND = "<found>"

MANY = 20_000
"""Conditions on so many rows are put together and decided in one pass."""


def run_steps(
    steps: Sequence[PointOperator], rows: Rows | None, context: Context,
    names_from: Sequence[frozenset[str]] | None = None,
) -> Rows:  # fmt: skip
    """The rows that come out of a pipeline; without rows to begin with, it makes its own.

    `names_from` has the variables that are used from each step on, and after all. Where it is
    given, computed columns of other names may be missing.

    Conditions are decided as soon as they can be. If one of them computes a number that is too
    large, they are decided in the order of the text: another may rule out such rows before.
    """
    try:
        return _run_all(steps, rows, context, names_from)
    except OverflowFault:
        later = in_text_order(steps)
        if later == tuple(steps):
            raise
    return _run_all(later, rows, context, None)


def _run_all(
    steps: Sequence[PointOperator], rows: Rows | None, context: Context,
    names_from: Sequence[frozenset[str]] | None,
) -> Rows:  # fmt: skip
    place = 0
    while place < len(steps):
        step = steps[place]
        if context.measuring.profile is None and rows is not None and rows.length >= MANY:
            rows, place = _together(steps, place, rows, context, names_from)
        elif context.measuring.profile is None:
            rows, place = _run_step(step, rows, context), place + 1
        else:
            place += 1
            before = rows.length if rows is not None else 0
            name = type(step).__name__
            with context.measuring.profile.measured(name, step.span, before) as cost:
                # Rows ruled out are left out at once, so that what is counted is what is left.
                rows = _run_step(step, rows, context).settled()
                cost.rows_out += rows.length
            if isinstance(step, Scan):
                context.measuring.profile.evaluated(step, rows.length)
    return rows if rows is not None else Rows(1)


def _together(
    steps: Sequence[PointOperator], place: int, rows: Rows, context: Context,
    names_from: Sequence[frozenset[str]] | None,
) -> tuple[Rows, int]:  # fmt: skip
    """Run as many steps as can be put together, or one; gives the place of the next, too."""
    from cernis.operators.fused import Fusion

    fusion, begin = Fusion(rows, context), place
    while place < len(steps) and fusion.add(steps[place]):
        place += 1
    if place == begin:
        return _run_step(steps[place], rows, context), place + 1
    if names_from is None:
        return fusion.rows(lambda name: True), place
    return fusion.rows(names_from[place].__contains__), place


def _run_step(step: PointOperator, rows: Rows | None, context: Context) -> Rows:
    if isinstance(step, Scan):
        return scan_exec(step, context)
    if rows is None:
        rows = Rows(1)
    if type(step) not in _MASKABLE:
        rows = rows.settled()
    try:
        return _EXECS[type(step)](step, rows, context)
    except TooManyPairs as error:
        raise TooManyMatches(str(error), step.span) from None


def _numbered(rows: Rows) -> Rows:
    return rows.with_columns({ROW: Column(np.arange(rows.length))})


def except_exec(step: Except, rows: Rows, context: Context) -> Rows:
    """The rows that nothing comes out of."""
    filters = [inner for inner in step.body if isinstance(inner, Filter)]
    if len(filters) == len(step.body):
        return rows.where(~all_true(filters, rows, context.caches))
    rows = rows.settled()
    inner = run_steps(step.body, _numbered(rows), context).settled()
    mask = np.ones(rows.length, np.bool_)
    mask[inner.columns[ROW].values] = False
    return rows.where(mask)


def branches_exec(step: Branches, rows: Rows, context: Context) -> Rows:
    """What comes out of any branch; a row that comes out of two is there twice."""
    outcomes: list[Rows] = []
    for number, branch in enumerate(step.branches):
        starts = branch and isinstance(branch[0], Scan)
        outcome = run_steps(branch, None if starts else rows, context).settled()
        if step.rank:
            before = sum(each.length for each in outcomes)
            outcome = outcome.take(sorted_rows(outcome, step.orders[number]))
            rank = Column(before + np.arange(outcome.length))
            outcome = outcome.with_columns({step.rank: rank})
        outcomes.append(outcome)
    return concatenated(outcomes)


def concatenated(parts: Sequence[Rows]) -> Rows:
    """Several tables of rows joined end to end, with the columns they all have."""
    if len(parts) == 1:
        return parts[0]
    names = set.intersection(*(set(part.columns) for part in parts))
    columns = {name: _stacked([(p.columns[name], p.length) for p in parts]) for name in names}
    times = None
    if all(part.times is not None for part in parts):
        times = Column(np.concatenate([part.points for part in parts]))
    return Rows(sum(part.length for part in parts), columns, times)


def _stacked(columns: Iterable[tuple[Column, int]]) -> Column:
    from cernis.operators.context.coded_columns import recoded

    parts = list(columns)
    domains = {id(column.domain) for column, _ in parts}
    forms = {column.data.dtype for column, length in parts if length}
    if len(domains) == 1 and (parts[0][0].domain is not None or len(forms) < 2):
        domain = parts[0][0].domain
    else:
        domain = next((c.domain for c, _ in parts if c.domain is not None), Domain())
    return Column(np.concatenate([recoded(c, domain, length) for c, length in parts]), domain)


def aggregate_exec(step: Aggregate, rows: Rows, context: Context) -> Rows:
    """Each row with an aggregate over what comes out for it; see `aggregated`."""
    if step.kind == "count":
        return _with_numbers(step.result, _counts(step, rows, context), rows)
    return aggregated(step, rows, run_steps(step.body, _numbered(rows), context).settled())


def aggregated(step: Aggregate, rows: Rows, inner: Rows) -> Rows:
    """Each row with an aggregate over the inner rows that name it.

    A count or sum of nothing is 0, a list of nothing is empty; a row without anything to take
    the minimum, maximum or average of is left out.
    """
    owners = inner.columns[ROW].values
    counts = np.bincount(owners, minlength=rows.length)
    if step.kind == "count":
        return _with_numbers(step.result, counts, rows)
    if step.kind in LISTED:
        return listed(step, rows, inner)
    chosen, values = with_values(numeric_value(step.template, inner), inner.length)
    totals_of_rows = totals(step.kind, owners[chosen], values, rows.length)
    if has_overflow(totals_of_rows):
        raise overflow(f"{step.kind} of {show(step.template)}", step.template)
    return _with_numbers(step.result, totals_of_rows, rows)


def _counts(step: Aggregate, rows: Rows, context: Context) -> Array:
    """How many come out for each row; rules that count the same for the same rows share it."""

    def count() -> Array:
        inner = run_steps(step.body, _numbered(rows), context).settled()
        return np.bincount(inner.columns[ROW].values, minlength=rows.length)

    names = sorted({name for name in names_in(step.body) if name in rows.columns})
    columns = [rows.columns[name] for name in names]
    relations = [p.relation for p in parts_of(step.body) if isinstance(p, (Event, Pair))]
    sources: list[object] = []
    for own in relations:
        sources += [context.relations.fluents.get(own), context.relations.events.get(own)]
        sources += [context.relations.initiations.get(own), context.relations.terminations.get(own)]
    what = ("count", step.body, *names)
    return shared(what, columns, sources, rows, context.caches.computed, count)


def _with_numbers(result: Term, numbers: Numeric, rows: Rows) -> Rows:
    """The rows that have a number, with it: as the result's value, or equal to it."""
    column, valid = as_column(numbers, rows.length)
    if isinstance(result, Variable) and result.name not in rows.columns:
        rows = rows.with_columns({result.name: column})
        return rows if valid is None else rows.where(valid).settled()
    wanted = rows.with_columns({_FOUND: column})
    equal = compare(Compound("==", (Variable(_FOUND), result)), wanted)
    equal = np.broadcast_to(equal, rows.length)
    return rows.where(equal if valid is None else equal & valid)


_MASKABLE = frozenset({Filter, Compute, Lookup, Exclude, Except})
"""Operators that can work on masked rows."""

_EXECS: dict[type, Callable[..., Rows]] = {
    EventJoin: event_join_exec,
    EventAntiJoin: event_anti_join_exec,
    Stab: stab_exec,
    AntiStab: anti_stab_exec,
    Filter: filter_exec,
    Compute: compute_exec,
    Lookup: lookup_exec,
    Exclude: exclude_exec,
    Resolve: resolve_exec,
    Branches: branches_exec,
    Except: except_exec,
    Aggregate: aggregate_exec,
}
