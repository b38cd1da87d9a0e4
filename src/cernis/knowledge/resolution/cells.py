"""Terms as the resolution engine holds them, and what can be done to them.

Text is `str`, numbers are numbers, a compound term is a tuple of its name and its arguments, a
list is a chain of `(".", head, tail)` that ends in `"[]"`, and a variable is a `Ref`. In a
clause's own terms, which are built again for each use, a variable is a `Slot` of the clause's
environment and a compound term that contains one is a `SlottedTerm`.

Terms met at run time can be deeper than Python's stack, so everything here that walks them does
so with a stack of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

from cernis.knowledge.ground_values import Value, WholeFloat, plain, term_of, told_apart
from cernis.knowledge.resolution.prolog_arithmetic import (
    FUNCTIONS,
    INFINITE,
    Endless,
    Fault,
    NoNumber,
    apply,
)
from cernis.syntax.printer import show
from cernis.syntax.tree import Atom, Compound, Number, Sequence, Term, Text, Variable

Cell: TypeAlias = Any
"""A `str`, a number, a `Duration`, a tuple or a `Ref`; in clauses a `Slot` or `SlottedTerm` too."""

NIL: Final = "[]"
_LARGEST: Final = (1 << 63) - 1
UNBOUND: Final = "a variable has no value; bind it in a goal before this one"
LARGEST_TERM: Final = 1_000_000
"""Nodes a term may have where it is walked: a term that contains itself has more."""


class Ref:
    """A variable; its value is None until it is bound."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Cell = None


class Slot:
    """A place in a clause's environment, and the name of the variable it is for."""

    __slots__ = ("index", "name")

    def __init__(self, index: int, name: str = "_") -> None:
        self.index = index
        self.name = name


class SlottedTerm(tuple[Any, ...]):
    """A compound term of a clause that contains slots."""

    __slots__ = ()


Environment: TypeAlias = list[Cell]
Trail: TypeAlias = list[Ref]


def deref(cell: Cell) -> Cell:
    """What a cell stands for: the end of its chain of bound variables."""
    while type(cell) is Ref:
        value = cell.value
        if value is None:
            return cell
        cell = value
    return cell


def encode(term: Term, slot: Callable[[str], Cell]) -> Cell:
    """A term of the syntax tree as a cell; `slot` gives the cell of a variable by its name."""
    if isinstance(term, Atom):
        return term.name
    if isinstance(term, Number | Text):
        return told_apart(term.value)
    if isinstance(term, Variable):
        return slot(term.name)
    if isinstance(term, Compound):
        return compound((term.functor, *(encode(arg, slot) for arg in term.args)))
    if isinstance(term, Sequence):
        items = [encode(item, slot) for item in term.items]
        return chain(items, NIL if term.tail is None else encode(term.tail, slot))
    return term


def cell_of(value: Value) -> Cell:
    """A value of a table as a cell."""
    if isinstance(value, str | int | float):
        return told_apart(value)
    return encode(value, _no_variable)


def _no_variable(name: str) -> Cell:
    raise ValueError(f"a value holds no variables, and {name} is one")


def compound(parts: tuple[Cell, ...]) -> Cell:
    """A compound cell: a shape if there are slots in it."""
    if any(type(part) is Slot or type(part) is SlottedTerm for part in parts):
        return SlottedTerm(parts)
    return parts


def chain(items: Iterable[Cell], tail: Cell = NIL) -> Cell:
    """A list of items, ending in the tail."""
    for item in reversed(list(items)):
        tail = compound((".", item, tail))
    return tail


def build(cell: Cell, env: Environment) -> Cell:
    """A clause's term for one use of the clause: slots are filled, with new variables if empty."""
    kind = type(cell)
    if kind is Slot:
        content = env[cell.index]
        if content is None:
            content = env[cell.index] = Ref()
        return content
    if kind is not SlottedTerm:
        return cell
    if cell[0] == ".":
        return _build_list(cell, env)
    return (cell[0], *[build(part, env) for part in cell[1:]])


def _build_list(cell: Cell, env: Environment) -> Cell:
    heads = []
    while type(cell) is SlottedTerm and cell[0] == "." and len(cell) == 3:
        heads.append(build(cell[1], env))
        cell = cell[2]
    tail = build(cell, env)
    for head in reversed(heads):
        tail = (".", head, tail)
    return tail


