"""Checked program to logical plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from cernis.check.catalogue import pattern_head
from cernis.check.checker import Checked
from cernis.check.dependencies import Component
from cernis.check.model import (
    Definitions,
    DelayedEffect,
    Event,
    FluentKind,
    Pair,
    Postponable,
    Relation,
)
from cernis.errors import Diagnostic, Severity
from cernis.knowledge import Knowledge
from cernis.plan.entity_links import Linker
from cernis.plan.goal_plans import GoalPlans
from cernis.plan.held_forms import Forms
from cernis.plan.linked.linked_plans import LinkedProgram
from cernis.plan.logical import (
    Definition,
    Delay,
    Exchange,
    RulePlan,
    Stage,
    Stratum,
    parts_of,
)
from cernis.plan.measured_combinations import with_named_combinations
from cernis.plan.pattern_plans import Patterns
from cernis.plan.properties.confined_news import (
    StrataPlan,
    confines_news,
    first_points,
    keyed_strata,
)
from cernis.plan.properties.definition_diff import digests, fingerprint
from cernis.plan.properties.domain_retention import are_anchored
from cernis.plan.properties.duration_reach import duration_reach
from cernis.plan.properties.growing_predicates import domain_goals, growing
from cernis.plan.properties.key_reads import Home, Link, homes, links
from cernis.plan.properties.pattern_needs import PatternNeeds, pattern_needs
from cernis.plan.properties.relation_roles import DurationReach, Roles, roles_of
from cernis.plan.rule_planner import RulePlanner
from cernis.plan.stages import (
    RuleShape,
    StageDraft,
    component_keys,
    find_stages,
    rules_by_head,
    shapes,
)
from cernis.plan.sweep.fits import sweep_plans
from cernis.plan.sweep.lanes import Lane, ListOutput, ListProgram, SweepPlan, is_hidden
from cernis.syntax.tree import Compound

if TYPE_CHECKING:
    from cernis.plan.properties.pointwise import Sliced
    from cernis.plan.properties.routes import Routes
    from cernis.plan.properties.uncertain_relations import Uncertainties


@dataclass(frozen=True, eq=False)
class Plan:
    """How a program is evaluated: its stages, and warnings about them."""

    stages: tuple[Stage, ...]
    checked: Checked
    knowledge: Knowledge
    diagnostics: tuple[Diagnostic, ...]
    forms: Forms = field(compare=False, repr=False)
    """The forms of values as far as the program's text shows; runs add those of their input."""
    is_in_one_stage: bool = False
    """Have its stages been put together, so that nothing is exchanged between them?"""
    elsewhere: frozenset[int] = frozenset()
    """The numbers of stages that others evaluate: their results are handed over at each query."""

    def __getstate__(self) -> dict[str, object]:
        """The plan without its properties, which each process finds out when it needs them."""
        return {each.name: self.__dict__[each.name] for each in fields(self)}

    @cached_property
    def goals(self) -> GoalPlans:
        """How the goals of groundings and effects are answered."""
        return GoalPlans(self.knowledge, self.checked.modes)

    @cached_property
    def sweep(self) -> tuple[SweepPlan, ...]:
        """What of each stage is evaluated in one walk in time."""
        return sweep_plans(self.stages, self.checked, self.knowledge)

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
        return roles_of(self.stages, self.checked, self.durations)

    @cached_property
    def durations(self) -> DurationReach:
        """How far before a window's edge durations reach."""
        return duration_reach(self.stages, self.knowledge)

    @cached_property
    def pattern_needs(self) -> PatternNeeds:
        """What patterns need of the time before a window."""
        return pattern_needs(self.stages, self.roles.inputs)

    @cached_property
    def growing(self) -> frozenset[str]:
        """The names of domains that grow with the input, and of predicates that ask for them."""
        return growing(self)

    @cached_property
    def member_goals(self) -> tuple[tuple[Event | Pair, Compound], ...]:
        """Which goals say that arguments of input entities are members of growing domains."""
        definitions = self.checked.definitions
        keys = {(relation.name, relation.arity) for relation, _ in definitions.domains}
        return tuple(
            (grounding.entity, goal)
            for grounding in (definitions.groundings if keys else ())
            for goal in domain_goals(grounding, keys)
        )

    @cached_property
    def may_forget_members(self) -> bool:
        """May a session forget members of domains that nothing in the window names?"""
        return are_anchored(self)

    @cached_property
    def confines_news(self) -> bool:
        """Can news be confined to keys, as far as the rules say?"""
        return confines_news(self)

    @cached_property
    def keyed_strata(self) -> tuple[tuple[StrataPlan, ...], ...]:
        """By stage: the strata that are evaluated together for the keys that have news."""
        return keyed_strata(self)

    @cached_property
    def first_points(self) -> frozenset[Relation]:
        """The fluents of which rules ask for the first points of intervals."""
        return first_points(self.stages)

    @cached_property
    def routes(self) -> Routes:
        """Which relation goes where between the tasks of a batch on Spark."""
        from cernis.plan.properties.routes import find_routes

        return find_routes(self)

    @cached_property
    def stream_routes(self) -> Routes:
        """Which relation goes where if nobody knows which entities will be linked."""
        from cernis.plan.properties.routes import find_routes

        return find_routes(self, by_links=False)

    @cached_property
    def stage_plans(self) -> Mapping[int, Plan]:
        """By number of a stage: the plan of that stage only."""
        return {stage.number: self._only(stage) for stage in self.stages}

    def _only(self, stage: Stage) -> Plan:
        """The plan of one stage. What other stages ask of it decides whether it is swept."""
        others = frozenset(each.number for each in self.stages if each != stage)
        plan = replace(self, stages=(stage,), elsewhere=others)
        plan.__dict__["durations"] = self.durations
        plan.__dict__["sweep"] = tuple(
            own.only() for own in self.sweep if own.stage == stage.number
        )
        return plan

    @cached_property
    def slices(self) -> Mapping[int, Sliced | None]:
        """By number of a stage: its two parts for slices of time; None if it allows none."""
        from cernis.plan.properties.pointwise import sliced

        return {number: sliced(self, plan) for number, plan in self.stage_plans.items()}

    @cached_property
    def uncertainties(self) -> Uncertainties:
        """Which relations are uncertain, for each choice of uncertain input."""
        from cernis.plan.properties.uncertain_relations import Uncertainties

        return Uncertainties(self)

    @cached_property
    def over_uncertain(self) -> Plan:
        """The plan for uncertain records: lists that are combined and then measured are fluents."""
        checked = with_named_combinations(self.checked)
        if checked is self.checked:
            return self
        plan = make_plan(checked)
        return in_one_stage(plan) if self.is_in_one_stage else plan

    @cached_property
    def lanes(self) -> tuple[Lane, ...]:
        """The lanes of all stages."""
        return tuple(lane for stage in self.sweep for lane in stage.lanes)

    @property
    def has_registers(self) -> bool:
        """Do lanes hold values of fluents that may take any?"""
        return any(lane.registers for lane in self.lanes)

    @property
    def has_gates(self) -> bool:
        """Do lanes decide which records of others count, or send points to them?"""
        return any(lane.asked_gates for lane in self.lanes)

    @cached_property
    def list_programs(self) -> Mapping[int, ListProgram]:
        """By stage: the program over lists, if all keys that it is linked to are at hand."""
        stages = self.elsewhere.union(stage.stage for stage in self.sweep)
        return {
            stage.stage: program for stage in self.sweep for program in stage.lists
            if all(link.stage in stages for link in program.links)
        }  # fmt: skip

    @cached_property
    def linked(self) -> tuple[LinkedProgram, ...]:
        """What is walked over linked instances."""
        return tuple(program for stage in self.sweep for program in stage.linked)

    @cached_property
    def walked(self) -> frozenset[Relation]:
        """The definitions that are evaluated in one walk in time."""
        of_lanes = (relation for lane in self.lanes for relation in lane.definitions)
        of_lists = (r for program in self.list_programs.values() for r in program.definitions)
        of_linked = (relation for program in self.linked for relation in program.definitions)
        return frozenset((*of_lanes, *of_lists, *of_linked))

    @property
    def is_walked_whole(self) -> bool:
        """Are all definitions of the program walked, and in one place?"""
        return not self.elsewhere and all(
            definition.relation in self.walked
            for stage in self.stages for stratum in stage.strata
            for definition in stratum.definitions
        )  # fmt: skip

    @cached_property
    def input_in_lanes(self) -> frozenset[Relation]:
        """The fluents of the input that lanes read."""
        programs = (lane.inputs for lane in self.lanes if lane.inputs is not None)
        return frozenset(each.relation for program in programs for each in program.sources)

    @property
    def is_swept(self) -> bool:
        """Are all definitions walked?

        Where some are walked over linked instances, statically determined fluents may be left.
        """
        return all(
            definition.relation in self.walked
            or (self.linked and definition.kind == FluentKind.STATIC)
            for stage in self.stages
            for stratum in stage.strata
            for definition in stratum.definitions
        )

    @cached_property
    def hidden_lists(self) -> Mapping[Relation, ListOutput]:
        """The lists inside of rules that lanes decide, each with a pair that has the same key."""
        return {
            source.relation: program.outputs[-1]
            for program in self.list_programs.values()
            for source in program.sources
            if is_hidden(source.relation) and source.link is None
        }

    @cached_property
    def listed_input(self) -> frozenset[Relation]:
        """The fluents of the input that lanes and programs over lists read."""
        sources = (each for program in self.list_programs.values() for each in program.sources)
        return self.input_in_lanes | {each.relation for each in sources if each.is_input}

    @cached_property
    def walked_input(self) -> frozenset[Relation]:
        """The events and the fluents of the input that walks read."""
        of_lanes = (lane.events for lane in self.lanes)
        return self.listed_input.union(*of_lanes, *(program.events for program in self.linked))

    @cached_property
    def reads(self) -> frozenset[Relation]:
        """The relations that the rules of its strata speak of."""
        strata = tuple(stratum for stage in self.stages for stratum in stage.strata)
        return frozenset(
            part.relation for part in parts_of(strata) if isinstance(part, (Event, Pair))
        )

    def without(self, relations: frozenset[Relation]) -> Plan:
        """The plan of all definitions but those of some relations."""
        if not relations:
            return self
        if relations not in self.parts:
            self.parts[relations] = self._without(relations)
        return self.parts[relations]

    @cached_property
    def parts(self) -> dict[frozenset[Relation], Plan]:
        """By relations that are left out: the plan of the others."""
        return {}

    def _without(self, relations: frozenset[Relation]) -> Plan:
        stages = tuple(
            replace(stage, strata=tuple(_without(stage.strata, relations))) for stage in self.stages
        )
        return replace(self, stages=stages)

    @cached_property
    def definition_digests(self) -> dict[str, str]:
        """A digest of each event and fluent, by which saved states know what has changed."""
        return digests(self.checked)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the program, which changes with its rules."""
        return fingerprint(self.checked)


def in_one_stage(plan: Plan) -> Plan:
    """The plan with all strata in one stage, which has no key: one partition evaluates it."""
    strata = tuple(stratum for stage in plan.stages for stratum in stage.strata)
    return replace(plan, stages=(Stage(1, (), (), strata),), is_in_one_stage=True)


def _without(strata: Iterable[Stratum], relations: frozenset[Relation]) -> Iterator[Stratum]:
    """Strata without the definitions of some relations."""
    for stratum in strata:
        kept = tuple(each for each in stratum.definitions if each.relation not in relations)
        if kept:
            yield replace(stratum, definitions=kept)


def make_plan(checked: Checked) -> Plan:
    """Plan a program that has checked without errors."""
    knowledge = Knowledge(
        [clause for defining in checked.clauses.values() for clause in defining],
        {(relation.name, relation.arity): table for relation, table in checked.tables.items()},
        growing=[(relation.name, relation.arity) for relation, _ in checked.definitions.domains],
    )
    rules = list(shapes(checked.definitions))
    builder = _Builder(
        checked, knowledge, rules_by_head(rules),
        RulePlanner(checked, knowledge, Patterns(knowledge, checked.modes)),
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
    planner: RulePlanner
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
            rules: list[RulePlan] = [*map(self.planner.event, self.rules.events.get(relation, ()))]
            rules += map(self.planner.match, self.rules.patterns.get(relation, ()))
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
        yield from map(self.planner.initial, by_relation.initials.get(relation, ()))
        yield from map(self.planner.change, by_relation.changes.get(relation, ()))
        for static in by_relation.statics.get(relation, ()):
            if static.pair.value_name in values:
                yield self.planner.static(static)
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


def _same(one: Pair, other: Pair) -> bool:
    return (one.relation, one.value_name) == (other.relation, other.value_name)
