"""The values that groundings allow for the arguments and the value of a fluent, where few."""

from __future__ import annotations

from collections.abc import Sequence

from cernis.check.goal_checks import Modes
from cernis.check.model import Condition, Grounding, Pair
from cernis.knowledge import Knowledge
from cernis.knowledge.ground_values import canonical, is_ground
from cernis.plan.rule_plans import Pipeline
from cernis.plan.sweep.fact_values import KnownFacts
from cernis.plan.sweep.lanes import Steps
from cernis.plan.sweep.rule_bodies import names_of, with_constants
from cernis.plan.sweep.unfit import NotSweptError
from cernis.syntax.tree import Term, Variable

GROWING_GROUNDINGS = "has groundings of a value that may be any by a domain that grows"


class GroundedValues:
    """Asks the groundings of a program for values, without asking for whole instances."""

    def __init__(self, knowledge: Knowledge, modes: Modes, facts: KnownFacts) -> None:
        self._knowledge, self._modes, self._facts = knowledge, modes, facts
        self._known: dict[tuple[int, int], frozenset[Term] | None] = {}
        """By place and identity of a grounding."""

    def of(self, head: Pair, groundings: Sequence[Grounding]) -> dict[str, frozenset[Term]]:
        """For variables of a head: the values that its groundings allow, if they say."""
        allowed = {}
        for place, term in enumerate((*head.args, head.value)):
            if isinstance(term, Variable) and term.name != "_":
                values = self._at(place, groundings)
                if values is not None:
                    allowed[term.name] = values
        return allowed

    def conditions(self, head: Pair, grounding: Grounding) -> tuple[list[Steps], Steps]:
        """What a grounding asks of the instances of a head: the steps of each goal, and of all.

        The variables of the head are bound. Goals that have variables of their own are not apart.
        """
        entity = grounding.entity
        assert isinstance(entity, Pair)
        terms: dict[str, Term] = {}
        for term, wanted in zip(
            (*entity.args, entity.value), (*head.args, head.value), strict=True
        ):
            is_named = isinstance(term, Variable) and term.name != "_"
            if not is_named or terms.setdefault(term.name, wanted) != wanted:  # type: ignore[union-attr]
                raise NotSweptError("has groundings of some instances by name", grounding.span)
        bound = names_of(terms.values())
        inner = {
            name: Variable(f"{name} there") for name in names_of(grounding.goals) - terms.keys()
        }
        goals = [with_constants(goal, {**terms, **inner}) for goal in grounding.goals]
        if self._facts.grows_goals(goals):
            raise NotSweptError(GROWING_GROUNDINGS, grounding.span)
        together = self._steps(goals, bound)
        apart = [self._steps([goal], bound) for goal in goals] if not inner else [together]
        return apart, together

    def _steps(self, goals: Sequence[Term], bound: set[str]) -> Steps:
        literals = [Condition(goal, False, goal.span) for goal in goals]
        return Pipeline(self._knowledge, self._modes, set(bound)).run(literals)

    def _at(self, place: int, groundings: Sequence[Grounding]) -> frozenset[Term] | None:
        if not groundings:
            return None
        values: frozenset[Term] = frozenset()
        for grounding in groundings:
            question = (place, id(grounding))
            if question not in self._known:
                self._known[question] = self._of_one(place, grounding)
            more = self._known[question]
            if more is None:
                return None
            values |= more
        return values

    def _of_one(self, place: int, grounding: Grounding) -> frozenset[Term] | None:
        entity = grounding.entity
        assert isinstance(entity, Pair)
        term = (*entity.args, entity.value)[place]
        if is_ground(term):
            return frozenset([canonical(term)])
        if not isinstance(term, Variable) or term.name == "_":
            return None
        return self._facts.values(term.name, self._steps(grounding.goals, set()))