def unify(left: Cell, right: Cell, trail: Trail) -> bool:
    """Make two cells equal, noting what was bound; on failure some bindings may remain."""
    stack = [(left, right)]
    for _ in range(LARGEST_TERM):
        if not stack:
            return True
        left, right = stack.pop()
        left, right = deref(left), deref(right)
        if left is right:
            continue
        if type(left) is Ref:
            left.value = right
            trail.append(left)
        elif type(right) is Ref:
            right.value = left
            trail.append(right)
        elif type(left) is tuple and type(right) is tuple:
            if len(left) != len(right) or left[0] != right[0]:
                return False
            stack.extend(zip(left[:0:-1], right[:0:-1], strict=True))
        elif type(left) is tuple or type(right) is tuple or not _are_equal(left, right):
            return False
    raise Endless("compares terms that have no end")


def match(cell: Cell, actual: Cell, env: Environment, trail: Trail) -> bool:
    """Unify a term of a clause's head with an actual argument, filling the environment."""
    kind = type(cell)
    if kind is Slot:
        content = env[cell.index]
        if content is None:
            env[cell.index] = actual
            return True
        return unify(content, actual, trail)
    actual = deref(actual)
    if type(actual) is Ref:
        actual.value = build(cell, env)
        trail.append(actual)
        return True
    if kind is SlottedTerm:
        if type(actual) is not tuple or len(actual) != len(cell) or actual[0] != cell[0]:
            return False
        return all(
            match(part, argument, env, trail)
            for part, argument in zip(cell[1:], actual[1:], strict=True)
        )
    if kind is tuple:
        return unify(cell, actual, trail)
    return type(actual) is not tuple and _are_equal(cell, actual)


def _are_equal(left: Cell, right: Cell) -> bool:
    """Are two cells equal that are no compound terms? Numbers must be of one form."""
    return bool(left == right) and isinstance(left, float) is isinstance(right, float)


def parts(cell: Cell) -> Iterator[Cell]:
    """The cell and all below it, dereferenced, in reading order."""
    stack = [cell]
    for _ in range(LARGEST_TERM):
        if not stack:
            return
        node = deref(stack.pop())
        yield node
        if type(node) is tuple:
            stack.extend(node[:0:-1])
    raise Endless("builds a term that has no end")


def variable_names(cell: Cell, env: Environment) -> dict[Ref, str]:
    """The names of the unbound variables of a clause's term, for messages."""
    names: dict[Ref, str] = {}
    stack = [cell]
    while stack:
        node = stack.pop()
        if type(node) is Slot:
            ref = deref(env[node.index])
            if type(ref) is Ref:
                names.setdefault(ref, node.name)
        elif type(node) is SlottedTerm:
            stack.extend(node[:0:-1])
    return names


def is_pair(cell: Cell) -> bool:
    """Is the cell, already dereferenced, a list of at least one item?"""
    return type(cell) is tuple and cell[0] == "." and len(cell) == 3


def spine(cell: Cell) -> tuple[list[Cell], Cell]:
    """The items of a list and what stands after the last: `[]` if the list is proper."""
    items: list[Cell] = []
    cell = deref(cell)
    while is_pair(cell):
        items.append(cell[1])
        cell = deref(cell[2])
        if len(items) > LARGEST_TERM:
            raise Endless("builds a list that has no end")
    return items, cell


def rebuild(cell: Cell, leaf: Callable[[Cell], Any], node: Callable[[str, list[Any]], Any]) -> Any:
    """Fold a cell bottom-up.

    `leaf` takes what is no compound term, `node` a name and the results of its arguments. A list
    is one node of the name `.`, its items and what stands after them.
    """
    done: list[Any] = []
    stack: list[tuple[Cell, int]] = [(cell, 0)]
    for _ in range(LARGEST_TERM):
        if not stack:
            return done[0]
        current, arity = stack.pop()
        if arity:
            results = done[-arity:]
            del done[-arity:]
            done.append(node(current, results))
            continue
        current = deref(current)
        if type(current) is tuple:
            below = _below(current)
            stack.append((current[0], len(below)))
            stack.extend([(part, 0) for part in reversed(below)])
        else:
            done.append(leaf(current))
    raise Endless("builds a term that has no end")


def _below(cell: Cell) -> list[Cell]:
    if is_pair(cell):
        items, tail = spine(cell)
        return [*items, tail]
    return list(cell[1:])


def copy(cell: Cell) -> Cell:
    """The cell with new variables, the same one for the same one."""
    fresh: dict[Ref, Ref] = {}

    def leaf(at: Cell) -> Cell:
        return fresh.setdefault(at, Ref()) if type(at) is Ref else at

    def node(name: str, results: list[Cell]) -> Cell:
        return chain(results[:-1], results[-1]) if name == "." else (name, *results)

    return rebuild(cell, leaf, node)


