"""The parts of a rule as steps over rows, and the order to take them in.

A row holds the values of the variables bound so far; the layout says at which place. A step takes
rows and gives rows, lazily: those that pass, made longer by what the step binds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

from cernis.errors import KnowledgeError
from cernis.knowledge.ground_values import Key, Row, Value, label, term_of, told_apart, value
from cernis.knowledge.relations import IndexedRows, Meter, key_of
from cernis.knowledge.resolution.cells import Cell, Slot, cell_of, encode, evaluate
from cernis.knowledge.resolution.library import TESTS
from cernis.knowledge.resolution.prolog_arithmetic import COMPARISONS, Fault, NoNumber
from cernis.knowledge.rules import (
    Arg,
    Computed,
    Constant,
    Equal,
    NegatedParts,
    Part,
    RowLiteral,
    Rule,
    Test,
    needed,
)
from cernis.knowledge.terms import substitute
from cernis.syntax.printer import show
from cernis.syntax.tree import Compound, Term, Variable

Rows: TypeAlias = Iterator[Row]
Step: TypeAlias = Callable[[Rows], Rows]
Source: TypeAlias = Callable[[Key], Callable[[], IndexedRows]]
"""From a predicate to its rows as they are when a step begins."""

Result = TypeVar("Result")


def in_turn(steps: Sequence[Step]) -> Step:
    """The steps as one, each taking the rows of the one before."""

    def run(rows: Rows) -> Rows:
        for step in steps:
            rows = step(rows)
        return rows

    return run


def order_of(parts: Sequence[Part], first: int | None, bound: Iterable[str] = ()) -> list[int]:
    """An order to evaluate in: the first literal given, then those with most arguments bound.

    Everything else comes as soon as all literals that stand in front of it in the text have come:
    then it is bound, and it is not asked of rows that the text would have ruled out before. Only
    an equation of two variables may have to wait for a literal after it.
    """
    left = list(range(len(parts)))
    order: list[int] = []
    known = set(bound)
    turn = first
    while left:
        place = _next(parts, left, known) if turn is None else turn
        turn = None
        left.remove(place)
        order.append(place)
        if not isinstance(parts[place], NegatedParts):
            known |= needed(parts[place])
    return order


def _next(parts: Sequence[Part], left: Sequence[int], known: set[str]) -> int:
    def boundness(at: int) -> int:
        args = getattr(parts[at], "args", ())
        return sum(isinstance(arg, Constant) or arg in known for arg in args)

    part = parts[left[0]]
    literals = [place for place in left if isinstance(parts[place], RowLiteral)]
    waits = isinstance(part, Equal) and not needed(part) & known and len(needed(part)) == 2
    if isinstance(part, RowLiteral) or waits:
        return max(literals, key=boundness)
    return left[0]


def step(
    rule: Rule,
    part: Part,
    layout: dict[str, int],
    source: Source,
    meter: Meter,
) -> Step:
    """The step of a part, for rows of the layout; what it binds is added to the layout."""
    if isinstance(part, RowLiteral):
        return _join(part, layout, source(part.key), meter)
    if isinstance(part, Equal):
        return _equal(part, layout)
    if isinstance(part, Computed):
        return _computed(rule, part, layout)
    if isinstance(part, Test):
        return _test(rule, part, layout)
    return _absent(rule, part, layout, source, meter)


def getter(arg: Arg, layout: Mapping[str, int]) -> Callable[[Row], Value]:
    """What gives the value of an argument in a row."""
    if isinstance(arg, Constant):
        constant = arg.value
        return lambda row: constant
    return itemgetter(layout[arg])


def _keys(args: Sequence[Arg], layout: Mapping[str, int]) -> Callable[[Row], Any]:
    if all(isinstance(arg, str) for arg in args):
        return key_of([layout[arg] for arg in args if isinstance(arg, str)])
    getters = [getter(arg, layout) for arg in args]
    if len(getters) == 1:
        return getters[0]
    return lambda row: tuple([get(row) for get in getters])


def _join(
    part: RowLiteral, layout: dict[str, int], source: Callable[[], IndexedRows], meter: Meter
) -> Step:
    places = list(enumerate(part.args))
    keyed = [place for place, arg in places if isinstance(arg, Constant) or arg in layout]
    new = [place for place, arg in places if place not in keyed and arg != "_"]
    first = {arg: place for place, arg in reversed(places) if place in new}
    kept = tuple(place for place in new if first[part.args[place]] == place)
    repeats = tuple((place, first[part.args[place]]) for place in new if place not in kept)
    get_key = _keys([part.args[place] for place in keyed], layout)
    columns = (*kept, *(place for place, _ in repeats))
    checks = [(len(kept) + place, kept.index(other)) for place, (_, other) in enumerate(repeats)]
    for place in kept:
        layout[str(part.args[place])] = len(layout)
    if not columns:
        return _exists(tuple(keyed), get_key, source)
    return _look_up(tuple(keyed), columns, get_key, checks, len(kept), source, meter)


def _exists(
    keyed: tuple[int, ...], get_key: Callable[[Row], Any], source: Callable[[], IndexedRows]
) -> Step:
    def run(rows: Rows) -> Rows:
        index = source().index(keyed, ())
        return (row for row in rows if get_key(row) in index)

    return run


def _look_up(
    keyed: tuple[int, ...],
    columns: tuple[int, ...],
    get_key: Callable[[Row], Any],
    checks: Sequence[tuple[int, int]],
    width: int,
    source: Callable[[], IndexedRows],
    meter: Meter,
) -> Step:
    def run(rows: Rows) -> Rows:
        index = source().index(keyed, columns)
        for row in rows:
            rows_of_key = index.get(get_key(row), ())
            meter.spend(len(rows_of_key) + 1)
            for more in rows_of_key:
                if not checks:
                    yield row + more
                elif all(more[place] == more[other] for place, other in checks):
                    yield row + more[:width]

    return run


def _equal(part: Equal, layout: dict[str, int]) -> Step:
    left, right = part.left, part.right
    if isinstance(left, str) and left not in layout:
        left, right = right, left
    get = getter(left, layout)
    if isinstance(right, str) and right not in layout:
        layout[right] = len(layout)
        return lambda rows: ((*row, get(row)) for row in rows)
    other = getter(right, layout)
    return lambda rows: (row for row in rows if get(row) == other(row))


def _computed(rule: Rule, part: Computed, layout: dict[str, int]) -> Step:
    target = Variable(part.target) if isinstance(part.target, str) else term_of(part.target.value)
    shown = Compound("is", (target, part.expression))
    before = dict(layout)
    result = _guarded(rule, shown, before, _result(part.expression, before))
    if isinstance(part.target, str) and part.target not in layout:
        layout[part.target] = len(layout)
        return lambda rows: ((*row, value) for row in rows if (value := result(row)) is not None)
    other = getter(part.target, before)
    return lambda rows: (row for row in rows if result(row) == other(row))


def _test(rule: Rule, part: Test, layout: Mapping[str, int]) -> Step:
    here = dict(layout)
    holds = _guarded(rule, part.goal, here, _holds(part.goal, here))
    return lambda rows: (row for row in rows if holds(row))


def _holds(goal: Compound, layout: Mapping[str, int]) -> Callable[[Row], bool]:
    if goal.functor in COMPARISONS:
        compare = COMPARISONS[goal.functor]
        left, right = (_number(arg, layout) for arg in goal.args)

        def holds(row: Row) -> bool:
            try:
                return compare(left(row), right(row))
            except NoNumber:
                return False

        return holds
    test = TESTS[goal.functor, len(goal.args)]
    cells = [_cell(arg, layout) for arg in goal.args]
    return lambda row: test([cell(row) for cell in cells], [])


def _result(expression: Term, layout: Mapping[str, int]) -> Callable[[Row], Value | None]:
    """What gives the value of an expression; None where something in it is no number."""
    number = _number(expression, layout)

    def result(row: Row) -> Value | None:
        try:
            return told_apart(number(row))  # type: ignore[no-any-return]
        except NoNumber:
            return None

    return result


def _number(expression: Term, layout: Mapping[str, int]) -> Callable[[Row], int | float]:
    cell = encode(expression, lambda name: Slot(layout[name]))
    return lambda row: evaluate(cell, row)


def _cell(term: Term, layout: Mapping[str, int]) -> Callable[[Row], Cell]:
    if isinstance(term, Variable):
        place = layout[term.name]
        return lambda row: cell_of(row[place])
    constant = cell_of(value(term))
    return lambda row: constant


def _guarded(
    rule: Rule, goal: Term, layout: Mapping[str, int], compute: Callable[[Row], Result]
) -> Callable[[Row], Result]:
    """The computation, its faults turned into errors that show the goal with the row's values."""

    def guarded(row: Row) -> Result:
        try:
            return compute(row)
        except (Fault, RecursionError) as fault:
            values = {
                name: term_of(row[place]) for name, place in layout.items() if place < len(row)
            }
            shown = show(substitute(goal, values))
            raise KnowledgeError(label(rule.key), f"`{shown}` {fault}") from fault

    return guarded


