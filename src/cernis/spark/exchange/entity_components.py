"""Components of linked entities: found before a run, and spread over its buckets by weight.

Where the rules of a stage link entities across any key, a first job gathers which entities records
link. The driver joins them into components and gives each a bucket, the heaviest first. Tasks know
the buckets of linked entities; one that nothing links is a component of its own, in the bucket of
its hash.

An entity is known by 64 bits of hash. Should two be the same, they are taken for one: their
components join, and answers stay right.
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
from cernis.kernels.array_types import Integers, SmallIntegers
from cernis.knowledge.ground_values import Value
from cernis.plan.entity_links import Links
from cernis.records.record_columns import Coded, Column, RecordColumns, Records, shown
from cernis.spark.exchange.buckets import Hashes, bits_of_number, mixed, number_bits

LARGEST: Final = 0.5
"""The share of records that one component may have before it is warned of."""

_STEP: Final = 0xD1B54A32D192ED03
"""What is between the hashes of equal values of two kinds."""

_WEIGHED: Final = 64
"""So many components a bucket are put where there is least, the others dealt out in turn."""


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Which bucket each linked entity belongs to. Entities are sorted."""

    entities: Hashes
    buckets: SmallIntegers

    def bucket_of(self, column: Column, kind: int, buckets: int) -> Integers:
        """The bucket of the component of each entity in a column."""
        own = entities_of(column, kind)
        found = (own % np.uint64(buckets)).astype(np.int64)
        if len(self.entities) and len(own):
            at = np.minimum(np.searchsorted(self.entities, own), len(self.entities) - 1)
            found = np.where(self.entities[at] == own, self.buckets[at], found)
        return found


def entities_of(column: Column, kind: int) -> Hashes:
    """Entities of some kind, by 64 bits each. Text is hashed once for each distinct value."""
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
    """Distinct pairs of entities that records link, and how many records each."""

    lefts: Hashes
    rights: Hashes
    counts: Integers

    def packed(self) -> tuple[Hashes, Hashes, Integers]:
        """The content of a blob."""
        return self.lefts, self.rights, self.counts


def linked_by(records: Records, links: Links) -> Linked:
    """What records link. A record with three entities links the first with each other one."""
    found = [
        each for form, part in records.relations.items()
        if form.relation in links.sources and len(part)
        for each in _pairs(part, links)
    ]  # fmt: skip
    return distinct(found)


def _pairs(part: RecordColumns, links: Links) -> Iterator[Linked]:
    relation: Relation = part.form.relation
    skipped = part.form.width - relation.arity
    first, *others = (
        entities_of(part.columns[skipped + at], links.kinds[relation, at])
        for at in links.sources[relation]
    )
    # A record counts once, however many it links.
    counts = np.ones(len(part), np.int64)
    for other in others:
        yield Linked(first, other, counts)
        counts = np.zeros(len(part), np.int64)


def distinct(parts: Iterable[Linked]) -> Linked:
    """The pairs of several parts, each once."""
    given = list(parts)
    none = np.empty(0, np.uint64)
    lefts = np.concatenate([none, *(part.lefts for part in given)])
    rights = np.concatenate([none, *(part.rights for part in given)])
    counts = np.concatenate([np.empty(0, np.int64), *(part.counts for part in given)])
    if not len(lefts):
        return Linked(lefts, rights, counts)
    order = np.lexsort((rights, lefts))
    lefts, rights = lefts[order], rights[order]
    is_new = np.append(True, (lefts[1:] != lefts[:-1]) | (rights[1:] != rights[:-1]))
    first = np.flatnonzero(is_new)
    return Linked(lefts[first], rights[first], np.add.reduceat(counts[order], first))


# -- spreading ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spread:
    """How a step's components came out."""

    components: int
    entities: int
    share: float
    """The share that the largest component has of the records that link."""


def spread(linked: Linked, buckets: int) -> tuple[Components, Spread]:
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
        Spread(number, len(entities), share),
    )


def balanced(weights: Integers, buckets: int) -> Integers:
    """A bucket for each weight: the largest first, into the bucket that has the least by then.

    Only the largest weights are placed so, a fixed number for each bucket; the others are light or
    alike, and are dealt out in turn.

    >>> balanced(np.array([5, 4, 3, 3]), 2).tolist()
    [0, 1, 1, 0]
    """
    order = np.argsort(-weights, kind="stable")
    found = np.empty(len(weights), np.int64)
    found[order] = np.arange(len(weights)) % buckets
    heap = [(0, bucket) for bucket in range(buckets)]
    heapify(heap)
    for at in order[: _WEIGHED * buckets].tolist():
        load, bucket = heappop(heap)
        found[at] = bucket
        heappush(heap, (load + int(weights[at]), bucket))
    return found


def warn_of_giants(found: Mapping[int, Spread]) -> None:
    """Say where most of the work will be in one partition."""
    for step, own in found.items():
        if own.share > LARGEST:
            warnings.warn(
                f"stage {step}: one component of linked entities has {own.share:.0%} of the "
                f"records that link any ({own.components} components of {own.entities} entities); "
                "it is evaluated in one partition",
                stacklevel=2,
            )
