"""Thresholds: the numbers that rules compare the arguments of events with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from cernis.check.checker import Checked
from cernis.check.model import (
    Condition,
    Either,
    Happens,
    Literal,
    Relation,
    Unless,
    temporal,
)
from cernis.syntax.printer import show
from cernis.syntax.tree import Atom, Compound, Number, Term, Text, Variable, walk

Thresholds: TypeAlias = dict[tuple[Relation, int], list[tuple[float, str]]]
"""By event and position: the numbers, each with the words of its origin."""

_COMPARISONS: Final = frozenset({"<", ">", "=<", ">="})
_MOST: Final = 6
"""A fact with more numbers than this is no threshold but a table, by kind of vessel, say."""


def thresholds_of(checked: Checked) -> Thresholds:
    """The numbers that each argument of an event is compared with, directly or through a fact."""
    definitions = checked.definitions
    thresholds: Thresholds = {}
    bodies = [rule.body for rule in definitions.changes]
    bodies += [rule.body for rule in definitions.events]
    for body in bodies:
        for place, value, text in _in_body(body, checked):
            entries = thresholds.setdefault(place, [])
            if (value, text) not in entries:
                entries.append((value, text))
    return thresholds


def _in_body(
    body: tuple[Literal, ...], checked: Checked
) -> Iterator[tuple[tuple[Relation, int], float, str]]:
    places = {
        arg.name: (literal.event.relation, position)
        for literal in temporal(body) if isinstance(literal, Happens)
        for position, arg in enumerate(literal.event.args) if isinstance(arg, Variable)
    }  # fmt: skip
    goals = [goal for goal in conditions_of(body) if isinstance(goal, Compound)]
    for goal in goals:
        if goal.functor not in _COMPARISONS or len(goal.args) != 2:
            continue
        for side, other in (goal.args, goal.args[::-1]):
            if isinstance(side, Variable) and side.name in places:
                for value, text in _numbers(other, goals, checked):
                    yield places[side.name], value, text


def conditions_of(body: tuple[Literal, ...]) -> Iterator[Term]:
    """All goals of a body, those within disjunctions and negations too."""
    for literal in body:
        if isinstance(literal, Condition):
            yield from walk(literal.goal)
        elif isinstance(literal, Either):
            for branch in literal.branches:
                yield from conditions_of(branch)
        elif isinstance(literal, Unless):
            yield from conditions_of(literal.body)


def _numbers(
    term: Term, goals: Sequence[Compound], checked: Checked
) -> Iterator[tuple[float, str]]:
    """The numbers that a side of a comparison stands for, each with the words of its origin."""
    if isinstance(term, Number):
        yield float(term.value), show(term)
    elif isinstance(term, Variable):
        for goal in goals:
            if term in goal.args:
                yield from _fact_numbers(goal, goal.args.index(term), checked)


def _fact_numbers(goal: Compound, position: int, checked: Checked) -> Iterator[tuple[float, str]]:
    """The numbers at a position of the facts that agree with the constants of a goal."""
    relation = Relation(goal.functor, len(goal.args))
    rows = [
        row for row in fact_rows(relation, checked)
        if all(
            isinstance(arg, Variable) or _same(arg, row[place])
            for place, arg in enumerate(goal.args)
        )
    ]  # fmt: skip
    numbers = {value for row in rows if isinstance(value := row[position], int | float)}
    if len(numbers) > _MOST:
        return
    named = [show(arg) for arg in goal.args if not isinstance(arg, Variable)]
    words = f"{relation.name}({', '.join(named)})" if named else relation.name
    for number in sorted(numbers):
        yield float(number), f"{words} = {number}"


def fact_rows(relation: Relation, checked: Checked) -> Iterator[Sequence[object]]:
    """The facts of a predicate, from tables and from clauses."""
    table = checked.tables.get(relation)
    if table is not None:
        yield from table.rows()
    for clause in checked.clauses.get(relation, []):
        head = clause.head
        if not clause.body and isinstance(head, Compound):
            yield [_constant(arg) for arg in head.args]


def _constant(term: Term) -> object:
    if isinstance(term, Number | Text):
        return term.value
    return term.name if isinstance(term, Atom) else show(term)


def _same(term: Term, value: object) -> bool:
    return _constant(term) == value
