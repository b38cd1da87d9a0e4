"""Counts of the keys of a lane that hold something as of before a point, by a part of their key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from cernis.evaluate.sweep.key_numbers import KeyNumbers
from cernis.evaluate.sweep.lane_state import LaneChanges, LaneState
from cernis.kernels.array_types import Integers, Matrix, Words
from cernis.kernels.sweep.gates.holding_counts import link_keys
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
        if known < count:
            new = np.arange(known, count)
            columns = self._lane.of_keys.columns(new)
            of_new = self._groups.enter([columns[place] for place in self._places], len(new))
            self._group_of = np.concatenate([self._group_of, of_new])
            self._make_room()
            if count > len(self._nexts):
                more = np.empty(2 * count - len(self._nexts), np.int64)
                self._nexts = np.concatenate([self._nexts, more])
            link_keys(of_new, known, self._heads, self._nexts)

    def _make_room(self) -> None:
        """Groups that have no keys have no first one."""
        if self._groups.count > len(self._heads):
            more = np.full(2 * self._groups.count - len(self._heads), -1, np.int64)
            self._heads = np.concatenate([self._heads, more])

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
        self._make_room()
        return self._lane.walk.holding_counts(groups, times, (self._heads, self._nexts), masks)
