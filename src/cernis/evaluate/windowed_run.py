"""A run: windows over input, one query after the other, and the answer joined over all."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from cernis.check.model import (
    Changes,
    Collect,
    Either,
    Event,
    Happens,
    Literal,
    Relation,
    Unless,
    temporal,
)
from cernis.evaluate.columns.pattern_history import History
from cernis.evaluate.columns.state import State
from cernis.evaluate.columns.strata import evaluate
from cernis.evaluate.fault_places import told_where
from cernis.evaluate.members import Members
from cernis.operators.distinct import distinct
from cernis.operators.intervals.gap_edges import clip_input
from cernis.operators.intervals.pieces import Piece, reaching, united
from cernis.operators.measuring import Profile
from cernis.operators.query_context import Context, Memo
from cernis.plan.builder import Plan
from cernis.plan.held_forms import Forms
from cernis.plan.logical import Match
from cernis.plan.pattern_steps import Occurrences, Slide, parts_below, steps_of
from cernis.records.encoded_input import Encoder, Input, InputEvents, InputFluent, read_tables
from cernis.records.seen_forms import see_records
from cernis.records.text_records import Records
from cernis.tables.domains import Domains
from cernis.tables.event_tables import EventTable, by_entity
from cernis.tables.interval_tables import FluentTable


@dataclass(frozen=True, slots=True)
class Window:
    """One query: all after its edge is evaluated anew, what was derived up to it stands.

    Records up to the point `forgotten` are not seen any more. That is the edge, unless steps are
    longer than windows: then the edge is the query before, and the points up to `forgotten` are
    evaluated without records.
    """

    edge: int
    query: int
    forgotten: int

    @classmethod
    def after(cls, before: int, query: int, start: int, width: int | None) -> Window:
        """The window of a query, after the query before, or the start; None reaches to the start.

        >>> Window.after(5, 20, 0, 5)
        Window(edge=5, query=20, forgotten=15)
        """
        forgotten = start if width is None else max(start, query - width)
        return cls(min(before, forgotten), query, forgotten)


def windows(start: int, end: int, window: int | None, step: int | None) -> Iterator[Window]:
    """The queries of a run: at each step, and one at the end.

    Without a window a query sees everything so far; without a step, steps are windows.

    >>> [(w.edge, w.query) for w in windows(0, 25, 20, 10)]
    [(0, 10), (0, 20), (5, 25)]
    """
    stride, width = step or window, window or None
    query = start
    while stride is not None and query + stride < end:
        query += stride
        yield Window.after(query - stride, query, start, width)
    yield Window.after(query, end, start, width)


@dataclass(slots=True)
class Answer:
    """What was recognised: the tables of all defined fluents and the happenings of all events."""

    fluents: dict[Relation, FluentTable] = field(default_factory=dict)
    events: dict[Relation, EventTable] = field(default_factory=dict)
    records: int = 0
    queries: int = 0
    conflicts: int = 0
    ignored: dict[str, int] = field(default_factory=dict)
    too_late: int = 0
    outside: int = 0


OnQuery: TypeAlias = Callable[[Window, Answer], None]

MOST_QUERIES = 10_000_000
"""A run with more queries is refused, and so is a record of a stream that would make more."""

_MOST_VALUES = 100_000
_QUERIES_BETWEEN = 100
"""After so many queries what is young and unreachable is collected."""


@dataclass(slots=True)
class _Workspace:
    """What is worked out about a plan and can be used again by its next run.

    Codes are never given back. So a run that met many values of its own does not leave them.
    """

    domains: Domains
    memo: Memo = field(default_factory=Memo)
    size: int | None = None

    def is_worth_keeping(self) -> bool:
        if self.size is None:
            self.size = len(self.domains)
        return len(self.domains) <= self.size + _MOST_VALUES


class Run:
    """Evaluates a plan over input, window by window."""

    def __init__(
        self, plan: Plan, tick: int | None = None, ties: str | None = None,
        profile: Profile | None = None,
    ) -> None:  # fmt: skip
        self.profile = profile
        self.plan = plan
        self.checked = plan.checked
        self.tick = tick or self.checked.definitions.settings.tick
        self.ties = ties or self.checked.definitions.settings.ties
        self.domains, self.memo = Domains(), Memo()
        self.queries = 0
        self.conflicts = 0

    def _enter(self, workspace: _Workspace) -> None:
        self._workspace = workspace
        self.domains, self.memo = workspace.domains, workspace.memo
        self.counted = self.memo.once("counted", self.plan, lambda: counted_events(self.plan))
        self.watched = self.memo.once("watched", self.plan, lambda: watched_fluents(self.plan))
        self.in_time = self.memo.once("in time", self.plan, lambda: events_in_time(self.plan))

    def _prepared(self, forms: Forms) -> _Workspace:
        """What another run has left, if there is such, and if it held values as this one does."""
        arrays = forms.arrays()
        try:
            found = self.plan.spare.pop()
        except IndexError:
            return _Workspace(Domains(arrays))
        assert isinstance(found, _Workspace)
        if found.domains.arrays != arrays:
            return _Workspace(Domains(arrays))
        found.memo.forget_filled()
        return found

    def over(
        self, given: Mapping[str, pa.Table] | Records, start: int | None = None,
        end: int | None = None, window: int | None = None, step: int | None = None,
        on_query: OnQuery | None = None,
    ) -> Answer:  # fmt: skip
        """Run over tables of records by relation name, or over records read from text.

        `on_query` is told of each query and of the answer as of then: all that stands.
        """
        records = given if isinstance(given, Records) else read_tables(given, self.checked)
        self._enter(self._prepared(self.forms_of(records)))
        encoder = Encoder(self.checked, self.domains, self.tick)
        return self._run(encoder.encode_records(records), start, end, window, step, on_query)

    def forms_of(self, records: Records) -> Forms:
        """The forms of values as they are with some records."""
        forms = self.plan.forms.copy()
        see_records(forms, records.relations.values())
        return forms

    def _run(
        self, given: Input, start: int | None, end: int | None, window: int | None,
        step: int | None, on_query: OnQuery | None,
    ) -> Answer:  # fmt: skip
        first = given.first if start is None else start + self.tick
        last = given.last if end is None else end
        start = (first if first is not None else 1) - self.tick
        last = last if last is not None else start
        self.begin(start)
        with undisturbed():
            for each in windows(start, last, window, step):
                self.query(each, given, self.plan)
                if on_query is not None:
                    on_query(each, Answer(self.state.fluents(), self.state.events()))
                if self.queries % _QUERIES_BETWEEN == 0:
                    gc.collect(1)
        answer = self.answer()
        answer.records, answer.ignored = given.records, given.ignored
        return answer

    def begin(self, start: int) -> None:
        """Begin at a point of time, with nothing known of what was before."""
        self.start = start
        self.state = State(self.checked, self.domains, self.tick)
        self._members = Members(self.checked.definitions)
        self._history = History(self.plan)

    def query(self, window: Window, given: Input, strata: Plan) -> None:
        """Bring the strata of a plan up to a query, over records that the window may see."""
        self.state.advance(window.edge, window.forgotten)
        self._history.advance(window.edge)
        context = self._context(given, window, self.start, self.state)
        self._members.fill(context, given)
        self._history.enter(context)
        self.before_query(self.queries, context)
        with told_where(self.plan):
            outcome = evaluate(strata, context, self.state.carried())
        self._history.settle(context)
        self.after_query(self.queries, context)
        self.state.settle(context)
        self.queries += 1
        self.conflicts += outcome.conflicts

    def answer(self) -> Answer:
        """What all queries since the beginning have found; it is the last that is asked."""
        self.leave_workspace()
        return Answer(
            self.state.fluents(), self.state.events(), queries=self.queries,
            conflicts=self.conflicts,
        )  # fmt: skip

    def leave_workspace(self) -> None:
        """Leave what was worked out about the plan to the next run."""
        if self._workspace.is_worth_keeping():
            self.plan.spare.append(self._workspace)

    def before_query(self, number: int, context: Context) -> None:
        """Hears of each query, counted from 0, before its strata are evaluated.

        A run of some stages only gets here what the others found.
        """

    def after_query(self, number: int, context: Context) -> None:
        """Hears of each query when its strata have been evaluated.

        What is taken out of the context here is not carried over to the next query.
        """

    def _context(self, given: Input, window: Window, start: int, state: State) -> Context:
        checked = self.checked
        context = Context(
            self.plan.knowledge, checked.modes, checked.types, checked.catalogue, self.domains,
            self.tick, self.ties, start, window.edge, window.query, window.forgotten,
        )  # fmt: skip
        context.watched = self.watched
        context.memo = self.memo
        context.sources = checked.sources
        context.remembered = state.remembered()
        context.profile = self.profile
        for relation, events in given.events.items():
            table = _visible_events(events, window, relation in self.in_time)
            context.events[relation] = once(table) if relation in self.counted else table
        for relation, fluent in given.fluents.items():
            context.fluents[relation] = self._visible_fluent(
                relation, fluent, window, context, state
            )
            clip_input(relation, context)
            if fluent.from_points:
                _leave_open(relation, fluent, window, context)
        for vertex in self.checked.dependencies.vertices:
            if vertex.value is not None and state.before(vertex.relation):
                context.fluents[vertex.relation] = united(
                    state.before(vertex.relation), vertex.relation, context
                )
        return context

    def _visible_fluent(
        self, relation: Relation, fluent: InputFluent, window: Window, context: Context,
        state: State,
    ) -> FluentTable:  # fmt: skip
        bound = window.forgotten + self.tick
        high = int(np.searchsorted(fluent.starts, window.query, "right"))
        seen = (fluent.ends[:high] > bound) & (fluent.arrivals[:high] <= window.query)
        if fluent.gone is not None:
            seen &= fluent.gone[:high] > window.query
        chosen = np.flatnonzero(seen)
        starts = np.maximum(fluent.starts[chosen], bound)
        piece: Piece = (
            [column[chosen] for column in fluent.arguments], fluent.values[chosen], starts,
            fluent.ends[chosen],
        )  # fmt: skip
        table = united([*state.before(relation), piece], relation, context)
        if state.before(relation):
            table = reaching(table, relation, context)
        return table


def _leave_open(relation: Relation, fluent: InputFluent, window: Window, context: Context) -> None:
    """What has a point at the query may go on after it."""
    low, high = (
        int(np.searchsorted(fluent.starts, window.query, side)) for side in ("left", "right")
    )
    seen = fluent.arrivals[low:high] <= window.query
    if fluent.gone is not None:
        seen &= fluent.gone[low:high] > window.query
    if fluent.at_points is not None:
        seen &= fluent.at_points[low:high]
    rows = low + np.flatnonzero(seen)
    if len(rows):
        columns = [column[rows] for column in (*fluent.arguments, fluent.values)]
        context.leave_open(relation, columns)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let the collector of unreachable objects wait: a query leaves few.

    With many facts loaded, it would look at all of them in the middle of a query.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _bodies(plan: Plan) -> list[tuple[Literal, ...]]:
    definitions = plan.checked.definitions
    bodies = [rule.body for rule in definitions.changes]
    return bodies + [rule.body for rule in definitions.events]


def counted_events(plan: Plan) -> frozenset[Relation]:
    """The events that aggregates look at."""
    return frozenset(
        literal.event.relation
        for body in _bodies(plan)
        for collect in _collects(body)
        for literal in temporal(collect.body)
        if isinstance(literal, Happens)
    )


def watched_fluents(plan: Plan) -> frozenset[Relation]:
    """The fluents whose initiations or terminations are conditions of rules."""
    return frozenset(
        literal.pair.relation
        for body in _bodies(plan)
        for literal in temporal(body)
        if isinstance(literal, Changes)
    )


def events_in_time(plan: Plan) -> frozenset[Relation]:
    """The events that are wanted in the order of time.

    Those that nothing looks at but windows without a key, which slide along them.
    """
    strata = (stratum for stage in plan.stages for stratum in stage.strata)
    rules = [rule for s in strata for own in s.definitions for rule in own.rules]
    steps = [step for r in rules if isinstance(r, Match) for step in steps_of(r.part.step)]
    slid: set[Relation] = set()
    others = {literal.event.relation for body in _bodies(plan) for literal in temporal(body)
              if isinstance(literal, Happens)}  # fmt: skip
    for step in steps:
        slides = [own for own in getattr(step, "around", ()) if isinstance(own, Slide)]
        is_slid = bool(slides) and not any(slide.key for slide in slides)
        for below in (part.step for part in parts_below(step)):
            if isinstance(below, Occurrences) and isinstance(below.atom, Event):
                (slid if is_slid else others).add(below.atom.relation)
    return frozenset(slid - others)


def _collects(body: tuple[Literal, ...]) -> Iterator[Collect]:
    """The aggregates of a body, at any depth."""
    for literal in body:
        if isinstance(literal, Collect):
            yield literal
            yield from _collects(literal.body)
        elif isinstance(literal, Unless):
            yield from _collects(literal.body)
        elif isinstance(literal, Either):
            for branch in literal.branches:
                yield from _collects(branch)


def once(table: EventTable) -> EventTable:
    """Equal happenings as one, for those that count them."""
    first, _ = distinct([*table.arguments, table.times], [*table.domains, None])
    return table if len(first) == len(table) else table.take(np.sort(first))


def _visible_events(events: InputEvents, window: Window, in_time: bool) -> EventTable:
    low = int(np.searchsorted(events.times, window.forgotten, "right"))
    high = int(np.searchsorted(events.times, window.query, "right"))
    times = events.times[low:high]
    arguments = [column[low:high] for column in events.arguments]
    late = events.arrivals[low:high] > window.query
    if events.gone is not None:
        late |= events.gone[low:high] <= window.query
    if late.any():
        arguments = [column[~late] for column in arguments]
        times = times[~late]
    if in_time:
        return EventTable(arguments, events.domains, times)
    return by_entity(arguments, events.domains, times)
