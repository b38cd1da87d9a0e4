"""Recursive patterns over uncertain records: rounds until no occurrence becomes likelier.

Each step of a recursion extends the interval, so an occurrence depends on shorter ones only, and
each round makes the occurrences of at least one more length right. The rules can only add: what
one round finds true in a world, the next one finds true, too. So once no probability changes, no
formula does.

A formula that refers to those of the last round would double with each step. So each is replaced
by the paths of its circuit, where these are few.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from cernis.errors import UnsupportedError
from cernis.evaluate.probabilities.circuits import Circuits
from cernis.evaluate.probabilities.composites.pattern_proofs import (
    PatternProver,
    evaluate_patterns,
    literal_chances,
    occurrence_relation,
)
from cernis.evaluate.probabilities.proof_groups import Actions, group_actions
from cernis.evaluate.probabilities.proofs import Uncertainty, with_literals
from cernis.evaluate.probabilities.uncertain_facts import Conjunctions, Facts, conjunctions
from cernis.kernels.array_types import Array, Integers
from cernis.operators.context.query_context import Context
from cernis.plan.logical import Stratum
from cernis.tables.event_tables import EventTable

MOST_ROUNDS: Final = 200
"""A recursion that goes deeper than this over uncertain records is refused."""

MOST_PATHS: Final = 256
"""A formula with more paths than this stays as it is."""

_EQUAL: Final = 1e-13
"""Probabilities that differ by no more are equal."""


def evaluate_recursion(
    stratum: Stratum, context: Context, uncertainty: Uncertainty, prover: PatternProver,
    circuits: Circuits,
) -> None:  # fmt: skip
    """Put the occurrences of patterns that build upon themselves into the context."""
    assert stratum.recursion is not None
    names = ", ".join(map(str, stratum.relations))
    _begin(stratum, context, uncertainty)
    before: list[Array] = []
    for _ in range(MOST_ROUNDS):
        prover.forget(stratum.recursion.dependent_steps)
        for definition in stratum.definitions:
            evaluate_patterns(definition, context, uncertainty, prover)
        now: list[Array] = []
        for relation in stratum.relations:
            table = context.relations.events[occurrence_relation(relation)]
            table = _rewritten(table, uncertainty.facts, circuits, names)
            context.relations.events[occurrence_relation(relation)] = table
            now += _state(table, uncertainty.facts, circuits, names)
        if _are_equal(before, now):
            prover.forget(stratum.recursion.dependent_steps)
            return
        before = now
    raise UnsupportedError(
        f"{names}: over uncertain records a recursion may take {MOST_ROUNDS} steps, and this one "
        "takes more; a shorter `within` lets it take fewer"
    )


def _begin(stratum: Stratum, context: Context, uncertainty: Uncertainty) -> None:
    """Before the first round there are no occurrences."""
    none = np.empty(0, np.int64)
    for relation in stratum.relations:
        uncertainty.events.add(relation)
        domains = [*context.encoding.events[relation], None]
        for name in (occurrence_relation(relation), with_literals(relation)):
            columns = [none] * len(domains)
            starts = none if name != with_literals(relation) else None
            context.relations.events[name] = EventTable(columns, domains, none, starts)


def _state(table: EventTable, facts: Facts, circuits: Circuits, names: str) -> list[Array]:
    """The occurrences of a table in some order, each with its probability."""
    assert table.starts is not None
    *arguments, literals = table.arguments
    order = np.lexsort((table.starts, table.times, *arguments))
    columns = [*arguments, table.starts, table.times]
    chances = literal_chances(literals, facts, circuits, names)
    return [column[order] for column in (*columns, chances)]


def _are_equal(one: list[Array], other: list[Array]) -> bool:
    return len(one) == len(other) and all(
        len(a) == len(b) and np.allclose(a, b, rtol=0, atol=_EQUAL)
        for a, b in zip(one, other, strict=True)
    )


# -- formulas by the paths of their circuits -------------------------------------------------


def _rewritten(table: EventTable, facts: Facts, circuits: Circuits, names: str) -> EventTable:
    """The table with literals that do not refer to other composites, where these are simple."""
    *arguments, literals = table.arguments
    literals = by_paths(literals, facts, circuits, names)
    return EventTable([*arguments, literals], table.domains, table.times, table.starts)


def by_paths(literals: Integers, facts: Facts, circuits: Circuits, names: str) -> Integers:
    """Literals that are true in the same worlds, each as the paths of its circuit if few."""
    composite = np.flatnonzero(np.isnan(facts.chances[literals >> 1]))
    count = len(composite)
    nothing = np.zeros(count, np.int64)
    rows = conjunctions([literals[composite]], count)
    groups = group_actions(
        Actions(np.arange(count), nothing, nothing, rows), facts, circuits, names
    )
    owners: list[int] = []
    paths: list[Integers] = []
    for place, shape in enumerate(groups.shape.tolist()):
        own = circuits.paths(shape, MOST_PATHS)
        base = groups.facts[groups.fact_offsets[place] : groups.fact_offsets[place + 1]]
        for path in own or ():
            owners.append(place)
            paths.append(2 * base[path >> 1] + (path & 1))
    offsets = np.cumsum([0, *map(len, paths)]).astype(np.int64)
    flat = np.concatenate(paths) if paths else np.empty(0, np.int64)
    places, which = np.unique(np.array(owners, np.int64), return_inverse=True)
    result = literals.copy()
    simple = facts.any_of(which.ravel(), Conjunctions(offsets, flat), len(places))
    result[composite[groups.pairs[places]]] = simple
    return result
