"""The tables of a walk over linked instances: all that it knows of the rules, in one array.

There are several *kinds* of instances. Each has the tables of a lane, state bits that are read of
other instances over links, and fired bits that are sent to others over links. Kinds are numbered so
that links lead from lower numbers to higher ones.

What is known of an instance lies in one array too, from its *handle* on: its state word, what has
fired so far at the point that is being decided, its number among those of its kind, the handles of
the instances it is linked to, for each delay when it is due, for each reported pair since when it
has held, what groundings allow it, if its kind has any, and places in chains. Instances begin where
lines of the processor's cache do.

Some state bits are *late*: they follow from words of linked instances as they are after a point.
So a chain leads from each instance that such bits rest on to those whose bits may change with it.
These are *active*: own bits hold without which no late bit does. The *head* of the chain is a place
of the instance that is linked to, and each instance of the chain has the handles of its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import or_

import numpy as np

from cernis.kernels.array_types import Matrix, Words
from cernis.kernels.sweep.lane_tables import (
    BREAK,
    COMMIT,
    DERIVE,
    INIT,
    MOST_BITS,
    NEG,
    OP,
    POS,
    TERM,
    LaneTables,
    armed_mask,
    packed,
)

WORD, FIRED, NUMBER, LINKS = range(4)
"""The places of an instance, counted from its handle. Links come from `LINKS` on, then dues, then
the starts of what holds, then what is allowed."""

LINE = 8
"""As many places are a line of the cache."""

KIND_BITS = 8
"""A record's instance is its handle, shifted by so many bits, plus the number of its kind."""

CONFLICT_CODES = 1 << KIND_BITS
"""So many codes of output are there for conflicts."""

NO_DUE = np.int64(np.iinfo(np.int64).max)
"""A delay that is not under way is due then."""

HALF = 32
NO_NEIGHBOUR = (1 << HALF) - 1
NO_CHAIN = NO_NEIGHBOUR - 1
"""The place of a chain has the handle of the next instance in its lower half and that of the one
before in its upper half, `NO_NEIGHBOUR` at an end. `NO_CHAIN` has an instance that is not on it."""

HEADER = 26
(
    LANE_AT, LANE_END, OWN, REPORTED, SENT, READS_AT, READ_COUNT, SENT_AT, DELAYS_AT, DELAY_COUNT,
    FIRST_QUEUE, DUES_AT, SINCE_AT, SLOTS_AT, SIGNALS, ARMED_BITS, ALLOWED_AT, LAST_LINE, LATE,
    LATE_READ, ACTIVE, WATCHED, CHAINS_AT, CHAIN_COUNT, READERS_AT, READER_COUNT,
) = range(HEADER)  # fmt: skip
"""The places in the header of a kind. `OWN` are the state bits that are not read of others, `SENT`
the fired bits that are sent, `SIGNALS` those that are reported. `ALLOWED_AT` is 0 if all is
allowed, `LAST_LINE` is where the last line of an instance begins. Each read has its link, the bit
of the other instance and its own bit; each of the 64 fired bits has the link it is sent over, the
kind and the fired bit there; each of the 64 state bits has its slot among the starts. `LATE` are
the late bits, `LATE_READ` the own bits that they rest on, `ACTIVE` those without which none holds,
`WATCHED` the bits that late ones of other kinds rest on. Each chain has its link, the place of the
neighbours, and that of the head. Each reader has its kind, the place of the neighbours, that of the
head, and the bits that it rests on."""

READ_SIZE, SENT_SIZE, CHAIN_SIZE, READER_SIZE = 3, 3, 3, 4


