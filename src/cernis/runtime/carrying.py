"""What simple fluents carry over the edge of a window, or of a slice of time."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cernis.check.model import Relation
from cernis.operators.context import Points
from cernis.operators.pieces import Piece, chosen, pieces
from cernis.operators.simple import Carried
from cernis.tables.columns import Array
from cernis.tables.domains import Domains
from cernis.tables.fluents import Finder, FluentTable

Integers: TypeAlias = npt.NDArray[np.int64]


def cut_at(
    relation: Relation, table: FluentTable, begun: Points | None, edge: int, tick: int,
    domains: Domains,
) -> tuple[Piece, Carried]:  # fmt: skip
    """The intervals of a simple fluent that are over at an edge, and what holds right behind it.

    What only begins later is neither: it is said anew from what happens behind the edge.
    """
    bound = edge + tick
    (piece,) = pieces(table)
    starts, ends = piece[2], piece[3]
    held = chosen(piece, (starts <= bound) & (ends > bound))
    values = held[1]
    if table.value_domain is None:
        values = domains.of(("values of", relation)).encode_numbers(values)
    since = None
    if begun is not None:
        since = last_initiations(begun, held[0], values, held[2], edge, tick)
    return chosen(piece, ends <= bound), Carried(held[0], values, held[2], since)


def last_initiations(
    begun: Points, arguments: list[Array], values: Integers, starts: Integers, edge: int, tick: int
) -> Integers:
    """The last initiation up to the edge of what is carried: effects are counted from it."""
    since = starts - tick
    finder = Finder([(c, None) for c in (*arguments, values)], len(values))
    early = np.flatnonzero(begun.times <= edge)
    columns = [column[early] for column in (*begun.arguments, begun.values)]
    found = finder.one(columns, len(early))
    known = found >= 0
    np.maximum.at(since, found[known], begun.times[early][known])
    return since
