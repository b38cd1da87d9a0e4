"""Derived events under uncertainty: each happening is the disjunction of its proofs."""

from __future__ import annotations

import numpy as np

from cernis.check.model import Event, Relation
from cernis.evaluate.probabilities.proofs import Prover, Uncertainty, literal_table, with_literals
from cernis.evaluate.probabilities.uncertain_facts import Conjunctions, stacked
from cernis.kernels.array_types import Array, Integers
from cernis.kernels.order import stable_order
from cernis.operators.definitions.rule_heads import head_column
from cernis.operators.distinct import distinct
from cernis.operators.query_context import Context
from cernis.plan.logical import Definition, PointRule
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable


def evaluate_event(definition: Definition, context: Context, uncertainty: Uncertainty) -> None:
    """Put the happenings of a derived event, with their literals, into the context."""
    relation = definition.relation
    domains = [context.domain("event", relation, at) for at in range(relation.arity)]
    columns: list[list[Array]] = [[] for _ in domains]
    times: list[Integers] = []
    proofs: list[Conjunctions] = []
    for rule in definition.rules:
        assert isinstance(rule, PointRule)
        assert isinstance(rule.head, Event)
        found = Prover(uncertainty, context).run(rule.steps)
        times.append(found.rows.points)
        proofs.append(found.conjunctions())
        for at, (arg, domain) in enumerate(zip(rule.head.args, domains, strict=True)):
            columns[at].append(head_column(arg, found.rows, domain))
    put_happenings(
        with_literals(relation), [np.concatenate(own) for own in columns], domains,
        np.concatenate(times), stacked(proofs), context, uncertainty,
    )  # fmt: skip
    uncertainty.events.add(relation)


def put_happenings(
    relation: Relation, columns: list[Array], domains: list[Domain | None], times: Integers,
    proofs: Conjunctions, context: Context, uncertainty: Uncertainty,
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
    context.events[relation] = literal_table(EventTable(columns, domains, times), literals)
