"""The rows of rules over time-points, and their heads."""

from __future__ import annotations

from collections.abc import Sequence

from cernis.check.model import Relation
from cernis.kernels.array_types import Array
from cernis.operators.context.coded_columns import constant_column, recoded
from cernis.operators.context.query_context import Context
from cernis.operators.expressions import computed
from cernis.operators.rule_pipeline import run_steps
from cernis.plan.logical import PointRule
from cernis.plan.rule_plans import is_expression
from cernis.syntax.tree import Compound, Term, Variable
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import Domain


def head_column(term: Term, rows: Rows, domain: Domain | None) -> Array:
    """An argument of a head, row by row, in its slot's encoding."""
    if isinstance(term, Variable):
        return recoded(rows.columns[term.name], domain, rows.length)
    if isinstance(term, Compound) and is_expression(term.functor):
        return recoded(computed(term, rows)[0], domain, rows.length)
    return recoded(constant_column(term, domain), domain, rows.length)


def head_columns(args: Sequence[Term], rows: Rows, domains: list[Domain | None]) -> list[Array]:
    """The arguments of a head, row by row, in the encodings of their slots."""
    return [head_column(arg, rows, domain) for arg, domain in zip(args, domains, strict=True)]


def agreeing(term: Term, column: Column, rows: Rows) -> Rows:
    """The rows whose value in a column agrees with a term; a variable is bound to it.

    A constant, or a variable that has a value, must be equal; `_` agrees with anything.
    """
    if not isinstance(term, Variable):
        wanted = constant_column(term, column.domain).data[0]
        return rows.where(column.values == wanted).settled()
    if term.name in rows.columns:
        known = recoded(rows.columns[term.name], column.domain, rows.length)
        return rows.where(known == column.values).settled()
    return rows if term.name == "_" else rows.with_columns({term.name: column})


def fired(
    rule: PointRule, relation: Relation, domains: list[Domain | None], context: Context
) -> Rows:
    """The rows of a rule, with the columns that its head names."""
    if context.restriction.instances is None:
        return run_steps(rule.steps, None, context, rule.names_from)
    first, *rest = rule.steps
    rows = run_steps([first], None, context)
    if all(isinstance(arg, Variable) and arg.name in rows.columns for arg in rule.head.args):
        rows = rows.settled()
        arguments = head_columns(rule.head.args, rows, domains)
        mask = context.restriction.instances.mask(relation, arguments)
        rows = rows if mask is None else rows.where(mask)
    return run_steps(rest, rows, context, rule.names_from[1:])
