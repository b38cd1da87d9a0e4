"""The relations of a query: events, fluents and their changes, as far as they are derived."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cernis.check.model import Relation
from cernis.kernels.array_types import Array, Booleans
from cernis.operators.context.fluent_points import Attempts, Points
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable, Piece


@dataclass(slots=True)
class QueryRelations:
    """What is known of each relation in one query.

    Strata are evaluated in order. Each reads the tables of those before it here and adds its own.
    """

    events: dict[Relation, EventTable] = field(default_factory=dict)
    fluents: dict[Relation, FluentTable] = field(default_factory=dict)
    initiations: dict[Relation, Points] = field(default_factory=dict)
    """Of fluents whose initiations are conditions of rules."""
    terminations: dict[Relation, Points] = field(default_factory=dict)
    """Of fluents whose terminations are conditions of rules."""
    effect_origins: dict[Relation, Attempts] = field(default_factory=dict)
    """Initiations whose delayed effects may be still to come, for each fluent that has such."""
    open_at_query: dict[Relation, Booleans] = field(default_factory=dict)
    """The groups (instances with a value) of which it is not known if they end at the query time.

    They depend on something that is given at the point of the query, and may go on after it.
    Only fluents with such groups are listed.
    """
    clipped: dict[Relation, Booleans] = field(default_factory=dict)
    """Groups of fluents that start or end at `forgotten` only as records are seen from there on."""
    remembered: dict[Relation, FluentTable] = field(default_factory=dict)
    """Intervals that ended before the window's edge; rules with a declared memory see them."""
    seen: dict[Relation, FluentTable] = field(default_factory=dict)
    """All fluents as they were when the query had been evaluated, for later ones to look back."""
    past: dict[Relation, list[Piece]] = field(default_factory=dict)
    """Intervals that end at the window's edge. They are final, and rules no longer see them."""
    leftover: dict[int, EventTable] = field(default_factory=dict)
    """For some pattern steps, by identity: the matches before the window that they still need."""
    history: dict[tuple[str, Relation], EventTable] = field(default_factory=dict)
    """Occurrences before the window that patterns may still need, by relation."""

    def leave_open(self, relation: Relation, instances: list[Array]) -> None:
        """Note instances, given by arguments and value, that may go on after the query."""
        self.open_at_query[relation] = self._groups_of(relation, instances)

    def clip(self, relation: Relation, instances: list[Array]) -> None:
        """Note instances that start or end only as records are seen again after a gap."""
        self.clipped[relation] = self._groups_of(relation, instances)

    def _groups_of(self, relation: Relation, instances: list[Array]) -> Booleans:
        """The groups of some instances of a fluent, given by arguments and value, as a mask."""
        table = self.fluents[relation]
        groups = table.finder(tuple(range(len(instances)))).one(instances, len(instances[0]))
        mask = np.zeros(len(table), np.bool_)
        mask[groups[groups >= 0]] = True
        return mask
