"""What the rules of a program do with its relations, as far as evaluation has to know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cernis.check.checker import Checked
from cernis.check.model import (
    Changes,
    Collect,
    Definitions,
    Either,
    Event,
    FluentKind,
    Happens,
    HoldsFor,
    IntervalOperation,
    Literal,
    Relation,
    StaticLiteral,
    Unless,
    temporal,
)
from cernis.plan.logical import Match, Stage
from cernis.plan.pattern_steps import Occurrences, Slide, parts_below, steps_of

EVERYTHING = 1 << 60
"""The reach of a duration that is not known while planning."""


@dataclass(frozen=True, slots=True)
class DurationReach:
    """How far durations reach before a window's edge."""

    results: Mapping[Relation, int] = field(default_factory=dict)
    """By fluent: how far before the edge it may begin although it did not hold there so far."""
    operands: Mapping[Relation, int] = field(default_factory=dict)
    """By fluent: for how long before the edge rules with durations see its intervals."""


@dataclass(frozen=True, slots=True)
class Roles:
    """Relations by what rules do with them."""

    counted: frozenset[Relation]
    """Events that aggregates look at: equal happenings count as one."""
    watched: frozenset[Relation]
    """Fluents whose initiations or terminations are conditions of rules."""
    in_time: frozenset[Relation]
    """Events that are wanted in the order of time, and not by entity."""
    looked_back_at: Mapping[Relation, int | None]
    """Fluents of which rules see intervals that ended before the window, and for how long after
    that; None for ever."""
    reach: Mapping[Relation, int]
    """Fluents with durations, and how far before the window's edge they may still begin."""
    memory: int | None
    """How far before the window rules that relate intervals see; None for ever."""
    inputs: frozenset[Relation]
    """Events and fluents that no rule defines."""
    simple: frozenset[Relation]
    """Simple fluents."""
    defined: tuple[Relation, ...]
    """Fluents that rules define."""


def roles_of(
    stages: tuple[Stage, ...], checked: Checked, durations: DurationReach | None = None
) -> Roles:
    """What rules do with the relations of a program."""
    definitions, fluents = checked.definitions, checked.catalogue.fluents
    kinds = {relation: entry.kind for relation, entry in fluents.items()}
    inputs = {r for r, event in checked.catalogue.events.items() if event.is_input}
    inputs |= {relation for relation, kind in kinds.items() if kind is FluentKind.INPUT}
    pairs = (v.relation for v in checked.dependencies.vertices if v.value is not None)
    bodies = [rule.body for rule in definitions.changes]
    bodies += [rule.body for rule in definitions.events]
    durations = durations or DurationReach()
    return Roles(
        _counted(bodies), _watched(bodies), _in_time(stages, bodies),
        _looked_back_at(definitions, durations), durations.results, definitions.settings.memory,
        frozenset(inputs),
        frozenset(r for r, kind in kinds.items() if kind is FluentKind.SIMPLE),
        tuple(dict.fromkeys(pairs)),
    )  # fmt: skip


def _counted(bodies: list[tuple[Literal, ...]]) -> frozenset[Relation]:
    return frozenset(
        literal.event.relation
        for body in bodies
        for collect in _collects(body)
        for literal in temporal(collect.body)
        if isinstance(literal, Happens)
    )


def _watched(bodies: list[tuple[Literal, ...]]) -> frozenset[Relation]:
    return frozenset(
        literal.pair.relation
        for body in bodies
        for literal in temporal(body)
        if isinstance(literal, Changes)
    )


def _in_time(stages: tuple[Stage, ...], bodies: list[tuple[Literal, ...]]) -> frozenset[Relation]:
    """The events that nothing looks at but windows without a key, which slide along them."""
    strata = (stratum for stage in stages for stratum in stage.strata)
    rules = [rule for s in strata for definition in s.definitions for rule in definition.rules]
    steps = [step for r in rules if isinstance(r, Match) for step in steps_of(r.part.step)]
    slid: set[Relation] = set()
    others = {literal.event.relation for body in bodies for literal in temporal(body)
              if isinstance(literal, Happens)}  # fmt: skip
    for step in steps:
        slides = [each for each in getattr(step, "around", ()) if isinstance(each, Slide)]
        is_slid = bool(slides) and not any(slide.key for slide in slides)
        for below in (part.step for part in parts_below(step)):
            if isinstance(below, Occurrences) and isinstance(below.atom, Event):
                (slid if is_slid else others).add(below.atom.relation)
    return frozenset(slid - others)


def _looked_back_at(
    definitions: Definitions, durations: DurationReach
) -> dict[Relation, int | None]:
    """The fluents of rules with durations, and of those with relations between intervals."""
    reaches: dict[Relation, int | None] = {
        relation: None if reach >= EVERYTHING else reach
        for relation, reach in durations.operands.items()
    }
    memory = definitions.settings.memory
    if memory == 0:
        return reaches
    related = (
        literal.pair.relation
        for rule in definitions.statics
        if any(map(_relates, rule.body))
        for literal in rule.body
        if isinstance(literal, HoldsFor)
    )
    for relation in related:
        known = reaches.get(relation, 0)
        reaches[relation] = None if memory is None or known is None else max(known, memory)
    return reaches


def _relates(literal: StaticLiteral) -> bool:
    return isinstance(literal, IntervalOperation) and literal.operator == "allen"


def _collects(body: tuple[Literal, ...]) -> Iterator[Collect]:
    """The aggregates of a body, at any depth."""
    for literal in body:
        if isinstance(literal, Collect):
            yield literal
            yield from _collects(literal.body)
        elif isinstance(literal, Unless):
            yield from _collects(literal.body)
        elif isinstance(literal, Either):
            for branch in literal.branches:
                yield from _collects(branch)
