"""Corrections: what one query reported up to its time, and a later one reports otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cernis.answers.reports.report_lanes import LaneRows, rows_of
from cernis.answers.reports.text_codes import coded_texts
from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.kernels.array_types import Booleans, Integers


@dataclass(slots=True)
class Corrections:
    """Stretches about which a query said something else than the one before it.

    `added` says of each whether the later query has it, or has it no longer; `queries` are the
    times of the later ones.
    """

    rows: LaneRows
    added: Booleans
    queries: Integers

    def __len__(self) -> int:
        return len(self.queries)


def corrections(
    as_of: Sequence[tuple[int, Answer]], relations: Sequence[Relation], tick: int
) -> Corrections:
    """Compare the answer of each query with the next one, at points up to the earlier query.

    That an interval goes on, or ends after the earlier query, is no correction.
    """
    numbers = {relation: number for number, relation in enumerate(relations)}
    rows, of_answer = _all_rows(as_of, numbers)
    keys = _group_numbers(rows)[rows.groups]
    parts: list[tuple[Integers, Integers, Integers, Integers, Integers]] = []
    for later in range(1, len(as_of)):
        edge = as_of[later - 1][0] + tick
        before = _clipped(rows, keys, of_answer == later - 1, edge)
        after = _clipped(rows, keys, of_answer == later, edge)
        for is_added, (these, others) in enumerate([(before, after), (after, before)]):
            stretches = _differences(these, others)
            for group, start, end in stretches:
                parts.append((group, start, end, is_added, as_of[later][0]))  # type: ignore[arg-type]
    corrected = np.array(parts, np.int64).reshape(-1, 5)
    example = np.zeros(int(keys.max(initial=-1)) + 1, np.int64)
    example[keys] = rows.groups
    groups = example[corrected[:, 0]] if len(corrected) else corrected[:, 0]
    marked = replace(
        rows, groups=groups, starts=corrected[:, 1], ends=corrected[:, 2], chances=None
    )
    return Corrections(marked, corrected[:, 3] > 0, corrected[:, 4])


def _all_rows(
    as_of: Sequence[tuple[int, Answer]], numbers: Mapping[Relation, int]
) -> tuple[LaneRows, Integers]:
    """The intervals of all answers, and of which answer each is."""
    tables, of_answer = [], [np.empty(0, np.int64)]
    for place, (_, answer) in enumerate(as_of):
        for relation, table in answer.fluents.items():
            if relation in numbers:
                tables.append((numbers[relation], table, None))
                of_answer.append(np.full(len(table.starts), place))
    return rows_of(tables), np.concatenate(of_answer)


def _group_numbers(rows: LaneRows) -> Integers:
    """Equal numbers for groups of one pair, whichever answer they are of."""
    codes = [coded_texts([texts])[1][0] for texts in (rows.entities, rows.rests, rows.values)]
    keys = np.column_stack([rows.relations, *codes])
    numbers = np.unique(keys, axis=0, return_inverse=True)[1]
    return numbers.astype(np.int64).ravel()


def _clipped(rows: LaneRows, keys: Integers, chosen: Booleans, edge: int) -> Integers:
    """Key, start and end of intervals of one answer, as far as they lie before the edge."""
    some = chosen & (rows.starts < edge)
    ends = np.minimum(rows.ends[some], edge)
    return np.column_stack([keys[some], rows.starts[some], ends])


def _differences(these: Integers, others: Integers) -> list[tuple[int, int, int]]:
    """The stretches of some intervals that others do not cover; most are in both."""
    both = np.concatenate([these, others])
    numbers = np.unique(both, axis=0, return_inverse=True)[1].ravel()
    is_common = np.isin(numbers[: len(these)], numbers[len(these) :])
    left = these[~is_common]
    near = others[np.isin(others[:, 0], left[:, 0])]
    covers: dict[int, list[tuple[int, int]]] = {}
    for key, start, end in sorted(map(tuple, near.tolist())):
        covers.setdefault(key, []).append((start, end))
    return [
        (key, *stretch)
        for key, start, end in left.tolist()
        for stretch in uncovered(start, end, covers.get(key, []))
    ]


def uncovered(start: int, end: int, cover: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """What is left of `[start, end)` without some disjoint, sorted intervals.

    >>> uncovered(0, 10, [(2, 4), (8, 12)])
    [(0, 2), (4, 8)]
    """
    stretches = []
    for first, last in cover:
        if first > start and min(first, end) > start:
            stretches.append((start, min(first, end)))
        start = max(start, last)
        if start >= end:
            break
    if start < end:
        stretches.append((start, end))
    return stretches
