"""Replaces parts of stored lists of intervals: new intervals where there is dirt, old elsewhere."""

from __future__ import annotations

import numpy as np

from cernis.evaluate.changes.differences import hashed, only_in_one
from cernis.evaluate.changes.dirt import Dirt
from cernis.evaluate.changes.stores import Places, Store, StoredRows, stacked
from cernis.evaluate.query_loop import RelationChange
from cernis.kernels.array_types import Integers
from cernis.kernels.hashing import RowTable
from cernis.kernels.intervals.list_operations import maximal
from cernis.kernels.intervals.splices import splice as splice_lists
from cernis.kernels.intervals.stretches import cut
from cernis.kernels.order import in_order, order_by


def splice(
    store: Store, dirt: Dirt, intervals: StoredRows, groups: Integers, bound: int
) -> tuple[RelationChange, Dirt]:
    """Replace what was stored in the dirt by intervals, which must lie in it.

    What was derived before the bound stands, even if everything is dirt. Gives how the maximal
    intervals have changed, and on which stretches.
    """
    places = store.overlapping(dirt)
    old = store.rows(places)
    starts, ends = old.columns[:2]
    if dirt.everything:
        early = starts < bound
        kept, owners = old.take(early), places[1][early]
        kept.columns[1] = np.minimum(kept.columns[1], bound)
    else:
        stretches = dirt.groups, dirt.starts, dirt.ends
        rows, starts, ends = cut(places[1], starts, ends, *stretches, inside=False)
        kept, owners = old.take(rows), places[1][rows]
        kept.columns[:2] = [starts, ends]
    new, owners = as_maximal(store, stacked(kept, intervals), np.concatenate([owners, groups]))
    return exchange_rows(store, places, old, new, owners)


def splice_one(
    store: Store, dirt: Dirt, intervals: StoredRows, value: int
) -> tuple[RelationChange, Dirt]:
    """As `splice`, for a fluent of which each key has one list: no other arguments, one value."""
    groups, starts, ends = (
        store.groups(intervals),
        *map(np.ascontiguousarray, intervals.columns[:2]),
    )
    if not in_order(groups, starts):
        order = order_by(groups, starts)
        groups, starts, ends = groups[order], starts[order], ends[order]
    removed, added, stretches = splice_lists(
        dirt.groups, dirt.starts, dirt.ends, groups, starts, ends, value, store.shelf.raw
    )
    return exchange_at(store, removed, added, stretches)


def exchange_at(
    store: Store, removed: Integers, added: Integers, stretches: Integers
) -> tuple[RelationChange, Dirt]:
    """Remove intervals, given by place and key, and add others: key, start, end and value."""
    columns = store.register.columns(added[0])
    keys = dict(zip(store.positions, columns, strict=True))
    new = StoredRows([keys[position] for position in range(store.relation.arity)], list(added[1:]))
    change = RelationChange(store.rows((removed[0], removed[1])), new)
    if len(change):
        store.exchange((removed[0], removed[1]), added[0], new)
    return change, Dirt(*stretches)


def within_dirt(dirt: Dirt, intervals: StoredRows, groups: Integers) -> tuple[StoredRows, Integers]:
    """The parts of intervals that lie in the dirt, and their keys."""
    if dirt.everything:
        return intervals, groups
    stretches = dirt.groups, dirt.starts, dirt.ends
    starts, ends = intervals.columns[:2]
    rows, starts, ends = cut(groups, starts, ends, *stretches, inside=True)
    parts = intervals.take(rows)
    parts.columns[:2] = [starts, ends]
    return parts, groups[rows]


def exchange_rows(
    store: Store, places: Places, old: StoredRows, new: StoredRows, groups: Integers
) -> tuple[RelationChange, Dirt]:
    """Replace rows by others; gives how they differ, and on which stretches."""
    is_removed, is_added = only_in_one(old, new)
    change = RelationChange(old.take(is_removed), new.take(is_added))
    if not len(change):
        return change, Dirt.nothing()
    removed_keys, added_keys = places[1][is_removed], groups[is_added]
    store.exchange((places[0][is_removed], removed_keys), added_keys, change.added)
    if store.width == 1:
        points = np.concatenate([change.removed.columns[0], change.added.columns[0]])
        return change, Dirt.of(np.concatenate([removed_keys, added_keys]), points, points + 1)
    return change, _stretches(change, removed_keys, added_keys)


def _stretches(change: RelationChange, removed_keys: Integers, added_keys: Integers) -> Dirt:
    """The stretches on which intervals differ.

    Two intervals that start together differ only where one of them goes on and the other does not.
    """
    starts = np.concatenate([change.removed.columns[0], change.added.columns[0]])
    ends = np.concatenate([change.removed.columns[1], change.added.columns[1]])
    count = len(change.removed)
    if count and len(change.added):
        one, two = (
            [*rows.arguments, *rows.columns[::2]] for rows in (change.removed, change.added)
        )
        removed_rows = RowTable(hashed(one)).find(hashed(two))
        pairs = np.flatnonzero(removed_rows >= 0)
        same = [a[removed_rows[pairs]] == b[pairs] for a, b in zip(one, two, strict=True)]
        pairs = pairs[np.logical_and.reduce(same)]
        removed_ends, added_ends = ends[removed_rows[pairs]], ends[count + pairs]
        starts[removed_rows[pairs]] = starts[count + pairs] = np.minimum(removed_ends, added_ends)
        ends[removed_rows[pairs]] = ends[count + pairs] = np.maximum(removed_ends, added_ends)
    return Dirt.of(np.concatenate([removed_keys, added_keys]), starts, ends)


def as_maximal(store: Store, rows: StoredRows, groups: Integers) -> tuple[StoredRows, Integers]:
    """Maximal intervals made of intervals in any order, which may overlap; and their keys."""
    if not len(rows):
        return rows, groups
    identity = [column for column in store.identity(rows) if (column != column[0]).any()]
    starts = rows.columns[0]
    order = np.lexsort((starts, *identity, groups)) if identity else order_by(groups, starts)
    rows, groups = rows.take(order), groups[order]
    new = np.ones(len(groups), np.bool_)
    new[1:] = groups[1:] != groups[:-1]
    for column in identity:
        new[1:] |= column[order][1:] != column[order][:-1]
    heads = np.flatnonzero(new)
    owners, starts, ends = maximal(np.cumsum(new) - 1, *map(np.ascontiguousarray, rows.columns[:2]))
    intervals = rows.take(heads[owners])
    intervals.columns[:2] = [starts, ends]
    return intervals, groups[heads[owners]]


def widened(dirt: Dirt, tick: int) -> Dirt:
    """The stretches with the point before each, at which what begins or ends in it is caused."""
    return Dirt.of(dirt.groups, dirt.starts - tick, dirt.ends) if len(dirt.groups) else dirt


def at_or_after(dirt: Dirt, bound: int) -> Dirt:
    """The parts of the stretches that lie at a point or after it."""
    if dirt.everything or not len(dirt.groups) or int(dirt.starts.min()) >= bound:
        return dirt
    keep = dirt.ends > bound
    return Dirt(dirt.groups[keep], np.maximum(dirt.starts[keep], bound), dirt.ends[keep])
