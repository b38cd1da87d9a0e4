"""Which definitions of a stage fit the sweep: lanes, lists, and the reasons why others do not.

A definition goes with the sweep only if all that it reads does, or is input. So the search begins
with all definitions of a stage, and starts again without those for which a reason was found, until
none is left to find.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from cernis.check.checker import Checked
from cernis.check.model import Changes, Event, FluentKind, Pair, ProgramSettings, Relation
from cernis.knowledge import Knowledge
from cernis.knowledge.ground_values import canonical, is_ground
from cernis.plan.linked.linked_fits import with_linked
from cernis.plan.logical import Definition, Match, Stage, parts_of
from cernis.plan.sweep.definition_rows import DefinitionRows, PointDefinition, span_of
from cernis.plan.sweep.fact_values import KnownFacts
from cernis.plan.sweep.finer_keys import finer_stages
from cernis.plan.sweep.gated_lanes import add_gated_lanes
from cernis.plan.sweep.grounded_values import GroundedValues
from cernis.plan.sweep.lane_blocks import definition_blocks, in_order
from cernis.plan.sweep.lane_builder import (
    LaneBuilder,
    LaneSettings,
    parts_apart,
    without_alone_signals,
)
from cernis.plan.sweep.lane_inputs import (
    check_joined,
    input_blocks,
    input_instances,
    without_unread,
)
from cernis.plan.sweep.lane_rules import BodyTranslator, pair_bit
from cernis.plan.sweep.lanes import (
    Lane,
    ListProgram,
    StateBit,
    SweepPlan,
    SweepWay,
    Verdict,
    is_gate,
    is_hidden,
)
from cernis.plan.sweep.list_programs import ListPlanner, Readable, ReadableRelation
from cernis.plan.sweep.members.head_members import with_members
from cernis.plan.sweep.members.sent_points import SentPoints
from cernis.plan.sweep.rule_bodies import ConjunctiveBody
from cernis.plan.sweep.static_formulas import StaticDefinition, StaticPair
from cernis.plan.sweep.unfit import (
    FamilyError,
    NotCausalError,
    NotSweptError,
    OpenValueError,
)
from cernis.plan.sweep.unrolled import Instance, KnownInstances
from cernis.source import NOWHERE, Span
from cernis.syntax.tree import Term

_MOST_PARTS = 4
"""So many keys may the lanes of a stage have."""

_MOST_ROUNDS = 64
"""So often are instances looked for that others give rise to."""


def sweep_plans(
    stages: tuple[Stage, ...], checked: Checked, knowledge: Knowledge
) -> tuple[SweepPlan, ...]:
    """What of each stage goes with the sweep."""
    search = SweepSearch(stages, checked, knowledge)
    parts = [search.parts(stage) for stage in stages]
    gated = add_gated_lanes(search, stages, parts)
    plans = tuple(_joined_plan([part.plan for part in each], gated) for each in parts)
    return with_linked(plans, stages, search)


@dataclass(frozen=True, slots=True)
class _Reason:
    """Why a definition stays with columns, and where that is written."""

    text: str
    span: Span
    needs_family: bool = False
    """Has it an argument beside the key that takes any value?"""


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """What of a stage goes with the sweep, by some key."""

    stage: Stage
    plan: SweepPlan
    instances: dict[Relation, dict[Instance, None]]
    families: tuple[Relation, ...]
    """The definitions that stay with columns since they need families."""
    walked_before: frozenset[Relation]
    """What is walked by keys that were decided on before."""

    @property
    def count(self) -> int:
        """How many definitions go with the sweep."""
        return len(self.plan.swept)


class SweepSearch:
    """Plans the stages of a program, each for itself."""

    def __init__(self, stages: tuple[Stage, ...], checked: Checked, knowledge: Knowledge) -> None:
        self._checked = checked
        self._facts = KnownFacts(knowledge)
        self._grounded = GroundedValues(knowledge, checked.modes, self._facts)
        self._defined = {
            relation: stage.number for stage in stages for stratum in stage.strata
            for relation in stratum.relations
        }  # fmt: skip
        self._keyed = frozenset(relation for stage in stages for relation, _ in stage.keys)
        self._asking = _asking(stages)
        self._named = _named_values(stages)
        self.bodies: dict[int, list[ConjunctiveBody]] = {}
        """By the identity of a rule: what it is written out to."""
        self._reads: dict[int, list[Pair | Event]] = {}
        """By the identity of a definition."""
        self.definitions = {
            definition.relation: definition for stage in stages for stratum in stage.strata
            for definition in stratum.definitions
        }  # fmt: skip
        self.copies: dict[Relation, Relation] = {}
        """By copy: the fluent of another lane that it is of."""
        self.sent: dict[Relation, SentPoints] = {}
        """What records are points that another lane sends."""
        self.kept: list[object] = []
        """Rules and stages that were written while planning: what is known goes by identity."""
        self._walked: set[Relation] = set()
        """What is walked by keys that were decided on before."""
        self._swept: dict[Relation, tuple[Stage, dict[Instance, None]]] = {}
        """What earlier stages have in the sweep, with its instances."""

    def plan(self, stage: Stage) -> SweepPlan:
        """What of a stage goes with the sweep by itself."""
        return _joined_plan([part.plan for part in self.parts(stage)], frozenset())

    def parts(self, stage: Stage) -> list[PlannedStage]:
        """What of a stage goes with the sweep, by its key or by a longer one if that is more.

        Definitions that are left and read nothing of this may have another key. Lists are of the
        first key only, and so is what lists of later stages are linked to.
        """
        first = self._best(stage)
        self._swept |= {
            relation: (first.stage, instances) for relation, instances in first.instances.items()
        }
        parts = [first]
        while stage.key and len(parts) < _MOST_PARTS and parts[-1].plan.swept:
            self._walked |= parts[-1].plan.swept
            if all(relation in self._walked for relation in first.plan.ways):
                break
            parts.append(self._best(stage))
        return parts

    def planned_apart(self, stage: Stage, walked: Collection[Relation]) -> PlannedStage:
        """What of a stage goes with the sweep by the key that it has, and not by longer ones.

        Some relations, perhaps of this stage, are walked by other keys already.
        """
        known, self._walked = self._walked, set(walked)
        self._keyed |= dict(stage.keys).keys()
        planned = self._planned(stage)
        self._walked = known
        return planned

    def _best(self, stage: Stage) -> PlannedStage:
        """The plan with the key by which most definitions are walked that are not so far."""
        best = first = self._planned(stage)
        for finer in finer_stages(stage, first.families):
            best = max(best, self._planned(finer), key=lambda each: each.count)
        return best

    def _planned(self, stage: Stage) -> PlannedStage:
        """What of a stage goes with the sweep, by the key that it has."""
        definitions = [d for stratum in stage.strata for d in stratum.definitions]
        distinct: dict[Relation, list[Definition]] = {}
        for definition in definitions:
            distinct.setdefault(definition.relation, []).append(definition)
        reasons = dict(self._unfit_at_once(stage, distinct))
        lists: set[Relation] = set()
        registers: set[Relation] = set()
        members: set[Relation] = set()
        while True:
            candidates = {r: parts for r, parts in distinct.items() if r not in reasons}
            attempt = _Attempt(
                self, stage, candidates, frozenset(lists & candidates.keys()),
                frozenset(registers & candidates.keys()), frozenset(members),
                self._walked.isdisjoint(distinct),
            )  # fmt: skip
            if attempt.run():
                break
            if not attempt.new_registers:  # else what reads them may have had no other reason
                reasons.update(attempt.reasons)
            lists |= attempt.new_lists
            registers |= attempt.new_registers
            members |= attempt.new_members
        known = attempt.known.of
        ways = _ways(attempt)
        verdicts = [
            _verdict(parts[0], reasons, ways, relation in registers)
            for relation, parts in distinct.items()
        ]
        return PlannedStage(
            stage,
            SweepPlan(stage.number, tuple(attempt.lanes), tuple(attempt.lists), tuple(verdicts)),
            {relation: known[relation] for relation in candidates if relation in known},
            tuple(relation for relation, reason in reasons.items() if reason.needs_family),
            frozenset(self._walked),
        )

    def _unfit_at_once(
        self, stage: Stage, definitions: Mapping[Relation, list[Definition]]
    ) -> Iterator[tuple[Relation, _Reason]]:
        keys = dict(stage.keys)
        for relation, parts in definitions.items():
            span = span_of(parts[0])
            if relation in self._walked:
                yield relation, _Reason("is walked by another key", span)
            elif stage.linked_by is not None:
                yield relation, _Reason("has no key: what it reads meets over links", span)
            elif any(isinstance(rule, Match) for part in parts for rule in part.rules):
                yield relation, _Reason("is an event pattern", span)
            elif both := [each for part in parts for each in self.both_kinds(part)]:
                yield relation, _Reason(f"has to do with {both[0]}, an event and a fluent", span)
            elif relation not in self._keyed or not _is_one(parts):
                yield relation, _Reason("has values of several kinds", span)
            elif relation not in keys:
                named = " and ".join(stage.key)
                yield relation, _Reason(f"has not both {named}, by which others are walked", span)

    # -- what an attempt asks ---------------------------------------------------------------

    def records(self, keys: Mapping[Relation, tuple[int, ...]]) -> frozenset[Relation]:
        """The input events that carry the key."""
        events = self._checked.catalogue.events
        return frozenset(
            relation for relation in keys
            if relation in self.sent or (relation in events and relation not in self._defined)
        )  # fmt: skip

    def input_events(self) -> frozenset[Relation]:
        """All events whose records are given."""
        return frozenset(r for r in self._checked.catalogue.events if r not in self._defined)

    def kinds_of(self, relation: Relation, positions: Iterable[int]) -> tuple[Hashable, ...]:
        """For some arguments of a relation: what all arguments share that hold such values."""
        kind = "fluent" if relation in self._checked.catalogue.fluents else "event"
        return tuple(self._checked.types.find((kind, relation, place)) for place in positions)

    def input_fluents(self, keys: Mapping[Relation, tuple[int, ...]]) -> tuple[Relation, ...]:
        """The fluents of the input that carry the key."""
        fluents = self._checked.catalogue.fluents
        return tuple(r for r in keys if r in fluents and r not in self._defined)

    def is_asked(self, relation: Relation, initiates: bool) -> bool:
        """Do rules ask for initiations, or for terminations, of a fluent?"""
        return (relation, initiates) in self._asking

    def asked_from(self, relation: Relation) -> Iterator[Relation]:
        """The definitions whose rules ask for initiations or terminations of a fluent."""
        for initiates in (True, False):
            yield from self._asking.get((relation, initiates), ())

    def named_values(self, relation: Relation) -> frozenset[Term]:
        """The values of a fluent that rules of the program name."""
        return self._named.get(relation, frozenset())

    def read_by(self, definition: Definition) -> list[Pair | Event]:
        """What the rules of a definition mention, once for each relation but its own."""
        if id(definition) not in self._reads:
            parts = [p for p in parts_of(definition.rules) if isinstance(p, Pair | Event)]
            first: dict[Relation, Pair | Event] = {}
            for part in parts:
                first.setdefault(part.relation, part)
            first.pop(definition.relation, None)
            self._reads[id(definition)] = list(first.values())
        return self._reads[id(definition)]

    def both_kinds(self, definition: Definition) -> list[Relation]:
        """What a definition defines or reads that is both an event and a fluent.

        Walks know the two by one name.
        """
        parts = [p for p in parts_of(definition.rules) if isinstance(p, Pair | Event)]
        names = dict.fromkeys([definition.relation, *(part.relation for part in parts)])
        catalogue = self._checked.catalogue
        return [each for each in names if each in catalogue.events and each in catalogue.fluents]

    def program_settings(self) -> ProgramSettings:
        """What the program says of ties and of the clock."""
        return self._checked.definitions.settings

    def settings(self, stage: Stage) -> LaneSettings:
        """What all lanes of a stage share."""
        program = self.program_settings()
        return LaneSettings(stage.key, dict(stage.keys), program.ties, program.tick)

    @property
    def facts(self) -> KnownFacts:
        """What planning may ask of background knowledge."""
        return self._facts

    @property
    def grounded(self) -> GroundedValues:
        """What groundings say about values."""
        return self._grounded

    def earlier_instances(self) -> dict[Relation, dict[Instance, None]]:
        """The instances of what earlier stages have in the sweep."""
        return {relation: instances for relation, (_, instances) in self._swept.items()}

    def readable(self, stage: Stage, candidates: Collection[Relation]) -> Readable:
        """Says how lists of a stage can read other relations."""
        keys, fluents = dict(stage.keys), self._checked.catalogue.fluents

        def how(relation: Relation) -> ReadableRelation | None:
            if relation in candidates:
                return ReadableRelation(stage.number, keys[relation])
            if relation in self._swept:
                home = self._swept[relation][0]
                return ReadableRelation(home.number, dict(home.keys)[relation])
            if relation in fluents and relation not in self._defined:
                return ReadableRelation(None, keys.get(relation))
            return None

        return how

    def way_of_reading(self, relation: Relation, stage: Stage) -> str:
        """What a relation is that a lane or list cannot read, in words."""
        if relation in self._walked and self._defined[relation] == stage.number:
            return _by_another_key(relation)
        if relation in self._swept and self._defined[relation] != stage.number:
            return f"reads {relation}, which has another key"
        if relation in self._defined:
            return f"reads {relation}, which stays with columns"
        if relation in self._checked.catalogue.fluents:
            return f"reads {relation}, whose intervals are input"
        return f"reads {relation}, which does not carry the key"


def _joined_plan(plans: list[SweepPlan], gated: Collection[Relation]) -> SweepPlan:
    """One plan of several, each of which has walked what those before it have not.

    `gated` are relations, also of other stages, of which lanes of other keys decide what counts.
    """
    first, *others = plans
    later = {each.relation: each for plan in others for each in plan.verdicts
             if each.relation in plan.swept}  # fmt: skip
    outdated = {
        f"reads {relation}, which stays with columns": relation for relation in {*later, *gated}
    }
    verdicts = [
        later.get(each.relation) or replace(each, reason=_by_another_key(outdated[each.reason]))
        if each.reason in outdated or each.relation in later
        else each
        for each in first.verdicts if not is_gate(each.relation)
    ]  # fmt: skip
    lanes = tuple(lane for plan in plans for lane in plan.lanes)
    return replace(first, lanes=lanes, verdicts=tuple(verdicts))


def _by_another_key(relation: Relation) -> str:
    return f"reads {relation}, which is walked by another key"


def _asking(stages: tuple[Stage, ...]) -> dict[tuple[Relation, bool], dict[Relation, None]]:
    """Which definitions ask for initiations, or terminations, of a fluent."""
    askers: dict[tuple[Relation, bool], dict[Relation, None]] = {}
    for stage in stages:
        for definition in (d for stratum in stage.strata for d in stratum.definitions):
            for part in parts_of(definition.rules):
                if isinstance(part, Changes):
                    change = (part.pair.relation, part.initiates)
                    askers.setdefault(change, {})[definition.relation] = None
    return askers


def _named_values(stages: tuple[Stage, ...]) -> dict[Relation, frozenset[Term]]:
    """The values of fluents that rules name."""
    named: dict[Relation, set[Term]] = {}
    for stage in stages:
        for definition in (d for stratum in stage.strata for d in stratum.definitions):
            for part in parts_of(definition.rules):
                if isinstance(part, Pair) and is_ground(part.value):
                    named.setdefault(part.relation, set()).add(canonical(part.value))
    return {relation: frozenset(values) for relation, values in named.items()}


def _ways(attempt: _Attempt) -> dict[Relation, SweepWay]:
    lists = {
        relation: SweepWay.LINKED if relation in program.linked else SweepWay.LIST
        for program in attempt.lists
        for relation in program.definitions
    }
    return {**dict.fromkeys(attempt.candidates, SweepWay.LANE), **lists}


def _verdict(
    definition: Definition, reasons: Mapping[Relation, _Reason],
    ways: Mapping[Relation, SweepWay], has_register: bool,
) -> Verdict:  # fmt: skip
    reason, relation = reasons.get(definition.relation), definition.relation
    if reason is None:
        return Verdict(relation, ways[relation], "", span_of(definition), has_register)
    return Verdict(relation, SweepWay.COLUMNS, reason.text, reason.span)


_Planners = list[tuple[Relation, PointDefinition | StaticDefinition]]
"""What plans each definition of some relations; one whose values differ may have several."""


def _is_one(parts: list[Definition]) -> bool:
    """Can the definitions of a relation be planned? Several must all be over intervals."""
    return len(parts) == 1 or all(part.kind == FluentKind.STATIC for part in parts)


class _Attempt:
    """One try to plan some definitions together, of which some are lists."""

    def __init__(
        self, search: SweepSearch, stage: Stage, candidates: dict[Relation, list[Definition]],
        of_lists: frozenset[Relation], registers: frozenset[Relation],
        with_members: frozenset[Relation], may_have_lists: bool,
    ) -> None:  # fmt: skip
        self.candidates = candidates
        self.reasons: dict[Relation, _Reason] = {}
        """Why definitions do not fit."""
        self.new_lists: set[Relation] = set()
        """Definitions that turned out to need lists."""
        self.new_registers: set[Relation] = set()
        """Definitions that turned out to need registers."""
        self.new_members: set[Relation] = set()
        """Definitions that turned out to be about members of a key."""
        self.lanes: list[Lane] = []
        self.lists: list[ListProgram] = []
        self._search, self._stage, self._of_lists = search, stage, of_lists
        self._may_have_lists = may_have_lists
        self._readable = search.readable(stage, candidates)
        self._keys = keys = dict(stage.keys)
        self.known = KnownInstances(keys, search.earlier_instances(), registers=registers)
        self._inputs = search.input_fluents(keys)
        self._asked_at_points = self._read_at_points()
        self._repeated: set[Relation] = set()
        """The lists that lanes decide, too."""
        records = search.records(keys)
        self._translator = BodyTranslator(
            keys, records, self.known, search.facts, registers, search.bodies
        )
        self._with_members = with_members

    def run(self) -> bool:
        """Plan all; if it is not done, something is not to be tried again as it was."""
        self._look_at_reads()
        self._look_at_input()
        planners = [] if self._is_refuted else self._planners()
        if not self._is_refuted:
            self._find_instances(planners)
        if not self._is_refuted:
            self._assemble(planners)
        return not self._is_refuted

    @property
    def _is_refuted(self) -> bool:
        new = self.new_lists or self.new_registers or self.new_members
        return bool(self.reasons or new)

    def _note(self, relation: Relation, error: NotSweptError) -> None:
        definition = self.candidates[relation][0]
        is_static = definition.kind == FluentKind.STATIC
        may_be_list = is_static and self._may_have_lists and relation not in self._of_lists
        if isinstance(error, NotCausalError) and may_be_list:
            self.new_lists.add(relation)
            return
        if isinstance(error, FamilyError) and self._may_have_members(relation):
            self.new_members.add(relation)
            return
        may_have_register = definition.kind == FluentKind.SIMPLE and self._may_have_registers
        is_known = relation in self._translator.registers
        if isinstance(error, OpenValueError) and may_have_register and not is_known:
            self.new_registers.add(relation)
            return
        span = error.span if error.span != NOWHERE else span_of(definition)
        is_family = isinstance(error, FamilyError)
        self.reasons.setdefault(relation, _Reason(error.reason, span, is_family))

    def _note_all(self, relation: Relation, error: NotSweptError) -> None:
        """Note a reason; that of a hidden list is one of the definitions that lists are for."""
        for each in self._of_lists if is_hidden(relation) else (relation,):
            self._note(each, error)

    def _may_have_members(self, relation: Relation) -> bool:
        """Can it be about members of a key, as it has not been tried so far?"""
        definitions = self.candidates[relation]
        if relation in self._with_members or len(definitions) > 1:
            return False
        positions = self._translator.keys[relation]
        return with_members(definitions[0], positions, self._search.facts)[1] is not None

    @property
    def _may_have_registers(self) -> bool:
        """Where initiations win ties, two values of a fluent may hold: no register has both."""
        return self._search.settings(self._stage).ties == "break"

    # -- what definitions read --------------------------------------------------------------

    def _look_at_reads(self) -> None:
        """Definitions come after those they read, so one pass finds nearly all reasons."""
        for relation, definitions in self.candidates.items():
            for part in (each for d in definitions for each in self._search.read_by(d)):
                if relation not in self._of_lists:
                    self._look_at(relation, part)
                elif part.relation in self.reasons or self._readable(part.relation) is None:
                    reason = self._search.way_of_reading(part.relation, self._stage)
                    self._note(relation, NotSweptError(reason, part.span))
            askers = self._search.asked_from(relation)
            for asker in (each for each in askers if each not in self.candidates):
                reason = f"{asker} asks for its changes and stays with columns"
                self._note(relation, NotSweptError(reason))

    def _read_at_points(self) -> set[Relation]:
        """What rules over points read, and what statically determined fluents among that read."""
        waiting = [
            relation for relation, definitions in self.candidates.items()
            if definitions[0].kind != FluentKind.STATIC
        ]  # fmt: skip
        read_relations: set[Relation] = set()
        while waiting:
            relation = waiting.pop()
            for definition in self.candidates.get(relation, ()):
                read = {part.relation for part in self._search.read_by(definition)}
                waiting += read - read_relations
                read_relations |= read
        return read_relations

    def _look_at_input(self) -> None:
        """Find the pairs of the input that lanes read."""
        for relation, definitions in self.candidates.items():
            if relation in self._of_lists and relation not in self._asked_at_points:
                continue
            try:
                for definition in definitions:
                    for instance in input_instances(definition, self._inputs, self._keys):
                        self.known.add(instance)
            except NotSweptError as error:
                if not self._is_static(relation):
                    self._note(relation, error)

    def _look_at(self, relation: Relation, part: Pair | Event) -> None:
        """A lane reads lanes and records; what reads anything else may be a list."""
        if part.relation in self._of_lists and (self._is_static(relation) or self._has_no_input):
            reason = f"reads {part.relation}, which is a list"
            self._note(relation, NotCausalError(reason, part.span))
        elif part.relation in self._inputs and not self._is_static(relation):
            pass
        elif part.relation in self.reasons or not self._is_known(part.relation):
            reason = self._search.way_of_reading(part.relation, self._stage)
            self._note(relation, NotCausalError(reason, part.span))

    def _is_static(self, relation: Relation) -> bool:
        return self.candidates[relation][0].kind == FluentKind.STATIC

    def _is_known(self, relation: Relation) -> bool:
        return relation in self.candidates or relation in self._translator.records

    def _planners(self) -> _Planners:
        """The planners of all definitions, in the order of the stage."""
        planners: _Planners = []
        search, translator = self._search, self._translator
        for relation, definition in self._in_order():
            if definition.kind == FluentKind.STATIC:
                planners.append((relation, StaticDefinition(
                    self._by_key(definition), translator, search.grounded,
                    (*self.candidates, *search.earlier_instances()),
                )))  # fmt: skip
            else:
                planners.append((relation, PointDefinition(
                    definition, translator, search.grounded, search.is_asked(relation, False),
                    search.is_asked(relation, True), search.named_values(relation),
                )))  # fmt: skip
        return planners

    def _by_key(self, definition: Definition) -> Definition:
        """A definition, or if it is about members of its key, what it says of the key."""
        if definition.relation not in self._with_members:
            return definition
        positions = self._translator.keys[definition.relation]
        of_key, members = with_members(definition, positions, self._search.facts)
        if members is not None:
            self._translator.head_members[definition.relation] = members
        return of_key

    def _in_order(self) -> Iterator[tuple[Relation, Definition]]:
        for stratum in self._stage.strata:
            for definition in stratum.definitions:
                if definition.relation in self.candidates:
                    yield definition.relation, definition

    def _find_instances(self, planners: _Planners) -> None:
        for _ in range(_MOST_ROUNDS):
            is_new = False
            for relation, planner in planners:
                try:
                    for instance in list(planner.instances()):
                        is_new |= self.known.add(instance)
                except NotSweptError as error:
                    self._note(relation, error)
            if self._is_refuted or not is_new:
                return
        raise AssertionError("instances are few and do not end")

    # -- lanes and lists --------------------------------------------------------------------

    def _assemble(self, planners: _Planners) -> None:
        rows: dict[Relation, DefinitionRows] = {}
        statics: dict[Instance, StaticPair] = {}
        of_input = set(map(pair_bit, self._input_instances()))
        in_lanes = frozenset(self.candidates) - self._of_lists
        lists = ListPlanner(self._stage.key, self._stage.number, self._readable, in_lanes)
        for relation, planner in planners:
            try:
                if isinstance(planner, PointDefinition):
                    rows[relation] = planner.rows()
                elif relation in self._of_lists:
                    lists.add(planner)
                    if relation in self._asked_at_points and self._inputs:
                        self._repeat_in_lane(planner, statics, of_input)
                else:
                    for pair in planner.pairs():
                        check_joined(pair, of_input)
                        if statics.setdefault(pair.instance, pair) is not pair:
                            raise NotSweptError("decides one pair in two ways", pair.span)
            except NotSweptError as error:
                self._note(relation, error)
        self._refuse_lists()
        self._refuse_changes()
        if not self._is_refuted:
            program = lists.program()
            self.lists += [] if program is None else [program]
            statics.update({pair.instance: pair for pair in lists.hidden.values()})
            self._build(rows, statics)

    def _values_of_key(self, relation: Relation) -> tuple[Hashable, ...]:
        """What is equal for two relations if their keys are values of one kind."""
        positions = range(relation.arity) if is_hidden(relation) else self._keys[relation]
        return self._search.kinds_of(relation, positions)

    def _input_instances(self) -> list[Instance]:
        """The pairs of the input that lanes may read."""
        return [each for relation in self._inputs for each in self.known.of.get(relation, ())]

    @property
    def _has_no_input(self) -> bool:
        """Are there no fluents of the input? Then lanes know of no list."""
        return not self._inputs

    def _repeat_in_lane(
        self, planner: StaticDefinition, statics: dict[Instance, StaticPair],
        of_input: set[StateBit],
    ) -> None:  # fmt: skip
        """Let lanes decide from point to point what is a list, if it is a union.

        Intervals of the input may be known beyond the query, so lists say how long the pair holds;
        lanes say where it starts and ends.
        """
        try:
            pairs = planner.pairs()
            for pair in pairs:
                check_joined(pair, of_input)
                self._check_decided(pair, statics)
        except NotSweptError:
            return
        statics.update({pair.instance: replace(pair, members=None) for pair in pairs})
        self._repeated.add(planner.definition.relation)

    def _check_decided(self, pair: StaticPair, statics: Mapping[Instance, StaticPair]) -> None:
        """Do lanes decide all that a formula is about?"""
        known = set(map(pair_bit, statics))
        for bit in (bit for term in pair.formula for bit in (*term.pos, *term.neg)):
            if bit.relation in self._of_lists and bit not in known:
                raise NotSweptError("reads what is a list")

    def _refuse_lists(self) -> None:
        """Rules over points cannot read lists that no lane knows of."""
        for relation, definitions in self.candidates.items():
            for part in (each for d in definitions for each in self._search.read_by(d)):
                is_list = part.relation in self._of_lists and part.relation not in self._repeated
                if is_list and not self._is_static(relation):
                    reason = f"reads {part.relation}, which is a list"
                    self._note(relation, NotSweptError(reason, part.span))

    def _refuse_changes(self) -> None:
        """Only simple fluents are initiated and terminated."""
        for relation in dict.fromkeys(bit.relation for bit in self._translator.changes_asked):
            if relation in self.candidates and self._is_static(relation):
                for asker in self._search.asked_from(relation):
                    reason = f"asks what changes {relation}, which is statically determined"
                    self._note(asker, NotSweptError(reason))

    def _build(
        self, rows: dict[Relation, DefinitionRows], statics: dict[Instance, StaticPair]
    ) -> None:
        blocks = without_alone_signals(list(definition_blocks(rows, statics, self._translator)))
        blocks = without_unread(blocks, self._repeated)
        blocks += input_blocks(self._input_instances(), blocks)
        ordered, cyclic = in_order(blocks)
        for relation in {block.relation for block in cyclic if block.relation is not None}:
            error = NotSweptError("decides a point by what it decides at that very point")
            self._note(relation, error)
        if self._is_refuted:
            return
        groundings = {pair.instance.relation: pair.groundings for pair in statics.values()}
        members = {pair.instance.relation: pair.members for pair in statics.values()
                   if pair.members is not None}  # fmt: skip
        builder = LaneBuilder(
            self._search.settings(self._stage), rows, groundings, members,
            self._translator.head_members, self._search.sent, self._search.copies,
        )  # fmt: skip
        for part in parts_apart(ordered, self._values_of_key):
            left_out = builder.too_much(part)
            for relation in left_out:
                self._note_all(relation, NotSweptError("needs more bits than a word has"))
            if not left_out:
                self.lanes.append(builder.lane(part))
