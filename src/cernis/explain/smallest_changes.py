"""The smallest change of a fact, or of a constant in a rule, that makes a comparison true."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

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
            number = Number(needed_number(needed, other, type(constant.value)), constant.span)
            args = tuple(number if at == place else side for at, side in enumerate(sides))
            yield ConstantChange(literal, replace(literal, goal=replace(literal.goal, args=args)))


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
                yield FactChange(clause, _with_number(clause, places[0], operator, other))


def _with_number(clause: Clause, place: int, operator: str, other: float) -> Clause:
    assert isinstance(clause.head, Compound)
    args = list(clause.head.args)
    before = args[place]
    form = type(before.value) if isinstance(before, Number) else float
    args[place] = Number(needed_number(operator, other, form))
    return replace(clause, head=Compound(clause.head.functor, tuple(args), clause.head.span))
