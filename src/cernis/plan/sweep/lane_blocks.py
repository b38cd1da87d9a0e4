"""Blocks of rows in the order in which a point is decided.

A block is a derived event or another signal, the values of one instance of a simple fluent, or a
causal statically determined pair. It comes after the blocks whose signals, starts and ends it asks
for; what held before the point is known to all. Where blocks ask for each other there is no order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from typing import TypeVar

from cernis.check.model import Relation
from cernis.plan.sweep.definition_rows import ChangeRow, DefinitionRows
from cernis.plan.sweep.delay_plans import DelayDraft
from cernis.plan.sweep.lane_rules import BodyTranslator, RowBody, change_bit, event_bit, pair_bit
from cernis.plan.sweep.lanes import (
    OPEN,
    Arguments,
    FiredBit,
    FiredKind,
    LaneOp,
    StateBit,
    StateKind,
)
from cernis.plan.sweep.rule_bodies import AskedKind
from cernis.plan.sweep.static_formulas import StaticPair
from cernis.plan.sweep.unrolled import Instance
from cernis.source import NOWHERE, Span


@dataclass(frozen=True, slots=True)
class DraftRow:
    """A row of a lane, with bits instead of masks."""

    op: LaneOp
    body: RowBody = field(default_factory=RowBody)
    init: frozenset[StateBit] = frozenset()
    term: frozenset[StateBit] = frozenset()
    signal: frozenset[FiredBit] = frozenset()
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Block:
    """Rows of one instance or signal, and what they decide."""

    relation: Relation | None
    """The definition it belongs to; None for a signal that serves rows of several."""
    rows: tuple[DraftRow, ...]
    sets: frozenset[StateBit | FiredBit]

    def reads(self) -> frozenset[StateBit | FiredBit]:
        """What of its own point it asks for."""
        bits: set[StateBit | FiredBit] = set()
        for row in self.rows:
            body = row.body
            bits |= {bit for bit in body.fired if bit.kind is FiredKind.SIGNAL}
            bits |= body.starts | body.ends
            if row.op is LaneOp.TERM:
                bits |= {bit for bit in body.pos | body.neg if bit.kind is StateKind.PAIR}
        return frozenset(bits)

    @cached_property
    def state(self) -> tuple[StateBit, ...]:
        """All bits of state that it reads or sets, in the order of the rows."""
        bits: dict[StateBit, None] = {}
        for row in self.rows:
            body = row.body
            for group in (row.init, row.term, body.pos, body.neg, body.starts, body.ends):
                bits.update(dict.fromkeys(_sorted(group)))
        return tuple(bits)

    @cached_property
    def fired(self) -> tuple[FiredBit, ...]:
        """All fired bits that it reads or sets."""
        bits: dict[FiredBit, None] = {}
        for row in self.rows:
            for bit in _sorted(row.body.fired | row.signal):
                if bit.kind is FiredKind.GUARD and bit.base is not None:
                    bits[bit.base] = None
                bits[bit] = None
        return tuple(bits)


B = TypeVar("B", StateBit, FiredBit)


def _sorted(bits: frozenset[B]) -> list[B]:
    return sorted(bits, key=repr) if len(bits) > 1 else list(bits)


def due_bit(source: Instance) -> FiredBit:
    """The fired bit of what is due after the initiation of a pair."""
    return FiredBit(FiredKind.DUE, source.relation, source.arguments, source.value)


def armed_bit(source: Instance) -> StateBit:
    """The bit that says that an effect of a pair is under way."""
    return StateBit(StateKind.ARMED, source.relation, source.arguments, source.value)


def fluent_blocks(rows: DefinitionRows, instances: Iterable[Instance]) -> Iterator[Block]:
    """A block for each instance of a simple fluent, with all its values."""
    groups: dict[Arguments, list[Instance]] = {}
    for instance in instances:
        groups.setdefault(instance.arguments, []).append(instance)
    changes = [*rows.changes, *map(_due_row, rows.delays)]
    for arguments, group in groups.items():
        bits = frozenset(map(pair_bit, group))
        drafts = dict.fromkeys(
            row for change in changes for row in _rows_of(change, arguments, group)
        )
        if any(bit.kind is StateKind.OPEN for bit in bits):
            drafts.update(dict.fromkeys(_register_rows(rows.relation, arguments)))
            bits |= {_clash_state(rows.relation, arguments)}
        commit = DraftRow(LaneOp.COMMIT, init=bits)
        yield Block(rows.relation, (*drafts, commit), bits)


def _clash_state(relation: Relation, arguments: Arguments) -> StateBit:
    return StateBit(StateKind.CLASH, relation, arguments)


def register_bit(kind: FiredKind, relation: Relation, arguments: Arguments) -> FiredBit:
    """The fired bit that says that values of a fluent clash, or that its value is terminated."""
    return FiredBit(kind, relation, arguments)


def _register_rows(relation: Relation, arguments: Arguments) -> Iterator[DraftRow]:
    """What two open values at a point, and the termination of an open value, do."""
    clash, closing = (
        RowBody(any=frozenset([register_bit(kind, relation, arguments)]))
        for kind in (FiredKind.CLASH, FiredKind.CLOSING)
    )
    yield DraftRow(LaneOp.RULE, clash, init=frozenset([_clash_state(relation, arguments)]))
    open_value = pair_bit(Instance(relation, arguments, OPEN))
    yield DraftRow(LaneOp.RULE, closing, term=frozenset([open_value]))


def _due_row(delay: DelayDraft) -> ChangeRow:
    body = RowBody(any=frozenset([due_bit(delay.source)]), span=delay.span)
    if delay.target is None:
        return ChangeRow(body, ended=delay.source.terms)
    return ChangeRow(body, delay.target)


def _rows_of(change: ChangeRow, arguments: Arguments, group: list[Instance]) -> Iterator[DraftRow]:
    """The row of a change that concerns an instance, if it does."""
    signal = frozenset() if change.value is None else frozenset([change.value])
    if change.initiated is not None:
        if change.initiated.arguments == arguments:
            init = frozenset([pair_bit(change.initiated)])
            yield DraftRow(
                LaneOp.RULE, change.body, init=init, signal=signal, span=change.body.span
            )
        return
    assert change.ended is not None
    if change.value is not None:
        if change.value.arguments == arguments:
            yield DraftRow(LaneOp.RULE, change.body, signal=signal, span=change.body.span)
        return
    ended = [each for each in group if _fits(each.terms, change.ended)]
    if ended:
        term = frozenset(map(pair_bit, ended))
        yield DraftRow(LaneOp.RULE, change.body, term=term, span=change.body.span)


def _fits(terms: Arguments, pattern: Arguments) -> bool:
    return all(asked is None or term == asked for term, asked in zip(terms, pattern, strict=True))


def event_blocks(rows: DefinitionRows, instances: Iterable[Instance]) -> Iterator[Block]:
    """A block for each instance of a derived event."""
    for instance in instances:
        bodies = [body for body, head in rows.happenings if head == instance]
        yield signal_block(rows.relation, event_bit(instance), bodies)


def signal_block(relation: Relation | None, bit: FiredBit, bodies: Iterable[RowBody]) -> Block:
    """Rows that send one signal."""
    signal = frozenset([bit])
    rows = dict.fromkeys(
        DraftRow(LaneOp.RULE, body, signal=signal, span=body.span) for body in bodies
    )
    return Block(relation, tuple(rows), signal)


def change_block(bit: FiredBit, rows: DefinitionRows) -> Block:
    """The signal of an initiation or termination that other rules ask for.

    It is sent whether the initiation counts or not, and by delayed effects, too.
    """
    changes = [*rows.changes, *map(_due_row, rows.delays)]
    if bit.word == AskedKind.INITIATION:
        bodies = [
            change.body for change in changes
            if change.initiated is not None
            and change_bit(AskedKind.INITIATION, change.initiated) == bit
        ]  # fmt: skip
    else:
        wanted = (*bit.arguments, bit.value)
        bodies = [
            change.body for change in changes
            if change.ended is not None and _unify(change.ended, wanted)
        ]  # fmt: skip
    return signal_block(rows.relation, bit, bodies)


def _unify(ended: Arguments, asked: Arguments) -> bool:
    pairs = zip(ended, asked, strict=True)
    return all(one is None or other is None or one == other for one, other in pairs)


def derived_block(pair: StaticPair) -> Block:
    """The terms of a causal statically determined pair, and the bit that they decide."""
    bit = frozenset([pair_bit(pair.instance)])
    terms = [
        DraftRow(LaneOp.TERM, RowBody(pos=term.pos, neg=term.neg), span=pair.span)
        for term in pair.formula
    ]
    derive = DraftRow(LaneOp.DERIVE, init=bit, span=pair.span)
    return Block(pair.instance.relation, (*terms, derive), bit)


def definition_blocks(
    rows: Mapping[Relation, DefinitionRows], statics: Mapping[Instance, StaticPair],
    translator: BodyTranslator,
) -> Iterator[Block]:  # fmt: skip
    """All blocks of some definitions, and of the signals that their rows need."""
    known = translator.known.of
    for relation, each in rows.items():
        instances = known.get(relation, {})
        is_event = all(instance.value is None for instance in instances) and instances
        if is_event:
            yield from event_blocks(each, instances)
        else:
            yield from fluent_blocks(each, instances)
    for pair in statics.values():
        yield derived_block(pair)
    for bit, bodies in translator.signals.items():
        yield signal_block(None, bit, bodies)
    for bit in translator.changes_asked:
        assert bit.relation is not None
        yield change_block(bit, rows[bit.relation])


def in_order(blocks: list[Block]) -> tuple[list[Block], list[Block]]:
    """Blocks so that each comes after those it asks, and those for which there is no such order.

    Otherwise they stay in the order they have.
    """
    setter = {bit: number for number, block in enumerate(blocks) for bit in block.sets}
    asks = [{setter[bit] for bit in block.reads() if bit in setter} for block in blocks]
    asked_by: list[list[int]] = [[] for _ in blocks]
    for number, others in enumerate(asks):
        for other in others:
            asked_by[other].append(number)
    missing = [len(others) for others in asks]
    ready = [number for number, count in enumerate(missing) if not count]
    ordered: list[int] = []
    while ready:
        number = heappop(ready)
        ordered.append(number)
        for later in asked_by[number]:
            missing[later] -= 1
            if not missing[later]:
                heappush(ready, later)
    left = sorted(set(range(len(blocks))) - set(ordered))
    return [blocks[number] for number in ordered], [blocks[number] for number in left]
