"""Plans of goals that stand beside rules: of groundings, delayed effects and postponements.

Each is planned when it is first asked for, since what is bound may be known only then.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from cernis.check.goal_checks import Modes
from cernis.check.model import (
    Condition,
    DelayedEffect,
    Grounding,
    Pair,
    Postponable,
    has_open_arguments,
)
from cernis.knowledge import Knowledge, Route
from cernis.plan.logical import PointOperator
from cernis.plan.rule_plans import Pipeline, entity_names
from cernis.syntax.tree import Compound, Term, Variable, functor, variables

Steps: TypeAlias = tuple[PointOperator, ...]


@dataclass(slots=True)
class GoalPlans:
    """Makes plans of goals, each once; equal goals share one."""

    knowledge: Knowledge
    modes: Modes
    _made: dict[Hashable, Steps] = field(default_factory=dict)
    _tables: dict[Hashable, frozenset[tuple[str, int]] | None] = field(default_factory=dict)

    def of_effect(self, about: DelayedEffect | Postponable) -> Steps:
        """The goals of an effect or a postponement, for instances whose arguments are known."""
        pair = about.source if isinstance(about, DelayedEffect) else about.pair
        return self._plan(("effect", pair, about.goals), about.goals, entity_names(pair))

    def of_grounding(self, grounding: Grounding) -> Steps:
        """The goals of a grounding rule, for instances whose arguments are known."""
        names = entity_names(grounding.entity)
        return self._plan(("grounding", grounding), grounding.goals, names)

    def of_instances(self, head: Pair, grounding: Grounding, bound: frozenset[str]) -> Steps:
        """The goals of a grounding rule that give a head the instances it has."""
        key = ("instances", head, grounding, bound)
        return self._plan(key, _goals_about(head, grounding), set(bound), grounding)

    def _plan(
        self, key: Hashable, goals: Sequence[Term], bound: set[str],
        origin: Grounding | None = None,
    ) -> Steps:  # fmt: skip
        if key not in self._made:
            conditions = [Condition(goal, False, (origin or goal).span) for goal in goals]
            self._made[key] = Pipeline(self.knowledge, self.modes, bound=bound).run(conditions)
        return self._made[key]

    def tables_of(self, groundings: tuple[Grounding, ...]) -> frozenset[tuple[str, int]] | None:
        """The tables that grounding rules look at; None if goals in them look further."""
        if groundings not in self._tables:
            self._tables[groundings] = self._tables_of(groundings)
        return self._tables[groundings]

    def _tables_of(self, groundings: Sequence[Grounding]) -> frozenset[tuple[str, int]] | None:
        keys = {functor(goal) for grounding in groundings for goal in grounding.goals}
        if any(name in _HOLDING_GOALS for name, _ in keys):
            return None
        for key in keys:
            predicate = self.knowledge.predicates.get(key)
            if predicate is not None and predicate.route is not Route.TABLE:
                return None
        return frozenset(keys)


_HOLDING_GOALS = frozenset(
    {"\\+", "not", ";", "->", "forall", "findall", "aggregate_all", "bagof", "setof"}
)
"""Goals that hold goals, which may look at any tables."""


def is_of_all(effect: DelayedEffect) -> bool:
    """Is an effect about all instances, with a delay that does not depend on which it is?"""
    args = effect.source.args
    names = {arg.name for arg in args if isinstance(arg, Variable) and arg.name != "_"}
    asked_names = {own.name for term in (effect.delay, *effect.goals) for own in variables(term)}
    return has_open_arguments(effect.source) and not asked_names & names


def _goals_about(head: Pair, grounding: Grounding) -> list[Term]:
    """The goals of a grounding rule about the variables of a head."""
    entity = grounding.entity
    assert isinstance(entity, Pair)
    names: dict[str, Term] = {}
    goals: list[Term] = []
    for theirs, ours in zip([*entity.args, entity.value], [*head.args, head.value], strict=True):
        if isinstance(theirs, Variable) and theirs.name not in names:
            if theirs.name != "_":
                names[theirs.name] = ours
        else:
            same = names[theirs.name] if isinstance(theirs, Variable) else theirs
            goals.append(Compound("=", (ours, same), grounding.span))
    return goals + [_renamed(goal, names) for goal in grounding.goals]


def _renamed(term: Term, names: dict[str, Term]) -> Term:
    if isinstance(term, Variable) and term.name != "_":
        # What only the grounding rule speaks of must not meet a variable of the rule.
        return names.get(term.name, Variable(f"_grounding {term.name}", term.span))
    if isinstance(term, Compound):
        return Compound(term.functor, tuple(_renamed(arg, names) for arg in term.args), term.span)
    return term
