"""The answer of a run: what was recognised, as tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cernis.check.model import Relation
from cernis.kernels.array_types import Floats
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable

if TYPE_CHECKING:
    from cernis.evaluate.probabilities.courses import Courses


@dataclass(slots=True)
class Answer:
    """What was recognised: the tables of all defined fluents and the happenings of all events.

    Over uncertain records, the intervals of an uncertain fluent are the most credible ones.
    """

    fluents: dict[Relation, FluentTable] = field(default_factory=dict)
    events: dict[Relation, EventTable] = field(default_factory=dict)
    records: int = 0
    queries: int = 0
    conflicts: int = 0
    ignored: dict[str, int] = field(default_factory=dict)
    too_late: int = 0
    outside: int = 0
    courses: dict[Relation, Courses] = field(default_factory=dict)
    """Over uncertain records: the probabilities of the fluents that rules define."""
    means: dict[Relation, Floats] = field(default_factory=dict)
    """Over uncertain records: the mean probability of each interval of a fluent, in the order of
    its table; nothing for fluents that are made of credible intervals."""
    circuits: int = 0
    """How many shapes of formulas there were."""
    possible: dict[Relation, EventTable] = field(default_factory=dict)
    """Over uncertain records in one query: what may have happened, of derived events that are
    uncertain."""
    occurrence_chances: dict[Relation, Floats] = field(default_factory=dict)
    """Of those that are patterns: the probability of each occurrence, in the order of its table."""
