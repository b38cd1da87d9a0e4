"""Event patterns by their definition: every occurrence, by enumeration.

An occurrence of a ground event is a closed interval; an event has each of its occurrences once.
A match of a pattern is an interval with values for the pattern's variables. The matches of a
pattern follow from those of its parts; `OPERATORS` is the table of the operators.

The meaning of a program is found one end-point after the other: what ends at q is derived from
what ends at q or before, until nothing new ends at q. Absence asks for what ended before q only,
so it is settled when it is asked for.

The policies `recent` and `chronological` select among the matches that could be combined, so the
order in which occurrences come matters. Each `op` and each `not(..)[..]` of a rule is a step with
two inputs. Matches reach a step in the order of their end, then start, then left before right,
then standard order of their values, variables in the order in which the pattern first has them
(one without a value comes behind all values). A new match is combined with matches that reached
the other input before it:

- unrestricted: with each that fits, and all stay;
- recent: with the fitting one of latest end, of those the one of latest start; all stay;
- chronological: with the fitting one of earliest start, of those the one of earliest end; both
  are used up, in this step of this rule only.

A preference decides in place of the second: `longer` for the earliest start or the latest end,
`greatest(V)` and `least(V)` by the value of V in the standard order. Where a match has no V, it
comes behind those that have one.

What is left of a tie goes to the match that came last (recent) or first (chronological). To fit
means: variables agree, the operator's relation holds, and so do the `where` and `within` that are
written around just this step. A `within` counts for each part of its pattern too, since a part is
never longer than the whole. The absent part of `not` is never used up: it is asked for by
definition among all that occurred. At one end-point a rule comes after the rules it builds upon,
when these have nothing more to give.

Rules may build upon themselves, directly or through others, by any operator. A step of such a
recursion counts only where its interval is longer than that of the occurrence it builds upon.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from cernis.errors import KnowledgeError, ProgramError, UnsupportedError
from cernis.syntax import parse, show
from cernis.syntax.tree import (
    Absence,
    Atom,
    Binary,
    Clause,
    Compound,
    Directive,
    Duration,
    EventAtom,
    Item,
    Number,
    Pattern,
    PatternRule,
    Term,
    TimePoint,
    Variable,
    Where,
    Within,
    functor,
    variables,
)
from cernis.syntax.tree import Sequence as TermList

from .arithmetic import BINARY, COMPARISONS, INFINITE, UNARY, with_constants
from .calendar import is_clock, timed
from .load import rules_of
from .records import read_field
from .solve import NoValue, Solver, evaluate
from .terms import Renamer, is_ground, order_key, substitute, unify
from .validity import END, timely

Time = int | float
Interval = tuple[Time, Time]
Key = tuple[str, int]
Events = Mapping[Term, Collection[Interval]]

ROUNDS = 200
"""More rounds than this at one end-point are taken for a recursion without end."""

POLICIES = ("unrestricted", "recent", "chronological")

OPERATORS: Mapping[str, Callable[[Interval, Interval], Interval | None]] = {
    "seq": lambda p, q: (p[0], q[1]) if p[1] < q[0] else None,
    "and": lambda p, q: (min(p[0], q[0]), max(p[1], q[1])),
    "par": lambda p, q: (
        (min(p[0], q[0]), max(p[1], q[1])) if max(p[0], q[0]) < min(p[1], q[1]) else None
    ),
    "equals": lambda p, q: p if p == q else None,
    "meets": lambda p, q: (p[0], q[1]) if p[1] == q[0] else None,
    "during": lambda p, q: q if q[0] < p[0] and p[1] < q[1] else None,
    "starts": lambda p, q: (p[0], q[1]) if p[0] == q[0] and p[1] < q[1] else None,
    "finishes": lambda p, q: q if p[1] == q[1] and q[0] < p[0] else None,
}
"""From `[a,b]` of the left and `[c,d]` of the right to the occurrence, or None. `or` is apart."""

FUNCTIONS = {(name, 1) for name in UNARY} | {(name, 2) for name in BINARY}


class Policy(NamedTuple):
    """A policy, and what it prefers: `longer`, `shorter`, `greatest` or `least` of a variable."""

    name: str = "unrestricted"
    prefers: str = "shorter"
    variable: str = ""

    def preference(self, match: Match) -> tuple[object, ...]:
        """Something that is greater the more a match is preferred to others of one end or start."""
        if self.prefers in ("longer", "shorter"):
            own = length(match.interval)
            return (own if self.prefers == "longer" else -own,)
        value = match.env.get(self.variable)
        if value is None:
            return (0,)
        key = order_key(value)
        return (1, key if self.prefers == "greatest" else Backwards(key))


@dataclass(frozen=True, slots=True)
class Backwards:
    """A key that compares the other way round."""

    key: Any

    def __lt__(self, other: Backwards) -> bool:
        return bool(other.key < self.key)


@dataclass(frozen=True, slots=True)
class Consumption:
    """The policy of a program, and those of single heads that have another."""

    program: Policy = field(default_factory=lambda: Policy())
    heads: Mapping[Key, Policy] = field(default_factory=dict)

    def of(self, rule: PatternRule) -> Policy:
        """The policy of a rule."""
        return self.heads.get(functor(rule.head), self.program)


@dataclass(frozen=True, slots=True)
class Match:
    """An interval, and values of variables sorted by name."""

    values: tuple[tuple[str, Term], ...]
    interval: Interval

    @staticmethod
    def of(env: Mapping[str, Term], interval: Interval) -> Match:
        """The match with the values of an environment."""
        return Match(tuple(sorted(env.items(), key=lambda pair: pair[0])), interval)

    @property
    def env(self) -> dict[str, Term]:
        """The values as an environment."""
        return dict(self.values)


def occurrences(
    rules: Sequence[PatternRule],
    events: Events,
    solver: Solver,
    consumption: Consumption | str = "unrestricted",
    until: Time | None = None,
    since: Time | None = None,
) -> dict[Term, list[Interval]]:
    """The occurrences of each event that has a rule, sorted by start, then end.

    `events` gives the occurrences of ground input events; for a fluent in a pattern, its closed
    intervals under `F=V`. What would end after `until` has not occurred; None is no bound. What
    ends up to `since` is not derived again. Events without an occurrence are absent.
    """
    policy = (
        consumption if isinstance(consumption, Consumption) else Consumption(Policy(consumption))
    )
    known = {event: {(s, e) for s, e in given} for event, given in events.items()}
    meaning = Meaning(known, solver)
    rules = [_with_own_variables(rule) for rule in rules]
    meaning.steps = _steps(rules)
    ends = [
        end
        for end in _end_points(rules, known)
        if (until is None or end <= until) and (since is None or end > since)
    ]
    if all(policy.of(rule).name == "unrestricted" for rule in rules):
        _enumerate(rules, meaning, ends)
    else:
        _step_by_step(rules, meaning, ends, policy)
    heads = {functor(rule.head) for rule in rules}
    found = {
        event: sorted(interval for interval in intervals if interval[1] in ends)
        for event, intervals in meaning.known.items()
        if functor(event) in heads
    }
    return {event: intervals for event, intervals in found.items() if intervals}


def _end_points(rules: Sequence[PatternRule], known: Mapping[Term, set[Interval]]) -> list[Time]:
    """Where an occurrence can end: no operator makes an end that none of its parts has."""
    ends: set[Time] = {end for intervals in known.values() for _, end in intervals}
    for rule in rules:
        ends.update(part.value for part in parts(rule.pattern) if isinstance(part, TimePoint))
    return sorted(ends)


def _enumerate(rules: Sequence[PatternRule], meaning: Meaning, ends: Iterable[Time]) -> None:
    for end in ends:
        growing = True
        rounds = _rounds()
        while growing and next(rounds):
            growing = False
            for rule in rules:
                for match in meaning.matches(rule.pattern, {}):
                    if match.interval[1] == end and meaning.add(rule, match) is not None:
                        growing = True


def _rounds() -> Iterator[int]:
    """Numbers of the rounds at one end-point; where steps extend the interval there are few."""
    yield from range(1, ROUNDS + 1)
    raise KnowledgeError("<-", "the recursion has no end in sight")


@dataclass(slots=True)
class Meaning:
    """What is known to have occurred, and what patterns match in it."""

    known: dict[Term, set[Interval]]
    solver: Solver
    steps: dict[int, str] = field(default_factory=dict)
    """The event atoms, by identity, that a step of a recursion has to extend, and a name for the
    interval of each in the values of matches."""

    def matches(self, pattern: Pattern, env: Mapping[str, Term]) -> set[Match]:
        """The matches of a pattern that agree with the values of `env`."""
        if isinstance(pattern, EventAtom):
            return set(self.occurring(pattern, self.known, env))
        if isinstance(pattern, TimePoint):
            return {Match.of(env, (pattern.value, pattern.value))}
        if is_aggregate(pattern):
            return self._aggregated(pattern, env)
        if isinstance(pattern, Where | Within):
            inner = self.matches(pattern.pattern, env)
            return {fine for match in inner for fine in self.refined(pattern, match)}
        if isinstance(pattern, Binary) and pattern.operator == "or":
            return self.matches(pattern.left, env) | self.matches(pattern.right, env)
        first, second = inputs(pattern)
        rights = self.matches(second, env)
        return {
            match
            for left in self.matches(first, env)
            for right in rights
            for match in self.combined(pattern, left, right)
        }

    def occurring(
        self, pattern: EventAtom, events: Events, env: Mapping[str, Term]
    ) -> Iterator[Match]:
        """The occurrences of events that an event atom stands for."""
        name = self.steps.get(id(pattern))
        for match in matching(pattern.term, events, env):
            if name is not None:
                interval = Compound("step", tuple(Number(time) for time in match.interval))
                match = Match.of({**match.env, name: interval}, match.interval)
            yield match

    def _aggregated(self, pattern: Where, env: Mapping[str, Term]) -> set[Match]:
        """Matches with their aggregates: windows are over all matches, whatever `env` says."""
        inner = sorted(
            self.matches(pattern.pattern, {}),
            key=lambda match: _arrival_order(match, 0, names_of(pattern.pattern)),
        )
        found = set()
        for at in range(len(inner)):
            for match in self.aggregate(pattern, inner[: at + 1]):
                if all(match.env.get(name, value) == value for name, value in env.items()):
                    found.add(Match.of({**env, **match.env}, match.interval))
        return found

    def aggregate(self, pattern: Where, so_far: Sequence[Match]) -> Iterator[Match]:
        """The last of some matches with the aggregates of its windows, if conditions leave it."""
        last = so_far[-1]
        env = last.env
        for goal in filter(is_aggregate_goal, pattern.conditions):
            env[goal.args[0].name] = Number(window_value(goal.args[1], so_far, self.solver))
        rest = tuple(goal for goal in pattern.conditions if not is_aggregate_goal(goal))
        for further in self._at_end(rest, env, last.interval):
            yield Match.of(further, last.interval)

    def combined(self, pattern: Binary | Absence, left: Match, right: Match) -> Iterator[Match]:
        """The match of a two-input pattern made of two matches: one or none."""
        operator = pattern.operator if isinstance(pattern, Binary) else "seq"
        interval = OPERATORS[operator](left.interval, right.interval)
        shared = left.env.keys() & right.env.keys()
        if interval is None or any(left.env[name] != right.env[name] for name in shared):
            return
        env = {**left.env, **right.env}
        gap = (left.interval[1], right.interval[0])
        if isinstance(pattern, Binary) or not self._occurs_inside(pattern.absent, gap, env):
            yield Match.of(env, interval)

    def _occurs_inside(self, pattern: Pattern, gap: Interval, env: Mapping[str, Term]) -> bool:
        found = (match.interval for match in self.matches(pattern, env))
        return any(gap[0] < start and end < gap[1] for start, end in found)

    def refined(self, pattern: Where | Within, match: Match) -> Iterator[Match]:
        """What `where` or `within` leaves of a match of its pattern."""
        if isinstance(pattern, Where):
            for env in self._at_end(pattern.conditions, match.env, match.interval):
                yield Match.of(env, match.interval)
        elif length(match.interval) <= evaluate(pattern.duration, match.env):
            yield match

    def _at_end(
        self, conditions: Sequence[Term], env: dict[str, Term], interval: Interval
    ) -> Iterator[dict[str, Term]]:
        """The values for which conditions are true, which may ask when the match ends."""
        conditions = [_with_times(condition, interval, env) for condition in conditions]
        for further in self._satisfying(conditions, {**env, END: Number(interval[1])}):
            yield {name: value for name, value in further.items() if name != END}

    def _satisfying(
        self, conditions: Sequence[Term], env: dict[str, Term]
    ) -> Iterator[dict[str, Term]]:
        if not conditions:
            yield env
            return
        try:
            condition = _computed_equations(substitute(with_constants(conditions[0]), env))
        except NoValue:
            return
        for further in self.solver.solve([condition], env):
            yield from self._satisfying(conditions[1:], further)

    def add(self, rule: PatternRule, match: Match) -> Term | None:
        """Let the rule's head occur; the head if that is new, else None."""
        if any(
            length(match.interval) <= _length_of(match.env[name])
            for name in self.steps.values()
            if name in match.env
        ):
            return None
        try:
            head = computed(substitute(with_constants(rule.head), match.env))
        except NoValue:
            return None
        if not is_ground(head):
            raise KnowledgeError(show(rule.head), "the pattern does not bind all variables")
        intervals = self.known.setdefault(head, set())
        if match.interval in intervals:
            return None
        intervals.add(match.interval)
        return head


