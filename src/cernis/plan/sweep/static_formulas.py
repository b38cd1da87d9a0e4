"""Statically determined fluents that are causal: a formula over what holds at the same point.

Union, intersection and complement of lists hold at a point if their operands do or do not hold
there. So such a fluent is a disjunction of terms over bits of state. A duration looks back, and a
list that must not be empty looks at all there is: these are no formulas.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from cernis.check.model import Grounding, Relation
from cernis.plan.logical import (
    Combine,
    Definition,
    Fetch,
    IntervalRule,
    PointOperator,
    Require,
)
from cernis.plan.properties.interval_needs import bound_elsewhere
from cernis.plan.sweep.definition_rows import key_names_of
from cernis.plan.sweep.fact_values import constants_in
from cernis.plan.sweep.grounded_values import GroundedValues
from cernis.plan.sweep.key_members import KeyMembers, members_of
from cernis.plan.sweep.lane_rules import BodyTranslator, pair_bit
from cernis.plan.sweep.lanes import OPEN, StateBit, StateKind
from cernis.plan.sweep.record_tests import NEVER, ConditionSplit
from cernis.plan.sweep.rule_bodies import (
    AskedKind,
    AskedLiteral,
    ConjunctiveBody,
    Steps,
    head_terms,
    names_of,
)
from cernis.plan.sweep.unfit import NotCausalError, NotSweptError
from cernis.plan.sweep.unrolled import (
    MOST_VALUES,
    Instance,
    Values,
    check_key,
    check_other_places,
    open_variable,
    pattern_of,
)
from cernis.source import NOWHERE, Span
from cernis.syntax.tree import Term, Variable

_MOST_TERMS = 64
"""A formula with more terms is left to lists or columns."""

_MOST_STATES = 12
"""So many bits can a formula have for all states of them to be looked at."""


@dataclass(frozen=True, slots=True)
class FormulaTerm:
    """All of `pos` hold and none of `neg`."""

    pos: frozenset[StateBit] = frozenset()
    neg: frozenset[StateBit] = frozenset()

    @property
    def is_possible(self) -> bool:
        """Is nothing asked both to hold and not to?"""
        return not self.pos & self.neg


Formula = tuple[FormulaTerm, ...]
"""Any of the terms is true; without terms, nothing is."""

ALWAYS: Formula = (FormulaTerm(),)


def either(formulas: Iterable[Formula]) -> Formula:
    """Where any of some formulas is true."""
    return _checked({term: None for formula in formulas for term in formula})


def both(formulas: Iterable[Formula]) -> Formula:
    """Where all of some formulas are true."""
    result = ALWAYS
    for formula in formulas:
        terms = (
            FormulaTerm(one.pos | other.pos, one.neg | other.neg)
            for one, other in product(result, formula)
        )
        result = _checked({term: None for term in terms if term.is_possible})
    return result


def negation(formula: Formula) -> Formula:
    """Where a formula is not true."""
    return both(
        tuple(
            [FormulaTerm(neg=frozenset([bit])) for bit in term.pos]
            + [FormulaTerm(pos=frozenset([bit])) for bit in term.neg]
        )
        for term in formula
    )


def _checked(terms: dict[FormulaTerm, None]) -> Formula:
    if len(terms) > _MOST_TERMS:
        raise NotSweptError("is a formula with too many terms")
    return tuple(
        term for term in terms
        if not any(other.pos <= term.pos and other.neg <= term.neg for other in terms
                   if other != term)
    )  # fmt: skip


def implies(one: Formula, other: Formula) -> bool:
    """Is one true only where the other is?"""
    bits = sorted({bit for term in (*one, *other) for bit in term.pos | term.neg}, key=repr)
    if len(bits) > _MOST_STATES:
        return False
    return all(
        _is_true(other, held)
        for mask in range(1 << len(bits))
        if _is_true(one, held := {bit for at, bit in enumerate(bits) if mask >> at & 1})
    )


def _is_true(formula: Formula, held: set[StateBit]) -> bool:
    return any(term.pos <= held and not term.neg & held for term in formula)


@dataclass(frozen=True, slots=True)
class StaticPair:
    """A statically determined pair as a formula."""

    instance: Instance
    formula: Formula
    groundings: tuple[Grounding, ...] = ()
    span: Span = NOWHERE
    members: KeyMembers | None = None
    """Keys of which it may hold though nothing else does."""


@dataclass(slots=True)
class StaticDefinition:
    """Plans the rules of a statically determined fluent."""

    definition: Definition
    translator: BodyTranslator
    grounded: GroundedValues
    finite: Collection[Relation] = ()
    """The relations whose instances are known; those of others may be any."""

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of the key."""
        return self.translator.keys[self.definition.relation]

    def rules(self) -> Iterator[IntervalRule]:
        """The rules, which must all be over intervals."""
        for rule in self.definition.rules:
            if not isinstance(rule, IntervalRule):
                raise NotSweptError("has values of several kinds", rule.span)
            yield rule

    def instances(self) -> Iterator[Instance]:
        """The instances that rules can give, as far as instances are known."""
        for rule in self.rules():
            for values in self.assignments(rule):
                yield self.instance(rule, values)

    def instance(self, rule: IntervalRule, values: Values) -> Instance:
        """The head with some values."""
        pattern = pattern_of(head_terms(rule.head), self.positions, values)
        known = self.translator.head_members.get(self.definition.relation)
        decided = (*self.positions, *(known.positions if known else ()))
        if any(term is None for at, term in enumerate(pattern) if at not in decided):
            raise NotSweptError("leaves an argument to its groundings", rule.span)
        return Instance(self.definition.relation, pattern[:-1], pattern[-1])

    def assignments(self, rule: IntervalRule) -> list[Values]:
        """The constants that the variables of fluents can stand for, but for the key."""
        key_names = key_names_of(rule.head, self.positions)
        literals = list(literals_of(rule))
        conditions = conditions_of(rule)
        self._check_bound(rule)
        names = [
            name for name in dict.fromkeys(self._open_names(rule, literals))
            if name not in key_names
        ]  # fmt: skip
        assignments: list[Values] = [{}]
        for name in names:
            assignments = [
                {**values, name: term}
                for values in assignments
                for term in self._candidates(name, rule, literals, conditions, values)
            ]
        body = ConjunctiveBody(tuple(literals), conditions, (), "", rule.span)
        scope = self.translator.scope(body, head_terms(rule.head), self.positions, key_names)
        return [each for each in assignments if scope.is_possible(each, self.translator.facts)]

    def _check_bound(self, rule: IntervalRule) -> None:
        """What holds at a point must give all variables but the key, or facts or groundings do.

        Otherwise the rule also asks what else the window holds. Keys are looked at elsewhere.
        """
        members = self.translator.head_members.get(self.definition.relation)
        places = (*self.positions, *(members.positions if members else ()))
        apart = names_of(head_terms(rule.head)[place] for place in places)
        elsewhere = bound_elsewhere(rule, bool(self.definition.groundings)) - apart
        if elsewhere:
            name = min(elsewhere)
            raise NotSweptError(
                f"may hold where nothing that has its variable {name} does", rule.span
            )

    def _open_names(self, rule: IntervalRule, literals: list[AskedLiteral]) -> Iterator[str]:
        for terms in (head_terms(rule.head), *(literal.terms for literal in literals)):
            yield from (term.name for term in terms if isinstance(term, Variable) and
                        term.name != "_")  # fmt: skip

    def _candidates(
        self, name: str, rule: IntervalRule, literals: list[AskedLiteral], conditions: Steps,
        values: Values,
    ) -> list[Term]:  # fmt: skip
        facts = self.translator.facts
        known = facts.values(name, constants_in(conditions, values))
        if known is None:
            mentioned = [literal for literal in literals if name in names_of(literal.terms)]
            if not mentioned or name in bound_elsewhere(rule, has_groundings=False):
                known = self.grounded.of(rule.head, self.definition.groundings).get(name)
            elif all(literal.relation in self.finite for literal in mentioned):
                known = self._of_instances(name, mentioned)
        if known is None or len(known) > MOST_VALUES:
            raise open_variable(name, head_terms(rule.head), rule.span)
        return sorted(known, key=repr)

    def _of_instances(self, name: str, literals: list[AskedLiteral]) -> frozenset[Term] | None:
        """The values that a variable has in instances; None if it is part of their key."""
        values = {
            constant
            for literal in literals
            for instance in self.translator.known.of.get(literal.relation, ())
            for term, constant in zip(literal.terms, instance.terms, strict=True)
            if term == Variable(name)
        }
        return None if {None, OPEN} & values else frozenset(values)  # type: ignore[arg-type]

    # -- formulas ---------------------------------------------------------------------------

    def pairs(self) -> list[StaticPair]:
        """The formula of each pair."""
        formulas: dict[Instance, list[Formula]] = {}
        for rule in self.rules():
            for values in self.assignments(rule):
                formula = self._formula(rule, values)
                formulas.setdefault(self.instance(rule, values), []).append(formula)
        return [self._pair(instance, either(each)) for instance, each in formulas.items()]

    def _pair(self, instance: Instance, formula: Formula) -> StaticPair:
        groundings, span = self.definition.groundings, self.definition.rules[0].span
        members = None
        if any(all(bit.kind is StateKind.FACT for bit in term.pos) for term in formula):
            members = members_of(self.definition.relation, self.positions, groundings, span)
        return StaticPair(instance, formula, groundings, span, members)

    def _formula(self, rule: IntervalRule, values: Values) -> Formula:
        key_names = key_names_of(rule.head, self.positions)
        formulas: dict[str, Formula] = {}
        required: list[tuple[Require, Formula]] = []
        for step in rule.steps:
            if isinstance(step, Fetch):
                formulas[step.output] = self._fetched(step, values, key_names)
            elif isinstance(step, Combine):
                formulas[step.output] = _combined(step, formulas)
            elif isinstance(step, Require):
                required.append((step, formulas[step.intervals]))
        result = formulas[rule.output]
        for step, formula in required:
            if step.negated or not implies(result, formula):
                raise NotCausalError("asks whether a whole list is empty", step.span)
        split = ConditionSplit(key_names, self.translator.keys, self.translator.facts)
        facts = split.divide((), conditions_of(rule), "", values).facts
        if NEVER in facts:
            return ()
        return both([result, (FormulaTerm(pos=frozenset(facts)),)])

    def _fetched(self, step: Fetch, values: Values, key_names: tuple[str, ...]) -> Formula:
        pair = step.pair
        check_key(pair, self.translator.keys, key_names)
        key, terms = self.translator.keys[pair.relation], (*pair.args, pair.value)
        check_other_places(terms, key, key_names, pair.span)
        pattern = pattern_of(terms, key, values)
        matches = self.translator.known.named(pair.relation, pattern, pair.span)
        return tuple(FormulaTerm(pos=frozenset([pair_bit(each)])) for each in matches)


