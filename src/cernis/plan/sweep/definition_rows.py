"""One definition over time-points as rows: a simple fluent or a derived event."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cernis.check.model import Event, Grounding, Pair, Relation
from cernis.plan.logical import Definition, Delay, Except, Filter, InitialPoints, PointRule, Scan
from cernis.plan.sweep.delay_plans import DelayDraft, delays_of
from cernis.plan.sweep.grounded_values import GroundedValues
from cernis.plan.sweep.lane_rules import BodyTranslator, RowBody, value_bit
from cernis.plan.sweep.lanes import OPEN, Arguments, FiredBit, LaneInitial
from cernis.plan.sweep.rule_bodies import (
    AskedKind,
    AskedLiteral,
    ConjunctiveBody,
    head_terms,
    names_of,
)
from cernis.plan.sweep.unfit import NotSweptError
from cernis.plan.sweep.unrolled import (
    Instance,
    RuleScope,
    Values,
    check_other_places,
    pattern_of,
)
from cernis.source import NOWHERE, Span
from cernis.syntax.tree import Compound, Term, Variable


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A row that initiates instances, or terminates all that a pattern fits.

    `ended` are the arguments and the value of what is terminated, None where anything is. `value`
    is the signal for a register: which value is initiated, or which open value is terminated.
    """

    body: RowBody
    initiated: Instance | None = None
    ended: Arguments | None = None
    value: FiredBit | None = None


@dataclass(frozen=True, slots=True)
class DefinitionRows:
    """All rows of a definition: changes of a fluent, or happenings of an event."""

    relation: Relation
    changes: tuple[ChangeRow, ...] = ()
    happenings: tuple[tuple[RowBody, Instance], ...] = ()
    delays: tuple[DelayDraft, ...] = ()
    initials: tuple[tuple[Instance, LaneInitial], ...] = ()
    groundings: tuple[Grounding, ...] = ()


def key_names_of(head: Pair | Event, positions: tuple[int, ...]) -> tuple[str, ...]:
    """The names that the key has in a rule."""
    names = [arg.name for arg in (head.args[p] for p in positions) if isinstance(arg, Variable)]
    if len(set(names)) != len(positions) or "_" in names:
        raise NotSweptError("leaves part of its key open", head.span)
    check_other_places(head_terms(head), positions, tuple(names), head.span)
    return tuple(names)


