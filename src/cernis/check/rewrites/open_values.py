"""Values that no rule names: how the dialect `rtec` reads `initiatedAt(temp(X)=V, T) :- ...`.

There a value that no head of an initiation or termination, no `initially`, no grounding and no
declaration `simpleFluent` names as a constant ends no other: several of them may hold at once,
until one that is named is initiated. So the values that are named are those of a fluent of their
own, `temp by events`; of another, `temp by value`, each value is an argument; and the fluent itself
holds whenever one of the two does. Neither is part of the results.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from cernis.check.goal_checks import named
from cernis.check.model import (
    ANY_VALUE,
    ChangeRule,
    Changes,
    Collect,
    Condition,
    Definitions,
    Either,
    Grounding,
    HoldsFor,
    InitialRule,
    Literal,
    Pair,
    Relation,
    StaticRule,
    Unless,
)
from cernis.check.rewrites.mixed_kinds import copied_pair
from cernis.check.rewrites.renaming import rename_pairs, terms_in
from cernis.source import Span
from cernis.syntax.tree import Atom, Compound, Term, Variable

_TRUE = Atom("true")


def separate_open_values(definitions: Definitions) -> None:
    """Let values that are not named neither end others nor be ended by them."""
    opened = dict.fromkeys(
        rule.pair.relation for rule in definitions.changes
        if rule.initiates and rule.pair.value_name == ANY_VALUE
    )  # fmt: skip
    for relation in opened:
        effects = chain.from_iterable((e.source, e.target) for e in definitions.effects)
        of_effects = [pair for pair in effects if pair and pair.relation == relation]
        if not any(pair.value_name == ANY_VALUE for pair in of_effects):
            _OpenValues(relation, definitions, of_effects).separate()


class _OpenValues:
    """One fluent some of whose initiations leave the value open."""

    def __init__(self, relation: Relation, definitions: Definitions, effects: list[Pair]) -> None:
        self._definitions = definitions
        self._relation = relation
        self._by_events = Relation(f"{relation.name} by events", relation.arity)
        self._by_value = Relation(f"{relation.name} by value", relation.arity + 1)
        heads = [rule.pair for rule in definitions.changes] + definitions.declared_values
        heads += [rule.pair for rule in definitions.initials]
        grounded = [g.entity for g in definitions.groundings if isinstance(g.entity, Pair)]
        self._named = {
            pair.value_name: pair for pair in (*effects, *grounded, *heads)
            if pair.relation == relation and pair.value_name != ANY_VALUE
        }  # fmt: skip

    def separate(self) -> None:
        definitions = self._definitions
        parts = (self._by_events, self._by_value)
        definitions.auxiliary |= {*parts}
        definitions.part_of |= dict.fromkeys(parts, self._relation)
        definitions.changes = [
            each for rule in definitions.changes
            for each in (self._changes(rule) if rule.pair.relation == self._relation else [rule])
        ]  # fmt: skip
        definitions.changes = [
            replace(rule, body=self._body(rule.body)) for rule in definitions.changes
        ]
        definitions.events = [
            replace(rule, body=self._body(rule.body)) for rule in definitions.events
        ]
        definitions.initials = [
            each for rule in definitions.initials for each in self._initials(rule)
        ]
        rename_pairs(definitions, lambda pair, _: self._meant(pair))
        definitions.groundings += [
            each for rule in definitions.groundings for each in self._groundings(rule)
        ]
        if self._named:
            definitions.changes.append(self._ended_by_named())
        wholes = [copied_pair(pair, self._by_events) for pair in self._named.values()]
        definitions.statics += [*map(self._of_whole, wholes), self._copied_values()]

    # -- rules -------------------------------------------------------------------------------

    def _changes(self, rule: ChangeRule) -> list[ChangeRule]:
        """What a rule says of values that are named, and what of others."""
        if rule.pair.value_name != ANY_VALUE:
            return [replace(rule, pair=self._meant(rule.pair))]
        value, found = rule.pair.value, []
        if self._named:
            body = (*rule.body, Condition(self._is_named(value, rule.span), False, rule.span))
            pair = replace(rule.pair, relation=self._by_events)
            found.append(replace(rule, pair=pair, body=body))
        apart = tuple(
            Condition(goal, False, rule.span) for goal in self._is_not_named(value, rule.span)
        )
        found.append(replace(rule, pair=self._valued(rule.pair), body=(*rule.body, *apart)))
        # A termination that leaves the value open ends whatever there is, named or not.
        is_open = not rule.initiates and _is_free(rule)
        return [replace(each, body=rule.body) for each in found] if is_open else found

    def _initials(self, rule: InitialRule) -> list[InitialRule]:
        """The same of what holds initially."""
        pair = rule.pair
        if pair.relation != self._relation or pair.value_name != ANY_VALUE:
            return [rule]
        apart = (*rule.goals, *self._is_not_named(pair.value, rule.span))
        found = [replace(rule, pair=self._valued(pair), goals=apart)]
        if self._named:
            goals = (*rule.goals, self._is_named(pair.value, rule.span))
            found.append(replace(rule, pair=replace(pair, relation=self._by_events), goals=goals))
        return found

    def _is_not_named(self, value: Term, span: Span) -> list[Term]:
        return [Compound("\\==", (value, pair.value), span) for pair in self._named.values()]

    def _is_named(self, value: Term, span: Span) -> Term:
        same = [Compound("==", (value, pair.value), span) for pair in self._named.values()]
        whole: Term = same[-1]
        for each in reversed(same[:-1]):
            whole = Compound(";", (each, whole), span)
        return whole

    def _valued(self, pair: Pair) -> Pair:
        """The pair with its value as an argument."""
        return replace(pair, relation=self._by_value, args=(*pair.args, pair.value), value=_TRUE)

    def _meant(self, pair: Pair) -> Pair:
        if pair.relation != self._relation or pair.value_name == ANY_VALUE:
            return pair
        if pair.value_name in self._named:
            return replace(pair, relation=self._by_events)
        return self._valued(pair)

    def _body(self, body: tuple[Literal, ...]) -> tuple[Literal, ...]:
        return tuple(self._literal(literal) for literal in body)

    def _literal(self, literal: Literal) -> Literal:
        """A literal about changes of whatever value is about those of either part."""
        if isinstance(literal, Either):
            return replace(literal, branches=tuple(map(self._body, literal.branches)))
        if isinstance(literal, (Unless, Collect)):
            return replace(literal, body=self._body(literal.body))
        pair = literal.pair if isinstance(literal, Changes) else None
        if pair is None or pair.relation != self._relation or pair.value_name != ANY_VALUE:
            return literal
        assert isinstance(literal, Changes)
        plain = replace(literal, negated=False)
        parts = (replace(pair, relation=self._by_events), self._valued(pair))
        either = Either(tuple((replace(plain, pair=part),) for part in parts), literal.span)
        return Unless((either,), literal.span) if literal.negated else either

    # -- grounding and the whole -------------------------------------------------------------

    def _groundings(self, rule: Grounding) -> list[Grounding]:
        pair = rule.entity
        if not isinstance(pair, Pair) or pair.relation != self._relation:
            return []
        by_events = replace(rule, entity=replace(pair, relation=self._by_events))
        is_named = pair.value_name in self._named
        return [by_events] if is_named else [by_events, replace(rule, entity=self._valued(pair))]

    def _ended_by_named(self) -> ChangeRule:
        """An initiation of a value that is named ends all that are not."""
        whole = self._whole()
        named_value = replace(whole, relation=self._by_events, value=Variable("_", whole.span))
        body = (Changes(True, named_value, False, whole.span),)
        return ChangeRule(False, self._valued(whole), "T", body, whole.span, is_break=True)

    def _of_whole(self, rule: StaticRule) -> StaticRule:
        return replace(rule, pair=replace(rule.pair, relation=self._relation))

    def _copied_values(self) -> StaticRule:
        """`holdsFor(temp(X)=V, I) :- holdsFor('temp by value'(X, V)=true, I).`"""
        whole = self._whole()
        literal = HoldsFor(self._valued(whole), "I", whole.span)
        return StaticRule(whole, (literal,), "I", whole.span)

    def _whole(self) -> Pair:
        """The fluent with variables as arguments and value."""
        span = next(
            rule.span for rule in self._definitions.changes
            if rule.pair.relation == self._by_value
        )  # fmt: skip
        args = tuple(Variable(f"A{at}", span) for at in range(self._relation.arity))
        return Pair(self._relation, args, Variable("Value", span), span)


def _is_free(rule: ChangeRule) -> bool:
    """Does the body say nothing of the value?"""
    return not named([rule.pair.value]) & named(terms_in(rule.body))
