"""A run: windows over input, one query after the other, and the answer joined over all."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cernis.check.model import (
    Changes,
    Collect,
    Either,
    Event,
    FluentKind,
    Grounding,
    Happens,
    Literal,
    Pair,
    Relation,
    Unless,
    temporal,
)
from cernis.operators.context import Context, Memo, Points, recoded
from cernis.operators.grounding import distinct
from cernis.operators.profile import Profile
from cernis.operators.simple import Carried
from cernis.operators.static import Piece, chosen, pieces, reaching, united
from cernis.plan.builder import Plan
from cernis.runtime.carrying import cut_at
from cernis.runtime.inputs import Encoder, Input, InputEvents, InputFluent
from cernis.runtime.query import evaluate
from cernis.runtime.records import Records
from cernis.syntax.tree import Compound, Variable, functor
from cernis.tables.columns import Array, Column
from cernis.tables.domains import Domain, Domains
from cernis.tables.events import EventTable, by_entity, by_time
from cernis.tables.fluents import Finder, FluentTable

Integers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Window:
    """One query: its time, and the point up to which all is forgotten."""

    edge: int
    query: int


def windows(start: int, end: int, window: int | None, step: int | None) -> Iterator[Window]:
    """The queries of a run: at each step, and one at the end.

    Without a window a query sees everything so far; without a step, steps are windows.

    >>> [(w.edge, w.query) for w in windows(0, 25, 20, 10)]
    [(0, 10), (0, 20), (5, 25)]
    """
    stride = step or window
    query = start
    while stride is not None and query + stride < end:
        query += stride
        yield Window(max(start, query - window) if window else start, query)
    yield Window(max(start, end - window) if window else start, end)


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

_MOST_VALUES = 100_000


@dataclass(slots=True)
class _Workspace:
    """What is worked out about a plan and can be used again by its next run.

    Codes are never given back. So a run that met many values of its own does not leave them.
    """

    domains: Domains = field(default_factory=Domains)
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

    def _enter(self, workspace: _Workspace) -> None:
        self._workspace = workspace
        self.domains, self.memo = workspace.domains, workspace.memo
        self.counted = self.memo.once("counted", self.plan, lambda: _counted(_bodies(self.plan)))
        self.watched = self.memo.once("watched", self.plan, lambda: _watched(_bodies(self.plan)))

    def _prepared(self) -> _Workspace:
        """What another run has left, if there is such."""
        try:
            found = self.plan.spare.pop()
        except IndexError:
            return _Workspace()
        assert isinstance(found, _Workspace)
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
        self._enter(self._prepared())
        encoder = Encoder(self.checked, self.domains, self.tick)
        if isinstance(given, Records):
            return self._run(encoder.encode_records(given), start, end, window, step, on_query)
        return self._run(encoder.encode(given), start, end, window, step, on_query)

    def _run(
        self, given: Input, start: int | None, end: int | None, window: int | None,
        step: int | None, on_query: OnQuery | None,
    ) -> Answer:  # fmt: skip
        first = given.first if start is None else start + self.tick
        last = given.last if end is None else end
        start = (first if first is not None else 1) - self.tick
        last = last if last is not None else start
        answer = Answer(records=given.records, ignored=given.ignored)
        state = _State(self)
        for each in windows(start, last, window, step):
            state.advance(each.edge)
            context = self._context(given, each, start, state)
            self.before_query(answer.queries, context)
            outcome = evaluate(self.plan, context, state.carried())
            self.after_query(answer.queries, context)
            state.settle(context)
            answer.queries += 1
            answer.conflicts += outcome.conflicts
            if on_query is not None:
                on_query(each, Answer(state.fluents(), state.events()))
        answer.fluents = state.fluents()
        answer.events = state.events()
        if self._workspace.is_worth_keeping():
            self.plan.spare.append(self._workspace)
        return answer

    def before_query(self, number: int, context: Context) -> None:
        """Hears of each query, counted from 0, before its strata are evaluated.

        A run of some stages only gets here what the others found.
        """

    def after_query(self, number: int, context: Context) -> None:
        """Hears of each query when its strata have been evaluated.

        What is taken out of the context here is not carried over to the next query.
        """

    def _context(self, given: Input, window: Window, start: int, state: _State) -> Context:
        checked = self.checked
        context = Context(
            self.plan.knowledge, checked.modes, checked.types, checked.catalogue, self.domains,
            self.tick, self.ties, start, window.edge, window.query,
        )  # fmt: skip
        context.watched = self.watched
        context.memo = self.memo
        context.profile = self.profile
        for relation, events in given.events.items():
            table = _visible_events(events, window)
            context.events[relation] = once(table) if relation in self.counted else table
        for relation, fluent in given.fluents.items():
            context.fluents[relation] = self._visible_fluent(
                relation, fluent, window, context, state
            )
            if fluent.from_points:
                _leave_open(relation, fluent, window, context)
        for vertex in self.checked.dependencies.vertices:
            if vertex.value is not None and state.before(vertex.relation):
                context.fluents[vertex.relation] = united(
                    state.before(vertex.relation), vertex.relation, context
                )
        state.fill(context, given)
        return context

    def _visible_fluent(
        self, relation: Relation, fluent: InputFluent, window: Window, context: Context,
        state: _State,
    ) -> FluentTable:  # fmt: skip
        bound = window.edge + self.tick
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
    """What has a point at the query may go on behind it."""
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
def _undisturbed() -> Iterator[None]:
    """Let the collector of unreachable objects wait: a query leaves none.

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


