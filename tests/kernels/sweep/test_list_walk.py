"""Programs over lists of intervals: vectors, and random programs by kernel and twin."""

import random

import numpy as np
import pytest

from cernis.kernels.sweep import list_walk as lw
from cernis.kernels.sweep.key_calendar import NEVER
from cernis.kernels.sweep.list_walk import plain_lists
from tests.kernels.sweep.random_lists import (
    Pairs,
    list_tables,
    new_state,
    random_list_program,
    random_lists,
    sources_of,
)


def run(program: np.ndarray, sources: int, lists: list[Pairs], query: int = 1000) -> list[Pairs]:
    """The outputs of one key, from scratch."""
    tables = list_tables(program, sources)
    come, _ = new_state(tables, 1).update(0, query, sources_of({0: lists}))
    found: list[Pairs] = [[] for _ in tables.outputs]
    for number, _, start, end in zip(*come, strict=True):
        found[number].append((int(start), int(end)))
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
    ],
)  # fmt: skip
def test_operations(op: int, one: Pairs, two: Pairs, expected: Pairs) -> None:
    program = np.array([(op, 2, 0, 1, 10), (lw.OUTPUT, 3, 2, 0, 0)])
    assert run(program, 2, [one, two], query=51) == [expected]


@pytest.mark.parametrize("seed", range(150))
def test_random_programs_by_kernel_and_twin(seed: int) -> None:
    r = random.Random(seed)
    sources = r.randint(1, 3)
    program, slots = random_list_program(r, sources)
    lists = random_lists(r, sources, 60)
    plain = plain_lists(program, slots, lists, [True], 0, 60, 1)
    outputs = list_tables(program, sources).outputs
    # Nothing comes out for a key without any source.
    expected = [plain[slot] if any(lists) else [] for slot in outputs]
    assert run(program, sources, lists, query=60) == expected, f"seed {seed}"
