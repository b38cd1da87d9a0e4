"""Event patterns under uncertainty, in every possible world.

A pattern is matched against the happenings of a world: the records that are true in it, and the
derived events, starts and ends that follow from them at each point. So an occurrence has the
probability of the worlds that it occurs in; a record is one fact for all matches that it is in.

The intervals of a fluent are its credible ones: those of its course over the whole run.

What happened up to the edge of a window is kept as independent facts: records with their
probability, each a fact as before, everything else with the probability that it had.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cernis.syntax.tree import (
    Compound,
    EventAtom,
    Item,
    Number,
    PatternRule,
    Term,
    functor,
)

from .credible import maximal_intervals, most_credible
from .patterns import Consumption, Interval, Key, compact, consumption_of, occurrences, parts
from .terms import Renamer, is_ground, substitute, unify

if TYPE_CHECKING:
    from .uncertain import Fact, Record, Run

Occurrence = tuple[Term, Interval]


@dataclass(frozen=True, slots=True)
class Kept:
    """What occurred up to the edge of a window, if it did."""

    chance: float
    event: Term
    interval: Interval


@dataclass(slots=True)
class Patterns:
    """The rules of a program that have patterns, in a run."""

    rules: list[PatternRule]
    consumption: Consumption
    run: Run
    kept: list[Kept] = field(default_factory=list)
    intervals: dict[Term, list[Interval]] = field(default_factory=dict)
    """The credible intervals of fluents that have ended, by their first and last points."""
    threshold: float = 0.5

    @staticmethod
    def of(items: Sequence[Item], run: Run) -> Patterns:
        """The patterns of a program."""
        rules = [item for item in items if isinstance(item, PatternRule)]
        return Patterns(rules, consumption_of(items), run)

    def behind(self, key: Key) -> list[PatternRule]:
        """The rules of a head, and of the heads that their patterns are made of."""
        found: list[PatternRule] = []
        todo = [key]
        while todo:
            asked = todo.pop()
            new = [r for r in self.rules if functor(r.head) == asked and r not in found]
            found += new
            todo += [functor(atom) for atom in self.atoms(new)]
        return found

    def atoms(self, rules: Iterable[PatternRule]) -> list[Term]:
        """The events that patterns are made of."""
        return [term for term in atoms_of(rules) if functor(term) != ("=", 2)]

    @property
    def fluents(self) -> list[Term]:
        """The fluents whose intervals patterns are made of."""
        return [term for term in atoms_of(self.rules) if functor(term) == ("=", 2)]

    def sees_intervals(self, courses: Mapping[Term, Mapping[int, float]]) -> bool:
        """Note the credible intervals of the fluents in patterns; are they not as before?"""
        wanted = [Renamer("any").anonymous(term) for term in self.fluents]
        before, self.intervals = self.intervals, {}
        for pair, course in courses.items():
            if any(unify(term, pair, {}) is not None for term in wanted):
                self.intervals[pair] = ended(course, self.threshold)
        return self.intervals != before

    def occurring(self, goal: Term) -> Iterator[Term]:
        """The heads that occur now in the world, as answers to what a rule asks for."""
        assert isinstance(goal, Compound)
        asked = goal.args[0]
        rules = self.behind(functor(asked))
        ending = self.ending(rules) if rules else ()
        for event, _ in sorted(ending, key=lambda each: compact(each[0])):
            if unify(asked, event, {}) is not None:
                yield Compound(goal.functor, (event, Number(self.run.now)))

    def ending(self, rules: Sequence[PatternRule]) -> frozenset[Occurrence]:
        """What occurs by some rules and ends now, in the world."""
        now, edge = self.run.now, self.run.clock.start
        found = occurrences(
            rules, self._happened(rules), self.run.solver, self.consumption, now, edge
        )
        return frozenset(
            (event, each) for event, own in found.items() for each in own if each[1] == now
        )

    def _happened(self, rules: Sequence[PatternRule]) -> dict[Term, list[Interval]]:
        """What happened up to now in the world, of all that patterns are made of but heads."""
        run, heads = self.run, {functor(rule.head) for rule in rules}
        atoms = [atom for atom in self.atoms(rules) if functor(atom) not in heads]
        found: dict[Term, list[Interval]] = defaultdict(list)
        for number, each in enumerate(self.kept):
            if run._true(("kept", (0, number)), each.chance):
                found[each.event].append(each.interval)
        now, carried = run.now, run.carried
        try:
            for time in [time for time in run.clock if run.clock.start < time <= now]:
                if time < now:
                    run.now, run.carried = time, run.carried_to[time]
                else:
                    run.now, run.carried = now, carried
                for event in (event for atom in atoms for event in happening(run, atom)):
                    found[event].append((time, time))
        finally:
            run.now, run.carried = now, carried
        for pair, held in self.intervals.items():
            found[pair] += [(start, end) for start, end in held if end <= now]
        return {event: list(dict.fromkeys(own)) for event, own in found.items()}

    def made_of(self, points: Iterable[int]) -> list[Kept]:
        """What occurred at some points of all that patterns are made of: records one by one."""
        found = []
        for now in points:
            self.run.now, self.run.carried = now, self.run.carried_to[now]
            records = self.run.records.get(now, ())
            found += [Kept(chance, event, (now, now)) for chance, event, _ in records]
            recorded = {functor(event) for _, event, _ in records}
            for atom in self.atoms(self.rules):
                if functor(atom) not in recorded:
                    found += self._derived(atom, now)
        return found

    def _derived(self, atom: Term, now: int) -> list[Kept]:
        """What occurred by rules, which counts as one fact from then on."""
        from .uncertain import worlds

        def question(world: Mapping[Fact, bool]) -> frozenset[Occurrence]:
            self.run.world = world
            rules = self.behind(functor(atom))
            if rules:
                found = self.ending(rules)
                return frozenset(each for each in found if unify(atom, each[0], {}) is not None)
            return frozenset((event, (now, now)) for event in happening(self.run, atom))

        chances: dict[Occurrence, float] = defaultdict(float)
        for weight, occurred in worlds(question, self.run._chances(self.run.carried)):
            for each in occurred:
                chances[each] += weight
        return [Kept(chance, event, interval) for (event, interval), chance in chances.items()]


def atoms_of(rules: Iterable[PatternRule]) -> list[Term]:
    """The events, and the fluents whose intervals, patterns are made of."""
    atoms = (part for rule in rules for part in parts(rule.pattern))
    return list(dict.fromkeys(atom.term for atom in atoms if isinstance(atom, EventAtom)))


def ended(course: Mapping[int, float], threshold: float) -> list[Interval]:
    """The credible intervals of a course, but for one that reaches its last point."""
    points, series = sorted(course), [course[point] for point in sorted(course)]
    best = most_credible(maximal_intervals(series, threshold), series)
    return [(points[start - 1], points[end - 1]) for start, end in best if end < len(series)]


def happening(run: Run, asked: Term) -> list[Term]:
    """What happens now in the world, of the events that a term stands for."""
    asked = Renamer("any").anonymous(asked)
    goal = Compound("happensAt", (asked, Number(run.now)))
    found = {substitute(asked, env) for env in run.solver.solve([goal], {})}
    return sorted(filter(is_ground, found), key=compact)


def chances_at(run: Run, now: int) -> dict[Occurrence, float]:
    """The probability of each occurrence that ends at a point, whose pairs are carried to it."""
    from .uncertain import worlds

    assert run.patterns is not None
    run.now, run.carried = now, run.carried_to[now]
    patterns = run.patterns

    def question(world: Mapping[Fact, bool]) -> frozenset[Occurrence]:
        run.world = world
        heads = {functor(rule.head) for rule in patterns.rules}
        return frozenset().union(*(patterns.ending(patterns.behind(key)) for key in heads))

    found: dict[Occurrence, float] = defaultdict(float)
    for weight, ending in worlds(question, run._chances(run.carried)):
        for occurrence in ending:
            found[occurrence] += weight
    return found


def occurrence_probabilities(
    items: Sequence[Item], records: Iterable[Record], ties: str | None = None
) -> dict[Term, dict[Interval, float]]:
    """The probability of each occurrence of each pattern, over all records."""
    from .uncertain import Run, _carry, _directive

    given = list(records)
    times = [time for _, _, time in given]
    clock = range(min(times, default=0) - 1, max(times, default=0) + 1)
    ties = ties or _directive(items, "ties") or "initiation"
    run = Run.prepare(items, given, clock, ties)
    _carry(run)
    result: dict[Term, dict[Interval, float]] = defaultdict(dict)
    for now in clock[1:]:
        for (event, interval), chance in chances_at(run, now).items():
            result[event][interval] = chance
    return result
