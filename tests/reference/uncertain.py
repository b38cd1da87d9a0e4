"""Probabilities of fluents by enumeration of possible worlds, one clock tick after the other.

Every record is a fact of its own, true with its probability and independent of all others. From
a point to the next,

    holds' = (holds and not broken) or init         with ties on "initiation",
    holds' = (holds or init) and not broken         with ties on "break",

where init and broken are asked in every possible world of the records of that point. `holds`, and
any fluent that a rule asks for, is one more independent fact of that point, true with the
probability carried to it; so two fluents that depend on the same earlier record count as
independent.

The values of one fluent exclude each other: once one of them is true in a world, the others are
false in it, and once some are false, the others share what is left. Where the probabilities of
all values add up to more than 1, as ties on "initiation" allow, they count as independent; and so
they do in the dialect rtec, where values may hold together.

A world is decided as far as the question needs it: a fact is given both truth values when the
proof first asks for it. The probabilities of the worlds in which the answer is yes add up.

Statically determined fluents follow from their parts, point by point: `uncertain_statics.py`.
What rests on them takes them as independent facts of the point.

A simple or an input fluent starts at a point if it does not hold there and holds a tick later; it
ends if it holds there and does not a tick later. What is given at points does not end at the last
point, since it may go on. The records of the next point are the same facts for all questions about
a point, and count as others once that point is reached.

An event pattern occurs in a world if the happenings of the world match it: `uncertain_patterns.py`.
What happened at earlier points depends on the records of these points, which are the same facts at
whatever point a question is asked, and on what held then, by the probability it had then.

Fluents with delayed effects are carried by the distribution of their states: `uncertain_delays.py`.

Not defined under uncertainty, and refused: durations and relations between intervals, probabilities
on clauses other than `initially`.
"""

from __future__ import annotations

import itertools
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from cernis.errors import UnsupportedError
from cernis.syntax import parse
from cernis.syntax.tree import (
    Atom,
    Clause,
    Compound,
    Directive,
    Item,
    Number,
    PatternRule,
    Term,
    Variable,
    children,
    functor,
    variables,
    walk,
)

from . import intervals as lists
from .patterns import compact, read_program, read_records
from .solve import Solver
from .terms import Env, Renamer, goals_of, is_ground, substitute, unify
from .uncertain_statics import (
    POINT,
    POINTWISE,
    StaticRule,
    heads_in,
    instances,
    may_define,
    point_lists,
    static_rules,
)

if TYPE_CHECKING:
    from .uncertain_delays import Delays
    from .uncertain_patterns import Patterns

Record = tuple[float, Term, int]
Lasting = tuple[float, Term, int, int]
"""A record of an input fluent on an interval: probability, F=V, start and end."""
Fact = tuple[str, tuple[int, int | Term]]
"""What the fact is about, and its point: a record by its number, or a pair that holds."""
Answer = TypeVar("Answer")
Key = tuple[str, int]

BRIDGES = "happensAt(E, T) :- given_event(E, T). holdsAt(F, T) :- given_fluent(F, T)."


class Undecided(Exception):
    """A proof asked for a fact that the world has no truth value for."""

    def __init__(self, fact: Fact) -> None:
        self.fact = fact
        super().__init__(fact)


Chances = Callable[[Fact, Mapping[Fact, bool]], float]
"""The probability of a fact, if others have the truth values of a world."""


def worlds(
    question: Callable[[Mapping[Fact, bool]], Answer],
    chances: Mapping[Fact, float] | Chances,
    world: Mapping[Fact, bool] | None = None,
) -> Iterator[tuple[float, Answer]]:
    """The answer in every possible world, with the world's probability; these add up to 1.

    The question is asked of a world that may leave facts open, and raises Undecided if it needs
    one of them. Impossible worlds are left out.
    """
    known = world or {}
    try:
        answer = question(known)
    except Undecided as undecided:
        fact = undecided.fact
        chance = chances(fact, known) if callable(chances) else chances[fact]
        for truth, weight in ((True, chance), (False, 1 - chance)):
            if weight > 0:
                below = worlds(question, chances, {**known, undecided.fact: truth})
                yield from ((weight * part, answer) for part, answer in below)
    else:
        yield 1.0, answer


