"""The calendar against a dictionary of what is due."""

import random

import numpy as np
import pytest

from cernis.kernels.sweep.key_calendar import BUCKETS, NEVER, Calendar, due_keys, set_dues


@pytest.mark.parametrize("seed", range(20))
def test_keys_that_are_due_are_found(seed: int) -> None:
    r = random.Random(seed)
    count, width = r.randint(1, 30), r.choice([1, 3, 40])
    dues = np.full(count, NEVER)
    after, before = np.zeros(count, np.int32), np.zeros(count, np.int32)
    calendar = Calendar(dues, after, before, np.zeros(BUCKETS, np.int32), width)
    known: dict[int, int] = {}
    last = -50
    for _ in range(12):
        for key in r.sample(range(count), r.randint(0, count)):
            time = r.choice([int(NEVER), last + r.randint(1, 10 * BUCKETS * width)])
            time = r.choice([time, last + r.randint(1, 20)])
            known[key] = time
            set_dues(np.array([key]), np.array([time]), calendar)
        query = last + r.choice([0, 5, 3 * width, 2 * BUCKETS * width])
        keys = np.empty(count, np.int64)
        found = due_keys(last, query, calendar, keys)
        due = sorted(key for key, time in known.items() if time <= query)
        assert sorted(keys[:found].tolist()) == due, f"seed {seed}"
        for key in due:
            known[key] = query + r.randint(1, 30)
            moved = np.array([known[key]])
            set_dues(np.array([key]), moved, calendar)
        last = query