@dataclass(slots=True)
class PointDefinition:
    """Plans the rules of a simple fluent or a derived event."""

    definition: Definition
    translator: BodyTranslator
    grounded: GroundedValues
    are_ends_asked: bool = False
    """Do rules ask for terminations of it?"""
    are_starts_asked: bool = False
    """Do rules ask for initiations of it?"""
    named_values: frozenset[Term] = frozenset()
    """The values that rules of the program name."""

    @property
    def is_register(self) -> bool:
        """May it take any value?"""
        return self.definition.relation in self.translator.registers

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of the key."""
        return self.translator.keys[self.definition.relation]

    # -- instances --------------------------------------------------------------------------

    def instances(self) -> Iterator[Instance]:
        """The instances that rules can give, as far as instances are known."""
        for rule in self.definition.rules:
            if isinstance(rule, PointRule):
                yield from self._heads(rule)
            elif isinstance(rule, InitialPoints):
                yield from (instance for instance, _ in self._initial(rule))
        for delay in self._delays():
            if delay.target is not None:
                yield delay.target
        if self.is_register:
            known = self.translator.known.of.get(self.definition.relation, {})
            for arguments in dict.fromkeys(instance.arguments for instance in known):
                for value in (*sorted(self.named_values, key=repr), OPEN):
                    yield Instance(self.definition.relation, arguments, value)

    def _heads(self, rule: PointRule) -> Iterator[Instance]:
        if rule.kind == "termination" and not self.are_ends_asked:
            return
        known = self.translator.known
        for scope in self._scopes(rule):
            is_open = bool(scope.open_names) or Variable("_") in scope.head
            if is_open and rule.kind != "termination":
                continue
            for values in scope.assignments(known, self.translator.facts):
                if rule.kind == "termination":
                    arguments = pattern_of(rule.head.args, self.positions, values)
                    known.ended.setdefault(self.definition.relation, {})[arguments] = None
                if not is_open and (scope.carried is None or rule.kind == "initiation"):
                    yield self._instance(scope.head, values)

    def _instance(self, terms: tuple[Term, ...], values: Values) -> Instance:
        pattern = pattern_of(terms, self.positions, values)
        if self.definition.kind == "event":
            return Instance(self.definition.relation, pattern)
        value = OPEN if pattern[-1] is None and self.is_register else pattern[-1]
        if value is None:
            raise NotSweptError("gives a value that no rule names", terms[-1].span)
        return Instance(self.definition.relation, pattern[:-1], value)

    def _scopes(self, rule: PointRule) -> Iterator[RuleScope]:
        key_names = key_names_of(rule.head, self.positions)
        head = head_terms(rule.head)
        open_names = frozenset(rule.open_variables)
        if open_names & set(key_names):
            raise NotSweptError("leaves part of its key open", rule.span)
        joined = None
        if rule.kind == "termination" and not self.are_ends_asked:
            assert isinstance(rule.head, Pair)
            joined = AskedLiteral(
                AskedKind.HOLDS, rule.head.relation, rule.head.args, rule.head.value, False,
                rule.span,
            )  # fmt: skip
        allowed = self._allowed(rule)
        for body in self.translator.bodies_of(rule):
            carried = self._carried(rule, body, head, open_names)
            yield self.translator.scope(
                body, head, self.positions, key_names, open_names, None if carried else joined,
                allowed, carried,
            )  # fmt: skip

    def _carried(
        self, rule: PointRule, body: ConjunctiveBody, head: tuple[Term, ...],
        open_names: frozenset[str],
    ) -> str | None:  # fmt: skip
        """The variable of the value, if it is what a single record of the point has."""
        value = head[-1] if head else None
        if not self.is_register or not isinstance(value, Variable) or value.name == "_":
            return None
        if value.name in open_names or value in head[:-1]:
            return None
        literals = [each for each in body.literals if not each.negated and value in each.args]
        is_one = len(literals) == 1 and literals[0].kind is AskedKind.EVENT
        is_one = is_one and literals[0].relation in self.translator.records
        if not is_one or literals[0].args.count(value) != 1:
            return None
        for each in body.literals:
            is_held = each.kind is AskedKind.HOLDS and each.relation in self.translator.registers
            terms = each.args if is_held else each.terms
            if each is not literals[0] and value in terms:
                raise NotSweptError(
                    f"compares {value.name}, which takes any value, with what holds or happens",
                    each.span,
                )
        return value.name

    def _allowed(self, rule: PointRule) -> dict[str, frozenset[Term]]:
        if rule.kind != "initiation":
            return {}
        assert isinstance(rule.head, Pair)
        return self.grounded.of(rule.head, self.definition.groundings)

    # -- rows -------------------------------------------------------------------------------

    def rows(self) -> DefinitionRows:
        """All rows, now that all instances are known."""
        changes: list[ChangeRow] = []
        happenings: list[tuple[RowBody, Instance]] = []
        initials: list[tuple[Instance, LaneInitial]] = []
        self._check()
        for rule in self.definition.rules:
            if isinstance(rule, InitialPoints):
                initials += self._initial(rule)
            elif isinstance(rule, PointRule) and rule.kind == "event":
                happenings += ((row.body, row.initiated) for row in self._rule(rule)
                               if row.initiated is not None)  # fmt: skip
            elif isinstance(rule, PointRule):
                changes += self._rule(rule)
        return DefinitionRows(
            self.definition.relation, tuple(changes), tuple(happenings), tuple(self._delays()),
            tuple(initials), self.definition.groundings,
        )  # fmt: skip

    def _check(self) -> None:
        if self.is_register:
            self._check_register()
        for rule in self.definition.rules:
            if not isinstance(rule, PointRule | InitialPoints | Delay):
                raise NotSweptError("has values of several kinds", rule.span)
        ending = self.definition.ending_values
        known = self.translator.known.of.get(self.definition.relation, {})
        if ending is not None and any(i.value not in ending for i in known):
            raise NotSweptError("has values that do not end others")
        is_asked = self.are_ends_asked or self.are_starts_asked
        if is_asked and any(delay.until_due for delay in self._delays()):
            raise NotSweptError("has effects that may be dropped, and other rules ask for them")

    def _check_register(self) -> None:
        if any(isinstance(rule, Delay) for rule in self.definition.rules):
            raise NotSweptError("has delayed effects of a value that may be any")
        if len(self.definition.groundings) > 1:
            raise NotSweptError("has several groundings of a value that may be any")
        if self.definition.ending_values is not None:
            raise NotSweptError("has values that do not end others")

    def _rule(self, rule: PointRule) -> Iterator[ChangeRow]:
        for scope in self._scopes(rule):
            self._check_head(rule, scope)
            assignments = scope.assignments(self.translator.known, self.translator.facts)
            if scope.carried is not None:
                for values in assignments:
                    yield from self._carried_values(rule, scope, values)
                continue
            for values in assignments:
                for row in self.translator.rows(scope.body, values, scope.key_names):
                    yield self._change(rule, row, scope, values)
            yield from self._other_values(rule, scope, assignments)

    def _change(self, rule: PointRule, row: RowBody, scope: RuleScope, values: Values) -> ChangeRow:
        row = replace(row, span=rule.span)
        if rule.kind == "termination":
            return ChangeRow(row, ended=pattern_of(scope.head, self.positions, values))
        instance = self._instance(scope.head, values)
        return ChangeRow(row, instance, value=value_bit(instance) if self.is_register else None)

    def _carried_values(
        self, rule: PointRule, scope: RuleScope, values: Values
    ) -> Iterator[ChangeRow]:
        """A row for each value that rules name, and one for all others that a record may have."""
        name, relation = scope.carried or "", self.definition.relation
        arguments = pattern_of(scope.head[:-1], self.positions, values)
        known = self.translator.known.matching(relation, (*arguments, None))
        named = [each.value for each in known if each.value is not None and each.value != OPEN]
        for term in named:
            more = {**values, name: term}
            for row in self.translator.rows(scope.body, more, scope.key_names):
                yield self._change(rule, row, scope, more)
        outside = tuple(
            Filter(Compound("\\==", (Variable(name), term)), False, rule.span) for term in named
        )
        body = replace(scope.body, conditions=(*scope.body.conditions, *outside))
        instance = Instance(relation, arguments, OPEN)
        if self.definition.groundings and rule.kind == "initiation":
            body, others = self._grounded_bodies(rule, body)
            for other in others:
                for row in self.translator.rows(other, values, scope.key_names):
                    yield ChangeRow(replace(row, span=rule.span), ended=(*arguments, None))
        for row in self.translator.rows(body, values, scope.key_names):
            row = replace(row, span=rule.span)
            carrier, is_ended = carrier_of(row, name, rule.span), rule.kind == "termination"
            value = value_bit(instance, carrier, name, is_ended)
            if is_ended:
                yield ChangeRow(row, ended=instance.terms, value=value)
            else:
                yield ChangeRow(row, instance, value=value)

    def _grounded_bodies(
        self, rule: PointRule, body: ConjunctiveBody
    ) -> tuple[ConjunctiveBody, list[ConjunctiveBody]]:
        """A body for values that groundings allow; and others, for values that only end others."""
        assert isinstance(rule.head, Pair)
        if self.are_starts_asked:
            raise NotSweptError(
                "takes values that groundings do not allow, and other rules ask "
                "for its initiations",
                rule.span,
            )
        (grounding,) = self.definition.groundings
        apart, together = self.grounded.conditions(rule.head, grounding)
        allowed = replace(body, conditions=(*body.conditions, *together))
        others = [
            replace(body, conditions=(*body.conditions, Except(steps, rule.span)))
            for steps in apart
        ]
        return allowed, others

    def _check_head(self, rule: PointRule, scope: RuleScope) -> None:
        is_open = bool(scope.open_names) or Variable("_") in scope.head
        if is_open and rule.kind != "termination":
            raise NotSweptError("initiates for all members of a family", rule.span)
        of_arguments = names_of(scope.head[:-1]) & scope.open_names
        if self.are_ends_asked and (of_arguments or Variable("_") in scope.head[:-1]):
            raise NotSweptError(
                "terminates whatever instance there is, and other rules ask for that", rule.span
            )

    def _other_values(
        self, rule: PointRule, scope: RuleScope, assignments: list[Values]
    ) -> Iterator[ChangeRow]:
        """Values that groundings do not allow end the others, and that is all they do."""
        value = scope.head[-1] if rule.kind == "initiation" else None
        if not isinstance(value, Variable) or value.name in names_of(scope.head[:-1]):
            return
        facts = self.translator.facts
        known = facts.values(value.name, scope.body.conditions)
        allowed = scope.allowed.get(value.name)
        if allowed is None or (known is not None and known <= allowed):
            return
        ending = self.definition.ending_values
        if scope.is_of_instances(value.name) or (ending and allowed.issuperset(ending)):
            return
        if self.are_starts_asked:
            raise NotSweptError(
                "takes values that groundings do not allow, and other rules ask "
                "for its initiations",
                rule.span,
            )
        bodies = _bodies_outside(scope.body, value, allowed, ending, rule.span)
        others = {
            frozenset((name, term) for name, term in values.items() if name != value.name): None
            for values in assignments
        } or {frozenset(): None}
        for each in others:
            values = dict(each)
            for body, more in bodies:
                for row in self.translator.rows(body, {**values, **more}, scope.key_names):
                    pattern = pattern_of(scope.head[:-1], self.positions, values)
                    yield ChangeRow(replace(row, span=rule.span), ended=(*pattern, None))

    # -- what holds initially, and delays ---------------------------------------------------

    def _initial(self, rule: InitialPoints) -> Iterator[tuple[Instance, LaneInitial]]:
        if rule.probability is not None:
            raise NotSweptError("holds initially with a probability", rule.span)
        body = ConjunctiveBody((), rule.steps, (), "", rule.span)
        head = head_terms(rule.head)
        key_names = tuple(sorted(names_of(rule.head.args[place] for place in self.positions)))
        check_other_places(head, self.positions, key_names, rule.span)
        if Variable("_") in head or names_of(head) - names_of([rule.steps]):
            raise NotSweptError("holds initially for all members of a domain", rule.span)
        allowed = self.grounded.of(rule.head, self.definition.groundings)
        scope = self.translator.scope(body, head, self.positions, key_names, allowed=allowed)
        grows = self.translator.facts.grows(rule.steps)
        has_delays = any(isinstance(each, Delay) for each in self.definition.rules)
        if grows and (has_delays or self.is_register):
            raise NotSweptError(
                "has delayed effects, or any value, initially for members of a domain that grows",
                rule.span,
            )
        for values in scope.assignments(self.translator.known, self.translator.facts):
            initial = LaneInitial(-1, rule, tuple(sorted(values.items())), grows)
            yield self._instance(head, values), initial

    def _delays(self) -> list[DelayDraft]:
        delays = [rule for rule in self.definition.rules if isinstance(rule, Delay)]
        known = self.translator.known.of.get(self.definition.relation, {})
        return delays_of(delays, list(known), self.positions, self.translator.facts)


def _bodies_outside(
    body: ConjunctiveBody, value: Variable, allowed: frozenset[Term],
    ending: tuple[Term, ...] | None, span: Span,
) -> list[tuple[ConjunctiveBody, Values]]:  # fmt: skip
    """A body for values that are not allowed; where only some values end others, one for each."""
    if ending is not None:
        return [(body, {value.name: term}) for term in ending if term not in allowed]
    outside = tuple(
        Filter(Compound("\\==", (value, term)), False, span) for term in sorted(allowed, key=repr)
    )
    return [(replace(body, conditions=(*body.conditions, *outside)), {})]


def carrier_of(row: RowBody, name: str, span: Span) -> FiredBit:
    """The bit of the record that has a variable among its arguments."""
    carriers = [bit for bit in row.any | row.all if Variable(name) in _scanned(bit)]
    if len(carriers) != 1:
        raise NotSweptError("takes its value from several records", span)
    return carriers[0]


def _scanned(bit: FiredBit) -> tuple[Term, ...]:
    scan = bit.steps[0] if bit.steps else None
    is_event = isinstance(scan, Scan) and isinstance(scan.occurrence, Event)
    return scan.occurrence.args if is_event else ()  # type: ignore[union-attr]


def span_of(definition: Definition) -> Span:
    """Where a definition begins."""
    return next((rule.span for rule in definition.rules), NOWHERE)