def _counted(bodies: Iterable[tuple[Literal, ...]]) -> frozenset[Relation]:
    """The events that aggregates look at."""
    return frozenset(
        literal.event.relation
        for body in bodies
        for collect in _collects(body)
        for literal in temporal(collect.body)
        if isinstance(literal, Happens)
    )


def _watched(bodies: Iterable[tuple[Literal, ...]]) -> frozenset[Relation]:
    """The fluents whose initiations or terminations are conditions of rules."""
    return frozenset(
        literal.pair.relation
        for body in bodies
        for literal in temporal(body)
        if isinstance(literal, Changes)
    )


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


def _visible_events(events: InputEvents, window: Window) -> EventTable:
    low = int(np.searchsorted(events.times, window.edge, "right"))
    high = int(np.searchsorted(events.times, window.query, "right"))
    times = events.times[low:high]
    arguments = [column[low:high] for column in events.arguments]
    late = events.arrivals[low:high] > window.query
    if events.gone is not None:
        late |= events.gone[low:high] <= window.query
    if late.any():
        arguments = [column[~late] for column in arguments]
        times = times[~late]
    return by_entity(arguments, events.domains, times)


class _State:
    """What one query leaves to the next.

    `live` are the tables of the last query. Before the next, `advance` moves what lies wholly
    before the new edge to the archive, keeps what reaches the edge, and forgets the rest, which
    the next query says anew.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._archive: dict[Relation, list[Piece]] = {}
        self._live: dict[Relation, FluentTable] = {}
        self._before: dict[Relation, list[Piece]] = {}
        self._carried: dict[Relation, Carried] = {}
        self._past: dict[Relation, list[EventTable]] = {}
        self._happened: dict[Relation, EventTable] = {}
        self._begun: dict[Relation, Points] = {}
        self._context: Context | None = None
        self._members: dict[int, list[Array]] = {}
        self._filled: dict[tuple[str, int], tuple[list[Array], int]] = {}

    def advance(self, edge: int) -> None:
        """Forget what the next query evaluates anew: all behind its edge."""
        bound = edge + self._run.tick
        self._before, self._carried = {}, {}
        for relation, table in self._live.items():
            simple = self._run.checked.catalogue.fluents[relation].kind is FluentKind.SIMPLE
            if simple:
                over, self._carried[relation] = cut_at(
                    relation, table, self._begun.get(relation), edge, self._run.tick,
                    self._run.domains,
                )  # fmt: skip
                self._put_by(relation, over)
            else:
                (piece,) = pieces(table)
                cut = chosen(piece, piece[2] < bound)
                cut = (cut[0], cut[1], cut[2], np.minimum(cut[3], bound))
                self._put_by(relation, chosen(cut, cut[3] < bound))
                self._before[relation] = [chosen(cut, cut[3] == bound)]
        for happened, events in self._happened.items():
            past = np.flatnonzero(events.times <= edge)
            self._past.setdefault(happened, []).append(events.take(past))
        self._live, self._happened = {}, {}

    def _put_by(self, relation: Relation, piece: Piece) -> None:
        if len(piece[2]):
            self._archive.setdefault(relation, []).append(piece)

    def before(self, relation: Relation) -> list[Piece]:
        """What was said of points up to the edge and reaches it."""
        return self._before.get(relation, [])

    def carried(self) -> dict[Relation, Carried]:
        """The simple fluents that hold right behind the edge, from what was derived up to it."""
        return self._carried

    def settle(self, context: Context) -> None:
        """Take over the result of a query."""
        self._context = context
        self._live = dict(context.fluents)
        self._begun = dict(context.begun)
        for relation, past in context.past.items():
            self._archive.setdefault(relation, []).extend(past)
        for relation, table in context.events.items():
            entry = self._run.checked.catalogue.events.get(relation)
            if entry is not None and not entry.is_input:
                self._happened[relation] = table

    def fill(self, context: Context, given: Input) -> None:
        """Fill dynamic domains from the input seen so far, but for what was taken back."""
        definitions = self._run.checked.definitions
        keys = {(relation.name, relation.arity) for relation, _ in definitions.domains}
        if not keys:
            return
        members: dict[tuple[str, int], list[list[Array]]] = {key: [] for key in keys}
        for grounding in definitions.groundings:
            columns = _entity_columns(grounding.entity, context)
            kept = _not_taken_back(grounding.entity, given, context.query)
            for goal in _domain_goals(grounding, keys):
                own = self._seen(goal, columns, kept, context)
                if own is not None:
                    members[functor(goal)].append(own)
        for key, parts in members.items():
            self._fill(key, parts, context)

    def _seen(
        self, goal: Compound, columns: _Columns | None, kept: _Columns | None, context: Context
    ) -> list[Array] | None:
        """The members that a goal has been given so far, but for those that were taken back."""
        own = self._members.get(id(goal))
        if columns is not None:
            now = _members_of(goal, columns, context)
            own = now if own is None else _different([own, now], context.slots_of(functor(goal)))
        if own is not None and kept is not None:
            alive = _members_of(goal, kept, context)
            domains = context.slots_of(functor(goal))
            finder = Finder(list(zip(alive, domains, strict=True)), len(alive[0]))
            stands = finder.one(own, len(own[0])) >= 0
            own = [column[stands] for column in own]
        if own is not None:
            self._members[id(goal)] = own
        return own

    def _fill(self, key: tuple[str, int], parts: list[list[Array]], context: Context) -> None:
        none: list[Array] = [np.empty(0, np.int64)] * key[1]
        rows = _different(parts, context.slots_of(key)) if parts else none
        before, filling = self._filled.get(key, (None, 0))
        if before is None or not all(map(np.array_equal, before, rows)):
            filling += 1
        self._filled[key] = rows, filling
        context.filled[key], context.fillings[key] = rows, filling

    def fluents(self) -> dict[Relation, FluentTable]:
        """The answer over the run: all defined fluents but those that phrases are made of."""
        hidden = self._run.checked.definitions.auxiliary
        vertices = self._run.checked.dependencies.vertices
        assert self._context is not None
        answer: dict[Relation, FluentTable] = {}
        for relation in dict.fromkeys(v.relation for v in vertices if v.value is not None):
            if relation in hidden:
                continue
            live, past = self._live.get(relation), self._archive.get(relation, [])
            if live is not None and not past:
                answer[relation] = live
            else:
                answer[relation] = united([*past, *pieces(live)], relation, self._context)
        return answer

    def events(self) -> dict[Relation, EventTable]:
        """The happenings of all derived events over the run."""
        answer = {}
        hidden = self._run.checked.definitions.auxiliary
        for relation, table in self._happened.items():
            if relation in hidden:
                continue
            parts = [*self._past.get(relation, []), table]
            answer[relation] = by_time(
                [np.concatenate(c) for c in zip(*(p.arguments for p in parts), strict=True)],
                table.domains,
                np.concatenate([part.times for part in parts]),
            )
        return answer


_Columns: TypeAlias = dict[str, tuple[npt.NDArray[Any], Domain | None]]


def _domain_goals(grounding: Grounding, keys: set[tuple[str, int]]) -> Iterator[Compound]:
    """The goals that say which domain the arguments of an input entity belong to."""
    entity = grounding.entity
    terms = entity.args if isinstance(entity, Event) else (*entity.args, entity.value)
    names = {term.name for term in terms if isinstance(term, Variable)}
    for goal in grounding.goals:
        if isinstance(goal, Compound) and functor(goal) in keys:
            args = [arg for arg in goal.args if isinstance(arg, Variable) and arg.name in names]
            if len(args) == len(goal.args):
                yield goal


def _members_of(goal: Compound, columns: _Columns, context: Context) -> list[Array]:
    """The different values that the arguments of a goal take, as its predicate encodes them."""
    domains = context.slots_of(functor(goal))
    chosen = [columns[arg.name] for arg in goal.args if isinstance(arg, Variable)]
    first, _ = distinct([c for c, _ in chosen], [d for _, d in chosen])
    return [
        recoded(Column(column[first], own), domain, len(first))
        for (column, own), domain in zip(chosen, domains, strict=True)
    ]


def _different(parts: list[list[Array]], domains: list[Domain | None]) -> list[Array]:
    """The different rows of several tables, those of the first ones first."""
    columns = [np.concatenate(own) for own in zip(*parts, strict=True)]
    first, _ = distinct(columns, domains)
    rows = np.sort(first)
    return [column[rows] for column in columns]


def _not_taken_back(entity: Event | Pair, given: Input, query: int) -> _Columns | None:
    """The columns of what has arrived and stands; None if nothing was taken back."""
    if isinstance(entity, Event):
        events = given.events.get(entity.relation)
        if events is None or events.gone is None:
            return None
        stands = (events.arrivals <= query) & (events.gone > query)
        pairs = list(zip(entity.args, events.arguments, events.domains, strict=True))
    else:
        fluent = given.fluents.get(entity.relation)
        if fluent is None or fluent.gone is None:
            return None
        stands = (fluent.arrivals <= query) & (fluent.gone > query)
        terms = [*entity.args, entity.value]
        columns = [*fluent.arguments, fluent.values]
        pairs = list(zip(terms, columns, [*fluent.domains, fluent.value_domain], strict=True))
    return {t.name: (c[stands], d) for t, c, d in pairs if isinstance(t, Variable)}


def _entity_columns(entity: Event | Pair, context: Context) -> _Columns | None:
    """The columns of an input entity by the names of a grounding's variables."""
    if isinstance(entity, Event):
        table = context.events.get(entity.relation)
        if table is None:
            return None
        pairs = list(zip(entity.args, table.arguments, table.domains, strict=True))
    else:
        fluent = context.fluents.get(entity.relation)
        if fluent is None:
            return None
        terms = [*entity.args, entity.value]
        pairs = [(t, c, d) for t, (c, d) in zip(terms, fluent.columns(), strict=True)]
    return {t.name: (c, d) for t, c, d in pairs if isinstance(t, Variable)}
