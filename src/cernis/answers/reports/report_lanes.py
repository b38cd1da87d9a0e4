"""Lanes of a report: the intervals of each fluent of each entity, in order, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.answers.answer_tables import texts_of
from cernis.kernels.array_types import Booleans, Floats, Integers
from cernis.records.arrow_arrays import as_text, as_texts
from cernis.tables.interval_tables import INFINITY, FluentTable


@dataclass(slots=True)
class LaneRows:
    """Intervals with the texts of the group that each is of; one entry a group, one a row.

    `groups` says of which group a row is. `chances` are probabilities, and not a number where a row
    has none.
    """

    relations: Integers
    entities: pa.Array
    rests: pa.Array
    values: pa.Array
    groups: Integers
    starts: Integers
    ends: Integers
    chances: Floats | None = None


def rows_of(
    tables: Sequence[tuple[int, FluentTable, Floats | None]], with_chances: bool = False
) -> LaneRows:
    """The intervals of some fluents, each with its number and perhaps the probabilities."""
    entities, rests, values = [as_texts([])], [as_texts([])], [as_texts([])]
    none = np.empty(0, np.int64)
    relations, groups, starts, ends = [none], [none], [none], [none]
    chances = [np.empty(0)]
    before = 0
    for number, table, known in tables:
        entity, rest = argument_texts(
            [texts_of(*column) for column in table.columns()[:-1]], len(table)
        )
        entities.append(entity)
        rests.append(rest)
        values.append(texts_of(table.values, table.value_domain))
        relations.append(np.full(len(table), number))
        groups.append(before + np.repeat(np.arange(len(table)), np.diff(table.offsets)))
        starts.append(table.starts)
        ends.append(table.ends)
        chances.append(np.full(len(table.starts), np.nan) if known is None else known)
        before += len(table)
    return LaneRows(
        np.concatenate(relations), pa.concat_arrays(entities), pa.concat_arrays(rests),
        pa.concat_arrays(values), np.concatenate(groups), np.concatenate(starts),
        np.concatenate(ends), np.concatenate(chances) if with_chances else None,
    )  # fmt: skip


def stacked(first: LaneRows, second: LaneRows) -> LaneRows:
    """The groups and rows of two sets, one below the other, without probabilities."""
    return LaneRows(
        np.concatenate([first.relations, second.relations]),
        pa.concat_arrays([first.entities, second.entities]),
        pa.concat_arrays([first.rests, second.rests]),
        pa.concat_arrays([first.values, second.values]),
        np.concatenate([first.groups, len(first.relations) + second.groups]),
        np.concatenate([first.starts, second.starts]), np.concatenate([first.ends, second.ends]),
    )  # fmt: skip


def argument_texts(columns: list[pa.Array], length: int) -> tuple[pa.Array, pa.Array]:
    """The entity of each row, which is its first argument, and the other arguments as one text."""
    nothing = pa.repeat(as_text(""), length)
    if not columns:
        return nothing, nothing
    if len(columns) == 1:
        return columns[0], nothing
    return columns[0], pc.binary_join_element_wise(*columns[1:], as_text(", "))


@dataclass(slots=True)
class Lanes:
    """Lanes in the order of entity, fluent and further arguments, and their rows in this order.

    A fluent whose values may hold together has a lane for each value: `values` is then the code of
    the value plus one, else 0. `order` has the place of each row before they were sorted.
    """

    entities: Integers
    relations: Integers
    rests: Integers
    values: Integers
    counts: Integers
    order: Integers
    row_values: Integers
    starts: Integers
    ends: Integers
    row_lanes: Integers


def lanes_of(
    rows: LaneRows, entities: Integers, rests: Integers, values: Integers, apart: bool = False
) -> Lanes:
    """Sort rows into lanes; the codes of texts are those of groups. `apart` parts all values."""
    parted = np.full(len(entities), apart)
    if not apart:
        parted = _overlapping(rows, _lane_numbers(rows, entities, rests, parted * 0)[0])
    own_values = np.where(parted, values + 1, 0)
    group_lanes, first = _lane_numbers(rows, entities, rests, own_values)
    row_lanes = group_lanes[rows.groups]
    order = np.lexsort((rows.starts, row_lanes))
    row_lanes = row_lanes[order]
    # A group without rows, such as one of a certain fluent that never held, has no lane.
    used, numbers = np.unique(row_lanes, return_inverse=True)
    first = first[used]
    return Lanes(
        entities[first], rows.relations[first], rests[first], own_values[first],
        np.bincount(numbers, minlength=len(used)), order, values[rows.groups][order],
        rows.starts[order], rows.ends[order], numbers,
    )  # fmt: skip


def _lane_numbers(
    rows: LaneRows, entities: Integers, rests: Integers, values: Integers
) -> tuple[Integers, Integers]:
    """The lane of each group, in order, and the first group of each lane."""
    keys = (values, rests, rows.relations, entities)
    order = np.lexsort(keys)
    is_new = np.zeros(len(order), np.bool_)
    is_new[:1] = True
    for key in keys:
        in_order = key[order]
        is_new[1:] |= in_order[1:] != in_order[:-1]
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(is_new) - 1
    return numbers, order[is_new]


def _overlapping(rows: LaneRows, group_lanes: Integers) -> Booleans:
    """Of which groups does the lane have intervals that overlap?"""
    lanes = group_lanes[rows.groups]
    order = np.lexsort((rows.ends, rows.starts, lanes))
    lanes, starts, ends = lanes[order], rows.starts[order], rows.ends[order]
    overlaps = (lanes[1:] == lanes[:-1]) & (starts[1:] < ends[:-1])
    has_overlap = np.zeros(int(group_lanes.max(initial=-1)) + 1, np.bool_)
    has_overlap[lanes[1:][overlaps]] = True
    return has_overlap[group_lanes]


def is_open(ends: Integers) -> Booleans:
    """Which intervals have no known end?"""
    return np.asarray(ends == INFINITY)
