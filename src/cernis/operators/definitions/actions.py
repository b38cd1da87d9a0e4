"""Actions on the instances of a fluent: sorted by instance and time, and merged."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from cernis.kernels.array_types import Booleans, Integers
from cernis.kernels.merge import merge
from cernis.kernels.order import in_order, order_by, placed, ranks
from cernis.operators.context.fluent_points import Points
from cernis.operators.definitions.instance_keys import InstanceKeys

_NEVER = np.iinfo(np.int64).max

SortedActions: TypeAlias = tuple[Integers, Integers, Integers]
"""Groups, times and actions, sorted by group and time."""


def sorted_actions(
    groups: Integers, times: Integers, actions: Integers, size: int
) -> SortedActions:
    """Actions sorted by group, of which there are so many, and time."""
    groups, times = np.ascontiguousarray(groups), np.ascontiguousarray(times)
    if in_order(groups, times):
        return groups, times, np.ascontiguousarray(actions)
    if size <= 4 * len(groups) + 65_536:
        # The actions of a group are mostly in the order of time already.
        rank, _ = ranks(groups, size)
        groups, times, actions = (placed(column, rank) for column in (groups, times, actions))
        if in_order(groups, times):
            return groups, times, actions
    order = order_by(groups, times)
    return groups[order], times[order], actions[order]


def merged_actions(lists: list[SortedActions]) -> SortedActions:
    """All actions in order; short lists are merged first."""
    waiting = sorted((actions for actions in lists if len(actions[0])), key=lambda own: len(own[0]))
    if not waiting:
        none = np.empty(0, np.int64)
        return none, none, none
    while len(waiting) > 1:
        first, second = waiting.pop(0), waiting.pop(0)
        waiting.append(merge(*first, *second))
        waiting.sort(key=lambda own: len(own[0]))
    return waiting[0]


def chosen_actions(actions: SortedActions, rows: Booleans) -> SortedActions:
    """Some of the actions, in their order."""
    groups, times, codes = (column[rows] for column in actions)
    return groups, times, codes


def with_waiting(
    before: tuple[Integers, Integers, Integers, Integers], keys: InstanceKeys,
    waiting: Points | None,
) -> tuple[Integers, Integers, Integers, Integers]:  # fmt: skip
    """What holds at the edge, and what only has effects to come, sorted by instance."""
    if waiting is None or not len(waiting.times):
        return before
    own = keys.of(waiting.arguments, len(waiting.times))
    more = own, waiting.values, np.full(len(own), _NEVER), waiting.times
    instances, values, starts, since = (
        np.concatenate(both) for both in zip(before, more, strict=True)
    )
    order = np.argsort(instances, kind="stable")
    return instances[order], values[order], starts[order], since[order]


def all_of(one: Integers, other: Integers) -> Integers:
    """The different instances of two sorted lists, sorted."""
    both = np.concatenate([one, other]) if len(other) else one
    if len(other):
        both.sort()
    new = np.ones(len(both), np.bool_)
    new[1:] = both[1:] != both[:-1]
    return both[new]
