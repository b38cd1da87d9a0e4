"""Fluents of the input in lanes: a bit of the state that starts and ends set and clear.

Their intervals are united first, by a program over lists of its own, and lanes see where the united
ones start and end. So a point at which one interval ends and another begins is neither.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from cernis.check.model import Changes, Pair, Relation
from cernis.plan.logical import Definition, parts_of
from cernis.plan.sweep.lane_blocks import Block, DraftRow
from cernis.plan.sweep.lane_rules import RowBody, pair_bit
from cernis.plan.sweep.lanes import (
    FiredBit,
    FiredKind,
    LaneOp,
    ListOp,
    ListOutput,
    ListProgram,
    ListRow,
    ListSource,
    StateBit,
    StateKind,
    edge_of_input,
)
from cernis.plan.sweep.static_formulas import StaticPair
from cernis.plan.sweep.unfit import NotCausalError, NotSweptError
from cernis.plan.sweep.unrolled import Instance, pattern_of


def input_instances(
    definition: Definition, inputs: Collection[Relation],
    keys: Mapping[Relation, tuple[int, ...]],
) -> Iterator[Instance]:  # fmt: skip
    """The pairs of the input that rules name; others have no bits."""
    for part in parts_of(definition.rules):
        if isinstance(part, Changes) and part.pair.relation in inputs:
            reason = f"asks what changes {part.pair.relation}, whose intervals are input"
            raise NotSweptError(reason, part.pair.span)
        if isinstance(part, Pair) and part.relation in inputs:
            positions = keys[part.relation]
            pattern = pattern_of((*part.args, part.value), positions, {})
            if any(term is None for at, term in enumerate(pattern) if at not in positions):
                reason = f"reads {part.relation}, whose intervals are input, with any value"
                raise NotSweptError(reason, part.span)
            yield Instance(part.relation, pattern[:-1], pattern[-1])


def check_joined(pair: StaticPair, of_input: set[StateBit]) -> None:
    """What is decided from input and is no union may be unsure at a query, where lanes are sure.

    A point of the input that lies at the query may go on after it. `of_input` are the bits that
    depend on input, to which that of the pair is added.
    """
    bits = {bit for term in pair.formula for bit in (*term.pos, *term.neg)}
    if bits.isdisjoint(of_input):
        return
    for term in pair.formula:
        if term.neg or sum(bit.kind is not StateKind.FACT for bit in term.pos) != 1:
            raise NotCausalError("intersects intervals that are input", pair.span)
    of_input.add(pair_bit(pair.instance))


def without_unread(blocks: list[Block], repeated: Collection[Relation]) -> list[Block]:
    """The blocks without those that repeat a list for nobody; others of lists define nothing."""
    kept = [block for block in blocks if block.relation not in repeated]
    waiting = [replace(block, relation=None) for block in blocks if block.relation in repeated]
    while True:
        read_bits = {bit for block in kept for bit in block.state}
        read = [block for block in waiting if not read_bits.isdisjoint(block.sets)]
        if not read:
            return kept
        kept += read
        waiting = [block for block in waiting if read_bits.isdisjoint(block.sets)]


def input_blocks(instances: Iterable[Instance], blocks: Collection[Block]) -> Iterator[Block]:
    """The blocks of the pairs of the input that other blocks ask for."""
    read_bits = {bit for block in blocks for bit in block.state}
    for instance in instances:
        bit = pair_bit(instance)
        if bit not in read_bits:
            continue
        start, end = (RowBody(any=frozenset([_edge(instance, word)])) for word in ("start", "end"))
        bits = frozenset([bit])
        rows = (
            DraftRow(LaneOp.RULE, start, init=bits), DraftRow(LaneOp.RULE, end, term=bits),
            DraftRow(LaneOp.COMMIT, init=bits),
        )  # fmt: skip
        yield Block(None, rows, bits)


def _edge(instance: Instance, word: str) -> FiredBit:
    return edge_of_input(instance.relation, instance.arguments, instance.value, word)


def input_program(
    key: tuple[str, ...], fired: Iterable[FiredBit], keys: Mapping[Relation, tuple[int, ...]]
) -> ListProgram | None:
    """The program that unites the pairs of the input that a lane reads; None if it reads none."""
    starts = [bit for bit in fired if bit.kind is FiredKind.EDGE and bit.word == "start"]
    sources, rows, outputs = [], [], []
    for number, bit in enumerate(starts):
        assert bit.relation is not None
        assert bit.value is not None
        result, positions = len(starts) + number, keys[bit.relation]
        sources.append(
            ListSource(number, bit.relation, bit.arguments, bit.value, positions, None, True)
        )
        rows.append(ListRow(ListOp.OUTPUT, result, number, 0, number))
        outputs.append(
            ListOutput(result, bit.relation, bit.arguments, bit.value, positions, (), True)
        )
    if not starts:
        return None
    return ListProgram(
        (), frozenset(), key, 2 * len(starts), tuple(sources), tuple(rows), tuple(outputs)
    )
