"""Fluents that take any value: what their rules ask of it, apart from what bits can say.

Such a fluent has a bit for each value that rules name, and one for all others, the *open* value. A
literal that gives the value a name, and the conditions on that name, are a *guard* of one record of
the point: they compare what was held before it with the record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from cernis.plan.logical import Compute, Except, Filter, PointOperator
from cernis.plan.sweep.lanes import OPEN, HeldValue, StateBit, StateKind, Steps
from cernis.plan.sweep.rule_bodies import AskedKind, AskedLiteral, ConjunctiveBody, names_asked
from cernis.plan.sweep.unfit import NotSweptError
from cernis.source import Span
from cernis.syntax.tree import Atom, Compound, Duration, Number, Term, Variable, functor

_COMPARISONS = frozenset(("<", "=<", ">", ">=", "=:=", "=\\="))
_SAME, _OTHER = frozenset(("=", "==")), frozenset(("\\=", "\\=="))
_OPERATIONS = frozenset([("+", 2), ("-", 2), ("min", 2), ("max", 2), ("abs", 1), ("-", 1)])
_MOST_NESTED = 4
_LARGEST = 2**50
"""Whole numbers up to this size stay exact through some additions of floats."""


@dataclass(frozen=True, slots=True)
class GuardDraft:
    """What the record literal of some number has to meet beside its own conditions."""

    record: int
    literals: tuple[AskedLiteral, ...]
    conditions: Steps


def open_bit(held: HeldValue) -> StateBit:
    """The bit of state of all values that have no bit of their own."""
    return StateBit(StateKind.OPEN, held.relation, held.arguments, OPEN)


def open_literals(
    body: ConjunctiveBody, registers: Collection[object], known: Collection[str] = ()
) -> list[AskedLiteral]:
    """The literals that give the value of a fluent a name which something else mentions."""
    return [
        literal for literal in body.literals
        if literal.kind is AskedKind.HOLDS and literal.relation in registers
        and isinstance(literal.value, Variable) and literal.value.name not in ("_", *known)
        and _mentions(literal.value.name, body) > 1
    ]  # fmt: skip


def _mentions(name: str, body: ConjunctiveBody) -> int:
    wanted = Variable(name)
    count = sum(term == wanted for literal in body.literals for term in literal.terms)
    count += sum(name in names_asked(step) for step in body.conditions)
    return count + sum(name in names_asked(step) for step in body.exceptions)


def asked_of(names: Collection[str], conditions: Steps) -> tuple[list[PointOperator], set[str]]:
    """The conditions on some names, and all names that are these or computed from them."""
    reached, steps = set(names), []
    for step in conditions:
        if names_asked(step) & reached:
            steps.append(step)
            reached |= {step.variable} if isinstance(step, Compute) else set()
    return steps, reached


def compared_names(
    body: ConjunctiveBody, registers: Collection[object], carried: Collection[str]
) -> Iterator[str]:
    """The variables that are compared with the values of fluents, but for those of records."""
    for literal in open_literals(body, registers):
        assert isinstance(literal.value, Variable)
        if literal.value.name not in carried:
            steps, reached = asked_of([literal.value.name], body.conditions)
            names = {name for step in steps for name in names_asked(step)}
            yield from sorted(names - reached - set(carried))


def names_carried(records: Iterable[AskedLiteral]) -> set[str]:
    """The names of the variables that records have among their arguments."""
    return {term.name for each in records for term in each.args if isinstance(term, Variable)}


def without_guards(
    body: ConjunctiveBody, registers: Collection[object], records: list[AskedLiteral],
    known: Collection[str],
) -> tuple[ConjunctiveBody, list[GuardDraft]]:  # fmt: skip
    """A body without what compares open values, and guards in its place.

    `records` are the literals on records that must happen; `known` are variables that stand for
    constants.
    """
    literals = open_literals(body, registers, known)
    if not literals:
        return body, []
    drafts = [_draft(literal, body, records, known) for literal in literals]
    taken = {id(step) for draft in drafts for step in draft.conditions}
    left = tuple(literal for literal in body.literals if literal not in literals)
    conditions = tuple(step for step in body.conditions if id(step) not in taken)
    return replace(body, literals=left, conditions=conditions), drafts


def _draft(
    literal: AskedLiteral, body: ConjunctiveBody, records: list[AskedLiteral],
    known: Collection[str],
) -> GuardDraft:  # fmt: skip
    assert isinstance(literal.value, Variable)
    name = literal.value.name
    steps, reached = asked_of([name], body.conditions)
    if name in names_carried(records):
        steps = []  # what is asked of it is asked of the record
    if literal.negated and steps:
        raise NotSweptError("compares a value that does not hold", literal.span)
    compared = (
        {each for step in steps for each in names_asked(step)} - (reached - {name}) - set(known)
    )
    hosts = _hosts(compared | {name}, records)
    if len(hosts) > 1 or not records:
        raise NotSweptError(
            f"compares {name}, which takes any value, with what is no single record", literal.span
        )
    host = hosts[0] if hosts else 0
    carried = names_carried(records[host : host + 1])
    if compared - carried - {name}:
        missing = min(compared - carried - {name})
        raise NotSweptError(f"compares {name}, which takes any value, with {missing}", literal.span)
    if not steps and name not in carried:
        raise NotSweptError(f"takes {name} from a fluent that has any value", literal.span)
    check_guard(steps, literal.span)
    for step in steps:
        is_computed = bool(names_asked(step) & (reached - {name}))
        if isinstance(step, Filter) and is_sameness(step.condition) is not None and is_computed:
            raise NotSweptError("asks whether a number that it computes is some value", step.span)
    return GuardDraft(host, (literal,), tuple(steps))


def _hosts(names: Collection[str], records: list[AskedLiteral]) -> list[int]:
    """The records that have some of the names among their arguments."""
    return [
        number
        for number, record in enumerate(records)
        if any(isinstance(term, Variable) and term.name in names for term in record.args)
    ]


# -- what guards can compute -----------------------------------------------------------------


def check_guard(steps: Iterable[PointOperator], span: Span) -> None:
    """Guards compare numbers, or ask whether two values are the same."""
    if not all(map(_is_guard, steps)):
        raise NotSweptError("asks of an open value what no comparison says", span)


def _is_guard(step: PointOperator) -> bool:
    if isinstance(step, Compute):
        return step.is_number and isinstance(step.expression, Compound) and _fits(step.expression)
    if isinstance(step, Filter):
        return _is_comparison(step.condition) or is_sameness(step.condition) is not None
    return isinstance(step, Except) and all(
        isinstance(each, Filter) and not each.negated and _is_comparison(each.condition)
        for each in step.body
    )


def _is_comparison(term: Term) -> bool:
    is_comparison = isinstance(term, Compound) and term.functor in _COMPARISONS
    return is_comparison and all(map(_fits, term.args))  # type: ignore[union-attr]


def _fits(term: Term, depth: int = 0) -> bool:
    if isinstance(term, Number):
        return abs(term.value) <= _LARGEST
    if isinstance(term, Variable | Duration):
        return True
    is_known = isinstance(term, Compound) and functor(term) in _OPERATIONS and depth <= _MOST_NESTED
    return is_known and all(_fits(arg, depth + 1) for arg in term.args)  # type: ignore[union-attr]


def is_sameness(term: Term) -> bool | None:
    """Does a comparison ask for the same value (True) or for another one (False)?"""
    if not isinstance(term, Compound) or len(term.args) != 2:
        return None
    if not all(isinstance(arg, Variable | Atom) for arg in term.args):
        return None
    return True if term.functor in _SAME else False if term.functor in _OTHER else None
