"""A slow walk through a lane, point by point, from what the planner says and nothing else.

Records are tested by resolution, one at a time. It is the meaning of a `Lane`: whatever walks lanes
faster must give the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cernis.check.model import Grounding, Pair, Relation, flatten
from cernis.knowledge.ground_values import canonical
from cernis.plan.logical import Scan
from cernis.plan.sweep.fact_values import goal_of
from cernis.plan.sweep.lanes import (
    FiredBit,
    FiredKind,
    Lane,
    LaneInitial,
    LaneOp,
    StateBit,
    StateKind,
    bits_of,
)
from cernis.syntax.tree import Compound, Number, Term, Variable
from tests.reference.solve import Solver

Key = tuple[Term, ...]
PairOfKey = tuple[Relation, tuple[Term, ...], Term]
Happening = tuple[Relation, tuple[Term, ...]]
NEVER = None


@dataclass(frozen=True, slots=True)
class InputEvent:
    """A record of an event."""

    time: int
    relation: Relation
    args: tuple[Term, ...]


@dataclass(slots=True)
class _Walk:
    """One key on its way: its word, the timers that run, and since when its bits have held."""

    word: int
    due: dict[int, int] = field(default_factory=dict)
    """By number of the delay: the time at which it is due."""
    since: dict[int, int] = field(default_factory=dict)


class LaneInterpreter:
    """Walks a lane over some records."""

    def __init__(self, lane: Lane, solver: Solver, start: int, end: int) -> None:
        self.lane, self.solver, self.start, self.end = lane, solver, start, end
        self.intervals: dict[PairOfKey, list[tuple[int, int | None]]] = defaultdict(list)
        self.happened: dict[Happening, list[int]] = defaultdict(list)
        self._tested: dict[tuple[object, ...], bool] = {}

    @property
    def _written(self) -> int:
        """The bits whose intervals are written: those of pairs, and those that lists read."""
        return self.lane.reported | self.lane.listed

    def run(self, events: Iterable[InputEvent]) -> None:
        """Walk all keys that have records, or something that holds initially."""
        fired: dict[Key, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        for event in events:
            if self.start < event.time <= self.end:
                for number, bit in enumerate(self.lane.fired):
                    if bit.kind is FiredKind.RECORD and bit.relation == event.relation:
                        key = self._key_of(event)
                        fired[key][event.time] |= self._test(bit, event) << number
        initial = self._initial()
        for key in {*fired, *initial}:
            self._walk(key, fired.get(key, {}), initial.get(key, 0))

    def _key_of(self, event: InputEvent) -> Key:
        return tuple(event.args[place] for place in self.lane.positions(event.relation))

    # -- what records and keys meet ----------------------------------------------------------

    def _is_true(self, goals: Iterable[Term], values: dict[str, Term]) -> bool:
        return any(True for _ in self.solver.solve(list(goals), values))

    def _test(self, bit: FiredBit, event: InputEvent) -> bool:
        asked = (bit.steps, bit.values, event.args)
        if any(isinstance(step, Scan) and step.time for step in bit.steps):
            asked = (*asked, event.time)
        if asked not in self._tested:
            self._tested[asked] = self._passes(bit, event)
        return self._tested[asked]

    def _passes(self, bit: FiredBit, event: InputEvent) -> bool:
        scan, *steps = bit.steps
        assert isinstance(scan, Scan)
        values: dict[str, Term] = {} if not scan.time else {scan.time: Number(event.time)}
        for term, value in zip(scan.occurrence.args, event.args, strict=True):  # type: ignore[union-attr]
            if isinstance(term, Variable):
                if term.name != "_" and values.setdefault(term.name, value) != value:
                    return False
            elif canonical(term) != value:
                return False
        goals = [goal_of(step) for step in steps]
        goals += [Compound("==", (Variable(name), term)) for name, term in bit.values]
        return self._is_true(goals, values)

    def _fact_holds(self, bit: StateBit, key: Key) -> bool:
        values = dict(zip(bit.variables, key, strict=True))
        return self._is_true(map(goal_of, bit.steps), values)

    def _instance(self, bit: StateBit | FiredBit, key: Key) -> tuple[Term, ...]:
        assert bit.relation is not None
        places = dict(zip(self.lane.positions(bit.relation), key, strict=True))
        return tuple(
            places.get(place, term)  # type: ignore[misc]
            for place, term in enumerate(bit.arguments)
        )

    def _allowed(self, key: Key) -> int:
        word = (1 << len(self.lane.state)) - 1
        for grounding in self.lane.groundings:
            bit = self.lane.state[grounding.bit]
            pair = (*self._instance(bit, key), bit.value)
            if not any(allows(self.solver, each, pair) for each in grounding.groundings):  # type: ignore[arg-type]
                word &= ~(1 << grounding.bit)
        return word

    def _initial(self) -> dict[Key, int]:
        words: dict[Key, int] = defaultdict(int)
        for initial in self.lane.initials:
            for key in self._initial_keys(initial):
                words[key] |= 1 << initial.bit
        return words

    def _initial_keys(self, initial: LaneInitial) -> Iterator[Key]:
        head = initial.head
        key = [head.args[place] for place in self.lane.positions(head.relation)]
        goals = [goal_of(step) for step in initial.rule.steps]
        goals += [Compound("==", (Variable(name), term)) for name, term in initial.values]
        for answer in self.solver.solve(goals, {}):
            yield tuple(
                canonical(answer[term.name] if isinstance(term, Variable) else term) for term in key
            )

    # -- the walk ----------------------------------------------------------------------------

    def _walk(self, key: Key, fired: dict[int, int], initial: int) -> None:
        allowed = self._allowed(key)
        word = initial & allowed
        for number, bit in enumerate(self.lane.state):
            if bit.kind is StateKind.FACT and self._fact_holds(bit, key):
                word |= 1 << number
        walk = _Walk(self._derived(word, allowed))
        for number in bits_of(walk.word):
            walk.since[number] = self.start + self.lane.tick
        for number, delay in enumerate(self.lane.delays):
            if delay.follows_initial and initial & allowed & 1 << delay.source:
                walk.due[number] = self.start + delay.delay
        waiting = sorted(fired)
        while True:
            times = [*waiting[:1], *(time for time in walk.due.values() if time <= self.end)]
            if not times:
                break
            now = min(times)
            if waiting and waiting[0] == now:
                waiting.pop(0)
            self._point(key, walk, now, fired.get(now, 0), allowed)
        for number in bits_of(walk.word & self._written):
            self._write(key, number, walk.since[number], NEVER)

    def _derived(self, word: int, allowed: int) -> int:
        """The word with the bits that rows derive from others."""
        for block in self.lane.blocks:
            if block[-1].op is LaneOp.DERIVE:
                word = self._derive(block, word, allowed)
        return word

    def _derive(self, block: tuple, word: int, allowed: int) -> int:  # type: ignore[type-arg]
        is_met = any(
            word & row.pos == row.pos and not word & row.neg
            for row in block if row.op is LaneOp.TERM
        )  # fmt: skip
        bit = block[-1].init
        return word | (bit & allowed) if is_met else word & ~bit

    def _point(self, key: Key, walk: _Walk, now: int, fired: int, allowed: int) -> None:
        old = walk.word
        due = [number for number, time in walk.due.items() if time == now]
        for number in due:
            fired |= 1 << self.lane.delays[number].due
            del walk.due[number]
        new = old
        for block in self.lane.blocks:
            if block[-1].op is LaneOp.DERIVE:
                new = self._derive(block, new, allowed)
                continue
            hidden = self._dropped(block, due, fired, old, new)
            initiated = terminated = 0
            for row in block:
                if row.op is LaneOp.RULE and _applies(row, fired & ~hidden, old, new):
                    initiated |= row.init
                    terminated |= row.term
                    fired |= row.signal
                elif row.op is LaneOp.COMMIT:
                    new = self._commit(walk, row.init, initiated, terminated, new, now, allowed)
        walk.word = new
        self._tell(key, walk, old, now)
        for number in bits_of(fired & self.lane.reported_signals):
            bit = self.lane.fired[number]
            assert bit.relation is not None
            self.happened[bit.relation, self._instance(bit, key)].append(now)

    def _dropped(self, block: tuple, due: list[int], fired: int, old: int, new: int) -> int:  # type: ignore[type-arg]
        """What is due and dropped, since its source is initiated at this very point."""
        group = block[-1].init
        delays = [self.lane.delays[number] for number in due]
        own = [delay for delay in delays if group >> delay.source & 1]
        without = fired & ~sum(1 << delay.due for delay in own)
        initiated = 0
        for row in block:
            if row.op is LaneOp.RULE and _applies(row, without, old, new):
                initiated |= row.init
        return sum(1 << d.due for d in own if d.until_due and initiated >> d.source & 1)

    def _commit(
        self, walk: _Walk, group: int, initiated: int, terminated: int, word: int, now: int,
        allowed: int,
    ) -> int:  # fmt: skip
        broken = terminated
        if initiated:
            is_one = initiated & (initiated - 1) == 0
            broken |= group & ~initiated if is_one else group
        counted = initiated if self.lane.ties == "initiation" else initiated & ~broken
        for number, delay in enumerate(self.lane.delays):
            source = 1 << delay.source
            if not group & source:
                continue
            if broken & source:
                walk.due.pop(number, None)
            if initiated & allowed & source and (number not in walk.due or delay.postponable):
                walk.due[number] = now + delay.delay
        return (word & ~broken) | (counted & allowed)

    def _tell(self, key: Key, walk: _Walk, old: int, now: int) -> None:
        after = now + self.lane.tick
        for number in bits_of((old ^ walk.word) & self._written):
            if walk.word >> number & 1:
                walk.since[number] = after
            else:
                self._write(key, number, walk.since[number], after)

    def _write(self, key: Key, number: int, start: int, end: int | None) -> None:
        bit = self.lane.state[number]
        assert bit.relation is not None
        assert bit.value is not None
        pair = (bit.relation, self._instance(bit, key), bit.value)
        self.intervals[pair].append((start, end))


def _applies(row, fired: int, old: int, new: int) -> bool:  # type: ignore[no-untyped-def]
    triggers = row.any | row.starts | row.ends
    is_triggered = fired & row.any or new & ~old & row.starts or old & ~new & row.ends
    if triggers and not is_triggered:
        return False
    return (
        fired & row.all == row.all
        and not fired & row.none
        and old & row.pos == row.pos
        and not old & row.neg
    )


def allows(solver: Solver, grounding: Grounding, pair: tuple[Term, ...]) -> bool:
    """Does a grounding rule allow a pair, given by its arguments and value?"""
    assert isinstance(grounding.entity, Pair)
    values: dict[str, Term] = {}
    terms = (*grounding.entity.args, grounding.entity.value)
    for term, value in zip(terms, pair, strict=True):
        if isinstance(term, Variable):
            if term.name != "_" and values.setdefault(term.name, value) != value:
                return False
        elif canonical(term) != value:
            return False
    return any(True for _ in solver.solve(grounding.goals, values))


def event_of(time: int, term: Term) -> InputEvent:
    """A record as the interpreter takes it."""
    relation, args = flatten(term)
    return InputEvent(time, relation, tuple(map(canonical, args)))
