"""Queues of what is due: they grow, and those of some instances are merged into those of all."""

from __future__ import annotations

import numpy as np

from cernis.evaluate.linked.linked_queues import LinkedQueues


def queues_of(*times: list[int]) -> LinkedQueues:
    """Queues with some times; handles are ten times as large."""
    return LinkedQueues([(np.array(t, np.int64), 10 * np.array(t, np.int64)) for t in times])


def listed(queues: LinkedQueues) -> list[list[int]]:
    """The times of the queues that entries are put into."""
    return all_listed(queues)[len(queues.entries()) // 2 :]


def all_listed(queues: LinkedQueues) -> list[list[int]]:
    """The times of all queues."""
    entries = queues.entries()
    assert all((10 * times == handles).all() for times, handles in entries)
    return [times.tolist() for times, _ in entries]


def test_queues_grow_with_what_is_in_them() -> None:
    many = list(range(200))
    queues = queues_of(many, [3, 5], [])
    assert listed(queues) == [many, [3, 5], []]
    queues.marks[6] = 150
    queues.grow()
    assert listed(queues) == [many[150:], [3, 5], []]


def test_queues_are_rings() -> None:
    queues = queues_of(list(range(30)), [])
    room = len(queues.times) // 4
    assert room >= 60
    first = 2 * room
    for time in range(30, room + 20):
        place = first + time % room
        queues.times[place], queues.handles[place] = time, 10 * time
    queues.marks[4:6] = 20, room + 20
    assert listed(queues) == [list(range(20, room + 20)), []]
    queues.grow()
    assert listed(queues) == [list(range(20, room + 20)), []]


def test_others_are_merged_in_order_beside_what_a_walk_adds() -> None:
    queues, others = queues_of([1, 4, 9], [7]), queues_of([2, 30], [])
    others.times[:2], others.handles[:2], others.marks[1] = [4, 5], [40, 50], 2
    assert all_listed(others) == [[4, 5], [], [2, 30], []]
    queues.merge(others)
    assert all_listed(queues) == [[], [], [1, 2, 4, 4, 5, 9, 30], [7]]