def _absent(
    rule: Rule,
    part: NegatedParts,
    layout: Mapping[str, int],
    source: Source,
    meter: Meter,
) -> Step:
    inside = dict(layout)
    order = order_of(part.parts, None, layout)
    search = in_turn([step(rule, part.parts[place], inside, source, meter) for place in order])
    if len(part.parts) == 1 and isinstance(part.parts[0], RowLiteral):
        return _not_exists(part.parts[0], layout, source(part.parts[0].key)) or _none(search)
    return _none(search)


def _none(search: Step) -> Step:
    return lambda rows: (row for row in rows if next(search(iter((row,))), None) is None)


def _not_exists(
    part: RowLiteral, layout: Mapping[str, int], source: Callable[[], IndexedRows]
) -> Step | None:
    """An anti-join by hash, if no local variable of the literal occurs in it twice."""
    keyed = tuple(position for position, arg in enumerate(part.args) if not _is_local(arg, layout))
    local = [arg for arg in part.args if _is_local(arg, layout) and arg != "_"]
    if len(set(local)) < len(local):
        return None
    get_key = _keys([part.args[position] for position in keyed], layout)

    def run(rows: Rows) -> Rows:
        index = source().index(keyed, ())
        return (row for row in rows if get_key(row) not in index)

    return run


def _is_local(arg: Arg, layout: Mapping[str, int]) -> bool:
    return isinstance(arg, str) and arg not in layout
