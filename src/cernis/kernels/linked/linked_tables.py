"""The tables of a walk over linked instances: all that it knows of the rules, in one array.

There are several *kinds* of instances. Each has the tables of a lane, state bits that are read of
other instances over links, and fired bits that are sent to others over links. Kinds are numbered so
that links lead from lower numbers to higher ones.

What is known of an instance lies in one array too, from its *handle* on: its state word, what has
fired so far at the point that is being decided, its number among those of its kind, the handles of
the instances it is linked to, for each delay when it is due, for each reported bit since when it
has held, and what groundings allow it, if its kind has any. Instances begin where lines of the
processor's cache do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cernis.kernels.array_types import Matrix, Words
from cernis.kernels.sweep.lane_tables import (
    MOST_BITS,
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

NO_DUE = np.int64(np.iinfo(np.int64).max)
"""A delay that is not under way is due then."""

HEADER = 18
(
    LANE_AT, LANE_END, OWN, REPORTED, SENT, READS_AT, READ_COUNT, SENT_AT, DELAYS_AT, DELAY_COUNT,
    FIRST_QUEUE, DUES_AT, SINCE_AT, SLOTS_AT, SIGNALS, ARMED_BITS, ALLOWED_AT, LAST_LINE,
) = range(HEADER)  # fmt: skip
"""The places in the header of a kind. `OWN` are the state bits that are not read of others, `SENT`
the fired bits that are sent, `SIGNALS` those that are reported. `ALLOWED_AT` is 0 if all is
allowed, `LAST_LINE` is where the last line of an instance begins. Each read has its link, the bit
of the other instance and its own bit; each of the 64 fired bits has the link it is sent over, the
kind and the fired bit there; each of the 64 state bits has its slot among the starts."""

READ_SIZE, SENT_SIZE = 3, 3


class KindTables(NamedTuple):
    """A kind of instances: its lane, the kinds that its links lead to, and what goes over them.

    A read is the link, the state bit of the other instance, and the own state bit. A signal is the
    own fired bit, the link, and the fired bit of the other instance.
    """

    lane: LaneTables
    links: tuple[int, ...]
    reads: tuple[tuple[int, int, int], ...]
    signals: tuple[tuple[int, int, int], ...]
    has_groundings: bool = True

    @property
    def slots(self) -> list[int]:
        """The state bits that are reported."""
        return [bit for bit in range(MOST_BITS) if int(self.lane.reported) >> bit & 1]

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
        return self.since_at + len(self.slots) if self.has_groundings else 0

    @property
    def width(self) -> int:
        """How many places an instance has, as whole lines."""
        count = self.since_at + len(self.slots) + self.has_groundings
        return -(-count // LINE) * LINE


def packed_kinds(kinds: Sequence[KindTables]) -> Words:
    """The tables of all kinds in one array: headers first."""
    headers, parts = np.zeros((len(kinds), HEADER), np.uint64), []
    place, queue = len(kinds) * HEADER, 0
    for number, kind in enumerate(kinds):
        lane = packed(kind.lane)
        imported = sum(1 << own for _, _, own in kind.reads)
        sent = np.zeros((MOST_BITS, SENT_SIZE), np.uint64)
        for bit, link, target in kind.signals:
            sent[bit] = link, kind.links[link], target
        slots = np.zeros(MOST_BITS, np.uint64)
        slots[kind.slots] = np.arange(len(kind.slots))
        reads = np.array(kind.reads, np.uint64).ravel()
        delays = kind.lane.delays.astype(np.uint64).ravel()
        ends = np.cumsum([place, len(lane), len(reads), sent.size, len(slots)])
        headers[number] = [
            ends[0], ends[1], (1 << 64) - 1 - imported, int(kind.lane.reported),
            sum(1 << bit for bit, _, _ in kind.signals), ends[1], len(kind.reads), ends[2], ends[4],
            len(kind.lane.delays), queue, kind.dues_at, kind.since_at, ends[3],
            int(kind.lane.reported_signals), int(armed_mask(kind.lane.delays)), kind.allowed_at,
            kind.width - LINE,
        ]  # fmt: skip
        parts += [lane, reads, sent.ravel(), slots, delays]
        place, queue = int(ends[4]) + len(delays), queue + len(kind.lane.delays)
    return np.concatenate([headers.ravel(), *parts]).astype(np.uint64)


QUEUE_KIND, QUEUE_DUE, QUEUE_BIT, QUEUE_SIZE = range(4)
"""The places of a queue: the kind, where its instances have the due, and the fired bit of it."""


def queue_rows(kinds: Sequence[KindTables]) -> Matrix:
    """One row for each delay of each kind."""
    rows = [
        (number, kind.dues_at + place, delay[2])
        for number, kind in enumerate(kinds)
        for place, delay in enumerate(kind.lane.delays.tolist())
    ]
    return np.array(rows, np.int64).reshape(-1, QUEUE_SIZE)
