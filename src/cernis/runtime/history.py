"""What patterns need of the time before a window.

What ended up to the edge of a window stands, and what ends behind it may have begun before. So the
occurrences that patterns are made of are kept beyond the edge, as they were known when the edge
passed them: no longer than some `within` reaches, or, where there is none, for good. A match that
consumes (`chronological`) may depend on all that was used up before it, and so on everything.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

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

Atoms = dict[tuple[str, object], tuple[Occurrences, float]]


class History:
    """The occurrences before the edge that matches behind it may need."""

    def __init__(self, plan: Plan) -> None:
        self._atoms: Atoms = {}
        for rule in _rules(plan):
            for step, reach in reaches(rule.part.step, 0):
                key = history_key(step.atom)
                before = self._atoms.get(key, (step, 0.0))[1]
                self._atoms[key] = (step, max(before, reach))
        self._last: dict[tuple[str, object], EventTable] = {}
        self._kept: dict[tuple[str, object], EventTable] = {}

    def __len__(self) -> int:
        """How many occurrences are kept."""
        return sum(map(len, self._kept.values()))

    def advance(self, edge: int) -> None:
        """Keep what the edge passes, and drop what no match behind it can begin with."""
        for key, (_, reach) in self._atoms.items():
            tables = [table for table in (self._kept.get(key), self._passed(key, edge)) if table]
            if tables and reach > 0:
                self._kept[key] = _reached(stacked(tables), edge - reach)
        self._last = {}

    def _passed(self, key: tuple[str, object], edge: int) -> EventTable | None:
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
            key: window_occurrences(step.atom, context) for key, (step, _) in self._atoms.items()
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
        parts = [step.left, step.right, *([step.absent.part] if step.absent else [])]
        for part in parts:
            yield from reaches(part.step, reach + own)


def _window(slide: Slide) -> float:
    return math.inf if slide.past is None else slide.past
