"""Predicates about places that every program has, written in the language itself.

So they are expanded where they are used, into comparisons of columns, as a program's own are. A
program that defines one of them has its own.
"""

from __future__ import annotations

from collections.abc import Collection

from cernis.check.goal_checks import calls
from cernis.check.model import Relation
from cernis.syntax.tree import Clause, Compound, Term, Variable, functor

IN_BOX = Relation("inBox", 6)
"""`inBox(Lat, Lon, South, West, North, East)`: the place is in the box, its edges included.

A box whose west is greater than its east crosses the date line.
"""


def predicates_of_places(
    goals: Collection[Term], known: Collection[Relation]
) -> dict[Relation, list[Clause]]:
    """The predicates that goals call and nobody defines."""
    called = {Relation(*functor(call)) for goal in goals for call in calls(goal)}
    return {IN_BOX: [_in_box()]} if IN_BOX in called and IN_BOX not in known else {}


def _in_box() -> Clause:
    args = tuple(map(Variable, ("Lat", "Lon", "South", "West", "North", "East")))
    lat, lon, south, west, north, east = args
    usual = _both(_is("=<", west, east), _both(_is(">=", lon, west), _is("=<", lon, east)))
    east_of_line = _both(_is("<", lon, west), _is("=<", lon, east))
    across = _both(_is(">", west, east), Compound(";", (_is(">=", lon, west), east_of_line)))
    body = (_is(">=", lat, south), _is("=<", lat, north), Compound(";", (usual, across)))
    return Clause(Compound(IN_BOX.name, args), body)


def _is(comparison: str, left: Term, right: Term) -> Term:
    return Compound(comparison, (left, right))


def _both(left: Term, right: Term) -> Term:
    return Compound(",", (left, right))
