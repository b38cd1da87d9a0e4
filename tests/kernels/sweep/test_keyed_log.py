"""Changes are counted and placed by key."""

import numpy as np

from cernis.kernels.sweep.keyed_log import PLACING, count_changes, note_visits, offsets


def test_changes_lie_with_those_of_their_key() -> None:
    keys, times = np.array([2, 0, 2, 1]), np.array([15, 12, 11, 5])
    counts, visits, totals = np.zeros(4, np.int64), np.zeros(4, np.int64), np.zeros(3, np.int64)
    count_changes(keys, times, 5, counts, visits, totals)
    assert totals.tolist() == [2, 3, 1]
    assert visits[:2].tolist() == [2, 0]
    seen = np.zeros(4, np.uint8)
    assert note_visits(np.array([0, 3, 3]), 2, counts, seen, visits) == 3
    order = np.sort(visits[:3])
    firsts = np.zeros(4, np.int64)
    offsets(order, counts, firsts)
    assert firsts.tolist() == [0, 1, 3, 3]
    pending = np.zeros(3, np.uint64)
    fired = np.array([7, 8, 9, 6], np.uint16)
    none = np.zeros(0, np.uint32)
    PLACING[False, False](keys, times, fired, 5, 10, 1, counts, pending, none, none)
    rows = [(int(row) >> 32, int(row) >> 16 & 0xFFFF, int(row) & 0xFFFF) for row in pending]
    assert rows == [(2, 8, 1), (5, 7, 1), (1, 9, 1)]
