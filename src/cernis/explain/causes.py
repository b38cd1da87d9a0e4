"""Walks from a pair or an event down to records: what began it, what kept it, what ended it."""

from __future__ import annotations

from collections.abc import Iterator

from cernis.check.model import (
    Boundary,
    Changes,
    Collect,
    Condition,
    DelayedEffect,
    Either,
    Event,
    Happens,
    Holds,
    Literal,
    Pair,
    Relation,
    Unless,
)
from cernis.explain.body_proofs import (
    Bindings,
    BodyProver,
    Support,
    Unexplained,
    match_all,
    span_at,
    terms,
)
from cernis.explain.explanation_tree import Reason
from cernis.explain.histories import Happening, History, Instance, Interval, NamedRecord, formed
from cernis.explain.interval_causes import IntervalCauses
from cernis.explain.patterns.pattern_causes import PatternCauses
from cernis.explain.phrase_causes import (
    Timer,
    is_ground_pair,
    length_of,
    missed_event,
    phrase_text,
    timer_of,
)
from cernis.explain.point_texts import interval_text, point_text
from cernis.explain.questions import entity_text
from cernis.explain.renewals import renewals
from cernis.explain.static_proofs import StaticProver
from cernis.knowledge.ground_values import Row, Value, is_ground, same, term_of, value
from cernis.knowledge.terms import substitute
from cernis.source import Span
from cernis.syntax import show
from cernis.syntax.tree import Atom, Compound, Number, Term, functor
from cernis.tables.interval_tables import INFINITY

_DEEPEST = 60
"""So many levels of causes are followed; what lies deeper is left out, and said to be."""

_MOST_LISTED = 20
"""So many records are listed where a reason can only name those that it rests on."""


