"""Terminations that bodies ask for, of fluents some rule of which ends whatever value there is.

A termination of any value is also a termination of the value that a literal names, or that other
literals of its body give to V. So `terminatedAt(F=V, T)` is split into two conditions: something is
terminated at T, and, once V has a value, one of the terminations at T is of that value. Where
nothing else gives V a value, it ranges over the values that are known of the instance, and the
literal stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from cernis.check.goal_checks import Modes, named
from cernis.check.model import (
    ChangeRule,
    Changes,
    Collect,
    Definitions,
    Either,
    Event,
    Literal,
    Pair,
    Relation,
    Unless,
)
from cernis.check.rewrites.grounded_heads import bound_by
from cernis.check.rewrites.renaming import terms_in
from cernis.syntax.tree import Term, Variable, variables

_ANY = Variable("_")


def settle_terminations(definitions: Definitions, modes: Modes) -> None:
    """Take literals about terminations apart where rules end whatever value there is."""
    ended = {rule.pair.relation for rule in definitions.changes if _ends_any(rule, modes)}
    if not ended:
        return
    for index, change in enumerate(definitions.changes):
        body = _settled(change.pair, change.body, change.time, ended, modes)
        definitions.changes[index] = replace(change, body=body)
    for index, event in enumerate(definitions.events):
        body = _settled(event.event, event.body, event.time, ended, modes)
        definitions.events[index] = replace(event, body=body)


def _ends_any(rule: ChangeRule, modes: Modes) -> bool:
    value = rule.pair.value
    is_open = isinstance(value, Variable) and value.name not in bound_by(
        rule.body, modes, {rule.time}
    )
    return not rule.initiates and is_open


def _settled(
    head: Pair | Event, body: tuple[Literal, ...], time: str, ended: set[Relation], modes: Modes
) -> tuple[Literal, ...]:
    terms: list[Term] = [*head.args, *([head.value] if isinstance(head, Pair) else [])]
    counts = Counter(v.name for term in (*terms, *terms_in(body)) for v in variables(term))
    alone = {name for name, count in counts.items() if count == 1}
    return _Settling(ended, modes, time, alone).body(body, set())


@dataclass(frozen=True, slots=True)
class _Settling:
    """Takes the literals of one rule apart."""

    ended: set[Relation]
    modes: Modes
    time: str
    alone: set[str]
    """The variables that stand in one place of the rule."""

    def body(self, body: tuple[Literal, ...], outer: set[str]) -> tuple[Literal, ...]:
        """The literals of a body; those around it give some variables their values."""
        return tuple(part for each in body for part in self._literal(each, body, outer))

    def _literal(
        self, literal: Literal, body: tuple[Literal, ...], outer: set[str]
    ) -> Iterable[Literal]:
        if isinstance(literal, (Either, Unless, Collect)):
            return [self._inside(literal, outer | self._given(literal, body))]
        if not isinstance(literal, Changes) or literal.initiates or literal.negated:
            return [literal]
        value = literal.pair.value
        if literal.pair.relation not in self.ended or not isinstance(value, Variable):
            return [literal]
        some = replace(literal, pair=replace(literal.pair, value=_ANY))
        if value.name in self.alone:
            return [some]
        bound = outer | named(literal.pair.args) | self._given(literal, body)
        if value.name not in bound:
            return [literal]
        # That it is not so that it is not terminated only looks, and takes no part in a join.
        return [some, Unless((replace(literal, negated=True),), literal.span)]

    def _given(self, literal: Literal, body: tuple[Literal, ...]) -> set[str]:
        """The variables that the other literals of a body give a value.

        Of several terminations of one value, the first is asked which it is.
        """
        position = next(position for position, each in enumerate(body) if each is literal)
        later = [each for each in body[position + 1 :] if not self._is_asked(each)]
        return bound_by((*body[:position], *later), self.modes, {self.time})

    def _is_asked(self, literal: Literal) -> bool:
        return isinstance(literal, Changes) and not literal.initiates

    def _inside(self, literal: Either | Unless | Collect, outer: set[str]) -> Literal:
        if isinstance(literal, Either):
            branches = tuple(self.body(branch, outer) for branch in literal.branches)
            return replace(literal, branches=branches)
        return replace(literal, body=self.body(literal.body, outer))
