"""Intervals as rows, one in each, and what is done to them: united, cut, selected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.kernels.intervals.list_operations import maximal
from cernis.kernels.order import order_by
from cernis.tables.columns import pack, packed_numbers
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import FluentTable, Piece, empty_table

Domains: TypeAlias = tuple[list[Domain | None], Domain | None]
"""The domains of the arguments of a fluent, and that of its value."""


def united(pieces: Iterable[Piece], fluent_domains: Domains) -> FluentTable:
    """Intervals in any order, overlapping or not, as a table of maximal ones."""
    parts = [piece for piece in pieces if len(piece[2])]
    if not parts:
        return empty_table(*fluent_domains)
    arguments, values, owners, starts, ends = _maximal_lists(parts, fluent_domains)
    counts = np.bincount(owners, minlength=len(values))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return FluentTable(arguments, values, *fluent_domains, offsets, starts, ends)


def united_rows(pieces: Iterable[Piece], fluent_domains: Domains) -> Piece:
    """As `united`, with one interval in each row: by arguments, value and start."""
    parts = [piece for piece in pieces if len(piece[2])]
    if not parts:
        none = np.empty(0, np.int64)
        return [none] * len(fluent_domains[0]), none, none, none
    arguments, values, owners, starts, ends = _maximal_lists(parts, fluent_domains)
    return [column[owners] for column in arguments], values[owners], starts, ends


def _maximal_lists(
    parts: list[Piece], fluent_domains: Domains
) -> tuple[list[Array], Array, Integers, Integers, Integers]:
    """The arguments and the value of each list; and of each interval its list, start and end."""
    arguments = [np.concatenate(columns) for columns in zip(*(p[0] for p in parts), strict=True)]
    values = np.concatenate([p[1] for p in parts])
    starts = np.concatenate([p[2] for p in parts])
    ends = np.concatenate([p[3] for p in parts])
    columns = [*arguments, values]
    sizes = [len(d) if d is not None else -1 for d in (*fluent_domains[0], fluent_domains[1])]
    packed = pack(columns, sizes) if min(sizes) > 0 else packed_numbers(columns)
    keys = [packed[0]] if packed is not None else columns
    order = order_by(keys[0], starts) if len(keys) == 1 else np.lexsort((starts, *reversed(keys)))
    new = np.zeros(len(values), np.bool_)
    new[0] = True
    for column in (key[order] for key in keys):
        new[1:] |= column[1:] != column[:-1]
    heads = order[np.flatnonzero(new)]
    owners, starts, ends = maximal(np.cumsum(new) - 1, starts[order], ends[order])
    return [column[heads] for column in arguments], values[heads], owners, starts, ends


def chosen(piece: Piece, mask: Booleans) -> Piece:
    """Some of the intervals."""
    return [column[mask] for column in piece[0]], piece[1][mask], piece[2][mask], piece[3][mask]


def pieces(table: FluentTable | None) -> list[Piece]:
    """The intervals of a table, one in each row."""
    if table is None:
        return []
    owner = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    return [([c[owner] for c in table.arguments], table.values[owner], table.starts, table.ends)]
