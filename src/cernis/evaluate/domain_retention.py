"""Whether members of growing domains can be forgotten with their records.

In a run, who was ever named by a record of some input stays a member. A session forgets members of
which the window knows nothing, where that makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from cernis.check.model import Definitions, Grounding, Relation
from cernis.evaluate.changes.affected import literals
from cernis.evaluate.members import domain_goals
from cernis.operators.intervals.bindings import alternatives
from cernis.plan.builder import Plan
from cernis.plan.growing_predicates import functors_in, growing
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
from cernis.syntax.tree import Compound, Term, Variable, functor

Predicate: TypeAlias = tuple[str, int]
Positions: TypeAlias = tuple[int, ...]
Carrier: TypeAlias = tuple[Relation, tuple[Term, ...]]
"""What happens or holds where a rule says something: a relation, and its terms."""


def are_anchored(plan: Plan) -> bool:
    """Can no rule derive anything of a member without records or intervals, before it is one again?

    It is so if growing domains only restrict heads (as groundings of a definition); and if each
    rule that begins something rests on a record, at last, which makes those members that the head
    is restricted to. A member that is forgotten, because nothing is in the window that names it, is
    so a member again before anything can be said of it.
    """
    names = growing(plan)
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
    """Follows rules down to the records that they rest on."""

    program: Definitions
    definitions: list[Definition]

    def restricted(
        self, definition: Definition, names: frozenset[str]
    ) -> Iterator[tuple[Positions | None, Predicate]]:
        """The arguments that are restricted to a growing domain; None if it is not told so."""
        for grounding in definition.groundings:
            for goal in grounding.goals:
                if not names.isdisjoint(functors_in(goal)):
                    yield _positions(grounding, goal), _predicate(goal)

    def is_member(
        self, relation: Relation, positions: Positions | None, domain: Predicate,
        above: frozenset[tuple[Relation, Positions]] = frozenset(),
    ) -> bool:  # fmt: skip
        """Are these arguments made members by the records that a relation rests on?"""
        if positions is None:
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
        """Does a rule rest on something that makes these arguments of its head members?"""
        if isinstance(rule, Delay) or (isinstance(rule, PointRule) and rule.kind == "termination"):
            # What ends or follows has begun.
            return True
        if not isinstance(rule, PointRule | IntervalRule):
            return False
        wanted = [rule.head.args[at] for at in positions]
        if Variable("_") in wanted:
            return False
        return all(
            any(
                set(wanted) <= set(terms)
                and self.is_member(relation, tuple(map(terms.index, wanted)), domain, above)
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
    """Which arguments of its entity a goal of a grounding restricts; None if others, too."""
    args = grounding.entity.args
    if not isinstance(goal, Compound) or not set(goal.args) <= set(args):
        return None
    return tuple(map(args.index, goal.args))


def _carriers(rule: PointRule | IntervalRule) -> list[list[Carrier]]:
    """For each way in which a rule can say something, what happens or holds then."""
    if isinstance(rule, PointRule):
        steps = [step for step in rule.steps if isinstance(step, Scan | EventJoin | Stab)]
        return [[(own.relation, own.terms) for own in literals(steps)]]
    lists = {
        step.output: (step.pair.relation, step.pair.args)
        for step in rule.steps if isinstance(step, Fetch)
    }  # fmt: skip
    return [[lists[name] for name in needed] for needed in alternatives(rule)]
