"""What the loops over arrays cost. Prints one line a kernel: time per element, and in sorts.

    python benchmarks/kernels.py [--elements 1000000]

A sort is the time `numpy.sort` takes for as many random 64-bit integers. Everything is run in
turns, the sort too, and the best run of each counts. Times are those of the processor, for one
core, and of whole calls: arrays made for the result are part of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cernis.kernels.hashing import Numbering, RowTable
from cernis.kernels.inertia.marked_rows import hold_rows, mark, stretches
from cernis.kernels.inertia.plain_inertia import hold, hold_each
from cernis.kernels.integer_codes import look_up
from cernis.kernels.intervals.list_operations import Lists, cover, maximal, subtract
from cernis.kernels.intervals.stab import stab
from cernis.kernels.merge import merge
from cernis.kernels.order import ascending, in_order, placed, ranks

Integers: TypeAlias = npt.NDArray[np.int64]
Work: TypeAlias = Callable[[], object]

SEED = 20
LISTS = 5000
DAY = 86_400
ROUNDS = 10


def best(work: Work, runs: int) -> float:
    """The shortest time a piece of work takes, in seconds of the processor."""
    times = []
    for _ in range(runs):
        begun = time.thread_time()
        work()
        times.append(time.thread_time() - begun)
    return min(times)


# -- input -----------------------------------------------------------------------------------


def lists(rng: np.random.Generator, size: int, number: int = LISTS) -> Lists:
    """So many intervals in lists of about the same length, as long as the gaps between them."""
    counts = np.bincount(rng.integers(0, number, size), minlength=number)
    offsets = np.append(0, np.cumsum(counts))
    edges = np.cumsum(rng.integers(1, 100, 2 * size))
    first = np.append(0, edges)[2 * offsets[:-1]]
    edges -= np.repeat(first, 2 * counts)
    return offsets, edges[0::2].copy(), edges[1::2].copy()


def points(
    rng: np.random.Generator, size: int, last: int = DAY, number: int = LISTS
) -> tuple[Integers, Integers]:
    """Groups and times, sorted."""
    groups, times = rng.integers(0, number, size), rng.integers(0, last, size)
    order = np.lexsort((times, groups))
    return groups[order], times[order]


def stacked(*operands: Lists) -> tuple[Integers, Integers, Integers, Integers]:
    """Collections as the operands of one call."""
    number = len(operands[0][0]) - 1
    offsets, places = [np.zeros(1, np.int64)], 0
    for own in operands:
        offsets.append(own[0][1:] + places)
        places += len(own[1])
    starts, ends = (np.concatenate([own[at] for own in operands]) for at in (1, 2))
    groups = np.arange(number * len(operands)).reshape(len(operands), number)
    return groups, np.concatenate(offsets), starts, ends


# -- what is measured ------------------------------------------------------------------------


def lookups(rng: np.random.Generator, size: int) -> Iterator[tuple[str, Work]]:
    """Half of the elements are points, half are intervals."""
    for name, number in (("", LISTS), (", lists of two", size // 4)):
        own = lists(rng, size // 2, number)
        groups, times = points(rng, size // 2, int(own[2].max()), number)
        yield f"stab{name}", lambda own=own, g=groups, t=times: stab(g, t, *own)  # type: ignore[misc]


def inertia(rng: np.random.Generator, size: int) -> Iterator[tuple[str, Work]]:
    """The elements are actions."""
    none = np.empty(0, np.int64)
    groups, times = points(rng, size)
    coin = rng.integers(0, 2, size)
    idle = np.where(rng.random(size) < 0.02, 1 - (groups & 1), groups & 1)
    for name, actions in (
        ("one value", coin),
        ("four values", rng.integers(0, 8, size)),
        ("mostly no change", idle),
    ):
        own = groups, times, actions.astype(np.int64), none, none, none, 1
        yield f"hold, {name}", lambda own=own: hold(*own)  # type: ignore[misc]
    yield "hold_each, one value", lambda: hold_each(groups, times, coin, none, none, none, 1)
    tied = points(rng, size, 400)
    yield "hold, four of ten tied", lambda: hold(*tied, coin, none, none, none, 1)
    small = points(rng, size, DAY, size * 2 // 5)
    yield "hold, instances of 2.5", lambda: hold(*small, coin, none, none, none, 1)


def marked(rng: np.random.Generator, size: int) -> Iterator[tuple[str, Work]]:
    """The elements are rows."""
    none = np.empty(0, np.int64)
    groups, times = points(rng, size)
    codes = np.array([1, 0, 3, 2, -2])
    rest = none, none, none, none, none, none, 1
    for share in (0.01, 0.1, 0.5):
        marks = np.zeros(size, np.uint8)
        for bit in range(len(codes)):
            mark(marks, np.flatnonzero(rng.random(size) < share / len(codes)), bit)
        own = stretches(groups, times), times, marks, codes, *rest
        yield f"hold_rows, {share:.0%} marked", lambda own=own: hold_rows(*own)  # type: ignore[misc]
    rows, flags = np.sort(rng.permutation(2 * size)[:size]), np.zeros(2 * size, np.uint8)
    yield "mark", lambda: mark(flags, rows, 3)


def sweeps(rng: np.random.Generator, size: int) -> Iterator[tuple[str, Work]]:
    """The elements are the intervals of all operands."""
    first, second = lists(rng, size // 2), lists(rng, size // 2)
    pair = stacked(first, second)
    yield "cover, union of 2", lambda: cover(*pair, 1)
    yield "cover, meet of 2", lambda: cover(*pair, 2)
    yield "subtract", lambda: subtract(*first, *second)
    four = stacked(*(lists(rng, size // 4) for _ in range(4)))
    yield "cover, union of 4", lambda: cover(*four, 1)
    yield "cover, meet of 4", lambda: cover(*four, 4)
    yield "cover, 2 of 4", lambda: cover(*four, 2)
    small = stacked(lists(rng, size // 2, size // 4), lists(rng, size // 2, size // 4))
    yield "cover, union of 2, lists of two", lambda: cover(*small, 1)
    owners = np.concatenate(
        [np.repeat(np.arange(LISTS), np.diff(own[0])) for own in (first, second)]
    )
    order = np.lexsort((pair[2], owners))
    rows = owners[order], pair[2][order], pair[3][order]
    yield "maximal", lambda: maximal(*rows)


def orders(rng: np.random.Generator, size: int) -> Iterator[tuple[str, Work]]:
    """The elements are rows."""
    halves = [(*points(rng, size // 2), rng.integers(0, 8, size // 2)) for _ in range(2)]
    yield "merge", lambda: merge(*halves[0], *halves[1])
    groups, times = points(rng, size)
    yield "in_order", lambda: in_order(groups, times)
    yield "ascending", lambda: ascending(groups)
    codes = rng.integers(0, LISTS, size)
    yield "ranks", lambda: ranks(codes, LISTS)
    yield "ranks, in order already", lambda: ranks(groups, LISTS)
    rank, _ = ranks(codes, LISTS)
    yield "placed", lambda: placed(times, rank)
    table = rng.permutation(LISTS)
    yield "look_up", lambda: look_up(codes, 0, table)
    keys = rng.integers(0, 2**62, size // 5)[rng.integers(0, size // 5, size)]
    rows = RowTable(keys)
    yield "RowTable, find", lambda: rows.find(keys)
    yield "Numbering", lambda: Numbering().of(keys)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--elements", type=int, default=1_000_000)
    size = arguments.parse_args().elements
    rng = np.random.default_rng(SEED)
    keys = rng.integers(-(2**63), 2**63 - 1, size)
    works: list[tuple[str, Work]] = [("one sort", lambda: np.sort(keys))]
    for kind in (lookups, inertia, marked, sweeps, orders):
        works.extend(kind(rng, size))
    # Once an array of that size has been freed, the C library keeps memory for the next ones, as
    # in any run that is long enough. Otherwise the system clears new pages at every call.
    np.empty(4 * size).fill(0)
    rounds = [[best(work, 3) for _, work in works] for _ in range(ROUNDS)]
    times = np.min(rounds, axis=0)
    for (name, _), seconds in zip(works, times, strict=True):
        print(f"{name:<34} {1e9 * seconds / size:6.2f} ns {seconds / times[0]:6.2f} sorts")


if __name__ == "__main__":
    from sorts import pin_sort

    pin_sort()
    main()
