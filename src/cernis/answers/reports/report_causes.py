"""Causes in a report: the rule and the record with which each interval began, and ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from cernis.check.model import Relation
from cernis.kernels.array_types import Integers
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable

FluentTables: TypeAlias = Sequence[tuple[Relation, FluentTable]]
EventTables: TypeAlias = Mapping[Relation, EventTable]


@dataclass(slots=True)
class ReportCauses:
    """For each interval the place of a rule and the number of a record; -1 where there is none.

    Intervals are counted through all tables of fluents. Of several rules or records that began or
    ended an interval, the first is named. `rules` are the places that the numbers of rules count;
    `fired` is how many beginnings, ends and happenings rest on each of them.
    """

    rules: list[str]
    begin_rules: Integers
    begin_records: Integers
    end_rules: Integers
    end_records: Integers
    fired: Counter[str]
    band_rules: Integers
    """For each stretch of equal probability the rule with which it began, and the record."""
    band_records: Integers


class CauseFinder(Protocol):
    """Finds the causes of all intervals of some fluents, and how often rules fired for events."""

    def __call__(
        self, fluents: FluentTables, events: EventTables, bands: FluentTables = ()
    ) -> ReportCauses:
        """The causes; `bands` are stretches of equal probability."""
