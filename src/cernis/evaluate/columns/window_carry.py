"""What simple fluents carry over the edge of a window, or of a slice of time."""

from __future__ import annotations

from typing import Final

import numpy as np

from cernis.check.model import Relation
from cernis.kernels.array_types import Array, Integers
from cernis.operators.definitions.simple_fluents import Carried
from cernis.operators.intervals.pieces import Piece, chosen, pieces
from cernis.operators.query_context import Attempts, Points
from cernis.tables.domains import Domains
from cernis.tables.interval_tables import Finder, FluentTable

UNKNOWN: Final = int(np.iinfo(np.int64).min)
"""The end of an attempt of which it was not kept; it counts as long as its value holds."""


def cut_at(
    relation: Relation, table: FluentTable, begun: Attempts | None, edge: int, tick: int,
    domains: Domains,
) -> tuple[Piece, Carried]:  # fmt: skip
    """The intervals of a simple fluent that are over at an edge, and what is carried over it.

    That is what holds right after it, and what has effects still to come. What only begins later
    is neither: it is derived again from what happens after the edge.
    """
    bound = edge + tick
    (piece,) = pieces(table)
    starts, ends = piece[2], piece[3]
    held = chosen(piece, (starts <= bound) & (ends > bound))
    values = held[1]
    if table.value_domain is None:
        values = domains.value_domain(relation).encode_numbers(values)
    carried = carried_at(begun, held[0], values, held[2], edge, tick)
    return chosen(piece, ends <= bound), carried


def carried_at(
    begun: Attempts | None, arguments: list[Array], values: Integers, starts: Integers, edge: int,
    tick: int,
) -> Carried:  # fmt: skip
    """What holds at an edge, with the initiations that are under way there."""
    if begun is None:
        return Carried(arguments, values, starts)
    is_unknown = begun.ends == UNKNOWN
    early = np.flatnonzero((begun.times <= edge) & (is_unknown | (begun.ends > edge)))
    finder = Finder([(c, None) for c in (*arguments, values)], len(values))
    columns = [column[early] for column in (*begun.arguments, begun.values)]
    found = finder.one(columns, len(early))
    last = np.full(len(values), UNKNOWN)
    np.maximum.at(last, found[found >= 0], begun.times[early][found >= 0])
    rest = early[(found < 0) & ~is_unknown[early]]
    waiting = Points(
        [column[rest] for column in begun.arguments], begun.values[rest], begun.times[rest]
    )
    since = np.where(last == UNKNOWN, starts - tick, last)
    return Carried(arguments, values, starts, since, waiting)
