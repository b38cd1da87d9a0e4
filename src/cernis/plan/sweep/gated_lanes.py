"""Lanes of other keys, which are fed with records that an earlier lane lets through.

A rule may bring something about for another key than the one by which its conditions are walked:
members of a committee vote while the motion is open, and who votes at another time is sanctioned.
If one record names both keys, the rule becomes two. In the lane of its conditions an event, the
*gate*, happens where such a record comes and the conditions are met. In a lane of the other key
records of this kind count where the gate is open. So the members of a family, which share a part of
their key, have a word each, and what happens to one key has effects for others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cernis.check.model import Event, FluentKind, Pair, Relation
from cernis.knowledge.ground_values import canonical
from cernis.plan.linked.instance_kinds import tuple_positions, variable_names
from cernis.plan.logical import (
    Aggregate,
    Definition,
    Match,
    PointRule,
    RulePlan,
    Stab,
    Stage,
    Stratum,
)
from cernis.plan.sweep.definition_rows import key_names_of
from cernis.plan.sweep.lane_rules import with_values
from cernis.plan.sweep.lanes import OPEN, SweepWay, gate_event
from cernis.plan.sweep.members.copied_pairs import StaticCopies, fetched_relations
from cernis.plan.sweep.members.head_members import HeadMembers, bodies_without_members
from cernis.plan.sweep.members.sent_points import SentPoints, check_counted, split_body
from cernis.plan.sweep.rule_bodies import (
    AskedKind,
    AskedLiteral,
    ConjunctiveBody,
    bodies_of,
    head_terms,
    names_asked,
    names_of,
    with_constants,
)
from cernis.plan.sweep.unfit import NotSweptError
from cernis.plan.sweep.unrolled import Instance
from cernis.source import NOWHERE, Span
from cernis.syntax.tree import Term, Variable

if TYPE_CHECKING:
    from cernis.plan.sweep.fits import PlannedStage, SweepSearch

Keys = dict[Relation, tuple[int, ...]]


def add_gated_lanes(
    search: SweepSearch, stages: Sequence[Stage], parts: list[list[PlannedStage]]
) -> frozenset[Relation]:
    """Add lanes of other keys to the parts of the stages; gives what is walked by them."""
    gated = _GatedSearch(search, parts)
    for stage, of_stage in zip(stages, parts, strict=True):
        for stratum in stage.strata:
            for definition in stratum.definitions:
                ways = [part.plan.ways.get(definition.relation) for part in of_stage]
                if all(way in (None, SweepWay.COLUMNS) for way in ways):
                    gated.try_definition(definition, stage, stratum)
    return frozenset(gated.walked)


@dataclass(slots=True)
class _Draft:
    """A definition whose rules have gates, while they are written."""

    definition: Definition
    positions: tuple[int, ...]
    keys: Keys = field(default_factory=dict)
    rules: list[RulePlan] = field(default_factory=list)
    gates: dict[int, list[Definition]] = field(default_factory=dict)
    """By number of a part: the gates that are to be added to it."""
    known_gates: dict[tuple[int, tuple[str, ...], ConjunctiveBody], Relation] = field(
        default_factory=dict
    )
    """By number of a part, its key and what is met there: the gate that says so."""
    carriers: dict[int, Keys] = field(default_factory=dict)
    """By number of a part: the keys of that part in the records that open gates."""

    def add_key(self, relation: Relation, positions: tuple[int, ...], span: Span) -> None:
        """Note where the key stands in a relation: it must be the same places everywhere."""
        if self.keys.setdefault(relation, positions) != positions:
            raise NotSweptError(f"reads {relation} by two keys", span)


class _GatedSearch:
    """Tries to walk definitions that stay with columns so far, one after the other."""

    def __init__(self, search: SweepSearch, parts: list[list[PlannedStage]]) -> None:
        self.walked: list[Relation] = []
        self._search = search
        self._parts = parts
        self._inputs = search.input_events()
        self._gate_count = 0

    @property
    def _members(self) -> dict[Relation, HeadMembers]:
        """The fluents that hold of all members of a key."""
        lanes = (lane for part in self._numbered() for lane in part.plan.lanes)
        return {each.relation: each for lane in lanes for each in lane.head_members}

    @property
    def _keys(self) -> Keys:
        """The key of what is walked."""
        return {
            relation: positions
            for part in self._numbered() for relation, positions in part.stage.keys
            if part.plan.ways.get(relation) is SweepWay.LANE
        }  # fmt: skip

    def try_definition(self, definition: Definition, stage: Stage, stratum: Stratum) -> None:
        """Walk a definition by all of its arguments, if gates make that possible."""
        positions = tuple_positions(definition)
        kinds = {type(rule) for rule in definition.rules}
        if definition.kind == FluentKind.STATIC:
            self._try_static(definition, stage)
            return
        if Match in kinds or not positions:
            return
        draft = _Draft(definition, positions, {definition.relation: positions})
        try:
            for rule in definition.rules:
                self._write(rule, draft)
        except NotSweptError:
            return
        is_sent = any(relation in self._search.sent for relation in draft.keys)
        if draft.gates or is_sent:
            self._accept(draft, stage, stratum)

    def _accept(self, draft: _Draft, stage: Stage, stratum: Stratum) -> None:
        """Plan the lane, and gates in those that it depends on; keep them if all can be walked."""
        head = next(rule.head for rule in draft.rules if isinstance(rule, PointRule))
        names = key_names_of(head, draft.positions)
        definition = replace(draft.definition, rules=tuple(draft.rules))
        apart = replace(
            stage, key=names, keys=tuple(draft.keys.items()), linked_by=None,
            strata=(replace(stratum, definitions=(definition,)),),
        )  # fmt: skip
        self._search.kept.append(apart)
        planned = self._search.planned_apart(apart, ())
        if definition.relation not in planned.plan.swept:
            return
        if any(lane.sent and lane.registers for lane in planned.plan.lanes):
            return
        if self._put_gates([draft], {}):
            of_stage = next(
                each for each in self._parts if each[0].stage.number == stage.number
            )  # fmt: skip
            of_stage.append(_marked(planned))
            self.walked.append(definition.relation)

    def _put_gates(self, drafts: list[_Draft], changed: dict[int, PlannedStage]) -> bool:
        """Put the gates of drafts, and other parts, in place of the parts that there are.

        Nothing is changed if what has been walked could not be walked any longer.
        """
        flat, parts = list(self._numbered()), dict(changed)
        for draft in drafts:
            for number, gates in draft.gates.items():
                before = parts.get(number, flat[number])
                after = self._with_gates(before, gates, draft.carriers.get(number, {}))
                wanted = {*before.plan.swept, *(each.relation for each in gates)}
                if not after.plan.swept >= wanted:
                    return False
                parts[number] = after
        for of_stage in self._parts:
            for place, part in enumerate(of_stage):
                number = next(at for at, each in enumerate(flat) if each is part)
                of_stage[place] = parts.get(number, part)
        return True

    def _numbered(self) -> Iterator[PlannedStage]:
        return (part for of_stage in self._parts for part in of_stage)

    def _with_gates(
        self, part: PlannedStage, gates: list[Definition], carriers: Keys
    ) -> PlannedStage:
        """A part with further gates among its definitions."""
        more = {each.relation: tuple(range(each.relation.arity)) for each in gates}
        return self._with_definitions(part, gates, {**carriers, **more})

    def _with_definitions(
        self, part: PlannedStage, definitions: Sequence[Definition], keys: Keys
    ) -> PlannedStage:
        """A part with further definitions, planned again."""
        stage = part.stage
        level = stage.strata[-1].level
        stratum = Stratum(level, False, False, False, (), tuple(definitions))
        keys = {**dict(stage.keys), **keys}
        extended = replace(stage, keys=tuple(keys.items()), strata=(*stage.strata, stratum))
        self._search.kept.append(extended)
        planned = self._search.planned_apart(extended, part.walked_before)
        return _marked(planned) if any(each.has_gate for each in part.plan.verdicts) else planned

    # -- statically determined fluents ------------------------------------------------------

    def _try_static(self, definition: Definition, stage: Stage) -> None:
        """Walk a formula over lanes of one key: the last of them has copies of what others have."""
        numbers = self._parts_read(definition)
        if not numbers:
            return
        target = max(numbers)
        part = list(self._numbered())[target]
        if part.stage.number != stage.number or len(numbers) == 1:
            return
        copies = StaticCopies(
            definition, self._keys, part.plan.ways, self._search.definitions,
            len(self._search.copies),
        )  # fmt: skip
        drafts: list[_Draft] = []
        try:
            of_key = copies.definition()
            keys = {of_key.relation: copies.positions}
            for copy in copies.of_pairs(self._values_of):
                self._search.kept.append(copy)
                draft = _Draft(copy, copies.key_of(copy), {copy.relation: copies.key_of(copy)})
                for rule in copy.rules:
                    self._write(rule, draft)
                drafts.append(draft)
                keys |= draft.keys
        except NotSweptError:
            return
        self._search.copies |= copies.originals
        written = [replace(each.definition, rules=tuple(each.rules)) for each in drafts]
        planned = self._with_definitions(part, [*written, of_key], keys)
        wanted = {*part.plan.swept, of_key.relation, *(each.relation for each in written)}
        if planned.plan.swept >= wanted and self._put_gates(drafts, {target: planned}):
            self.walked.append(definition.relation)

    def _parts_read(self, definition: Definition) -> set[int]:
        """The numbers of the parts that have the pairs of a definition; none if one is missing."""
        relations = set(fetched_relations(definition))
        numbers = {
            number for number, part in enumerate(self._numbered())
            if any(part.plan.ways.get(each) is SweepWay.LANE for each in relations)
        }  # fmt: skip
        return numbers if relations <= self._keys.keys() else set()

    # -- rules ------------------------------------------------------------------------------

    def _write(self, rule: RulePlan, draft: _Draft) -> None:
        if not isinstance(rule, PointRule):
            draft.rules.append(rule)
            return
        names = key_names_of(rule.head, draft.positions)
        if set(rule.open_variables) & names_of(rule.head.args):
            raise NotSweptError("leaves an argument open", rule.span)
        by_head: dict[Pair | Event, list[ConjunctiveBody]] = {}
        for head, body in self._bodies_of(rule, draft):
            by_head.setdefault(head, []).append(self._gated_body(body, head, names, draft))
        for head, written in by_head.items():
            for literal in (each for body in written for each in body.literals):
                draft.add_key(literal.relation, _places(literal, names), literal.span)
            feeding = PointRule(rule.kind, head, (), rule.open_variables, rule.span)
            draft.rules.append(self._new_rule(feeding, written))

    def _bodies_of(
        self, rule: PointRule, draft: _Draft
    ) -> Iterator[tuple[Pair | Event, ConjunctiveBody]]:
        """What a rule is written out to, with its head; other lanes are asked for constants."""
        if id(rule) not in self._search.bodies:
            self._search.bodies[id(rule)] = bodies_of(rule.steps, "", rule.span)
        for body in self._search.bodies[id(rule)]:
            for each in bodies_without_members(body, self._members, self._keys):
                yield from self._unrolled(rule.head, each, draft)

    def _unrolled(
        self, head: Pair | Event, body: ConjunctiveBody, draft: _Draft
    ) -> Iterator[tuple[Pair | Event, ConjunctiveBody]]:
        """A body for each value that the fluents of other lanes give to its variables."""
        for literal in body.literals:
            names = self._open_names(literal, head, body, draft)
            if names:
                for values in self._values_of(literal, names):
                    yield from self._unrolled(
                        _head_with(head, values), with_values(body, values), draft
                    )  # fmt: skip
                return
        yield head, body

    def _open_names(
        self, literal: AskedLiteral, head: Pair | Event, body: ConjunctiveBody, draft: _Draft
    ) -> list[str]:
        """The variables of an instance in another lane that something else mentions, too."""
        key = self._keys.get(literal.relation)
        is_asked = literal.kind is not AskedKind.EVENT and not literal.negated
        if key is None or not is_asked or literal.relation == draft.definition.relation:
            return []
        others = names_of(head_terms(head))
        others |= names_of(t for each in body.literals if each is not literal for t in each.terms)
        others |= {name for step in body.conditions for name in names_asked(step)}
        terms = [term for place, term in enumerate(literal.terms) if place not in key]
        return sorted(names_of(terms) & others)

    def _values_of(self, literal: AskedLiteral, names: list[str]) -> list[dict[str, Term]]:
        """The values that instances give to variables; an error if they may be any."""
        values: dict[tuple[Term, ...], dict[str, Term]] = {}
        for part in self._numbered():
            for instance in part.instances.get(literal.relation, ()):
                found = _agreeing(literal, instance, names)
                if found is not None:
                    values[tuple(found[name] for name in names)] = found
        return list(values.values())

    def _new_rule(self, rule: PointRule, bodies: Iterable[ConjunctiveBody]) -> PointRule:
        """A rule of which only the bodies count; it is kept, as they are known by its identity."""
        self._search.kept.append(rule)
        self._search.bodies[id(rule)] = list(bodies)
        return rule

    def _gated_body(
        self, body: ConjunctiveBody, head: Pair | Event, names: tuple[str, ...], draft: _Draft
    ) -> ConjunctiveBody:
        """A body that asks for records alone, and for a gate if it asks for anything else."""
        outside = [each for each in body.literals if not self._is_inside(each, draft, names)]
        if not outside and not body.counts:
            return body
        inside = [each for each in body.literals if each not in outside]
        records = [each for each in inside if self._is_record(each) and not each.negated]
        of_head = names_of(head_terms(head))
        if len(records) != 1 or body.counts:
            return self._sent_body(body, names_of(map(Variable, names)) | of_head, draft)
        if body.exceptions:
            raise NotSweptError("excludes what other keys do", body.span)
        gate = self._gate(records[0], outside, body, of_head, draft)
        return replace(body, literals=tuple(inside), gate=gate)

    def _is_record(self, literal: AskedLiteral) -> bool:
        return literal.kind is AskedKind.EVENT and literal.relation in self._inputs

    def _is_inside(self, literal: AskedLiteral, draft: _Draft, names: tuple[str, ...]) -> bool:
        """Is it about a record that names the key, or about the instance that the rule is about?"""
        if literal.relation != draft.definition.relation:
            return self._is_record(literal) and set(names) <= names_of(literal.args)
        return [literal.args[at] for at in draft.positions] == [Variable(name) for name in names]

    # -- points -----------------------------------------------------------------------------

    def _sent_body(
        self, body: ConjunctiveBody, of_head: set[str], draft: _Draft
    ) -> ConjunctiveBody:
        """A body that asks for a point that another lane sends, with what is counted there."""
        of_head_fluent = [each for each in body.literals
                          if each.relation == draft.definition.relation]  # fmt: skip
        sent = [each for each in body.literals if each not in of_head_fluent]
        if not body.counts and all(map(self._is_record, sent)):
            raise NotSweptError("has not one record that names its key", body.span)
        number, part = self._part_of(sent, body.span)
        key_names = self._key_names(sent, part)
        needed = of_head | names_of(t for literal in of_head_fluent for t in literal.args)
        split = split_body(body, of_head_fluent, needed, key_names, self._search.facts)
        for step in body.counts:
            self._check_counted(step, split.receiver, key_names)
        gate = self._new_gate(number, key_names, split.sender, draft)
        relation, members = gate, None
        if split.members:
            relation = Relation(gate.name, len(key_names) + len(split.members))
            places = tuple(range(len(key_names), relation.arity))
            members = HeadMembers(
                relation, places, split.members, key_names, split.member_steps
            )  # fmt: skip
        self._search.sent[relation] = SentPoints(relation, gate, key_names, members)
        args = tuple(map(Variable, (*key_names, *split.members)))
        point = AskedLiteral(AskedKind.EVENT, relation, args, None, False, body.span)
        return replace(split.receiver, literals=(point, *split.receiver.literals))

    def _check_counted(
        self, step: Aggregate, body: ConjunctiveBody, key_names: tuple[str, ...]
    ) -> None:
        """What is counted must be walked by a key that has the one of the point as a part."""
        stab = step.body[0]
        assert isinstance(stab, Stab)
        key, args = self._keys.get(stab.pair.relation), stab.pair.args
        if key is None:
            raise NotSweptError(f"counts {stab.pair.relation}, which is in no lane", step.span)
        wanted = {Variable(name) for name in key_names}
        places = [place for place in key if args[place] in wanted]
        if {args[place] for place in places} != wanted:
            raise NotSweptError(f"counts {stab.pair.relation} of several keys", step.span)
        if any(not isinstance(args[place], Variable) for place in key):
            raise NotSweptError(f"counts some {stab.pair.relation} of a key", step.span)
        check_counted(step, tuple(places), body)

    # -- gates ------------------------------------------------------------------------------

    def _gate(
        self, record: AskedLiteral, outside: list[AskedLiteral], body: ConjunctiveBody,
        of_head: set[str], draft: _Draft,
    ) -> Relation:  # fmt: skip
        """Have a lane send an event where a record comes and conditions of that lane are met."""
        number, part = self._part_of(outside, body.span)
        key_names, shared = self._key_names(outside, part), names_of(record.args)
        if not set(key_names) <= shared:
            raise NotSweptError("has not one record that names both keys", record.span)
        _check_apart(outside, set(key_names), shared | of_head, body)
        places = _places(record, key_names)
        known = {**dict(part.stage.keys), **draft.carriers.get(number, {})}
        if known.setdefault(record.relation, places) != places:
            raise NotSweptError(f"reads {record.relation} by two keys", record.span)
        draft.carriers.setdefault(number, {})[record.relation] = places
        sent = replace(body, literals=(record, *outside))
        return self._new_gate(number, key_names, sent, draft)

    def _new_gate(
        self, number: int, key_names: tuple[str, ...], body: ConjunctiveBody, draft: _Draft
    ) -> Relation:
        """Have a part send an event where a body is met; one for bodies that are the same."""
        same = draft.known_gates.get((number, key_names, _without_spans(body)))
        if same is not None:
            return same
        self._gate_count += 1
        gate = gate_event(self._gate_count, len(key_names))
        head = Event(gate, tuple(map(Variable, key_names)), body.span)
        rule = self._new_rule(PointRule("event", head, (), (), body.span), [body])
        draft.gates.setdefault(number, []).append(Definition(gate, "event", (), (rule,)))
        draft.known_gates[number, key_names, _without_spans(body)] = gate
        return gate

    def _part_of(self, outside: list[AskedLiteral], span: Span) -> tuple[int, PlannedStage]:
        """The part whose lanes have all that a rule asks for."""
        events = {literal.relation for literal in outside if self._is_record(literal)}
        wanted = {literal.relation for literal in outside} - events
        for number, part in enumerate(self._numbered()):
            is_walked = all(part.plan.ways.get(relation) is SweepWay.LANE for relation in wanted)
            if is_walked and part.plan.lanes and events <= dict(part.stage.keys).keys():
                return number, part
        raise NotSweptError("reads what is not in lanes of one key", span)

    def _key_names(self, outside: list[AskedLiteral], part: PlannedStage) -> tuple[str, ...]:
        """The variables that stand for the key of the other lane."""
        keys = dict(part.stage.keys)
        names = {
            variable_names([each.args[at] for at in keys[each.relation]], each.span)
            for each in outside
        }
        if len(names) != 1:
            raise NotSweptError("reads what is not of one key", outside[0].span)
        return names.pop()


def _check_apart(
    outside: list[AskedLiteral], key_names: set[str], others: set[str], body: ConjunctiveBody
) -> None:
    """What is asked of another lane must share nothing but its key with the rest of the rule."""
    asked = names_of(term for literal in outside for term in literal.terms) - key_names
    of_conditions = {name for step in body.conditions for name in names_asked(step)}
    if asked & (others | of_conditions):
        raise NotSweptError("compares a record with what holds of another key", body.span)


def _without_spans(body: ConjunctiveBody) -> ConjunctiveBody:
    """A body that is equal to those that say the same elsewhere."""
    literals = tuple(replace(literal, span=NOWHERE) for literal in body.literals)
    return replace(body, literals=literals, span=NOWHERE)


def _head_with(head: Pair | Event, values: dict[str, Term]) -> Pair | Event:
    """A head with constants in the place of some variables."""
    args = with_constants(head.args, values)
    if isinstance(head, Event):
        return replace(head, args=args)
    return replace(head, args=args, value=with_constants(head.value, values))


def _agreeing(
    literal: AskedLiteral, instance: Instance, names: list[str]
) -> dict[str, Term] | None:
    """The values of variables by which a literal is about an instance, if it can be."""
    values: dict[str, Term] = {}
    for term, constant in zip(literal.terms, instance.terms, strict=True):
        if isinstance(term, Variable) and term.name in names:
            if constant is None or constant == OPEN:
                raise NotSweptError("compares a value that may be any", literal.span)
            if values.setdefault(term.name, constant) != constant:
                return None
        elif not isinstance(term, Variable) and constant not in (None, canonical(term)):
            return None
    return values


def _places(literal: AskedLiteral, names: tuple[str, ...]) -> tuple[int, ...]:
    """Where variables stand among the arguments of a literal."""
    places = tuple(
        literal.args.index(Variable(name)) for name in names if Variable(name) in literal.args
    )
    if len(places) != len(names):
        raise NotSweptError(f"reads {literal.relation} without the whole key", literal.span)
    return places


def _marked(part: PlannedStage) -> PlannedStage:
    """A part whose verdicts say that another lane decides what counts."""
    verdicts = tuple(
        replace(each, has_gate=each.way is not SweepWay.COLUMNS) for each in part.plan.verdicts
    )
    return replace(part, plan=replace(part.plan, verdicts=verdicts))
