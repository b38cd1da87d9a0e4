"""The state that simple fluents carry over the edge of a window, or of a stretch of time."""

from __future__ import annotations

from typing import Final

import numpy as np

from cernis.check.model import Relation
from cernis.kernels.array_types import Array, Integers
from cernis.operators.context.fluent_points import Attempts, Points
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.simple_fluents import Carried
from cernis.tables.domains import Domains
from cernis.tables.interval_pieces import chosen, pieces, united
from cernis.tables.interval_tables import Finder, FluentTable, Piece

UNKNOWN: Final = int(np.iinfo(np.int64).min)
"""The end of an attempt whose end was not saved; it counts for as long as its value holds."""


def cut_at(
    relation: Relation, table: FluentTable, effect_origins: Attempts | None, edge: int, tick: int,
    domains: Domains,
) -> tuple[Piece, Carried]:  # fmt: skip
    """The intervals of a simple fluent that are over at an edge, and what is carried over it.

    Carried over are the values that hold right after the edge, and the initiations whose effects
    are still to come. Intervals that start later are neither: they are derived again from what
    happens after the edge.
    """
    bound = edge + tick
    (piece,) = pieces(table)
    starts, ends = piece[2], piece[3]
    held = chosen(piece, (starts <= bound) & (ends > bound))
    values = held[1]
    if table.value_domain is None:
        values = domains.value_domain(relation).encode_numbers(values)
    carried = carried_at(effect_origins, held[0], values, held[2], edge, tick)
    return chosen(piece, ends <= bound), carried


def carried_at(
    effect_origins: Attempts | None, arguments: list[Array], values: Integers, starts: Integers,
    edge: int, tick: int,
) -> Carried:  # fmt: skip
    """The values that hold at an edge, with the initiations that are under way there."""
    if effect_origins is None:
        return Carried(arguments, values, starts)
    is_unknown = effect_origins.ends == UNKNOWN
    early = np.flatnonzero(
        (effect_origins.times <= edge) & (is_unknown | (effect_origins.ends > edge))
    )
    finder = Finder([(c, None) for c in (*arguments, values)], len(values))
    columns = [column[early] for column in (*effect_origins.arguments, effect_origins.values)]
    places = finder.one(columns, len(early))
    last = np.full(len(values), UNKNOWN)
    np.maximum.at(last, places[places >= 0], effect_origins.times[early][places >= 0])
    rest = early[(places < 0) & ~is_unknown[early]]
    waiting = Points(
        [column[rest] for column in effect_origins.arguments],
        effect_origins.values[rest],
        effect_origins.times[rest],
    )
    since = np.where(last == UNKNOWN, starts - tick, last)
    return Carried(arguments, values, starts, since, waiting)


def reaching(table: FluentTable, relation: Relation, context: Context) -> FluentTable:
    """The groups of a table without the intervals that end at the window's edge or before.

    Those are put by: they stand as they are.
    """
    bound = context.window.edge + context.window.tick
    (piece,) = pieces(table)
    over = piece[3] <= bound
    if not over.any():
        return table
    context.relations.past.setdefault(relation, []).append(chosen(piece, over))
    return united([chosen(piece, ~over)], context.encoding.fluents[relation])
