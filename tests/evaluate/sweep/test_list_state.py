"""Programs over lists in windows: the sum of what is told is what one window would give."""

import random
from collections import Counter

import numpy as np
import pytest

from cernis.evaluate.sweep.lane_state import BitIntervals
from cernis.evaluate.sweep.list_state import ListState
from cernis.kernels.sweep import list_walk as lw
from cernis.kernels.sweep.key_calendar import NEVER
from cernis.kernels.sweep.list_walk import plain_lists
from tests.fuzz.lanes import rows_of
from tests.kernels.sweep.test_list_walk import Pairs, random_list_program, random_lists

Row = tuple[int, int, int, int]


def intervals(rows: set[Row]) -> BitIntervals:
    columns = np.array(sorted(rows), np.int64).reshape(-1, 4).T
    return BitIntervals(*(np.ascontiguousarray(column) for column in columns))


def known_at(lists: list[list[Pairs]], query: int) -> set[Row]:
    """The intervals of all keys and sources as they are known at a query."""
    return {
        (source, key, start, end if end <= query + 1 else int(NEVER))
        for key, sources in enumerate(lists)
        for source, own in enumerate(sources)
        for start, end in own
        if start <= query + 1
    }


@pytest.mark.parametrize("seed", range(60))
def test_the_sum_of_changes_is_what_one_window_gives(seed: int) -> None:
    r = random.Random(seed)
    sources, keys = r.randint(1, 3), r.randint(1, 3)
    program, slots = random_list_program(r, sources, lw.SHORTER)
    outputs = np.arange(sources, slots)
    lists = [random_lists(r, sources, 60) for _ in range(keys)]
    state = ListState(program, slots, outputs)
    state.add_keys(keys)
    step = r.randint(3, 12)
    feed: Counter[Row] = Counter()
    last: set[Row] = set()
    for query in range(step, 90, step):
        edge = query - 2 * step
        for own in lists:
            _change_late(r, own, edge, query)
        now = known_at(lists, query)
        come, gone = state.update(edge, query, intervals(now - last), intervals(last - now))
        last = now
        feed.update(rows_of(come))
        feed.subtract(rows_of(gone))
        expected = set()
        for key in {row[1] for row in now}:
            rows = [row for row in sorted(now) if row[1] == key]
            whole = [[(s, e) for own, _, s, e in rows if own == n] for n in range(sources)]
            plain = plain_lists(program, slots, whole, [True], 0, query, 1)
            for number, slot in enumerate(outputs):
                expected |= {(number, key, s, e) for s, e in plain[slot]}
        assert +feed == Counter(expected), f"seed {seed}, query {query}"
        assert min(feed.values(), default=0) >= 0


def _change_late(r: random.Random, lists: list[Pairs], edge: int, query: int) -> None:
    """Move an end or a start that lies in the window, as a late record would."""
    for own in lists:
        for number, (start, end) in enumerate(own):
            after = own[number + 1][0] if number + 1 < len(own) else 10**6
            if edge + 1 < end <= query and r.random() < 0.2 and end + 2 < after:
                own[number] = (start, end + 1)
