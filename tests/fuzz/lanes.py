"""Random lanes walked in windows, against their meaning: `python -m tests.fuzz.lanes FIRST LAST`.

Each seed is a program, some keys, records that come late or are taken back, and windows, some of
them shorter than the step. After every query the sum of the changes, the intervals and signals of
the window and the number of conflicts are what a simulation over dictionaries says.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from time import monotonic

import numpy as np

from cernis.evaluate.sweep.lane_state import LaneChanges, LaneState
from cernis.kernels.sweep.transition import with_derived
from tests.kernels.sweep.simple_lanes import (
    LaneProgram,
    NamedTables,
    RegisterBits,
    SimpleLane,
    random_program,
    tables_of,
)

ALL_ALLOWED = 2**64 - 1
Row = tuple[int, ...]
Record = tuple[int, int, str]


@dataclass
class LaneFeed:
    """The sum of the changes that have been told."""

    intervals: Counter[Row] = field(default_factory=Counter)
    signals: Counter[Row] = field(default_factory=Counter)
    conflicts: int = 0

    def add(self, changes: LaneChanges) -> None:
        for come, gone in (
            (rows_of(changes.come), rows_of(changes.gone)),
            (rows_of(changes.values_come), rows_of(changes.values_gone)),
        ):
            assert come == sorted(come)
            assert gone == sorted(gone)
            assert not set(come) & set(gone), "equal intervals come and go"
            _sum(self.intervals, come, gone)
        _sum(self.signals, rows_of(changes.signals_come), rows_of(changes.signals_gone))
        self.conflicts += changes.conflicts


def _sum(counts: Counter[Row], come: list[Row], gone: list[Row]) -> None:
    counts.update(come)
    counts.subtract(gone)
    assert all(counts[row] in (0, 1) for row in [*come, *gone]), "told twice, or never"


def rows_of(columns: Iterable[np.ndarray]) -> list[Row]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


class LaneRun:
    """A lane that is walked, and the same lane by its meaning."""

    def __init__(
        self, seed: int, is_wide: bool = False, has_tags: bool = False, has_registers: bool = False
    ) -> None:
        self.random = r = random.Random(seed)
        self.program: LaneProgram = random_program(r, has_registers)
        self.named: NamedTables = tables_of(self.program)
        tick = self.program.tick
        self.keys = r.randint(1, 3)
        self.window, self.step = r.choice([5, 12, 20, 30]) * tick, r.choice([3, 6, 10, 17]) * tick
        self.start = r.choice([0, -7, 10**9]) * tick
        self.state = LaneState(self.named.tables, self.start, has_tags)
        if is_wide:
            self.state._widen()
        self.feed = LaneFeed()
        self.records: list[list[tuple[int, str]]] = [[] for _ in range(self.keys)]
        self.lanes = [SimpleLane(self.program, self.start) for _ in range(self.keys)]
        self.stream = self._stream()
        self._begin()

    def _stream(self) -> list[tuple[int, Record]]:
        """Records with the time at which they arrive."""
        r, tick = self.random, self.program.tick
        latest = max(0, (self.window - self.step) // tick)
        found = []
        for key in range(self.keys):
            for _ in range(40):
                time = self.start + tick * r.randint(1, 80)
                delay = 0 if r.random() < 0.6 else tick * r.randint(0, latest)
                event = r.choice(self.program.events)
                event += f":{r.randint(0, 4)}" if event.startswith("p") else ""
                found.append((time + delay, (key, time, event)))
        return found

    def _begin(self) -> None:
        r, words, allowed = self.random, [], []
        static = {p for p in self.program.pairs if p.startswith("s")}
        for lane in self.lanes:
            if r.random() < 0.4:
                lane.allowed = frozenset(p for p in self.program.pairs if r.random() < 0.7)
            simple = [p for p in self.program.pairs if p not in static and p.endswith("v0")]
            lane.begin(p for p in simple if r.random() < 0.2 and self._allows(lane, p))
            allowed.append(self._allowed_word(lane))
            word = self.named.state_word(lane.since)
            if not self.program.is_rtec:
                sources = [f"armed {delay.source}" for delay in self.program.delays]
                held = [name for name in sources if name.removeprefix("armed ") in lane.since]
                word |= self.named.state_word(held)
            words.append(word)
            assert word == with_derived(self.named.tables, word, allowed[-1])
        self.state.add_keys(np.array(words, np.uint64), np.array(allowed, np.uint64))

    def _allows(self, lane: SimpleLane, pair: str) -> bool:
        return lane.allowed is None or pair in lane.allowed

    def _allowed_word(self, lane: SimpleLane) -> int:
        """Values without pairs of their own are allowed to all keys."""
        if lane.allowed is None:
            return ALL_ALLOWED
        return self.named.state_word({*lane.allowed, *RegisterBits(self.program).state})

    def check(self) -> None:
        """Walk all windows and compare after each."""
        tick = self.program.tick
        for query in range(self.start + self.step, self.start + 100 * tick, self.step):
            edge = max(self.start, query - self.window)
            # What is due after the last query, even up to the edge, goes by groundings of now.
            self._pass_time(min(edge, query - self.step))
            self._change_groundings(is_at_edge=edge <= query - self.step)
            self._pass_time(edge)
            self._change_records(edge, query)
            if self.random.random() < 0.2:
                self.state = LaneState.restored(self.named.tables, self.state.saved())
            changes = self.state.update(edge, query)
            assert changes.unmatched == 0
            self.feed.add(changes)
            self._compare(edge, query)

    def _pass_time(self, edge: int) -> None:
        for lane, records in zip(self.lanes, self.records, strict=True):
            lane.walk(records, edge)

    def _change_groundings(self, is_at_edge: bool) -> None:
        """Let some keys have other pairs from the edge on.

        Determined ones are decided again there, so time must have come that far.
        """
        for key, lane in enumerate(self.lanes):
            if lane.allowed is not None and self.random.random() < 0.2:
                kept = {p for p in lane.allowed if p.startswith("s") and not is_at_edge}
                free = {p for p in self.program.pairs if is_at_edge or not p.startswith("s")}
                more = {p for p in sorted(free) if self.random.random() < 0.7}
                lane.change_allowed(frozenset(kept | more), is_at_edge)
                word = np.array([self._allowed_word(lane)], np.uint64)
                self.state.set_allowed(np.array([key]), word)

    def _change_records(self, edge: int, query: int) -> None:
        r = self.random
        come = [own for at, own in self.stream if query - self.step < at <= query and own[1] > edge]
        gone = []
        for key, records in enumerate(self.records):
            for record in [record for record in records if record[0] > edge]:
                if r.random() < 0.08:
                    gone.append((key, *record))
                    records.remove(record)
        for key, moment, event in come:
            self.records[key].append((moment, event))
        both = [own for own in come if r.random() < 0.05]
        self._tell(come + both, is_gone=False)
        self._tell(gone + both, is_gone=True)

    def _tell(self, records: list[Record], is_gone: bool) -> None:
        self.random.shuffle(records)
        while records:
            count = self.random.randint(1, len(records))
            now, records = records[:count], records[count:]
            fired = [self.named.fired_word([event]) for _, _, event in now]
            values = np.array([int(event.partition(":")[2] or 0) for _, _, event in now])
            payload = np.column_stack([values, values.astype(np.float64).view(np.int64)])
            tags = [hash((key, time)) % 1000 for key, time, _ in now]
            self.state.change(
                np.array([key for key, _, _ in now]),
                np.array([time for _, time, _ in now]),
                np.array(fired, np.uint64),
                np.array(tags, np.uint32) if self.state.has_tags else None,
                gone=is_gone,
                payload=payload if self.program.open_fluents else None,
            )

    def _compare(self, edge: int, query: int) -> None:
        intervals, signals, conflicts = set(), set(), 0
        for key, (base, records) in enumerate(zip(self.lanes, self.records, strict=True)):
            lane = base.copy()
            lane.walk(records, query)
            intervals |= {self._row(p, key, s, e) for p, s, e in lane.intervals()}
            signals |= {(self.named.fired[name], key, time) for name, time in lane.signals}
            conflicts += len(lane.conflicts)
        assert {row for row, count in self.feed.intervals.items() if count} == intervals
        assert {row for row, count in self.feed.signals.items() if count} == signals
        assert self.feed.conflicts == conflicts
        tick = self.program.tick
        stands = sorted(row for row in intervals if row[3] > edge + tick)
        assert rows_of(self.state.intervals()) == [row for row in stands if len(row) == 4]
        assert rows_of(self.state.value_intervals()) == [row for row in stands if len(row) == 5]
        assert rows_of(self.state.signals()) == sorted(own for own in signals if own[2] > edge)

    def _row(self, pair: str, key: int, start: int, end: int) -> Row:
        """An interval as the lane tells it: a value without a pair stands beside its open bit."""
        if pair in self.named.state:
            return self.named.state[pair], key, start, end
        name, _, value = pair.partition("=")
        return self.named.state[f"{name}=other"], key, start, end, int(value)


def check_seed(seed: int) -> None:
    """Walk the lane of a seed with narrow and with wide rows, with tags and without."""
    LaneRun(seed, is_wide=seed % 5 == 0, has_tags=seed % 3 == 0).check()


def check_registers(seed: int) -> None:
    """The same for a lane with fluents that take any value."""
    LaneRun(seed, seed % 5 == 0, seed % 3 == 0, has_registers=True).check()


def main(first: int, last: int) -> int:
    """Compare seeds; gives how many differ."""
    began, wrong = monotonic(), 0
    for seed in range(first, last + 1):
        try:
            check_seed(seed)
            check_registers(seed)
        except AssertionError as difference:
            wrong += 1
            print(f"seed {seed} differs: {str(difference)[:400]}", flush=True)
    seconds = monotonic() - began
    print(f"seeds {first} to {last}: {wrong} differ, in {seconds:.0f} s", flush=True)
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    asked = parser.parse_args()
    sys.exit(1 if main(asked.first, asked.last) else 0)
