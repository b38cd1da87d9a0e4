"""Causes for a report: the rule and the record with which each interval began, and ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.answers.reports.report_lanes import LaneRows, argument_texts
from cernis.answers.time_output import TimeOutput
from cernis.check.model import Relation
from cernis.kernels.array_types import Integers
from cernis.records.arrow_arrays import as_numpy
from cernis.syntax.time_scale import UNITS


@dataclass(slots=True)
class ReportCauses:
    """For each interval the place of a rule and the number of a record; -1 where there is none.

    `rules` are the places that the numbers of rules count; `fired` is how many beginnings, ends and
    happenings each of them has caused.
    """

    rules: list[str]
    begin_rules: Integers
    begin_records: Integers
    end_rules: Integers
    end_records: Integers
    fired: Counter[str]


def causes_of(
    provenance: pa.Table, rows: LaneRows, relations: list[Relation], times: TimeOutput
) -> ReportCauses:
    """Give each interval its causes from the provenance of a result; the first of several."""
    rules = sorted(set(pc.unique(provenance["rule"]).to_pylist()) - {None})
    owners = _owners(provenance, rows, relations, times)
    numbers = _or_less(pc.index_in(provenance["rule"], value_set=pa.array(rules, pa.string())))
    records = _or_less(provenance["record"])
    roles = provenance["role"].to_numpy()
    columns: list[Integers] = []
    for role in ("began", "ended"):
        chosen = np.flatnonzero((owners >= 0) & (roles == role))[::-1]
        for values in (numbers, records):
            column = np.full(len(rows.starts), -1)
            # What is written last stands: the first row of each interval.
            column[owners[chosen]] = values[chosen]
            columns.append(column)
    begin_rules, begin_records, end_rules, end_records = columns
    fired = _fired(provenance, numbers, rules)
    return ReportCauses(rules, begin_rules, begin_records, end_rules, end_records, fired)


def _fired(provenance: pa.Table, numbers: Integers, rules: list[str]) -> Counter[str]:
    """How many intervals and happenings rest on each rule; several records of one count once."""
    if not provenance.num_rows:
        return Counter()
    subject = ["name", "args", "value", "start", "role"]
    codes = [_codes(provenance[name]) for name in subject]
    distinct = np.unique(np.column_stack([*codes, numbers]), axis=0)[:, -1]
    counts = np.bincount(distinct[distinct >= 0], minlength=len(rules))
    return Counter(dict(zip(rules, counts.tolist(), strict=True)))


def _codes(column: pa.ChunkedArray) -> Integers:
    if pa.types.is_list(column.type):
        column = pc.binary_join(column, "\x1f")
    return _or_less(column.combine_chunks().dictionary_encode().indices)


def _or_less(column: pa.ChunkedArray | pa.Array) -> Integers:
    """Whole numbers; -1 where there is none."""
    filled = pc.fill_null(column.cast(pa.int64()), -1)
    return as_numpy(filled)


def _owners(
    provenance: pa.Table, rows: LaneRows, relations: list[Relation], times: TimeOutput
) -> Integers:
    """The interval that each row of the provenance is about; -1 for happenings."""
    names = pa.array([relation.name for relation in relations])
    numbers = _or_less(pc.index_in(provenance["name"], value_set=names))
    lengths = as_numpy(pc.list_value_length(provenance["args"]))
    arities = np.array([relation.arity for relation in relations])
    by_key = {(each.name, each.arity): number for number, each in enumerate(relations)}
    owners = np.full(provenance.num_rows, -1)
    for (name, arity), number in by_key.items():
        alike = [n for n, relation in enumerate(relations) if relation.name == name]
        wanted = np.flatnonzero(np.isin(numbers, alike) & (lengths == arity))
        if len(wanted) and arities[number] == arity:
            owners[wanted] = _matched(provenance.take(pa.array(wanted)), rows, number, arity, times)
    return owners


def _matched(
    part: pa.Table, rows: LaneRows, number: int, arity: int, times: TimeOutput
) -> Integers:
    """The intervals of one fluent that rows of its provenance are about."""
    places = np.flatnonzero(rows.relations[rows.groups] == number)
    groups = rows.groups[places]
    flat = pc.list_flatten(part["args"]).combine_chunks()
    columns = [
        flat.take(pa.array(np.arange(len(part)) * arity + position)) for position in range(arity)
    ]
    entity, rest = argument_texts(columns, len(part))
    texts = [
        (rows.entities.take(pa.array(groups)), entity),
        (rows.rests.take(pa.array(groups)), rest),
        (rows.values.take(pa.array(groups)), part["value"].combine_chunks()),
    ]
    keys, wanted = np.zeros(len(places), np.int64), np.zeros(len(part), np.int64)
    starts = _points(part["start"], times)
    for here, there in [*map(_common_codes, texts), _common_numbers(rows.starts[places], starts)]:
        size = int(max(here.max(initial=0), there.max(initial=0))) + 1
        keys, wanted = _common_numbers(keys * size + here, wanted * size + there)
    order = np.argsort(keys, kind="stable")
    nearby = np.minimum(np.searchsorted(keys[order], wanted), max(len(keys) - 1, 0))
    if not len(keys):
        return np.full(len(part), -1)
    nearest = order[nearby]
    return np.where(keys[nearest] == wanted, places[nearest], -1)


def _common_codes(pair: tuple[pa.Array, pa.Array]) -> tuple[Integers, Integers]:
    both = pa.concat_arrays([each.cast(pa.string()) for each in pair]).dictionary_encode()
    codes = _or_less(both.indices)
    return codes[: len(pair[0])], codes[len(pair[0]) :]


def _common_numbers(here: Integers, there: Integers) -> tuple[Integers, Integers]:
    codes = np.unique(np.concatenate([here, there]), return_inverse=True)[1].ravel()
    return codes[: len(here)], codes[len(here) :]


def _points(column: pa.ChunkedArray, times: TimeOutput) -> Integers:
    """Times of a result as time-points again."""
    if not pa.types.is_timestamp(column.type):
        return _or_less(column)
    ratio = UNITS[column.type.unit] // times.scale.per_second
    return _or_less(column) // ratio
