"""Counts of the keys of a lane that hold something as of before a point, by a part of their key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from cernis.evaluate.sweep.key_numbers import KeyNumbers
from cernis.evaluate.sweep.lane_state import LaneChanges, LaneState
from cernis.kernels.array_types import Integers, Matrix, Words
from cernis.plan.sweep.lanes import Lane


class WalkedLane(Protocol):
    """A lane that has been walked up to the query."""

    lane: Lane
    latest: LaneChanges | None
    walk: LaneState

    @property
    def of_keys(self) -> KeyNumbers:
        """The numbers of its keys."""


class CountedKeys:
    """The keys of a lane in groups, which have numbers of `groups`.

    `places` says which parts of a key are that of its group.
    """

    def __init__(self, lane: WalkedLane, places: Sequence[int], groups: KeyNumbers) -> None:
        self._lane, self._places, self._groups = lane, list(places), groups
        self._group_of = np.empty(0, np.int64)
        self._heads = np.full(64, -1, np.int64)
        self._nexts = np.empty(0, np.int64)

    def update(self) -> None:
        """Put new keys into their groups."""
        known, count = len(self._group_of), self._lane.of_keys.count
        if known == count:
            return
        new = np.arange(known, count)
        columns = self._lane.of_keys.columns(new)
        of_new = self._groups.enter([columns[place] for place in self._places], len(new))
        self._group_of = np.concatenate([self._group_of, of_new])
        if self._groups.count > len(self._heads):
            more = np.full(2 * self._groups.count - len(self._heads), -1, np.int64)
            self._heads = np.concatenate([self._heads, more])
        order = np.argsort(of_new, kind="stable")
        sorted_groups, sorted_keys = of_new[order], new[order]
        is_last = np.ones(len(new), np.bool_)
        is_last[:-1] = sorted_groups[1:] != sorted_groups[:-1]
        is_first = np.ones(len(new), np.bool_)
        is_first[1:] = is_last[:-1]
        nexts = np.empty(len(new), np.int64)
        nexts[:-1] = sorted_keys[1:]
        nexts[is_last] = self._heads[sorted_groups[is_last]]
        self._heads[sorted_groups[is_first]] = sorted_keys[is_first]
        in_order = np.empty(len(new), np.int64)
        in_order[order] = nexts
        self._nexts = np.concatenate([self._nexts, in_order])

    def changed(self) -> Integers:
        """The groups of keys whose intervals the last query has changed."""
        changes = self._lane.latest
        if changes is None:
            return np.empty(0, np.int64)
        parts = (changes.come, changes.gone, changes.values_come, changes.values_gone)
        keys = np.concatenate([rows.keys for rows in parts])
        return np.unique(self._group_of[keys])

    def counts(self, groups: Integers, times: Integers, masks: Words) -> Matrix:
        """For each point of a group, and for each mask: how many bits of it are held."""
        if self._groups.count > len(self._heads):
            more = np.full(2 * self._groups.count - len(self._heads), -1, np.int64)
            self._heads = np.concatenate([self._heads, more])
        return self._lane.walk.holding_counts(groups, times, (self._heads, self._nexts), masks)
