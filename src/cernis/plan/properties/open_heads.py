"""What the rules of a simple fluent leave open."""

from __future__ import annotations

from cernis.check.model import Pair
from cernis.plan.logical import Definition, PointRule
from cernis.syntax.tree import Variable


def leaves_open(definition: Definition) -> dict[str, bool]:
    """Do rules of a definition leave arguments open, by kind of rule?"""
    is_open = {"initiation": False, "termination": False}
    for rule in definition.rules:
        if isinstance(rule, PointRule):
            is_open[rule.kind] |= rule.leaves_arguments_open
    return is_open


def ends_any_value(definition: Definition) -> bool:
    """Does a rule of a definition end whatever value there is?"""
    rules = [rule for rule in definition.rules if isinstance(rule, PointRule)]
    ends = [rule for rule in rules if rule.kind == "termination"]
    values = [(rule.head.value, rule) for rule in ends if isinstance(rule.head, Pair)]
    return any(
        isinstance(value, Variable) and value.name in {"_", *rule.open_variables}
        for value, rule in values
    )
