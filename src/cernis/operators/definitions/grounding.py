"""Grounding: which instances of a fluent exist."""

from __future__ import annotations

import numpy as np

from cernis.check.model import Grounding, Pair, Relation
from cernis.errors import UnsupportedError
from cernis.kernels.array_types import Array, Booleans
from cernis.kernels.hashing import Numbering
from cernis.operators.collections import ROW
from cernis.operators.context.coded_columns import constant_column
from cernis.operators.context.lasting_results import Answers
from cernis.operators.context.query_context import Context
from cernis.operators.distinct import distinct
from cernis.operators.rule_pipeline import concatenated, run_steps
from cernis.syntax.tree import Term, Variable
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import Domain


def allowed(
    groundings: tuple[Grounding, ...], arguments: list[Array], domains: list[Domain | None],
    values: Array, value_domain: Domain, context: Context,
) -> Booleans:  # fmt: skip
    """For each row: does some grounding rule allow the pair? Each pair is asked about once."""
    columns, all_domains = [*arguments, values], [*domains, value_domain]
    if not arguments or any(domain is None for domain in all_domains):
        first, which = distinct(columns, all_domains)
        return _allowed_rows(groundings, [c[first] for c in columns], all_domains, context)[which]
    known = context.background.memo.answers.setdefault(
        (id(groundings), filling(groundings, context)), Answers([Numbering() for _ in arguments])
    )
    which = columns[0]
    for numbering, column in zip(known.numberings, columns[1:], strict=True):
        which = numbering.of((which << 31) | column)
    count = len(known.numberings[-1])
    if len(known.may) < count:
        # All new ones are among these rows.
        rows = np.zeros(count, np.int64)
        rows[which] = np.arange(len(which))
        new = rows[len(known.may) :]
        more = _allowed_rows(groundings, [column[new] for column in columns], all_domains, context)
        known.may = np.concatenate([known.may, more])
    return known.may[which]


def _allowed_rows(
    groundings: tuple[Grounding, ...], columns: list[Array], domains: list[Domain | None],
    context: Context,
) -> Booleans:  # fmt: skip
    count = len(columns[0])
    may = np.zeros(count, np.bool_)
    pairs = [Column(column, domain) for column, domain in zip(columns, domains, strict=True)]
    for grounding in groundings:
        may[_answers(grounding, pairs, count, context)] = True
    return may


def filling(groundings: tuple[Grounding, ...], context: Context) -> int:
    """A number that changes whenever a table that grounding rules look at is filled again."""
    background, tables = context.background, context.goals.tables_of(groundings)
    return background.all_fillings if tables is None else sum(map(background.filling, tables))


_NOT_GROWING = frozenset({"\\+", "not", ";", "->", "forall", "findall", "aggregate_all"})
"""Goals of which fewer may be true where there are more facts, or that may hold such goals."""


def only_grow(groundings: tuple[Grounding, ...], context: Context) -> bool:
    """Do grounding rules allow what they allowed before, however many members join domains?"""
    tables = context.goals.tables_of(groundings)
    return tables is not None and not any(name in _NOT_GROWING for name, _ in tables)


def allowed_values(
    relation: Relation, groundings: tuple[Grounding, ...], domain: Domain, value: int,
    value_domain: Domain, context: Context,
) -> Booleans:  # fmt: skip
    """For each value of a fluent's one argument: do grounding rules allow the pair?

    Asked once for each value of the domain, as long as the tables they look at stay the same.
    """
    key = (relation, value, filling(groundings, context))
    known = context.background.memo.allowed.get(key, np.empty(0, np.bool_))
    if len(known) < len(domain):
        new = np.arange(len(known), len(domain))
        values = np.full(len(new), value)
        may = allowed(groundings, [new], [domain], values, value_domain, context)
        known = context.background.memo.allowed[key] = np.concatenate([known, may])
    return known


def _answers(grounding: Grounding, pairs: list[Column], count: int, context: Context) -> Array:
    """The rows that one grounding rule allows."""
    entity = grounding.entity
    assert isinstance(entity, Pair)
    rows = Rows(count, {ROW: Column(np.arange(count))})
    terms: list[Term] = [*entity.args, entity.value]
    for term, column in zip(terms, pairs, strict=True):
        if isinstance(term, Variable):
            if term.name in rows.columns:
                same = rows.columns[term.name].values == column.values[rows.columns[ROW].values]
                rows = rows.where(same).settled()
            elif term.name != "_":
                own = Column(column.data, column.domain, rows.columns[ROW].values)
                rows = rows.with_columns({term.name: own})
        else:
            wanted = constant_column(term, column.domain).data[0]
            rows = rows.where(column.values[rows.columns[ROW].values] == wanted).settled()
    steps = context.goals.of_grounding(grounding)
    result: Array = run_steps(steps, rows, context).settled().columns[ROW].values
    return result


def grounded(head: Pair, groundings: tuple[Grounding, ...], rows: Rows, context: Context) -> Rows:
    """Rows for every instance of the head that grounding allows."""
    outcomes = []
    bound = frozenset(rows.columns)
    for grounding in groundings:
        steps = context.goals.of_instances(head, grounding, bound)
        outcomes.append(run_steps(steps, rows, context).settled())
    if not outcomes:
        raise UnsupportedError(f"nothing says which instances {head} has")
    return concatenated(outcomes)