def probabilities(
    items: Sequence[Item],
    records: Iterable[Record],
    tick: int | None = None,
    *,
    ties: str | None = None,
    start: int | None = None,
    end: int | None = None,
    lasting: Sequence[Lasting] = (),
) -> dict[Term, dict[int, float]]:
    """`P(holdsAt(F=V, t))` for each F=V that may hold, at all t from start+tick to end+tick.

    A record is (probability, ground event, time), or (probability, F=V, time) for an input
    fluent at a point; those of `(start, end]` count. Pairs that cannot hold at any point are
    absent. Tick and ties are by default those of the program's directives, else 1 and
    "initiation"; the run is by default just as long as to hold all records.
    """
    given = list(records)
    times = [time for _, _, time in given]
    tick = tick or int(_directive(items, "tick") or 1)
    first = min(times, default=0) - tick if start is None else start
    last = max(times, default=first) if end is None else end
    ties = ties or _directive(items, "ties") or "initiation"
    run = Run.prepare(items, given, range(first, last + 1, tick), ties, lasting)
    return _carry(run)


def _carry(run: Run) -> dict[Term, dict[int, float]]:
    """Point after point, from what holds initially; again, as long as instances are found."""
    while True:
        result = _carry_once(run)
        is_more = run.sees_more(result)
        if not is_more and not (run.patterns and run.patterns.sees_intervals(result)):
            return result


def _carry_once(run: Run) -> dict[Term, dict[int, float]]:
    carried = run.initially()
    result: dict[Term, dict[int, float]] = defaultdict(dict)
    points = [now + run.clock.step for now in run.clock]
    for now in points:
        if now != points[0]:
            carried = run.next_point(now - run.clock.step, carried)
        for pair, chance in {**carried, **run.statics(now, carried)}.items():
            result[pair][now] = chance
    return {pair: {now: series.get(now, 0.0) for now in points} for pair, series in result.items()}


