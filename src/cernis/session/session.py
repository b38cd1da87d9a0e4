"""A session: events are inserted and retracted, and each query reports what it has changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from cernis.answers.time_output import TimeOutput
from cernis.check.model import Relation
from cernis.check.types import Slot
from cernis.check.value_forms import ValueForm
from cernis.errors import DataError
from cernis.evaluate.columns.from_scratch import FromScratch, StageLinks
from cernis.evaluate.columns.keyed_columns import KeyedColumns
from cernis.evaluate.evaluator_choice import (
    QueriesAhead,
    UncertainInput,
    can_walk,
    evaluator_from_scratch,
)
from cernis.evaluate.population import Population
from cernis.evaluate.query_loop import AnswerChanges, Evaluator, Handover, QueryInput, QueryLoop
from cernis.evaluate.relation_layout import RelationLayout, context_of
from cernis.evaluate.time_grid import TimeGrid
from cernis.evaluate.windows import Window
from cernis.evaluate.working_memory import Counts, WorkingMemory
from cernis.evaluate.workspace import Workspace, leave_workspace, workspace_for
from cernis.operators.context.measuring import Measuring, Timing
from cernis.operators.context.query_context import Context
from cernis.plan.builder import Plan
from cernis.records.record_columns import Records
from cernis.records.record_shapes import Shapes
from cernis.records.record_sources import Events, read_unresolved
from cernis.records.seen_forms import see_records
from cernis.records.times import call_time
from cernis.session.feed import POLICIES, Feed, Policy
from cernis.tables.domains import Domains
from cernis.tables.interval_tables import ending_after

if TYPE_CHECKING:
    from cernis.explain.explanation_tree import Explanation
    from cernis.session.saved.plain_trees import Tree
    from cernis.session.saved.saved_state import ColumnReader, ColumnWriter

LEAST_CODES: Final = 1 << 14
MOST_GROWTH: Final = 4
"""Values get new codes when there are `MOST_GROWTH` times as many codes as after the last time, or
as `LEAST_CODES`: then most codes are of values that the window has passed."""


@dataclass(frozen=True, slots=True)
class RecordNumbers:
    """The numbers of records that a query has met."""

    held: int
    """Records in the window."""
    new: int
    """Records that were added and lie after the last query."""
    late: int
    """Other records that were added or removed."""


class Session(QueryLoop):
    """Recognises in process, query by query, as events arrive, arrive late, or are retracted.

    A query at `q` sees what happened in `(q - window, q]` and was given before; without a window,
    it sees everything since the start. Without a start, the session starts one tick before the
    first occurrence it knows of at its first query. With `ids`, the column of that title (the last
    field of tuples and text records) identifies the records of one relation. Records that
    lie farther after a query than `future` are set aside; without it, all wait for their time.
    """

    memory: WorkingMemory
    population: Population

    def __init__(
        self, plan: Plan, window: int | None = None, step: int | None = None,
        start: int | None = None, tick: int | None = None, ties: str | None = None,
        policy: str = "early", incremental: bool | None = None, ids: str | None = None,
        future: int | None = None, epoch: bool = False,
    ) -> None:  # fmt: skip
        if policy not in POLICIES:
            raise DataError(f"a policy is one of {', '.join(POLICIES)}, not {policy}")
        settings = plan.checked.definitions.settings
        self.plan = plan
        self.incremental = incremental
        self.ids = ids
        self.future = future
        self.epoch = epoch
        self.dated = False
        """Has any time of the input been a date or time, and not a whole number?"""
        self._new_and_late = (0, 0)
        """The numbers of records that the last query has met that were new, and that were late."""
        self.timing: Timing | None = None
        """Where the time that strata take is entered, if it is to be measured."""
        self.is_revised = False
        """Have the rules changed since the last query, so that all is derived again?"""
        self.revision: Feed | None = None
        """If the session was restored with other rules, what these have changed in the answer."""
        self.window = window
        self.step = step or window
        self.start = start
        self.tick = tick or settings.tick
        self.ties = ties or settings.ties
        self.last: int | None = None
        self.version = plan.fingerprint[:12]
        self.policy = Policy(policy, self.tick)
        self.forms = plan.forms.copy()
        self._begin()

    def _begin(self, workspace: Workspace | None = None) -> None:
        """Begin with nothing known. Without a workspace, take one that an earlier session left."""
        workspace = workspace or workspace_for(self.plan, self.forms)
        self.policy = type(self.policy)(self.policy.name, self.tick)
        self._workspace, self._domains = workspace, workspace.domains
        self._most_codes = MOST_GROWTH * max(len(self._domains), LEAST_CODES)
        template = self._context(Window(0, 0, 0), 0)
        self.layout = RelationLayout(self.plan, template)
        self.memory = self._working_memory()
        self.memory.future = self.future
        self.population = Population(self.plan)
        self.may_walk = self.memory.defers = self._can_walk()
        self.may_be_incremental = self._can_confine_news()
        self.evaluator = self._make_evaluator(self.may_be_incremental and not self.may_walk)

    def _make_evaluator(self, is_incremental: bool) -> Evaluator:
        """An evaluator that has seen no query yet."""
        if is_incremental:
            return KeyedColumns(self.memory, self.layout)
        return self._make_from_scratch()

    def _can_walk(self) -> bool:
        """Can all definitions be walked? Then nothing else costs less.

        Users who say how columns are to evaluate get what they say.
        """
        is_certain = self.incremental is None and self.uncertain_input is None
        return is_certain and can_walk(self.plan, self.tick, self.ties)

    def _can_confine_news(self) -> bool:
        """Can news be confined to keys, so that only these are evaluated?"""
        return self.incremental is not False and KeyedColumns.fits(self.layout)

    def stop_walking(self) -> None:
        """Evaluate by columns from now on; what was evaluated so far is forgotten."""
        self.may_walk = self.memory.defers = False
        self.evaluator = self._make_evaluator(False)

    def check_grid(self, handover: Handover) -> None:
        """Walk no more if times that were saved are not whole ticks apart."""
        assert self.start is not None
        grid = TimeGrid(self.start, self.tick)
        if (
            self.may_walk
            and self.tick > 1
            and not (grid.has_handed_over(handover) and grid.has_all(self.memory.all_times()))
        ):
            self.stop_walking()

    def _working_memory(self) -> WorkingMemory:
        return self.layout.working_memory()

    def _make_from_scratch(self) -> FromScratch:
        return evaluator_from_scratch(
            self.plan, self.memory, self._domains, self.tick, self.ties, self.stage_links(),
            self.uncertain_input, QueriesAhead(may_walk=self.may_walk),
        )  # fmt: skip

    @property
    def written_plan(self) -> Plan:
        """The plan of the rules as they are written."""
        return self.plan

    @property
    def uncertain_input(self) -> UncertainInput | None:
        """Which records may be uncertain; None if all are certain."""
        return None

    def stage_links(self) -> StageLinks | None:
        """The links to the sessions of other stages, if this session evaluates one stage only."""
        return None

    def _feed(
        self, time: int, fluents: AnswerChanges, events: AnswerChanges, conflicts: int
    ) -> Feed:
        return Feed(
            time, self.version, fluents, events, self.layout.context.encoding.relations, conflicts,
            self.times,
        )  # fmt: skip

    @property
    def times(self) -> TimeOutput:
        """How times come out: as timestamps once the input has had such."""
        scale = self.plan.checked.definitions.settings.time
        return TimeOutput(scale, self.dated and not self.epoch)

    # -- events -----------------------------------------------------------------------------

    def insert(self, events: Events, mapping: str | Path | Mapping[str, Any] | None = None) -> None:
        """Take events in; they count from the next query on, if they have arrived by then.

        Among text records may be retractions. What cannot be read is set aside and counted.
        """
        self._insert(events, mapping)

    def retract(
        self, events: Events, mapping: str | Path | Mapping[str, Any] | None = None
    ) -> None:
        """Take back events that were inserted before, each equal in all but its arrival.

        Where records have ids, the id alone decides which record is taken back.
        """
        self._insert(events, mapping, retracts=True)

    def _insert(
        self, events: Events, mapping: str | Path | Mapping[str, Any] | None, retracts: bool = False
    ) -> None:
        records = self._read(events, mapping)
        self.dated = self.dated or records.dated
        self.memory.insert(records, retracts=retracts)

    def _read(self, events: Events, mapping: str | Path | Mapping[str, Any] | None) -> Records:
        return read_unresolved(
            events, self.plan.checked, mapping, self.ids, shapes=self.record_shapes
        )

    @cached_property
    def record_shapes(self) -> Shapes:
        """What records are, by their names and columns."""
        return Shapes(self.plan.checked)

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

    def __repr__(self) -> str:
        """How far it is, and how many records it has."""
        progress = (
            "before its first query"
            if self.last is None
            else (f"after the query at {self.times.text(self.last)}")
        )
        return (
            f"<{type(self).__name__} {progress}: {len(self):,} records in the window, "
            f"{self.waiting:,} waiting>"
        )

    def report(self, path: str | Path, feeds: Iterable[Feed], *, title: str | None = None) -> Path:
        """Write a page for a browser: what the feeds of this session reported, and corrected.

        The feeds are those that its queries gave, in their order.
        """
        from cernis.answers.reports.feed_board import FeedBoard, whole_times

        board = FeedBoard(title or "Session", self.tick, self.policy.name != "early")
        for feed in feeds:
            board.take(whole_times(feed.table(), feed.times), feed.times)
        return board.write(path)

    def save(self, path: str | Path) -> None:
        """Write all that the session knows to a file; `Program.restore` goes on from there.

        What was in the file before is replaced when the new content is there as a whole.
        """
        from cernis.session.saved.session_file import save

        save(self, path)

    @property
    def kept(self) -> int:
        """How many occurrences that ended before the window are kept for patterns."""
        return self.evaluator.kept_occurrences

    @property
    def dropped(self) -> int:
        """How many such occurrences were dropped, as no match could need them any more."""
        return self.evaluator.dropped_occurrences

    def explain(self, question: str, time: Any = None) -> Explanation:
        """Why a pair such as `level(b7)=critical` holds at a time, or why not; or an event.

        It is explained from the records that the window holds; what rests on records that the
        window has forgotten is said to do so. Without a time, it is the last point at which it
        holds.
        """
        from cernis.session.session_explanations import explain_session

        if not isinstance(time, str | None):
            time = call_time(time, self.plan.checked.definitions.settings.time)
        return explain_session(self, question, time)

    # -- queries ----------------------------------------------------------------------------

    def query(self, time: Any) -> Feed:
        """Bring the answer up to a time of any kind; gives the changes since the query before."""
        time = call_time(time, self.plan.checked.definitions.settings.time, "the query time")
        if self.last is not None and time < self.last:
            raise DataError(f"a query at {time} comes after one at {self.last}: time goes forward")
        if self.start is None:
            first = self.memory.first_waiting
            self.start = (first if first is not None else time) - self.tick
        window = self._window_of(time)
        see_records(self.forms, (part for parts in self.memory.pending.values() for part in parts))
        if self.forms.arrays() != self._domains.arrays:
            self._recode()
        outcome = self.answer_query(window)
        self.last = time
        fluents, events = self._reported_changes(outcome.changes)
        next_edge = self._window_of(time + (self.step or 0)).edge
        fluents = self.policy.filtered(fluents, next_edge)
        feed = self._feed(time, fluents, events, outcome.conflicts)
        if self.codes > self._most_codes:
            self._recode()
        return feed

    @property
    def codes(self) -> int:
        """How many values, and combinations of them, have codes."""
        tables = sum(register.count for register in self.layout.registers)
        return len(self._domains) + tables + self.evaluator.key_count

    def take_forms(self, slots: Mapping[Slot, ValueForm]) -> None:
        """Begin with values of these forms; the session must be empty."""
        self.forms.see(slots)
        if self.forms.arrays() != self._domains.arrays:
            self.leave_workspace()
            self._begin()

    def leave_workspace(self) -> None:
        """Leave the codes of values to the next session of the plan; this one must have ended."""
        leave_workspace(self.plan, self._workspace)

    def _recode(self) -> None:
        """Give new codes to the values in use only, so that memory does not grow without end."""
        from cernis.session.saved.saved_state import resume, saved_tree

        state = saved_tree(self)
        self._begin(Workspace(Domains(self.forms.arrays())))
        resume(self, state)
        self._most_codes = MOST_GROWTH * max(self.codes, LEAST_CODES)

    def context(self, window: Window) -> Context:
        """The context of a query for operators, still without tables."""
        assert self.start is not None
        context = self._context(window, self.start)
        context.measuring = Measuring(timing=self.timing)
        return context

    def choose_evaluator(self, query_input: QueryInput) -> None:
        """Change to another evaluator where the records that have come ask for it.

        If the window begins after the last query, that query has seen nothing of the window, and
        everything is evaluated from scratch.
        """
        self._new_and_late = self._numbers_of(query_input)
        window = query_input.window
        has_gap = window.forgotten > window.edge
        has_points = self.memory.has_points and bool(self.plan.listed_input)
        has_points &= not self.plan.is_walked_whole
        # What has come was taken in to be walked, so the query that stops walking sees all again.
        leaves = self.may_walk and (has_points or not self.evaluator.can_read(query_input))
        if leaves:
            self._leave_walk()
        is_whole = has_gap or self.may_walk or leaves or self.is_revised
        is_confined = self.may_be_incremental and not is_whole
        if is_confined != self.is_incremental:
            self.go_on(None if self.last is None else self.hand_over(), is_confined)

    @property
    def records_met(self) -> RecordNumbers:
        """The numbers of records that the last query has met."""
        return RecordNumbers(len(self.memory), *self._new_and_late)

    def _numbers_of(self, query_input: QueryInput) -> tuple[int, int]:
        admitted = query_input.admitted
        changed = sum(len(change.added) + len(change.removed) for change in admitted.values())
        late = 0
        if self.last is not None:
            times = [change.added.columns[0] for change in admitted.values()]
            late = sum(int(np.count_nonzero(part <= self.last)) for part in times)
            late += sum(len(change.removed) for change in admitted.values())
        return changed - late, late

    def _leave_walk(self) -> None:
        """Evaluate by columns from now on, since the input has become what cannot be walked.

        Where columns read lists, these do not know of records about points, either.
        """
        handover = None if self.last is None else self.hand_over()
        self.stop_walking()
        if handover is not None:
            self.evaluator.take_over(handover, self._context_of_last_query())

    def hand_over(self) -> Handover:
        """The state after the last query; there must have been one."""
        assert self.last is not None
        return self.evaluator.hand_over(self.last)

    def go_on(self, handover: Handover | None, is_incremental: bool) -> None:
        """Go on with one evaluator or the other, from the state after the last query."""
        if is_incremental != self.is_incremental:
            self.evaluator = self._make_evaluator(is_incremental)
        if handover is not None:
            self.evaluator.take_over(handover, self._context_of_last_query())

    def _context_of_last_query(self) -> Context:
        """The context of the last query, for an evaluator that goes on from it; without tables."""
        assert self.last is not None
        edge = self.edge(self.last)
        context = self.context(Window(edge, self.last, edge))
        self.population.update({}, self.memory, context)
        return context

    def extra_state(self, writer: ColumnWriter) -> Tree:
        """The state that only this kind of session has, to be saved with that of all sessions."""
        return None

    def resume_extra_state(self, tree: Tree, reader: ColumnReader) -> None:
        """Go on from the saved state that only this kind of session has."""

    @property
    def is_incremental(self) -> bool:
        """Was the last query answered from what has changed, by columns?"""
        return self.evaluator.is_incremental

    def edge(self, time: int) -> int:
        """The last point whose records a query at a time no longer sees."""
        assert self.start is not None
        return Window.after(time, time, self.start, self.window).forgotten

    def _window_of(self, time: int) -> Window:
        """The window of the next query, if it is asked at a time."""
        assert self.start is not None
        before = self.start if self.last is None else self.last
        return Window.after(before, time, self.start, self.window)

    def _context(self, window: Window, start: int) -> Context:
        return context_of(
            self.plan, self._domains, self._workspace.memo, self.tick, self.ties, window, start
        )

    def _reported_changes(self, changes: AnswerChanges) -> tuple[AnswerChanges, AnswerChanges]:
        """The changes of fluents and of events, without the relations that phrases are made of."""
        catalogue = self.plan.checked.catalogue
        reported = {
            relation: change
            for relation, change in changes.items()
            if relation in self.reported_relations
        }
        return (
            {r: change for r, change in reported.items() if r in catalogue.fluents},
            {r: change for r, change in reported.items() if r in catalogue.events},
        )

    @cached_property
    def is_anchored(self) -> bool:
        """May members of growing domains be forgotten that no record in the window names?"""
        return self.plan.may_forget_members

    @cached_property
    def reported_relations(self) -> frozenset[Relation]:
        """The relations whose changes are reported: those that rules define."""
        checked = self.plan.checked
        fluents = checked.catalogue.fluents.keys() - self.plan.roles.inputs
        return frozenset(fluents | {*checked.catalogue.events}) - checked.definitions.auxiliary

    def intervals(self) -> pa.Table:
        """The intervals that reach into the window: `fluent, args, value, start, end, open`.

        What ended before the window is in the feed, and is not kept.
        """
        from cernis.answers.answer_tables import all_intervals

        answer = self.evaluator.answer()
        if self.last is not None:
            bound = self.edge(self.last) + self.tick
            answer.fluents = {r: ending_after(table, bound) for r, table in answer.fluents.items()}
        return self.times.table(all_intervals(answer))
