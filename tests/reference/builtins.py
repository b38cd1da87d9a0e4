"""Built-in relations of the resolution engine that may bind variables.

Each takes the arguments of the call, their known variables replaced, and gives tuples of
arguments; those that unify with the call's are its answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from cernis.errors import KnowledgeError
from cernis.syntax.tree import Number, Term, Variable

from .arithmetic import NoValue, evaluate
from .terms import Renamer, listing, members

Args = tuple[Term, ...]
Relation = Callable[[Args, Renamer], Iterator[Args]]


def _true(args: Args, renamer: Renamer) -> Iterator[Args]:
    yield ()


def _fail(args: Args, renamer: Renamer) -> Iterator[Args]:
    yield from ()


def _same(args: Args, renamer: Renamer) -> Iterator[Args]:
    """`=`: both sides are one term."""
    yield (args[1], args[0])


def _is(args: Args, renamer: Renamer) -> Iterator[Args]:
    """`X is Expression`: fails where the expression has no value."""
    try:
        value = evaluate(args[1], {})
    except NoValue:
        return
    yield (Number(value), args[1])


def _length(args: Args, renamer: Renamer) -> Iterator[Args]:
    items = members(args[0])
    if items is not None:
        yield (args[0], Number(len(items)))


def _member(args: Args, renamer: Renamer) -> Iterator[Args]:
    for item in members(args[1]) or ():
        yield (item, args[1])


def _between(args: Args, renamer: Renamer) -> Iterator[Args]:
    """Whole numbers from the first to the second, both included; the second may be `inf`."""
    try:
        low, high = evaluate(args[0], {}), evaluate(args[1], {})
    except NoValue:
        return
    if isinstance(args[2], Number):
        if isinstance(args[2].value, int) and low <= args[2].value <= high:
            yield args
        return
    value = int(low)
    while value <= high:
        yield (args[0], args[1], Number(value))
        value += 1


def _append(args: Args, renamer: Renamer) -> Iterator[Args]:
    """Two lists and what they make end to end; the first or the third has to be known."""
    front = members(args[0])
    if front is not None:
        yield (args[0], args[1], listing(front, args[1]))
        return
    whole = members(args[2])
    if whole is None:
        raise KnowledgeError("append/3", "neither the first nor the third list is known")
    for cut in range(len(whole) + 1):
        yield (listing(whole[:cut]), listing(whole[cut:]), args[2])


def _is_list(args: Args, renamer: Renamer) -> Iterator[Args]:
    if members(args[0]) is not None:
        yield args


def _var(args: Args, renamer: Renamer) -> Iterator[Args]:
    if isinstance(args[0], Variable):
        yield args


def _nonvar(args: Args, renamer: Renamer) -> Iterator[Args]:
    if not isinstance(args[0], Variable):
        yield args


def _number(args: Args, renamer: Renamer) -> Iterator[Args]:
    if isinstance(args[0], Number):
        yield args


def _in_box(args: Args, renamer: Renamer) -> Iterator[Args]:
    """A place in a box that may go across the line where longitudes begin anew."""
    try:
        lat, lon, south, west, north, east = (evaluate(arg, {}) for arg in args)
    except NoValue:
        return
    inside = west <= lon <= east if west <= east else not east < lon < west
    if south <= lat <= north and inside:
        yield args


RELATIONS: Mapping[tuple[str, int], Relation] = {
    ("true", 0): _true,
    ("fail", 0): _fail,
    ("false", 0): _fail,
    ("=", 2): _same,
    ("is", 2): _is,
    ("length", 2): _length,
    ("member", 2): _member,
    ("between", 3): _between,
    ("append", 3): _append,
    ("is_list", 1): _is_list,
    ("var", 1): _var,
    ("nonvar", 1): _nonvar,
    ("number", 1): _number,
    ("inBox", 6): _in_box,
}
