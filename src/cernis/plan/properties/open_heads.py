"""What the rules of a simple fluent leave open, and which event most of them mark."""

from __future__ import annotations

from collections import Counter

from cernis.check.model import Event, FluentKind, Pair, Relation
from cernis.plan.logical import Definition, Delay, PointRule, Scan, Stage
from cernis.plan.properties.relation_roles import Roles
from cernis.syntax.tree import Variable


def marked_event(definition: Definition) -> tuple[Relation, tuple[int, ...]] | None:
    """The event whose happenings most rules of a fluent mark, if there is one.

    With it come its arguments that are those of the fluent.
    """
    rules = [rule for rule in definition.rules if isinstance(rule, PointRule)]
    if any(isinstance(rule, Delay) for rule in definition.rules):
        return None
    if definition.ending_values is not None:
        return None
    if not definition.relation.arity or definition.open_rules:
        return None
    counts: Counter[tuple[Relation, tuple[int, ...]]] = Counter()
    for rule in rules:
        step = rule.steps[0]
        if isinstance(step, Scan) and isinstance(step.occurrence, Event):
            args = step.occurrence.args
            if all(isinstance(arg, Variable) and arg in args for arg in rule.head.args):
                positions = tuple(args.index(arg) for arg in rule.head.args)
                counts[step.occurrence.relation, positions] += 1
    return counts.most_common(1)[0][0] if counts else None


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


def marking_fluents(stages: tuple[Stage, ...], roles: Roles) -> dict[Relation, list[Relation]]:
    """For each event, the simple fluents whose rules mark its happenings.

    Fluents whose changes other rules read are not among them, nor are events that aggregates count.
    """
    fluents: dict[Relation, list[Relation]] = {}
    strata = [stratum for stage in stages for stratum in stage.strata if not stratum.immediate]
    for definition in [each for stratum in strata for each in stratum.definitions]:
        if definition.kind != FluentKind.SIMPLE or definition.relation in roles.watched:
            continue
        marked = marked_event(definition)
        if marked is not None and marked[0] not in roles.counted:
            fluents.setdefault(marked[0], []).append(definition.relation)
    return fluents
