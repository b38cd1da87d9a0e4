"""Uncertain records window by window, by the definition and point by point.

At a query q the records of `(q - window, q]` count that have arrived and were not taken back. With
w = q - window, or the start of the run if that is later, the probability of a pair

- at points up to w + tick is what the query before said of them; at the first query, what holds
  initially;
- at later points, up to q + tick, follows point by point from the records of the window. A
  statically determined fluent follows so at w + tick, too: from its parts at that point.

What patterns are made of and occurred up to w is kept as the query before saw it, as independent
facts. An occurrence of a pattern up to w is what the query before said of it. Fluents with delayed
effects go on from their states at w + tick.

The intervals as of q are those of this course, from start + tick to q + tick: the most credible of
its maximal intervals, or, in bounded memory, of those found online point by point.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cernis.syntax.tree import Item, Term

from .credible import (
    Durations,
    Interval,
    joined,
    maximal_intervals,
    mean,
    most_credible,
    online,
    reported,
)
from .uncertain import Lasting, Record, Run
from .uncertain_delays import State
from .uncertain_patterns import Kept, Occurrence, chances_at

Course = dict[int, float]


@dataclass(frozen=True, slots=True)
class Told:
    """A record, when it arrived, and when it was taken back."""

    record: Record
    arrival: int
    gone: int | None = None

    def counts(self, edge: int, query: int) -> bool:
        """Does a query see it?"""
        time = self.record[2]
        is_there = self.arrival <= query and (self.gone is None or self.gone > query)
        return edge < time <= query and is_there


@dataclass(slots=True)
class Windows:
    """A program, and what its queries have said so far."""

    items: Sequence[Item]
    records: Sequence[Told]
    window: int
    start: int
    tick: int = 1
    ties: str = "initiation"
    courses: dict[Term, Course] = field(default_factory=dict)
    last: int | None = None
    occurrences: dict[Occurrence, float] = field(default_factory=dict)
    kept: list[Kept] = field(default_factory=list)
    seen: list[Kept] = field(default_factory=list)
    states: dict[int, dict[Term, dict[State, float]]] = field(default_factory=dict)
    lasting: Sequence[Lasting] = ()
    """Records on intervals, which arrive at their start."""

    def query(self, time: int) -> None:
        """Bring the courses up to a query."""
        edge = max(self.start, time - self.window)
        seen = [own.record for own in self.records if own.counts(edge, time)]
        lasting = [
            (chance, what, max(start, edge + self.tick), end)
            for chance, what, start, end in self.lasting
            if start <= time and end > edge + self.tick
        ]
        clock = range(edge, time + 1, self.tick)
        run = Run.prepare(self.items, seen, clock, self.ties, lasting)
        if run.patterns is not None:
            if run.patterns.fluents:
                raise NotImplementedError("intervals in patterns, window by window")
            self.kept += [each for each in self.seen if each.interval[1] <= edge]
            run.patterns.kept = self.kept
        carried = self._first(run, edge) if self.last is None else self._at(edge + self.tick)
        points = range(edge + self.tick, time + 2 * self.tick, self.tick)
        if run.delays is not None and self.last is None:
            self.states[points[0]] = dict(run.delays.states)
        while True:
            found = self._points(run, carried, points)
            if not run.sees_more(found):
                break
        for course in self.courses.values():
            for point in [point for point in course if point > edge + self.tick]:
                del course[point]
        for now in points:
            for pair in {*found, *self.courses}:
                chance = found.get(pair, {}).get(now, 0.0)
                self.courses.setdefault(pair, {})[now] = chance
        self.last = time
        if run.patterns is not None:
            self.seen = run.patterns.made_of(run.clock[1:])
            self.occurrences = {e: p for e, p in self.occurrences.items() if e[1][1] <= edge}
            for now in run.clock[1:]:
                self.occurrences |= chances_at(run, now)

    def _points(self, run: Run, carried: Mapping[Term, float], points: range) -> dict[Term, Course]:
        """The probabilities of all pairs at the points of the window, from those at the first."""
        found: dict[Term, Course] = {}
        if run.delays is not None:
            run.delays.states = dict(self.states[points[0]])
        for now in points:
            if now > points[0]:
                carried = run.next_point(now - self.tick, carried)
            if run.delays is not None:
                self.states[now] = dict(run.delays.states)
            carried = {pair: p for pair, p in carried.items() if not run.is_static(pair)}
            for pair, chance in {**carried, **run.statics(now, carried)}.items():
                found.setdefault(pair, {})[now] = chance
        return found

    def _first(self, run: Run, edge: int) -> dict[Term, float]:
        """What holds initially, from the start of the run on."""
        carried = run.initially()
        points = range(self.start + self.tick, edge + self.tick, self.tick)
        self.courses = {pair: dict.fromkeys(points, chance) for pair, chance in carried.items()}
        return carried

    def _at(self, time: int) -> dict[Term, float]:
        """What the last query said of a point; behind its last one all goes on as it is."""
        found = {}
        for pair, course in self.courses.items():
            known = [point for point in course if point <= time]
            if known:
                found[pair] = course[max(known)]
        return {pair: chance for pair, chance in found.items() if chance > 0}

    def series(self, pair: Term) -> list[float]:
        """The course of a pair at all points, a gap between windows as what was before it."""
        assert self.last is not None
        course, found = self.courses[pair], []
        for time in range(self.start + self.tick, self.last + 2 * self.tick, self.tick):
            before = found[-1] if found else 0.0
            found.append(course.get(time, before))
        return found

    def intervals(
        self, pair: Term, threshold: float, limit: int | None = None
    ) -> list[tuple[int, int | None, float]]:
        """Start, end and mean of the most credible intervals; what reaches the last is open."""
        series = self.series(pair)
        found = likely(series, threshold, limit)
        first = self.start + self.tick
        return [
            (
                first + self.tick * (start - 1),
                None if end == len(series) else first + self.tick * end,
                float(mean(series, (start, end))),
            )
            for start, end in most_credible(found, series)
        ]


def likely(
    series: Sequence[float], threshold: float, limit: int | None = None,
    durations: Durations | None = None,
) -> list[Interval]:  # fmt: skip
    """The maximal intervals of a series, or those found in bounded memory."""
    if limit is None:
        return maximal_intervals(series, threshold)
    points = [[chance] for chance in series]
    return joined(reported(online(points, threshold, limit=limit, durations=durations)))


def folded(feeds: Iterable[Sequence[Mapping[str, object]]]) -> set[tuple[object, ...]]:
    """What a feed comes to; to delete what is not there, or to insert it twice, is an error."""
    found: set[tuple[object, ...]] = set()
    for rows in feeds:
        for row in rows:
            key = tuple(
                tuple(row[name]) if name == "args" else row[name]  # type: ignore[arg-type]
                for name in ("fluent", "args", "value", "start", "end", "probability")
            )
            if row["change"] == "delete":
                found.remove(key)
            else:
                assert key not in found, key
                found.add(key)
    return found
