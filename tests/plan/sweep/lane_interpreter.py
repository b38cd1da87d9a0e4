"""A slow walk through a lane, point by point, from what the planner says and nothing else.

Records are tested by resolution, one at a time. It is the meaning of a `Lane`: whatever walks lanes
faster must give the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from cernis.check.model import Grounding, Pair, Relation, flatten
from cernis.knowledge.ground_values import canonical
from cernis.plan.logical import Scan
from cernis.plan.sweep.fact_values import goal_of
from cernis.plan.sweep.key_members import KeyMembers
from cernis.plan.sweep.lanes import (
    FiredBit,
    FiredKind,
    Lane,
    LaneGuard,
    LaneInitial,
    LaneOp,
    StateBit,
    StateKind,
    bits_of,
)
from cernis.syntax.tree import Compound, Number, Term, Variable
from tests.reference.intervals import Intervals
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
    values: dict[int, Term] = field(default_factory=dict)
    """By number of a register: the value that its fluent has."""


@dataclass(slots=True)
class _Record:
    """A record at a point, with the bits that it fires."""

    event: InputEvent
    fired: int = 0


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

    def run(
        self, events: Iterable[InputEvent], fluents: Mapping[PairOfKey, Intervals] | None = None
    ) -> None:
        """Walk all keys that have records, something that holds initially, or a grounding.

        `fluents` are the intervals of the input, which are united.
        """
        records: dict[Key, dict[int, list[_Record]]] = defaultdict(lambda: defaultdict(list))
        for event in events:
            if self.start < event.time <= self.end:
                record = _Record(event)
                for number, bit in enumerate(self.lane.fired):
                    if bit.kind is FiredKind.RECORD and bit.relation == event.relation:
                        record.fired |= self._test(bit, event) << number
                if event.relation in self.lane.events:
                    records[self._key_of(event)][event.time].append(record)
        initial = self._initial()
        self._add_edges(fluents or {}, records, initial)
        members = (key for each in self.lane.members for key in named_keys(self.solver, each))
        for key in {*records, *initial, *members}:
            self._walk(key, records.get(key, {}), initial.get(key, 0))

    def _add_edges(
        self, fluents: Mapping[PairOfKey, Intervals],
        records: dict[Key, dict[int, list[_Record]]], initial: dict[Key, int],
    ) -> None:  # fmt: skip
        """Add what holds in the input at first, and records of where it starts and ends."""
        outputs = () if self.lane.inputs is None else self.lane.inputs.outputs
        for output, bits in zip(outputs, self.lane.input_pairs, strict=True):
            for (relation, args, value), intervals in fluents.items():
                constants = zip(args, output.arguments, strict=False)
                is_same = (relation, value) == (output.relation, output.value)
                if not is_same or any(want not in (None, arg) for arg, want in constants):
                    continue
                key = tuple(args[place] for place in output.positions)
                for start, end in intervals:
                    if start - self.lane.tick <= self.start:
                        initial[key] |= 1 << bits.holds
                    for time, bit in ((start, bits.start), (end, bits.end)):
                        point = time - self.lane.tick
                        if self.start < point <= self.end:
                            event = InputEvent(int(point), relation, args)
                            records[key][int(point)].append(_Record(event, 1 << bit))

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

    def _bound(self, scan: Scan, event: InputEvent) -> dict[str, Term] | None:
        """The variables of a literal for a record; None if it is not about it."""
        values: dict[str, Term] = {} if not scan.time else {scan.time: Number(event.time)}
        for term, value in zip(scan.occurrence.args, event.args, strict=True):  # type: ignore[union-attr]
            if isinstance(term, Variable):
                if term.name != "_" and values.setdefault(term.name, value) != value:
                    return None
            elif canonical(term) != value:
                return None
        return values

    def _passes(self, bit: FiredBit, event: InputEvent) -> bool:
        scan, *steps = bit.steps
        assert isinstance(scan, Scan)
        values = self._bound(scan, event)
        if values is None:
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

    # -- registers ---------------------------------------------------------------------------

    def _meets(self, guard: LaneGuard, record: _Record, held: dict[int, Term]) -> bool:
        """Does a record fire a guard, given the values before the point?"""
        is_own = record.fired >> guard.trigger & 1
        values = self._bound(guard.scan, record.event) if is_own else None
        if values is None:
            return False
        for number, name, is_negated in guard.held:
            if is_negated:
                if number in held and held[number] == values[name]:
                    return False
            elif number not in held or values.setdefault(name, held[number]) != held[number]:
                return False
        return self._is_true(map(goal_of, guard.conditions), values)

    def _signalled(
        self, number: int, fired: int, records: list[_Record], is_ending: bool
    ) -> set[Term]:
        """The values of a register that are initiated, or terminated, at a point."""
        values: set[Term] = set()
        for source in self.lane.registers[number].sources:
            if source.is_ending != is_ending or not fired >> source.signal & 1:
                continue
            if source.carrier is None:
                assert source.constant is not None
                values.add(source.constant)
                continue
            scan = self.lane.fired[source.carrier].steps[0]
            assert isinstance(scan, Scan)
            for record in records:
                bound = (
                    self._bound(scan, record.event) if record.fired >> source.carrier & 1 else {}
                )
                values |= {bound[source.variable]} if bound else set()
        return values

    def _clashing(
        self, walk: _Walk, group: int, fired: int, records: list[_Record]
    ) -> tuple[int, int]:
        """The clash bit, if two values are initiated, and the open bit, if it is terminated."""
        for number, register in enumerate(self.lane.registers):
            if register.group == group:
                values = self._signalled(number, fired, records, False)
                ended = self._signalled(number, fired, records, True)
                named = sum(1 << bit for bit, _ in register.named)
                clash = group & ~named & ~(1 << register.open_bit)
                is_closed = bool(ended & (values or {walk.values.get(number)}))  # type: ignore[arg-type]
                return clash if len(values) > 1 else 0, is_closed << register.open_bit
        return 0, 0

    def _set_values(
        self, key: Key, walk: _Walk, old: int, fired: int, records: list[_Record], now: int
    ) -> None:
        """What registers have after a point; an open value that another follows has ended."""
        for number, register in enumerate(self.lane.registers):
            before = walk.values.pop(number, None)
            if not walk.word & register.group:
                continue
            values = self._signalled(number, fired, records, False)
            after = walk.values[number] = values.pop() if values else before  # type: ignore[assignment]
            if old & walk.word & 1 << register.open_bit and before != after:
                self._write(key, register.open_bit, walk.since[register.open_bit], now, before)
                walk.since[register.open_bit] = now

    # -- the walk ----------------------------------------------------------------------------

    def _walk(self, key: Key, records: dict[int, list[_Record]], initial: int) -> None:
        allowed = self._allowed(key)
        word = initial & allowed
        for number, bit in enumerate(self.lane.state):
            if bit.kind is StateKind.FACT and self._fact_holds(bit, key):
                word |= 1 << number
        walk = _Walk(self._derived(word, allowed))
        for number in bits_of(walk.word):
            walk.since[number] = self.start + self.lane.tick
        for at, register in enumerate(self.lane.registers):
            for number, term in register.named:
                if walk.word >> number & 1:
                    walk.values[at] = term
        for number, delay in enumerate(self.lane.delays):
            if delay.follows_initial and initial & allowed & 1 << delay.source:
                walk.due[number] = self.start + delay.delay
        waiting = sorted(records)
        while True:
            times = [*waiting[:1], *(time for time in walk.due.values() if time <= self.end)]
            if not times:
                break
            now = min(times)
            if waiting and waiting[0] == now:
                waiting.pop(0)
            self._point(key, walk, now, records.get(now, []), allowed)
        for number in bits_of(walk.word & self._written):
            self._write(key, number, walk.since[number], NEVER, self._value_at(walk, number))

    def _value_at(self, walk: _Walk, number: int) -> Term | None:
        """The value of an open bit."""
        for at, register in enumerate(self.lane.registers):
            if register.open_bit == number:
                return walk.values[at]
        return None

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

    def _point(self, key: Key, walk: _Walk, now: int, records: list[_Record], allowed: int) -> None:
        old, fired = walk.word, 0
        records = [replace(record) for record in records]
        for record in records:
            for guard in self.lane.guards:
                record.fired |= self._meets(guard, record, walk.values) << guard.bit
            fired |= record.fired
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
                    clash, closed = self._clashing(walk, row.init, fired, records)
                    initiated, terminated = initiated | clash, terminated | closed
                    new = self._commit(walk, row.init, initiated, terminated, new, now, allowed)
        walk.word = new
        held = dict(walk.values)
        self._set_values(key, walk, old, fired, records, now + self.lane.tick)
        self._tell(key, walk, old, now, held)
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

    def _tell(self, key: Key, walk: _Walk, old: int, now: int, held: dict[int, Term]) -> None:
        after = now + self.lane.tick
        for number in bits_of((old ^ walk.word) & self._written):
            if walk.word >> number & 1:
                walk.since[number] = after
            else:
                before = replace(walk, values=held)
                value = self._value_at(before, number)
                self._write(key, number, walk.since[number], after, value)

    def _write(
        self, key: Key, number: int, start: int, end: int | None, value: Term | None = None
    ) -> None:
        bit = self.lane.state[number]
        assert bit.relation is not None
        assert bit.value is not None
        pair = (bit.relation, self._instance(bit, key), value or bit.value)
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


def named_keys(solver: Solver, members: KeyMembers) -> Iterator[Key]:
    """The keys that groundings name."""
    for grounding in members.groundings:
        assert isinstance(grounding.entity, Pair)
        key = [grounding.entity.args[place] for place in members.positions]
        for answer in solver.solve(grounding.goals, {}):
            yield tuple(
                canonical(answer[term.name] if isinstance(term, Variable) else term) for term in key
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
