"""What patterns need of the time before a window.

What ended up to the edge of a window stands, and what ends after it may have begun before. So the
occurrences that patterns are made of are kept beyond the edge, as they were known when the edge
passed them: no longer than some `within` reaches, or, where there is none, for good. A match that
consumes (`chronological`) may depend on all that was used up before it, and so on everything. Some
steps need less, and keep what they need for themselves (`operators/patterns/leftover_matches.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from cernis.check.model import Boundary, Event, Pair, Relation
from cernis.evaluate.changes.stores import Rows
from cernis.operators.definitions.rule_heads import slot_domains
from cernis.operators.patterns.leftover_matches import (
    is_simple,
    leaves,
    leftover,
    occurrences_below,
)
from cernis.operators.patterns.pattern_operators import history_key, window_occurrences
from cernis.operators.query_context import Context
from cernis.plan.builder import Plan
from cernis.plan.logical import Match
from cernis.plan.pattern_steps import (
    Choice,
    Join,
    Occurrences,
    Refine,
    Slide,
    Step,
    parts_below,
    steps_of,
)
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable, stacked

_LAST: Final = {
    "seq": ("right",), "meets": ("right",), "starts": ("right",), "during": ("right",),
    "finishes": ("left", "right"), "equals": ("left", "right"),
}  # fmt: skip
"""The sides of an operator whose matches end when the whole does."""

Key: TypeAlias = tuple[str, Relation]
Atoms: TypeAlias = dict[Key, tuple[Occurrences, float]]


@dataclass(slots=True)
class Past:
    """Occurrences as rows of their ends, and of their starts if these are others."""

    kept: dict[Key, Rows]
    """Those before the edge that are kept, by what they are of."""
    last: dict[Key, Rows]
    """Those that the last query saw."""
    leftover: dict[int, tuple[Key, Rows]]
    """What steps that know what they need have kept, by their numbers, with what it is of."""
    dropped: int = 0


class History:
    """The occurrences before the edge that matches after it may need.

    The happenings of input events that are kept elsewhere are not taken over from queries: whoever
    keeps them hands over what the edge passes.
    """

    def __init__(self, plan: Plan, elsewhere: frozenset[Relation] = frozenset()) -> None:
        self.dropped = 0
        """How many occurrences were kept until no match could need them any more."""
        self._elsewhere = elsewhere
        self._plan = plan
        self._atoms: Atoms = {}
        self._left: dict[int, EventTable] = {}
        self._steps: list[Join | Refine] | None = None
        own = {id(step) for step in self._leaving}
        for rule in _rules(plan):
            steps = parts_below(rule.part.step) if id(rule.part.step) in own else (rule.part,)
            for step, reach in (each for part in steps for each in reaches(part.step, 0)):
                key = history_key(step.atom)
                before = self._atoms.get(key, (step, 0.0))[1]
                self._atoms[key] = (step, max(before, reach))
        self._asked = {key for key, (_, reach) in self._atoms.items() if reach > 0}
        for leaving in self._leaving:
            self._asked |= {history_key(atom) for atom in _atoms_of(leaving)}
        self._context: Context | None = None
        self._last: dict[Key, EventTable] = {}
        self._kept: dict[Key, EventTable] = {}

    @property
    def _leaving(self) -> list[Join | Refine]:
        if self._steps is None:
            self._steps = leaving(self._plan)
        return self._steps

    def __len__(self) -> int:
        """How many occurrences are kept."""
        return sum(map(len, (*self._kept.values(), *self._left.values())))

    @property
    def wanted(self) -> list[Relation]:
        """The input events whose happenings must be handed over when the edge passes them."""
        return [relation for relation in self._elsewhere if ("event", relation) in self._asked]

    def advance(self, edge: int, passed: Mapping[Relation, EventTable] | None = None) -> None:
        """Keep what the edge passes, and drop what no match after it can begin with."""
        told: dict[Key, EventTable] = {("event", r): own for r, own in (passed or {}).items()}
        for key, (_, reach) in self._atoms.items():
            new = told.get(key) or self._passed(key, edge)
            both = [table for table in (self._kept.get(key), new) if table]
            if both and reach > 0:
                whole = stacked(both)
                self._kept[key] = _reached(whole, edge - reach)
                self.dropped += len(whole) - len(self._kept[key])
        for number, step in enumerate(self._leaving):
            keys = map(history_key, _atoms_of(step))
            tables = [told.get(key) or self._passed(key, edge) for key in keys]
            self._leave(number, step, tables, edge)
        self._last = {}

    def _leave(
        self, number: int, step: Join | Refine, passed: Sequence[EventTable | None], edge: int
    ) -> None:
        """Keep what a step needs of what it had and of what the edge has passed."""
        if self._context is None or not any(passed):
            # By time alone, nothing but a limit drops what is kept.
            self._drop_late(number, step, edge)
            return
        first, *rest = passed
        own = [table for table in (self._left.get(number), first) if table]
        right = rest[0] if rest else None
        if not own:
            return
        whole = stacked(own)
        if right is None and isinstance(step, Join):
            right = _nothing(_atoms_of(step)[1], self._context)
        self._left[number] = leftover(step, whole, right, edge, self._context)
        self.dropped += len(whole) - len(self._left[number])

    def _drop_late(self, number: int, step: Join | Refine, edge: int) -> None:
        own = self._left.get(number)
        if own is not None and isinstance(step, Join) and step.limit >= 0:
            self._left[number] = _reached(own, edge - step.limit)
            self.dropped += len(own) - len(self._left[number])

    def _passed(self, key: Key, edge: int) -> EventTable | None:
        table = self._last.get(key)
        if table is None:
            return None
        passed = np.flatnonzero(table.times <= edge)
        return table.take(passed) if len(passed) else None

    def left(self) -> Past:
        """All that another needs to go on from here."""
        leftover = {
            number: (history_key(_atoms_of(self._leaving[number])[0]), as_rows(table))
            for number, table in self._left.items()
        }
        return Past(
            {key: as_rows(table) for key, table in self._kept.items()},
            {key: as_rows(table) for key, table in self._last.items()},
            leftover, self.dropped,
        )  # fmt: skip

    def resume(self, past: Past, context: Context) -> None:
        """Go on from what another has left."""
        self._kept = {key: _table(key, rows, context) for key, rows in past.kept.items()}
        self._last = {key: _table(key, rows, context) for key, rows in past.last.items()}
        self._left = {n: _table(*each, context) for n, each in past.leftover.items()}
        self.dropped, self._context = past.dropped, context

    def enter(self, context: Context) -> None:
        """Let a query see what is kept."""
        context.history = dict(self._kept)
        if context.edge == context.start:
            return
        context.leftover = {
            id(step): self._left.get(number, _nothing(_atoms_of(step)[0], context))
            for number, step in enumerate(self._leaving)
        }

    def settle(self, context: Context) -> None:
        """Take over what a query has seen."""
        self._context = context
        self._last = {
            key: window_occurrences(step.atom, context)
            for key, (step, _) in self._atoms.items()
            if key in self._asked and not (key[0] == "event" and key[1] in self._elsewhere)
        }


def as_rows(table: EventTable) -> Rows:
    """Occurrences by their ends, and their starts if they have such."""
    return Rows(table.arguments, [table.times] + ([] if table.starts is None else [table.starts]))


def _table(key: Key, rows: Rows, context: Context) -> EventTable:
    times, *starts = rows.columns
    own = starts[0] if starts else None
    return EventTable(rows.arguments, occurrence_domains(key, context), times, own)


def occurrence_domains(key: Key, context: Context) -> list[Domain | None]:
    """The encodings of what is kept of occurrences: arguments, and the value of a fluent."""
    kind, relation = key
    if kind == "event":
        return [context.domain("event", relation, at) for at in range(relation.arity)]
    arguments, value = slot_domains(relation, context)
    return [*arguments, value]


def history_keys(plan: Plan) -> frozenset[Key]:
    """All that may be kept of the past: what the patterns of a plan are made of."""
    rules = _rules(plan)
    steps = [step for rule in rules for step in steps_of(rule.part.step)]
    steps += [part.step for step in list(steps) for part in parts_below(step)]
    return frozenset(history_key(s.atom) for s in steps if isinstance(s, Occurrences))


def leaving(plan: Plan) -> list[Join | Refine]:
    """The steps that know best what they need of the past: see the module `leftover_matches`."""
    rules = list(_rules(plan))
    below = {
        id(part.step) for rule in rules for step in steps_of(rule.part.step)
        for part in parts_below(step)
    }  # fmt: skip
    intervals = {rule.head.relation for rule in rules}
    found: dict[int, Join | Refine] = {}
    for stratum in (stratum for stage in plan.stages for stratum in stage.strata):
        for rule in (rule for own in stratum.definitions for rule in own.rules):
            if not isinstance(rule, Match) or stratum.immediate or id(rule.part.step) in below:
                continue
            step = rule.part.step
            if isinstance(step, (Join, Refine)) and leaves(step, _has_points(step, intervals)):
                found[id(step)] = step
    return list(found.values())


def _has_points(step: Join | Refine, intervals: set[Relation]) -> bool:
    """Are the occurrences of a step's second part points?"""
    if isinstance(step, Refine) or not is_simple(step.right):
        return False
    atom = occurrences_below(step.right).atom
    return not isinstance(atom, Pair) and not (
        isinstance(atom, Event) and atom.relation in intervals
    )