def matching(term: Term, events: Events, env: Mapping[str, Term]) -> Iterator[Match]:
    """The occurrences of events that a term of a pattern stands for."""
    for event, intervals in events.items():
        values = unify(term, event, dict(env))
        if values is not None:
            yield from (Match.of(values, interval) for interval in intervals)


def _length_of(step: Term) -> Time:
    assert isinstance(step, Compound)
    start, end = (evaluate(time, {}) for time in step.args)
    return end - start


def _with_times(condition: Term, interval: Interval, env: Mapping[str, Term]) -> Term:
    """The condition with numbers for the `start` and `end` in its expressions.

    Where `=` gives a variable a value, that is an expression, too.
    """
    times = dict(zip(("start", "end"), map(Number, interval), strict=True))

    def value(term: Term) -> Term:
        return times.get(term.name, term) if isinstance(term, Atom) else inside(term)

    def inside(term: Term) -> Term:
        if not isinstance(term, Compound):
            return term
        numeric = functor(term) in FUNCTIONS or term.functor in {*COMPARISONS, "is"}
        numeric = numeric or is_clock(term.functor)
        if term.functor == "=":
            numeric = any(isinstance(a, Variable) and a.name not in env for a in term.args)
        return Compound(term.functor, tuple(map(value if numeric else inside, term.args)))

    return inside(condition)


