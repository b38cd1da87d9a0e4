"""What uncertain patterns need of the time before a window.

Occurrences that end up to the edge are kept as they were known when the edge passed them, as
independent facts: a record with its probability, so that it is the fact it was, and everything else
with the probability that it had. They are kept for as long as the `within` around them reaches.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cernis.check.model import Boundary, Event, Pair, Relation
from cernis.evaluate.columns.pattern_history import occurrence_domains
from cernis.evaluate.probabilities.circuits import Circuits
from cernis.evaluate.probabilities.composites.pattern_proofs import (
    literal_chances,
    occurrence_relation,
    uncertain_occurrences,
)
from cernis.evaluate.probabilities.proofs import Uncertainty
from cernis.evaluate.stores import StoredRows, stacked
from cernis.operators.context.query_context import Context
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.plan.builder import Plan
from cernis.plan.logical import Match
from cernis.plan.properties.pattern_needs import Key, history_key, reaches
from cernis.tables.event_tables import EventTable


class UncertainHistory:
    """The uncertain occurrences before the edge that matches after it may need.

    Rows have the end, the start and the probability of an occurrence.
    """

    def __init__(self, plan: Plan) -> None:
        self._atoms = _reaches_of_atoms(plan)
        self.kept: dict[Key, StoredRows] = {}
        """The occurrences up to the edge."""
        self.last: dict[Key, StoredRows] = {}
        """The occurrences that the last query saw."""

    def advance(self, edge: int) -> None:
        """Keep the occurrences that the edge passes; drop those too old for any later match."""
        for key, rows in self.last.items():
            passed = rows.take(rows.columns[0] <= edge)
            before = self.kept.get(key)
            self.kept[key] = passed if before is None else stacked(before, passed)
        for key, rows in self.kept.items():
            self.kept[key] = rows.take(rows.columns[1] > edge - self._atoms[key][1])
        self.last = {}

    def enter(self, uncertainty: Uncertainty, encoding: ValueEncoding) -> None:
        """Let a query see the occurrences that are kept, each with a fact of its own."""
        for key, rows in self.kept.items():
            ends, starts, chances = rows.columns
            literals = uncertainty.facts.add(chances)
            uncertainty.lasting.append(literals)
            uncertainty.occurred[key] = EventTable(
                [*rows.arguments, literals],
                [*occurrence_domains(key, encoding), None],
                ends,
                starts,
            )

    def settle(self, uncertainty: Uncertainty, context: Context, circuits: Circuits) -> None:
        """Take over the occurrences that a query has seen."""
        for key, (atom, _) in self._atoms.items():
            if uncertainty.is_about(atom):
                table = uncertain_occurrences(atom, context)
                self.last[key] = rows_of_occurrences(table, key[1], uncertainty, circuits)

    def resume(self, kept: Mapping[Key, StoredRows], last: Mapping[Key, StoredRows]) -> None:
        """Go on from what another history has kept."""
        self.kept = {key: rows for key, rows in kept.items() if key in self._atoms}
        self.last = {key: rows for key, rows in last.items() if key in self._atoms}


def _reaches_of_atoms(plan: Plan) -> dict[Key, tuple[Event | Boundary | Pair, float]]:
    """What patterns are made of, and how far back from the end of a match each may be needed."""
    strata = [stratum for stage in plan.stages for stratum in stage.strata]
    rules = [rule for stratum in strata for each in stratum.definitions for rule in each.rules]
    atoms: dict[Key, tuple[Event | Boundary | Pair, float]] = {}
    for rule in rules:
        for step, reach in reaches(rule.part.step, 0) if isinstance(rule, Match) else ():
            key = history_key(step.atom)
            atoms[key] = step.atom, max(atoms.get(key, (step.atom, 0.0))[1], reach)
    return {key: atom for key, atom in atoms.items() if atom[1] > 0}


def rows_of_occurrences(
    table: EventTable, relation: Relation, uncertainty: Uncertainty, circuits: Circuits
) -> StoredRows:
    """The occurrences of a table with literals, with their ends, starts and probabilities."""
    *arguments, literals = table.arguments
    chances = literal_chances(literals, uncertainty.facts, circuits, str(relation))
    starts = table.times if table.starts is None else table.starts
    some = np.flatnonzero(chances > 0)
    return StoredRows(
        [column[some] for column in arguments], [table.times[some], starts[some], chances[some]]
    )


class ReportedOccurrences:
    """The occurrences of uncertain patterns so far, with their probabilities.

    Those that ended up to the edge of the window stand.
    """

    def __init__(self, keeps_all: bool) -> None:
        self._keeps_all = keeps_all
        self.rows: dict[Relation, StoredRows] = {}

    def settle(
        self, derived: list[Relation], edge: int, uncertainty: Uncertainty, context: Context,
        circuits: Circuits,
    ) -> None:  # fmt: skip
        """Take over the occurrences that a query has seen."""
        for relation in derived:
            table = context.relations.events.get(occurrence_relation(relation))
            if table is not None:
                rows = rows_of_occurrences(table, relation, uncertainty, circuits)
                before = self.rows.get(relation)
                if before is not None and self._keeps_all:
                    rows = stacked(before.take(before.columns[0] <= edge), rows)
                self.rows[relation] = rows
