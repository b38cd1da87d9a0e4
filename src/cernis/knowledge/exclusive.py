"""Tests that cannot both hold, as far as constants show: `X < 90` and `90 =< X`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cernis.knowledge.ground_values import Value, is_ground, value
from cernis.syntax.tree import Compound, Number, Term, Variable, conjuncts

_FLIPPED: Final = {"<": ">", ">": "<", "=<": ">=", ">=": "=<", "=:=": "=:=", "=": "=", "==": "=="}


@dataclass(slots=True)
class Range:
    """The numbers a variable may be, and the values it is said to be equal to."""

    low: float = -math.inf
    low_open: bool = False
    high: float = math.inf
    high_open: bool = False
    equal: tuple[Value, ...] = ()

    def narrow(self, operator: str, bound: Value) -> None:
        """Take one test into account."""
        if operator in ("=", "=="):
            self.equal = (*self.equal, bound)
        if isinstance(bound, int | float):
            if operator in (">", ">=", "=:=", "=", "=="):
                self.low, self.low_open = max((self.low, self.low_open), (bound, operator == ">"))
            if operator in ("<", "=<", "=:=", "=", "=="):
                high = min((self.high, not self.high_open), (bound, operator != "<"))
                self.high, self.high_open = high[0], not high[1]

    @property
    def is_empty(self) -> bool:
        """Can no value pass?"""
        if any(each != self.equal[0] for each in self.equal):
            return True
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))


def exclude_each_other(goals: Iterable[Term], other: Term) -> bool:
    """Is there no way for all the goals and the other conjunction to hold together?

    True only if a variable's own tests against constants show it; False decides nothing.
    """
    ranges: dict[str, Range] = {}
    for goal in (*goals, *conjuncts(other)):
        test = _test(goal)
        if test is not None:
            name, operator, bound = test
            ranges.setdefault(name, Range()).narrow(operator, bound)
    return any(each.is_empty for each in ranges.values())


def _test(goal: Term) -> tuple[str, str, Value] | None:
    """A comparison of a variable with a constant, the variable on the left."""
    if not isinstance(goal, Compound) or goal.functor not in _FLIPPED or len(goal.args) != 2:
        return None
    operator, (left, right) = goal.functor, goal.args
    if isinstance(right, Variable):
        operator, left, right = _FLIPPED[operator], right, left
    if not isinstance(left, Variable) or left.name == "_" or not is_ground(right):
        return None
    if operator not in ("=", "==") and not isinstance(right, Number):
        return None
    return left.name, operator, value(right)
