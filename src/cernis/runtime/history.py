"""What patterns need of the time before a window.

What ended up to the edge of a window stands, and what ends behind it may have begun before. So the
occurrences that patterns are made of are kept beyond the edge, as they were known when the edge
passed them: no longer than some `within` reaches, or, where there is none, for good. A match that
consumes (`chronological`) may depend on all that was used up before it, and so on everything.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

import numpy as np

from cernis.check.model import Relation
from cernis.operators.context import Context
from cernis.operators.patterns import history_key, window_occurrences
from cernis.plan.builder import Plan
from cernis.plan.logical import Match
from cernis.plan.steps import (
    Choice,
    Join,
    Occurrences,
    Refine,
    Slide,
    Step,
)
from cernis.tables.events import EventTable, stacked

_LAST: Final = {
    "seq": ("right",), "meets": ("right",), "starts": ("right",), "during": ("right",),
    "finishes": ("left", "right"), "equals": ("left", "right"),
}  # fmt: skip
"""The sides of an operator whose matches end when the whole does."""

Key: TypeAlias = tuple[str, object]
Atoms: TypeAlias = dict[Key, tuple[Occurrences, float]]


class History:
    """The occurrences before the edge that matches behind it may need.

    The happenings of input events that are kept elsewhere are not taken over from queries: whoever
    keeps them tells what the edge passes.
    """

    def __init__(self, plan: Plan, elsewhere: frozenset[Relation] = frozenset()) -> None:
        self.dropped = 0
        """How many occurrences were kept until no match could need them any more."""
        self._elsewhere = elsewhere
        self._atoms: Atoms = {}
        for rule in _rules(plan):
            for step, reach in reaches(rule.part.step, 0):
                key = history_key(step.atom)
                before = self._atoms.get(key, (step, 0.0))[1]
                self._atoms[key] = (step, max(before, reach))
        self._last: dict[Key, EventTable] = {}
        self._kept: dict[Key, EventTable] = {}

    def __len__(self) -> int:
        """How many occurrences are kept."""
        return sum(map(len, self._kept.values()))

    @property
    def wanted(self) -> list[Relation]:
        """The input events of which it has to be told what the edge passes."""
        return [
            relation for relation in self._elsewhere
            if self._atoms.get(("event", relation), (None, 0.0))[1] > 0
        ]  # fmt: skip

    def advance(self, edge: int, passed: Mapping[Relation, EventTable] | None = None) -> None:
        """Keep what the edge passes, and drop what no match behind it can begin with."""
        told: dict[Key, EventTable] = {("event", r): own for r, own in (passed or {}).items()}
        for key, (_, reach) in self._atoms.items():
            new = told.get(key) or self._passed(key, edge)
            tables = [table for table in (self._kept.get(key), new) if table]
            if tables and reach > 0:
                whole = stacked(tables)
                self._kept[key] = _reached(whole, edge - reach)
                self.dropped += len(whole) - len(self._kept[key])
        self._last = {}

    def _passed(self, key: Key, edge: int) -> EventTable | None:
        table = self._last.get(key)
        if table is None:
            return None
        passed = np.flatnonzero(table.times <= edge)
        return table.take(passed) if len(passed) else None

    def enter(self, context: Context) -> None:
        """Let a query see what is kept."""
        context.history = dict(self._kept)

    def settle(self, context: Context) -> None:
        """Take over what a query has seen."""
        self._last = {
            key: window_occurrences(step.atom, context)
            for key, (step, reach) in self._atoms.items()
            if reach > 0 and not (key[0] == "event" and key[1] in self._elsewhere)
        }


def _reached(table: EventTable, behind: float) -> EventTable:
    """The occurrences that start behind a point."""
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
