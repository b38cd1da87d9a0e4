"""Decides whether a session may forget members of dynamic domains together with their records.

In a run, everybody whom an input record has ever named stays a member of the domain. A session that
never ends cannot keep them all. It may forget a member that no record and no interval in the window
names, provided that this changes no answer; `are_anchored` says for which programs that is so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from cernis.check.model import Definitions, Grounding, Relation
from cernis.plan.logical import (
    Definition,
    Delay,
    EventJoin,
    Fetch,
    IntervalRule,
    PointRule,
    Scan,
    Stab,
)
from cernis.plan.properties.growing_predicates import domain_goals, functors_in
from cernis.plan.properties.rule_reads import literals
from cernis.syntax.tree import Compound, Term, Variable, functor

if TYPE_CHECKING:
    from cernis.plan.builder import Plan

Predicate: TypeAlias = tuple[str, int]
Positions: TypeAlias = tuple[int, ...]
Carrier: TypeAlias = tuple[Relation, tuple[Term, ...]]
"""A relation and the terms of a literal that must be true for a rule to derive something."""


def are_anchored(plan: Plan) -> bool:
    """May a session forget the members that nothing in the window names?

    It may if two conditions are met. First, dynamic domains are used in groundings only, where they
    restrict heads; no rule asks for their members in its body. Second, every rule that begins
    something depends, directly or through other definitions, on an input record that itself makes
    the arguments of the head members of the domain. Then nothing can be derived about a forgotten
    member until a record names it, and that record makes it a member again.
    """
    names = plan.growing
    definitions = [d for stage in plan.stages for s in stage.strata for d in s.definitions]
    if any(not names.isdisjoint(functors_in(d.rules)) for d in definitions):
        return False
    anchors = _Anchors(plan.checked.definitions, definitions)
    return all(
        anchors.is_member(definition.relation, *restricted)
        for definition in definitions
        for restricted in anchors.restricted(definition, names)
    )


@dataclass(slots=True)
class _Anchors:
    """Follows rules down to the input records that they depend on."""

    program: Definitions
    definitions: list[Definition]

    def restricted(
        self, definition: Definition, names: frozenset[str]
    ) -> Iterator[tuple[Positions | None, Predicate]]:
        """The argument positions that a grounding restricts to a dynamic domain, and that domain.

        The positions are None if they cannot be read from the goal.
        """
        for grounding in definition.groundings:
            for goal in grounding.goals:
                if not names.isdisjoint(functors_in(goal)):
                    yield _positions(grounding, goal), _predicate(goal)

    def is_member(
        self, relation: Relation, positions: Positions | None, domain: Predicate,
        above: frozenset[tuple[Relation, Positions]] = frozenset(),
    ) -> bool:  # fmt: skip
        """Do the records that a relation depends on make these arguments members of a domain?"""
        if positions is None or relation.arity in positions:
            # Members that are values are not followed: effects may give other values.
            return False
        rules = [r for d in self.definitions if d.relation == relation for r in d.rules]
        if not rules:
            return self._is_filled(relation, positions, domain)
        if (relation, positions) in above:
            return True
        above |= {(relation, positions)}
        return all(self._rests_on_member(rule, positions, domain, above) for rule in rules)

    def _rests_on_member(
        self, rule: object, positions: Positions, domain: Predicate,
        above: frozenset[tuple[Relation, Positions]],
    ) -> bool:  # fmt: skip
        """Does a rule depend on something that makes these arguments of its head members?"""
        if isinstance(rule, Delay) or (isinstance(rule, PointRule) and rule.kind == "termination"):
            # A termination or a delayed effect needs an initiation, which has been checked itself.
            return True
        if not isinstance(rule, PointRule | IntervalRule):
            return False
        arguments = [rule.head.args[position] for position in positions]
        if Variable("_") in arguments:
            return False
        return all(
            any(
                set(arguments) <= set(terms)
                and self.is_member(relation, tuple(map(terms.index, arguments)), domain, above)
                for relation, terms in carriers
            )
            for carriers in _carriers(rule)
        )

    def _is_filled(self, relation: Relation, positions: Positions, domain: Predicate) -> bool:
        """Do the records of an input relation make these arguments members?"""
        return any(
            functor(goal) == domain and _positions(grounding, goal) == positions
            for grounding in self.program.groundings
            if grounding.entity.relation == relation
            for goal in domain_goals(grounding, {domain})
        )


def _predicate(goal: Term) -> Predicate:
    return functor(goal) if isinstance(goal, Compound) else ("", 0)


def _positions(grounding: Grounding, goal: Term) -> Positions | None:
    """The argument positions that a goal of a grounding restricts; None if it has other terms."""
    args = grounding.entity.args
    if not isinstance(goal, Compound) or not set(goal.args) <= set(args):
        return None
    return tuple(map(args.index, goal.args))


def _carriers(rule: PointRule | IntervalRule) -> list[list[Carrier]]:
    """For each way in which a rule can derive something, the literals that are true then."""
    if isinstance(rule, PointRule):
        steps = [step for step in rule.steps if isinstance(step, Scan | EventJoin | Stab)]
        return [[(literal.relation, literal.terms) for literal in literals(steps)]]
    lists = {
        step.output: (step.pair.relation, step.pair.args)
        for step in rule.steps if isinstance(step, Fetch)
    }  # fmt: skip
    return [[lists[name] for name in needed] for needed in rule.needs.alternatives]
