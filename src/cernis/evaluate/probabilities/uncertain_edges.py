"""Starts and ends of uncertain fluents, as events that are true in some worlds.

A pair starts at a point if it does not hold there and holds a tick later; it ends if it holds there
and does not a tick later. So both rest on the records of the point and on whether the pair holds,
which is the same fact as for rules that ask for it. The starts and ends of an input fluent rest on
its records: those of the point, and those of a tick later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from cernis.check.model import Boundary, Relation
from cernis.evaluate.probabilities.proofs import Uncertainty, edge_relation
from cernis.evaluate.probabilities.uncertain_facts import FALSE, conjunctions
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.kernels.circuit_values import locate
from cernis.kernels.order import stable_order
from cernis.operators.context.query_context import Context
from cernis.operators.distinct import distinct
from cernis.plan.builder import Plan
from cernis.plan.logical import parts_of
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import INFINITY, FluentTable

if TYPE_CHECKING:
    from cernis.evaluate.probabilities.courses import Pairs
    from cernis.evaluate.probabilities.uncertain_fluents import FluentActions

_INITIATES: Final = 0
_BREAKS: Final = 1


def bounded_fluents(plan: Plan) -> frozenset[Relation]:
    """The fluents whose starts or ends rules ask for."""
    strata = [stratum for stage in plan.stages for stratum in stage.strata]
    return frozenset(
        part.pair.relation
        for stratum in strata
        for part in parts_of(tuple(definition.rules for definition in stratum.definitions))
        if isinstance(part, Boundary)
    )


def put_edges(outcome: FluentActions, context: Context, uncertainty: Uncertainty) -> None:
    """Enter the starts and ends of the pairs of a fluent, whose courses are known by now."""
    actions, pairs, facts = outcome.actions, outcome.pairs, uncertainty.facts
    rows = np.flatnonzero(actions.breaks <= _BREAKS)
    owners, times = actions.pairs[rows], actions.times[rows]
    first, group = distinct([owners, times], [None, None])
    order = stable_order(group, len(first))
    kinds = actions.breaks[rows]

    def any_action(kind: int) -> Integers:
        of_kind = order[kinds[order] == kind]
        proofs = actions.proofs.take(rows[of_kind])
        return facts.any_of(group[of_kind], proofs, len(first))

    initiated, broken = any_action(_INITIATES), any_action(_BREAKS)
    owners, times = owners[first], times[first]
    holds = _holding(outcome.relation, owners, times, uncertainty)
    # What is lost in a tie does not count.
    if context.window.ties == "break":
        starts, ends = [holds ^ 1, initiated, broken ^ 1], [holds, broken]
    else:
        starts, ends = [holds ^ 1, initiated], [holds, broken, initiated ^ 1]
    for edge, literals in (("start", starts), ("end", ends)):
        _put(outcome.relation, edge, pairs, owners, times, literals, context, uncertainty)
    uncertainty.edged.add(outcome.relation)


def _put(
    relation: Relation, edge: str, pairs: Pairs | FluentTable, owners: Integers, times: Integers,
    literals: list[Integers], context: Context, uncertainty: Uncertainty,
) -> None:  # fmt: skip
    """Enter the starts or ends of some pairs, each of which is true if all its literals are."""
    possible = np.flatnonzero(np.logical_and.reduce([each != FALSE for each in literals]))
    proofs = conjunctions([each[possible] for each in literals], len(possible))
    both = uncertainty.facts.any_of(np.arange(len(possible)), proofs, len(possible))
    chosen = owners[possible]
    columns = [*(column[chosen] for column in pairs.arguments), pairs.values[chosen], both]
    context.relations.events[edge_relation(relation, edge)] = EventTable(
        columns, [*pairs.domains, pairs.value_domain, None], times[possible]
    )


def put_input_edges(
    relation: Relation, last: list[Array] | None, context: Context, uncertainty: Uncertainty
) -> None:
    """Enter the starts and ends of an input fluent, whose records are entered.

    `last` are the instances that a record at the query itself is about: they may go on after it.
    What is seen again after a gap between windows may have held in the gap, so it does not start.
    """
    segments, window = uncertainty.fluents[relation], context.window
    table, literals = segments.table, segments.literals
    owners = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    follows = (owners[1:] == owners[:-1]) & (table.ends[:-1] == table.starts[1:])
    before = np.full(len(owners), FALSE, np.int64)
    before[1:][follows] = literals[:-1][follows]
    over = np.flatnonzero(~np.append(follows, False)[: len(owners)] & (table.ends != INFINITY))
    owners = np.concatenate([owners, owners[over]])
    times = np.concatenate([table.starts, table.ends[over]]) - window.tick
    before = np.concatenate([before, literals[over]])
    after = np.concatenate([literals, np.full(len(over), FALSE, np.int64)])
    inside = (times > window.edge) & (times <= window.query) & (before != after)
    is_start = inside & ((times > window.forgotten) | (window.forgotten == window.edge))
    is_end = inside & ~((times == window.query) & _among(table, last)[owners])
    for edge, rows, both in (
        ("start", np.flatnonzero(is_start), [before ^ 1, after]),
        ("end", np.flatnonzero(is_end), [before, after ^ 1]),
    ):
        _put(
            relation, edge, table, owners[rows], times[rows], [each[rows] for each in both],
            context, uncertainty,
        )  # fmt: skip
    uncertainty.edged.add(relation)


def _among(table: FluentTable, instances: list[Array] | None) -> Booleans:
    """The groups of some instances, which are given by arguments and value, as a mask."""
    mask = np.zeros(len(table), np.bool_)
    if instances is not None and len(instances[-1]):
        groups = table.finder(tuple(range(len(instances)))).one(instances, len(instances[-1]))
        mask[groups[groups >= 0]] = True
    return mask


def _holding(
    relation: Relation, pairs: Integers, times: Integers, uncertainty: Uncertainty
) -> Integers:
    """The literals that pairs hold at times."""
    segments, table = uncertainty.fluents[relation], uncertainty.fluents[relation].table
    places = locate(pairs, times, table.offsets, table.starts, table.ends)
    literals = np.full(len(pairs), FALSE, np.int64)
    known = np.flatnonzero(places >= 0)
    if len(known):
        literals[known] = segments.literals[places[known]]
        if segments.known is not None:
            whole = literals[known]
            segments.known.put(whole, pairs[known], times[known], uncertainty.facts)
            literals[known] = whole
    return literals
