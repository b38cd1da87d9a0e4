"""How two snapshots differ: which rows only one has, of which entities, from which point on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.changes.snapshots import Entities, Keys, Snapshot
from cernis.evaluate.changes.stores import Rows
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.kernels.hashing import RowTable
from cernis.tables.domains import Domain


def told_apart(old: Rows, new: Rows) -> tuple[Booleans, Booleans]:
    """Which rows only one of two has: masks over the old and the new."""
    one, two = [*old.arguments, *old.columns], [*new.arguments, *new.columns]
    if not len(old) or not len(new):
        return np.ones(len(old), np.bool_), np.ones(len(new), np.bool_)
    pairs = [np.promote_types(a.dtype, b.dtype) for a, b in zip(one, two, strict=True)]
    one = [a.astype(kind, copy=False) for a, kind in zip(one, pairs, strict=True)]
    two = [b.astype(kind, copy=False) for b, kind in zip(two, pairs, strict=True)]
    mask = differing(one, two)
    return mask[: len(old)], mask[len(old) :]


def differing(old: list[Array], new: list[Array]) -> Booleans:
    """The rows, old ones first, that only one of two tables has; a row there twice is one."""
    if not len(old[0]) or not len(new[0]):
        return np.ones(len(old[0]) + len(new[0]), np.bool_)
    hashes = [hashed(columns) for columns in (old, new)]
    table = RowTable(hashes[0])
    first, found = table.find(hashes[0]), table.find(hashes[1])
    is_there = found >= 0
    equal = [a[found[is_there]] == b[is_there] for a, b in zip(old, new, strict=True)]
    twins = [column[first] == column for column in old]
    if not all(map(np.all, (*equal, *twins))):
        # Two rows of one hash: their columns must tell.
        return differing_plain(old, new)
    kept = np.zeros(len(old[0]), np.bool_)
    kept[found[is_there]] = True
    return np.concatenate([~kept[first], ~is_there])


def hashed(columns: list[Array]) -> Integers:
    """One number for each row, computed from all its columns."""
    found = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        found ^= np.ascontiguousarray(column).view(np.uint64)
        found *= np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(32)
    return found.view(np.int64)


def differing_plain(old: list[Array], new: list[Array]) -> Booleans:
    """As `differing`, by sorting all rows."""
    columns = [np.concatenate(both) for both in zip(old, new, strict=True)]
    is_new = np.repeat([False, True], [len(old[0]), len(new[0])])
    order = np.lexsort((is_new, *columns))
    same = np.ones(len(order) - 1, np.bool_)
    for column in columns:
        same &= column[order][1:] == column[order][:-1]
    # Stretches of equal rows: one with rows of both tables has not changed.
    stretch = np.concatenate([[0], np.cumsum(~same)])
    ranks = is_new[order]
    has_new, has_old = np.bincount(stretch, ranks) > 0, np.bincount(stretch, ~ranks) > 0
    found = np.empty(len(order), np.bool_)
    found[order] = (has_new ^ has_old)[stretch]
    return found


@dataclass(slots=True)
class Difference:
    """What a round has changed: from which point on, and for which entities if that is known."""

    since: int
    entities: Entities | None


def difference(
    before: Snapshot, now: Snapshot, keys: Keys,
    domains: Callable[[Relation], list[Domain | None]], tick: int,
) -> Difference | None:  # fmt: skip
    """How two rounds differ; None if they do not."""
    parts: list[list[Array]] = []
    known: list[Domain | None] = []
    times: list[int] = []
    all_told = True
    for one, other in zip(before.rows(), now.rows(), strict=True):
        relation, (old, new) = one[0], (one[2], other[2])
        rows = changed_rows(old, new)
        if rows is None:
            continue
        times.append(earliest(old, new, rows, relation.arity, tick))
        arguments = [np.concatenate(both) for both in zip(one[1], other[1], strict=True)]
        columns = keys.of(relation, arguments)
        if columns is None:
            all_told = False
            continue
        parts.append([column[rows] for column in columns])
        known = [domains(relation)[at] for at in keys.positions[relation]]
    if not times:
        return None
    if not all_told or not known:
        return Difference(min(times), None)
    columns = [np.concatenate(own) for own in zip(*parts, strict=True)]
    return Difference(min(times), Entities(keys, columns, known))


def changed_rows(old: list[Array], new: list[Array]) -> Booleans | None:
    """As `differing`; None if no row does."""
    if _equal(old, new):
        return None
    rows = differing(old, new)
    return rows if rows.any() else None


def earliest(old: list[Array], new: list[Array], rows: Booleans, arity: int, tick: int) -> int:
    """The first point that differs, given which rows do: points have one time, intervals two.

    Intervals that begin together differ where the first of them ends. What begins or ends at t does
    so by what happens a tick before.
    """
    count = len(old[0])
    gone, come = [c[rows[:count]] for c in old], [c[rows[count:]] for c in new]
    if len(old) < arity + 3:
        return int(min(column.min() for column in (gone[-1], come[-1]) if len(column)))
    firsts = [np.concatenate([gone[-2], come[-2]])]
    if len(gone[0]) and len(come[0]):
        found = RowTable(hashed(gone[:-1])).find(hashed(come[:-1]))
        pairs = np.flatnonzero(found >= 0)
        same = [a[found[pairs]] == b[pairs] for a, b in zip(gone[:-1], come[:-1], strict=True)]
        pairs = pairs[np.logical_and.reduce(same)]
        alone = np.ones(len(firsts[0]), np.bool_)
        alone[found[pairs]] = alone[len(gone[0]) + pairs] = False
        firsts = [firsts[0][alone], np.minimum(gone[-1][found[pairs]], come[-1][pairs])]
    return int(min(column.min() for column in firsts if len(column))) - tick


def _equal(old: list[Array], new: list[Array]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(old, new, strict=True))
