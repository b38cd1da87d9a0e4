"""The answer of a run: what was recognised, as tables."""

from __future__ import annotations

from dataclasses import dataclass, field

from cernis.check.model import Relation
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable


@dataclass(slots=True)
class Answer:
    """What was recognised: the tables of all defined fluents and the happenings of all events."""

    fluents: dict[Relation, FluentTable] = field(default_factory=dict)
    events: dict[Relation, EventTable] = field(default_factory=dict)
    records: int = 0
    queries: int = 0
    conflicts: int = 0
    ignored: dict[str, int] = field(default_factory=dict)
    too_late: int = 0
    outside: int = 0
