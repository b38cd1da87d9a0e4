"""Heads for members: instances that facts about a key name share the word of the key.

`pow(close(A, K)) iff open(K), chair(K, A)` says of every chair of a committee what it says of the
committee. So a lane of the committee has one bit for all of them. Who they are is found out where
intervals are written out, and where another rule asks about one of them, its conditions are asked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cernis.check.model import FluentKind, Relation
from cernis.plan.logical import (
    Combine,
    Definition,
    Except,
    Fetch,
    IntervalRule,
    PointOperator,
    Require,
)
from cernis.plan.sweep.fact_values import KnownFacts
from cernis.plan.sweep.rule_bodies import (
    ConjunctiveBody,
    Steps,
    bound_names,
    names_asked,
    names_of,
    with_constants,
)
from cernis.syntax.tree import Term, Variable

_ANY = Variable("_")


@dataclass(frozen=True, slots=True)
class HeadMembers:
    """The arguments `positions` of a fluent are members of its key.

    They have the names `names`, and the key has the names `key_names`, in `steps`: the members of a
    key are what comes out for it.
    """

    relation: Relation
    positions: tuple[int, ...]
    names: tuple[str, ...]
    key_names: tuple[str, ...]
    steps: Steps

    def conditions_on(
        self, members: Iterable[Term], key: Iterable[Term], taken: Collection[str]
    ) -> Steps:
        """What says that some terms are members of a key; `taken` are names that mean others."""
        terms = dict(zip((*self.names, *self.key_names), (*members, *key), strict=True))
        for name in sorted({name for step in self.steps for name in names_asked(step)}):
            if name not in terms:
                terms[name] = _fresh(name, taken)
        return tuple(_renamed(step, terms) for step in self.steps)


def _fresh(name: str, taken: Collection[str]) -> Variable:
    while name in taken:
        name = f"{name}'"
    return Variable(name)


def _renamed(step: PointOperator, terms: Mapping[str, Term]) -> PointOperator:
    """A step in which variables are others; what it joins on or binds is renamed, too."""
    fields: dict[str, object] = {}
    for name in ("on", "binds"):
        if hasattr(step, name):
            known = [terms.get(each, Variable(each)) for each in getattr(step, name)]
            fields[name] = tuple(term.name for term in known if isinstance(term, Variable))
    variable = terms.get(getattr(step, "variable", ""))
    if isinstance(variable, Variable):
        fields["variable"] = variable.name
    return replace(with_constants(step, dict(terms)), **fields)  # type: ignore[arg-type]


# -- definitions -----------------------------------------------------------------------------


def with_members(
    definition: Definition, positions: tuple[int, ...], facts: KnownFacts
) -> tuple[Definition, HeadMembers | None]:
    """A definition whose heads leave members open, and who they are, if it has any."""
    rules = [rule for rule in definition.rules if isinstance(rule, IntervalRule)]
    is_static = definition.kind == FluentKind.STATIC and len(rules) == len(definition.rules)
    if not is_static or definition.groundings or not rules:
        return definition, None
    first = _members_of(rules[0], positions, facts)
    if first is None or any(_members_of(rule, positions, facts) != first for rule in rules[1:]):
        return definition, None
    left = tuple(_without_members(rule, first) for rule in rules)
    return replace(definition, rules=left), first


def _members_of(
    rule: IntervalRule, positions: tuple[int, ...], facts: KnownFacts
) -> HeadMembers | None:
    """The members of the key in the head of a rule."""
    args = rule.head.args
    key = [args[place] for place in positions]
    key_names = tuple(term.name for term in key if isinstance(term, Variable))
    if len(set(key_names)) != len(positions) or "_" in key_names:
        return None
    fetched = [step.pair for step in rule.steps if isinstance(step, Fetch)]
    elsewhere = names_of([rule.head.value, *(t for p in fetched for t in (*p.args, p.value))])
    places = [
        place for place, term in enumerate(args)
        if place not in positions and isinstance(term, Variable)
        and term.name not in ("_", *key_names) and term.name not in elsewhere
    ]  # fmt: skip
    names = tuple(args[place].name for place in places)  # type: ignore[union-attr]
    conditions = [s for s in rule.steps if not isinstance(s, Fetch | Combine | Require)]
    steps, reached = asked_of(names, conditions, key_names)
    bound = set[str]().union(*map(bound_names, steps))
    is_apart = len(set(names)) == len(places) and not reached & elsewhere and bound >= set(names)
    if not names or not is_apart or facts.grows(steps):
        return None
    return HeadMembers(rule.head.relation, tuple(places), names, key_names, steps)


def asked_of(
    names: Iterable[str], conditions: Sequence[PointOperator], key_names: tuple[str, ...]
) -> tuple[Steps, set[str]]:
    """The conditions on some names, and on what these share variables with beside the key."""
    reached, known = set(names), -1
    while known != len(reached):
        known = len(reached)
        for step in conditions:
            asked = names_asked(step) - set(key_names)
            reached |= asked if asked & reached else set()
    return tuple(step for step in conditions if names_asked(step) & reached), reached


def _without_members(rule: IntervalRule, members: HeadMembers) -> IntervalRule:
    args = tuple(
        _ANY if place in members.positions else term for place, term in enumerate(rule.head.args)
    )
    steps = tuple(step for step in rule.steps if step not in members.steps)
    return replace(rule, head=replace(rule.head, args=args), steps=steps)


# -- what reads them -------------------------------------------------------------------------


def bodies_without_members(
    body: ConjunctiveBody, members: Mapping[Relation, HeadMembers],
    keys: Mapping[Relation, tuple[int, ...]], first: int = 0,
) -> Iterator[ConjunctiveBody]:  # fmt: skip
    """A body that asks about keys, and whether terms are members; one for each way to be false.

    Literals before the one of number `first` are left as they are.
    """
    literals = list(enumerate(body.literals))[first:]
    place = next((at for at, each in literals if each.relation in members), None)
    if place is None:
        yield body
        return
    literal, known = body.literals[place], members[body.literals[place].relation]
    taken = body.names()
    terms = [_named(literal.args[at], at, taken) for at in known.positions]
    key = [literal.args[at] for at in keys[literal.relation]]
    steps = known.conditions_on(terms, key, taken)
    args = tuple(_ANY if at in known.positions else arg for at, arg in enumerate(literal.args))
    before, after = body.literals[:place], body.literals[place + 1 :]
    of_key = (*before, replace(literal, args=args), *after)
    conditions = body.conditions if literal.negated else (*body.conditions, *steps)
    yield from bodies_without_members(
        replace(body, literals=of_key, conditions=conditions), members, keys, place + 1
    )
    if literal.negated:
        conditions = (*body.conditions, Except(steps, literal.span))
        yield from bodies_without_members(
            replace(body, literals=(*before, *after), conditions=conditions), members, keys, place
        )


def _named(term: Term, place: int, taken: Collection[str]) -> Term:
    """A term, or a name of its own for whatever it is."""
    return _fresh(f"member {place}", taken) if term == _ANY else term
