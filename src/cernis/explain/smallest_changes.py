"""The smallest change of a fact, or of a constant in a rule, that makes a comparison true."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from cernis.check.checker import Checked
from cernis.check.model import Condition, Literal, Relation
from cernis.explain.body_proofs import Failure
from cernis.knowledge.ground_values import same
from cernis.knowledge.terms import substitute
from cernis.syntax.tree import Clause, Compound, Number, Variable, functor

_TURNED = {"<": ">", ">": "<", "=<": ">=", ">=": "=<", "=:=": "=:="}


@dataclass(frozen=True, slots=True)
class FactChange:
    """A fact, and the one to put in its place."""

    before: Clause
    after: Clause

    def apply(self, checked: Checked) -> Checked:
        """The program with the changed fact."""
        relation = Relation(*functor(self.before.head))
        facts = [self.after if each is self.before else each for each in checked.clauses[relation]]
        return replace(checked, clauses={**checked.clauses, relation: facts})


@dataclass(frozen=True, slots=True)
class ConstantChange:
    """A comparison in a rule, and the one with another constant to put in its place."""

    before: Condition
    after: Condition

    def apply(self, checked: Checked) -> Checked:
        """The program with the changed constant."""
        definitions = checked.definitions
        changed = replace(
            definitions,
            changes=[replace(r, body=self._body(r.body)) for r in definitions.changes],
            events=[replace(r, body=self._body(r.body)) for r in definitions.events],
        )
        return replace(checked, definitions=changed)

    def _body(self, body: tuple[Literal, ...]) -> tuple[Literal, ...]:
        return tuple(self.after if each is self.before else each for each in body)


def constant_changes(failure: Failure, left: float, right: float) -> Iterator[ConstantChange]:
    """The change of a constant that makes the comparison true at which a rule failed."""
    literal = failure.literal
    if not isinstance(literal, Condition) or not isinstance(literal.goal, Compound):
        return
    operator, sides = literal.goal.functor, literal.goal.args
    needs = ((1, _TURNED[operator], left), (0, operator, right))
    for place, needed, other in needs:
        constant = sides[place]
        if isinstance(constant, Number):
            for needed_value in needed_numbers(needed, other, constant.value):
                number = Number(needed_value, constant.span)
                args = tuple(number if at == place else side for at, side in enumerate(sides))
                goal = replace(literal.goal, args=args)
                yield ConstantChange(literal, replace(literal, goal=goal))


def needed_numbers(operator: str, other: float, before: float) -> Iterator[int | float]:
    """Numbers near `other` for which `number operator other` is true, to put in place of another.

    The first is as precise as what is compared, but has no more than five digits of it; it is a
    whole number if the one before was. The second is as near as numbers of that form can be.
    """
    if isinstance(before, float) and operator != "=:=":
        yield _rounded(operator, other, before)
    yield needed_number(operator, other, type(before))


def _rounded(operator: str, other: float, before: float) -> float:
    """The number nearest to `other` with few digits for which the comparison is true.

    >>> _rounded("<", 118.5, 120.0), _rounded("=<", 118.25, 120.0), _rounded(">", 0.1 + 0.2, 0.5)
    (118.4, 118.25, 0.30001)
    """
    exact = Decimal(repr(float(other)))
    places = max(_decimals(exact), _decimals(Decimal(repr(before))))
    size = exact.adjusted() if exact else 0
    step = Decimal(1).scaleb(-min(places, max(4 - size, 0)))
    is_below = operator in ("<", "=<")
    number = exact.quantize(step, ROUND_FLOOR if is_below else ROUND_CEILING)
    if number == exact and operator in ("<", ">"):
        number += -step if is_below else step
    return float(number)


def _decimals(number: Decimal) -> int:
    exponent = number.normalize().as_tuple().exponent
    return max(-exponent, 1) if isinstance(exponent, int) else 1


def needed_number(operator: str, other: float, form: type) -> float:
    """The number nearest to `other` for which `number operator other` is true, of a form.

    >>> needed_number("<", 118.5, int), needed_number(">=", 7, int), needed_number("<", 7, int)
    (118, 7, 6)
    """
    if form is int:
        below = math.ceil(other) - 1 if operator == "<" else math.floor(other)
        above = math.floor(other) + 1 if operator == ">" else math.ceil(other)
        return below if operator in ("<", "=<") else above
    step = {"<": -1e-6, ">": 1e-6}.get(operator, 0.0) * max(1.0, abs(other))
    return float(other + step)


def fact_changes(
    failure: Failure, left: float, right: float, checked: Checked
) -> Iterator[FactChange]:
    """The changes of one fact that make the comparison true at which a rule failed."""
    literal = failure.literal
    if not isinstance(literal, Condition) or not isinstance(literal.goal, Compound):
        return
    first, second = literal.goal.args
    operator = literal.goal.functor
    sides = ((second, _TURNED[operator], left), (first, operator, right))
    for term, needed, other in sides:
        if isinstance(term, Variable):
            yield from _changes_of(term.name, needed, other, failure, checked)


def _changes_of(
    name: str, operator: str, other: float, failure: Failure, checked: Checked
) -> Iterator[FactChange]:
    for support in failure.supports:
        literal = support.literal
        if not isinstance(literal, Condition) or not isinstance(literal.goal, Compound):
            continue
        places = [n for n, arg in enumerate(literal.goal.args) if arg == Variable(name)]
        fact = substitute(literal.goal, support.bindings)
        for clause in checked.clauses.get(Relation(*functor(fact)), ()) if places else ():
            if not clause.body and same(clause.head, fact):
                before = fact.args[places[0]] if isinstance(fact, Compound) else None
                now = before.value if isinstance(before, Number) else 0.0
                for number in needed_numbers(operator, other, now):
                    yield FactChange(clause, _with_number(clause, places[0], number))


def _with_number(clause: Clause, place: int, number: float) -> Clause:
    assert isinstance(clause.head, Compound)
    args = list(clause.head.args)
    args[place] = Number(number)
    return replace(clause, head=Compound(clause.head.functor, tuple(args), clause.head.span))