class CauseTrees:
    """Explains what held and happened in a history."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.definitions = history.plan.checked.definitions
        self.prover = BodyProver(history, self.definitions.changes)
        self.statics = StaticProver(self.prover)
        self.patterns = PatternCauses(self)
        self.intervals = IntervalCauses(self)
        self._seen: set[tuple[object, ...]] = set()

    # -- pairs and events ----------------------------------------------------------------------

    def pair(
        self, relation: Relation, instance: Instance, time: int, depth: int = 0,
        until: int | None = None,
    ) -> Reason:  # fmt: skip
        """Why a pair holds at a point, and up to another one."""
        span = span_at(self.history.fluent(relation).get(instance), time)
        name = self.name(relation, instance)
        if span is None:
            return Reason("note", f"{name} does not hold at {point_text(time)}")
        reason = Reason("pair", f"{name} holds on {interval_text(span)}", interval=span)
        timer = timer_of(self.definitions, relation, terms(instance[0]), term_of(instance[1]))
        if timer is not None and is_ground_pair(timer.about):
            return self._has_held(timer, span[0] - self.history.tick, depth)
        if self._is_repeated(relation, instance, span) or depth > _DEEPEST:
            reason.reasons.append(_folded(depth))
            return reason
        records = self._records_at(relation, instance, time)
        if records:
            reason.reasons += records
        elif any(rule.pair.relation == relation for rule in self.definitions.statics):
            reason.reasons += self.intervals.reasons(relation, instance, time, span, depth)
        else:
            reason.reasons += self._simple(relation, instance, time, span, depth, until)
        if not records:
            reason.reasons += self._member_reasons(relation, instance)
        return reason

    def _member_reasons(self, relation: Relation, instance: Instance) -> Iterator[Reason]:
        """The records that make the arguments of a pair members of domains, as grounding asks."""
        actual = (*terms(instance[0]), term_of(instance[1]))
        for rule in self.definitions.groundings if self.history.members else ():
            if rule.entity.relation != relation or isinstance(rule.entity, Event):
                continue
            known = match_all((*rule.entity.args, rule.entity.value), actual, {})
            bound = None if known is None else self.goals(rule.goals, known)
            if bound is not None:
                goals = (substitute(goal, bound) for goal in rule.goals)
                yield from filter(None, map(self._member, goals))
                return

    def _member(self, goal: Term) -> Reason | None:
        """That a goal is true because a record names the member of a domain."""
        known = self.history.members.get(functor(goal))
        if not known or not isinstance(goal, Compound) or not is_ground(goal):
            return None
        record = known.get(tuple(map(value, goal.args)))
        if record is None:
            return None
        reason = _record_reason(record)
        reason.text = f"{show(goal)}, as there is {reason.text}"
        return reason

    def ended_reasons(
        self, relation: Relation, instance: Instance, span: Interval, depth: int
    ) -> list[Reason]:
        """What ended an interval of a pair, if it has an end."""
        if span[1] >= INFINITY:
            return []
        point = span[1] - self.history.tick
        reason = self.termination(relation, instance, point, depth + 1)
        if reason is not None:
            reason.text = f"ended at {point_text(point)}: {reason.text}"
            reason.kind = "ended"
            return [reason]
        if any(rule.pair.relation == relation for rule in self.definitions.changes):
            return [self.unexplained(f"what ended it at {point_text(point)}", point, point)]
        return []

    def event(self, relation: Relation, happening: Happening, depth: int = 0) -> Reason:
        """Why an event happened."""
        name = self._entity(relation, terms(happening.args), None)
        if happening.record is not None:
            return _record_reason(happening.record)
        reason = Reason("event", f"{name} happens at {point_text(happening.time)}")
        missed = missed_event(self.definitions, relation, terms(happening.args))
        if missed is not None:
            return self._missed(*missed, happening.time, depth)
        if self._is_repeated(relation, happening.args, happening.time) or depth > _DEEPEST:
            reason.reasons.append(_folded(depth))
            return reason
        below = self._event_rule(relation, happening, depth)
        reason.reasons.append(below or self._pattern(relation, happening, depth))
        return reason

    def _event_rule(self, relation: Relation, happening: Happening, depth: int) -> Reason | None:
        for rule in self.definitions.events:
            if rule.event.relation == relation:
                known = match_all(rule.event.args, terms(happening.args), {})
                made = known is not None and self._by_rule(
                    rule.body, {**known, rule.time: term_of(happening.time)}, happening.time,
                    rule.span, depth,
                )  # fmt: skip
                if made:
                    return made
        return None

    def _pattern(self, relation: Relation, happening: Happening, depth: int) -> Reason:
        made = self.patterns.occurrence(relation, happening, depth)
        return made or self.unexplained("this event", happening.time, happening.time)

    # -- simple fluents ------------------------------------------------------------------------

    def _simple(
        self, relation: Relation, instance: Instance, time: int, span: Interval, depth: int,
        until: int | None,
    ) -> list[Reason]:  # fmt: skip
        point = span[0] - self.history.tick
        began = self.initiation(relation, instance, point, depth + 1)
        if began is None:
            began = self.unexplained(f"what began it at {point_text(point)}", point, point)
        else:
            began.text = f"began at {point_text(point)}: {began.text}"
            began.kind = "began"
        reasons = [began]
        last = max(time, until or time)
        renewed = list(renewals(self, relation, instance, point, last, depth))
        if time > span[0] or renewed:
            text = f"kept going: nothing ended it before {point_text(last)}"
            reasons.append(Reason("kept", text, reasons=renewed))
        return reasons

    def initiation(
        self, relation: Relation, instance: Instance, point: int, depth: int
    ) -> Reason | None:
        """What initiated a pair at a point: a rule, a delayed effect, or that it held initially."""
        actual = (*terms(instance[0]), term_of(instance[1]))
        timer = timer_of(self.definitions, relation, actual[:-1], actual[-1])
        if timer is not None and is_ground_pair(timer.about):
            return self._has_held(timer, point, depth)
        for rule in self.definitions.changes:
            if rule.initiates and rule.pair.relation == relation:
                known = match_all((*rule.pair.args, rule.pair.value), actual, {})
                made = known is not None and self._by_rule(
                    rule.body, {**known, rule.time: term_of(point)}, point, rule.span, depth
                )
                if made:
                    return made
        return self._initially(relation, actual, point) or self._effect(
            relation, actual, point, depth, is_target=True
        )

    def _has_held(self, timer: Timer, point: int, depth: int) -> Reason:
        """That a pair has held for as long as a timer takes, at the point where time was up."""
        relation, instance = timer.about.relation, timer.instance
        began = point - length_of(timer.delay) + self.history.tick
        text = f"{self.name(relation, instance)} has held for {show(timer.delay)} since "
        reason = Reason("condition", text + point_text(began))
        reason.reasons.append(self.pair(relation, instance, began, depth + 1))
        return reason

    def _missed(self, timer: Timer, absent: Event, point: int, depth: int) -> Reason:
        """That nothing came in time after an event."""
        since = point - length_of(timer.delay)
        name = entity_text(absent.relation, absent.args, None)
        text = f"no {name} from {point_text(since)} to {point_text(point)}"
        reason = Reason("absent", f"{text}, {show(timer.delay)}")
        args = tuple(map(value, timer.about.args))
        for each in self.history.events_at(timer.about.relation, since):
            if formed(each.args) == formed(args):
                reason.reasons.append(self.event(timer.about.relation, each, depth + 1))
        return reason

    def termination(
        self, relation: Relation, instance: Instance, point: int, depth: int
    ) -> Reason | None:
        """What ended a pair at a point: a termination, another value, or a delayed effect."""
        args, held = terms(instance[0]), term_of(instance[1])
        for rule in self.definitions.changes:
            if rule.pair.relation != relation:
                continue
            known = match_all(rule.pair.args, args, {})
            if known is not None and not rule.initiates:
                known = match_all((rule.pair.value,), (held,), known)
            if known is None or (rule.initiates and same(rule.pair.value, held)):
                continue
            bound = {**known, rule.time: term_of(point)}
            made = self._by_rule(
                rule.body, bound, point, rule.span, depth,
                (rule.pair.value, held) if rule.initiates else None,
            )  # fmt: skip
            if made:
                return made
        return self._effect(relation, (*args, held), point, depth, is_target=False)

    def _initially(self, relation: Relation, actual: tuple[Term, ...], point: int) -> Reason | None:
        if point != self.history.start:
            return None
        for rule in self.definitions.initials:
            if rule.pair.relation == relation:
                known = match_all((*rule.pair.args, rule.pair.value), actual, {})
                if known is not None and self.goals(rule.goals, known) is not None:
                    return Reason("rule", "it holds initially", self.place(rule.span))
        return None

    def goals(self, goals: tuple[Term, ...], bindings: Bindings) -> Bindings | None:
        """The bindings with which background goals are true; None if they are not."""
        body = tuple(Condition(goal, False) for goal in goals)
        proof = next(self.prover.prove(body, bindings, self.history.start), None)
        return None if proof is None else proof.bindings

    def _effect(
        self, relation: Relation, actual: tuple[Term, ...], point: int, depth: int, is_target: bool
    ) -> Reason | None:
        """The delayed effect of an earlier initiation that begins, or ends, a pair at a point."""
        for effect in self.definitions.effects:
            pair = effect.target if is_target else effect.source
            if pair is None or pair.relation != relation:
                continue
            known = match_all((*pair.args, pair.value), actual, {})
            made = None if known is None else self._delayed(effect, known, point, depth)
            if made:
                return made
        return None

    def _delayed(
        self, effect: DelayedEffect, bindings: Bindings, point: int, depth: int
    ) -> Reason | None:
        known = self.goals(effect.goals, bindings)
        delay = None if known is None else substitute(effect.delay, known)
        if known is None or delay is None or not is_ground(delay) or depth > _DEEPEST:
            return None
        parts = [substitute(part, known) for part in (*effect.source.args, effect.source.value)]
        if not all(map(is_ground, parts)):
            return None
        *args, held = map(value, parts)
        since = point - length_of(delay)
        instance = tuple(args), held
        cause = self.initiation(effect.source.relation, instance, since, depth + 1)
        if cause is None:
            return None
        name = self.name(effect.source.relation, instance)
        reason = Reason(
            "rule", f"{show(delay)} after {name} was initiated at {point_text(since)}, "
            "and not broken since", self.place(effect.span),
        )  # fmt: skip
        reason.reasons.append(cause)
        return reason

    # -- absence ------------------------------------------------------------------------------

    def absent_pair(self, relation: Relation, instance: Instance, time: int, depth: int) -> Reason:
        """That a pair does not hold at a point, and what ended it if it held before."""
        name = self.name(relation, instance)
        reason = Reason("absent", f"{name} does not hold at {point_text(time)}")
        before = [s for s in self.history.fluent(relation).get(instance) if s[1] <= time]
        if before and depth <= _DEEPEST and not self._is_repeated(relation, instance, before[-1]):
            reason.text += f"; it did on {interval_text(before[-1])}"
            reason.reasons += self.ended_reasons(relation, instance, before[-1], depth)
        return reason

    # -- rules and literals --------------------------------------------------------------------

    def _by_rule(
        self, body: tuple[Literal, ...], bindings: Bindings, point: int, span: Span, depth: int,
        unlike: tuple[Term, Term] | None = None,
    ) -> Reason | None:  # fmt: skip
        """The reason that a rule fires at a point, if it does; its value `unlike` another one."""
        try:
            for proof in self.prover.prove(body, bindings, point):
                if unlike and same(substitute(unlike[0], proof.bindings), unlike[1]):
                    continue
                reason = self.rule_reason(span, proof.bindings)
                for support in proof.supports:
                    reason.reasons += self.support(support, point, depth + 1)
                return reason
        except Unexplained as trouble:
            return self.unexplained(str(trouble), point, point, self.place(span))
        return None

    def rule_reason(self, span: Span, bindings: Bindings, hidden: set[str] | None = None) -> Reason:
        """That a rule fired, with what its variables stood for."""
        shown = {
            name: show(term)
            for name, term in bindings.items()
            if not name.startswith("_") and name != "T" and name not in (hidden or ())
        }
        return Reason("rule", "by the rule", self.place(span), shown)

    def support(self, support: Support, point: int, depth: int) -> Iterator[Reason]:
        """The reasons that a literal is true at a point."""
        literal = support.literal
        if isinstance(literal, Condition):
            yield self.goal(literal, dict(support.bindings))
        elif isinstance(literal, Collect):
            yield self._collection(literal, support, point, depth)
        elif isinstance(literal, (Either, Changes)) and support.nested:
            for nested in support.nested:
                yield from self.support(nested, point, depth)
        elif support.happening is not None and isinstance(literal, Happens):
            yield self.event(literal.event.relation, support.happening, depth)
        elif support.instance is not None and isinstance(literal, Changes):
            made = self.initiation(literal.pair.relation, support.instance, point, depth)
            yield made or self.unexplained("this initiation", point, point)
        elif support.instance is not None and isinstance(literal, (Holds, Boundary)):
            yield self._held(literal, support, point, depth)
        else:
            yield from self.absence(literal, dict(support.bindings), point, depth)

    def _collection(self, literal: Collect, support: Support, point: int, depth: int) -> Reason:
        """What a collection or an aggregate gave, and what it was made of."""
        result = show(substitute(literal.result, support.bindings))
        text = f"{self.source_text(literal.span)} gives {result} at {point_text(point)}"
        reason = Reason("condition", text, self.place(literal.span))
        for nested in support.nested[:_MOST_LISTED]:
            reason.reasons += self.support(nested, point, depth + 1)
        if len(support.nested) > _MOST_LISTED:
            more = f"and {len(support.nested) - _MOST_LISTED} more"
            reason.reasons.append(Reason("note", more))
        return reason

    def _held(self, literal: Holds | Boundary, support: Support, point: int, depth: int) -> Reason:
        assert support.instance is not None
        assert support.interval is not None
        relation = literal.pair.relation
        if isinstance(literal, Boundary) and literal.edge == "end":
            name = self.name(relation, support.instance)
            text = f"{name} ends, after {interval_text(support.interval)}"
            reason = Reason("pair", text, interval=support.interval)
            last = support.interval[1] - self.history.tick
            reason.reasons.append(self.pair(relation, support.instance, last, depth + 1))
            reason.reasons += self.ended_reasons(
                relation, support.instance, support.interval, depth
            )
            return reason
        time = point if isinstance(literal, Holds) else support.interval[0]
        return self.pair(relation, support.instance, time, depth)

    def absence(
        self, literal: Literal, bindings: Bindings, point: int, depth: int
    ) -> Iterator[Reason]:
        """That a negated literal is true."""
        when = point_text(point)
        if isinstance(literal, Unless):
            yield Reason("absent", f"not at {when}: {self.source_text(literal.span)}")
        elif isinstance(literal, Happens):
            yield Reason("absent", f"no {self.literal_text(literal, bindings)} at {when}")
        elif isinstance(literal, Holds):
            relation = literal.pair.relation
            parts = [substitute(p, bindings) for p in (*literal.pair.args, literal.pair.value)]
            if all(map(is_ground, parts)):
                *args, held = map(value, parts)
                yield self.absent_pair(relation, (tuple(args), held), point, depth)
            else:
                name = self.literal_text(literal, bindings)
                yield Reason("absent", f"{name} does not hold at {when}")
        else:
            yield Reason("absent", f"not at {when}: {self.source_text(literal.span)}")

    def goal(self, literal: Condition, bindings: Bindings) -> Reason:
        """That a condition is true."""
        goal = substitute(literal.goal, bindings)
        if literal.negated:
            return Reason("absent", f"not {show(goal)}")
        member = self._member(goal)
        if member is not None:
            return member
        place, kind = self.fact_place(goal)
        return Reason(kind, show(goal), place)

    def fact_place(self, goal: Term) -> tuple[str, str]:
        """Where a fact stands, and whether it is a fact or a condition."""
        checked = self.history.plan.checked
        relation = Relation(*functor(goal))
        for clause in checked.clauses.get(relation, ()):
            if not clause.body and _may_be_same(clause.head, goal) and same(clause.head, goal):
                return self.place(clause.span), "fact"
        return "", "fact" if relation in checked.tables else "condition"

    def literal_text(self, literal: Literal, bindings: Bindings) -> str:
        """A literal with what is bound, as it is read."""
        if isinstance(literal, Condition):
            return show(substitute(literal.goal, bindings))
        if isinstance(literal, (Happens, Holds, Boundary, Changes)):
            entity: Event | Pair = literal.event if isinstance(literal, Happens) else literal.pair
            args = tuple(substitute(arg, bindings) for arg in entity.args)
            held = None if isinstance(entity, Event) else substitute(entity.value, bindings)
            text = self._entity(entity.relation, args, held)
            return f"{literal.edge}({text})" if isinstance(literal, Boundary) else text
        return self.source_text(literal.span)

    # -- records, names and places -------------------------------------------------------------

    def _records_at(self, relation: Relation, instance: Instance, time: int) -> list[Reason]:
        """The first record that says that a pair of the input holds at a point."""
        if relation in self.history.answer.fluents:
            return []
        for each in self.history.records_of(relation):
            if (
                formed((each.args, each.value)) == formed(instance)
                and each.start <= time < each.end
            ):
                return [_record_reason(each)]
        return []

    def unexplained(self, subject: str, first: int, last: int, place: str = "") -> Reason:
        """What is not explained yet, with the records that it rests on."""
        reason = Reason("note", f"not explained yet: {subject}; it rests on these records", place)
        known = [each for each in self.history.all_records() if first <= each.start <= last]
        known = known or [each for each in self.history.all_records() if each.start <= last]
        reason.reasons += [_record_reason(each) for each in known[-_MOST_LISTED:]]
        return reason

    def name(self, relation: Relation, instance: Instance) -> str:
        """A pair as it is written."""
        return self._entity(relation, terms(instance[0]), term_of(instance[1]))

    def _entity(self, relation: Relation, args: tuple[Term, ...], held: Term | None) -> str:
        """A pair or an event as it is written; a timer is called after its phrase."""
        if relation in self.definitions.auxiliary:
            return phrase_text(relation.name, args)
        return entity_text(relation, args, held)

    def place(self, span: Span) -> str:
        """File and line of a rule; nothing for what no text was read for."""
        place = self.history.plan.checked.sources.place(span)
        return f"{place.name}:{place.line}" if place else ""

    def source_text(self, span: Span) -> str:
        """What stands at a place of a text, on one line."""
        return " ".join(self.history.plan.checked.sources.text(span).split())

    def _is_repeated(self, *key: Relation | Instance | Interval | Row | Value) -> bool:
        if key in self._seen:
            return True
        self._seen.add(key)
        return False


def _folded(depth: int) -> Reason:
    text = "explained in another place of the tree"
    return Reason("note", text if depth <= _DEEPEST else "earlier causes are left out")


def _record_reason(record: NamedRecord) -> Reason:
    return Reason("record", f"record {record.text}", record.place, record=record)


def _may_be_same(fact: Term, goal: Term) -> bool:
    """No argument is another atom or number: a cheap test before terms are compared as values."""
    return not (isinstance(fact, Compound) and isinstance(goal, Compound)) or not any(
        type(left) is type(right) and isinstance(left, (Atom, Number)) and left != right
        for left, right in zip(fact.args, goal.args, strict=True)
    )
