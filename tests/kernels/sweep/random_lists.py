"""Random programs over lists, and random lists to run them over."""

import random

import numpy as np

from cernis.evaluate.sweep.lane_state import BitIntervals
from cernis.evaluate.sweep.lists.list_state import ListState, ListTables, SourceChanges
from cernis.kernels.sweep import list_walk as lw
from cernis.kernels.sweep.key_calendar import NEVER

Pairs = list[tuple[int, int]]
Row = tuple[int, int, int, int]


def random_lists(r: random.Random, sources: int, last: int) -> list[Pairs]:
    found = []
    for _ in range(sources):
        bounds = sorted(r.sample(range(1, last), 2 * r.randint(0, 5)))
        intervals = list(zip(bounds[::2], bounds[1::2], strict=True))
        if r.random() < 0.4 and (not bounds or bounds[-1] < last - 2):
            intervals.append((r.randint((bounds or [0])[-1] + 1, last - 1), int(NEVER)))
        found.append(intervals)
    return found


def random_list_program(r: random.Random, sources: int, linked: int = 0) -> tuple[np.ndarray, int]:
    """Rows, some of which are outputs that later rows read.

    Sources of linked keys, the last few, are read only where the first source holds.
    """
    slots, rows, outputs = sources, [], 0
    known = list(range(sources - linked))
    for number in range(sources - linked, sources):
        rows.append((lw.INTERSECT, slots, 0, number, 0))
        known.append(slots)
        slots += 1
    operations = [op for op in range(lw.OUTPUT) if op != lw.COMPLEMENT or not linked]
    for _ in range(r.randint(1, 5)):
        op = r.choice(operations)
        parameter = 0 if op == lw.CONDITION else r.randint(1, 15)
        rows.append((op, slots, r.choice(known), r.choice(known), parameter))
        known.append(slots)
        slots += 1
        if r.random() < 0.5:
            rows.append((lw.OUTPUT, slots, known[-1], 0, outputs))
            known.append(slots)
            slots, outputs = slots + 1, outputs + 1
    rows.append((lw.OUTPUT, slots, known[-1], 0, outputs))
    return np.array(rows), slots + 1


def list_tables(program: np.ndarray, sources: int, linked: int = 0) -> ListTables:
    """A program over sources, of which the last few are those of a linked key."""
    outputs = program[program[:, lw.OP] == lw.OUTPUT, lw.TO]
    slots, numbers = int(program[:, lw.TO].max()) + 1, range(sources - linked, sources)
    rows = np.array([(number, 0, number) for number in numbers], np.int64).reshape(-1, 3)
    own_sources = np.arange(sources - linked)
    return ListTables(program, slots, own_sources, outputs, rows, int(linked > 0), 1)


def new_state(tables: ListTables, keys: int, targets: list[int] | None = None) -> ListState:
    state = ListState(tables)
    allowed, conditions = np.full(keys, 2**64 - 1, np.uint64), np.ones((1, keys), np.uint8)
    linked = np.array(targets or [0] * keys, np.int64).reshape(-1, 1)[:, : tables.links]
    state.add_keys(allowed, conditions, linked)
    return state


def intervals(rows: set[Row]) -> BitIntervals:
    columns = np.array(sorted(rows), np.int64).reshape(-1, 4).T
    return BitIntervals(*(np.ascontiguousarray(column) for column in columns))


def sources_of(lists: dict[int, list[Pairs]]) -> SourceChanges:
    """All lists of some keys, as if they had just come."""
    return SourceChanges(intervals({
        (source, key, start, end) for key, sources in lists.items()
        for source, own in enumerate(sources) for start, end in own
    }))  # fmt: skip