def _atoms_of(step: Join | Refine) -> list[Event | Boundary | Pair]:
    parts = [step.part] if isinstance(step, Refine) else [step.left, step.right]
    return [occurrences_below(part).atom for part in parts]


def _nothing(atom: Event | Boundary | Pair, context: Context) -> EventTable:
    """No occurrences of an atom."""
    pair = atom.pair if isinstance(atom, Boundary) else atom
    kind = "event" if isinstance(pair, Event) else "fluent"
    domains = [context.domain(kind, pair.relation, at) for at in range(pair.relation.arity)]
    if isinstance(pair, Pair):
        domains.append(context.domain("fluent", pair.relation, "value"))
    none = np.empty(0, np.int64)
    return EventTable([none] * len(domains), domains, none)


def _reached(table: EventTable, behind: float) -> EventTable:
    """The occurrences that start after a point."""
    if behind == -math.inf:
        return table
    starts = table.times if table.starts is None else table.starts
    kept = np.flatnonzero(starts > behind)
    return table if len(kept) == len(table) else table.take(kept)


def _rules(plan: Plan) -> Iterator[Match]:
    strata = (stratum for stage in plan.stages for stratum in stage.strata)
    for definition in (own for stratum in strata for own in stratum.definitions):
        yield from (rule for rule in definition.rules if isinstance(rule, Match))


def reaches(step: Step, reach: float) -> Iterator[tuple[Occurrences, float]]:
    """How far back from its end a match of a pattern may need each atom of it."""
    if isinstance(step, Occurrences):
        yield step, reach
    elif isinstance(step, Choice):
        for part in step.parts:
            yield from reaches(part.step, reach)
    elif isinstance(step, Refine):
        slides = [around for around in step.around if isinstance(around, Slide)]
        further = max((_window(slide) for slide in slides), default=0.0)
        yield from reaches(step.part.step, reach + further)
    elif isinstance(step, Join):
        own = math.inf if step.limit < 0 or step.consumption == "chronological" else step.limit
        for side, part in (("left", step.left), ("right", step.right)):
            # What ends with the whole is in the window as long as the whole is.
            is_last = side in _LAST.get(step.operator, ()) and step.consumption != "chronological"
            yield from reaches(part.step, reach if is_last else reach + own)
        if step.absent is not None:
            yield from reaches(step.absent.part.step, reach + own)


def _window(slide: Slide) -> float:
    return math.inf if slide.past is None else slide.past
