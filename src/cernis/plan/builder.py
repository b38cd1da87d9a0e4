"""Checked program to logical plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from cernis.check.catalogue import pattern_head
from cernis.check.checker import Checked
from cernis.check.dependencies import Component
from cernis.check.goal_checks import named
from cernis.check.model import (
    ChangeRule,
    Condition,
    Definitions,
    DelayedEffect,
    EventRule,
    FluentKind,
    HoldsFor,
    InitialRule,
    IntervalOperation,
    NotEmpty,
    Pair,
    Postponable,
    Relation,
    StaticRule,
    goals_of,
)
from cernis.check.pattern_checks import consumption_of
from cernis.errors import Diagnostic, Severity
from cernis.knowledge import Knowledge
from cernis.plan.derived import Derived
from cernis.plan.entity_links import Linker
from cernis.plan.held_forms import Forms
from cernis.plan.key_reads import Home, Link, homes, links
from cernis.plan.logical import (
    Combine,
    Definition,
    Delay,
    Exchange,
    Fetch,
    InitialPoints,
    IntervalOperator,
    IntervalRule,
    Match,
    PointRule,
    Require,
    RulePlan,
    Stage,
    Stratum,
)
from cernis.plan.pattern_plans import Patterns
from cernis.plan.relation_roles import Roles, roles_of
from cernis.plan.rule_plans import Pipeline, entity_names, literals_of
from cernis.plan.stages import (
    RuleShape,
    StageDraft,
    component_keys,
    find_stages,
    rules_by_head,
    shapes,
)
from cernis.syntax.tree import PatternRule, Term, Variable, variables


@dataclass(frozen=True, eq=False)
class Plan:
    """How a program is evaluated: its stages, and warnings about them."""

    stages: tuple[Stage, ...]
    checked: Checked
    knowledge: Knowledge
    diagnostics: tuple[Diagnostic, ...]
    forms: Forms = field(compare=False, repr=False)
    """The forms of values as far as the program's text shows; runs add those of their input."""

    def __getstate__(self) -> dict[str, object]:
        """All but what goes by the identity of parts, which others have in another process."""
        return {name: own for name, own in self.__dict__.items() if name != "derived"}

    @cached_property
    def derived(self) -> Derived:
        """What is worked out about parts of the plan when it is first asked for."""
        return Derived()

    @cached_property
    def links(self) -> Mapping[Relation, tuple[Link, ...]]:
        """By definition: the relations that it reads, and how they carry the key of its stage."""
        return links(self.checked, self.stages)

    @cached_property
    def homes(self) -> Mapping[Relation, Home]:
        """By relation: which arguments of it are the key of which stage."""
        return homes(self.stages, dict(self.links))

    @cached_property
    def roles(self) -> Roles:
        """What the rules do with the relations of the program."""
        return roles_of(self.stages, self.checked.definitions)


def make_plan(checked: Checked) -> Plan:
    """Plan a program that has checked without errors."""
    knowledge = Knowledge(
        [clause for defining in checked.clauses.values() for clause in defining],
        {(relation.name, relation.arity): table for relation, table in checked.tables.items()},
        growing=[(relation.name, relation.arity) for relation, _ in checked.definitions.domains],
    )
    rules = list(shapes(checked.definitions))
    builder = _Builder(
        checked, knowledge, rules_by_head(rules), Patterns(knowledge, checked.modes),
        _Rules(checked.definitions),
    )  # fmt: skip
    drafts, without = find_stages(checked.dependencies.components, rules, Linker(checked))
    stages = tuple(builder.stage(number, draft) for number, draft in enumerate(drafts, 1))
    warnings = tuple(builder.no_key(component) for component in without)
    return Plan(stages, checked, knowledge, warnings, Forms(checked.types, stages))


AnyRule = TypeVar("AnyRule")


class _Rules:
    """The rules of a program by the relation that they define, in the order of the text."""

    def __init__(self, definitions: Definitions) -> None:
        self.changes = _by(definitions.changes, lambda rule: rule.pair.relation)
        self.events = _by(definitions.events, lambda rule: rule.event.relation)
        self.statics = _by(definitions.statics, lambda rule: rule.pair.relation)
        self.initials = _by(definitions.initials, lambda rule: rule.pair.relation)
        self.effects = _by(definitions.effects, lambda rule: rule.source.relation)
        self.postponables = _by(definitions.postponables, lambda rule: rule.pair.relation)
        self.patterns = _by(definitions.patterns, lambda rule: pattern_head(rule).relation)
        of_fluents = [each for each in definitions.groundings if isinstance(each.entity, Pair)]
        self.groundings = _by(of_fluents, lambda each: each.entity.relation)


def _by(
    rules: Iterable[AnyRule], key: Callable[[AnyRule], Relation]
) -> dict[Relation, list[AnyRule]]:
    by_relation: dict[Relation, list[AnyRule]] = {}
    for rule in rules:
        by_relation.setdefault(key(rule), []).append(rule)
    return by_relation


