"""The reference evaluator: what a program means, sections 1 to 7 of the semantics.

A run from S to E is a sequence of queries. Without a window there is one, at E, that sees all.
With a window ω and a step there are queries at S+step, S+2·step, ..., and one at E.

A query at q evaluates the points of `(w, q]`, w = max(S, q-ω), anew, from the records of those
points that have arrived. What was derived at points up to w stands: initiations, terminations
and happenings as they are, and fluents at those points. So a simple fluent that holds across w
keeps its start and ends where the window ends it; a delayed effect whose cause lies before w
takes place behind it; an interval operator sees a maximal interval that reaches behind w with
its whole length, and forgets those that do not. Where windows leave a gap, the points in it
are evaluated without any records: delayed effects take place there at their own time. The first
window may begin after S; what holds initially holds from S+tau all the same.

The answer joined over the run therefore says of each point what the last query with that point
in its window said of it, and its intervals are the maximal ones of these points. The answer at
a query is the same, as of that query: all that stands then, not only what is in the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import filterfalse

from cernis.syntax import show
from cernis.syntax.tree import Item, Term

from .intervals import INF, Intervals
from .memory import Window, match_retractions, memory_at, sort_records
from .phrases import is_made_up
from .program import Program, fluent_of, read_program
from .query import run_query
from .records import Record, Records, SetAside
from .state import State

Closed = tuple[int, int | None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run a program; None leaves it to the program, or to the input.

    `tick`, `ties` and `dialect` override the program's directives. By default the run starts one
    tick before the first occurrence and ends with the last occurrence or arrival; a retraction of
    nothing does not count for that. A window without a step has steps of its own size, a step
    without a window sees everything so far.
    """

    tick: int | None = None
    ties: str | None = None
    start: int | None = None
    end: int | None = None
    window: int | None = None
    step: int | None = None
    dialect: str | None = None


@dataclass(slots=True)
class Recognised:
    """When each derived fluent-value pair held, and when each derived event happened.

    Intervals are `(start, end)`, half-open, with None for an open end. Input is not repeated.
    """

    intervals: dict[Term, list[Closed]] = field(default_factory=dict)
    events: dict[Term, list[int]] = field(default_factory=dict)

    def text(self) -> str:
        """One sorted line a pair and an event, each ended by a line break."""
        lines = [
            f"holdsFor({show(pair)}, [{','.join(_show(one) for one in intervals)}])."
            for pair, intervals in self.intervals.items()
        ]
        lines += [
            f"happensAt({show(event)}, [{','.join(map(str, points))}])."
            for event, points in self.events.items()
        ]
        return "".join(line + "\n" for line in sorted(lines))


@dataclass(slots=True)
class Answer(Recognised):
    """The answer joined over the run, and the answers as of each query.

    `too_late`, `outside` (before the run, behind it, or arrived after it), `unmatched`
    (retractions of nothing) and `set_aside` (unreadable) are the records that did not count.
    `conflicts` are the points at which two values of a fluent were initiated together.
    """

    queries: list[tuple[int, Recognised]] = field(default_factory=list)
    too_late: list[Record] = field(default_factory=list)
    outside: list[Record] = field(default_factory=list)
    unmatched: list[Record] = field(default_factory=list)
    set_aside: list[SetAside] = field(default_factory=list)
    conflicts: list[tuple[Term, int]] = field(default_factory=list)

    def per_query_text(self) -> str:
        """The text as of each query, each after a line `% query q`."""
        return "".join(f"% query {time}\n{found.text()}" for time, found in self.queries)


def evaluate(items: Sequence[Item], records: Records, settings: Settings | None = None) -> Answer:
    """Run a program on records."""
    settings = settings or Settings()
    program = read_program(items)
    program.tick = settings.tick or program.tick
    program.ties = settings.ties or program.ties
    program.dialect = settings.dialect or program.dialect
    start, _ = run_bounds(records.records, settings, program.tick)
    windows = query_windows(records.records, settings, program.tick)
    told_apart = sort_records(records.records, start, windows, program.tick)
    answer = Answer(
        too_late=told_apart.too_late,
        outside=told_apart.outside,
        unmatched=told_apart.unmatched,
        set_aside=records.set_aside,
    )
    state = State()
    previous = start
    for window in windows:
        memory = memory_at(told_apart.counted, window, program.tick)
        edge = min(window.forgotten, previous)
        from_start = edge <= start
        # Before the window has moved nothing is settled, what holds initially neither.
        state = State() if from_start else state
        run_query(program, memory, state, window, edge, start, from_start)
        answer.queries.append((window.query, _recognised(state)))
        previous = window.query
    last = answer.queries[-1][1]
    answer.intervals, answer.events = last.intervals, last.events
    answer.conflicts = _conflicts(program, state)
    return answer


def query_windows(records: Sequence[Record], settings: Settings, tick: int) -> list[Window]:
    """The queries of a run, in order; at least one."""
    start, end = run_bounds(records, settings, tick)
    step = settings.step or settings.window or end - start
    times = list(range(start + step, end, step)) if step > 0 else []
    window = settings.window or end - start
    return [Window(max(start, time - window), time) for time in [*times, end]]


def run_bounds(records: Sequence[Record], settings: Settings, tick: int) -> tuple[int, int]:
    """The start and the end of a run."""
    start, end = settings.start, settings.end
    records, _ = match_retractions(records)
    if start is None:
        start = min((record.start for record in records), default=tick) - tick
    if end is None:
        points = [int(record.last(tick)) for record in records if record.last(tick) != INF]
        points += [max(record.start, record.arrival) for record in records]
        end = max(points, default=start)
    return start, max(start, end)


def _recognised(state: State) -> Recognised:
    result = Recognised()
    for pair, intervals in [*state.simple.items(), *state.static.items()]:
        if intervals and not is_made_up(pair):
            result.intervals[pair] = _closed(intervals)
    for point in sorted(state.happened):
        for event in filterfalse(is_made_up, state.happened[point]):
            result.events.setdefault(event, []).append(point)
    return result


def _closed(intervals: Intervals) -> list[Closed]:
    return [(start, None if end == INF else int(end)) for start, end in intervals]


def _show(interval: Closed) -> str:
    return f"({interval[0]},{'inf' if interval[1] is None else interval[1]})"


def _conflicts(program: Program, state: State) -> list[tuple[Term, int]]:
    """Under the tie rule `break` these leave the fluent without a value."""
    found = []
    for point, pairs in sorted(state.initiated.items()):
        fluents = [fluent_of(pair) for pair in pairs]
        together = {fluent for fluent in fluents if fluents.count(fluent) > 1}
        found += [(fluent, point) for fluent in sorted(together, key=show)]
    return found
