"""Terminations as conditions of rules: of any value, of a certain one, or of each known value.

The head of a termination may leave the value open. Such a termination matches a condition about any
value. Where a condition has a variable for the value, and nothing else binds it, the variable takes
each value that the instance is known to have had before. These matches are rows of their own, whose
values `one_of_any` marks, so that they differ from terminations of a value that a rule names.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.operators.context.fluent_points import Points
from cernis.tables.domains import Domain
from cernis.tables.event_tables import first_rows
from cernis.tables.interval_tables import Finder

ANY = -1
"""The value of a termination whose head leaves the value open."""


def one_of_any(codes: Array) -> Array:
    """Mark values as matches of a termination of any value; applied again, it removes the mark."""
    return -2 - codes


def with_known_values(terminations: Points, known: Points, domains: list[Domain | None]) -> Points:
    """Terminations; those of any value also once for each value known at an earlier point."""
    rows = np.flatnonzero(terminations.values == ANY)
    if not len(rows) or not len(known.times):
        return terminations
    rows = rows[
        first_rows([*(column[rows] for column in terminations.arguments), terminations.times[rows]])
    ]
    arguments = [column[rows] for column in terminations.arguments]
    chosen, pairs = known_before(arguments, terminations.times[rows], known, domains)
    both = zip(terminations.arguments, known.arguments, strict=True)
    return Points(
        [np.concatenate([one, other[pairs]]) for one, other in both],
        np.concatenate([terminations.values, one_of_any(known.values[pairs])]),
        np.concatenate([terminations.times, terminations.times[rows[chosen]]]),
    )


def known_before(
    arguments: list[Array], times: Integers, known: Points, domains: list[Domain | None]
) -> tuple[Integers, Integers]:
    """Each instance with each of its pairs that are known at an earlier point.

    Gives the rows of the instances, and those of the pairs, each pair by its first point.
    """
    order = np.argsort(known.times, kind="stable")
    first = order[first_rows([*(column[order] for column in known.arguments), known.values[order]])]
    finder = Finder(
        [(column[first], domain) for column, domain in zip(known.arguments, domains, strict=True)],
        len(first),
    )
    rows, places = finder.all(arguments, len(times))
    pairs = first[places]
    before = known.times[pairs] < times[rows]
    return rows[before], pairs[before]


def of_any_value(points: Points) -> Points:
    """The terminations of any value."""
    return _taken(points, points.values == ANY)


def of_said_value(points: Points) -> Points:
    """The terminations of values that rules say."""
    return _taken(points, points.values >= 0)


def as_said(points: Points) -> Points:
    """The terminations as rules say them, of any value among them."""
    return _taken(points, points.values >= ANY)


def of_values(points: Points) -> Points:
    """The terminations of each value, once."""
    if not len(points.values) or int(points.values.min()) >= 0:
        return points
    some = _taken(points, points.values != ANY)
    values = np.where(some.values < ANY, one_of_any(some.values), some.values)
    return _once(Points(some.arguments, values, some.times))


def of_value(points: Points, code: int) -> Points:
    """The terminations of one value, once."""
    some = _taken(points, (points.values == code) | (points.values == ANY))
    is_plain = not (some.values == ANY).any()
    some = Points(some.arguments, np.full(len(some.values), code), some.times)
    return some if is_plain else _once(some)


def _taken(points: Points, mask: Booleans) -> Points:
    if mask.all():
        return points
    arguments = [column[mask] for column in points.arguments]
    return Points(arguments, points.values[mask], points.times[mask])


def _once(points: Points) -> Points:
    rows = first_rows([*points.arguments, points.values, points.times])
    arguments = [column[rows] for column in points.arguments]
    return Points(arguments, points.values[rows], points.times[rows])
