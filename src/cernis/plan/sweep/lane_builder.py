"""Lanes of the blocks of a stage: what belongs together, and which number each bit gets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from cernis.check.model import Grounding, Relation
from cernis.knowledge.digraphs import DisjointSets
from cernis.plan.logical import Scan
from cernis.plan.sweep.definition_rows import DefinitionRows
from cernis.plan.sweep.held_values import open_bit
from cernis.plan.sweep.key_members import KeyMembers
from cernis.plan.sweep.lane_blocks import Block, DraftRow, armed_bit, due_bit, register_bit
from cernis.plan.sweep.lane_inputs import input_program
from cernis.plan.sweep.lane_rules import pair_bit
from cernis.plan.sweep.lanes import (
    MOST_BITS,
    FiredBit,
    FiredKind,
    Lane,
    LaneDelay,
    LaneGrounding,
    LaneGuard,
    LaneRegister,
    LaneRow,
    RegisterSource,
    StateBit,
    StateKind,
    is_copy,
    is_gate,
    is_hidden,
)
from cernis.plan.sweep.members.head_members import HeadMembers
from cernis.plan.sweep.members.sent_points import SentPoints

_OF_INPUT = (FiredKind.RECORD, FiredKind.EDGE)

_FEW_BITS = 10
"""Lanes that do not read each other may be one if they have no more bits of state together."""


@dataclass(frozen=True, slots=True)
class LaneSettings:
    """What all lanes of a stage share."""

    key: tuple[str, ...]
    keys: Mapping[Relation, tuple[int, ...]]
    ties: str
    tick: int


def alone_signals(blocks: list[Block]) -> dict[FiredBit, FiredBit]:
    """Signals of changes that are nothing but another fired bit: that one stands for them."""
    same: dict[FiredBit, FiredBit] = {}
    for block in blocks:
        if len(block.rows) != 1 or not block.rows[0].signal:
            continue
        (signal,), body = block.rows[0].signal, block.rows[0].body
        conditions = (body.all, body.none, body.starts, body.ends, body.pos, body.neg)
        if signal.word != "event" and len(body.any) == 1 and not any(conditions):
            same[signal] = next(iter(body.any))
    return {signal: _followed(bit, same) for signal, bit in same.items()}


def _followed(bit: FiredBit, same: Mapping[FiredBit, FiredBit]) -> FiredBit:
    while bit in same:
        bit = same[bit]
    return bit


def without_alone_signals(blocks: list[Block]) -> list[Block]:
    """The blocks with such signals replaced, without those whose signal no row sends."""
    same = alone_signals(blocks)
    return [
        _renamed(block, same) for block in blocks if block.rows and not block.sets & same.keys()
    ]


def _renamed(block: Block, same: Mapping[FiredBit, FiredBit]) -> Block:
    rows = tuple(
        replace(
            row,
            body=replace(
                row.body,
                any=frozenset(same.get(bit, bit) for bit in row.body.any),
                all=frozenset(same.get(bit, bit) for bit in row.body.all),
                none=frozenset(same.get(bit, bit) for bit in row.body.none),
            ),
        )
        for row in block.rows
    )
    return replace(block, rows=rows)


def parts_apart(
    blocks: list[Block], values_of_key: Callable[[Relation], Hashable]
) -> list[list[Block]]:
    """Blocks that read each other or are of one definition together, others apart.

    Small parts are joined if `values_of_key` says that their keys are values of one kind.
    """
    parts: DisjointSets[object] = DisjointSets()
    for number, block in enumerate(blocks):
        for mark in _marks(block):
            parts.follow(parts.find(mark), parts.find(number))
    members: dict[object, list[Block]] = {}
    for number, block in enumerate(blocks):
        members.setdefault(parts.find(number), []).append(block)
    return _joined(list(members.values()), values_of_key)


def _marks(block: Block) -> set[object]:
    """What two blocks of one lane share."""
    marks: set[object] = {*block.sets, *([block.relation] if block.relation else [])}
    marks |= {bit for bit in block.state if bit.kind in (StateKind.PAIR, StateKind.OPEN)}
    marks |= {open_bit(held) for bit in block.fired for held in bit.held}
    marks |= {bit for bit in block.fired if bit.kind is FiredKind.SIGNAL}
    return marks | {bit.relation for bit in block.fired if bit.kind is FiredKind.DUE}


def _joined(
    parts: list[list[Block]], values_of_key: Callable[[Relation], Hashable]
) -> list[list[Block]]:
    """Small parts joined, so that a query has fewer walks, each of which costs something."""
    joined: list[list[Block]] = []
    for part in parts:
        is_small = bool(joined) and _size(joined[-1]) + _size(part) <= _FEW_BITS
        is_small = is_small and not (_has_register(part) or _has_register(joined[-1]))
        kinds = {
            values_of_key(r)
            for each in (part, joined[-1] if joined else [])
            for r in _relations(each)
        }
        if is_small and len(kinds) == 1:
            joined[-1] = [*joined[-1], *part]
        else:
            joined.append(part)
    return joined


def _has_register(part: list[Block]) -> bool:
    """Rows of lanes with registers have more beside them: others do not join these."""
    return any(bit.kind is StateKind.OPEN for block in part for bit in block.state)


def _relations(part: list[Block]) -> set[Relation]:
    """The events it reads, and the definitions that it is about."""
    fired = (bit for block in part for bit in block.fired)
    events = {bit.relation for bit in fired if bit.kind in _OF_INPUT and bit.relation}
    return events | {block.relation for block in part if block.relation is not None}


def _size(part: list[Block]) -> int:
    return len({bit for block in part for bit in block.state})


@dataclass(slots=True)
class LaneBuilder:
    """Makes a lane of some blocks."""

    settings: LaneSettings
    rows: Mapping[Relation, DefinitionRows]
    groundings: Mapping[Relation, tuple[Grounding, ...]]
    """Those of statically determined fluents."""
    members: Mapping[Relation, KeyMembers] = field(default_factory=dict)
    """By statically determined fluent: keys of which it may hold though nothing else does."""
    head_members: Mapping[Relation, HeadMembers] = field(default_factory=dict)
    sent: Mapping[Relation, SentPoints] = field(default_factory=dict)
    copies: Mapping[Relation, Relation] = field(default_factory=dict)

    def lane(self, blocks: Sequence[Block]) -> Lane:
        """The lane, if it has no more bits and blocks than a word."""
        relations = dict.fromkeys(b.relation for b in blocks if b.relation is not None)
        drafts = [self.rows[r] for r in relations if r in self.rows]
        delays = {delay.source: delay for each in drafts for delay in each.delays}
        armed = map(armed_bit, delays)
        state = tuple(dict.fromkeys([*(b for block in blocks for b in block.state), *armed]))
        state = tuple(sorted(state, key=lambda bit: bit.kind is StateKind.OPEN))
        fired = tuple(dict.fromkeys(bit for block in blocks for bit in block.fired))
        numbers = _BitNumbers(state, fired)
        registers = tuple(_registers(blocks, numbers))
        lane_rows = [numbers.row(row) for block in blocks for row in block.rows]
        first_row = [0]
        for block in blocks:
            first_row.append(first_row[-1] + len(block.rows))
        events = [bit.relation for bit in fired if bit.kind is FiredKind.RECORD]
        program = input_program(self.settings.key, fired, self.settings.keys)
        held = [bit.relation for bit in state if bit.kind is StateKind.PAIR]
        known = [each for each in held if each in self.settings.keys]
        read = dict.fromkeys(each for each in (*relations, *events, *known) if each is not None)
        return Lane(
            self.settings.key,
            (*((r, self._key_of(r)) for r in read),
             *((self.copies[r], self._key_of(r)) for r in relations if r in self.copies)),
            tuple(r for r in relations if not (is_hidden(r) or is_gate(r) or is_copy(r))),
            state, fired,
            tuple(lane_rows), tuple(first_row),
            tuple(
                LaneDelay(
                    numbers.state[pair_bit(source)], delay.delay, numbers.fired[due_bit(source)],
                    numbers.state[armed_bit(source)], delay.postponable, delay.until_due,
                    delay.follows_initial, delay.span,
                )
                for source, delay in delays.items()
            ),
            _pairs(state, relations, are_hidden=False), _pairs(state, relations, are_hidden=True),
            sum(1 << at for at, bit in enumerate(fired) if bit.word == "event"),
            tuple(self._groundings(state)),
            tuple(
                replace(initial, bit=numbers.state[pair_bit(instance)])
                for each in drafts for instance, initial in each.initials
            ),
            self.settings.ties, self.settings.tick, registers, _guards(numbers, registers),
            tuple(self.members[relation] for relation in relations if relation in self.members),
            tuple(self.head_members[r] for r in relations if r in self.head_members),
            tuple(self.sent[relation] for relation in dict.fromkeys(events)
                  if relation is not None and relation in self.sent),
            tuple((relation, self.copies[relation]) for relation in relations
                  if relation in self.copies),
            program,
        )  # fmt: skip

    def _key_of(self, relation: Relation) -> tuple[int, ...]:
        """The positions of the key; a hidden list has no other arguments."""
        return tuple(range(relation.arity)) if is_hidden(relation) else self.settings.keys[relation]

    def too_much(self, blocks: Sequence[Block]) -> list[Relation]:
        """The definitions from which on some blocks, in their order, no longer fit a word."""
        state: set[StateBit] = set()
        fired: set[FiredBit] = set()
        left_out: dict[Relation, None] = {}
        for number, block in enumerate(blocks):
            state.update(block.state)
            fired.update(block.fired)
            known = self.rows.get(block.relation) if block.relation is not None else None
            state.update(armed_bit(delay.source) for delay in (known.delays if known else ()))
            if max(len(state), len(fired), number + 1) > MOST_BITS and block.relation is not None:
                left_out[block.relation] = None
        return list(left_out)

    def _groundings(self, state: Sequence[StateBit]) -> Iterable[LaneGrounding]:
        for number, bit in enumerate(state):
            if bit.kind is not StateKind.PAIR or bit.relation is None:
                continue
            known = self.rows.get(bit.relation)
            groundings = known.groundings if known else self.groundings.get(bit.relation, ())
            if groundings:
                yield LaneGrounding(number, groundings)


def _pairs(state: Sequence[StateBit], relations: Collection[Relation], are_hidden: bool) -> int:
    """The mask of the pairs of definitions, or of those that are lists inside of rules."""
    return sum(
        1 << number
        for number, bit in enumerate(state)
        if bit.kind in (StateKind.PAIR, StateKind.OPEN) and bit.relation is not None
        and bit.relation in relations and is_hidden(bit.relation) is are_hidden
        and not is_copy(bit.relation)
    )  # fmt: skip


def _registers(blocks: Sequence[Block], numbers: _BitNumbers) -> Iterator[LaneRegister]:
    """The registers of the fluents that take any value."""
    for block in blocks:
        for bit in block.sets:
            if isinstance(bit, StateBit) and bit.kind is StateKind.OPEN:
                yield _register(block, bit, numbers)


def _register(block: Block, bit: StateBit, numbers: _BitNumbers) -> LaneRegister:
    assert bit.relation is not None
    clash, closing = (
        numbers.fired[register_bit(kind, bit.relation, bit.arguments)]
        for kind in (FiredKind.CLASH, FiredKind.CLOSING)
    )
    group = {each: numbers.state[each] for each in block.sets if isinstance(each, StateBit)}
    named = [(number, each.value) for each, number in group.items()
             if each.kind is StateKind.PAIR and each.value is not None]  # fmt: skip
    signals = dict.fromkeys(signal for row in block.rows for signal in row.signal)
    return LaneRegister(
        bit.relation, bit.arguments, numbers.state[bit], sum(1 << n for n in group.values()),
        clash, closing, tuple(sorted(named, key=lambda each: each[0])),
        tuple(_source(signal, numbers) for signal in signals),
    )  # fmt: skip


def _source(signal: FiredBit, numbers: _BitNumbers) -> RegisterSource:
    number = numbers.fired[signal]
    if signal.base is None:
        return RegisterSource(number, constant=signal.value)
    carrier, is_ending = numbers.fired[signal.base], signal.word == "ended value"
    return RegisterSource(number, carrier, signal.variable, is_ending=is_ending)


def _guards(numbers: _BitNumbers, registers: Sequence[LaneRegister]) -> tuple[LaneGuard, ...]:
    places = {(each.relation, each.arguments): at for at, each in enumerate(registers)}
    guards = []
    for bit, number in numbers.fired.items():
        if bit.kind is FiredKind.GUARD and bit.base is not None:
            held = tuple(
                (places[each.relation, each.arguments], each.variable, each.negated)
                for each in bit.held
            )
            scan = bit.steps[0]
            assert isinstance(scan, Scan)
            guards.append(LaneGuard(number, numbers.fired[bit.base], scan, held, bit.conditions))
    return tuple(guards)


class _BitNumbers:
    """The number of each bit."""

    def __init__(self, state: Sequence[StateBit], fired: Sequence[FiredBit]) -> None:
        self.state = {bit: number for number, bit in enumerate(state)}
        self.fired = {bit: number for number, bit in enumerate(fired)}

    def row(self, draft: DraftRow) -> LaneRow:
        body, state, fired = draft.body, self.state, self.fired
        return LaneRow(
            draft.op, _mask(body.any, fired), _mask(body.all, fired), _mask(body.none, fired),
            _mask(body.starts, state), _mask(body.ends, state), _mask(body.pos, state),
            _mask(body.neg, state), _mask(draft.init, state), _mask(draft.term, state),
            _mask(draft.signal, fired), draft.span,
        )  # fmt: skip


B = TypeVar("B")


def _mask(bits: Iterable[B], numbers: Mapping[B, int]) -> int:
    mask = 0
    for bit in bits:
        mask |= 1 << numbers[bit]
    return mask
