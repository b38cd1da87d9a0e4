"""Derived events under uncertainty: each happening is the disjunction of its proofs."""

from __future__ import annotations

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.probabilities.proofs import Prover, Uncertainty, literal_table, with_literals
from cernis.evaluate.probabilities.uncertain_facts import Conjunctions, stacked
from cernis.kernels.array_types import Array, Integers
from cernis.kernels.order import stable_order
from cernis.operators.context.query_context import Context
from cernis.operators.context.query_relations import QueryRelations
from cernis.operators.definitions.rule_heads import head_columns
from cernis.operators.distinct import distinct
from cernis.plan.logical import Definition, PointRule
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable


def evaluate_event(definition: Definition, context: Context, uncertainty: Uncertainty) -> None:
    """Put the happenings of a derived event, with their literals, into the context."""
    relation = definition.relation
    domains = context.encoding.events[relation]
    arguments: list[list[Array]] = []
    times: list[Integers] = []
    conjunctions: list[Conjunctions] = []
    for rule in definition.rules:
        assert isinstance(rule, PointRule)
        proofs = Prover(uncertainty, context).run(rule.steps)
        arguments.append(head_columns(rule.head.args, proofs.rows, domains))
        times.append(proofs.rows.points)
        conjunctions.append(proofs.conjunctions())
    columns = [np.concatenate(column) for column in zip(*arguments, strict=True)]
    put_happenings(
        with_literals(relation), columns, domains, np.concatenate(times), stacked(conjunctions),
        context.relations, uncertainty,
    )  # fmt: skip
    uncertainty.events.add(relation)


def put_happenings(
    relation: Relation, columns: list[Array], domains: list[Domain | None], times: Integers,
    proofs: Conjunctions, relations: QueryRelations, uncertainty: Uncertainty,
) -> None:  # fmt: skip
    """Put a table of happenings, each once, into the context; its last argument is the literal."""
    first, which = distinct([*columns, times], [*domains, None])
    if len(first) == len(times):
        literals = uncertainty.facts.any_of(np.arange(len(times)), proofs, len(times))
    else:
        order = stable_order(which, len(first))
        literals = uncertainty.facts.any_of(which[order], proofs.take(order), len(first))
    if len(first) < len(times):
        columns, times = [column[first] for column in columns], times[first]
    table = literal_table(EventTable(columns, domains, times), literals)
    relations.events[relation] = table
