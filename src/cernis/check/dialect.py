"""The dialect `rtec`: where the released RTEC reads a program otherwise than its papers.

All that differs is written into the definitions here, so that later passes and the engine know of
no dialect: which re-initiations postpone an effect, whether `initially` starts one, which values
end one another, which ends relations between intervals compare, and which clauses count.
"""

from __future__ import annotations

from dataclasses import replace

from cernis.check.model import (
    Definitions,
    IntervalOperation,
    NotEmpty,
    StaticLiteral,
    StaticRule,
)
from cernis.check.reporter import Report
from cernis.check.rewrites.clause_order import note_cuts, obey_clause_order, without_empty_clauses
from cernis.check.rewrites.open_values import note_ending_values
from cernis.syntax.tree import Atom

CLOSED = Atom("closed")
"""The parameter of a relation between intervals whose ends belong to them."""


def read_in_dialect(definitions: Definitions, dialect: str, report: Report) -> None:
    """Let the definitions say what they mean in a dialect."""
    definitions.settings = replace(definitions.settings, dialect=dialect)
    if dialect == "rtec":
        definitions.statics = [_with_failing_relations(rule) for rule in definitions.statics]
        obey_clause_order(definitions, report)
    else:
        note_cuts(definitions, report)
    without_empty_clauses(definitions)
    if dialect == "rtec":
        _as_rtec(definitions)


def _as_rtec(definitions: Definitions) -> None:
    definitions.postponables = [replace(each, until_due=True) for each in definitions.postponables]
    definitions.initials = [replace(each, starts_effects=False) for each in definitions.initials]
    definitions.statics = [
        replace(rule, body=tuple(map(_closed, rule.body))) for rule in definitions.statics
    ]
    note_ending_values(definitions)


def _with_failing_relations(rule: StaticRule) -> StaticRule:
    """A relation that no pair of intervals is in fails, and its clause with it."""
    body: list[StaticLiteral] = []
    cut = rule.cut
    for position, literal in enumerate(rule.body):
        more = _some_pair(literal)
        body += [literal, *more]
        if rule.cut is not None and cut is not None and position < rule.cut:
            cut += len(more)
    return replace(rule, body=tuple(body), cut=cut)


def _some_pair(literal: StaticLiteral) -> list[StaticLiteral]:
    """That some pair is in a relation: if so, there are intervals of the source that are."""
    if not isinstance(literal, IntervalOperation) or literal.operator != "allen":
        return []
    relation, mode = literal.parameters
    if mode in (Atom("source"), Atom("target"), Atom("union")):
        return [NotEmpty(literal.output, literal.span)]
    name = f"source of {literal.output}"
    source = replace(literal, output=name, parameters=(relation, Atom("source")))
    return [source, NotEmpty(name, literal.span)]


def _closed(literal: StaticLiteral) -> StaticLiteral:
    if isinstance(literal, IntervalOperation) and literal.operator == "allen":
        return replace(literal, parameters=(*literal.parameters, CLOSED))
    return literal
