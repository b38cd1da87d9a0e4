"""A run over uncertain records: the probability of each pair over time, and credible intervals."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from cernis.check.model import FluentKind, Pair, Relation
from cernis.errors import DataError
from cernis.evaluate.columns.from_scratch import FromScratch
from cernis.evaluate.columns.strata import evaluate_definition, evaluate_stratum, refuse
from cernis.evaluate.probabilities.circuits import Circuits
from cernis.evaluate.probabilities.courses import (
    Courses,
    Credible,
    Pairs,
    certain_course,
    credible_intervals,
)
from cernis.evaluate.probabilities.proofs import Uncertainty
from cernis.evaluate.probabilities.uncertain_cycles import evaluate_cycle
from cernis.evaluate.probabilities.uncertain_events import evaluate_event
from cernis.evaluate.probabilities.uncertain_fluents import evaluate_fluent
from cernis.evaluate.probabilities.uncertain_records import (
    FluentRecords,
    add_events,
    add_fluent,
    add_predicates,
)
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.evaluate.query_loop import News
from cernis.evaluate.recorded_input import RecordedInput
from cernis.evaluate.run import Run
from cernis.evaluate.windows import Window
from cernis.evaluate.workspace import leave
from cernis.kernels.array_types import Booleans, Floats, Integers
from cernis.kernels.intervals.list_operations import maximal
from cernis.operators.definitions.simple_fluents import Carried
from cernis.operators.intervals.gap_edges import clip_input
from cernis.operators.measuring import Profile
from cernis.operators.query_context import Context
from cernis.plan.builder import Plan
from cernis.plan.logical import Definition, InitialPoints, Stratum, parts_of
from cernis.records.encoded_input import EncodedInput, Encoder, InputEvents, InputFluent
from cernis.records.record_columns import Records
from cernis.tables.domains import Domains
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import INFINITY, FluentTable


@dataclass(slots=True)
class UncertainAnswer:
    """What was recognised of uncertain records.

    `courses` are the probabilities of the uncertain fluents that rules define. `fluents` are the
    intervals of all of them; of an uncertain fluent the most credible ones, with their `means`.
    """

    courses: dict[Relation, Courses] = field(default_factory=dict)
    fluents: dict[Relation, FluentTable] = field(default_factory=dict)
    means: dict[Relation, Floats] = field(default_factory=dict)
    events: dict[Relation, EventTable] = field(default_factory=dict)
    circuits: int = 0
    """How many shapes of formulas there were."""


class Evaluation:
    """One query under uncertainty."""

    def __init__(
        self, plan: Plan, chosen: UncertainSettings, context: Context, window: Window,
        circuits: Circuits | None = None,
    ) -> None:  # fmt: skip
        self._plan = plan
        self._chosen = chosen
        self._context = context
        self._window = window
        self._uncertainty = Uncertainty(watched=set(plan.roles.watched), derived=context.derived)
        # What is compiled for a rule set serves its next run.
        self._circuits: Circuits = (
            circuits
            if circuits is not None
            else context.memo.once(("circuits", context.ties), plan, lambda: Circuits(context.ties))
        )
        self.courses: dict[Relation, Courses] = {}
        self._credible: dict[Relation, tuple[FluentTable, Floats]] = {}
        self.thresholded: set[Relation] = set()
        """Fluents that are made of credible intervals."""
        self._carried: dict[Relation, Carried] = {}
        self.conflicts = 0

    def run(self, given: EncodedInput) -> None:
        """Bring all strata up to the query."""
        self._input(given)
        for stage in self._plan.stages:
            for stratum in stage.strata:
                self._stratum(stratum)

    @property
    def defined(self) -> dict[Relation, Definition]:
        """What the strata define."""
        strata = [stratum for stage in self._plan.stages for stratum in stage.strata]
        return {own.relation: own for stratum in strata for own in stratum.definitions}

    def _input(self, given: EncodedInput) -> None:
        context, uncertainty = self._context, self._uncertainty
        add_predicates(context, uncertainty)
        for relation, events in given.events.items():
            if events.chances is not None:
                seen = _seen(events, self._window, events.times > self._window.forgotten)
                add_events(
                    relation, [column[seen] for column in events.arguments], events.domains,
                    events.times[seen], events.chances[seen], context, uncertainty,
                    once=relation in self._plan.roles.counted,
                )  # fmt: skip
        bound = self._window.forgotten + context.tick
        for relation, own in given.fluents.items():
            if own.chances is not None:
                seen = _seen(own, self._window, own.ends > bound)
                records = FluentRecords(
                    [column[seen] for column in own.arguments], own.values[seen], own.domains,
                    own.value_domain, np.maximum(own.starts[seen], bound), own.ends[seen],
                    own.chances[seen],
                )  # fmt: skip
                self.courses[relation] = add_fluent(relation, records, uncertainty)

    # -- strata -----------------------------------------------------------------------------

    def _stratum(self, stratum: Stratum) -> None:
        context, uncertainty = self._context, self._uncertainty
        if not any(map(self._is_uncertain, stratum.definitions)):
            self.conflicts += evaluate_stratum(stratum, context, self._carried)
            return
        refuse(stratum, uncertain=True)
        if stratum.immediate:
            self.courses |= evaluate_cycle(stratum, context, uncertainty, self._circuits)
            return
        for definition in stratum.definitions:
            if definition.kind == "event":
                evaluate_event(definition, context, uncertainty)
            elif definition.kind == FluentKind.SIMPLE:
                self.courses[definition.relation] = evaluate_fluent(
                    definition, context, uncertainty, self._circuits
                )
            else:
                self._static(definition)

    def _is_uncertain(self, definition: Definition) -> bool:
        return any(self._uncertainty.is_about(r) or is_by_chance(r) for r in definition.rules)

    def _static(self, definition: Definition) -> None:
        """From the credible intervals of its parts; the result is certain."""
        catalogue = self._plan.checked.catalogue
        for part in parts_of(definition.rules):
            if isinstance(part, Pair) and part.relation in self._uncertainty.fluents:
                table, _ = self._intervals(part.relation)
                self._context.fluents[part.relation] = _maximal(table)
                self._context.unsure.discard(part.relation)
                if catalogue.fluents[part.relation].kind is FluentKind.INPUT:
                    clip_input(part.relation, self._context)
        self.thresholded.add(definition.relation)
        evaluate_definition(definition, self._context, self._carried)

    # -- intervals --------------------------------------------------------------------------

    def _intervals(self, relation: Relation) -> tuple[FluentTable, Floats]:
        """The credible intervals of an uncertain fluent, with their means."""
        if relation not in self._credible:
            courses, tick = self.courses[relation], self._context.tick
            start, end = self._window.edge, self._window.query
            found = credible(relation, courses, start, end, tick, self._chosen)
            self._credible[relation] = credible_table(courses.pairs, found, end + 2 * tick)
        return self._credible[relation]

    def answer(self, intervals: bool) -> UncertainAnswer:
        """What was recognised, with the intervals of uncertain fluents or without."""
        answer = UncertainAnswer(circuits=len(self._circuits))
        hidden = self._plan.checked.definitions.auxiliary
        for relation, definition in self.defined.items():
            if relation in hidden:
                continue
            if relation in self.courses:
                answer.courses[relation] = self.courses[relation]
                if intervals:
                    answer.fluents[relation], answer.means[relation] = self._intervals(relation)
            elif definition.kind != "event" and relation in self._context.fluents:
                table = answer.fluents[relation] = self._context.fluents[relation]
                if relation not in self.thresholded:
                    answer.courses[relation] = certain_course(table)
                    answer.means[relation] = np.ones(len(table.starts))
            elif relation in self._context.events:
                answer.events[relation] = self._context.events[relation]
        return answer


class WholeProbabilities(FromScratch):
    """Evaluates a plan over uncertain input, all of it in one query."""

    evaluation: Evaluation
    """The evaluation of the query."""

    def __init__(
        self, plan: Plan, memory: RecordedInput, domains: Domains, tick: int,
        chosen: UncertainSettings,
    ) -> None:  # fmt: skip
        super().__init__(plan, memory, domains, tick)
        self._chosen = chosen
        self._recorded = memory

    def _certain(self, relations: Iterable[Relation]) -> Iterable[Relation]:
        given = self._recorded.whole
        uncertain = {r for r, events in given.events.items() if events.chances is not None}
        uncertain |= {r for r, fluent in given.fluents.items() if fluent.chances is not None}
        return [relation for relation in relations if relation not in uncertain]

    def _evaluate(self, news: News) -> int:
        self.evaluation = self._evaluation(news)
        self.evaluation.run(self._recorded.whole)
        return self.evaluation.conflicts

    def _evaluation(self, news: News) -> Evaluation:
        return Evaluation(self._plan, self._chosen, news.context, news.window)

    def settle(self, news: News) -> None:
        """Nothing: there is no query after this one."""


class UncertainRun(Run):
    """A run over uncertain input, all of it in one query."""

    evaluator: WholeProbabilities

    def __init__(
        self, plan: Plan, chosen: UncertainSettings, tick: int | None = None,
        ties: str | None = None, profile: Profile | None = None,
    ) -> None:  # fmt: skip
        said = plan.checked.definitions.settings
        super().__init__(
            plan, tick, ties or (said.ties if said.ties_said else "initiation"), profile
        )
        self.chosen = chosen

    def over_uncertain(
        self, records: Records, start: int, end: int, *, intervals: bool = True
    ) -> UncertainAnswer:
        """Run over records from start, exclusive, to end; without intervals if none are wanted.

        Those that statically determined fluents are made of are looked for in any case.
        """
        self.enter_workspace(self.forms_of(records))
        given = self.encoder.encode_records(records)
        if self.chosen.uncertain is not None:
            for relation in uncertain_relations(self.plan, self.chosen.uncertain):
                _declare(relation, given, self.encoder)
        self.begin(start)
        self.memory.take(given)
        self.query(Window(start, end, start))
        leave(self.plan, self._workspace)
        return self.evaluator.evaluation.answer(intervals)

    def _evaluator(self) -> WholeProbabilities:
        return WholeProbabilities(self.plan, self.memory, self.domains, self.tick, self.chosen)


def is_by_chance(rule: object) -> bool:
    """Does a rule say that something holds initially with a probability?"""
    return isinstance(rule, InitialPoints) and rule.probability is not None


def _declare(relation: Relation, given: EncodedInput, encoder: Encoder) -> None:
    """Let a relation be uncertain, whatever its records are."""
    none = np.empty(0, np.int64)
    if encoder.is_event(relation):
        domains = [encoder.domain("event", relation, at) for at in range(relation.arity)]
        nothing = InputEvents([none] * relation.arity, domains, none, none)
        events = given.events.setdefault(relation, nothing)
        if events.chances is None:
            events.chances = np.ones(len(events.times))
        return
    domains = [encoder.domain("fluent", relation, at) for at in range(relation.arity)]
    value_domain = encoder.domain("fluent", relation, "value")
    fluent = given.fluents.setdefault(relation, InputFluent(
        [none] * relation.arity, none, domains, value_domain, none, none, none, False
    ))  # fmt: skip
    if fluent.chances is None:
        fluent.chances = np.ones(len(fluent.starts))


def uncertain_relations(plan: Plan, named: Iterable[str] | None) -> frozenset[Relation]:
    """The relations of the input whose records may be uncertain: those named, else all.

    A name may have the number of arguments after it, `walking/1`. One that is no input is a
    DataError.
    """
    catalogue = plan.checked.catalogue
    known = [relation for relation, own in catalogue.events.items() if own.is_input]
    known += [r for r, own in catalogue.fluents.items() if own.kind is FluentKind.INPUT]
    if named is None:
        return frozenset(known)
    found: set[Relation] = set()
    for name in named:
        own = {relation for relation in known if name in (relation.name, str(relation))}
        if not own:
            there = ", ".join(sorted(map(str, known))) or "none"
            raise DataError(f"{name} is no relation of the input; there are {there}")
        found |= own
    return frozenset(found)


def credible(
    relation: Relation, courses: Courses, start: int, end: int, tick: int,
    chosen: UncertainSettings,
) -> Credible:  # fmt: skip
    """The most credible intervals of a fluent in a run from start, exclusive, to end.

    What the last records bring about shows a tick after the end, which is the last point.
    """
    own = chosen.of(relation)
    seeds = None if own.durations is None else PairSeeds(relation, own.seed)(courses.pairs)
    return credible_intervals(courses, start + tick, end + tick, tick, own, seeds)


def _seen(own: InputEvents | InputFluent, window: Window, inside: Booleans) -> Integers:
    """The records that a query sees."""
    times = own.times if isinstance(own, InputEvents) else own.starts
    seen = inside & (times <= window.query) & (own.arrivals <= window.query)
    if own.gone is not None:
        seen &= own.gone > window.query
    return np.flatnonzero(seen)


@dataclass(frozen=True, slots=True)
class PairSeeds:
    """A seed for each pair of a fluent, that depends on its name alone."""

    relation: Relation
    seed: int

    def __call__(self, pairs: Pairs) -> Integers:
        """The seeds of pairs."""
        first = zlib.crc32(f"{self.seed} {self.relation}".encode())
        found = np.full(len(pairs), first, np.uint64)
        columns = zip([*pairs.arguments, pairs.values], [*pairs.domains, pairs.value_domain],
                      strict=True)  # fmt: skip
        for column, domain in columns:
            distinct, codes = np.unique(column, return_inverse=True)
            values: Iterable[object] = domain.decode(distinct) if domain else distinct.tolist()
            hashes = np.array([zlib.crc32(repr(value).encode()) for value in values], np.uint64)
            if len(hashes):
                found = found * np.uint64(0x9E3779B97F4A7C15) + hashes[codes]
        return found.view(np.int64)


def credible_table(pairs: Pairs, found: Credible, end: int) -> tuple[FluentTable, Floats]:
    """Intervals, sorted by pair, as a table of those that have any; what reaches the end is open.

    Beside it the mean probability of each.
    """
    owners, counts = np.unique(found.owner, return_counts=True)
    offsets = np.append(0, np.cumsum(counts)).astype(np.int64)
    ends = np.where(found.ends == end, INFINITY, found.ends)
    table = FluentTable(
        [column[owners] for column in pairs.arguments], pairs.values[owners], pairs.domains,
        pairs.value_domain, offsets, found.starts, ends,
    )  # fmt: skip
    return table, found.means


def _maximal(table: FluentTable) -> FluentTable:
    """The table with intervals that meet joined."""
    owners = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    owners, starts, ends = maximal(owners, table.starts, table.ends)
    offsets = np.searchsorted(owners, np.arange(len(table) + 1)).astype(np.int64)
    return FluentTable(
        table.arguments, table.values, table.domains, table.value_domain, offsets, starts, ends
    )