@dataclass(slots=True)
class Run:
    """A program, its records and its clock; and the point and the world that a proof is in."""

    records: dict[int, list[Record]]
    clock: range
    ties: str
    clauses: list[Clause]
    dialect: str | None = None
    lasting: Sequence[Lasting] = ()
    solver: Solver = field(init=False)
    now: int = 0
    world: Mapping[Fact, bool] = field(default_factory=dict)
    carried: Mapping[Term, float] = field(default_factory=dict)
    initiated: set[Term] = field(default_factory=set)
    static_rules: list[StaticRule] = field(init=False)
    seen: set[Term] = field(default_factory=set)
    """The pairs that may hold at some point: rules over intervals take instances from them."""
    patterns: Patterns | None = None
    delays: Delays | None = None
    carried_to: dict[int, Mapping[Term, float]] = field(default_factory=dict)
    """The probabilities of all pairs, at each point so far."""

    def __post_init__(self) -> None:
        self.static_rules = static_rules(self.clauses)
        for chance, what, *_ in (*itertools.chain(*self.records.values()), *self.lasting):
            if functor(what) == ("=", 2) and chance > 0:
                self.seen.add(what)
        given = {
            ("given_event", 2): self._events, ("given_fluent", 2): self._fluents,
            ("known fluent", 1): self._known_fluents, ("known pair", 1): self._known_pairs,
            ("ended", 1): self._ended, ("holdsFor", 2): self._holds_for,
            **{(name, 3 if name.startswith("relative") else 2): point_lists for name in POINTWISE},
        }  # fmt: skip
        bridges = [item for item in parse(BRIDGES).items if isinstance(item, Clause)]
        static = (("holdsFor", 2), ("iff", 2), ("fi", 3), ("ft", 2), ("p", 1))
        certain = [
            clause for clause in self.clauses
            if clause.probability is None and functor(clause.head) not in static
        ]  # fmt: skip
        plain = [_over_known(_over_ended(clause)) for clause in certain]
        self.solver = Solver([*plain, *self._domains(), *bridges], given)

    @staticmethod
    def prepare(
        items: Sequence[Item], records: Sequence[Record], clock: range, ties: str,
        lasting: Sequence[Lasting] = (),
    ) -> Run:  # fmt: skip
        """The run of a program; the clock has all its points, the start first."""
        clauses = [_modern(item) for item in items if isinstance(item, Clause)]
        _refuse(clauses)
        if ties not in ("initiation", "break"):
            raise ValueError(f"no such setting of ties: {ties}")
        at: dict[int, list[Record]] = defaultdict(list)
        for record in records:
            if clock.start < record[2] < clock.stop:
                at[record[2]].append(record)
        if not set(at) <= set(clock):
            raise ValueError("a record lies between the ticks of the clock")
        run = Run(at, clock, ties, clauses, _directive(items, "dialect"), lasting)
        if any(isinstance(item, PatternRule) for item in items):
            from .uncertain_patterns import Patterns

            run.patterns = Patterns.of(items, run)
        if any(functor(clause.head) in (("fi", 3), ("ft", 2)) for clause in clauses):
            from .uncertain_delays import Delays

            run.delays = Delays(run)
        return run

    def initially(self) -> dict[Term, float]:
        """What holds at the first point. Several clauses for one pair are independent."""
        missing: dict[Term, float] = {}
        for clause in self.clauses:
            if functor(clause.head) == ("initially", 1):
                assert isinstance(clause.head, Compound)
                chance = 1.0 if clause.probability is None else clause.probability
                head = _over_known(clause)
                found = self.solver.solve(head.body, {})
                for pair in {substitute(head.head.args[0], env) for env in found}:
                    missing[pair] = missing.get(pair, 1.0) * (1 - chance)
        chances = {pair: 1 - none for pair, none in missing.items() if self.exists(pair)}
        if self.delays is not None:
            self.delays.begin(chances, self.clock.start)
        return chances

    def next_point(self, now: int, carried: Mapping[Term, float]) -> dict[Term, float]:
        """The probabilities one tick after now."""
        carried = {pair: chance for pair, chance in carried.items() if not self.is_static(pair)}
        statics = self.statics(now, carried)
        self.now, self.carried = now, {**carried, **statics}
        self.carried_to[now] = self.carried
        delayed = {} if self.delays is None else self.delays.next_point(self.carried)
        chances = self._chances(self.carried)
        new = {
            pair
            for _, initiated in worlds(self._initiated, chances)
            for pair in initiated
            if self.exists(pair)
        }
        pairs = [*carried, *sorted(new - carried.keys(), key=compact)]
        if self.delays is not None:
            pairs = [pair for pair in pairs if not self.delays.is_about(pair)]
        result = {
            pair: sum(weight for weight, holds in worlds(self._goes_on(pair), chances) if holds)
            for pair in pairs
        }
        self.initiated |= new
        return {**result, **delayed}

    def sees_more(self, courses: Mapping[Term, Mapping[int, float]]) -> bool:
        """Note the pairs that may hold at some point; are there more than before?"""
        before = len(self.seen)
        self.seen |= {pair for pair, series in courses.items() if any(series.values())}
        self.initiated.clear()
        return bool(self.static_rules) and len(self.seen) > before

    def is_static(self, pair: Term) -> bool:
        """Is it a pair of a statically determined fluent?"""
        return any(may_define(rule.head, pair) for rule in self.static_rules)

    def statics(self, now: int, carried: Mapping[Term, float]) -> dict[Term, float]:
        """The probabilities of statically determined fluents at a point."""
        result: dict[Term, float] = {}
        simple = {pair: chance for pair, chance in carried.items() if not self.is_static(pair)}
        # The rules of one pair may stand apart: it is evaluated where the last of them stands.
        layers = dict.fromkeys(
            (_fluent(r.head), children(r.head)[1]) for r in reversed(self.static_rules)
        )
        for layer in reversed(layers):
            self.now, self.carried = now, {**simple, **result}
            rules = [
                r for r in self.static_rules if (_fluent(r.head), children(r.head)[1]) == layer
            ]
            known = [pair for pair, chance in self.carried.items() if chance > 0]
            envs = [instances(rule, {*self.seen, *known}, self) for rule in rules]

            def question(
                world: Mapping[Fact, bool], rules: list[StaticRule] = rules,
                envs: list[list[Env]] = envs,
            ) -> frozenset[Term]:  # fmt: skip
                every = zip(rules, envs, strict=True)
                return frozenset().union(*(heads_in(world, r, e, self) for r, e in every))

            found: dict[Term, float] = defaultdict(float)
            for weight, heads in worlds(question, self._chances(self.carried)):
                for head in heads:
                    found[head] += weight
            result |= found
        return result

    def _holds_for(self, goal: Term) -> Iterator[Term]:
        """The list of a pair, of which variables may be left: is one of its instances there?"""
        assert isinstance(goal, Compound)
        asked = Compound("given_fluent", (goal.args[0], Number(self.now)))
        holds = any(True for _ in self._fluents(asked))
        yield Compound("holdsFor", (goal.args[0], lists.to_term(POINT if holds else [])))

    def _known_pairs(self, goal: Term) -> Iterator[Term]:
        """The pairs that grounding allows; without grounding, those that may have been initiated
        at an earlier point, or may hold."""
        assert isinstance(goal, Compound)
        asked = goal.args[0]
        if self.is_restricted(asked):
            for env in self.solver.solve([Compound("grounding", (asked,))], {}):
                yield Compound(goal.functor, (substitute(asked, env),))
            return
        held = (pair for pair, chance in self.carried.items() if chance > 0)
        for pair in sorted({*held, *self.initiated}, key=compact):
            yield Compound(goal.functor, (pair,))

    def _ended(self, goal: Term) -> Iterator[Term]:
        """A pair that is terminated, if it is ground; else the known ones that it stands for."""
        assert isinstance(goal, Compound)
        return iter([goal]) if is_ground(goal) else self._known_pairs(goal)

    def _known_fluents(self, goal: Term) -> Iterator[Term]:
        assert isinstance(goal, Compound)
        pairs = self._known_pairs(Compound("known pair", (_any_value(goal.args[0]),)))
        for fluent in dict.fromkeys(pair.args[0].args[0] for pair in pairs):
            yield Compound(goal.functor, (fluent,))

    def _chances(self, carried: Mapping[Term, float]) -> Chances:
        """The probabilities of records, and of what may hold: now, or at an earlier point."""
        now = self.now

        def chance_of(fact: Fact, world: Mapping[Fact, bool]) -> float:
            kind, (time, name) = fact
            if kind == "record":
                return self.records[time][name][0]
            if kind == "lasting":
                return self.lasting[name][0]
            if kind == "edge":
                assert self.delays is not None
                return self.delays.edges[time][name]
            if kind == "kept":
                assert self.patterns is not None
                return self.patterns.kept[name].chance
            known_chances = carried if time == now else self.carried_to[time]
            fluent = children(name)[0]
            total = sum(
                chance for pair, chance in known_chances.items()
                if children(pair)[0] == fluent and not self.is_static(pair)
            )  # fmt: skip
            if self.is_static(name) or self.dialect == "rtec" or total > 1 + 1e-9:
                return known_chances[name]
            others = [
                (known_chances[pair], truth) for (known, (then, pair)), truth in world.items()
                if known == "holds" and then == time and children(pair)[0] == fluent
                and not self.is_static(pair)
            ]  # fmt: skip
            if any(truth for _, truth in others):
                return 0.0
            left = 1 - sum(chance for chance, _ in others)
            return min(1.0, known_chances[name] / left) if left > 0 else 0.0

        return chance_of

    def exists(self, pair: Term) -> bool:
        """Does grounding allow the pair? A fluent without grounding rules is not restricted."""
        if not self.is_restricted(pair):
            return True
        return any(True for _ in self.solver.solve([Compound("grounding", (pair,))], {}))

    def is_restricted(self, pair: Term) -> bool:
        """Has the fluent grounding rules?"""
        return any(_fluent(head) == _fluent(pair) for head in self._declared("grounding"))

    def _initiated(self, world: Mapping[Fact, bool], fluent: Term | None = None) -> set[Term]:
        pair = Compound("=", (fluent or Variable("F"), Variable("V")))
        goal = Compound("initiatedAt", (pair, Number(self.now)))
        self.world = world
        found = {substitute(pair, env) for env in self.solver.solve([goal], {})}
        return {pair for pair in found if is_ground(pair)}

    def _goes_on(self, pair: Term) -> Callable[[Mapping[Fact, bool]], bool]:
        """Does the pair hold one tick after now, in this world?"""

        def question(world: Mapping[Fact, bool]) -> bool:
            self.world = world
            if self.ties == "break":
                return (self._holds(pair) or self._init(pair)) and not self._broken(pair)
            return self._init(pair) or (self._holds(pair) and not self._broken(pair))

        return question

    def _init(self, pair: Term) -> bool:
        return self._provable(Compound("initiatedAt", (pair, Number(self.now))))

    def _broken(self, pair: Term) -> bool:
        """Is the pair terminated, or another value of its fluent initiated that breaks others?"""
        assert isinstance(pair, Compound)
        fluent, value = pair.args
        other = Compound("=", (fluent, Variable("Other")))
        if self._provable(Compound("terminatedAt", (pair, Number(self.now)))):
            return True
        initiated = Compound("initiatedAt", (other, Number(self.now)))
        differs = Compound("\\==", (Variable("Other"), value))
        found = self.solver.solve([initiated, differs], {})
        return any(self._breaks_others(substitute(other, env)) for env in found)

    def _breaks_others(self, pair: Term) -> bool:
        """In the dialect rtec only a value that the head of a clause names as a constant does."""
        if self.dialect != "rtec":
            return True
        kinds = {("initiatedAt", 2), ("terminatedAt", 2), ("initially", 1), ("grounding", 1)}
        effects = {("fi", 3), ("ft", 2)}
        heads = [clause.head for clause in self.clauses if functor(clause.head) in kinds | effects]
        named = [children(head)[0] for head in heads]
        named += [children(head)[1] for head in heads if functor(head) == ("fi", 3)]
        return any(
            _fluent(own) == _fluent(pair) and children(own)[1] == children(pair)[1]
            for own in named
            if functor(own) == ("=", 2)
        )

    def _holds(self, pair: Term) -> bool:
        return pair in self.carried and self._true(("holds", (self.now, pair)), self.carried[pair])

    def _provable(self, *goals: Term) -> bool:
        return any(True for _ in self.solver.solve(goals, {}))

    def _true(self, fact: Fact, chance: float) -> bool:
        if chance in (0, 1):
            return chance == 1
        if fact not in self.world:
            raise Undecided(fact)
        return self.world[fact]

    def _events(self, goal: Term) -> Iterator[Term]:
        yield from self._given(goal, "given_event")
        assert isinstance(goal, Compound)
        if functor(goal.args[0]) in (("start", 1), ("end", 1)):
            yield from self._edges(goal)
        if self.patterns is not None:
            yield from self.patterns.occurring(goal)

    def _edges(self, goal: Compound) -> Iterator[Term]:
        """Starts and ends: the pairs whose holding differs between now and a tick later."""
        edge, pair = functor(goal.args[0])[0], children(goal.args[0])[0]
        if self.is_input(pair):
            yield from self._input_edges(goal, edge, pair)
            return
        if self.delays is not None and self.delays.is_about(pair):
            for each, chance in self.delays.edges[self.now].items():
                is_asked = unify(goal.args[0], each, {}) is not None
                if is_asked and self._true(("edge", (self.now, each)), chance):
                    yield Compound(goal.functor, (each, Number(self.now)))
            return
        if self.is_static(pair):
            raise UnsupportedError(f"{edge} of a statically determined fluent")
        asked = Compound("initiatedAt", (pair, Number(self.now)))
        initiated = [substitute(pair, env) for env in self.solver.solve([asked], {})]
        known = [*self.carried, *filter(is_ground, initiated)]
        for each in sorted(set(known), key=compact):
            if unify(pair, each, {}) is None or self.is_static(each) or not self.exists(each):
                continue
            before, after = self._holds(each), self._goes_on(each)(self.world)
            if before != after and after == (edge == "start"):
                yield Compound(goal.functor, (Compound(edge, (each,)), Number(self.now)))

    def is_input(self, pair: Term) -> bool:
        """Are there records of the fluent?"""
        records = (*itertools.chain(*self.records.values()), *self.lasting)
        pairs = (what for _, what, *_ in records if functor(what) == ("=", 2))
        return any(_fluent(what) == _fluent(pair) for what in pairs)

    def _input_edges(self, goal: Compound, edge: str, pair: Term) -> Iterator[Term]:
        """Starts and ends of a fluent that records are about."""
        following = self.now + self.clock.step
        told = [*self._records_at(self.now), *self._records_at(following)]
        for each in sorted({what for _, _, what in told}, key=compact):
            if functor(each) != ("=", 2) or unify(pair, each, {}) is None:
                continue
            is_last = self.now == self.clock[-1] and any(
                what == each for _, what, _ in self.records.get(self.now, ())
            )
            if edge == "end" and is_last:
                continue
            before, after = (self._is_given(each, time) for time in (self.now, following))
            if before != after and after == (edge == "start"):
                yield Compound(goal.functor, (Compound(edge, (each,)), Number(self.now)))

    def _is_given(self, pair: Term, time: int) -> bool:
        """Does a record say that the pair holds at a time?"""
        return any(
            what == pair and self._true(fact, chance)
            for fact, chance, what in self._records_at(time)
        )

    def _records_at(self, time: int) -> Iterator[tuple[Fact, float, Term]]:
        """The records about a point, each as a fact, with its probability and what it says."""
        for at, (chance, what, _) in enumerate(self.records.get(time, ())):
            yield ("record", (time, at)), chance, what
        for number, (chance, what, start, end) in enumerate(self.lasting):
            if start <= time < end:
                yield ("lasting", (start, number)), chance, what

    def _fluents(self, goal: Term) -> Iterator[Term]:
        yield from self._given(goal, "given_fluent")
        for pair in self.carried:
            fact = Compound("given_fluent", (pair, Number(self.now)))
            if unify(goal, fact, {}) is not None and self._holds(pair):
                yield fact

    def _given(self, goal: Term, name: str) -> Iterator[Term]:
        """The records of now that match a goal and are true in this world."""
        for record, chance, what in self._records_at(self.now):
            fact = Compound(name, (what, Number(self.now)))
            is_kind = (name == "given_fluent") == (functor(what) == ("=", 2))
            if is_kind and unify(goal, fact, {}) is not None and self._true(record, chance):
                yield fact

    def _domains(self) -> list[Clause]:
        """Facts for `dynamicDomain(p(_))`: grounding says in which arguments p is to be seen."""
        dynamic = {functor(domain) for domain in self._declared("dynamicDomain")}
        seen: dict[Term, None] = {}
        every = (*itertools.chain(*self.records.values()), *self.lasting)
        whats = {what: None for _, what, *_ in every}
        for clause in self.clauses:
            if functor(clause.head) == ("grounding", 1):
                for what in whats:
                    for fact in _domain_facts(Renamer().clause(clause), what):
                        if functor(fact) in dynamic:
                            seen[fact] = None
        return [Clause(fact) for fact in seen if is_ground(fact)]

    def _declared(self, name: str) -> list[Term]:
        """The arguments of the heads `name(argument)`."""
        heads = [clause.head for clause in self.clauses if functor(clause.head) == (name, 1)]
        return [head.args[0] for head in heads if isinstance(head, Compound)]


