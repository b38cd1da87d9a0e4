"""Changes by visit against sorting by key."""

import random

import numpy as np
import pytest

from cernis.kernels.sweep.list_arrays import (
    NOT_VISITED,
    add_visits,
    forget_visits,
    number_visits,
    order_changes,
)


@pytest.mark.parametrize("seed", range(20))
def test_each_key_is_visited_once_and_has_its_changes_in_order(seed: int) -> None:
    r = random.Random(seed)
    count = r.randint(1, 20)
    visit_of = np.full(count, NOT_VISITED, np.int32)
    keys = np.array([r.randrange(count) for _ in range(r.randint(0, 40))], np.int64)
    others = np.array([r.randrange(count) for _ in range(r.randint(0, 9))], np.int64)
    room = np.empty(count, np.int64)
    added = add_visits(others, add_visits(keys, 0, visit_of, room), visit_of, room)
    visits = np.sort(room[:added])
    assert visits.tolist() == sorted({*keys.tolist(), *others.tolist()}), f"seed {seed}"
    number_visits(visits, visit_of)
    columns = [np.array([r.randint(-9, 9) for _ in keys], np.int64) for _ in range(3)]
    firsts, rows = np.zeros(len(visits) + 1, np.int64), np.zeros((len(keys), 4), np.uint64)
    order_changes(columns[0], keys, columns[1], columns[2], visit_of, firsts, rows)
    order = np.argsort(keys, kind="stable")
    assert rows[:, :3].astype(np.int64).tolist() == np.column_stack(columns)[order].tolist()
    assert firsts.tolist() == [*np.searchsorted(keys[order], visits).tolist(), len(keys)]
    forget_visits(visits, visit_of)
    assert (visit_of == NOT_VISITED).all()
