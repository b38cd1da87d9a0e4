"""Exact probabilities: the joint distribution of all pairs, one clock tick after the other.

A state is the set of pairs that hold at a point. In each state every possible world of the records
of that point is asked which pairs hold next. Records of different points are independent, so this
is what the sum over all worlds of the whole history gives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from cernis.syntax.tree import Item, Term, children

from .patterns import compact
from .uncertain import Fact, Record, Run, _directive, worlds

State = frozenset[Term]


def exact_probabilities(
    items: Sequence[Item], records: Iterable[Record], ties: str | None = None
) -> dict[Term, dict[int, float]]:
    """`P(holdsAt(F=V, t))` as `probabilities` gives it, without any assumption of independence."""
    given = list(records)
    times = [time for _, _, time in given]
    clock = range(min(times, default=0) - 1, max(times, default=0) + 1)
    ties = ties or _directive(items, "ties") or "initiation"
    run = Run.prepare(items, given, clock, ties)
    while True:
        result = _carry(run)
        if not run.sees_more(result):
            return result


def _carry(run: Run) -> dict[Term, dict[int, float]]:
    states = _first_states(run)
    result: dict[Term, dict[int, float]] = defaultdict(dict)
    points = [now + run.clock.step for now in run.clock]
    for now in points:
        if now != points[0]:
            states = _next_states(run, now - run.clock.step, states)
        for state, weight in states.items():
            certain = dict.fromkeys(state, 1.0)
            for pair, chance in {**certain, **run.statics(now, certain)}.items():
                result[pair][now] = result[pair].get(now, 0.0) + weight * chance
    return {pair: {now: series.get(now, 0.0) for now in points} for pair, series in result.items()}


def _first_states(run: Run) -> dict[State, float]:
    """What holds initially: values of one fluent exclude each other if they can."""
    values: dict[Term, list[tuple[Term, float]]] = defaultdict(list)
    for pair, chance in run.initially().items():
        values[children(pair)[0]].append((pair, chance))
    states: dict[State, float] = {frozenset(): 1.0}
    for each in values.values():
        total = sum(chance for _, chance in each)
        together = total <= 1 + 1e-9 and run.dialect != "rtec"
        choices = [each] if together else [[one] for one in each]
        for choice in choices:
            none = 1 - sum(chance for _, chance in choice)
            states = {
                state | frozenset(more): weight * chance
                for state, weight in states.items()
                for more, chance in [((), none), *(((pair,), chance) for pair, chance in choice)]
            }
    return {state: weight for state, weight in states.items() if weight > 0}


def _next_states(run: Run, now: int, states: Mapping[State, float]) -> dict[State, float]:
    following: dict[State, float] = defaultdict(float)
    initiated: set[Term] = set()
    for state, weight in states.items():
        certain = dict.fromkeys(sorted(state, key=compact), 1.0)
        statics = run.statics(now, certain)
        run.now, run.carried = now, {**certain, **statics}

        def next_state(world: Mapping[Fact, bool], state: State = state) -> State:
            new = {pair for pair in run._initiated(world) if run.exists(pair)}
            initiated.update(new)
            return frozenset(pair for pair in state | new if run._goes_on(pair)(world))

        for chance, after in worlds(next_state, run._chances(run.carried)):
            following[after] += weight * chance
    run.initiated |= initiated
    return following
