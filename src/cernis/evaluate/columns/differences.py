"""How two snapshots differ: in which rows, for which entities, and from which point on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.columns.snapshots import Entities, Keys, Snapshot
from cernis.evaluate.stores import StoredRows
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.kernels.hashing import RowTable
from cernis.tables.domains import Domain


def only_in_one(old: StoredRows, new: StoredRows) -> tuple[Booleans, Booleans]:
    """Which rows only the old or only the new ones have: a mask over each."""
    one, two = [*old.arguments, *old.columns], [*new.arguments, *new.columns]
    if not len(old) or not len(new):
        return np.ones(len(old), np.bool_), np.ones(len(new), np.bool_)
    pairs = [np.promote_types(a.dtype, b.dtype) for a, b in zip(one, two, strict=True)]
    one = [a.astype(kind, copy=False) for a, kind in zip(one, pairs, strict=True)]
    two = [b.astype(kind, copy=False) for b, kind in zip(two, pairs, strict=True)]
    mask = differing(one, two)
    return mask[: len(old)], mask[len(old) :]


def differing(old: list[Array], new: list[Array]) -> Booleans:
    """A mask over the old and then the new rows: which of them only one of two tables has.

    A row that a table has twice counts as one.
    """
    if not len(old[0]) or not len(new[0]):
        return np.ones(len(old[0]) + len(new[0]), np.bool_)
    hashes = [hashed(columns) for columns in (old, new)]
    table = RowTable(hashes[0])
    first, old_rows = table.find(hashes[0]), table.find(hashes[1])
    is_in_old = old_rows >= 0
    equal = [a[old_rows[is_in_old]] == b[is_in_old] for a, b in zip(old, new, strict=True)]
    twins = [column[first] == column for column in old]
    if not all(map(np.all, (*equal, *twins))):
        # Two different rows have the same hash, so the columns are compared.
        return differing_plain(old, new)
    is_in_new = np.zeros(len(old[0]), np.bool_)
    is_in_new[old_rows[is_in_old]] = True
    return np.concatenate([~is_in_new[first], ~is_in_old])


def hashed(columns: list[Array]) -> Integers:
    """One number for each row, computed from all its columns."""
    hashes = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        hashes ^= np.ascontiguousarray(column).view(np.uint64)
        hashes *= np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(32)
    return hashes.view(np.int64)


def differing_plain(old: list[Array], new: list[Array]) -> Booleans:
    """As `differing`, by sorting all rows."""
    columns = [np.concatenate(both) for both in zip(old, new, strict=True)]
    is_new = np.repeat([False, True], [len(old[0]), len(new[0])])
    order = np.lexsort((is_new, *columns))
    same = np.ones(len(order) - 1, np.bool_)
    for column in columns:
        same &= column[order][1:] == column[order][:-1]
    # Equal rows lie next to one another now. Where both tables have such rows, nothing changed.
    stretch = np.concatenate([[0], np.cumsum(~same)])
    ranks = is_new[order]
    has_new, has_old = np.bincount(stretch, ranks) > 0, np.bincount(stretch, ~ranks) > 0
    differs = np.empty(len(order), np.bool_)
    differs[order] = (has_new ^ has_old)[stretch]
    return differs


@dataclass(slots=True)
class Difference:
    """What a round has changed: since which point, and for which entities (None if unknown)."""

    since: int
    entities: Entities | None


def difference(
    before: Snapshot, now: Snapshot, keys: Keys,
    domains: Callable[[Relation], list[Domain | None]], tick: int,
) -> Difference | None:  # fmt: skip
    """How two rounds differ; None if they do not."""
    parts: list[list[Array]] = []
    key_domains: list[Domain | None] = []
    times: list[int] = []
    has_all_keys = True
    for one, other in zip(before.rows(), now.rows(), strict=True):
        relation, (old, new) = one[0], (one[2], other[2])
        rows = changed_rows(old, new)
        if rows is None:
            continue
        times.append(earliest(old, new, rows, relation.arity, tick))
        arguments = [np.concatenate(both) for both in zip(one[1], other[1], strict=True)]
        columns = keys.of(relation, arguments)
        if columns is None:
            has_all_keys = False
            continue
        parts.append([column[rows] for column in columns])
        key_domains = [domains(relation)[position] for position in keys.positions[relation]]
    if not times:
        return None
    if not has_all_keys or not key_domains:
        return Difference(min(times), None)
    columns = [np.concatenate(columns_of_parts) for columns_of_parts in zip(*parts, strict=True)]
    return Difference(min(times), Entities(keys, columns, key_domains))


def changed_rows(old: list[Array], new: list[Array]) -> Booleans | None:
    """As `differing`, but None if the two tables have the same rows."""
    if _equal(old, new):
        return None
    rows = differing(old, new)
    return rows if rows.any() else None


def earliest(old: list[Array], new: list[Array], rows: Booleans, arity: int, tick: int) -> int:
    """The first point at which two tables differ, given which of their rows differ.

    Points have one column of times, and intervals two. Two intervals that start together differ
    from the point where the first of them ends. What starts or ends at t is caused by what happens
    a tick before, so that point is the first.
    """
    count = len(old[0])
    removed, added = [c[rows[:count]] for c in old], [c[rows[count:]] for c in new]
    if len(old) < arity + 3:
        return int(min(column.min() for column in (removed[-1], added[-1]) if len(column)))
    firsts = [np.concatenate([removed[-2], added[-2]])]
    if len(removed[0]) and len(added[0]):
        old_rows = RowTable(hashed(removed[:-1])).find(hashed(added[:-1]))
        pairs = np.flatnonzero(old_rows >= 0)
        same = [
            a[old_rows[pairs]] == b[pairs] for a, b in zip(removed[:-1], added[:-1], strict=True)
        ]
        pairs = pairs[np.logical_and.reduce(same)]
        alone = np.ones(len(firsts[0]), np.bool_)
        alone[old_rows[pairs]] = alone[len(removed[0]) + pairs] = False
        firsts = [firsts[0][alone], np.minimum(removed[-1][old_rows[pairs]], added[-1][pairs])]
    return int(min(column.min() for column in firsts if len(column))) - tick


def _equal(old: list[Array], new: list[Array]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(old, new, strict=True))
