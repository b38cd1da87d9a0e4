"""The occurrences before a window that patterns still need.

Matches that end up to the edge of a window stand. A match that ends after the edge may have begun
before it. So the occurrences that patterns are made of are kept when the edge passes them, as they
were known then. They are kept for as long as the `within` around them reaches, or for good where
there is none. A match that consumes (`chronological`) may depend on all events that were used up
before it, so everything is kept for it. Some steps need less, and keep only that
(`operators/patterns/leftover_matches.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cernis.check.model import Boundary, Event, Pair, Relation
from cernis.evaluate.stores import StoredRows
from cernis.operators.context.query_context import Context
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.operators.patterns.leftover_matches import leftover
from cernis.operators.patterns.pattern_operators import window_occurrences
from cernis.plan.builder import Plan
from cernis.plan.pattern_steps import (
    Join,
    Refine,
)
from cernis.plan.properties.pattern_needs import Key, PatternNeeds, atoms_of, history_key
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable, stacked


@dataclass(slots=True)
class PastOccurrences:
    """The occurrences that are kept, as rows with their ends, and their starts if these differ."""

    kept: dict[Key, StoredRows]
    """The occurrences before the edge, by event or fluent."""
    last: dict[Key, StoredRows]
    """The occurrences that the last query saw, by event or fluent."""
    leftover: dict[int, tuple[Key, StoredRows]]
    """The occurrences that single steps have kept, by the number of the step."""
    dropped: int = 0


class PatternHistory:
    """The occurrences before the edge that matches after it may need.

    Happenings of input events are not taken over from queries: the memory that keeps the input
    hands them over when the edge passes them.
    """

    def __init__(self, plan: Plan, needs: PatternNeeds | None = None) -> None:
        self.dropped = 0
        """How many occurrences were dropped because no match could need them any more."""
        needs = needs or plan.pattern_needs
        self._atoms, self._needed_keys = needs.atoms, needs.needed_keys
        self._leftover_steps = needs.leftover_steps
        self.input_events_needed = needs.input_events
        self._context: Context | None = None
        self._leftover: dict[int, EventTable] = {}
        self._last: dict[Key, EventTable] = {}
        self._kept: dict[Key, EventTable] = {}

    def __len__(self) -> int:
        """How many occurrences are kept."""
        return sum(map(len, (*self._kept.values(), *self._leftover.values())))

    def advance(self, edge: int, passed: Mapping[Relation, EventTable] | None = None) -> None:
        """Keep the occurrences that the edge passes; drop those too old for any later match."""
        handed_over: dict[Key, EventTable] = {
            ("event", r): table for r, table in (passed or {}).items()
        }
        for key, (_, reach) in self._atoms.items():
            new = handed_over.get(key) or self._seen_up_to(key, edge)
            both = [table for table in (self._kept.get(key), new) if table]
            if both and reach > 0:
                whole = stacked(both)
                self._kept[key] = _starting_after(whole, edge - reach)
                self.dropped += len(whole) - len(self._kept[key])
        for number, step in enumerate(self._leftover_steps):
            keys = map(history_key, atoms_of(step))
            tables = [handed_over.get(key) or self._seen_up_to(key, edge) for key in keys]
            self._keep_leftover(number, step, tables, edge)
        self._last = {}

    def _keep_leftover(
        self, number: int, step: Join | Refine, passed: Sequence[EventTable | None], edge: int
    ) -> None:
        """Keep what a step needs of what it has kept so far and of what the edge has passed."""
        if self._context is None or not any(passed):
            # Nothing new has come, so only a limit of time can drop what is kept.
            self._drop_expired(number, step, edge)
            return
        first, *rest = passed
        left_parts = [table for table in (self._leftover.get(number), first) if table]
        right = rest[0] if rest else None
        if not left_parts:
            return
        whole = stacked(left_parts)
        if right is None and isinstance(step, Join):
            right = _no_occurrences(atoms_of(step)[1], self._context.encoding)
        self._leftover[number] = leftover(step, whole, right, edge, self._context)
        self.dropped += len(whole) - len(self._leftover[number])

    def _drop_expired(self, number: int, step: Join | Refine, edge: int) -> None:
        kept = self._leftover.get(number)
        if kept is not None and isinstance(step, Join) and step.limit >= 0:
            self._leftover[number] = _starting_after(kept, edge - step.limit)
            self.dropped += len(kept) - len(self._leftover[number])

    def _seen_up_to(self, key: Key, edge: int) -> EventTable | None:
        table = self._last.get(key)
        if table is None:
            return None
        passed = np.flatnonzero(table.times <= edge)
        return table.take(passed) if len(passed) else None

    def past_occurrences(self) -> PastOccurrences:
        """The occurrences that another history needs to go on from here."""
        leftover = {
            number: (
                history_key(atoms_of(self._leftover_steps[number])[0]),
                occurrence_rows(table),
            )
            for number, table in self._leftover.items()
        }
        return PastOccurrences(
            {key: occurrence_rows(table) for key, table in self._kept.items()},
            {key: occurrence_rows(table) for key, table in self._last.items()},
            leftover, self.dropped,
        )  # fmt: skip

    def resume(self, past: PastOccurrences, context: Context) -> None:
        """Go on from the occurrences that another history has kept."""
        self._kept = {key: _table(key, rows, context.encoding) for key, rows in past.kept.items()}
        self._last = {key: _table(key, rows, context.encoding) for key, rows in past.last.items()}
        self._leftover = {n: _table(*each, context.encoding) for n, each in past.leftover.items()}
        self.dropped, self._context = past.dropped, context

    def enter(self, context: Context) -> None:
        """Let a query see the occurrences that are kept."""
        context.relations.history = dict(self._kept)
        if context.window.edge == context.window.start:
            return
        context.relations.leftover = {
            id(step): self._leftover.get(
                number, _no_occurrences(atoms_of(step)[0], context.encoding)
            )
            for number, step in enumerate(self._leftover_steps)
        }

    def settle(self, context: Context) -> None:
        """Take over the occurrences that a query has seen."""
        self._context = context
        self._last = {
            key: window_occurrences(step.atom, context)
            for key, (step, _) in self._atoms.items()
            if key in self._needed_keys
            and not (key[0] == "event" and key[1] in self.input_events_needed)
        }


def occurrence_rows(table: EventTable) -> StoredRows:
    """Occurrences as rows with their ends, and their starts if these are kept."""
    return StoredRows(
        table.arguments, [table.times] + ([] if table.starts is None else [table.starts])
    )


def _table(key: Key, rows: StoredRows, encoding: ValueEncoding) -> EventTable:
    times, *starts = rows.columns
    start_column = starts[0] if starts else None
    return EventTable(rows.arguments, occurrence_domains(key, encoding), times, start_column)


def occurrence_domains(key: Key, encoding: ValueEncoding) -> list[Domain | None]:
    """The domains of the columns of occurrences: of arguments, and of the value of a fluent."""
    kind, relation = key
    if kind == "event":
        return encoding.events[relation]
    arguments, value = encoding.fluents[relation]
    return [*arguments, value]


def _no_occurrences(atom: Event | Boundary | Pair, encoding: ValueEncoding) -> EventTable:
    """No occurrences of an atom."""
    pair = atom.pair if isinstance(atom, Boundary) else atom
    if isinstance(pair, Event):
        domains = encoding.events[pair.relation]
    else:
        arguments, value = encoding.fluents[pair.relation]
        domains = [*arguments, value]
    none = np.empty(0, np.int64)
    return EventTable([none] * len(domains), domains, none)


def _starting_after(table: EventTable, point: float) -> EventTable:
    """The occurrences that start after a point."""
    if point == -math.inf:
        return table
    starts = table.times if table.starts is None else table.starts
    kept = np.flatnonzero(starts > point)
    return table if len(kept) == len(table) else table.take(kept)
