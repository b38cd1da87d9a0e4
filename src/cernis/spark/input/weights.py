"""Weights: a sample of the input shows which entities have many records, so that buckets are even.

Keys are hashed to slots, and slots are dealt out to buckets, the heaviest first, each to the bucket
with the least weight so far. An entity with many records has a bucket nearly to itself, and that
bucket has a low number, so that its task starts first.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from cernis.errors import DataError
from cernis.kernels.array_types import Floats
from cernis.plan.properties.routes import Positions, Way
from cernis.records.column_titles import is_in_order, relation_title, table_form
from cernis.records.mapping import Mappings
from cernis.records.record_columns import Column, RecordForm
from cernis.records.tabular import argument_column
from cernis.spark.exchange.batch_job import Job
from cernis.spark.exchange.buckets import SLOTS, Slots, Spread, hashes_of, slots_of
from cernis.spark.exchange.pack import arguments_at
from cernis.spark.input.splits import ROW, Split, read_split

Keys: TypeAlias = tuple[int, list[Column], int]
"""The step that the keys are for, their columns, and how many they are."""

_LOOKS: Final = 8
"""How many places of the input are sampled."""

_TEXT: Final = 1 << 20
"""Bytes of text that are sampled in one place."""

_KEYS: Final = 1 << 17
"""Keys of a Parquet file that are sampled in one place."""

_UNSEEN: Final = 0.05
"""The least weight of a slot as a share of the mean: a slot may have keys outside the sample."""


def spread_by_weight(
    job: Job, splits: Sequence[Split], mappings: Mappings
) -> tuple[dict[int, Spread], float]:
    """How keys are spread at each step, and about how many records the fullest bucket gets.

    Steps without keys in the sample are left out: there, keys are spread by hash.
    """
    weights = sampled(job, splits, mappings)
    spreads = {
        step: Spread(job.buckets, dealt(slot_weights, job.buckets))
        for step, slot_weights in weights.items()
    }
    fullest = [
        float(loads(slot_weights, spreads[step]).max()) for step, slot_weights in weights.items()
    ]
    return spreads, max(fullest, default=0.0)


def loads(weights: Floats, spread: Spread) -> Floats:
    """The total weight of each bucket."""
    assert spread.slots is not None
    return np.bincount(spread.slots, weights, spread.buckets).astype(np.float64)


def dealt(weights: Floats, buckets: int) -> Slots:
    """A bucket for each slot, so that buckets are even.

    >>> dealt(np.array([1.0, 9.0, 2.0, 3.0]), 2).tolist()
    [1, 0, 1, 1]
    """
    least = weights + _UNSEEN * weights.sum() / len(weights)
    buckets_of_slots = np.zeros(len(weights), np.uint16)
    waiting = [(0.0, bucket) for bucket in range(buckets)]
    for slot in np.argsort(-least, kind="stable").tolist():
        load, bucket = waiting[0]
        buckets_of_slots[slot] = bucket
        heapq.heapreplace(waiting, (load + float(least[slot]), bucket))
    return buckets_of_slots


def sampled(job: Job, splits: Sequence[Split], mappings: Mappings) -> dict[int, Floats]:
    """About how many records the slots of each step have, estimated from a sample."""
    weights: dict[int, Floats] = {}
    for numbers in _by_step(job, splits):
        for number, rows in looked_at(splits, numbers):
            for step, columns, length in _keys(job, splits, number, mappings):
                slots = slots_of(hashes_of(columns, length))
                slot_weights = weights.setdefault(step, np.zeros(SLOTS))
                slot_weights += np.bincount(slots, minlength=SLOTS) * (rows / length)
    return weights


def _by_step(job: Job, splits: Sequence[Split]) -> list[list[int]]:
    """The numbers of splits in groups, one for each step at which relations have their home.

    Splits whose relation is not known are one more group.
    """
    routes = job.loaded.plan.routes
    steps = {relation.name: home.step for relation, home in routes.homes.items()}
    numbers: dict[int | None, list[int]] = {}
    for number, split in enumerate(splits):
        step = steps.get(Path(split.file).stem) if split.groups else None
        numbers.setdefault(step, []).append(number)
    return list(numbers.values())


def looked_at(
    splits: Sequence[Split], numbers: Sequence[int], looks: int = _LOOKS
) -> Iterator[tuple[int, float]]:
    """Splits at even distances in the input, each with the number of records that it represents.

    >>> list(looked_at([Split("a", "text", size=32), Split("b", "text", size=96)], [0, 1], 2))
    [(0, 2.0), (1, 2.0)]
    """
    ends = np.cumsum([splits[number].size for number in numbers])
    if not ends[-1]:
        return
    points = (np.arange(looks) + 0.5) * (ends[-1] / looks)
    chosen, counts = np.unique(np.searchsorted(ends, points, "left"), return_counts=True)
    for place, count in zip(chosen.tolist(), counts.tolist(), strict=True):
        yield numbers[place], float(count / looks * ends[-1] / ROW)


def _keys(job: Job, splits: Sequence[Split], number: int, mappings: Mappings) -> Iterator[Keys]:
    """The keys of some records of a split: the step, the columns of the key, and how many."""
    split = splits[number]
    if split.groups:
        yield from _parquet_keys(job, split)
    elif split.kind in ("text", "json"):
        part = replace(split, high=min(split.high, split.low + _TEXT))
        records = read_split(part, number, job.loaded.shapes, mappings, job.may_be_uncertain)
        for form, part_records in records.relations.items():
            key = _key(job, form)
            if key is not None and len(part_records):
                yield key[0], arguments_at(part_records, key[1]), len(part_records)


def _parquet_keys(job: Job, split: Split) -> Iterator[Keys]:
    """The keys of a Parquet file, of which only these columns are read.

    Tables of several relations are not sampled.
    """
    from pyarrow import parquet

    name, shapes = Path(split.file).stem, job.loaded.shapes
    with parquet.ParquetFile(split.file) as file:
        titles = file.schema_arrow.names
        if relation_title(titles, shapes, name) is not None or not shapes.knows(name):
            return
        try:
            listed = is_in_order(file.schema_arrow.metadata)
            table_of = table_form(name, titles, shapes, split.file, listed=listed)
        except DataError:
            # The error is reported when the file is read.
            return
        form, columns = table_of.form, table_of.columns
        key = _key(job, form)
        if key is None or not key[1]:
            return
        chosen = [columns[form.width - form.relation.arity + position] for position in key[1]]
        table = file.read_row_groups(list(split.groups), columns=chosen).select(chosen)
    if len(table) > _KEYS:
        # The rows are random, not at even distances, because entities may take turns.
        rows = np.random.default_rng(len(table)).integers(0, len(table), _KEYS)
        table = table.take(pa.array(np.sort(rows)))
    table = table.drop_null()
    if len(table):
        yield (
            key[0],
            [argument_column(column, name, shapes.time_scale) for column in table.columns],
            len(table),
        )


def _key(job: Job, form: RecordForm) -> tuple[int, Positions] | None:
    """The step at which records are at home, and the positions of the key they go by."""
    home = job.loaded.plan.routes.home(form.relation)
    return (home.step, home.links[0]) if home.way is Way.KEYED else None
