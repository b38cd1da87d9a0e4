"""Walks the lanes and lists of a plan first, and evaluates its other definitions by columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.evaluate.columns.from_scratch import FromScratch, StageLinks
from cernis.evaluate.linked.linked_walks import LinkedWalk, WalkedKind
from cernis.evaluate.query_loop import AnswerChanges, Handover, QueryInput, WindowRecords
from cernis.evaluate.stores import distinct_rows, stacked
from cernis.evaluate.sweep.keyed_lane import KeyedLane
from cernis.evaluate.sweep.lane_answers import LaneAnswers
from cernis.evaluate.sweep.lane_resumption import (
    attempts_in,
    output_rows,
    resumed_lane,
    resumed_lists,
    resumed_walk,
)
from cernis.evaluate.sweep.lane_storage import is_walkable_span
from cernis.evaluate.sweep.lists.handed_fluents import HandedFluents, handed_to
from cernis.evaluate.sweep.lists.keyed_lists import KeyedLists
from cernis.evaluate.sweep.register_values import RegisterValues
from cernis.evaluate.time_grid import TimeGrid
from cernis.operators.context.query_context import Context
from cernis.plan.builder import Plan
from cernis.plan.linked.linked_plans import LinkedProgram
from cernis.plan.sweep.lanes import Lane, ListProgram
from cernis.tables.domains import Domains

if TYPE_CHECKING:
    from cernis.evaluate.probabilities.courses import Courses


@dataclass(slots=True)
class _Walked(ABC):
    """A lane or a program over lists, and its answers as tables."""

    part: KeyedLane | KeyedLists | WalkedKind
    answers: LaneAnswers

    @abstractmethod
    def hand_over(self, handover: Handover) -> None:
        """Add its state after the last query to what is handed over."""


@dataclass(slots=True)
class _WalkedLane(_Walked):
    """A lane, or a kind of linked instances."""

    part: KeyedLane | WalkedKind

    def hand_over(self, handover: Handover) -> None:
        """Add what holds and happened in the window, and the delays that are under way."""
        intervals, values = self.part.intervals(), self.part.value_intervals()
        handover.fluents |= dict(self.answers.fluent_rows(intervals, values))
        handover.events |= dict(self.answers.event_rows(self.part.signals()))
        handover.effect_origins |= attempts_in(self.part, self.answers)


@dataclass(slots=True)
class _WalkedLists(_Walked):
    """A program over lists."""

    part: KeyedLists

    def hand_over(self, handover: Handover) -> None:
        """Add the lists that reach the window, and intervals before it that durations look at."""
        encoding = self.answers.encoding
        for relation, rows in output_rows(self.part, encoding).items():
            known = handover.fluents.get(relation)
            handover.fluents[relation] = rows if known is None else distinct_rows(known, rows)
        for relation, rows in self.part.older_sources(encoding).items():
            known = handover.remembered.get(relation)
            handover.remembered[relation] = rows if known is None else stacked(known, rows)


class SweepThenColumns(FromScratch):
    """Walks lanes and lists from what has changed since the last query; the rest from scratch.

    Where answers are kept, all that was found since the beginning can be asked for.
    """

    def __init__(
        self, plan: Plan, memory: WindowRecords, domains: Domains, tick: int,
        links: StageLinks | None = None, keeps_answers: bool = False,
    ) -> None:  # fmt: skip
        """An evaluator that has seen no query yet."""
        super().__init__(plan, memory, domains, tick, links, plan.walked)
        self._keeps_answers = keeps_answers
        self._shown = self.strata.reads | (frozenset() if links is None else links.passed_on)
        self._walked: list[_Walked] = []
        self._linked: list[LinkedWalk] = []
        self._handed: list[HandedFluents] = []

    @property
    def key_count(self) -> int:
        """How many combinations of values lanes and lists have numbers for."""
        return sum(walked.part.of_keys.combinations for walked in self._walked)

    # -- one query --------------------------------------------------------------------------

    def can_read(self, query_input: QueryInput) -> bool:
        """Can the records that have come be walked?

        Lists do not know of gaps between windows, in which input fluents are not seen, nor of
        tables of other stages that leave open whether an interval goes on. Numbers that are too
        large to compute with exactly cannot be held in registers that guards ask for. Nor may times
        lie too far apart, or between the ticks.
        """
        window = query_input.window
        first = min(query_input.context.window.start, window.edge)
        grid = TimeGrid(query_input.context.window.start, query_input.context.window.tick)
        walked = (
            admitted
            for relation, admitted in query_input.admitted.items()
            if relation in self._plan.walked_input
        )
        if not grid.has_window(window) or not grid.has_admitted(walked):
            return False
        if not is_walkable_span(first, window.query):
            return False
        if window.forgotten > window.edge and self._plan.listed_input:
            return False
        if self._links is not None and not self._links.are_whole:
            return False
        if not all(self._goes_on(walked.part, query_input) for walked in self._walked):
            return False
        encoding = query_input.context.encoding
        return all(
            RegisterValues(lane, encoding).can_hold(relation, admitted.added.arguments)
            for lane in self._plan.lanes if lane.registers
            for relation, admitted in query_input.admitted.items()
            if relation in lane.events and len(admitted.added)
        )  # fmt: skip

    def _goes_on(self, part: KeyedLane | KeyedLists | WalkedKind, query_input: QueryInput) -> bool:
        """Does the input that a lane reads only change within the window?"""
        if not isinstance(part, KeyedLane) or part.inputs is None:
            return True
        admitted = [
            query_input.admitted[relation]
            for relation in part.inputs.lists.input_relations
            if relation in query_input.admitted
        ]
        return part.inputs.can_go_on(query_input.context.window, admitted)

    def _evaluate(self, query_input: QueryInput, courses: dict[Relation, Courses]) -> int:
        """Walk up to the query, then evaluate the rest; gives the conflicts between values."""
        context, is_first = query_input.context, not self._walked
        if is_first:
            self._begin(context)
        for handed in self._handed:
            handed.update(context)
        for linked in self._linked:
            linked.update(query_input.admitted, context)
        conflicts = 0
        for walked in self._walked:
            changes = walked.part.update(query_input.admitted, context)
            if self._keeps_answers:
                walked.answers.keep(changes)
            conflicts += walked.part.conflicts(context)
            if not self._shown.isdisjoint(walked.part.definitions):
                self._show(walked, is_first, context)
        return conflicts + super()._evaluate(query_input, courses)

    def _begin(self, context: Context, handover: Handover | None = None) -> None:
        """Make the lanes and lists of all stages, each stage's after those of the stages before."""
        producers: dict[int, list[KeyedLane | KeyedLists | HandedFluents]] = {}
        earlier: list[KeyedLane] = []
        encoding = context.encoding
        self._walked, self._handed = [], []
        for swept in self._plan.sweep:
            parts = producers.setdefault(swept.stage, [])
            for lane in swept.lanes:
                inputs = self._inputs_of(lane, swept.stage, context, handover)
                if inputs is not None:
                    self._walked.append(_WalkedLists(inputs, LaneAnswers(inputs, encoding)))
                keyed = self._lane(lane, context, handover, earlier, inputs)
                self._walked.append(_WalkedLane(keyed, LaneAnswers(keyed, encoding)))
                earlier.append(keyed)
                parts.append(keyed)
            program = self._plan.list_programs.get(swept.stage)
            if program is not None:
                lists = self._lists(program, producers, swept.stage, context, handover)
                if handover is not None:
                    resumed_lists(lists, handover, self._memory, context)
                parts.append(lists)
                self._walked.append(_WalkedLists(lists, LaneAnswers(lists, encoding)))
        self._linked = [self._walk(each, context, handover) for each in self._plan.linked]
        kinds = [kind for linked in self._linked for kind in linked.kinds()]
        self._walked += [_WalkedLane(kind, LaneAnswers(kind, encoding)) for kind in kinds]

    def _lists(
        self, program: ListProgram,
        producers: Mapping[int, Sequence[KeyedLane | KeyedLists | HandedFluents]], stage: int,
        context: Context, handover: Handover | None,
    ) -> KeyedLists:  # fmt: skip
        """The lists of a stage, which may read what others have handed over."""
        handed = {
            link.stage: list(handed_to(program, link.stage, context)) for link in program.links
            if link.stage is not None and link.stage in self._plan.elsewhere
        }  # fmt: skip
        for each in (each for of_stage in handed.values() for each in of_stage):
            if handover is not None:
                each.begin_from(handover.fluents, context)
            self._handed.append(each)
        return KeyedLists(program, {**producers, **handed}, stage, context, bool(handed))

    def _lane(
        self, lane: Lane, context: Context, handover: Handover | None,
        earlier: Sequence[KeyedLane], inputs: KeyedLists | None,
    ) -> KeyedLane:  # fmt: skip
        if handover is None:
            return KeyedLane(lane, context, None, earlier, inputs, self._memory)
        return resumed_lane(lane, handover, self._memory, context, earlier, inputs)

    def _inputs_of(
        self, lane: Lane, stage: int, context: Context, handover: Handover | None
    ) -> KeyedLists | None:
        """What unites the intervals of the input that a lane reads."""
        if lane.inputs is None:
            return None
        lists = KeyedLists(lane.inputs, {}, stage, context)
        if handover is not None:
            resumed_lists(lists, handover, self._memory, context)
        return lists

    def _walk(
        self, program: LinkedProgram, context: Context, handover: Handover | None
    ) -> LinkedWalk:
        if handover is None:
            return LinkedWalk(program, context)
        return resumed_walk(program, handover, self._memory, context)

    def _show(self, walked: _Walked, is_first: bool, context: Context) -> None:
        """Let columns and later stages see what was found: at first, all that has come."""
        changes = walked.part.latest
        assert changes is not None
        intervals = changes.come if is_first else walked.part.intervals()
        values = changes.values_come if is_first else walked.part.value_intervals()
        context.relations.fluents |= dict(walked.answers.fluents(intervals, values, self._shown))
        if walked.answers.has_events:
            points = changes.signals_come if is_first else walked.part.signals()
            context.relations.events |= dict(walked.answers.events(points))

    def changes(self, query_input: QueryInput) -> AnswerChanges:
        """How the answer differs from the one of the query before."""
        changes = super().changes(query_input)
        for walked in self._walked:
            assert walked.part.latest is not None
            changes |= dict(walked.answers.changes(walked.part.latest))
        return changes

    # -- what is known ----------------------------------------------------------------------

    def answer(self) -> Answer:
        """All that is recognised within the window."""
        answer, hidden = super().answer(), self._plan.checked.definitions.auxiliary
        for walked in self._walked:
            part = walked.part
            fluents = walked.answers.fluents(part.intervals(), part.value_intervals())
            answer.fluents |= {r: table for r, table in fluents if r not in hidden}
        return self._in_order(answer)

    def whole_answer(self) -> Answer:
        """The joined answer of all queries so far, where their answers are kept."""
        answer, hidden = super().whole_answer(), self._plan.checked.definitions.auxiliary
        for walked in self._walked:
            answers = walked.answers
            fluents = answers.fluents(answers.all_intervals(), answers.all_values())
            answer.fluents |= {r: table for r, table in fluents if r not in hidden}
            events = answers.events(answers.all_points())
            answer.events |= {r: table for r, table in events if r not in hidden}
        return self._in_order(answer)

    def _in_order(self, answer: Answer) -> Answer:
        """The answer with fluents in the order of the plan, whoever has found them."""
        order = {relation: place for place, relation in enumerate(self._plan.roles.defined)}
        answer.fluents = dict(sorted(answer.fluents.items(), key=lambda each: order[each[0]]))
        return answer

    # -- from one to another ----------------------------------------------------------------

    def hand_over(self, query: int) -> Handover:
        """The state after the last query, from which another evaluator can go on."""
        handover = super().hand_over(query)
        for walked in self._walked:
            walked.hand_over(handover)
        for handed in self._handed:
            for relation, rows in handed.rows():
                known = handover.fluents.get(relation)
                handover.fluents[relation] = rows if known is None else stacked(known, rows)
        return handover

    def take_over(self, handover: Handover, context: Context) -> None:
        """Go on from where another evaluator has stopped.

        The window of the context must be that of its last query, and growing domains filled.
        """
        super().take_over(self._without_lanes(handover), context)
        self._begin(context, handover)

    def _without_lanes(self, handover: Handover) -> Handover:
        """What there is of relations that are not walked."""
        fluents, events, origins = (
            {r: rows for r, rows in row_sets.items() if r not in self._swept}
            for row_sets in (handover.fluents, handover.events, handover.effect_origins)
        )
        return replace(handover, fluents=fluents, events=events, effect_origins=origins)
