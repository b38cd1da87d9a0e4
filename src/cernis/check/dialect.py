"""The dialect `rtec`: where the released RTEC reads a program otherwise than its papers.

All that differs is written into the definitions here, so that later passes and the engine know of
no dialect: which re-initiations postpone an effect, whether `initially` starts one, which values
end one another, which ends relations between intervals compare, and which clauses count.
"""

from __future__ import annotations

from dataclasses import replace

from cernis.check.clause_order import note_cuts, obey_clause_order, without_empty_clauses
from cernis.check.model import Definitions, IntervalOperation, StaticLiteral
from cernis.check.open_values import separate_open_values
from cernis.check.report import Report
from cernis.syntax.tree import Atom

CLOSED = Atom("closed")
"""The parameter of a relation between intervals whose ends belong to them."""


def read_in_dialect(definitions: Definitions, dialect: str, report: Report) -> None:
    """Let the definitions say what they mean in a dialect."""
    definitions.settings = replace(definitions.settings, dialect=dialect)
    if dialect == "rtec":
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
    separate_open_values(definitions)


def _closed(literal: StaticLiteral) -> StaticLiteral:
    if isinstance(literal, IntervalOperation) and literal.operator == "allen":
        return replace(literal, parameters=(*literal.parameters, CLOSED))
    return literal
