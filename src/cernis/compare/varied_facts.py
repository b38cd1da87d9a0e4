"""Facts with several values in the place of one: `limit(high, 100..140 by 10)`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from typing import Final

from cernis.check.checker import Checked
from cernis.check.model import Relation
from cernis.errors import CernisError, DataError
from cernis.knowledge.ground_values import is_ground, same
from cernis.syntax import parse_term, show
from cernis.syntax.tree import Clause, Compound, Number, Term, functor

MOST_VERSIONS: Final = 200
"""So many combinations of values are tried at most."""

_NUMBER: Final = r"-?\d+(?:\.\d+)?"
_RANGE: Final = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})(?:\s+by\s+({_NUMBER}))?")
_PLACE: Final = "'values of the range'"
_STEPS: Final = 10
"""A range of fractions without `by` has so many steps."""


@dataclass(frozen=True, slots=True)
class VariedFact:
    """A fact of a program, the position of the number that varies, and its values."""

    clause: Clause
    position: int
    values: tuple[int | float, ...]
    title: str

    def with_value(self, value: int | float) -> Clause:
        """The fact with another number."""
        head = self.clause.head
        assert isinstance(head, Compound)
        args = list(head.args)
        before = args[self.position]
        is_float = isinstance(before, Number) and isinstance(before.value, float)
        args[self.position] = Number(float(value) if is_float else value)
        return replace(self.clause, head=Compound(head.functor, tuple(args), head.span))


def read_varied_fact(text: str, checked: Checked) -> VariedFact:
    """What a text such as `limit(high, 100..140 by 10)` varies; a DataError says what is wrong."""
    ranges = list(_RANGE.finditer(text))
    if len(ranges) != 1:
        raise DataError(
            f"{text!r} must have one range, as in limit(high, 100..140) or limit(low, 0..1 by 0.1)"
        )
    values = _values(*ranges[0].groups())
    try:
        term = parse_term(text[: ranges[0].start()] + _PLACE + text[ranges[0].end() :])
    except CernisError:
        raise DataError(f"{text!r} is no fact with a range in it") from None
    if not isinstance(term, Compound) or not is_ground(term):
        raise DataError(f"{text!r} must name all other arguments: limit(high, 100..140)")
    places = [n for n, arg in enumerate(term.args) if same(arg, parse_term(_PLACE))]
    if len(places) != 1:
        raise DataError(f"{text!r}: the range must be an argument of the fact itself")
    clause = _fact(term, places[0], checked, text)
    arguments = [show(arg) for arg in term.args]
    arguments[places[0]] = "X"
    return VariedFact(clause, places[0], values, f"{term.functor}({', '.join(arguments)})")


def _values(first: str, last: str, step: str | None) -> tuple[int | float, ...]:
    low, high = Decimal(first), Decimal(last)
    if high < low:
        raise DataError(f"the range {first}..{last} ends before it begins")
    is_whole = low == int(low) and high == int(high) and "." not in first + last
    size = Decimal(step) if step else Decimal(1) if is_whole else (high - low) / _STEPS
    if size <= 0:
        raise DataError(f"the steps of {first}..{last} must be positive")
    count = int((high - low) / size) + 1
    if count > MOST_VERSIONS:
        raise DataError(
            f"{first}..{last} has {count} values; choose wider steps: {first}..{last} by "
            f"{(high - low) / 20:g}"
        )
    values = [low + size * number for number in range(count)]
    return tuple(int(each) if is_whole and each == int(each) else float(each) for each in values)


def _fact(term: Compound, place: int, checked: Checked, text: str) -> Clause:
    """The one fact of a program that has the same arguments in all other places."""
    relation = Relation(*functor(term))
    clauses = checked.clauses.get(relation, [])
    fitting = [
        clause for clause in clauses
        if not clause.body and isinstance(clause.head, Compound)
        and isinstance(clause.head.args[place], Number)
        and all(
            position == place or same(arg, clause.head.args[position])
            for position, arg in enumerate(term.args)
        )
    ]  # fmt: skip
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise DataError(f"{text!r} stands for {len(fitting)} facts of {relation}; it must be one")
    if relation in checked.tables:
        raise DataError(f"{relation} is a table; only facts that are written as text can be varied")
    known = ", ".join(show(clause.head) for clause in clauses[:6]) or "none"
    raise DataError(f"there is no fact like {text!r} with a number there; there are {known}")


def combinations(facts: Sequence[VariedFact]) -> list[tuple[int | float, ...]]:
    """All combinations of the values of several facts."""
    chosen = list(product(*(fact.values for fact in facts)))
    if len(chosen) > MOST_VERSIONS:
        raise DataError(
            f"these are {len(chosen)} combinations, more than {MOST_VERSIONS}; choose wider steps"
        )
    return chosen


def versions(
    checked: Checked, facts: Sequence[VariedFact], chosen: Sequence[tuple[int | float, ...]]
) -> Iterator[Checked]:
    """The program once for each combination of values."""
    for values in chosen:
        clauses = dict(checked.clauses)
        for fact, value in zip(facts, values, strict=True):
            head: Term = fact.clause.head
            relation = Relation(*functor(head))
            clauses[relation] = [
                fact.with_value(value) if clause is fact.clause else clause
                for clause in clauses[relation]
            ]
        yield replace(checked, clauses=clauses)
