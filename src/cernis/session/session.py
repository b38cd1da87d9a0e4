"""A session: events come and go, and each query reports what has changed since the last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from cernis.check.model import FluentKind, Relation
from cernis.check.types import Slot
from cernis.check.value_forms import ValueForm
from cernis.errors import DataError
from cernis.evaluate.changes.from_changes import FromChanges
from cernis.evaluate.columns.from_scratch import FromScratch
from cernis.evaluate.domain_retention import are_anchored
from cernis.evaluate.population import Population
from cernis.evaluate.query_loop import Changed, Evaluator, Handover, News, QueryLoop
from cernis.evaluate.relation_layout import Spaces, context_of
from cernis.evaluate.windows import Window
from cernis.evaluate.working_memory import Counts, Memory
from cernis.operators.measuring import Timing
from cernis.operators.query_context import Context, Memo
from cernis.plan.builder import Plan
from cernis.plan.definition_diff import fingerprint
from cernis.records.record_columns import Records
from cernis.records.record_sources import Events, read_unresolved
from cernis.records.seen_forms import see_records
from cernis.session.feed import POLICIES, Feed, Policy
from cernis.tables.domains import Domains
from cernis.tables.interval_tables import ending_after

if TYPE_CHECKING:
    from cernis.session.saved.plain_trees import Tree
    from cernis.session.saved.saved_state import Incoming, Outgoing

FIXED: Final = 250_000
NEW: Final = 4
LATE: Final = 20
"""What it costs to evaluate from what has changed, in records evaluated from scratch: so many for
a query, and again if any record came late; for a record after the last query; and for one before
it (benchmarks/incremental.py)."""


ROOM: Final = 1 << 14
GROWTH: Final = 4
"""Values get new codes when there are so many times as many codes as after the last time, or as
there is room for anyway: then most are of values that the window has passed."""


def pays(held: int, new: int, late: int, is_incremental: bool) -> bool:
    """Is it likely to cost less to evaluate from what has changed than from scratch?

    Given how many records the window holds, how many of them lie after the last query, and how
    many others came or went. To change from one way to the other costs, too; so it takes a
    difference of a third.

    >>> pays(2_000_000, 125_000, 0, False), pays(100_000, 9_000, 0, False), pays(10**6, 0, 1, True)
    (True, False, True)
    """
    return held > cost_of_changes(new, late) * (2 / 3 if is_incremental else 4 / 3)


def cost_of_changes(new: int, late: int) -> int:
    """What it is estimated to cost to evaluate from what has changed, in records from scratch."""
    return FIXED * (1 + (late > 0)) + NEW * new + LATE * late


@dataclass(frozen=True, slots=True)
class Choice:
    """What the way to evaluate a query was chosen by: numbers of records."""

    held: int
    """In the window."""
    new: int
    """That came and lie after the last query."""
    late: int
    """Others that came or went."""

    @property
    def estimate(self) -> int:
        """What it is estimated to cost to evaluate from what has changed, in records held."""
        return cost_of_changes(self.new, self.late)


class Session(QueryLoop):
    """Recognises in process, query by query, as events arrive, arrive late, or are taken back.

    A query at `q` sees what happened in `(q - window, q]` and was given before; without a window,
    it sees everything since the start. Without a start, the session starts one tick before the
    first occurrence it knows of at its first query. With `ids`, the column of that title (the last
    field of tuples and text records) identifies the records of one relation. Records that
    lie farther after a query than `future` are set aside; without it, all wait for their time.
    """

    memory: Memory
    population: Population

    def __init__(
        self, plan: Plan, window: int | None = None, step: int | None = None,
        start: int | None = None, tick: int | None = None, ties: str | None = None,
        policy: str = "early", incremental: bool | None = None, ids: str | None = None,
        future: int | None = None,
    ) -> None:  # fmt: skip
        if policy not in POLICIES:
            raise DataError(f"a policy is one of {', '.join(POLICIES)}, not {policy}")
        settings = plan.checked.definitions.settings
        self.plan = plan
        self.incremental = incremental
        self.ids = ids
        self.future = future
        self.choice = Choice(0, 0, 0)
        self.timing: Timing | None = None
        """Where the time of strata is entered, if someone wants to know it."""
        self.revision: Feed | None = None
        """What other rules have changed, if the session was restored under such; else None."""
        self.window = window
        self.step = step or window
        self.start = start
        self.tick = tick or settings.tick
        self.ties = ties or settings.ties
        self.last: int | None = None
        self.version = fingerprint(plan.checked)[:12]
        self.policy = Policy(policy, self.tick)
        self.forms = plan.forms.copy()
        self._begin()

    def _begin(self) -> None:
        """Begin with nothing known."""
        self.policy = type(self.policy)(self.policy.name, self.tick)
        self._domains, self._memo = Domains(self.forms.arrays()), Memo()
        self._enough = GROWTH * ROOM
        template = self._context(Window(0, 0, 0), 0)
        self.spaces = Spaces(self.plan, template, has_marks=self.incremental is not False)
        self.memory = self._working_memory()
        self.memory.future = self.future
        self.population = Population(self.plan.checked.definitions)
        patterns = self.plan.checked.definitions.patterns
        self.may_be_incremental = not patterns and FromChanges.fits(self.spaces)
        self.evaluator = self._made(bool(self.incremental) and self.may_be_incremental)

    def _made(self, is_incremental: bool) -> Evaluator:
        """A way to evaluate that has seen no query yet."""
        if is_incremental:
            return FromChanges(self.memory, self.spaces)
        return self._from_scratch()

    def _working_memory(self) -> Memory:
        return self.spaces.memory()

    def _from_scratch(self) -> FromScratch:
        return FromScratch(self.plan, self.memory, self._domains, self.tick)

    def _feed(self, time: int, fluents: Changed, events: Changed, conflicts: int) -> Feed:
        return Feed(time, self.version, fluents, events, self.spaces.encoding, conflicts)

    # -- events -----------------------------------------------------------------------------

    def insert(self, events: Events, mapping: str | Path | Mapping[str, Any] | None = None) -> None:
        """Take events in; they count from the next query on, if they have arrived by then.

        Among text records may be retractions. What cannot be read is set aside and counted.
        """
        self.memory.insert(self._read(events, mapping))

    def retract(
        self, events: Events, mapping: str | Path | Mapping[str, Any] | None = None
    ) -> None:
        """Take events back that were given before, each equal in all but its arrival.

        Where records have ids, the id alone says which one it is.
        """
        self.memory.insert(self._read(events, mapping), retracts=True)

    def _read(self, events: Events, mapping: str | Path | Mapping[str, Any] | None) -> Records:
        return read_unresolved(events, self.plan.checked, mapping, self.ids)

    @property
    def counts(self) -> Counts:
        """What became of the records so far."""
        return self.memory.counts

    @property
    def waiting(self) -> int:
        """How many records wait for the next query, or for their time to come."""
        return self.memory.waiting

    def __len__(self) -> int:
        """How many records the window holds."""
        return len(self.memory)

    def save(self, path: str | Path) -> None:
        """Write all that the session knows to a file; `Program.restore` goes on from there.

        What was in the file before is replaced when the new content is there as a whole.
        """
        from cernis.session.saved.session_file import save

        save(self, path)

    @property
    def kept(self) -> int:
        """How many occurrences that ended before the window are kept for patterns."""
        return self.evaluator.kept

    @property
    def dropped(self) -> int:
        """How many such occurrences were dropped, as no match could need them any more."""
        return self.evaluator.dropped

    # -- queries ----------------------------------------------------------------------------

    def query(self, time: int) -> Feed:
        """Bring the answer up to a time; gives what has changed since the query before."""
        if self.last is not None and time < self.last:
            raise DataError(f"a query at {time} comes after one at {self.last}: time goes forward")
        if self.start is None:
            first = self.memory.first
            self.start = (first if first is not None else time) - self.tick
        window = self._window_of(time)
        see_records(self.forms, (part for own in self.memory.pending.values() for part in own))
        if self.forms.arrays() != self._domains.arrays:
            self._recode()
        outcome = self.answer_query(window)
        self.last = time
        fluents, events = self._shown(outcome.changes)
        next_edge = self._window_of(time + (self.step or 0)).edge
        fluents = self.policy.filtered(fluents, next_edge)
        feed = self._feed(time, fluents, events, outcome.conflicts)
        if self.codes > self._enough:
            self._recode()
        return feed

    @property
    def codes(self) -> int:
        """How many values, and combinations of them, have codes."""
        return len(self._domains) + sum(register.count for register in self.spaces.registers)

    def take_forms(self, slots: Mapping[Slot, ValueForm]) -> None:
        """Begin with values of these forms; the session must be empty."""
        self.forms.see(slots)
        if self.forms.arrays() != self._domains.arrays:
            self._begin()

    def _recode(self) -> None:
        """Give codes to the values in use, and to no others: memory follows the window."""
        from cernis.session.saved.saved_state import left, resume

        known = left(self)
        self._begin()
        resume(self, known)
        self._enough = GROWTH * max(self.codes, ROOM)

    def context(self, window: Window) -> Context:
        """What operators can ask for during a query, without any tables yet."""
        assert self.start is not None
        context = self._context(window, self.start)
        context.timing = self.timing
        return context

    def choose_evaluator(self, news: News) -> None:
        """Evaluate by the way that is likely to cost less, given what came and went.

        Where the window does not reach back to the query before, nothing that it sees was seen
        before, and all is evaluated from scratch.
        """
        admitted, window = news.admitted, news.window
        changed = sum(len(own.come) + len(own.gone) for own in admitted.values())
        late = 0
        if self.last is not None:
            times = [own.come.columns[0] for own in admitted.values()]
            late = sum(int(np.count_nonzero(own <= self.last)) for own in times)
            late += sum(len(own.gone) for own in admitted.values())
        self.choice = Choice(len(self.memory), changed - late, late)
        has_gap = window.forgotten > window.edge
        wanted = self.may_be_incremental and not has_gap and self._wants_changes()
        if wanted != self.is_incremental:
            self.go_on(None if self.last is None else self.handed_over(), wanted)

    def _wants_changes(self) -> bool:
        """Is the next query to be evaluated from what has changed, if it can be?"""
        if self.incremental is not None:
            return self.incremental
        choice = self.choice
        is_cheap = pays(choice.held, choice.new, choice.late, self.is_incremental)
        return is_cheap and not self.memory.has_points

    def handed_over(self) -> Handover:
        """What the last query has left; there must have been one."""
        assert self.last is not None
        return self.evaluator.handed_over(self.last)

    def go_on(self, left: Handover | None, is_incremental: bool) -> None:
        """Evaluate one way or the other from now on, from what the last query has left."""
        self.evaluator = self._made(is_incremental)
        if left is not None:
            self.evaluator.take_over(left, self.spaces.context)

    def more_left(self, out: Outgoing) -> Tree:
        """What is to be left beside what all sessions leave, after a query."""
        return None

    def more_resumed(self, tree: Tree, given: Incoming) -> None:
        """Go on from what was left so."""

    @property
    def is_incremental(self) -> bool:
        """Was the last query answered from what had changed?"""
        return self.evaluator.is_incremental

    def edge(self, time: int) -> int:
        """Up to where a query at some time has forgotten all records."""
        assert self.start is not None
        return Window.after(time, time, self.start, self.window).forgotten

    def _window_of(self, time: int) -> Window:
        """The window of the next query, should it be at some time."""
        assert self.start is not None
        before = self.start if self.last is None else self.last
        return Window.after(before, time, self.start, self.window)

    def _context(self, window: Window, start: int) -> Context:
        return context_of(self.plan, self._domains, self._memo, self.tick, self.ties, window, start)

    def _shown(self, changes: Changed) -> tuple[Changed, Changed]:
        """The changes of fluents and of events, without what phrases are made of."""
        catalogue = self.plan.checked.catalogue
        own = {relation: change for relation, change in changes.items() if relation in self.shown}
        return (
            {r: change for r, change in own.items() if r in catalogue.fluents},
            {r: change for r, change in own.items() if r in catalogue.events},
        )

    @cached_property
    def is_anchored(self) -> bool:
        """May members of growing domains be forgotten that nothing is in the window of?"""
        return are_anchored(self.plan)

    @cached_property
    def shown(self) -> frozenset[Relation]:
        """The relations whose changes are reported: those that rules define."""
        catalogue = self.plan.checked.catalogue
        fluents = {r for r, own in catalogue.fluents.items() if own.kind is not FluentKind.INPUT}
        return frozenset(fluents | {*catalogue.events}) - self.plan.checked.definitions.auxiliary

    def intervals(self) -> pa.Table:
        """The intervals that reach into the window: `fluent, args, value, start, end, open`.

        What ended before the window is in the feed, and is not kept.
        """
        from cernis.answers.answer_tables import all_intervals

        answer = self.evaluator.answer()
        if self.last is not None:
            bound = self.edge(self.last) + self.tick
            answer.fluents = {r: ending_after(own, bound) for r, own in answer.fluents.items()}
        return all_intervals(answer)
