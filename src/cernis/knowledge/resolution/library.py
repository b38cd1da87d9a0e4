"""Built-in predicates on values, texts, terms and lists, written in Python.

Each takes its arguments and the trail. A test is a function to bool; a predicate with several
answers is a generator that binds, says whether the answer stands, and has its bindings undone
before it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cmp_to_key
from types import MappingProxyType
from typing import Final, TypeAlias

from cernis.knowledge.ground_values import field_value
from cernis.knowledge.resolution.cells import (
    NIL,
    Cell,
    Ref,
    Trail,
    chain,
    compare,
    copy,
    decode,
    deref,
    evaluate,
    parts,
    spine,
    unify,
)
from cernis.knowledge.resolution.prolog_arithmetic import Fault, Numeric
from cernis.syntax.printer import show

Args: TypeAlias = Sequence[Cell]
Test: TypeAlias = Callable[[Args, Trail], bool]
Answers: TypeAlias = Callable[[Args, Trail], Iterator[bool]]

_standard: Final = cmp_to_key(compare)


def items(cell: Cell) -> list[Cell]:
    """The items of a proper list."""
    members, tail = spine(cell)
    if tail != NIL:
        shown = "one without an end" if type(tail) is Ref else f"`{show(decode(cell))}`"
        raise Fault(f"needs a list and gets {shown}; bind it in a goal before this one")
    return members


def number(cell: Cell) -> Numeric:
    """The value of an argument that must be a number or an expression."""
    return evaluate(cell, [])


def integer(cell: Cell) -> int:
    """An argument that must be an integer."""
    value = deref(cell)
    if type(value) is int:
        return value
    raise Fault(f"needs an integer and gets {_named(value)}")


def text(cell: Cell) -> str:
    """The text of an atomic argument: a number is text as it is written."""
    value = deref(cell)
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return show(decode(value))
    raise Fault(f"needs a text and gets {_named(value)}")


def _named(cell: Cell) -> str:
    return "a variable without a value" if type(cell) is Ref else f"`{show(decode(cell))}`"


def distinct(cells: Sequence[Cell]) -> list[Cell]:
    """Sorted by the standard order, each value once."""
    result: list[Cell] = []
    for cell in sorted(cells, key=_standard):
        if not result or compare(result[-1], cell):
            result.append(cell)
    return result


def ordered(cells: Sequence[Cell]) -> list[Cell]:
    """Sorted by the standard order, ties in the order given."""
    return sorted(cells, key=_standard)


def _is(kind: Callable[[Cell], bool]) -> Test:
    return lambda args, trail: kind(deref(args[0]))


def _ordering(holds: Callable[[int], bool]) -> Test:
    return lambda args, trail: holds(compare(args[0], args[1]))


def _of_list(result: Callable[[list[Cell]], Cell]) -> Test:
    """A predicate of a list and what is computed from it."""
    return lambda args, trail: unify(result(items(args[0])), args[1], trail)


def _of_text(result: Callable[[str], Cell]) -> Test:
    return lambda args, trail: unify(result(text(args[0])), args[1], trail)


def _of_two_lists(result: Callable[[list[Cell], list[Cell]], list[Cell]]) -> Test:
    return lambda args, trail: unify(chain(result(items(args[0]), items(args[1]))), args[2], trail)


def _apart(args: Args, trail: Trail) -> bool:
    mark = len(trail)
    unified = unify(args[0], args[1], trail)
    while len(trail) > mark:
        trail.pop().value = None
    return not unified


def _compare(args: Args, trail: Trail) -> bool:
    return unify(args[0], "<=>"[compare(args[1], args[2]) + 1], trail)


def _length(args: Args, trail: Trail) -> bool:
    members, tail = spine(args[0])
    if tail == NIL:
        return unify(len(members), args[1], trail)
    if type(tail) is not Ref:
        return False
    missing = integer(args[1]) - len(members)
    return missing >= 0 and unify(tail, chain([Ref() for _ in range(missing)]), trail)


def _extreme(pick: Callable[..., Numeric]) -> Test:
    def test(args: Args, trail: Trail) -> bool:
        found = [number(item) for item in items(args[0])]
        return bool(found) and unify(pick(found), args[1], trail)

    return test


def _extreme_member(pick: int) -> Test:
    def test(args: Args, trail: Trail) -> bool:
        found = ordered(items(args[1]))
        return bool(found) and unify(args[0], found[pick], trail)

    return test


def _memberchk(args: Args, trail: Trail) -> bool:
    for item in items(args[1]):
        mark = len(trail)
        if unify(args[0], item, trail):
            return True
        while len(trail) > mark:
            trail.pop().value = None
    return False


def _last(args: Args, trail: Trail) -> bool:
    members = items(args[0])
    return bool(members) and unify(members[-1], args[1], trail)


def _has(cells: Sequence[Cell], wanted: Cell) -> bool:
    return any(not compare(cell, wanted) for cell in cells)


def _to_set(cells: list[Cell]) -> Cell:
    seen: list[Cell] = []
    for cell in cells:
        if not _has(seen, cell):
            seen.append(cell)
    return chain(seen)


def _sort_by(args: Args, trail: Trail) -> bool:
    """`sort(Key, Order, List, Sorted)`: by the whole item if the key is 0, else by an argument.

    `@<` and `@>` drop items whose key was there before.
    """
    position, order = integer(args[0]), deref(args[1])
    if order not in ("@<", "@>", "@=<", "@>="):
        raise Fault(f"needs one of @<, @>, @=<, @>= as its order and gets {_named(order)}")

    def key(item: Cell) -> Cell:
        term = deref(item)
        if not position:
            return term
        if type(term) is not tuple or len(term) <= position:
            raise Fault(f"finds no argument {position} in {_named(term)}")
        return term[position]

    ranked = sorted(items(args[2]), key=lambda item: _standard(key(item)), reverse=">" in order)
    if "=" not in order:
        pairs = zip(ranked[1:], ranked, strict=False)
        ranked = ranked[:1] + [each for each, last in pairs if compare(key(each), key(last))]
    return unify(chain(ranked), args[3], trail)


def _keysort(cells: list[Cell]) -> Cell:
    def key(item: Cell) -> Cell:
        pair = deref(item)
        if type(pair) is not tuple or pair[0] != "-" or len(pair) != 3:
            raise Fault(f"needs pairs Key-Value and gets {_named(pair)}")
        return _standard(pair[1])

    return chain(sorted(cells, key=key))


def _numlist(args: Args, trail: Trail) -> bool:
    low, high = integer(args[0]), integer(args[1])
    if high - low > 1_000_000:
        raise Fault(f"would make a list of {high - low + 1:,} numbers")
    return low <= high and unify(chain(range(low, high + 1)), args[2], trail)


def _sum(args: Args, trail: Trail) -> bool:
    return unify(sum(number(item) for item in items(args[0])), args[1], trail)


def _succ(args: Args, trail: Trail) -> bool:
    if type(deref(args[0])) is not Ref:
        before = integer(args[0])
        if before < 0:
            raise Fault("needs an integer of at least 0")
        return unify(before + 1, args[1], trail)
    return integer(args[1]) > 0 and unify(args[0], integer(args[1]) - 1, trail)


def _plus(args: Args, trail: Trail) -> bool:
    if type(deref(args[2])) is Ref:
        return unify(args[2], number(args[0]) + number(args[1]), trail)
    free, known = (1, 0) if type(deref(args[1])) is Ref else (0, 1)
    return unify(args[free], number(args[2]) - number(args[known]), trail)


def _functor(args: Args, trail: Trail) -> bool:
    cell = deref(args[0])
    if type(cell) is tuple:
        return unify(args[1], cell[0], trail) and unify(args[2], len(cell) - 1, trail)
    if type(cell) is not Ref:
        return unify(args[1], cell, trail) and unify(args[2], 0, trail)
    arity = integer(args[2])
    if not 0 <= arity <= 1000:
        raise Fault(f"asks for a term of {arity} arguments")
    name = deref(args[1])
    made = (text(name), *[Ref() for _ in range(arity)]) if arity else name
    return unify(cell, made, trail)


def _univ(args: Args, trail: Trail) -> bool:
    cell = deref(args[0])
    if type(cell) is tuple:
        return unify(args[1], chain(cell), trail)
    if type(cell) is not Ref:
        return unify(args[1], chain([cell]), trail)
    members = items(args[1])
    if not members:
        raise Fault("needs a name in its list")
    return unify(cell, (text(members[0]), *members[1:]) if len(members) > 1 else members[0], trail)


def _joined(args: Args, trail: Trail) -> bool:
    return unify(text(args[0]) + text(args[1]), args[2], trail)


def _atom_number(args: Args, trail: Trail) -> bool:
    if type(deref(args[0])) is Ref:
        return unify(args[0], text(args[1]), trail)
    read = field_value(text(args[0]))
    return not isinstance(read, str) and unify(args[1], read, trail)


def _atom_string(args: Args, trail: Trail) -> bool:
    if type(deref(args[0])) is Ref:
        return unify(args[0], text(args[1]), trail)
    return unify(args[1], text(args[0]), trail)


def _atom_chars(args: Args, trail: Trail) -> bool:
    if type(deref(args[0])) is Ref:
        return unify(args[0], "".join(map(text, items(args[1]))), trail)
    return unify(args[1], chain(text(args[0])), trail)


def _concat_with(args: Args, trail: Trail) -> bool:
    return unify(text(args[1]).join(map(text, items(args[0]))), args[2], trail)


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, int | float)


def _is_atomic(cell: Cell) -> bool:
    return type(cell) is not Ref and type(cell) is not tuple


TESTS: Final[Mapping[tuple[str, int], Test]] = MappingProxyType({
    ("\\=", 2): _apart,
    ("==", 2): _ordering(lambda order: order == 0),
    ("\\==", 2): _ordering(lambda order: order != 0),
    ("@<", 2): _ordering(lambda order: order < 0),
    ("@>", 2): _ordering(lambda order: order > 0),
    ("@=<", 2): _ordering(lambda order: order <= 0),
    ("@>=", 2): _ordering(lambda order: order >= 0),
    ("compare", 3): _compare,
    ("var", 1): _is(lambda cell: type(cell) is Ref),
    ("nonvar", 1): _is(lambda cell: type(cell) is not Ref),
    ("ground", 1): _is(lambda cell: all(type(part) is not Ref for part in parts(cell))),
    ("atom", 1): _is(lambda cell: isinstance(cell, str)),
    ("string", 1): _is(lambda cell: isinstance(cell, str)),
    ("number", 1): _is(_is_number),
    ("integer", 1): _is(lambda cell: type(cell) is int),
    ("float", 1): _is(lambda cell: isinstance(cell, float)),
    ("atomic", 1): _is(_is_atomic),
    ("compound", 1): _is(lambda cell: type(cell) is tuple),
    ("callable", 1): _is(lambda cell: isinstance(cell, str | tuple)),
    ("is_list", 1): _is(lambda cell: bool(spine(cell)[1] == NIL)),
    ("succ", 2): _succ,
    ("plus", 3): _plus,
    ("length", 2): _length,
    ("msort", 2): _of_list(lambda cells: chain(ordered(cells))),
    ("sort", 2): _of_list(lambda cells: chain(distinct(cells))),
    ("sort", 4): _sort_by,
    ("keysort", 2): _of_list(_keysort),
    ("memberchk", 2): _memberchk,
    ("last", 2): _last,
    ("reverse", 2): _of_list(lambda cells: chain(cells[::-1])),
    ("list_to_set", 2): _of_list(_to_set),
    ("sum_list", 2): _sum,
    ("sumlist", 2): _sum,
    ("max_list", 2): _extreme(max),
    ("min_list", 2): _extreme(min),
    ("max_member", 2): _extreme_member(-1),
    ("min_member", 2): _extreme_member(0),
    ("numlist", 3): _numlist,
    ("subtract", 3): _of_two_lists(lambda a, b: [each for each in a if not _has(b, each)]),
    ("intersection", 3): _of_two_lists(lambda a, b: [each for each in a if _has(b, each)]),
    ("union", 3): _of_two_lists(lambda a, b: [*(each for each in a if not _has(b, each)), *b]),
    ("delete", 3): lambda args, trail: unify(
        chain([each for each in items(args[0]) if compare(each, args[1])]), args[2], trail
    ),
    ("functor", 3): _functor,
    ("=..", 2): _univ,
    ("copy_term", 2): lambda args, trail: unify(copy(args[0]), args[1], trail),
    ("atom_length", 2): _of_text(len),
    ("string_length", 2): _of_text(len),
    ("upcase_atom", 2): _of_text(str.upper),
    ("downcase_atom", 2): _of_text(str.lower),
    ("atom_concat", 3): _joined,
    ("string_concat", 3): _joined,
    ("atom_number", 2): _atom_number,
    ("atom_string", 2): _atom_string,
    ("atom_chars", 2): _atom_chars,
    ("atomic_list_concat", 2): _of_list(lambda cells: "".join(map(text, cells))),
    ("atomic_list_concat", 3): _concat_with,
})  # fmt: skip
"""The predicates with at most one answer."""


def _between(args: Args, trail: Trail) -> Iterator[bool]:
    current, high = integer(args[0]), deref(args[1])
    unbounded = high in ("inf", "infinite")
    last = 0 if unbounded else integer(high)
    wanted = deref(args[2])
    if type(wanted) is not Ref:
        yield current <= integer(wanted) and (unbounded or wanted <= last)
        return
    while unbounded or current <= last:
        yield unify(args[2], current, trail)
        current += 1


def _member(args: Args, trail: Trail) -> Iterator[bool]:
    for item in items(args[1]):
        yield unify(args[0], item, trail)


def _nth(base: int) -> Answers:
    def answers(args: Args, trail: Trail) -> Iterator[bool]:
        members = items(args[1])
        if type(deref(args[0])) is not Ref:
            index = integer(args[0]) - base
            yield 0 <= index < len(members) and unify(args[2], members[index], trail)
            return
        for index, item in enumerate(members):
            yield unify(args[0], index + base, trail) and unify(args[2], item, trail)

    return answers


def _arg(args: Args, trail: Trail) -> Iterator[bool]:
    cell = deref(args[1])
    if type(cell) is not tuple:
        raise Fault(f"needs a compound term and gets {_named(cell)}")
    if type(deref(args[0])) is not Ref:
        position = integer(args[0])
        yield 0 < position < len(cell) and unify(args[2], cell[position], trail)
        return
    for position in range(1, len(cell)):
        yield unify(args[0], position, trail) and unify(args[2], cell[position], trail)


ANSWERS: Final[Mapping[tuple[str, int], Answers]] = MappingProxyType({
    ("between", 3): _between,
    ("member", 2): _member,
    ("nth0", 3): _nth(0),
    ("nth1", 3): _nth(1),
    ("arg", 3): _arg,
})  # fmt: skip
"""The predicates with several answers."""
