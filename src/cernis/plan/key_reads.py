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
    keys = {r: dict(stage.keys).get(r, ()) for stage in stages for r in own(stage)}
    found: dict[Relation, list[Link]] = {relation: [] for relation in keys}
    for shape in shapes(checked.definitions):
        head = shape.head
        if head.relation not in keys:
            continue
        wanted = [head.args[at] for at in keys[head.relation]]
        for use in shape.uses:
            pairs = tuple(
                (use.args.index(term), at) for at, term in enumerate(wanted) if term in use.args
            )
            link = Link(use.relation, pairs)
            if link not in found[head.relation]:
                found[head.relation].append(link)
    return {relation: tuple(read) for relation, read in found.items()}


def own(stage: Stage) -> Iterator[Relation]:
    """The relations that a stage defines."""
    for stratum in stage.strata:
        yield from stratum.relations


def homes(
    stages: tuple[Stage, ...], read: dict[Relation, tuple[Link, ...]]
) -> dict[Relation, Home]:
    """How each relation is kept.

    What a stage defines by its key, input by the key of the first stage in which it carries all of
    it; other input by what it is first read by.
    """
    found: dict[Relation, Home] = {}
    for at, stage in enumerate(stages):
        keys = dict(stage.keys)
        for relation in own(stage):
            found[relation] = Home(at, keys.get(relation, ()))
    defined = set(found)
    for at, stage in enumerate(stages):
        for relation, key in stage.keys:
            if relation not in defined:
                found.setdefault(relation, Home(at, key))
    for every in read.values():
        for link in every:
            found.setdefault(link.relation, Home(None, tuple(at for at, _ in link.pairs)))
    return found