def _domain_facts(grounding: Clause, what: Term) -> Iterator[Term]:
    """The goals of a grounding rule, for an entity that its head stands for."""
    assert isinstance(grounding.head, Compound)
    env = unify(grounding.head.args[0], what, {})
    if env is not None:
        for literal in grounding.body:
            yield from (substitute(goal, env) for goal in goals_of(literal))


def _fluent(pair: Term) -> Key:
    """Name and arity of the fluent of F=V."""
    return functor(pair.args[0]) if isinstance(pair, Compound) and pair.args else ("", 0)


def _modern(clause: Clause) -> Clause:
    """Older forms in today's: `initiates(E, F=V, T)` and the four-argument `initiatedAt`."""
    name, arity = functor(clause.head)
    if not isinstance(clause.head, Compound):
        return clause
    args = clause.head.args
    if (name, arity) in (("initiates", 3), ("terminates", 3)):
        head = Compound({"initiates": "initiatedAt"}.get(name, "terminatedAt"), args[1:])
        return Clause(head, (Compound("happensAt", (args[0], args[2])), *clause.body))
    if (name, arity) in (("initiatedAt", 4), ("terminatedAt", 4)):
        return Clause(Compound(name, (args[0], args[2])), clause.body)
    return clause


def _over_ended(clause: Clause) -> Clause:
    """A clause in which a value that a termination leaves open is one that is known.

    So it is for each termination in the body whose value stands elsewhere, too.
    """
    counts = Counter(v.name for term in (clause.head, *clause.body) for v in variables(term))
    body: list[Term] = []
    for goal in clause.body:
        body.append(goal)
        if isinstance(goal, Compound) and functor(goal) == ("terminatedAt", 2):
            value = goal.args[0].args[1] if isinstance(goal.args[0], Compound) else None
            if isinstance(value, Variable) and counts[value.name] > 1:
                body.append(Compound("ended", (goal.args[0],)))
    return Clause(clause.head, tuple(body), clause.probability)


