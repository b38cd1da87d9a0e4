"""The rules of a cycle as causes: what drives each, and what it asks of the cycle itself.

A cause can be decided row by row in the order of time if all that it asks of the cycle is about one
instance: does it hold, does it happen at this point? The rest of its conditions is decided before,
column by column. A cycle with a rule that does not fit is iterated instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from cernis.check.model import Boundary, Changes, Event, FluentKind, Pair, Relation
from cernis.plan.logical import (
    AntiStab,
    Branches,
    Definition,
    Delay,
    EventAntiJoin,
    EventJoin,
    InitialPoints,
    Occurrence,
    PointOperator,
    PointRule,
    Scan,
    Stab,
    Stratum,
    names_in,
    parts_of,
)
from cernis.plan.properties.open_heads import ends_any_value
from cernis.syntax.tree import Atom, Term, Text, Variable

INITIATION, TERMINATION, EVENT, HOLDS, START, END = (
    "initiation", "termination", "event", "holds", "start", "end",
)  # fmt: skip
INPUT, STATE = "input", "state"
"""Conditions on what the cycle does not define: that an event happens, that a fluent holds."""

_OF_STATE = (HOLDS, STATE)

_MOST_BRANCHES = 64
"""A rule whose choices give more alternatives is not written out."""

_Steps: TypeAlias = tuple[PointOperator, ...]
_TEMPORAL = (Scan, EventJoin, EventAntiJoin, Stab, AntiStab)


class UnfitError(Exception):
    """The cycle, or what it is to be evaluated on, cannot be decided in the order of time."""


@dataclass(frozen=True, slots=True)
class CycleCondition:
    """A condition on one instance: that it holds, or that something happens to it at the point.

    `value` is None for an event.
    """

    kind: str
    relation: Relation
    args: tuple[Term, ...]
    value: Term | None
    negated: bool = False

    def can_be(self, other: CycleCondition) -> bool:
        """Can what one speaks of be what the other does, or depend on it?"""
        if self.kind in (START, END) and self.relation == other.relation:
            return True
        if (self.kind, self.relation) != (other.kind, other.relation):
            return False
        values = [_plain(each.value) for each in (self, other)]
        return values[0] == values[1] or any(isinstance(each, Variable) for each in values)


def _plain(value: Term | None) -> Term | None:
    """A string is the atom of its text."""
    return Atom(value.value) if isinstance(value, Text) else value


@dataclass(frozen=True, slots=True)
class Cause:
    """A rule of a cycle, one for each of its alternatives.

    `steps` are those that do not ask anything of the cycle, in their order, the scan included
    unless the cycle itself drives the rule. `rank` is above the ranks of all causes of what it
    asks about its own point.
    """

    rule: PointRule
    relation: Relation
    head: CycleCondition
    driver: CycleCondition | None
    steps: _Steps
    asks: tuple[CycleCondition, ...]
    rank: int = 0

    @property
    def needs(self) -> tuple[CycleCondition, ...]:
        """The conditions about the very point of the cause, which must be decided before it is."""
        drivers = (self.driver,) if self.driver is not None else ()
        return (
            *drivers,
            *(condition for condition in self.asks if condition.kind not in _OF_STATE),
        )


def causes_of(stratum: Stratum) -> list[Cause]:
    """All causes of a cycle, in the order of its rules. Raises `UnfitError`."""
    cyclic = frozenset(stratum.relations)
    causes = []
    terminations_read = {
        part.pair.relation for part in parts_of(stratum.definitions)
        if isinstance(part, Changes) and not part.initiates
    }  # fmt: skip
    for definition in stratum.definitions:
        _check(definition)
        if definition.relation in terminations_read and ends_any_value(definition):
            raise UnfitError
        for rule in definition.rules:
            if isinstance(rule, PointRule):
                causes += _alternatives(rule, definition.relation, cyclic)
    return _ranked(causes)


def _check(definition: Definition) -> None:
    if definition.kind not in ("event", FluentKind.SIMPLE) or definition.ending_values is not None:
        raise UnfitError
    for rule in definition.rules:
        if not isinstance(rule, (PointRule, InitialPoints, Delay)):
            raise UnfitError
        if isinstance(rule, PointRule) and set(_names(rule.head.args)) & {
            "_",
            *rule.open_variables,
        }:
            raise UnfitError


def _names(where: Iterable[object]) -> Iterator[str]:
    return (name for part in where for name in names_in(part))


# -- one rule --------------------------------------------------------------------------------


def _alternatives(rule: PointRule, relation: Relation, cyclic: frozenset[Relation]) -> list[Cause]:
    written_out = [
        replace(rule, steps=steps) if steps != rule.steps else rule
        for steps in _written_out(rule.steps, cyclic)
    ]
    if len(written_out) > _MOST_BRANCHES:
        raise UnfitError
    return [_cause(each, relation, cyclic) for each in written_out]


def _written_out(steps: _Steps, cyclic: frozenset[Relation]) -> Iterator[_Steps]:
    """Choices that ask something of the cycle become alternatives of the rule."""
    for position, step in enumerate(steps):
        if isinstance(step, Branches) and _is_cyclic(step, cyclic):
            for branch in step.branches:
                yield from _written_out(
                    (*steps[:position], *branch, *steps[position + 1 :]), cyclic
                )
            return
    yield steps


def _is_cyclic(step: PointOperator, cyclic: frozenset[Relation]) -> bool:
    """Does a step ask something of the cycle?"""
    return any(isinstance(p, (Pair, Event)) and p.relation in cyclic for p in parts_of(step))


def is_temporal(step: PointOperator) -> bool:
    """Does a step ask for what holds or happens?"""
    return any(isinstance(part, _TEMPORAL) for part in parts_of(step))


def _cause(rule: PointRule, relation: Relation, cyclic: frozenset[Relation]) -> Cause:
    first, *rest = rule.steps
    head = _head(rule)
    driver = None
    if _is_cyclic(first, cyclic):
        driver = _driver(first, rule)
        asks = [step for step in rest if _is_cyclic(step, cyclic) or is_temporal(step)]
    else:
        asks = [step for step in rest if _is_cyclic(step, cyclic)]
        if asks and not isinstance(first, Scan):
            raise UnfitError
        rest = [first, *rest]
    chosen = {id(step) for step in asks}
    steps = tuple(step for step in rest if id(step) not in chosen)
    for step in asks:
        _check_bound(step, rule)
    literals = tuple(_asked(step, cyclic) for step in asks)
    return Cause(rule, relation, head, driver, steps, literals)


def _head(rule: PointRule) -> CycleCondition:
    value = rule.head.value if isinstance(rule.head, Pair) else None
    return CycleCondition(rule.kind, rule.head.relation, rule.head.args, value)


def _driver(step: PointOperator, rule: PointRule) -> CycleCondition:
    # When the cycle drives a rule, its time is not known before.
    if not isinstance(step, Scan) or step.time in _names((rule.steps[1:], rule.head)):
        raise UnfitError
    return _happening(step.occurrence, False)


def _happening(occurrence: Occurrence, negated: bool) -> CycleCondition:
    if isinstance(occurrence, Event):
        return CycleCondition(EVENT, occurrence.relation, occurrence.args, None, negated)
    pair = occurrence.pair
    if isinstance(occurrence, Boundary):
        if occurrence.edge not in (START, END):
            raise UnfitError
        kind = occurrence.edge
        return CycleCondition(kind, pair.relation, pair.args, pair.value, negated)
    kind = INITIATION if occurrence.initiates else TERMINATION
    return CycleCondition(kind, pair.relation, pair.args, pair.value, negated)


def _asked(step: PointOperator, cyclic: frozenset[Relation]) -> CycleCondition:
    """A condition, as what it asks about an instance."""
    if isinstance(step, (Stab, AntiStab)):
        pair = step.pair
        kind = HOLDS if pair.relation in cyclic else STATE
        return CycleCondition(
            kind, pair.relation, pair.args, pair.value, isinstance(step, AntiStab)
        )
    if not isinstance(step, (EventJoin, EventAntiJoin)):
        raise UnfitError
    happening = _happening(step.occurrence, isinstance(step, EventAntiJoin))
    if happening.relation in cyclic:
        return happening
    if not isinstance(step.occurrence, Event):
        raise UnfitError
    return replace(happening, kind=INPUT)


def _check_bound(step: PointOperator, rule: PointRule) -> None:
    """What only this condition gives a value may be asked for nowhere else."""
    if isinstance(step, Stab):
        bound = set(step.binds)
    elif isinstance(step, EventJoin):
        bound = set(names_in(step.occurrence)) - set(step.on)
    else:
        return
    elsewhere = {name for other in rule.steps if other is not step for name in names_in(other)}
    if bound & (elsewhere | set(names_in(rule.head))):
        raise UnfitError


# -- ranks -----------------------------------------------------------------------------------


def _ranked(causes: list[Cause]) -> list[Cause]:
    """The causes with their ranks: the longest paths of what they need of their own point."""
    needed = [
        [
            number
            for number, other in enumerate(causes)
            if any(condition.can_be(other.head) for condition in cause.needs)
        ]
        for cause in causes
    ]
    # What happens in the input is known before anything of the cycle is decided.
    ranks = [int(any(condition.kind == INPUT for condition in cause.needs)) for cause in causes]
    for _ in range(len(causes) + 1):
        before = list(ranks)
        for number, others in enumerate(needed):
            ranks[number] = max([ranks[number], *(1 + ranks[other] for other in others)])
        if ranks == before:
            return [replace(cause, rank=rank) for cause, rank in zip(causes, ranks, strict=True)]
    raise UnfitError
