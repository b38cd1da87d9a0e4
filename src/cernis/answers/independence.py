"""How far probabilities are off where independence was assumed, against exact ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.answers.answer_tables import all_intervals
from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.evaluate.probabilities.courses import Courses
from cernis.kernels.array_types import Floats, Integers
from cernis.tables.interval_tables import FluentTable

DEVIATIONS: Final = pa.schema([
    ("fluent", pa.string()), ("args", pa.list_(pa.string())), ("value", pa.string()),
    ("deviation", pa.float64()), ("time", pa.int64()), ("probability", pa.float64()),
    ("exact", pa.float64()),
])  # fmt: skip
"""Of each pair the largest deviation, the first point that has it, and both probabilities there."""

_ROUNDING: Final = 1e-9
"""A smaller deviation is one of rounding."""


def deviations(answer: Answer, exact: Answer) -> pa.Table:
    """How far the probabilities of each pair are off, the largest deviations first.

    Both answers are of one program and the same records. A pair that only one of them has is never
    true in the other.
    """
    parts = [DEVIATIONS.empty_table()]
    for relation in sorted(answer.courses.keys() & exact.courses.keys()):
        parts.append(_of_fluent(relation, answer.courses[relation], exact.courses[relation]))
    return pa.concat_tables(parts).sort_by([
        ("deviation", "descending"), ("fluent", "ascending"), ("time", "ascending")
    ])  # fmt: skip


def deviation_lines(table: pa.Table, count: int) -> Iterator[str]:
    """Deviations in words: of how many pairs there are any, and the pairs of the largest ones."""
    off = table.filter(pc.greater(table["deviation"], _ROUNDING))
    pairs = f"{len(off):,} of {len(table):,} pairs"
    yield f"probabilities of {pairs} are off since others count as independent" + (
        "" if len(off) else ": all are exact"
    )
    for row in off.slice(0, count).to_pylist():
        arguments = f"({', '.join(row['args'])})" if row["args"] else ""
        yield (
            f"  {row['fluent']}{arguments}={row['value']}: {row['probability']:.6f} at "
            f"{row['time']}, exactly {row['exact']:.6f}"
        )


def _of_fluent(relation: Relation, courses: Courses, exact: Courses) -> pa.Table:
    names = [_names(relation, each) for each in (courses, exact)]
    numbers: dict[tuple[object, ...], int] = {}
    merged = _Merged.of([
        (courses, _numbers(names[0], numbers)), (exact, _numbers(names[1], numbers))
    ])  # fmt: skip
    owners, first = merged.first_of_largest()
    every = list(numbers)
    keys = [every[owner] for owner in owners.tolist()]
    return pa.table({
        "fluent": [key[0] for key in keys], "args": [list(key[1]) for key in keys],
        "value": [key[2] for key in keys],
        "deviation": merged.deviations[first], "time": merged.times[first],
        "probability": merged.chances[0][first], "exact": merged.chances[1][first],
    }, schema=DEVIATIONS)  # fmt: skip


def _names(relation: Relation, courses: Courses) -> list[tuple[object, ...]]:
    """The fluent, arguments and value of each pair, as texts."""
    pairs, none = courses.pairs, np.zeros(len(courses.pairs), np.int64)
    offsets = np.arange(len(pairs) + 1)
    table = FluentTable(
        pairs.arguments, pairs.values, pairs.domains, pairs.value_domain, offsets,
        np.arange(len(pairs)), none + np.iinfo(np.int64).max,
    )  # fmt: skip
    rows = all_intervals(Answer({relation: table})).sort_by("start").to_pylist()
    return [(row["fluent"], tuple(row["args"]), row["value"]) for row in rows]


def _numbers(
    names: Iterable[tuple[object, ...]], numbers: dict[tuple[object, ...], int]
) -> Integers:
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)


@dataclass(slots=True)
class _Merged:
    """Two courses of each pair, at each point at which one of them changes."""

    owners: Integers
    times: Integers
    chances: list[Floats]
    deviations: Floats

    @staticmethod
    def of(both: list[tuple[Courses, Integers]]) -> _Merged:
        """The courses of pairs that have numbers."""
        owners = [np.repeat(numbers, np.diff(courses.offsets)) for courses, numbers in both]
        times = [courses.times for courses, _ in both]
        keys = np.stack([np.concatenate(owners), np.concatenate(times)])
        merged = np.unique(keys, axis=1)
        chances = [
            _held_on(merged, np.stack([owner, time]), courses.chances)
            for owner, time, (courses, _) in zip(owners, times, both, strict=True)
        ]
        return _Merged(merged[0], merged[1], chances, np.abs(chances[0] - chances[1]))

    def first_of_largest(self) -> tuple[Integers, Integers]:
        """Each pair that ever may hold, and its row with the largest deviation, the first such."""
        order = np.lexsort((self.times, -self.deviations.round(12), self.owners))
        owners, first = np.unique(self.owners[order], return_index=True)
        return owners, order[first]


def _held_on(merged: Integers, keys: Integers, chances: Floats) -> Floats:
    """At each owner and time, the chance of the last step of the owner up to it; 0 before any."""
    order = np.lexsort((keys[1], keys[0]))
    every = np.concatenate([keys[:, order], merged], axis=1)
    is_asked = np.repeat([0, 1], [keys.shape[1], merged.shape[1]])
    ranks = np.lexsort((is_asked, every[1], every[0]))
    last = np.maximum.accumulate(np.where(is_asked[ranks] == 0, np.arange(len(ranks)), -1))
    asked = np.flatnonzero(is_asked[ranks])
    places = ranks[np.maximum(last[asked], 0)]
    has_step = (last[asked] >= 0) & (every[0][places] == merged[0])
    return np.where(has_step, chances[order][np.minimum(places, len(order) - 1)], 0.0)