def _over_known(clause: Clause) -> Clause:
    """An initiation whose head has open variables, with a goal that says over what they range.

    Open arguments range over known instances of the fluent with whatever value, an open value
    over those that they have.
    """
    if functor(clause.head) not in (("initiatedAt", 2), ("initially", 1)):
        return clause
    assert isinstance(clause.head, Compound)
    renamer = Renamer("open")
    pair = renamer.anonymous(clause.head.args[0])
    assert isinstance(pair, Compound)
    bound = {variable.name for goal in clause.body for variable in variables(goal)}
    open_names = [{v.name for v in variables(part)} - bound for part in pair.args]
    head = Compound(clause.head.functor, (pair, *clause.head.args[1:]))
    if open_names[1]:
        return Clause(head, (*clause.body, Compound("known pair", (pair,))), clause.probability)
    if open_names[0]:
        goal = Compound("known fluent", (pair.args[0],))
        return Clause(head, (*clause.body, goal), clause.probability)
    return clause


def _any_value(fluent: Term) -> Term:
    return Compound("=", (fluent, Variable("_any value")))


def _refuse(clauses: Sequence[Clause]) -> None:
    for clause in clauses:
        name = functor(clause.head)
        if clause.probability is not None and name != ("initially", 1):
            raise UnsupportedError("only `initially` may carry a probability")
    static_rules(clauses)


