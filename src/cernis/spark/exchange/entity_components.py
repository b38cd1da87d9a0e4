"""Components of linked entities: computed before a run, and spread over its buckets by weight.

If no key fits the rules of a stage because they link entities, a first job gathers which entities
records link. The driver joins them into components and gives each a bucket, the heaviest first.
Tasks know the buckets of linked entities; an entity that nothing links is a component of its own,
in the bucket of its hash.

An entity is identified by a hash of 64 bits. If two entities have the same hash, they are taken for
one: their components are joined, and answers stay right.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np

from cernis.check.model import Relation
from cernis.errors import ProgramWarning
from cernis.kernels.array_types import Integers, SmallIntegers
from cernis.knowledge.ground_values import Value
from cernis.plan.entity_links import Links
from cernis.records.record_columns import Coded, Column, RecordColumns, Records, shown
from cernis.spark.exchange.buckets import Hashes, bits_of_number, mixed, number_bits

LARGEST: Final = 0.5
"""A component with a larger share of the records than this gives a warning."""

_STEP: Final = 0xD1B54A32D192ED03
"""Added to hashes once per kind, so that equal values of two kinds have different hashes."""

_WEIGHED: Final = 64
"""For each bucket, so many components go to the bucket with the least weight, others in turn."""


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """The bucket of each linked entity. Entities are sorted."""

    entities: Hashes
    buckets: SmallIntegers

    def bucket_of(self, column: Column, kind: int, buckets: int) -> Integers:
        """The bucket of the component of each entity in a column."""
        entities = entities_of(column, kind)
        chosen = (entities % np.uint64(buckets)).astype(np.int64)
        if len(self.entities) and len(entities):
            places = np.minimum(np.searchsorted(self.entities, entities), len(self.entities) - 1)
            chosen = np.where(self.entities[places] == entities, self.buckets[places], chosen)
        return chosen


def entities_of(column: Column, kind: int) -> Hashes:
    """The hashes of entities of some kind. Text is hashed once for each distinct value."""
    if isinstance(column, Coded):
        values = np.fromiter((_bits(value) for value in column.values), np.uint64)
        bits = values[column.codes] if len(values) else np.empty(0, np.uint64)
    else:
        bits = number_bits(column)
    return mixed(bits + np.uint64(kind * _STEP & (1 << 64) - 1))


def _bits(value: Value) -> int:
    if isinstance(value, int | float):
        return bits_of_number(value)
    text = value if isinstance(value, str) else shown(value)
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


# -- gathering ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Linked:
    """Distinct pairs of entities that records link, and how many records link each."""

    lefts: Hashes
    rights: Hashes
    counts: Integers

    def packed(self) -> tuple[Hashes, Hashes, Integers]:
        """The content of a blob."""
        return self.lefts, self.rights, self.counts


def linked_by(records: Records, links: Links) -> Linked:
    """The pairs that records link: the first entity of a record with each of its others."""
    pairs = [
        each for form, part in records.relations.items()
        if form.relation in links.sources and len(part)
        for each in _pairs(part, links)
    ]  # fmt: skip
    return distinct(pairs)


def _pairs(part: RecordColumns, links: Links) -> Iterator[Linked]:
    relation: Relation = part.form.relation
    skipped = part.form.width - relation.arity
    first, *others = (
        entities_of(part.columns[skipped + position], links.kinds[relation, position])
        for position in links.sources[relation]
    )
    # A record counts once, however many entities it links.
    counts = np.ones(len(part), np.int64)
    for other in others:
        yield Linked(first, other, counts)
        counts = np.zeros(len(part), np.int64)


def distinct(parts: Iterable[Linked]) -> Linked:
    """The pairs of several parts, each once."""
    several = list(parts)
    none = np.empty(0, np.uint64)
    lefts = np.concatenate([none, *(part.lefts for part in several)])
    rights = np.concatenate([none, *(part.rights for part in several)])
    counts = np.concatenate([np.empty(0, np.int64), *(part.counts for part in several)])
    if not len(lefts):
        return Linked(lefts, rights, counts)
    order = np.lexsort((rights, lefts))
    lefts, rights = lefts[order], rights[order]
    is_new = np.append(True, (lefts[1:] != lefts[:-1]) | (rights[1:] != rights[:-1]))
    first = np.flatnonzero(is_new)
    return Linked(lefts[first], rights[first], np.add.reduceat(counts[order], first))


# -- spreading ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ComponentSummary:
    """The size of the components of a step."""

    components: int
    entities: int
    share: float
    """The share of the largest component in the records that link entities."""


def spread(linked: Linked, buckets: int) -> tuple[Components, ComponentSummary]:
    """The components of linked entities and their buckets: the heaviest goes to the emptiest."""
    from cernis.kernels.components import components

    entities, codes = np.unique(np.concatenate([linked.lefts, linked.rights]), return_inverse=True)
    codes = codes.astype(np.int64)
    half = len(linked.lefts)
    labels, number = components(len(entities), [(codes[:half], codes[half:])])
    weights = np.bincount(labels[codes[:half]], linked.counts, number).astype(np.int64)
    chosen = balanced(weights, buckets)
    share = float(weights.max() / max(weights.sum(), 1)) if len(weights) else 0.0
    return (
        Components(entities, chosen[labels].astype(np.int32)),
        ComponentSummary(number, len(entities), share),
    )


def balanced(weights: Integers, buckets: int) -> Integers:
    """A bucket for each weight: the largest first, into the bucket that has the least by then.

    Only the largest weights are placed so, a fixed number for each bucket; the others are light or
    alike, and are dealt out in turn.

    >>> balanced(np.array([5, 4, 3, 3]), 2).tolist()
    [0, 1, 1, 0]
    """
    order = np.argsort(-weights, kind="stable")
    chosen = np.empty(len(weights), np.int64)
    chosen[order] = np.arange(len(weights)) % buckets
    heap = [(0, bucket) for bucket in range(buckets)]
    heapify(heap)
    for number in order[: _WEIGHED * buckets].tolist():
        load, bucket = heappop(heap)
        chosen[number] = bucket
        heappush(heap, (load + int(weights[number]), bucket))
    return chosen


def warn_of_giants(summaries: Mapping[int, ComponentSummary]) -> None:
    """Warn of steps in which one partition has most of the work."""
    for step, summary in summaries.items():
        if summary.share > LARGEST:
            warnings.warn(
                f"stage {step}: one component of linked entities has {summary.share:.0%} of the "
                f"records that link any ({summary.components} components of {summary.entities} "
                "entities); it is evaluated in one partition",
                ProgramWarning,
                stacklevel=2,
            )