def _steps(rules: Sequence[PatternRule]) -> dict[int, str]:
    """The event atoms that steps of recursions have to extend, by identity.

    An atom before or after a `seq`, or beside an absence, is always extended, and so it need not
    be listed. A rule that only gives an event another name is no step.
    """
    reachable = _reachable(rules)
    found: dict[int, str] = {}
    for rule in rules:
        for atom in _not_extended(rule.pattern):
            key = functor(atom.term)
            if key in reachable and functor(rule.head) in reachable[key]:
                found[id(atom)] = f"$step {len(found)}"
    return found


def _not_extended(pattern: Pattern, combined: bool = False) -> Iterator[EventAtom]:
    """The event atoms under operators that may leave their intervals as they are."""
    if isinstance(pattern, EventAtom) and combined:
        yield pattern
    elif isinstance(pattern, Where | Within):
        yield from _not_extended(pattern.pattern, combined)
    elif isinstance(pattern, Binary) and pattern.operator != "seq":
        for part in inputs(pattern):
            yield from _not_extended(part, combined or pattern.operator != "or")


def length(interval: Interval) -> Time:
    """End minus start: 0 for a point."""
    return interval[1] - interval[0]


def inputs(pattern: Binary | Absence) -> tuple[Pattern, Pattern]:
    """The two parts whose occurrences are combined."""
    if isinstance(pattern, Binary):
        return pattern.left, pattern.right
    return pattern.first, pattern.last