def _directive(items: Iterable[Item], name: str) -> str | None:
    """The argument of the last directive of that name, as text."""
    found = None
    for item in items:
        if isinstance(item, Directive) and functor(item.goal) == (name, 1):
            assert isinstance(item.goal, Compound)
            found = compact(item.goal.args[0])
    return found


def answer_text(found: Mapping[Term, Mapping[int, float]]) -> str:
    """One line a pair, sorted: the points where its probability, 0 at first, changes.

    `probability(f(x)=true, [(2,0.32),(22,0.388)]).`; probabilities are rounded to 9 digits.
    """
    lines = []
    for pair, series in found.items():
        changes, last = [], 0.0
        for now, chance in sorted(series.items()):
            if round(chance, 9) != last:
                last = round(chance, 9)
                changes.append(f"({now},{_digits(last)})")
        if changes:
            lines.append(f"probability({compact(pair)}, [{','.join(changes)}]).\n")
    return "".join(sorted(lines))


def _digits(chance: float) -> str:
    return f"{chance:.9f}".rstrip("0").rstrip(".")


def run_uncertain_case(folder: Path) -> str:
    """The answer to a case folder, as text.

    A record is a fluent at a point if its name is asked for in `holdsAt` and no rule defines it.
    """
    items = read_program((folder / "rules.cer").read_text(), folder.name)
    settings = tomllib.loads((folder / "case.toml").read_text()).get("settings", {})
    fluents = _point_fluents(items)
    records: list[Record] = []
    for chance, name, time, args in read_records((folder / "events.txt").read_text()):
        is_fluent = name in fluents
        what = _term(name, args[1:] if is_fluent else args)
        records.append((chance, Compound("=", (what, args[0])) if is_fluent else what, time))
    return answer_text(probabilities(items, records, **settings))


def _term(name: str, args: Sequence[Term]) -> Term:
    return Compound(name, tuple(args)) if args else Atom(name)


def _point_fluents(items: Iterable[Item]) -> set[str]:
    clauses = [item for item in items if isinstance(item, Clause)]
    bodies = (term for clause in clauses for literal in clause.body for term in walk(literal))
    asked = [term for term in bodies if functor(term)[0] in ("holdsAt", "start", "end")]
    rules = ("initiatedAt", "terminatedAt", "initially")
    defined = [head for head in map(_head, clauses) if functor(head)[0] in rules]
    return {_name(term) for term in asked} - {_name(head) for head in defined}


def _head(clause: Clause) -> Term:
    return _modern(clause).head


def _name(about: Term) -> str:
    """The name of the fluent that `holdsAt(F=V, T)`, `initiatedAt(F=V, T)` and so on are about."""
    return _fluent(children(about)[0])[0] if children(about) else ""
