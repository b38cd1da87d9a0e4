"""Chooses the evaluator from scratch for a run, a session or a stage.

For certain records it is the one of columns, above the lanes of the plan if it has any. For
uncertain records it is one of those of probabilities: of whole courses, if there is one query only,
and otherwise of tracks, which go on from query to query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cernis.check.model import Relation
from cernis.evaluate.columns.from_scratch import FromScratch, StageLinks
from cernis.evaluate.query_loop import WindowRecords
from cernis.evaluate.sweep.sweep_then_columns import SweepThenColumns
from cernis.plan.builder import Plan
from cernis.tables.domains import Domains

if TYPE_CHECKING:
    from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings


@dataclass(frozen=True, slots=True)
class UncertainInput:
    """How intervals are recognised from probabilities, and which input may be uncertain."""

    settings: UncertainSettings
    relations: frozenset[Relation]


@dataclass(frozen=True, slots=True)
class QueriesAhead:
    """The queries that an evaluator is for."""

    is_only_one: bool = False
    keeps_answers: bool = False
    """Are the answers of all queries kept, and not only what each has changed?"""
    may_walk: bool = False
    """May lanes be walked?"""


def can_walk(plan: Plan, tick: int, ties: str) -> bool:
    """Can all that matters be walked?"""
    return plan.is_swept and fits_walks(plan, tick, ties)


def fits_walks(plan: Plan, tick: int, ties: str) -> bool:
    """Do tick and tie rule fit what is walked?

    Delays must be whole ticks, so that effects are due at points at which others see them; records
    that are not are found out when they come. Where initiations win ties, a fluent that takes any
    value may have two, and no register holds both.
    """
    lanes = [*plan.lanes, *(kind.lane for program in plan.linked for kind in program.kinds)]
    has_whole_ticks = all(each.delay % tick == 0 for lane in lanes for each in lane.delays)
    is_tick_planned = not plan.linked or tick == lanes[-1].tick
    has_register_ties = ties == "break" or not plan.has_registers
    return has_whole_ticks and is_tick_planned and has_register_ties


def ties_of(plan: Plan, ties: str | None, is_uncertain: bool) -> str:
    """What counts where initiation and termination coincide: as users or rules have chosen.

    If neither has chosen, the initiation counts for uncertain records.
    """
    settings = plan.checked.definitions.settings
    return ties or ("initiation" if is_uncertain and not settings.ties_said else settings.ties)


def evaluator_from_scratch(
    plan: Plan, memory: WindowRecords, domains: Domains, tick: int, ties: str,
    links: StageLinks | None = None, uncertain: UncertainInput | None = None,
    ahead: QueriesAhead | None = None,
) -> FromScratch:  # fmt: skip
    """An evaluator that has seen no query yet; `links` lead to the stages before and after it."""
    ahead = ahead or QueriesAhead()
    is_walked = ahead.may_walk and bool(plan.walked) and fits_walks(plan, tick, ties)
    if uncertain is None and is_walked:
        return SweepThenColumns(plan, memory, domains, tick, links, ahead.keeps_answers)
    if uncertain is None:
        return FromScratch(plan, memory, domains, tick, links)
    from cernis.evaluate.probabilities.tracked_probabilities import TrackedProbabilities
    from cernis.evaluate.probabilities.whole_probabilities import WholeProbabilities

    settings, relations = uncertain.settings, uncertain.relations
    if ahead.is_only_one:
        return WholeProbabilities(plan, memory, domains, tick, settings, relations, links)
    return TrackedProbabilities(
        plan, memory, domains, tick, ties, settings, relations, links, ahead.keeps_answers
    )
