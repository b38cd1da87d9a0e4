"""Parts of lists of intervals exchanged: where there is dirt what is new, elsewhere what was."""

from __future__ import annotations

import numpy as np

from cernis.evaluate.changes.differences import hashed, told_apart
from cernis.evaluate.changes.dirt import Dirt
from cernis.evaluate.changes.stores import Places, Rows, Store, stacked
from cernis.evaluate.query_loop import Change
from cernis.kernels.array_types import Integers
from cernis.kernels.hashing import RowTable
from cernis.kernels.intervals.list_operations import maximal
from cernis.kernels.intervals.splices import splice as splice_lists
from cernis.kernels.intervals.stretches import cut
from cernis.kernels.order import in_order, order_by


def splice(
    store: Store, dirt: Dirt, found: Rows, groups: Integers, bound: int
) -> tuple[Change, Dirt]:
    """Let intervals, which lie in the dirt, take the place of what was there.

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
    new, owners = joined_up(store, stacked(kept, found), np.concatenate([owners, groups]))
    return exchanged(store, places, old, new, owners)


def splice_one(store: Store, dirt: Dirt, found: Rows, value: int) -> tuple[Change, Dirt]:
    """As `splice`, where a key has one list: no other arguments, and one value."""
    groups, starts, ends = store.groups(found), *map(np.ascontiguousarray, found.columns[:2])
    if not in_order(groups, starts):
        order = order_by(groups, starts)
        groups, starts, ends = groups[order], starts[order], ends[order]
    gone, come, stretches = splice_lists(
        dirt.groups, dirt.starts, dirt.ends, groups, starts, ends, value, store.shelf.raw
    )
    return exchanged_at(store, gone, come, stretches)


def exchanged_at(
    store: Store, gone: Integers, come: Integers, stretches: Integers
) -> tuple[Change, Dirt]:
    """Exchange intervals, given by places and keys, for others, by key, start, end and value."""
    columns = store.register.columns(come[0])
    keys = dict(zip(store.positions, columns, strict=True))
    new = Rows([keys[at] for at in range(store.relation.arity)], list(come[1:]))
    change = Change(store.rows((gone[0], gone[1])), new)
    if len(change):
        store.exchange((gone[0], gone[1]), come[0], new)
    return change, Dirt(*stretches)


def inside(dirt: Dirt, found: Rows, groups: Integers) -> tuple[Rows, Integers]:
    """What of intervals lies in the dirt, and their groups."""
    if dirt.everything:
        return found, groups
    stretches = dirt.groups, dirt.starts, dirt.ends
    starts, ends = found.columns[:2]
    rows, starts, ends = cut(groups, starts, ends, *stretches, inside=True)
    parts = found.take(rows)
    parts.columns[:2] = [starts, ends]
    return parts, groups[rows]


def exchanged(
    store: Store, places: Places, old: Rows, new: Rows, groups: Integers
) -> tuple[Change, Dirt]:
    """Let rows take the place of others; gives what differs, and on which stretches."""
    gone, come = told_apart(old, new)
    change = Change(old.take(gone), new.take(come))
    if not len(change):
        return change, Dirt.nothing()
    gone_groups, come_groups = places[1][gone], groups[come]
    store.exchange((places[0][gone], gone_groups), come_groups, change.come)
    if store.width == 1:
        points = np.concatenate([change.gone.columns[0], change.come.columns[0]])
        return change, Dirt.of(np.concatenate([gone_groups, come_groups]), points, points + 1)
    return change, _stretches(change, gone_groups, come_groups)


def _stretches(change: Change, gone_groups: Integers, come_groups: Integers) -> Dirt:
    """Where intervals differ: those that begin together where only one of them goes on."""
    starts = np.concatenate([change.gone.columns[0], change.come.columns[0]])
    ends = np.concatenate([change.gone.columns[1], change.come.columns[1]])
    count = len(change.gone)
    if count and len(change.come):
        one, two = ([*own.arguments, *own.columns[::2]] for own in (change.gone, change.come))
        found = RowTable(hashed(one)).find(hashed(two))
        pairs = np.flatnonzero(found >= 0)
        same = [a[found[pairs]] == b[pairs] for a, b in zip(one, two, strict=True)]
        pairs = pairs[np.logical_and.reduce(same)]
        mine, theirs = ends[found[pairs]], ends[count + pairs]
        starts[found[pairs]] = starts[count + pairs] = np.minimum(mine, theirs)
        ends[found[pairs]] = ends[count + pairs] = np.maximum(mine, theirs)
    return Dirt.of(np.concatenate([gone_groups, come_groups]), starts, ends)


def joined_up(store: Store, rows: Rows, groups: Integers) -> tuple[Rows, Integers]:
    """Intervals in any order, overlapping or not, as maximal ones, with their groups."""
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
    found = rows.take(heads[owners])
    found.columns[:2] = [starts, ends]
    return found, groups[heads[owners]]


def widened(dirt: Dirt, tick: int) -> Dirt:
    """The stretches with the points at which what begins or ends in them does so."""
    return Dirt.of(dirt.groups, dirt.starts - tick, dirt.ends) if len(dirt.groups) else dirt


def behind(dirt: Dirt, bound: int) -> Dirt:
    """What of the stretches lies at a point or after it."""
    if dirt.everything or not len(dirt.groups) or int(dirt.starts.min()) >= bound:
        return dirt
    keep = dirt.ends > bound
    return Dirt(dirt.groups[keep], np.maximum(dirt.starts[keep], bound), dirt.ends[keep])
