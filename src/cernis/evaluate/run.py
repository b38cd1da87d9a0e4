"""A run: all queries over records that are known from the beginning, and their joined answer."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa

from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.evaluate.columns.from_scratch import FromScratch, StageLinks
from cernis.evaluate.evaluator_choice import (
    QueriesAhead,
    UncertainInput,
    can_walk,
    evaluator_from_scratch,
    ties_of,
)
from cernis.evaluate.population import Population
from cernis.evaluate.query_loop import (
    AnswerChanges,
    QueryInput,
    QueryLoop,
    garbage_collection_paused,
)
from cernis.evaluate.recorded_input import RecordedInput
from cernis.evaluate.relation_layout import context_of
from cernis.evaluate.sweep.lane_storage import is_walkable_span
from cernis.evaluate.sweep.register_values import RegisterValues
from cernis.evaluate.time_grid import TimeGrid, comes_in_time
from cernis.evaluate.windows import Window, windows
from cernis.evaluate.workspace import Workspace, leave_workspace, workspace_for
from cernis.operators.context.measuring import Measuring, Profile
from cernis.operators.context.query_context import Context
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.plan.builder import Plan
from cernis.plan.held_forms import Forms
from cernis.plan.properties.uncertain_relations import uncertain_relations
from cernis.records.encoded_input import EncodedInput, Encoder, read_tables
from cernis.records.record_columns import Records
from cernis.records.seen_forms import see_records

if TYPE_CHECKING:
    from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings

OnQuery: TypeAlias = Callable[[Window, Answer], None]

_QUERIES_BETWEEN: Final = 100
"""After this many queries, unreachable young objects are collected."""


class Run(QueryLoop):
    """Evaluates a plan over input, window by window: a session whose answers are kept.

    With `uncertain_settings`, records may be uncertain.
    """

    memory: RecordedInput
    population: Population
    evaluator: FromScratch

    def __init__(
        self, plan: Plan, tick: int | None = None, ties: str | None = None,
        profile: Profile | None = None, uncertain_settings: UncertainSettings | None = None,
    ) -> None:  # fmt: skip
        self.profile = profile
        self.uncertain_settings = uncertain_settings
        self._uncertain: UncertainInput | None = None
        self.plan = plan if uncertain_settings is None else plan.over_uncertain
        self.checked = self.plan.checked
        self.tick = tick or self.checked.definitions.settings.tick
        self.ties = ties_of(plan, ties, uncertain_settings is not None)
        self.queries = 0
        self.conflicts = 0
        self.sees_records_once = False
        """Is each record seen by one query only?"""

    def over(
        self, records_or_tables: Mapping[str, pa.Table] | Records, start: int | None = None,
        end: int | None = None, window: int | None = None, step: int | None = None,
        on_query: OnQuery | None = None,
    ) -> Answer:  # fmt: skip
        """Run over tables of records by relation name, or over records read from text.

        `on_query` is called with each query and with the answer as of then: all that stands.
        """
        records = (
            records_or_tables
            if isinstance(records_or_tables, Records)
            else read_tables(records_or_tables, self.checked)
        )
        self.enter_workspace(self.forms_of(records))
        return self._run_queries(self.encoded(records), start, end, window, step, on_query)

    def _run_queries(
        self, encoded: EncodedInput, start: int | None, end: int | None, window: int | None,
        step: int | None, on_query: OnQuery | None,
    ) -> Answer:  # fmt: skip
        first = encoded.first if start is None else start + self.tick
        last = encoded.last if end is None else end
        start = (first if first is not None else 1) - self.tick
        last = last if last is not None else start
        is_only_one = window is None and step is None
        self.sees_records_once = is_only_one or (window is not None and (step or window) >= window)
        grid = TimeGrid(start, self.tick)
        may_walk = (
            self.may_walk
            and is_walkable_span(start, last)
            and self._is_on_grid(encoded, grid, last, window, step)
            and self._can_be_walked(encoded, grid, window, step)
        )
        self.begin(start, QueriesAhead(is_only_one, keeps_answers=True, may_walk=may_walk))
        self.memory.use_records(encoded)
        with garbage_collection_paused():
            for query_window in windows(start, last, window, step):
                self.query(query_window)
                if on_query is not None:
                    on_query(query_window, self.evaluator.whole_answer())
                if self.queries % _QUERIES_BETWEEN == 0:
                    gc.collect(1)
        answer = self.answer()
        answer.records, answer.ignored = encoded.records, encoded.ignored
        return answer

    def forms_of(self, records: Records) -> Forms:
        """The forms in which the values of the program and of some records are held."""
        forms = self.plan.forms.copy()
        see_records(forms, records.relations.values())
        return forms

    def encoded(self, records: Records) -> EncodedInput:
        """Encode the records of the run, and decide which relations may be uncertain."""
        encoded = self.encoder.encode_records(records)
        if self.uncertain_settings is not None:
            self._uncertain = UncertainInput(
                self.uncertain_settings, self.uncertain_relations(records)
            )
            self.encoder.give_chances(encoded, self._uncertain.relations)
        return encoded

    def uncertain_relations(self, records: Records) -> frozenset[Relation]:
        """The relations whose records may be uncertain: those named, and those that have some."""
        assert self.uncertain_settings is not None
        named = uncertain_relations(self.plan, self.uncertain_settings.uncertain or ())
        return named | records.uncertain

    def enter_workspace(self, forms: Forms) -> None:
        """Hold values in some forms; use the codes of an earlier run of the plan, if they fit."""
        self._workspace: Workspace = workspace_for(self.plan, forms)
        self.domains, self.memo = self._workspace.domains, self._workspace.memo
        self.encoder = Encoder(self.checked, self.domains, self.tick)

    def begin(self, start: int, ahead: QueriesAhead | None = None) -> None:
        """Begin after a point of time; nothing is known of what was before."""
        self.start = start
        self.population = self.make_population()
        followed = self.population.relations | self.plan.walked_input
        self.memory = RecordedInput(self.tick, self.plan.roles.in_time, followed)
        self.evaluator = evaluator_from_scratch(
            self.plan, self.memory, self.domains, self.tick, self.ties, self.stage_links(),
            self._uncertain, ahead,
        )  # fmt: skip

    def make_population(self) -> Population:
        """The domains that grow with the input, still without members."""
        return Population(self.plan)

    @property
    def may_walk(self) -> bool:
        """May the lanes of the plan be walked? With columns above them, that would cost more.

        So it does where lanes have registers, or decide which records of others count, and each
        record is seen by one query only.
        """
        has_values_or_gates = self.plan.has_registers or self.plan.has_gates
        costs_more = self.sees_records_once and has_values_or_gates
        is_worthwhile = self.profile is None and not costs_more
        return is_worthwhile and can_walk(self.plan, self.tick, self.ties)

    def _can_be_walked(
        self, encoded: EncodedInput, grid: TimeGrid, window: int | None, step: int | None
    ) -> bool:
        """Can the input be walked?

        Lists do not know of gaps between windows, in which input fluents are not seen; where
        columns read them, they do not know of records about points, either. Registers hold no
        numbers that are too large to compute with.
        """
        read = [encoded.fluents[r] for r in self.plan.listed_input if r in encoded.fluents]
        has_gaps = window is not None and step is not None and step > window
        has_points = any(fluent.from_points for fluent in read)
        if read and (has_gaps or (has_points and not self.plan.is_walked_whole)):
            return False
        if not all(
            comes_in_time(encoded.fluents[relation], grid, window, step)
            for relation in self.plan.input_in_lanes if relation in encoded.fluents
        ):  # fmt: skip
            return False
        encoding = ValueEncoding(self.checked.types, self.checked.catalogue, self.domains)
        return all(
            RegisterValues(lane, encoding).can_hold(relation, encoded.events[relation].arguments)
            for lane in self.plan.lanes if lane.registers
            for relation in lane.events if relation in encoded.events
        )  # fmt: skip

    def _is_on_grid(
        self, encoded: EncodedInput, grid: TimeGrid, last: int, window: int | None, step: int | None
    ) -> bool:
        """Are all queries, and all records that walks read, whole ticks apart?"""
        lengths = [grid.origin + (length or 0) for length in (window, step)]
        return grid.has(last, *lengths) and all(
            grid.has_records(encoded.events.get(relation) or encoded.fluents[relation])
            for relation in self.plan.walked_input
            if relation in encoded.events or relation in encoded.fluents
        )

    def stage_links(self) -> StageLinks | None:
        """The links to the runs of other stages, if this run evaluates one stage only."""
        return None

    def query(self, window: Window) -> None:
        """Bring the answer up to a query."""
        self.conflicts += self.answer_query(window).conflicts
        self.queries += 1

    def context(self, window: Window) -> Context:
        """The context of a query for operators, still without tables."""
        assert self.start is not None
        context = context_of(
            self.plan, self.domains, self.memo, self.tick, self.ties, window, self.start
        )
        context.measuring = Measuring(profile=self.profile)
        return context

    def choose_evaluator(self, query_input: QueryInput) -> None:
        """Nothing: all queries are evaluated from scratch."""

    def changes_to_report(self, query_input: QueryInput) -> AnswerChanges:
        """Nothing: the answers of all queries are kept."""
        return {}

    def answer(self) -> Answer:
        """The answer of all queries since the beginning; the run ends with it."""
        self.end()
        answer = self.evaluator.whole_answer()
        answer.queries, answer.conflicts = self.queries, self.conflicts
        return answer

    def end(self) -> None:
        """End the run: its codes, and what was worked out with them, serve the next one."""
        leave_workspace(self.plan, self._workspace)
