"""The plain twin of the walk over linked instances: instances are objects, delays lie in a list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cernis.kernels.linked.linked_tables import KindTables
from cernis.kernels.sweep.lane_tables import ARMED, DELAY, DUE
from cernis.kernels.sweep.transition import plain_transition, with_derived

ToldRow = tuple[int, int, int, int]
"""A code, the number of an instance, a start and an end; see `linked_walk`."""


@dataclass(slots=True)
class PlainInstance:
    """One instance: its kind, number, word, and what it is linked to."""

    kind: int
    number: int
    word: int
    allowed: int
    links: list[PlainInstance] = field(default_factory=list)
    dues: dict[int, int] = field(default_factory=dict)
    """By delay that is under way: when it is due."""
    since: dict[int, int] = field(default_factory=dict)
    """By state bit that holds: since when."""
    fired: int = 0


@dataclass(slots=True)
class PlainLinkedWalk:
    """Walks from point to point, and tries every instance at each."""

    kinds: Sequence[KindTables]
    instances: list[PlainInstance]
    rows: list[ToldRow] = field(default_factory=list)

    def walk(self, records: Iterable[tuple[int, PlainInstance, int]], until: int) -> None:
        """Walk over records, each a time, an instance and a fired word, and what is due."""
        waiting = sorted(records, key=lambda record: record[0])
        while True:
            times = [record[0] for record in waiting[:1]]
            times += [due for each in self.instances for due in each.dues.values()]
            time = min(times, default=until + 1)
            if time > until:
                return
            while waiting and waiting[0][0] == time:
                _, instance, fired = waiting.pop(0)
                instance.fired |= fired
            self._decide(time)

    def _decide(self, time: int) -> None:
        before = {id(each): each.word for each in self.instances}
        for each in self.instances:
            for number, delay in enumerate(self.kinds[each.kind].lane.delays.tolist()):
                if each.dues.get(number) == time:
                    each.fired |= 1 << delay[DUE]
        for kind in range(len(self.kinds)):
            for each in self.instances:
                if each.kind == kind and each.fired:
                    self._transition(time, each, before)
        for kind in reversed(range(len(self.kinds))):
            for each in self.instances:
                if each.kind == kind and self.kinds[kind].late:
                    self._decide_late(time, each)

    def _decide_late(self, time: int, each: PlainInstance) -> None:
        kind = self.kinds[each.kind]
        seen = each.word
        for link, source, bit in kind.reads:
            seen |= (each.links[link].word >> source & 1) << bit
        late = with_derived(kind.lane, seen, each.allowed) & kind.late
        new = (each.word & ~kind.late) | late
        self._tell_edges(time + kind.lane.tick, each, new)
        each.word = new

    def _transition(self, time: int, each: PlainInstance, before: dict[int, int]) -> None:
        kind = self.kinds[each.kind]
        old = each.word
        for link, source, bit in kind.reads:
            old |= (before[id(each.links[link])] >> source & 1) << bit
        new, armed, signals, conflicts = plain_transition(kind.lane, each.fired, old, each.allowed)
        new = (new & ~kind.late) | (old & kind.late)
        each.fired = 0
        for bit, link, target in kind.signals:
            if signals >> bit & 1:
                each.links[link].fired |= 1 << target
        for number, delay in enumerate(kind.lane.delays.tolist()):
            if armed >> delay[ARMED] & 1:
                each.dues[number] = time + delay[DELAY]
            elif not new >> delay[ARMED] & 1:
                each.dues.pop(number, None)
        self._tell(time, each, signals, conflicts)
        self._tell_edges(time + kind.lane.tick, each, new)
        each.word = new & ~kind.imported

    def _tell(self, time: int, each: PlainInstance, signals: int, conflicts: int) -> None:
        count = 64 * len(self.kinds)
        reported = int(self.kinds[each.kind].lane.reported_signals)
        for bit in range(64):
            if signals & reported & 1 << bit:
                self.rows.append((count + 64 * each.kind + bit, each.number, time, time))
        if conflicts:
            self.rows.append((2 * count + each.kind, each.number, time, conflicts))

    def _tell_edges(self, time: int, each: PlainInstance, new: int) -> None:
        for bit in self.kinds[each.kind].slots:
            if (each.word ^ new) >> bit & 1:
                if new >> bit & 1:
                    each.since[bit] = time
                else:
                    row = (64 * each.kind + bit, each.number, each.since.pop(bit), time)
                    self.rows.append(row)
