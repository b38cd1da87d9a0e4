"""Dirt: the stretches of the time-line on which something has changed, group by group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cernis.kernels.array_types import Integers
from cernis.kernels.intervals.list_operations import maximal
from cernis.kernels.intervals.stretches import are_apart, unite
from cernis.kernels.order import in_order, order_by
from cernis.tables.interval_tables import INFINITY


@dataclass(slots=True)
class Dirt:
    """Disjoint stretches `[start, end)` of groups, sorted by group and start; or everything."""

    groups: Integers
    starts: Integers
    ends: Integers
    everything: bool = False

    @classmethod
    def of(cls, groups: Integers, starts: Integers, ends: Integers) -> Dirt:
        """The dirt of some stretches, which may overlap and need not be sorted."""
        groups, starts, ends = map(np.ascontiguousarray, (groups, starts, ends))
        if are_apart(groups, starts, ends):
            return cls(groups, starts, ends)
        if not in_order(groups, starts):
            order = order_by(groups, starts)
            groups, starts, ends = groups[order], starts[order], ends[order]
        return cls(*maximal(groups, starts, ends))

    @classmethod
    def nothing(cls) -> Dirt:
        """No stretch at all."""
        none = np.empty(0, np.int64)
        return cls(none, none, none)

    @classmethod
    def all(cls) -> Dirt:
        """Everything, including groups that are not known yet."""
        dirt = cls.nothing()
        dirt.everything = True
        return dirt

    @classmethod
    def whole(cls, groups: Integers, edge: int) -> Dirt:
        """All of some groups, from a point on."""
        groups = np.unique(groups)
        return cls(groups, np.full(len(groups), edge), np.full(len(groups), INFINITY))

    def __bool__(self) -> bool:
        return self.everything or bool(len(self.groups))

    def keys(self) -> Integers:
        """The groups, each once."""
        if not len(self.groups):
            return self.groups
        is_first = np.concatenate([[True], self.groups[1:] != self.groups[:-1]])
        return np.asarray(self.groups[is_first])

    def longer(self, by: int) -> Dirt:
        """The same stretches, each with a later end; those that overlap then are joined."""
        ends = np.where(self.ends > INFINITY - by, INFINITY, self.ends + by)
        return Dirt.of(self.groups, self.starts, ends)


def joined(parts: Iterable[Dirt]) -> Dirt:
    """All stretches of several parts, as one."""
    # The same part is often given several times.
    different = list({id(part): part for part in parts if part}.values())
    if any(part.everything for part in different):
        return Dirt.all()
    if len(different) <= 1:
        return different[0] if different else Dirt.nothing()
    different.sort(key=lambda part: len(part.groups))
    whole = different[0]
    for part in different[1:]:
        stretches = part.groups, part.starts, part.ends
        whole = Dirt(*unite(whole.groups, whole.starts, whole.ends, *stretches))
    return whole
