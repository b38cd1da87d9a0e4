"""Programs over lists of intervals: vectors, the twin, and windows that forget."""

import random

import numpy as np
import pytest

from cernis.kernels.sweep import list_walk as lw
from cernis.kernels.sweep.key_calendar import NEVER
from cernis.kernels.sweep.list_walk import ListEdges, ListInput, plain_lists, run_lists

Pairs = list[tuple[int, int]]


def list_input(keys: list[list[Pairs]], conditions: np.ndarray) -> ListInput:
    """The lists of some keys: for each key one list for each source."""
    starts: list[int] = []
    ends: list[int] = []
    begins = np.zeros((len(keys[0]), len(keys)), np.int64)
    stops = np.zeros_like(begins)
    for key, lists in enumerate(keys):
        for source, intervals in enumerate(lists):
            begins[source, key] = len(starts)
            starts += [start for start, _ in intervals]
            ends += [end for _, end in intervals]
            stops[source, key] = len(starts)
    columns = (np.array(starts, np.int64), np.array(ends, np.int64))
    return ListInput(begins, stops, *columns, conditions)


def run(program: np.ndarray, slots: int, lists: list[Pairs], query: int = 1000) -> list[Pairs]:
    """All lists of one key, from scratch."""
    conditions = np.ones((1, 1), np.uint8)
    edges = ListEdges(np.array([lw.NO_EDGE]), np.full((1, slots), lw.NOT_HELD))
    results = run_lists(
        program, slots, np.arange(slots), list_input([lists], conditions), edges, np.array([0]),
        0, query, 1,
    )  # fmt: skip
    found: list[Pairs] = [[] for _ in range(slots)]
    for slot, start, end in zip(results.outputs, results.starts, results.ends, strict=True):
        found[slot].append((int(start), int(end)))
    return found


@pytest.mark.parametrize(
    ("op", "one", "two", "expected"),
    [
        (lw.UNION, [(5, 20), (26, 30)], [(28, 35)], [(5, 20), (26, 35)]),
        (lw.INTERSECT, [(26, 31)], [(21, 26), (30, 40)], [(30, 31)]),
        (lw.SUBTRACT, [(5, 20), (26, 50)], [(1, 4), (18, 22), (28, 35)],
         [(5, 18), (26, 28), (35, 50)]),
        (lw.COMPLEMENT, [(5, 20), (30, NEVER)], [], [(1, 5), (20, 30)]),
        (lw.LONGER, [(1, 12), (20, 30), (40, NEVER)], [], [(1, 12), (40, NEVER)]),
        (lw.SHORTER, [(1, 12), (20, 29), (40, NEVER)], [], [(20, 29)]),
        (lw.REQUIRE, [(1, 2)], [], []),
        (lw.REQUIRE_EMPTY, [(1, 2)], [], [(1, 2)]),
    ],
)  # fmt: skip
def test_operations(op: int, one: Pairs, two: Pairs, expected: Pairs) -> None:
    program = np.array([(op, 2, 0, 1, 10)])
    assert run(program, 3, [one, two], query=51)[2] == expected


def random_lists(r: random.Random, sources: int, last: int) -> list[Pairs]:
    found = []
    for _ in range(sources):
        bounds = sorted(r.sample(range(1, last), 2 * r.randint(0, 5)))
        intervals = list(zip(bounds[::2], bounds[1::2], strict=True))
        if r.random() < 0.4 and (not bounds or bounds[-1] < last - 2):
            intervals.append((r.randint((bounds or [0])[-1] + 1, last - 1), int(NEVER)))
        found.append(intervals)
    return found


def random_list_program(r: random.Random, sources: int, most_op: int) -> tuple[np.ndarray, int]:
    rows, known = [], list(range(sources))
    for _ in range(r.randint(1, 5)):
        rows.append((r.randint(0, most_op), len(known), r.choice(known), r.choice(known),
                     r.randint(1, 15)))  # fmt: skip
        known.append(len(known))
    program = np.array(rows)
    program[program[:, lw.OP] == lw.CONDITION, lw.PARAMETER] = 0
    return program, len(known)


@pytest.mark.parametrize("seed", range(150))
def test_random_programs_by_kernel_and_twin(seed: int) -> None:
    r = random.Random(seed)
    sources = r.randint(1, 3)
    program, slots = random_list_program(r, sources, lw.CONDITION)
    lists = random_lists(r, sources, 60)
    plain = plain_lists(program, slots, lists, [True], 0, 60, 1)
    assert run(program, slots, lists, query=60) == plain, f"seed {seed}"


def _up_to(intervals: Pairs, query: int) -> Pairs:
    """What is known at a query: what ends later is open, what begins later is not there."""
    return [(s, e if e <= query + 1 else int(NEVER)) for s, e in intervals if s <= query + 1]


@pytest.mark.parametrize("seed", range(150))
def test_lists_in_windows_are_those_of_one_window(seed: int) -> None:
    """Sources that ended before the edge are forgotten; what holds there has its true start."""
    r = random.Random(seed)
    sources = r.randint(1, 3)
    program, slots = random_list_program(r, sources, lw.SHORTER)
    lists = random_lists(r, sources, 60)
    lookback = int(sum(row[lw.PARAMETER] for row in program if row[lw.OP] >= lw.LONGER))
    conditions = np.ones((1, 1), np.uint8)
    edges = ListEdges(np.array([lw.NO_EDGE]), np.full((1, slots), lw.NOT_HELD))
    step = r.randint(3, 15)
    for query in range(step, 80, step):
        edge = query - 2 * step - lookback
        last = int(edges.edges[0])
        known = [[(s, e) for s, e in _up_to(own, query) if e > last + 1] for own in lists]
        given_lists = list_input([known], conditions)
        results = run_lists(
            program, slots, np.arange(slots), given_lists, edges, np.array([edge]), 0, query, 1
        )
        whole = [_up_to(own, query) for own in lists]
        plain = plain_lists(program, slots, whole, [True], 0, query, 1)
        rows = list(zip(results.outputs, results.starts, results.ends, strict=True))
        for slot in range(sources, slots):
            found = [(int(s), int(e)) for own, s, e in rows if own == slot and e > last + 1]
            assert found == [own for own in plain[slot] if own[1] > last + 1], f"seed {seed}"
        edges = ListEdges(np.array([edge]), results.since)
