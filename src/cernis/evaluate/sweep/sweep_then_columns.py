"""Walks the lanes of a plan first, and evaluates its other definitions by columns above them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cernis.evaluate.answer import Answer
from cernis.evaluate.columns.from_scratch import FromScratch, StageLinks
from cernis.evaluate.linked.linked_walks import LinkedWalk, WalkedKind
from cernis.evaluate.query_loop import AnswerChanges, Handover, QueryInput, WindowRecords
from cernis.evaluate.sweep.keyed_lane import KeyedLane
from cernis.evaluate.sweep.lane_answers import LaneAnswers
from cernis.evaluate.sweep.lane_resumption import attempts_in, resumed_lane, resumed_walk
from cernis.evaluate.sweep.lane_state import LaneChanges
from cernis.operators.context.query_context import Context
from cernis.plan.builder import Plan
from cernis.tables.domains import Domains


@dataclass(slots=True)
class _WalkedLane:
    """A lane, its answers as tables, and what the last query has changed."""

    lane: KeyedLane | WalkedKind
    answers: LaneAnswers
    latest: LaneChanges | None = None


class SweepThenColumns(FromScratch):
    """Walks lanes from what has changed since the last query; evaluates columns from scratch.

    Where answers are kept, all that lanes have found since the beginning can be asked for.
    """

    def __init__(
        self, plan: Plan, memory: WindowRecords, domains: Domains, tick: int,
        links: StageLinks | None = None, keeps_answers: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(plan, memory, domains, tick, links, plan.walked)
        self._keeps_answers = keeps_answers
        self._lanes: list[_WalkedLane] = []
        self._linked: list[LinkedWalk] = []

    # -- one query --------------------------------------------------------------------------

    def update(self, query_input: QueryInput) -> int:
        """Walk up to the query, then evaluate the rest; gives the conflicts between values."""
        context, is_first = query_input.context, not self._lanes
        if is_first:
            lanes = [KeyedLane(lane, context) for lane in self._plan.lanes]
            self._begin(lanes, [LinkedWalk(each, context) for each in self._plan.linked], context)
        for linked in self._linked:
            linked.update(query_input.admitted, context)
        conflicts = 0
        for walked in self._lanes:
            changes = walked.latest = walked.lane.update(query_input.admitted, context)
            if self._keeps_answers:
                walked.answers.keep(changes)
            conflicts += walked.lane.conflicts(context)
            if self._links is not None or self._is_read(walked.lane):
                self._show(walked, is_first, context)
        return conflicts + super().update(query_input)

    def _begin(self, lanes: list[KeyedLane], linked: list[LinkedWalk], context: Context) -> None:
        self._linked = linked
        walked: list[KeyedLane | WalkedKind] = [*lanes]
        walked += [kind for each in linked for kind in each.kinds()]
        self._lanes = [_WalkedLane(each, LaneAnswers(each, context.encoding)) for each in walked]

    def _is_read(self, lane: KeyedLane | WalkedKind) -> bool:
        """Do columns read what a lane defines?"""
        return not self.strata.reads.isdisjoint(lane.lane.definitions)

    def _show(self, walked: _WalkedLane, is_first: bool, context: Context) -> None:
        """Let columns see what a lane has found in the window: at first, all that has come."""
        changes, walk = walked.latest, walked.lane.walk
        assert changes is not None
        intervals = changes.come if is_first else walk.intervals()
        wanted = self.strata.reads if self._links is None else None
        context.relations.fluents |= dict(walked.answers.fluents(intervals, wanted))
        if walked.lane.lane.reported_signals:
            points = changes.signals_come if is_first else walk.signals()
            context.relations.events |= dict(walked.answers.events(points))

    def changes(self, query_input: QueryInput) -> AnswerChanges:
        """How the answer differs from the one of the query before."""
        changes = super().changes(query_input)
        for walked in self._lanes:
            assert walked.latest is not None
            changes |= dict(walked.answers.changes(walked.latest))
        return changes

    # -- what is known ----------------------------------------------------------------------

    def answer(self) -> Answer:
        """All that is recognised within the window."""
        answer, hidden = super().answer(), self._plan.checked.definitions.auxiliary
        for walked in self._lanes:
            fluents = walked.answers.fluents(walked.lane.walk.intervals())
            answer.fluents |= {r: table for r, table in fluents if r not in hidden}
        return self._in_order(answer)

    def whole_answer(self) -> Answer:
        """The joined answer of all queries so far, where their answers are kept."""
        answer, hidden = super().whole_answer(), self._plan.checked.definitions.auxiliary
        for walked in self._lanes:
            answers = walked.answers
            fluents = answers.fluents(answers.all_intervals())
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
        for walked in self._lanes:
            walk = walked.lane.walk
            handover.fluents |= dict(walked.answers.fluent_rows(walk.intervals()))
            handover.events |= dict(walked.answers.event_rows(walk.signals()))
            handover.effect_origins |= attempts_in(walked.lane, walked.answers)
        return handover

    def take_over(self, handover: Handover, context: Context) -> None:
        """Go on from where another evaluator has stopped.

        The window of the context must be that of its last query, and growing domains filled.
        """
        super().take_over(self._without_lanes(handover), context)
        lanes = [resumed_lane(lane, handover, self._memory, context) for lane in self._plan.lanes]
        linked = [resumed_walk(p, handover, self._memory, context) for p in self._plan.linked]
        self._begin(lanes, linked, context)

    def _without_lanes(self, handover: Handover) -> Handover:
        """What there is of relations that lanes do not define."""
        fluents, events, origins = (
            {r: rows for r, rows in row_sets.items() if r not in self._swept}
            for row_sets in (handover.fluents, handover.events, handover.effect_origins)
        )
        return replace(handover, fluents=fluents, events=events, effect_origins=origins)