def literals_of(rule: IntervalRule) -> Iterator[AskedLiteral]:
    """The pairs whose lists a rule asks for."""
    for step in rule.steps:
        if isinstance(step, Fetch):
            pair = step.pair
            yield AskedLiteral(
                AskedKind.HOLDS, pair.relation, pair.args, pair.value, False, step.span
            )


def conditions_of(rule: IntervalRule) -> tuple[PointOperator, ...]:
    """The conditions of a rule over intervals, without those that only durations ask for."""
    conditions = [step for step in rule.steps if not isinstance(step, Fetch | Combine | Require)]
    return tuple(conditions)


SET_OPERATORS = ("union_all", "intersect_all", "complement_all", "relative_complement_all")
"""Operations whose result at a point rests on what their operands are at that point."""


def combined(operator: str, operands: list[Formula]) -> Formula:
    """What an operation on sets of points makes of formulas."""
    if operator == "union_all":
        return either(operands)
    if operator == "intersect_all":
        return both(operands)
    if operator == "complement_all":
        return both(map(negation, operands))
    first, *others = operands
    return both([first, *map(negation, others)])


def _combined(step: Combine, formulas: dict[str, Formula]) -> Formula:
    if step.operator in SET_OPERATORS:
        return combined(step.operator, [formulas.get(name, ()) for name in step.inputs])
    if step.operator.startswith("intDur"):
        raise NotCausalError("asks how long intervals are", step.span)
    raise NotSweptError(f"relates intervals by {step.operator}", step.span)