@dataclass(frozen=True)
class KindTables:
    """A kind of instances: its lane, the kinds that its links lead to, and what goes over them.

    A read is the link, the state bit of the other instance, and the own state bit. A signal is the
    own fired bit, the link, and the fired bit of the other instance.
    """

    lane: LaneTables
    links: tuple[int, ...]
    reads: tuple[tuple[int, int, int], ...]
    signals: tuple[tuple[int, int, int], ...]
    has_groundings: bool = True
    late: int = 0
    """The state bits that follow from words of others after a point."""
    readers: int = 0
    """How many chains begin at an instance."""

    @cached_property
    def slots(self) -> dict[int, int]:
        """By state bit that is reported: which of the starts is its own.

        Where ties break, one value of a simple fluent holds at most: all have one start.
        """
        groups = [
            row[INIT] for row in self.lane.blocks.tolist()
            if row[OP] == COMMIT and self.lane.ties == BREAK
        ]  # fmt: skip
        slots: dict[int, int] = {}
        for bit in (bit for bit in range(MOST_BITS) if int(self.lane.reported) >> bit & 1):
            group = next((group for group in groups if group >> bit & 1), 1 << bit)
            known = [slot for other, slot in slots.items() if group >> other & 1]
            slots[bit] = known[0] if known else len(set(slots.values()))
        return slots

    @property
    def slot_count(self) -> int:
        """How many starts an instance has."""
        return len(set(self.slots.values()))

    @property
    def dues_at(self) -> int:
        """Where the dues of an instance begin."""
        return LINKS + len(self.links)

    @property
    def since_at(self) -> int:
        """Where the starts of what holds begin."""
        return self.dues_at + len(self.lane.delays)

    @property
    def allowed_at(self) -> int:
        """Where it is noted what groundings allow; 0 if there are none."""
        return self.since_at + self.slot_count if self.has_groundings else 0

    @property
    def chains_at(self) -> int:
        """Where the neighbours on chains are; heads come after them."""
        return self.since_at + self.slot_count + self.has_groundings

    @cached_property
    def late_terms(self) -> list[tuple[int, int]]:
        """What must hold, and what must not, for a late bit."""
        terms: list[tuple[int, int]] = []
        for block in range(len(self.lane.first_row) - 1):
            first, stop = self.lane.first_row[block : block + 2]
            rows = self.lane.blocks[first:stop].tolist()
            if rows[-1][OP] == DERIVE and rows[-1][INIT] & self.late:
                terms += [(row[POS], row[NEG]) for row in rows if row[OP] == TERM]
        return terms

    @property
    def imported(self) -> int:
        """The state bits that are read of others."""
        return sum(1 << own for _, _, own in self.reads)

    @property
    def late_reads(self) -> list[tuple[int, int, int]]:
        """The reads that late bits rest on."""
        bits = self._late_bits
        return [read for read in self.reads if bits >> read[2] & 1]

    @property
    def late_read(self) -> int:
        """The own bits that late ones rest on."""
        return self._late_bits & ~self.imported

    @property
    def active(self) -> int:
        """Bits of which one must hold for any late bit to hold."""
        own = [pos & ~self.imported for pos, _ in self.late_terms]
        return _together(bits & -bits for bits in own)

    @property
    def chains(self) -> list[int]:
        """The links over which late bits read."""
        return sorted({link for link, _, _ in self.late_reads})

    @property
    def _late_bits(self) -> int:
        return _together(pos | neg for pos, neg in self.late_terms)

    @property
    def width(self) -> int:
        """How many places an instance has, as whole lines."""
        count = self.chains_at + len(self.chains) + self.readers
        return -(-count // LINE) * LINE


def _together(masks: Iterable[int]) -> int:
    return reduce(or_, masks, 0)


def chained(kinds: Sequence[KindTables]) -> list[KindTables]:
    """Kinds with room for the chains that begin at their instances."""
    return [replace(kind, readers=len(_readers(kinds, at))) for at, kind in enumerate(kinds)]


def _readers(kinds: Sequence[KindTables], target: int) -> list[tuple[int, int, int]]:
    """The chains that begin at the instances of a kind: the kind, the chain, and the bits read."""
    return [
        (number, chain, _together(1 << source for at, source, _ in kind.late_reads if at == link))
        for number, kind in enumerate(kinds) for chain, link in enumerate(kind.chains)
        if kind.links[link] == target
    ]  # fmt: skip


def _chain_rows(kinds: Sequence[KindTables], number: int) -> Iterator[tuple[int, int, int]]:
    """For each chain of a kind: the link, and the places of the neighbours and of the head."""
    for chain, link in enumerate(kinds[number].chains):
        target = kinds[number].links[link]
        heads = [each[:2] for each in _readers(kinds, target)]
        head_at = _head_at(kinds[target], heads.index((number, chain)))
        yield link, kinds[number].chains_at + chain, head_at


def _reader_rows(kinds: Sequence[KindTables], number: int) -> Iterator[tuple[int, int, int, int]]:
    """For each chain that begins at a kind: its kind, places of neighbours and head, and bits."""
    for place, (kind, chain, bits) in enumerate(_readers(kinds, number)):
        yield kind, kinds[kind].chains_at + chain, _head_at(kinds[number], place), bits


def _head_at(kind: KindTables, place: int) -> int:
    return kind.chains_at + len(kind.chains) + place


def packed_kinds(kinds: Sequence[KindTables]) -> Words:
    """The tables of all kinds in one array: headers first."""
    headers, parts = np.zeros((len(kinds), HEADER), np.uint64), []
    place, queue = len(kinds) * HEADER, 0
    for number, kind in enumerate(kinds):
        lane = packed(kind.lane)
        sent = np.zeros((MOST_BITS, SENT_SIZE), np.uint64)
        for bit, link, target in kind.signals:
            sent[bit] = link, kind.links[link], target
        slots = np.zeros(MOST_BITS, np.uint64)
        slots[list(kind.slots)] = list(kind.slots.values())
        reads = np.array(kind.reads, np.uint64).ravel()
        delays = kind.lane.delays.astype(np.uint64).ravel()
        chains = np.array(list(_chain_rows(kinds, number)), np.uint64).ravel()
        readers = np.array(list(_reader_rows(kinds, number)), np.uint64)
        sizes = [len(lane), len(reads), sent.size, len(slots), delays.size, len(chains)]
        ends = np.cumsum([place, *sizes, readers.size])
        headers[number] = [
            ends[0], ends[1], (1 << 64) - 1 - kind.imported, int(kind.lane.reported),
            sum(1 << bit for bit, _, _ in kind.signals), ends[1], len(kind.reads), ends[2], ends[4],
            len(kind.lane.delays), queue, kind.dues_at, kind.since_at, ends[3],
            int(kind.lane.reported_signals), int(armed_mask(kind.lane.delays)), kind.allowed_at,
            kind.width - LINE, kind.late, kind.late_read, kind.active,
            _together(readers[:, 3].tolist()) if len(readers) else 0,
            ends[5], len(kind.chains), ends[6], len(readers),
        ]  # fmt: skip
        parts += [lane, reads, sent.ravel(), slots, delays, chains, readers.ravel()]
        place, queue = int(ends[-1]), queue + len(kind.lane.delays)
    return np.concatenate([headers.ravel(), *parts]).astype(np.uint64)


QUEUE_KIND, QUEUE_DUE, QUEUE_BIT, QUEUE_SIZE = range(4)
"""The places of a queue: the kind, where its instances have the due, and the fired bit of it."""


def queue_rows(kinds: Sequence[KindTables]) -> Matrix:
    """Two rows for each delay of each kind: a walk adds to the queues of the first half only.

    The others have entries from elsewhere, which may be due later than what the walk adds.
    """
    rows = [
        (number, kind.dues_at + place, delay[2])
        for number, kind in enumerate(kinds)
        for place, delay in enumerate(kind.lane.delays.tolist())
    ]
    return np.array([*rows, *rows], np.int64).reshape(-1, QUEUE_SIZE)
