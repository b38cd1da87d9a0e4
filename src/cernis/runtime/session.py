"""A session: events come and go, and each query tells what has changed since the last."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from cernis.check.model import FluentKind, Relation
from cernis.errors import DataError
from cernis.operators.context import Context, Memo
from cernis.operators.heads import slot_domains
from cernis.plan.builder import Plan
from cernis.runtime.columns import Records
from cernis.runtime.evaluator import Changed, Spaces, context_of
from cernis.runtime.feed import Feed, Policy
from cernis.runtime.incremental import Incremental
from cernis.runtime.memory import Admitted, Counts, Memory
from cernis.runtime.population import Population
from cernis.runtime.run import Window, undisturbed
from cernis.runtime.scratch import Scratch
from cernis.runtime.sources import Events, read_unresolved
from cernis.tables.domains import Domain, Domains

POLICIES: Final = ("early", "partial", "final")

FIXED: Final = 250_000
NEW: Final = 4
LATE: Final = 20
"""What it costs to evaluate from what has changed, in records evaluated from scratch: so many for
a query, and again if any record came late; for a record behind the last query; and for one before
it (benchmarks/incremental.py)."""


def pays(held: int, new: int, late: int, is_incremental: bool) -> bool:
    """Is it likely to cost less to evaluate from what has changed than from scratch?

    Given how many records the window holds, how many of them lie behind the last query, and how
    many others came or went. To change from one way to the other costs, too; so it takes a
    difference of a third.

    >>> pays(2_000_000, 125_000, 0, False), pays(100_000, 9_000, 0, False), pays(10**6, 0, 1, True)
    (True, False, True)
    """
    cost = FIXED * (1 + (late > 0)) + NEW * new + LATE * late
    return held > cost * (2 / 3 if is_incremental else 4 / 3)


class Session:
    """Recognises in process, query by query, as events arrive, arrive late, or are taken back.

    A query at `q` sees what happened in `(q - window, q]` and was given before; without a window,
    it sees everything since the start. Without a start, the session starts one tick before the
    first occurrence it knows of at its first query.
    """

    def __init__(
        self, plan: Plan, window: int | None = None, step: int | None = None,
        start: int | None = None, tick: int | None = None, ties: str | None = None,
        policy: str = "early", incremental: bool | None = None,
    ) -> None:  # fmt: skip
        if policy not in POLICIES:
            raise DataError(f"a policy is one of {', '.join(POLICIES)}, not {policy}")
        settings = plan.checked.definitions.settings
        self.plan = plan
        self.window = window
        self.step = step or window
        self.start = start
        self.tick = tick or settings.tick
        self.ties = ties or settings.ties
        self.last: int | None = None
        self.version = _version(plan)
        self._policy = Policy(policy, self.tick)
        self._domains, self._memo = Domains(), Memo()
        template = self._context(Window(0, 0), 0)
        self._spaces = Spaces(plan, template, has_marks=incremental is not False)
        self._memory = self._working_memory()
        self._population = Population(plan.checked.definitions)
        self._evaluator: Scratch | Incremental = self._from_scratch(template)
        fits = not plan.checked.definitions.patterns and Incremental.fits(self._spaces)
        self._may_change = incremental is None and fits
        if incremental and fits:
            self._evaluator = Incremental(self._memory, self._spaces)

    def _working_memory(self) -> Memory:
        return self._spaces.memory()

    def _from_scratch(self, template: Context) -> Scratch:
        return Scratch(self.plan, self._memory, template)

    def _feed(self, time: int, fluents: Changed, events: Changed, conflicts: int) -> Feed:
        return Feed(time, self.version, fluents, events, self.encoding, conflicts)

    # -- events -----------------------------------------------------------------------------

    def insert(self, events: Events, mapping: str | Path | Mapping[str, Any] | None = None) -> None:
        """Take events in; they count from the next query on, if they have arrived by then.

        Among text records may be retractions. What cannot be read is set aside and counted.
        """
        self._memory.insert(self._read(events, mapping))

    def retract(
        self, events: Events, mapping: str | Path | Mapping[str, Any] | None = None
    ) -> None:
        """Take events back that were given before, each equal in all but its arrival."""
        self._memory.insert(self._read(events, mapping), retracts=True)

    def _read(self, events: Events, mapping: str | Path | Mapping[str, Any] | None) -> Records:
        return read_unresolved(events, self.plan.checked, mapping)

    @property
    def counts(self) -> Counts:
        """What became of the records so far."""
        return self._memory.counts

    @property
    def waiting(self) -> int:
        """How many records wait for the next query, or for their time to come."""
        return self._memory.waiting

    def __len__(self) -> int:
        """How many records the window holds."""
        return len(self._memory)

    @property
    def kept(self) -> int:
        """How many occurrences that ended before the window are kept for patterns."""
        return len(self._evaluator.history) if isinstance(self._evaluator, Scratch) else 0

    @property
    def dropped(self) -> int:
        """How many such occurrences were dropped, as no match could need them any more."""
        return self._evaluator.history.dropped if isinstance(self._evaluator, Scratch) else 0

    # -- queries ----------------------------------------------------------------------------

    def query(self, time: int) -> Feed:
        """Bring the answer up to a time; gives what has changed since the query before."""
        if self.last is not None and time < self.last:
            raise DataError(f"a query at {time} comes after one at {self.last}: time goes forward")
        if self.start is None:
            first = self._memory.first
            self.start = (first if first is not None else time) - self.tick
        window = Window(self._edge(time), time)
        with undisturbed():
            context = self._context(window, self.start)
            if isinstance(self._evaluator, Scratch):
                self._evaluator.pass_edge(window.edge)
            self._memory.forget(window)
            admitted = self._memory.admit(window, self.start)
            members = self._population.update(admitted, self._memory.stores, context)
            if self._may_change:
                self._choose(admitted)
            outcome = self._evaluator.query(window, context, admitted, members)
        self.last = time
        fluents, events = self._shown(outcome.changes)
        next_edge = self._edge(time + (self.step or 0))
        fluents = self._policy.filtered(fluents, next_edge)
        return self._feed(time, fluents, events, outcome.conflicts)

    def _choose(self, admitted: Mapping[Relation, Admitted]) -> None:
        """Evaluate by the way that is likely to cost less, given what came and went."""
        is_incremental = isinstance(self._evaluator, Incremental)
        changed = sum(len(own.come) + len(own.gone) for own in admitted.values())
        late = 0
        if self.last is not None:
            times = [own.come.columns[0] for own in admitted.values()]
            late = sum(int(np.count_nonzero(own <= self.last)) for own in times)
            late += sum(len(own.gone) for own in admitted.values())
        wanted = pays(len(self._memory), changed - late, late, is_incremental)
        wanted = wanted and not self._memory.has_points
        if wanted == is_incremental:
            return
        template = self._spaces.context
        standing = None if self.last is None else self._evaluator.standing(self.last)
        if wanted:
            self._evaluator = Incremental(self._memory, self._spaces)
            if standing is not None:
                self._evaluator.take_over(standing)
        else:
            self._evaluator = Scratch(self.plan, self._memory, template)
            if standing is not None:
                self._evaluator.take_over(standing, template)

    @property
    def is_incremental(self) -> bool:
        """Was the last query answered from what had changed?"""
        return isinstance(self._evaluator, Incremental)

    def _edge(self, time: int) -> int:
        assert self.start is not None
        return self.start if self.window is None else max(self.start, time - self.window)

    def _context(self, window: Window, start: int) -> Context:
        return context_of(self.plan, self._domains, self._memo, self.tick, self.ties, window, start)

    def _shown(self, changes: Changed) -> tuple[Changed, Changed]:
        """The changes of fluents and of events, without what phrases are made of."""
        hidden = self.plan.checked.definitions.auxiliary
        catalogue = self.plan.checked.catalogue
        own = {relation: change for relation, change in changes.items() if relation not in hidden}
        return (
            {r: change for r, change in own.items() if r in catalogue.fluents
             and catalogue.fluents[r].kind is not FluentKind.INPUT},
            {r: change for r, change in own.items() if r in catalogue.events},
        )  # fmt: skip

    def encoding(self, relation: Relation) -> tuple[list[Domain | None], Domain | None]:
        """The encodings of a relation's arguments and of its value."""
        context = self._spaces.context
        if relation in context.catalogue.fluents:
            return slot_domains(relation, context)
        return self._spaces.argument_domains(relation), None

    def intervals(self) -> pa.Table:
        """The intervals that the window knows of: `fluent, args, value, start, end, open`.

        What ended before the window is in the feed of earlier queries, and is not kept.
        """
        from cernis.runtime.frames import all_intervals

        return all_intervals(self._evaluator.answer())


def _version(plan: Plan) -> str:
    """A short name for the rules, another whenever they change."""
    digest = hashlib.sha256()
    for source in plan.checked.sources:
        digest.update(source.text.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.hexdigest()[:12]