def parts(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and all below it."""
    yield pattern
    if isinstance(pattern, Where | Within):
        yield from parts(pattern.pattern)
    elif isinstance(pattern, Binary | Absence):
        if isinstance(pattern, Absence):
            yield from parts(pattern.absent)
        for part in inputs(pattern):
            yield from parts(part)


def computed(term: Term) -> Term:
    """The term with each arithmetic expression over numbers in it replaced by its value.

    An atom alone is no expression: `e` stays `e`, but `2*e` is a number. Raises NoValue where an
    expression has none.
    """
    if isinstance(term, Compound):
        args = tuple(computed(arg) for arg in term.args)
        if functor(term) in FUNCTIONS and all(_is_numeric(arg) for arg in args):
            return Number(evaluate(Compound(term.functor, args), {}))
        return Compound(term.functor, args)
    if isinstance(term, TermList):
        return TermList(tuple(computed(item) for item in term.items), term.tail)
    return term


def _is_numeric(term: Term) -> bool:
    infinite = isinstance(term, Atom) and term.name in INFINITE
    return infinite or isinstance(term, Number | Duration)


def _computed_equations(condition: Term) -> Term:
    """The condition with both sides of every `=` and `\\=` computed."""
    if not isinstance(condition, Compound):
        return condition
    compute = computed if condition.functor in ("=", "\\=") else _computed_equations
    return Compound(condition.functor, tuple(compute(arg) for arg in condition.args))


def _with_own_variables(rule: PatternRule) -> PatternRule:
    """The rule with a name for each `_` of its event atoms, so that they tell events apart."""
    return PatternRule(rule.head, _renamed(rule.pattern, Renamer()))


def _renamed(pattern: Pattern, renamer: Renamer) -> Pattern:
    if isinstance(pattern, EventAtom):
        if isinstance(pattern.term, Variable):
            raise UnsupportedError("a variable cannot stand for an event")
        return EventAtom(renamer.anonymous(pattern.term))
    if isinstance(pattern, TimePoint):
        return pattern
    if isinstance(pattern, Where):
        inner = _renamed(pattern.pattern, renamer)
        bound, aggregates = set(names_of(inner)), list[Term]()
        rest = [_taken_out(goal, bound, aggregates) for goal in pattern.conditions]
        return replace(pattern, pattern=inner, conditions=(*aggregates, *rest))
    if isinstance(pattern, Within):
        return replace(pattern, pattern=_renamed(pattern.pattern, renamer))
    first, second = (_renamed(part, renamer) for part in inputs(pattern))
    if isinstance(pattern, Binary):
        return Binary(pattern.operator, first, second)
    return Absence(_renamed(pattern.absent, renamer), first, second)


def _taken_out(goal: Term, bound: set[str], aggregates: list[Term]) -> Term:
    """A condition with variables for the aggregates in it; what gives them values is entered.

    An aggregate that gives a new variable its value is one already.
    """
    if not isinstance(goal, Compound):
        return goal
    result = goal.args[0]
    if is_aggregate_goal(goal) and isinstance(result, Variable) and result.name not in bound:
        return Compound("=", goal.args)
    compared = any(map(_is_over_window, goal.args))
    name = {"=": "=:=", "is": "=:=", "\\=": "=\\="}.get(goal.functor) if compared else None
    args = []
    for arg in goal.args:
        if _is_over_window(arg):
            new = Variable(f"<{len(aggregates)} {show(arg)}>")
            aggregates.append(Compound("=", (new, arg)))
            args.append(new)
        else:
            args.append(_taken_out(arg, bound, aggregates))
    return Compound(name or goal.functor, tuple(args))


@dataclass(slots=True)
class Step:
    """A part of a rule that takes occurrences as they come, and gives its new matches.

    The pattern is an event, a time-point, `or`, or a two-input pattern; around it are `where` and
    `within`, innermost first, and a limit to its length.
    """

    pattern: Pattern
    policy: Policy
    limit: Time
    below: tuple[Step, ...] = ()
    around: list[Where | Within] = field(default_factory=list)
    came: tuple[list[Match], list[Match]] = field(default_factory=lambda: ([], []))
    gave: set[Match] = field(default_factory=set)

    @staticmethod
    def build(pattern: Pattern, policy: Policy, limit: Time) -> Step:
        """The steps of a pattern."""
        if is_aggregate(pattern):
            inner = Step.build(pattern.pattern, policy, float("inf"))
            return Step(pattern, policy, limit, (inner,))
        if isinstance(pattern, Where | Within):
            if isinstance(pattern, Within) and is_ground(pattern.duration):
                limit = min(limit, evaluate(pattern.duration, {}))
            step = Step.build(pattern.pattern, policy, limit)
            step.wrap(pattern)
            return step
        both = inputs(pattern) if isinstance(pattern, Binary | Absence) else ()
        below = tuple(Step.build(part, policy, limit) for part in both)
        return Step(pattern, policy, limit, below)

    @property
    def is_or(self) -> bool:
        """Is it an `or`, which has two inputs but combines nothing?"""
        return isinstance(self.pattern, Binary) and self.pattern.operator == "or"

    def wrap(self, pattern: Where | Within) -> None:
        """Put a `where` or `within` around; around an `or` is around both its parts."""
        for step in self.below if self.is_or else ():
            step.wrap(pattern)
        if not self.is_or:
            self.around.append(pattern)

    def take(self, events: Events, now: Time, meaning: Meaning) -> list[Match]:
        """The matches that new occurrences, all of them ending now, bring; each but once."""
        new = [match for match in self._brought(events, now, meaning) if match not in self.gave]
        self.gave.update(new)
        return list(dict.fromkeys(new))

    def _brought(self, events: Events, now: Time, meaning: Meaning) -> list[Match]:
        pattern = self.pattern
        if isinstance(pattern, EventAtom):
            return self._fitting(meaning.occurring(pattern, events, {}), meaning)
        if isinstance(pattern, TimePoint):
            at_now = {match for match in meaning.matches(pattern, {}) if match.interval[1] == now}
            return self._fitting(at_now, meaning)
        sides = [step.take(events, now, meaning) for step in self.below]
        if isinstance(pattern, Where):
            return self._fitting(self._slid(sides[0], meaning), meaning)
        if self.is_or:
            return sides[0] + sides[1]
        arrivals = sorted(
            ((match, side) for side in (0, 1) for match in sides[side]),
            key=lambda arrival: _arrival_order(*arrival, self.below[arrival[1]].names),
        )
        return [made for match, side in arrivals for made in self._arrive(match, side, meaning)]

    def _slid(self, new: list[Match], meaning: Meaning) -> Iterator[Match]:
        assert isinstance(self.pattern, Where)
        names = self.below[0].names
        for match in sorted(new, key=lambda match: _arrival_order(match, 0, names)):
            self.came[0].append(match)
            yield from meaning.aggregate(self.pattern, self.came[0])

    def _arrive(self, match: Match, side: int, meaning: Meaning) -> list[Match]:
        others = self.came[1 - side]
        made = {at: self._made(match, other, side, meaning) for at, other in enumerate(others)}
        chosen = _selected([at for at in made if made[at]], others, self.policy)
        if self.policy.name == "chronological" and chosen:
            del others[chosen[0]]
        else:
            self.came[side].append(match)
        return [result for at in chosen for result in made[at]]

    def _made(self, match: Match, other: Match, side: int, meaning: Meaning) -> list[Match]:
        assert isinstance(self.pattern, Binary | Absence)
        left, right = (match, other) if side == 0 else (other, match)
        return self._fitting(meaning.combined(self.pattern, left, right), meaning)

    def _fitting(self, matches: Iterable[Match], meaning: Meaning) -> list[Match]:
        fine = [match for match in matches if length(match.interval) <= self.limit]
        for pattern in self.around:
            fine = [kept for match in fine for kept in meaning.refined(pattern, match)]
        return sorted(fine, key=lambda match: _arrival_order(match, 0, self.names))

    @property
    def names(self) -> list[str]:
        """The variables of its matches, in the order in which they are first met."""
        own = names_of(self.pattern)
        for each in self.around:
            own += names_of(replace(each, pattern=self.pattern))
        return list(dict.fromkeys(own))


def names_of(pattern: Pattern) -> list[str]:
    """The variables of a pattern's matches, in the order in which they are first met."""
    if isinstance(pattern, EventAtom):
        return list(dict.fromkeys(variable.name for variable in variables(pattern.term)))
    if isinstance(pattern, TimePoint):
        return []
    if isinstance(pattern, Where | Within):
        own = names_of(pattern.pattern)
        conditions = pattern.conditions if isinstance(pattern, Where) else ()
        own += [variable.name for condition in conditions for variable in variables(condition)]
    else:
        own = [name for part in inputs(pattern) for name in names_of(part)]
    return list(dict.fromkeys(own))


def _arrival_order(match: Match, side: int, names: Sequence[str]) -> tuple[object, ...]:
    env = match.env
    values = tuple((0, order_key(env[name])) if name in env else (1, ()) for name in names)
    return (match.interval[1], match.interval[0], side, values)


def _selected(fitting: Sequence[int], others: Sequence[Match], policy: Policy) -> list[int]:
    """The places, among the matches that came before, of those to combine with.

    Of those that end together (recent) or start together (chronological), the one that is
    preferred most; of those, the latest start or the earliest end.
    """
    if policy.name == "unrestricted" or not fitting:
        return list(fitting)
    if policy.name == "recent":
        last = max(others[at].interval[1] for at in fitting)
        equal = [at for at in fitting if others[at].interval[1] == last]
    else:
        first = min(others[at].interval[0] for at in fitting)
        equal = [at for at in fitting if others[at].interval[0] == first]
    best = max(policy.preference(others[at]) for at in equal)
    equal = [at for at in equal if not policy.preference(others[at]) < best]
    if policy.name == "recent":
        return [max(equal, key=lambda at: (others[at].interval[0], at))]
    return [min(equal, key=lambda at: (others[at].interval[1], at))]


def _step_by_step(
    rules: Sequence[PatternRule], meaning: Meaning, ends: Sequence[Time], policy: Consumption
) -> None:
    given = meaning.known
    meaning.known = {}
    rank = _ranks(rules)
    ranked = sorted(rules, key=rank)
    steps = [(rule, Step.build(rule.pattern, policy.of(rule), float("inf"))) for rule in ranked]
    levels = sorted({rank(rule) for rule in rules})
    for end in ends:
        now = {event: {pair for pair in given[event] if pair[1] == end} for event in given}
        for event, intervals in now.items():
            meaning.known.setdefault(event, set()).update(intervals)
        waiting = [{event: set(found) for event, found in now.items()} for _ in steps]
        for level in levels:
            own = [at for at, (rule, _) in enumerate(steps) if rank(rule) == level]
            for _ in _rounds():
                _round(steps, own, waiting, end, meaning)
                if not any(any(waiting[at].values()) for at in own):
                    break


def _round(
    steps: Sequence[tuple[PatternRule, Step]],
    own: Sequence[int],
    waiting: list[dict[Term, set[Interval]]],
    end: Time,
    meaning: Meaning,
) -> None:
    """Each of some rules takes what waits for it; what it gives waits for all rules."""
    for at in own:
        rule, step = steps[at]
        taken, waiting[at] = waiting[at], {}
        for match in step.take(taken, end, meaning):
            head = meaning.add(rule, match)
            if head is not None:
                for queue in waiting:
                    queue.setdefault(head, set()).add(match.interval)


def _reachable(rules: Sequence[PatternRule]) -> dict[Key, set[Key]]:
    """What each event that has rules builds upon of those, directly and through others."""
    uses: dict[Key, set[Key]] = {functor(rule.head): set() for rule in rules}
    for rule in rules:
        atoms = (part for part in parts(rule.pattern) if isinstance(part, EventAtom))
        uses[functor(rule.head)] |= {functor(atom.term) for atom in atoms} & uses.keys()

    def from_key(key: Key) -> set[Key]:
        found: set[Key] = set()
        todo = [key]
        while todo:
            new = uses[todo.pop()] - found
            found |= new
            todo += new
        return found

    return {key: from_key(key) for key in uses}


def _ranks(rules: Sequence[PatternRule]) -> Callable[[PatternRule], int]:
    """Rank 0 for rules that build upon input only, else one more than what they build upon.

    Rules that build upon each other have the same rank.
    """
    reachable = _reachable(rules)

    def rank(key: Key) -> int:
        below = {other for other in reachable[key] if key not in reachable[other]}
        return 1 + max((rank(other) for other in below), default=-1)

    return lambda rule: rank(functor(rule.head))


AGGREGATES: Mapping[str, Callable[[list[Time]], Time]] = {
    "sum": sum,
    "count": len,
    "avg": lambda values: sum(values) / len(values),
    "min": min,
    "max": max,
}


def sliding(
    values: Sequence[tuple[Time, Time]],
    aggregate: str,
    *,
    last: int | None = None,
    span: Time | None = None,
) -> list[tuple[Time, Time]]:
    """An aggregate over a window that moves with each value: (time, aggregate), one a value.

    `values` are (time, value) in order. The window ends with the value itself. It holds the
    `last` values, fewer while there are no more; or those not older than `span`, as `within`
    has it: `t - time <= span`. Neither given: all values so far.
    """
    result = []
    for at, (time, _) in enumerate(values):
        seen = values[: at + 1]
        if last is not None:
            seen = seen[-last:]
        if span is not None:
            seen = [(then, value) for then, value in seen if time - then <= span]
        result.append((time, AGGREGATES[aggregate]([value for _, value in seen])))
    return result


def is_aggregate_goal(goal: Term) -> bool:
    """Is a condition `R = kind(..., Window)`, the window being `last(N)`, `past(D)` or `all`?"""
    return functor(goal) in (("=", 2), ("is", 2)) and _is_over_window(goal.args[1])


def _is_over_window(term: Term) -> bool:
    """Is it an aggregate, with a window as its last argument?"""
    windows = (("last", 1), ("past", 1), ("all", 0))
    return isinstance(term, Compound) and functor(term.args[-1]) in windows


def is_aggregate(pattern: Pattern) -> bool:
    """Is it a `where` with an aggregate?"""
    return isinstance(pattern, Where) and any(map(is_aggregate_goal, pattern.conditions))


def window_value(term: Compound, so_far: Sequence[Match], solver: Solver) -> Time:
    """The value of an aggregate over the window that ends with the last of some matches."""
    *args, window = term.args
    leading = {"count": 0, "fold": 2}.get(term.functor, 1)
    keys = args[leading:]
    last = so_far[-1]
    mine = [m for m in so_far if all(substitute(k, m.env) == substitute(k, last.env) for k in keys)]
    if functor(window) == ("last", 1):
        mine = mine[-window.args[0].value :]
    elif functor(window) == ("past", 1):
        mine = [m for m in mine if last.interval[1] - m.interval[1] <= evaluate(window.args[0], {})]
    values = [_value_in(m, args[leading - 1]) if leading else 1 for m in mine]
    if term.functor != "fold":
        return AGGREGATES[term.functor](values)
    folded = values[0]
    for value in values[1:]:
        goal = Compound(args[0].name, (Number(folded), Number(value), Variable("Both")))
        folded = next(iter(solver.solve([goal], {})))["Both"].value
    return folded


def _value_in(match: Match, expression: Term) -> Time:
    """What an expression is in a match."""
    asked = _with_times(Compound("is", (Variable("_"), expression)), match.interval, match.env)
    assert isinstance(asked, Compound)
    return evaluate(asked.args[1], match.env)


def consumption_of(items: Iterable[Item]) -> Consumption:
    """The policies that the directives of a program set; the last one counts."""
    program = Policy()
    heads: dict[Key, Policy] = {}
    for item in items:
        if not isinstance(item, Directive) or functor(item.goal)[0] != "consumption":
            continue
        assert isinstance(item.goal, Compound)
        *head, policy = item.goal.args
        if functor(policy)[0] not in POLICIES:
            raise ValueError(f"no such consumption policy: {show(policy)}")
        own = _policy(policy)
        if not head:
            program = own
        elif isinstance(head[0], Compound) and isinstance(head[0].args[1], Number):
            heads[functor(head[0].args[0])[0], int(head[0].args[1].value)] = own
    return Consumption(program, heads)


def _policy(term: Term) -> Policy:
    if not isinstance(term, Compound):
        return Policy(functor(term)[0])
    (preferred,) = term.args
    variable = preferred.args[0].name if isinstance(preferred, Compound) else ""
    return Policy(term.functor, functor(preferred)[0], variable)


def compact(term: Term) -> str:
    """The term as text, without blanks between arguments: `e(x,3)`, `f(x)=true`."""
    if isinstance(term, Compound) and functor(term) == ("=", 2):
        return "=".join(map(compact, term.args))
    if isinstance(term, Compound) and show(term).startswith(show(Atom(term.functor)) + "("):
        return f"{show(Atom(term.functor))}({','.join(map(compact, term.args))})"
    return show(term)


def answer_text(found: Mapping[Term, Sequence[Interval]]) -> str:
    """One line an event, sorted: `occurs(e(x, 3), [(1,4),(2,4)]).`"""
    lines = []
    for event, intervals in found.items():
        pairs = ",".join(f"({start},{end})" for start, end in intervals)
        lines.append(f"occurs({show(event)}, [{pairs}]).\n")
    return "".join(sorted(lines))


def read_program(text: str, name: str) -> tuple[Item, ...]:
    """The items of a program's text; an error if it does not parse."""
    parsed = parse(text, name)
    if any(diagnostic.is_error for diagnostic in parsed.diagnostics):
        raise ProgramError(parsed.diagnostics, parsed.sources)
    return tuple(timely(timed(parsed.items)))


def read_records(text: str) -> list[tuple[float, str, int, tuple[Term, ...]]]:
    """Probability, name, time and further fields of each line of delimited text.

    Empty lines are left out. Without a probability it is 1.
    """
    records = []
    for line in filter(None, map(str.strip, text.splitlines())):
        chance, _, rest = line.rpartition("::")
        name, _, time, *fields = rest.split("|")
        records.append((float(chance or 1), name, int(time), tuple(map(read_field, fields))))
    return records


def run_pattern_case(folder: Path) -> str:
    """The answer to a case folder, as text."""
    file = rules_of(folder)
    items = read_program(file.read_text(), str(file))
    settings = tomllib.loads((folder / "case.toml").read_text()).get("settings", {})
    events: dict[Term, list[Interval]] = {}
    for _, name, time, args in read_records((folder / "events.txt").read_text()):
        events.setdefault(Compound(name, args) if args else Atom(name), []).append((time, time))
    rules = [item for item in items if isinstance(item, PatternRule)]
    solver = Solver(item for item in items if isinstance(item, Clause))
    until = settings.get("end")
    return answer_text(occurrences(rules, events, solver, consumption_of(items), until))
