"""A shelf: rows kept by group and time, where a few can be exchanged at little cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cernis.kernels import shelf_rows as shelves
from cernis.kernels.array_types import Array, Integers
from cernis.kernels.order import in_order, order_by, placed, ranks

_ROOM = 4
"""The least room that a group has to grow."""


def sorted_by(groups: Integers, times: Integers) -> tuple[Integers, Integers | None]:
    """Groups in order, and the order by group and time, None if rows are in it.

    The rows of a group are mostly in the order of time already.
    """
    if in_order(groups, times):
        return groups, None
    size = int(groups.max()) + 1
    if size <= 4 * len(groups) + 65_536:
        order = placed(np.arange(len(groups)), ranks(groups, size)[0])
        if in_order(groups.take(order), times.take(order)):
            return groups.take(order), order
    order = order_by(groups, times)
    return groups.take(order), order


def sorted_pairs(groups: Integers, times: Integers) -> tuple[Integers, Integers]:
    """The different pairs of groups and times, in order."""
    order = np.lexsort((times, groups))
    groups, times = groups[order], times[order]
    is_new = np.ones(len(groups), np.bool_)
    is_new[1:] = (groups[1:] != groups[:-1]) | (times[1:] != times[:-1])
    return groups[is_new], times[is_new]


class GroupedRows:
    """Rows of columns, those of a group in the order of the first column.

    Groups are numbered from 0. The first column holds times, or starts of intervals; a shelf of
    intervals has their ends as its second column, and knows the largest end so far beside them.
    Numbers of other columns may be integers or floats; a column that was given floats once holds
    floats from then on.
    """

    def __init__(self, width: int, has_intervals: bool = False) -> None:
        self.width = width
        self._reach = width if has_intervals else -1
        self._is_float = [False] * width
        self._pool = np.empty((width + has_intervals, 0), np.int64)
        self._firsts, self._counts, self._bases, self._rooms = np.zeros((4, 0), np.int64)
        self._used = 0
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def groups(self) -> int:
        """Groups are numbered below this."""
        return len(self._counts)

    # -- finding ----------------------------------------------------------------------------

    def everything(self) -> tuple[Integers, Integers]:
        """The places of all rows, by group and time, and the group of each."""
        places, groups = self._room(self._length)
        if self._length:
            shelves.list_all(self._firsts, self._counts, places, groups)
        return places, groups

    def of_groups(self, groups: Integers) -> tuple[Integers, Integers]:
        """The places of the rows of some groups, by group and time; groups ascend."""
        groups = np.ascontiguousarray(groups[groups < self.groups])
        places = self._room(int(self._counts[groups].sum()))
        if len(places[0]):
            shelves.list_groups(self._firsts, self._counts, groups, *places)
        return places

    def at_times(self, groups: Integers, times: Integers) -> tuple[Integers, Integers]:
        """The places of the rows of groups that have one of the times given with the group."""
        is_known = groups < self.groups
        groups, times = sorted_pairs(groups[is_known], times[is_known])
        where = self._pool, self._firsts, self._counts, groups, times
        count = int(shelves.find_at_times(*where, *self._room(0)))
        places = self._room(count)
        if count:
            shelves.find_at_times(*where, *places)
        return places

    def rows(self, places: Integers) -> list[Array]:
        """The columns of rows."""
        return [self.column(at, places) for at in range(self.width)]

    def column(self, index: int, places: Integers) -> Array:
        """One column of rows."""
        column = self._pool[index].take(places)
        return np.asarray(column.view(np.float64) if self._is_float[index] else column)

    def _room(self, count: int) -> tuple[Integers, Integers]:
        return np.empty(count, np.int64), np.empty(count, np.int64)

    # -- changing ---------------------------------------------------------------------------

    def exchange(
        self, gone: tuple[Integers, Integers], groups: Integers, columns: Sequence[Array]
    ) -> None:
        """Take out the rows at some places, given with their groups, and put in others.

        Both may come in any order. Places that were found before are no longer valid.
        """
        if not len(gone[0]) and not len(groups):
            return
        gone_groups, gone_places = self._in_order(gone[1], gone[0])
        come_groups, come = self._incoming(groups, columns)
        before = self._firsts[gone_groups]
        self._let_grow(come_groups)
        # Groups may have been moved, each as a whole.
        gone_places = gone_places + (self._firsts[gone_groups] - before)
        self._used = int(
            shelves.exchange(
                self._pool, self._firsts, self._counts, self._bases, self._rooms, self._used,
                gone_groups, gone_places, come_groups, come, self._reach,
            )
        )  # fmt: skip
        self._length += len(come_groups) - len(gone_groups)

    def forget(self, edge: int) -> None:
        """Forget rows up to a time; of intervals, those before which all have ended by then.

        Of a group only the first rows go: an interval after one that lasts stays with it.
        """
        if self._length:
            row = max(self._reach, 0)
            self._length -= int(shelves.forget(self._pool, self._firsts, self._counts, row, edge))

    def _in_order(self, groups: Integers, places: Integers) -> tuple[Integers, Integers]:
        groups, places = np.ascontiguousarray(groups), np.ascontiguousarray(places)
        if not len(groups) or in_order(groups, places):
            return groups, places
        order = order_by(groups, places)
        return groups[order], places[order]

    def _incoming(self, groups: Integers, columns: Sequence[Array]) -> tuple[Integers, Integers]:
        groups, order = sorted_by(np.ascontiguousarray(groups), np.ascontiguousarray(columns[0]))
        come = np.empty((self.width, len(groups)), np.int64)
        for at, column in enumerate(columns):
            whole = self._as_integers(at, column)
            come[at] = whole if order is None else whole.take(order)
        return groups, come

    def _as_integers(self, index: int, column: Array) -> Integers:
        """A column as the pool keeps it: floats by their bits."""
        if column.dtype == np.float64 and len(column) and not self._is_float[index]:
            self._is_float[index] = True
            own = self._pool[index, : self._used]
            own[:] = own.astype(np.float64).view(np.int64)
        if self._is_float[index]:
            return np.ascontiguousarray(column.astype(np.float64)).view(np.int64)
        return column.astype(np.int64, copy=False)

    def _let_grow(self, come_groups: Integers) -> None:
        if len(come_groups) and int(come_groups[-1]) >= self.groups:
            more = max(int(come_groups[-1]) + 1, self.groups * 2) - self.groups
            none = np.zeros(more, np.int64)
            self._firsts, self._counts, self._bases, self._rooms = (
                np.concatenate([own, none])
                for own in (self._firsts, self._counts, self._bases, self._rooms)
            )
        need = int(shelves.room_needed(self._counts, self._rooms, come_groups))
        if self._used + need > self._pool.shape[1]:
            self._make_room(np.bincount(come_groups, minlength=self.groups))

    def _make_room(self, more: Integers) -> None:
        """Put all groups after one another in a new pool, with room for more, and to grow."""
        places, owners = self.everything()
        wanted = self._counts + more
        rooms = np.where(wanted, 2 * wanted + _ROOM, 0)
        bases = np.cumsum(rooms) - rooms
        used = int(rooms.sum())
        pool = np.empty((self._pool.shape[0], used + used // 4 + _ROOM), np.int64)
        within = np.arange(len(places)) - np.repeat(
            np.cumsum(self._counts) - self._counts, self._counts
        )
        pool[:, bases[owners] + within] = self._pool[:, places]
        self._pool, self._used = pool, used
        self._bases, self._rooms, self._firsts = bases, rooms, bases.copy()
