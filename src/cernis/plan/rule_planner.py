"""Checked rules to planned ones: the steps of each, in the order in which they can run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cernis.check.catalogue import pattern_head
from cernis.check.checker import Checked
from cernis.check.goal_checks import named
from cernis.check.model import (
    ChangeRule,
    Condition,
    EventRule,
    HoldsFor,
    InitialRule,
    IntervalOperation,
    NotEmpty,
    Pair,
    StaticRule,
    goals_of,
)
from cernis.check.pattern_checks import consumption_of
from cernis.knowledge import Knowledge
from cernis.plan.logical import (
    Combine,
    Fetch,
    InitialPoints,
    IntervalOperator,
    IntervalRule,
    Match,
    PointRule,
    Require,
)
from cernis.plan.pattern_plans import Patterns
from cernis.plan.rule_plans import Pipeline, entity_names, literals_of
from cernis.syntax.tree import PatternRule, Term, Variable, variables

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class RulePlanner:
    """Plans the rules of a program, one by one."""

    checked: Checked
    knowledge: Knowledge
    patterns: Patterns

    def _pipeline(self, taken: set[str], time: str = "") -> Pipeline:
        return Pipeline(self.knowledge, self.checked.modes, taken=set(taken), time=time)

    def change(self, rule: ChangeRule) -> PointRule:
        """An initiation or a termination."""
        pipeline = self._pipeline(entity_names(rule.pair), rule.time)
        steps = pipeline.run(rule.body)
        unbound = tuple(sorted(entity_names(rule.pair) - pipeline.bound))
        kind = "initiation" if rule.initiates else "termination"
        return PointRule(kind, rule.pair, steps, unbound, rule.span)

    def event(self, rule: EventRule) -> PointRule:
        """A rule that defines an event."""
        steps = self._pipeline(entity_names(rule.event), rule.time).run(rule.body)
        return PointRule("event", rule.event, steps, (), rule.span)

    def match(self, rule: PatternRule) -> Match:
        """A pattern that defines an event."""
        consumption = consumption_of(rule, self.checked.definitions)
        part = self.patterns.plan(rule.pattern, consumption)
        return Match(pattern_head(rule), part, str(consumption), rule.span)

    def initial(self, rule: InitialRule) -> InitialPoints:
        """A pair that holds from the start."""
        goals = [literal for goal in rule.goals for literal in literals_of(goal, goal.span)]
        pipeline = self._pipeline(entity_names(rule.pair))
        return InitialPoints(rule.pair, pipeline.run(goals), rule.span, rule.probability)

    def static(self, rule: StaticRule) -> IntervalRule:
        """Lists of intervals keep the author's order; conditions come as soon as they can run."""
        alone = _alone(rule)
        pipeline = self._pipeline(_static_names(rule))
        steps: list[IntervalOperator] = []
        waiting = [goal for goal in rule.body if isinstance(goal, Condition)]
        for literal in rule.body:
            if isinstance(literal, HoldsFor):
                pair = _open_where_alone(literal.pair, alone)
                steps.append(Fetch(pair, literal.intervals, literal.span))
                pipeline.bound |= entity_names(literal.pair)
            elif isinstance(literal, IntervalOperation):
                if _names_of(literal) - pipeline.bound:
                    waiting = self._conditions(waiting, pipeline, steps, everything=True)
                steps.append(self._combine(literal, pipeline.bound))
            elif isinstance(literal, NotEmpty):
                steps.append(Require(literal.intervals, literal.span, literal.negated))
            waiting = self._conditions(waiting, pipeline, steps, everything=False)
        self._conditions(waiting, pipeline, steps, everything=True)
        unbound = tuple(sorted(entity_names(rule.pair) - pipeline.bound))
        return IntervalRule(rule.pair, tuple(steps), rule.output, unbound, rule.span)

    def _combine(self, literal: IntervalOperation, bound: set[str]) -> Combine:
        picks = literal.filter
        if picks is None:
            return Combine(
                literal.operator, literal.inputs, literal.parameters, literal.output, literal.span
            )
        outside = sorted(named(picks.goals) & bound)
        inside = Pipeline(self.knowledge, self.checked.modes, bound={*outside, *picks.bounds})
        steps = inside.run(picks.conditions)
        return Combine(
            literal.operator, literal.inputs, tuple(map(Variable, outside)), literal.output,
            literal.span, (picks.start, picks.end), steps,
        )  # fmt: skip

    def _conditions(
        self, waiting: list[Condition], pipeline: Pipeline, steps: list[IntervalOperator],
        everything: bool,
    ) -> list[Condition]:  # fmt: skip
        """Plan the conditions that share a bound variable; or all that are left."""
        ready = [goal for goal in waiting if everything or _is_ready(goal, pipeline.bound)]
        if ready:
            before = len(pipeline.steps)
            pipeline.run(ready)
            steps.extend(pipeline.steps[before:])  # type: ignore[arg-type]
        return [goal for goal in waiting if goal not in ready]


def _alone(rule: StaticRule) -> set[str]:
    """The variables that occur once in a rule over intervals."""
    terms: list[Term] = [*rule.pair.args, rule.pair.value]
    for literal in rule.body:
        if isinstance(literal, HoldsFor):
            terms += [*literal.pair.args, literal.pair.value]
        elif isinstance(literal, Condition):
            terms.append(literal.goal)
        elif isinstance(literal, IntervalOperation):
            terms += [*literal.parameters, *goals_of(literal)]
    counts = Counter(variable.name for term in terms for variable in variables(term))
    return {name for name, count in counts.items() if count == 1}


def _open_where_alone(pair: Pair, alone: set[str]) -> Pair:
    """The pair with such variables left open: it holds where it does with any value for them."""
    args = [_ANY if named([arg]) & alone else arg for arg in (*pair.args, pair.value)]
    return replace(pair, args=tuple(args[:-1]), value=args[-1])


_ANY = Variable("_")


def _static_names(rule: StaticRule) -> set[str]:
    """All named variables of a rule over intervals."""
    names = entity_names(rule.pair)
    for literal in rule.body:
        if isinstance(literal, HoldsFor):
            names |= entity_names(literal.pair)
        elif isinstance(literal, Condition):
            names |= named([literal.goal])
        elif isinstance(literal, IntervalOperation):
            names |= _names_of(literal)
    return names


def _names_of(literal: IntervalOperation) -> set[str]:
    """The variables of an operation on intervals that stand for no list."""
    names = named((*literal.parameters, *goals_of(literal)))
    return names - literal.filter.bounds if literal.filter is not None else names


def _is_ready(goal: Condition, bound: set[str]) -> bool:
    names = {name for name in named([goal.goal]) if not name.startswith("_")}
    return bool(names) and names <= bound
