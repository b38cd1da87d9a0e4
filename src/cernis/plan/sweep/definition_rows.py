"""One definition over time-points as rows: a simple fluent or a derived event."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cernis.check.model import Event, Grounding, Pair, Relation
from cernis.plan.logical import Definition, Delay, Filter, InitialPoints, PointRule
from cernis.plan.sweep.delay_plans import DelayDraft, delays_of
from cernis.plan.sweep.grounded_values import GroundedValues
from cernis.plan.sweep.lane_rules import BodyTranslator, RowBody
from cernis.plan.sweep.lanes import Arguments, LaneInitial
from cernis.plan.sweep.rule_bodies import (
    AskedKind,
    AskedLiteral,
    ConjunctiveBody,
    bodies_of,
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

    `ended` are the arguments and the value of what is terminated, None where anything is.
    """

    body: RowBody
    initiated: Instance | None = None
    ended: Arguments | None = None


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
                if not is_open:
                    yield self._instance(scope.head, values)

    def _instance(self, terms: tuple[Term, ...], values: Values) -> Instance:
        pattern = pattern_of(terms, self.positions, values)
        if self.definition.kind == "event":
            return Instance(self.definition.relation, pattern)
        return Instance(self.definition.relation, pattern[:-1], pattern[-1])

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
        for body in self._bodies_of(rule):
            yield self.translator.scope(
                body, head, self.positions, key_names, open_names, joined, allowed
            )

    def _allowed(self, rule: PointRule) -> dict[str, frozenset[Term]]:
        if rule.kind != "initiation":
            return {}
        assert isinstance(rule.head, Pair)
        return self.grounded.of(rule.head, self.definition.groundings)

    def _bodies_of(self, rule: PointRule) -> list[ConjunctiveBody]:
        bodies = self.translator.bodies
        if id(rule) not in bodies:
            bodies[id(rule)] = bodies_of(rule.steps, "", rule.span)
        return bodies[id(rule)]

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

    def _rule(self, rule: PointRule) -> Iterator[ChangeRow]:
        for scope in self._scopes(rule):
            self._check_head(rule, scope)
            assignments = scope.assignments(self.translator.known, self.translator.facts)
            for values in assignments:
                for row in self.translator.rows(scope.body, values, scope.key_names):
                    yield self._change(rule, row, scope, values)
            yield from self._other_values(rule, scope, assignments)

    def _change(self, rule: PointRule, row: RowBody, scope: RuleScope, values: Values) -> ChangeRow:
        row = replace(row, span=rule.span)
        if rule.kind == "termination":
            return ChangeRow(row, ended=pattern_of(scope.head, self.positions, values))
        return ChangeRow(row, self._instance(scope.head, values))

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
        if scope.is_of_instances(value.name) or self.definition.ending_values is not None:
            return
        if self.are_starts_asked:
            raise NotSweptError(
                "takes values that groundings do not allow, and other rules ask "
                "for its initiations",
                rule.span,
            )
        outside = tuple(
            Filter(Compound("\\==", (value, term)), False, rule.span)
            for term in sorted(allowed, key=repr)
        )
        body = replace(scope.body, conditions=(*scope.body.conditions, *outside))
        others = {
            frozenset((name, term) for name, term in values.items() if name != value.name): None
            for values in assignments
        } or {frozenset(): None}
        for each in others:
            values = dict(each)
            for row in self.translator.rows(body, values, scope.key_names):
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
        for values in scope.assignments(self.translator.known, self.translator.facts):
            initial = LaneInitial(-1, rule, tuple(sorted(values.items())))
            yield self._instance(head, values), initial

    def _delays(self) -> list[DelayDraft]:
        delays = [rule for rule in self.definition.rules if isinstance(rule, Delay)]
        known = self.translator.known.of.get(self.definition.relation, {})
        return delays_of(delays, list(known), self.positions, self.translator.facts)


def span_of(definition: Definition) -> Span:
    """Where a definition begins."""
    return next((rule.span for rule in definition.rules), NOWHERE)
