"""Built-in relations of the resolution engine that may bind variables.

Each takes the arguments of the call, their known variables replaced, and gives tuples of
arguments; those that unify with the call's are its answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from cernis.errors import KnowledgeError
from cernis.syntax.tree import (
    Atom,
    Compound,
    Number,
    Sequence,
    Term,
    Text,
    Variable,
    children,
    functor,
)

from .arithmetic import NoValue, Numeric, evaluate, exact
from .terms import Renamer, is_ground, listing, members, order_key

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


def _kind(*kinds: type, of: type | None = None) -> Relation:
    """Is it a term of one of some kinds; a number of this type?"""

    def holds(args: Args, renamer: Renamer) -> Iterator[Args]:
        term = args[0]
        if isinstance(term, kinds) and (of is None or type(getattr(term, "value", None)) is of):
            yield args

    return holds


def _ground(args: Args, renamer: Renamer) -> Iterator[Args]:
    if is_ground(args[0]):
        yield args


def _compare(args: Args, renamer: Renamer) -> Iterator[Args]:
    """`compare(O, X, Y)`: O is `<`, `=` or `>` in the standard order."""
    left, right = order_key(args[1]), order_key(args[2])
    name = "=" if args[1] == args[2] else "<" if left < right else ">"
    yield (Atom(name), *args[1:])


def _of_list(make: Callable[[tuple[Term, ...]], Term | None]) -> Relation:
    """From a list to a term, which the function gives; none if it gives None."""

    def relation(args: Args, renamer: Renamer) -> Iterator[Args]:
        items = members(args[0])
        made = None if items is None else make(items)
        if made is not None:
            yield (args[0], made)

    return relation


def _sorted(items: tuple[Term, ...]) -> Term:
    return listing(sorted(items, key=order_key))


def _sorted_once(items: tuple[Term, ...]) -> Term:
    return listing(sorted(dict.fromkeys(items), key=order_key))


def _sort_by(args: Args, renamer: Renamer) -> Iterator[Args]:
    """`sort(Key, Order, L, S)`: by an argument, 0 for the whole; `@<` and `@>` drop duplicates."""
    items, place, order = members(args[2]), args[0], functor(args[1])[0]
    if items is None or not isinstance(place, Number):
        return
    at = int(place.value)

    def key(term: Term) -> tuple[object, ...]:
        return order_key(term if at == 0 else children(term)[at - 1])

    ordered = sorted(items, key=key, reverse=order.startswith("@>"))
    if "=" not in order:
        ordered = list({key(term): term for term in reversed(ordered)}.values())[::-1]
        ordered.sort(key=key, reverse=order.startswith("@>"))
    yield (*args[:3], listing(ordered))


def _nth(first: int) -> Relation:
    """`nth(N, L, X)`: X is the member number N, counted from the first."""

    def relation(args: Args, renamer: Renamer) -> Iterator[Args]:
        for number, item in enumerate(members(args[1]) or (), start=first):
            yield (Number(number), args[1], item)

    return relation


def _total(items: tuple[Term, ...]) -> Term | None:
    values = _numbers(items)
    return None if values is None else Number(exact(sum(values)))


def _extreme(choose: Callable[[list[Numeric]], Numeric]) -> Relation:
    def value(items: tuple[Term, ...]) -> Term | None:
        values = _numbers(items)
        return Number(choose(values)) if values else None

    return _of_list(value)


def _numbers(items: tuple[Term, ...]) -> list[Numeric] | None:
    try:
        return [evaluate(item, {}) for item in items]
    except NoValue:
        return None


def _without(args: Args, renamer: Renamer) -> Iterator[Args]:
    """`subtract(L, M, N)`: N has the members of L that are not in M."""
    first, second = members(args[0]), members(args[1])
    if first is not None and second is not None:
        yield (*args[:2], listing(item for item in first if item not in second))


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
    ("otherwise", 0): _true,
    ("between", 3): _between,
    ("append", 3): _append,
    ("is_list", 1): _is_list,
    ("var", 1): _var,
    ("nonvar", 1): _nonvar,
    ("number", 1): _number,
    ("integer", 1): _kind(Number, of=int),
    ("float", 1): _kind(Number, of=float),
    ("atom", 1): _kind(Atom),
    ("atomic", 1): _kind(Atom, Number, Text),
    ("compound", 1): _kind(Compound, Sequence),
    ("ground", 1): _ground,
    ("compare", 3): _compare,
    ("msort", 2): _of_list(_sorted),
    ("sort", 2): _of_list(_sorted_once),
    ("sort", 4): _sort_by,
    ("nth0", 3): _nth(0),
    ("nth1", 3): _nth(1),
    ("sum_list", 2): _of_list(_total),
    ("sumlist", 2): _of_list(_total),
    ("max_list", 2): _extreme(max),
    ("min_list", 2): _extreme(min),
    ("last", 2): _of_list(lambda items: items[-1] if items else None),
    ("reverse", 2): _of_list(lambda items: listing(items[::-1])),
    ("list_to_set", 2): _of_list(lambda items: listing(dict.fromkeys(items))),
    ("subtract", 3): _without,
    ("inBox", 6): _in_box,
}