def decode(cell: Cell, names: dict[Ref, str] | None = None) -> Term:
    """The cell as a term of the syntax tree; unbound variables are named `_1`, `_2` and so on."""
    chosen = {} if names is None else names

    def leaf(node: Cell) -> Term:
        if type(node) is Ref:
            return Variable(chosen.setdefault(node, f"_{len(chosen) + 1}"))
        return term_of(node)

    def node(name: str, results: list[Term]) -> Term:
        if name != ".":
            return Compound(name, tuple(results))
        tail = results.pop()
        return Sequence(tuple(results), None if tail == Atom(NIL) else tail)

    term: Term = rebuild(cell, leaf, node)
    return term


def _rank(cell: Cell) -> int:
    if type(cell) is Ref:
        return 0
    if isinstance(cell, int | float):
        return 1
    return 4 if type(cell) is tuple else 3 if isinstance(cell, str) else 2


def compare(left: Cell, right: Cell) -> int:
    """-1, 0 or 1 by the standard order of terms.

    Variables, then numbers by value, durations, text by its characters, compound terms by
    number of arguments, name and arguments from the left.
    """
    stack = [(left, right)]
    for _ in range(LARGEST_TERM):
        if not stack:
            return 0
        left, right = stack.pop()
        left, right = deref(left), deref(right)
        if left is right:
            continue
        result = _compare_tops(left, right)
        if result:
            return result
        if type(left) is tuple:
            stack.extend(zip(left[:0:-1], right[:0:-1], strict=True))
    raise Endless("compares terms that have no end")


def _compare_tops(left: Cell, right: Cell) -> int:
    rank = _rank(left)
    keys: tuple[Any, Any] = rank, _rank(right)
    if keys[0] == keys[1]:
        if rank == 0:
            keys = id(left), id(right)
        elif rank == 2:
            keys = (left.unit, left.amount), (right.unit, right.amount)
        elif rank == 1:
            # Of equal numbers the float comes first.
            keys = (plain(left), type(left) is int), (plain(right), type(right) is int)
        elif rank == 4:
            keys = (len(left), left[0]), (len(right), right[0])
        else:
            keys = left, right
    return int(keys[0] > keys[1]) - int(keys[0] < keys[1])


def evaluate(cell: Cell, env: Environment | tuple[Cell, ...]) -> int | float:
    """The value of an arithmetic expression, its slots looked up in the environment."""
    kind = type(cell)
    is_value = kind is Slot or kind is Ref
    if kind is Slot:
        cell = env[cell.index]
        kind = type(cell)
    if kind is Ref:
        cell = deref(cell)
        kind = type(cell)
    if kind is int or kind is float:
        return cell  # type: ignore[no-any-return]
    if kind is WholeFloat:
        return float(cell)
    if kind is SlottedTerm or kind is tuple:
        if (cell[0], len(cell) - 1) not in FUNCTIONS:
            noun = "a list" if cell[0] == "." else f"`{cell[0]}/{len(cell) - 1}`"
            raise Fault(f"needs a number and has {noun}, which is not a function of arithmetic")
        if len(cell) == 3:
            return _binary(cell[0], evaluate(cell[1], env), evaluate(cell[2], env))
        return apply(cell[0], *[evaluate(part, env) for part in cell[1:]])
    if cell is None or kind is Ref:
        raise Fault(f"needs a number where {UNBOUND}")
    if is_value and (kind is not str or cell not in INFINITE):
        raise NoNumber(f"needs a number and has `{show(decode(cell))}`")
    if kind is not str or (cell, 0) not in FUNCTIONS:
        shown = show(decode(cell))
        raise Fault(f"needs a number and has `{shown}`; test it in a goal before this one")
    return apply(cell)


def _binary(name: str, left: int | float, right: int | float) -> int | float:
    """`apply`, with a short way for what most expressions are made of."""
    if type(left) is int and type(right) is int and name in ("+", "-"):
        result = left + right if name == "+" else left - right
        if -_LARGEST <= result <= _LARGEST:
            return result
    return apply(name, left, right)


def index_key(cell: Cell) -> Cell:
    """What a dereferenced cell is looked up by: itself, or name and length if it is compound."""
    if type(cell) is tuple or type(cell) is SlottedTerm:
        return (cell[0], len(cell))
    return told_apart(cell)
