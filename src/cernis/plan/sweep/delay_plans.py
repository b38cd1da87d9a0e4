"""Delayed effects of a lane: for each source pair, how long after its initiation, and what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cernis.check.amounts import FARTHEST
from cernis.check.model import Pair, Postponable
from cernis.knowledge.ground_values import canonical
from cernis.plan.logical import Delay
from cernis.plan.sweep.fact_values import KnownFacts
from cernis.plan.sweep.rule_bodies import names_of, with_constants
from cernis.plan.sweep.unfit import NotSweptError
from cernis.plan.sweep.unrolled import Instance, Values, pattern_of
from cernis.source import NOWHERE, Span
from cernis.syntax.tokens import DURATION_UNITS
from cernis.syntax.tree import Compound, Duration, Number, Term, Variable


@dataclass(frozen=True, slots=True)
class DelayDraft:
    """An effect of the initiations of `source`: that `target` is initiated, or `source` ends."""

    source: Instance
    target: Instance | None
    delay: int
    postponable: bool
    until_due: bool
    follows_initial: bool
    span: Span = field(default=NOWHERE, compare=False)


def delays_of(
    delays: Sequence[Delay], instances: Sequence[Instance], key: tuple[int, ...],
    facts: KnownFacts,
) -> list[DelayDraft]:  # fmt: skip
    """The effects of each instance: those of the shortest delay, since they end their source."""
    drafts: list[DelayDraft] = []
    for instance in instances:
        effects = [each for delay in delays for each in _effects(delay, instance, key, facts)]
        shortest = min((each.delay for each in effects), default=0)
        drafts += [each for each in effects if each.delay == shortest]
    return drafts


def _effects(
    delay: Delay, instance: Instance, key: tuple[int, ...], facts: KnownFacts
) -> Iterator[DelayDraft]:
    values = _agreeing(delay.effect.source, instance, key)
    if values is None:
        return
    length = _length(delay, values, key, facts)
    if length is None:
        return
    is_moved = any(_is_moved(each, instance, key, facts) for each in delay.moved_by)
    until_due = any(each.until_due for each in delay.moved_by)
    yield DelayDraft(
        instance, _target(delay, instance, values, key), length, is_moved, is_moved and until_due,
        delay.follows_initial, delay.span,
    )  # fmt: skip


def _agreeing(pair: Pair, instance: Instance, key: tuple[int, ...]) -> Values | None:
    """The values of variables for which a pair is an instance; None if it never is."""
    values: Values = {}
    for place, (term, constant) in enumerate(
        zip((*pair.args, pair.value), instance.terms, strict=True)
    ):
        if place in key:
            if not isinstance(term, Variable):
                raise NotSweptError("has delayed effects of some keys only", pair.span)
        elif isinstance(term, Variable):
            if constant is None or term.name == "_":
                continue
            if values.setdefault(term.name, constant) != constant:
                return None
        elif canonical(term) != constant:
            return None
    return values


def _length(delay: Delay, values: Values, key: tuple[int, ...], facts: KnownFacts) -> int | None:
    """The delay in units of time; None if the effect is not about the instance."""
    effect = delay.effect
    named_keys = [arg.name for p in key if isinstance(arg := effect.source.args[p], Variable)]
    asked = names_of([effect.delay, *effect.goals])
    if asked & set(named_keys) or len(set(named_keys) - {"_"}) < len(named_keys) - named_keys.count(
        "_"
    ):
        raise NotSweptError("has delays that differ from key to key", delay.span)
    goals = [with_constants(goal, values) for goal in effect.goals]
    if facts.grows_goals(goals):
        raise NotSweptError("has delays that a growing domain decides", delay.span)
    wanted = Variable("<delay>")
    length = in_units(with_constants(effect.delay, values))
    answers = facts.solutions([*goals, Compound("is", (wanted, length))])
    lengths = [_whole(answer[wanted.name], delay.span) for answer in answers]
    return min(lengths, default=None)


def in_units(term: Term) -> Term:
    """A length of time as a number of units."""
    if isinstance(term, Duration):
        return Number(term.amount * DURATION_UNITS[term.unit])
    return term


def _whole(term: Term, span: Span) -> int:
    term = in_units(term)
    if not isinstance(term, Number) or not 0 < term.value < FARTHEST:
        raise NotSweptError("has a delay that is no positive number", span)
    return int(term.value)


def _is_moved(
    each: Postponable, instance: Instance, key: tuple[int, ...], facts: KnownFacts
) -> bool:
    values = _agreeing(each.pair, instance, key)
    if values is None:
        return False
    named_keys = {arg.name for p in key if isinstance(arg := each.pair.args[p], Variable)} - {"_"}
    if named_keys & names_of(each.goals):
        raise NotSweptError("has effects that are postponed for some keys only", each.span)
    goals = [with_constants(goal, values) for goal in each.goals]
    if facts.grows_goals(goals):
        raise NotSweptError("has delays that a growing domain decides", each.span)
    return not goals or bool(facts.solutions(goals))


def _target(
    delay: Delay, instance: Instance, values: Values, key: tuple[int, ...]
) -> Instance | None:
    target, source = delay.effect.target, delay.effect.source
    if target is None:
        return None
    same_key = [target.args[place] for place in key] == [source.args[place] for place in key]
    arguments = pattern_of(target.args, key, values)
    if target.relation != source.relation or not same_key or arguments != instance.arguments:
        raise NotSweptError("has delayed effects on another instance", delay.span)
    value = pattern_of((target.value,), (), values)[0]
    if value is None or value == instance.value:
        raise NotSweptError("has a delayed effect that initiates its own source", delay.span)
    return Instance(instance.relation, instance.arguments, value)
