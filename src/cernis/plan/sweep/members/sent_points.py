"""Points that a lane sends to a lane of another key, with what is counted there.

Where no record of a rule names the key of its head, the lane of its conditions sends the point at
which they are met. Facts say which members of that key it is about. Other lanes are counted as of
before the point, as by `aggregate_all(count, holdsAt(voted(_, K, M)=aye, T), Ayes)` when a ballot
ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from cernis.check.model import Event, Relation
from cernis.plan.logical import Aggregate, EventJoin, Except, Stab
from cernis.plan.sweep.fact_values import KnownFacts
from cernis.plan.sweep.members.head_members import HeadMembers, asked_of
from cernis.plan.sweep.rule_bodies import (
    COUNTS,
    AskedKind,
    AskedLiteral,
    ConjunctiveBody,
    Steps,
    bound_names,
    names_asked,
    names_of,
)
from cernis.plan.sweep.unfit import NotSweptError
from cernis.syntax.tree import Variable


@dataclass(frozen=True, slots=True)
class SentPoints:
    """Where another lane sends the event `gate`, records of `relation` come in this lane.

    Their arguments are the key of the other lane, under the names `key_names`, and then `members`.
    """

    relation: Relation
    gate: Relation
    key_names: tuple[str, ...]
    members: HeadMembers | None

    @property
    def names(self) -> tuple[str, ...]:
        """What the arguments are called."""
        return (*self.key_names, *(self.members.names if self.members else ()))


@dataclass(frozen=True, slots=True)
class SplitBody:
    """A body divided: `sender` is met where a point is sent, `receiver` is asked of the point."""

    sender: ConjunctiveBody
    receiver: ConjunctiveBody
    members: tuple[str, ...]
    member_steps: Steps


def split_body(
    body: ConjunctiveBody, inside: Collection[AskedLiteral], needed: Collection[str],
    key_names: tuple[str, ...], facts: KnownFacts,
) -> SplitBody:  # fmt: skip
    """Divide a body between the lane with the key `key_names` and one whose head needs some names.

    Literals that are `inside` are about the head's instance: they are not sent.
    """
    extra = tuple(sorted(set(needed) - set(key_names)))
    results = {_result_of(each) for each in body.counts}
    plain = [step for step in body.conditions if not isinstance(step, Aggregate)]
    member_steps, of_members = asked_of(extra, plain, key_names)
    if of_members & {*results, body.time} or facts.grows(member_steps):
        raise NotSweptError("has members that more than facts decide", body.span)
    if set(extra) - set[str]().union(*map(bound_names, member_steps)):
        raise NotSweptError("has not one record that names both keys", body.span)
    compared, of_counts = asked_of(results, plain, key_names)
    sent = [each for each in body.literals if each not in inside]
    exceptions = body.exceptions
    if of_members:
        sent, more = _without_absent_members(sent, extra, member_steps, key_names, body, facts)
        exceptions = (*exceptions, *more)
    of_sender = names_of(term for each in sent for term in each.terms) - set(key_names)
    if of_sender & of_counts:
        raise NotSweptError("compares what it counts with a record", body.span)
    if of_sender & of_members or (of_counts | of_sender) & names_of(
        term for each in inside for term in each.terms
    ):
        raise NotSweptError("compares a record with what holds of another key", body.span)
    left = tuple(s for s in plain if s not in member_steps and s not in compared)
    return SplitBody(
        replace(body, literals=tuple(sent), conditions=left, exceptions=exceptions),
        replace(
            body, literals=tuple(inside), conditions=(*body.counts, *compared), exceptions=(),
            is_sent=True,
        ),
        extra, member_steps,
    )  # fmt: skip


def _result_of(step: Aggregate) -> str:
    """The name of a count of what holds; an error if it is no such thing."""
    (inner, *others) = step.body
    is_count = step.kind == "count" and not others and isinstance(inner, Stab)
    if not is_count or not isinstance(step.result, Variable):
        raise NotSweptError(COUNTS, step.span)
    return step.result.name


def _without_absent_members(
    literals: Iterable[AskedLiteral], extra: tuple[str, ...], steps: Steps,
    key_names: tuple[str, ...], body: ConjunctiveBody, facts: KnownFacts,
) -> tuple[list[AskedLiteral], list[Except]]:  # fmt: skip
    """Literals on events that members do not take part in, as exceptions about whoever it is.

    That is the same where a key has one member.
    """
    left, exceptions = [], []
    for literal in literals:
        if not names_of(literal.args) & set(extra):
            left.append(literal)
            continue
        if not literal.negated or literal.kind is not AskedKind.EVENT:
            raise NotSweptError("compares a record with what holds of another key", literal.span)
        if not facts.is_function(steps, key_names, extra):
            raise NotSweptError("has several members, one of whom does something", literal.span)
        exceptions.append(_absence(literal, extra, steps, key_names, body))
    return left, exceptions


def _absence(
    literal: AskedLiteral, extra: tuple[str, ...], steps: Steps, key_names: tuple[str, ...],
    body: ConjunctiveBody,
) -> Except:  # fmt: skip
    taken = body.names()
    others = {name: Variable(_fresh(name, taken)) for name in extra}
    members = HeadMembers(literal.relation, (), extra, key_names, steps)
    conditions = members.conditions_on(others.values(), map(Variable, key_names), taken)
    args = tuple(
        others.get(arg.name, arg) if isinstance(arg, Variable) else arg for arg in literal.args
    )
    event = Event(literal.relation, args, literal.span)
    return Except((EventJoin(event, (), literal.span), *conditions), literal.span)


def _fresh(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name = f"{name}''"
    return name


def check_counted(step: Aggregate, places: tuple[int, ...], body: ConjunctiveBody) -> None:
    """What is counted must be instances whose other arguments may be any."""
    stab = step.body[0]
    assert isinstance(stab, Stab)
    elsewhere = [names_asked(each) for each in body.conditions if each is not step]
    known = names_of(term for literal in body.literals for term in literal.terms)
    known |= set[str]().union(*elsewhere)
    free = [arg for place, arg in enumerate((*stab.pair.args, stab.pair.value))
            if place not in places]  # fmt: skip
    names = [term.name for term in free if isinstance(term, Variable) and term.name != "_"]
    if len(set(names)) != len(names) or known & set(names):
        raise NotSweptError("counts what some other condition is about", step.span)
