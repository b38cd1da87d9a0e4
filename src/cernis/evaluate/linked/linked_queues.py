"""What is due: a queue for each delay, in which what is armed later is due later.

Each delay has a second queue, to which a walk adds nothing. It has what is due of instances as
they are found: some of them may be ahead of the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cernis.kernels.array_types import Integers
from cernis.kernels.linked.linked_walk import DelayQueues

_FEWEST = 64

QueueEntries = tuple[Integers, Integers]
"""The times at which something is due, in order, and the handles of the instances."""


class LinkedQueues:
    """The queues of all delays, as rings of one size: first ones, then second ones."""

    def __init__(self, entries: Sequence[QueueEntries]) -> None:
        self._capacity = _FEWEST
        nothing = np.empty(0, np.int64)
        self._put([*((nothing, nothing) for _ in entries), *entries])

    def _put(self, entries: Sequence[QueueEntries]) -> None:
        most = max((len(times) for times, _ in entries), default=0)
        while self._capacity < 2 * most:
            self._capacity *= 2
        self.times = np.empty(len(entries) * self._capacity, np.int64)
        self.handles = np.empty(len(entries) * self._capacity, np.int64)
        self.marks = np.zeros(2 * len(entries), np.int64)
        for queue, (times, handles) in enumerate(entries):
            first = queue * self._capacity
            self.times[first : first + len(times)] = times
            self.handles[first : first + len(times)] = handles
            self.marks[2 * queue + 1] = len(times)

    @property
    def arrays(self) -> DelayQueues:
        """The queues as kernels take them."""
        return DelayQueues(self.times, self.handles, self.marks)

    def entries(self) -> list[QueueEntries]:
        """What is in each queue."""
        entries = []
        for queue in range(len(self.marks) // 2):
            head, tail = self.marks[2 * queue : 2 * queue + 2].tolist()
            places = queue * self._capacity + (np.arange(head, tail) & (self._capacity - 1))
            entries.append((self.times[places], self.handles[places]))
        return entries

    def grow(self) -> None:
        """Make room for twice as many entries."""
        entries = self.entries()
        self._capacity *= 2
        self._put(entries)

    def merge(self, others: LinkedQueues) -> None:
        """Take the entries of other queues in, each at its time.

        An entry that is there twice does no harm: an instance fires once at a point.
        """
        entries, more = self.entries(), others.entries()
        delays = len(entries) // 2
        for delay in range(delays):
            parts = entries[delays + delay], more[delay], more[delays + delay]
            times, handles = (np.concatenate(columns) for columns in zip(*parts, strict=True))
            order = np.argsort(times, kind="stable")
            entries[delays + delay] = times[order], handles[order]
        self._put(entries)
