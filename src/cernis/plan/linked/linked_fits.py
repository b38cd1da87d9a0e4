"""Which definitions can be walked over linked instances, where no single key serves.

As for lanes, the search begins with all definitions and starts again without those for which a
reason was found, until none is left to find. What a lane serves alone stays a lane.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from cernis.check.model import FluentKind, Pair, Relation
from cernis.knowledge.digraphs import DisjointSets
from cernis.plan.linked.instance_kinds import KindTable
from cernis.plan.linked.late_pairs import asks_for_edges, check_late, late_pairs, mask_of
from cernis.plan.linked.linked_plans import (
    InstanceKind,
    KindLink,
    LinkedProgram,
    LinkedRead,
    LinkedSignal,
)
from cernis.plan.linked.rule_homes import KindDraft, RuleWriter
from cernis.plan.logical import Definition, Fetch, IntervalRule, Match, PointRule, Stage
from cernis.plan.sweep.definition_rows import DefinitionRows, PointDefinition
from cernis.plan.sweep.lane_blocks import definition_blocks, in_order
from cernis.plan.sweep.lane_builder import LaneBuilder, LaneSettings, without_alone_signals
from cernis.plan.sweep.lane_rules import BodyTranslator, event_bit, pair_bit
from cernis.plan.sweep.lanes import Lane, StateKind, SweepPlan, SweepWay, Verdict
from cernis.plan.sweep.static_formulas import StaticDefinition, StaticPair
from cernis.plan.sweep.unfit import NotSweptError
from cernis.plan.sweep.unrolled import Instance, KnownInstances

if TYPE_CHECKING:
    from cernis.plan.sweep.fits import SweepSearch

_MOST_ROUNDS = 64
"""So often are instances looked for that others give rise to."""


def with_linked(
    plans: tuple[SweepPlan, ...], stages: tuple[Stage, ...], search: SweepSearch,
    only_cycles: bool = True,
) -> tuple[SweepPlan, ...]:  # fmt: skip
    """The plans of all stages, with what is walked over links in the last stage it is of.

    Where definitions are in no cycle, columns cost less than a walk over all instances together.
    """
    definitions = _candidates(stages, search)
    wanted = {
        relation for stage in stages for stratum in stage.strata for relation in stratum.relations
        if stratum.cyclic or not only_cycles
    }  # fmt: skip
    ways = {relation: way for plan in plans for relation, way in plan.ways.items()}
    if not any(ways[relation] is SweepWay.COLUMNS for relation in wanted):
        return plans
    reasons: dict[Relation, str] = {}
    while True:
        attempt = _LinkedAttempt(search, definitions)
        if attempt.run():
            break
        reasons |= attempt.reasons
        definitions = {r: each for r, each in definitions.items() if r not in attempt.reasons}
    chosen = _worth_it(attempt, wanted, ways, plans)
    if not chosen:
        return plans
    numbers = {relation: stage.number for stage in stages for stratum in stage.strata
               for relation in stratum.relations}  # fmt: skip
    return _placed(plans, attempt.program(chosen, numbers), reasons)


def _candidates(stages: tuple[Stage, ...], search: SweepSearch) -> dict[Relation, Definition]:
    """The definitions that have one kind of rules, no event patterns, and clear names."""
    definitions: dict[Relation, Definition] = {}
    doubled: set[Relation] = set()
    for definition in (
        d for stage in stages for stratum in stage.strata for d in stratum.definitions
    ):
        has_pattern = any(isinstance(rule, Match) for rule in definition.rules)
        if definition.relation in definitions or has_pattern or search.both_kinds(definition):
            doubled.add(definition.relation)
        definitions[definition.relation] = definition
    return {r: each for r, each in definitions.items() if r not in doubled}


def _placed(
    plans: tuple[SweepPlan, ...], program: LinkedProgram, reasons: Mapping[Relation, str]
) -> tuple[SweepPlan, ...]:
    """The plans without the lanes that the program makes needless, and with the program.

    What stays with columns since it reads something walked now has another reason.
    """
    walked = set(program.definitions)
    outdated = {f"reads {relation}, which stays with columns" for relation in walked}
    placed = []
    for plan in plans:
        verdicts = tuple(
            Verdict(v.relation, SweepWay.LINKED_LANE, "", v.span)
            if v.relation in walked
            else replace(v, reason=reasons.get(v.relation, v.reason))
            if v.reason in outdated
            else v
            for v in plan.verdicts
        )
        lanes = tuple(lane for lane in plan.lanes if walked.isdisjoint(lane.definitions))
        linked = (program,) if plan.stage == max(program.stages) else ()
        placed.append(replace(plan, lanes=lanes, verdicts=verdicts, linked=linked))
    return tuple(placed)


def _worth_it(
    attempt: _LinkedAttempt, wanted: Collection[Relation], ways: Mapping[Relation, SweepWay],
    plans: tuple[SweepPlan, ...],
) -> frozenset[Relation]:  # fmt: skip
    """The definitions of those parts in which something wanted would stay with columns.

    A lane is taken over as a whole, and only if no list rests on it.
    """
    definitions = attempt.definitions
    parts: DisjointSets[Relation] = DisjointSets()
    lanes = [lane.definitions for plan in plans for lane in plan.lanes]
    for together in [*attempt.joined_relations(), *lanes]:
        for relation in together[1:]:
            parts.follow(parts.find(relation), parts.find(together[0]))
    needed = {
        parts.find(relation) for relation in definitions.keys() & wanted
        if ways[relation] is SweepWay.COLUMNS
    }  # fmt: skip
    torn = {parts.find(r) for lane in lanes for r in lane if not definitions.keys() >= set(lane)}
    for each in (each for plan in plans for each in plan.lists):
        torn |= {parts.find(r) for r in (*each.definitions, *(s.relation for s in each.sources))}
    for lane in (lane for plan in plans for lane in plan.lanes):
        if lane.listed or lane.registers or lane.gates or lane.sent_gates or lane.head_members:
            torn |= set(map(parts.find, lane.definitions))
    return frozenset(relation for relation in definitions if parts.find(relation) in needed - torn)


class _LinkedAttempt:
    """One try to plan some definitions together."""

    def __init__(self, search: SweepSearch, definitions: dict[Relation, Definition]) -> None:
        self.definitions = definitions
        self.reasons: dict[Relation, str] = {}
        self._search = search
        self._inputs = search.input_events()
        self._known = KnownInstances({})
        self._lanes: dict[int, Lane] = {}
        self._late: dict[int, int] = {}
        """By kind: the state bits that are decided late."""
        self._drafts: dict[int, KindDraft] = {}
        self._table = KindTable({})
        self._order: list[int] = []
        self._translators: dict[int, BodyTranslator] = {}

    def run(self) -> bool:
        """Plan all; if it is not done, some definitions are not to be tried again."""
        steps = (self._look_at_reads, self._write_rules, self._order_kinds, self._plan_kinds)
        return all(self._is_done(step) for step in steps)

    def _is_done(self, step: Callable[[], None]) -> bool:
        step()
        return not self.reasons

    def _note(self, relation: Relation, reason: str) -> None:
        self.reasons.setdefault(relation, reason)

    def joined_relations(self) -> Iterator[list[Relation]]:
        """Definitions that must be walked together: of one kind, or of kinds that are linked."""
        for draft in self._drafts.values():
            targets = [self._drafts[target] for target, _ in draft.links]
            together = [
                r for each in (draft, *targets) for r in each.rules if r in self.definitions
            ]
            if together:
                yield together

    # -- what definitions read --------------------------------------------------------------

    def _look_at_reads(self) -> None:
        for relation, definition in self.definitions.items():
            for part in self._search.read_by(definition):
                is_known = part.relation in self.definitions or part.relation in self._inputs
                if part.relation in self.reasons or not is_known:
                    self._note(relation, f"reads {part.relation}, which stays with columns")
            for asker in self._search.asked_from(relation):
                if asker not in self.definitions:
                    self._note(relation, f"{asker} asks for its changes and stays with columns")

    # -- rules and kinds --------------------------------------------------------------------

    def _write_rules(self) -> None:
        self._table = KindTable.of(self.definitions)
        writer = RuleWriter(self._table, self._inputs, self._search.bodies)
        self._drafts = writer.drafts
        for write in (self._join, _know, _write):
            for relation, definition in self.definitions.items():
                try:
                    write(definition, writer)
                except NotSweptError as error:
                    self._note(relation, error.reason)
            if self.reasons:
                return

    def _join(self, definition: Definition, writer: RuleWriter) -> None:
        """Let relations that rules ask for with the same variables be of one kind."""
        for rule in definition.rules:
            if isinstance(rule, PointRule):
                for body in writer.bodies_of(rule):
                    self._table.join([rule.head, *writer.instance_literals(body)])
            elif isinstance(rule, IntervalRule):
                fetched: list[Pair] = [s.pair for s in rule.steps if isinstance(s, Fetch)]
                self._table.join([rule.head, *fetched])

    def _order_kinds(self) -> None:
        """Kinds so that each comes before those it has links to."""
        graph = {
            number: {other for other, each in self._drafts.items()
                     if any(target == number for target, _ in each.links)}
            for number in self._drafts
        }  # fmt: skip
        try:
            self._order = list(TopologicalSorter(graph).static_order())
        except CycleError as error:
            for number in error.args[1]:
                for relation in self._drafts[number].rules:
                    if relation in self.definitions:
                        self._note(relation, "relates instances of two kinds in both ways")

    # -- lanes ------------------------------------------------------------------------------

    def _plan_kinds(self) -> None:
        planners = {number: dict(self._planners(number)) for number in self._order}
        self._find_instances(planners)
        for number in self._order:
            if not self.reasons:
                self._plan_kind(number, planners[number])

    def _planners(
        self, number: int
    ) -> Iterator[tuple[Relation, PointDefinition | StaticDefinition]]:
        search, draft = self._search, self._drafts[number]
        translator = self._translators[number] = BodyTranslator(
            draft.keys, frozenset(draft.records), self._known, search.facts, bodies=search.bodies
        )
        for relation, rules in draft.rules.items():
            known = self.definitions.get(relation)
            if known is None:
                sent = Definition(relation, "event", (), tuple(rules))
                yield relation, PointDefinition(sent, translator, search.grounded)
                continue
            definition = replace(known, rules=tuple(rules))
            if definition.kind == FluentKind.STATIC:
                yield (
                    relation,
                    StaticDefinition(definition, translator, search.grounded, tuple(draft.keys)),
                )
            else:
                yield relation, PointDefinition(
                    definition, translator, search.grounded, search.is_asked(relation, False),
                    search.is_asked(relation, True),
                )  # fmt: skip

    def _note_all(self, number: int, relation: Relation, reason: str) -> None:
        """Note a reason; one about an event that is sent concerns what it is sent to."""
        if relation in self.definitions:
            self._note(relation, reason)
            return
        link, received = self._drafts[number].signals[relation]
        for each, rules in self._drafts[self._target_of(number, link)].rules.items():
            bodies = [b for r in rules for b in self._search.bodies.get(id(r), ())]
            if any(lit.relation == received for b in bodies for lit in b.literals):
                self._note(each, reason)

    def _find_instances(
        self, planners: Mapping[int, Mapping[Relation, PointDefinition | StaticDefinition]]
    ) -> None:
        for _ in range(_MOST_ROUNDS):
            is_new = False
            for number, of_kind in planners.items():
                for relation, planner in of_kind.items():
                    try:
                        for instance in list(planner.instances()):
                            is_new |= self._known.add(instance)
                    except NotSweptError as error:
                        self._note_all(number, relation, error.reason)
                for instance in list(self._carried(number)):
                    is_new |= self._known.add(instance)
            if self.reasons or not is_new:
                return
        raise AssertionError("instances are few and do not end")

    def _carried(self, number: int) -> Iterator[Instance]:
        """Instances under the names that they have at the other end of links."""
        draft = self._drafts[number]
        for name, (_, fluent) in draft.reads.items():
            for instance in self._known.of.get(fluent, ()):
                yield self.imported(number, name, instance)
        for sent, (_, received) in draft.signals.items():
            for instance in self._known.of.get(sent, ()):
                yield _received(instance, draft, received)

    def imported(self, number: int, name: Relation, instance: Instance) -> Instance:
        """An instance of a fluent under the name it has where it is asked for over a link."""
        size = len(self._drafts[number].keys[name])
        places = self._table.positions[instance.relation]
        others = [term for at, term in enumerate(instance.arguments) if at not in places]
        return Instance(name, (*[None] * size, *others), instance.value)

    def _plan_kind(
        self, number: int, planners: Mapping[Relation, PointDefinition | StaticDefinition]
    ) -> None:
        rows: dict[Relation, DefinitionRows] = {}
        statics: dict[Instance, StaticPair] = {}
        for relation, planner in planners.items():
            try:
                if isinstance(planner, PointDefinition):
                    rows[relation] = planner.rows()
                    _check_initials(rows[relation])
                else:
                    statics.update({pair.instance: pair for pair in self._pairs(planner)})
            except NotSweptError as error:
                self._note_all(number, relation, error.reason)
        late = late_pairs(statics, self._drafts[number].reads)
        self._check_late(late, number, any(each.initials for each in rows.values()))
        if not self.reasons:
            self._build(number, rows, statics)
        if not self.reasons:
            self._late[number] = mask_of(late, self._lanes[number])
            if asks_for_edges(self._lanes[number], self._late[number]):
                for pair in late:
                    reason = "reads other instances, and its starts or ends are asked for"
                    self._note(pair.instance.relation, reason)

    def _check_late(self, late: list[StaticPair], number: int, has_initials: bool) -> None:
        for pair in late:
            try:
                check_late(pair, self._drafts[number].reads, has_initials)
            except NotSweptError as error:
                self._note(pair.instance.relation, error.reason)

    def _pairs(self, planner: StaticDefinition) -> list[StaticPair]:
        """The formulas of a definition; words at the edge are not decided again."""
        pairs = planner.pairs()
        for pair in pairs:
            goals = [goal for grounding in pair.groundings for goal in grounding.goals]
            if pair.members is not None:
                raise NotSweptError("holds where nothing else does, for all its members", pair.span)
            if self._search.facts.grows_goals(goals):
                raise NotSweptError("has groundings by a domain that grows", pair.span)
        return pairs

    def _build(
        self, number: int, rows: dict[Relation, DefinitionRows],
        statics: dict[Instance, StaticPair],
    ) -> None:  # fmt: skip
        draft, translator = self._drafts[number], self._translators[number]
        blocks = without_alone_signals(list(definition_blocks(rows, statics, translator)))
        ordered, cyclic = in_order(blocks)
        for relation in {block.relation for block in cyclic if block.relation is not None}:
            self._note_all(
                number, relation, "decides a point by what it decides at that very point"
            )
        if self.reasons:
            return
        groundings = {pair.instance.relation: pair.groundings for pair in statics.values()}
        shared = self._search.program_settings()
        names = tuple(f"{draft.home} {place}" for place in draft.positions)
        builder = LaneBuilder(
            LaneSettings(names, draft.keys, shared.ties, shared.tick), rows, groundings
        )
        for relation in builder.too_much(ordered):
            self._note_all(number, relation, "needs more bits than a word has")
        if not self.reasons:
            self._lanes[number] = builder.lane(ordered)

    # -- the program ------------------------------------------------------------------------

    def program(self, chosen: Iterable[Relation], stages: Mapping[Relation, int]) -> LinkedProgram:
        """The program of some of the definitions, which read no others."""
        wanted = set(chosen)
        kinds = [number for number in self._order if self._is_wanted(number, wanted)]
        places = {number: place for place, number in enumerate(kinds)}
        return LinkedProgram(
            tuple(self._kind(number, places) for number in kinds),
            tuple(sorted({stages[relation] for relation in wanted})),
        )

    def _is_wanted(self, number: int, wanted: set[Relation]) -> bool:
        """Is a kind that of something wanted, or linked to it?"""
        draft = self._drafts[number]
        near = [draft, *(self._drafts[target] for target, _ in draft.links)]
        return any(not wanted.isdisjoint(each.rules) for each in near)

    def _kind(self, number: int, places: Mapping[int, int]) -> InstanceKind:
        draft, lane = self._drafts[number], self._lanes[number]
        links = tuple(KindLink(places[target], at) for target, at in draft.links)
        records = tuple((name, draft.records[name]) for name in lane.events)
        return InstanceKind(
            self._own_lane(lane, draft), draft.home, draft.positions, records,
            links, tuple(self._reads(number)), tuple(self._signals(number)), self._late[number],
        )  # fmt: skip

    def _own_lane(self, lane: Lane, draft: KindDraft) -> Lane:
        """A lane that reports what the program defines, and nothing else."""
        defined = self.definitions
        return replace(
            lane,
            definitions=tuple(r for r in draft.rules if r in defined),
            reported=sum(
                1 << at for at, bit in enumerate(lane.state)
                if bit.kind is StateKind.PAIR and bit.relation in defined
            ),
            reported_signals=sum(
                1 << at for at, bit in enumerate(lane.fired)
                if bit.word == "event" and bit.relation in defined
            ),
        )  # fmt: skip

    def _target_of(self, number: int, link: int) -> int:
        return list(self._drafts[number].links)[link][0]

    def _reads(self, number: int) -> Iterator[LinkedRead]:
        state = {bit: at for at, bit in enumerate(self._lanes[number].state)}
        for name, (link, fluent) in self._drafts[number].reads.items():
            others = {
                b: at for at, b in enumerate(self._lanes[self._target_of(number, link)].state)
            }
            for instance in self._known.of.get(fluent, ()):
                bit = state.get(pair_bit(self.imported(number, name, instance)))
                if bit is not None:
                    yield LinkedRead(bit, link, others[pair_bit(instance)])

    def _signals(self, number: int) -> Iterator[LinkedSignal]:
        fired = {bit: at for at, bit in enumerate(self._lanes[number].fired)}
        draft = self._drafts[number]
        for sent, (link, received) in draft.signals.items():
            others = {
                b: at for at, b in enumerate(self._lanes[self._target_of(number, link)].fired)
            }
            for instance in self._known.of.get(sent, ()):
                bit = fired.get(event_bit(instance))
                target = others.get(event_bit(_received(instance, draft, received)))
                if bit is not None and target is not None:
                    yield LinkedSignal(bit, link, target)


def _know(definition: Definition, writer: RuleWriter) -> None:
    writer.know(definition.relation)


def _write(definition: Definition, writer: RuleWriter) -> None:
    writer.write(definition)


def _received(instance: Instance, draft: KindDraft, received: Relation) -> Instance:
    """An event that is sent, under the name it has where it comes in."""
    size = len(draft.keys[instance.relation])
    count = received.arity - (instance.relation.arity - size)
    return Instance(received, (*[None] * count, *instance.arguments[size:]))


def _check_initials(rows: DefinitionRows) -> None:
    """What holds initially is asked once, when instances are first met."""
    for _, initial in rows.initials:
        if initial.grows:
            raise NotSweptError(
                "holds initially for members of a domain that grows", initial.rule.span
            )
