"""Intervals as rows, one in each, and what is done to them: united, cut, selected."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cernis.kernels.array_types import Booleans
from cernis.kernels.intervals.list_operations import maximal
from cernis.kernels.order import order_by
from cernis.tables.columns import pack, packed_numbers
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import FluentTable, Piece, empty_table


def united(
    pieces: Iterable[Piece], fluent_domains: tuple[list[Domain | None], Domain | None]
) -> FluentTable:
    """Intervals in any order, overlapping or not, as a table of maximal ones.

    The domains are those of the arguments, and that of the value.
    """
    domains, value_domain = fluent_domains
    parts = [piece for piece in pieces if len(piece[2])]
    if not parts:
        return empty_table(domains, value_domain)
    arguments = [np.concatenate(own) for own in zip(*(p[0] for p in parts), strict=True)]
    values = np.concatenate([p[1] for p in parts])
    starts = np.concatenate([p[2] for p in parts])
    ends = np.concatenate([p[3] for p in parts])
    columns = [*arguments, values]
    sizes = [len(d) if d is not None else -1 for d in (*domains, value_domain)]
    packed = pack(columns, sizes) if min(sizes) > 0 else packed_numbers(columns)
    keys = [packed[0]] if packed is not None else columns
    order = order_by(keys[0], starts) if len(keys) == 1 else np.lexsort((starts, *reversed(keys)))
    arguments, values = [column[order] for column in arguments], values[order]
    starts, ends = starts[order], ends[order]
    new = np.zeros(len(values), np.bool_)
    new[0] = True
    for column in (key[order] for key in keys):
        new[1:] |= column[1:] != column[:-1]
    heads = np.flatnonzero(new)
    owners, starts, ends = maximal(np.cumsum(new) - 1, starts, ends)
    counts = np.bincount(owners, minlength=len(heads))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return FluentTable(
        [column[heads] for column in arguments], values[heads], domains, value_domain,
        offsets, starts, ends,
    )  # fmt: skip


def chosen(piece: Piece, mask: Booleans) -> Piece:
    """Some of the intervals."""
    return [column[mask] for column in piece[0]], piece[1][mask], piece[2][mask], piece[3][mask]


def pieces(table: FluentTable | None) -> list[Piece]:
    """The intervals of a table, one in each row."""
    if table is None:
        return []
    owner = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    return [([c[owner] for c in table.arguments], table.values[owner], table.starts, table.ends)]
