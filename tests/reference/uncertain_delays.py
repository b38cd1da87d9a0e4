"""Delayed effects under uncertainty: how likely each state of an instance is, point by point.

The state of an instance of a fluent that has delayed effects is which of its values hold, and which
of its initiations are under way: nothing has broken the value since. In each state and each
possible world of the records of a point, initiations and breaks by rules and by effects that are
due mean what they always mean (`delays.py`), and lead to one state after the point. Records of
different points are independent, so the distribution of states is exact. Other fluents that rules
ask for count as independent facts, as everywhere; so does the instance for other fluents.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cernis.errors import UnsupportedError
from cernis.syntax.tree import Compound, Number, Term, Variable, children, functor, walk

from .arithmetic import evaluate
from .terms import substitute, unify

if TYPE_CHECKING:
    from .uncertain import Fact, Run

Begun = tuple[Term, int]
State = tuple[frozenset[Term], frozenset[Begun]]
"""The pairs that hold, and those whose effects are to come, with the point of the initiation."""

NOTHING: State = (frozenset(), frozenset())


@dataclass(slots=True)
class Delays:
    """The delayed effects of a program, and the states of instances at the point that is next."""

    run: Run
    states: dict[Term, dict[State, float]] = field(default_factory=dict)
    edges: dict[int, dict[Term, float]] = field(default_factory=dict)
    """How likely each start and end is, at each point."""

    def __post_init__(self) -> None:
        delayed = {functor(fluent) for fluent in map(_fluent, self._heads())}
        for clause in self.run.clauses:
            for term in (part for goal in clause.body for part in walk(goal)):
                asked = functor(term) in (("initiatedAt", 2), ("terminatedAt", 2))
                if asked and functor(_fluent(children(term)[0])) in delayed:
                    raise UnsupportedError("changes of a fluent with delayed effects")

    def _heads(self) -> list[Term]:
        kinds = (("fi", 3), ("ft", 2))
        return [children(c.head)[0] for c in self.run.clauses if functor(c.head) in kinds]

    def is_about(self, pair: Term) -> bool:
        """Is it a pair of a fluent that has delayed effects?"""
        return any(functor(_fluent(head)) == functor(_fluent(pair)) for head in self._heads())

    def begin(self, initial: Mapping[Term, float], start: int) -> None:
        """The states when the run starts: values of an instance exclude each other if they can."""
        self.states = {}
        by_instance: dict[Term, list[tuple[Term, float]]] = defaultdict(list)
        for pair, chance in initial.items():
            if self.is_about(pair):
                by_instance[_fluent(pair)].append((pair, chance))
        for instance, values in by_instance.items():
            total = sum(chance for _, chance in values)
            apart = self.run.dialect == "rtec" or total > 1 + 1e-9
            held: dict[frozenset[Term], float] = {frozenset(): 1.0}
            for choice in [[each] for each in values] if apart else [values]:
                none = 1 - sum(chance for _, chance in choice)
                held = {
                    before | more: weight * chance
                    for before, weight in held.items()
                    for more, chance in [
                        (frozenset[Term](), none), *((frozenset({p}), c) for p, c in choice)
                    ]
                }  # fmt: skip
            counts = self.run.dialect != "rtec"
            self.states[instance] = {
                (pairs, frozenset((pair, start) for pair in pairs if counts)): weight
                for pairs, weight in held.items()
                if weight > 0
            }

    def next_point(self, carried: Mapping[Term, float]) -> dict[Term, float]:
        """The probabilities of the pairs of all instances one tick after now."""
        result: dict[Term, float] = {}
        edges = self.edges[self.run.now] = defaultdict(float)
        for instance in {*self._initiated_instances(carried), *self.states}:
            following: dict[State, float] = defaultdict(float)
            for state, weight in self.states.get(instance, {NOTHING: 1.0}).items():
                for chance, after in self._after(instance, state, carried):
                    following[after] += weight * chance
                    for pair in after[0] - state[0]:
                        edges[Compound("start", (pair,))] += weight * chance
                    for pair in state[0] - after[0]:
                        edges[Compound("end", (pair,))] += weight * chance
            self.states[instance] = following
            for (pairs, _), weight in following.items():
                for pair in pairs:
                    result[pair] = result.get(pair, 0.0) + weight
        return result

    def _initiated_instances(self, carried: Mapping[Term, float]) -> set[Term]:
        """The instances that rules may initiate now."""
        from .uncertain import worlds

        found: set[Term] = set()
        for head in self._heads():
            name, arity = functor(_fluent(head))
            names = tuple(Variable(f"Any{number}") for number in range(arity))
            fluent = Compound(name, names) if arity else _fluent(head)
            every = worlds(
                lambda world, asked=fluent: self.run._initiated(world, asked),
                self.run._chances(carried),
            )
            found |= {_fluent(pair) for _, pairs in every for pair in pairs}
        return found

    def _after(
        self, instance: Term, state: State, carried: Mapping[Term, float]
    ) -> Iterator[tuple[float, State]]:
        """The states that follow, each with its probability."""
        from .uncertain import worlds

        run = self.run
        others = {pair: chance for pair, chance in carried.items() if _fluent(pair) != instance}
        run.carried = {**others, **dict.fromkeys(state[0], 1.0)}
        chances = run._chances(run.carried)

        def question(world: Mapping[Fact, bool]) -> State:
            return self._in_world(world, instance, state)

        found = list(worlds(question, chances))
        run.carried = carried
        return iter(found)

    def _in_world(self, world: Mapping[Fact, bool], instance: Term, state: State) -> State:
        run, (held, begun) = self.run, state
        initiated = run._initiated(world, instance)
        terminated: set[Term] = set()
        # In the dialect rtec, an initiation by rules at the very point postpones an effect.
        postponing = set(initiated) if run.dialect == "rtec" else set[Term]()
        for cause, point in begun:
            if cause in postponing and self._postponable(cause):
                continue
            for delay, initiates, changed in self._effects(cause):
                if point + delay == run.now:
                    (initiated if initiates else terminated).add(changed)
        every = held | initiated | {pair for pair, _ in begun}
        run.world = world
        terminated |= {
            pair for pair in every
            if run._provable(Compound("terminatedAt", (pair, Number(run.now))))
        }  # fmt: skip

        def broken(pair: Term) -> bool:
            others = (other for other in initiated if other != pair)
            return pair in terminated or any(map(run._breaks_others, others))

        new = {pair for pair in initiated if run.exists(pair)}
        going_on = {pair for pair in held if not broken(pair)}
        if run.ties == "break":
            after = going_on | {pair for pair in new if not broken(pair)}
        else:
            after = going_on | new
        left = {
            (pair, point)
            for pair, point in begun
            if not broken(pair)
            and not (pair in initiated and self._postponable(pair))
            and any(point + delay > run.now for delay, _, _ in self._effects(pair))
        }
        left |= {(pair, run.now) for pair in new if self._effects(pair)}
        return frozenset(after), frozenset(left)

    def _effects(self, pair: Term) -> list[tuple[int, bool, Term]]:
        """The delay of each effect, whether it initiates, and what."""
        found = []
        for clause in self.run.clauses:
            if functor(clause.head) in (("fi", 3), ("ft", 2)):
                first, *rest = children(clause.head)
                env = unify(first, pair, {})
                for known in self.run.solver.solve(clause.body, env) if env is not None else ():
                    every = {**(env or {}), **known}
                    changed = substitute(rest[0], every) if len(rest) == 2 else pair
                    found.append((int(evaluate(rest[-1], every)), len(rest) == 2, changed))
        return found

    def _postponable(self, pair: Term) -> bool:
        for clause in self.run.clauses:
            if functor(clause.head) == ("p", 1):
                env = unify(children(clause.head)[0], pair, {})
                if env is not None and any(True for _ in self.run.solver.solve(clause.body, env)):
                    return True
        return False


def _fluent(pair: Term) -> Term:
    return children(pair)[0] if children(pair) else pair
