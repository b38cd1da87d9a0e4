"""How what definitions read carries the key of their stage: who is affected by a change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cernis.check.checker import Checked
from cernis.check.model import Relation
from cernis.plan.logical import Stage
from cernis.plan.stages import Key, shapes

Pairs = tuple[tuple[int, int], ...]
"""Argument positions of a relation, each with the position in the key that it carries."""


@dataclass(frozen=True, slots=True)
class Link:
    """A relation that a definition reads, and which part of the key it carries."""

    relation: Relation
    pairs: Pairs


@dataclass(frozen=True, slots=True)
class Home:
    """How a relation is kept: by the key of a stage, or by some of its arguments."""

    stage: int | None
    positions: Key


def links(checked: Checked, stages: tuple[Stage, ...]) -> dict[Relation, tuple[Link, ...]]:
    """What each definition of some stages reads, in the order of its rules."""
    # What has effects but no rules has no key.
    keys = {r: dict(stage.keys).get(r, ()) for stage in stages for r in defined_relations(stage)}
    reads: dict[Relation, list[Link]] = {relation: [] for relation in keys}
    for shape in shapes(checked.definitions):
        head = shape.head
        if head.relation not in keys:
            continue
        wanted = [head.args[position] for position in keys[head.relation]]
        for use in shape.uses:
            pairs = tuple(
                (use.args.index(term), position)
                for position, term in enumerate(wanted)
                if term in use.args
            )
            link = Link(use.relation, pairs)
            if link not in reads[head.relation]:
                reads[head.relation].append(link)
    return {relation: tuple(read) for relation, read in reads.items()}


def defined_relations(stage: Stage) -> Iterator[Relation]:
    """The relations that a stage defines."""
    for stratum in stage.strata:
        yield from stratum.relations


def homes(
    stages: tuple[Stage, ...], read: dict[Relation, tuple[Link, ...]]
) -> dict[Relation, Home]:
    """How each relation is kept.

    A relation that a stage defines is kept by the key of that stage. Input is kept by the key of
    the first stage in which it carries the whole key; if there is none, by the arguments by which
    it is first read.
    """
    homes_of: dict[Relation, Home] = {}
    for number, stage in enumerate(stages):
        keys = dict(stage.keys)
        for relation in defined_relations(stage):
            homes_of[relation] = Home(number, keys.get(relation, ()))
    defined = set(homes_of)
    for number, stage in enumerate(stages):
        for relation, key in stage.keys:
            if relation not in defined:
                homes_of.setdefault(relation, Home(number, key))
    for every in read.values():
        for link in every:
            positions = tuple(position for position, _ in link.pairs)
            homes_of.setdefault(link.relation, Home(None, positions))
    return homes_of