@dataclass(slots=True)
class _Builder:
    """Turns components into strata of planned rules."""

    checked: Checked
    knowledge: Knowledge
    by_head: Mapping[Relation, list[RuleShape]]
    patterns: Patterns
    rules: _Rules

    # -- stages and strata ------------------------------------------------------------------

    def stage(self, number: int, draft: StageDraft) -> Stage:
        strata = tuple(self._stratum(component) for component in draft.components)
        keys = tuple(draft.keys.items())
        exchanges = tuple(self._exchanges(draft))
        linked_by = None if draft.links is None else tuple(map(str, draft.links.sources))
        return Stage(number, draft.key, exchanges, strata, keys, linked_by)

    def _exchanges(self, draft: StageDraft) -> Iterable[Exchange]:
        """What the stage reads: its inputs by their keys, then what earlier stages found."""
        defined_here = {
            vertex.relation for component in draft.components for vertex in component.vertices
        }
        derived = {vertex.relation for vertex in self.checked.dependencies.vertices}
        keys = draft.keys if draft.links is None else draft.links.positions
        read = {relation: key for relation, key in keys.items() if relation not in defined_here}
        for relation, key in {**read, **draft.needed}.items():
            names = self._argument_names(relation)
            demanded = draft.demands.get(relation)
            yield Exchange(
                str(relation),
                "earlier stage" if relation in derived else "input",
                tuple(names[position] for position in key),
                str(demanded) if demanded else "",
            )

    def _argument_names(self, relation: Relation) -> tuple[str, ...]:
        catalogue = self.checked.catalogue
        if relation in catalogue.events:
            return catalogue.events[relation].argument_names
        return catalogue.fluents[relation].argument_names

    def no_key(self, component: Component) -> Diagnostic:
        names = ", ".join(dict.fromkeys(str(vertex.relation) for vertex in component.vertices))
        relation = component.vertices[0].relation
        by_relation = self.rules
        rules = [
            rule.span
            for kind in (
                by_relation.changes,
                by_relation.statics,
                by_relation.events,
                by_relation.patterns,
            )
            for rule in kind.get(relation, ())
        ]
        return Diagnostic(
            "C070", Severity.WARNING, f"no partition key fits {names}: all of it is evaluated in "
            "one partition", rules[0] if rules else (-1, -1),
            help="let the literals of its rules share a variable with the head",
        )  # fmt: skip

    def _stratum(self, component: Component) -> Stratum:
        relations = dict.fromkeys(vertex.relation for vertex in component.vertices)
        definitions = tuple(self._definition(relation, component) for relation in relations)
        order = tuple(str(vertex) for vertex in component.vertices)
        keys = component_keys(component, self.by_head) if component.immediate else {}
        return Stratum(
            component.level, component.cyclic, component.immediate, component.delayed, order,
            definitions, tuple(keys.items()),
        )  # fmt: skip

    def _definition(self, relation: Relation, component: Component) -> Definition:
        is_event = any(v.value is None for v in component.vertices if v.relation == relation)
        if is_event:
            rules: list[RulePlan] = [*map(self._event, self.rules.events.get(relation, ()))]
            rules += map(self._match, self.rules.patterns.get(relation, ()))
            return Definition(relation, "event", (), tuple(rules))
        values = {v.value for v in component.vertices if v.relation == relation}
        fluent = self.checked.catalogue.fluents[relation]
        rules = [*self._fluent_rules(relation, values)]
        groundings = tuple(self.rules.groundings.get(relation, ()))
        shown = tuple(value for value in fluent.values if value in values)
        ending = self.checked.definitions.ending_values.get(relation)
        return Definition(relation, str(fluent.kind), shown, tuple(rules), groundings, ending)

    def _fluent_rules(self, relation: Relation, values: set[str | None]) -> Iterable[RulePlan]:
        by_relation = self.rules
        kind = self.checked.catalogue.fluents[relation].kind
        yield from map(self._initial, by_relation.initials.get(relation, ()))
        yield from map(self._change, by_relation.changes.get(relation, ()))
        for static in by_relation.statics.get(relation, ()):
            if static.pair.value_name in values:
                yield self._static(static)
        if kind is FluentKind.SIMPLE:
            for effect in by_relation.effects.get(relation, ()):
                initials = by_relation.initials.get(relation, ())
                follows = all(initial.starts_effects for initial in initials)
                yield Delay(effect, tuple(self._moved_by(effect)), effect.span, follows)

    def _moved_by(self, effect: DelayedEffect) -> Iterator[Postponable]:
        """For which instances a further initiation moves an effect."""
        relation = effect.source.relation
        others = self.rules.effects.get(relation, ())
        alone = sum(_same(other.source, effect.source) for other in others) == 1
        for each in self.rules.postponables.get(relation, ()):
            if not _same(each.pair, effect.source):
                continue
            if alone and (each.pair, each.goals) == (effect.source, effect.goals):
                # Where the goals have no answer there is no effect to move.
                each = replace(each, goals=())
            yield each

    # -- rules ------------------------------------------------------------------------------

    def _pipeline(self, taken: set[str], time: str = "") -> Pipeline:
        return Pipeline(self.knowledge, self.checked.modes, taken=set(taken), time=time)

    def _change(self, rule: ChangeRule) -> PointRule:
        pipeline = self._pipeline(entity_names(rule.pair), rule.time)
        steps = pipeline.run(rule.body)
        unbound = tuple(sorted(entity_names(rule.pair) - pipeline.bound))
        kind = "initiation" if rule.initiates else "termination"
        return PointRule(kind, rule.pair, steps, unbound, rule.span)

    def _event(self, rule: EventRule) -> PointRule:
        steps = self._pipeline(entity_names(rule.event), rule.time).run(rule.body)
        return PointRule("event", rule.event, steps, (), rule.span)

    def _match(self, rule: PatternRule) -> Match:
        consumption = consumption_of(rule, self.checked.definitions)
        part = self.patterns.plan(rule.pattern, consumption)
        return Match(pattern_head(rule), part, str(consumption), rule.span)

    def _initial(self, rule: InitialRule) -> InitialPoints:
        goals = [literal for goal in rule.goals for literal in literals_of(goal, goal.span)]
        pipeline = self._pipeline(entity_names(rule.pair))
        return InitialPoints(rule.pair, pipeline.run(goals), rule.span, rule.probability)

    def _static(self, rule: StaticRule) -> IntervalRule:
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


def _same(one: Pair, other: Pair) -> bool:
    return (one.relation, one.value_name) == (other.relation, other.value_name)


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
