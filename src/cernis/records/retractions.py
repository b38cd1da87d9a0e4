"""Retractions: which record each takes back, and when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from cernis.kernels.array_types import Integers
from cernis.records.record_columns import (
    INFINITE,
    RecordColumns,
    RecordForm,
    Records,
    numbered,
    one_below_the_other,
)


def resolve(part: RecordColumns, order: Integers | None = None) -> tuple[RecordColumns, Integers]:
    """Tell when each record is taken back, and which retractions find none to take back.

    A retraction takes back one record that is equal in all but its arrival and came before: it
    arrived earlier, or at the same time from an earlier place. Which one of several equal records
    does not matter to what any query sees. The retractions stay among the rows. An order may stand
    for the places, where these are counted from the start again for each batch.
    """
    if part.retracts is None:
        return part, np.empty(0, np.int64)
    order = part.places if order is None else order
    keys = _keys(part)
    asked = np.isin(keys, keys[part.retracts])
    rows = np.flatnonzero(asked)
    rows = rows[np.lexsort((order[rows], part.times[0][rows], keys[rows]))]
    gone = np.full(len(part), INFINITE, np.int64)
    unmatched: list[int] = []
    there: list[int] = []
    last = -1
    arrivals = part.times[0]
    for row, key, retracts in zip(
        rows.tolist(), keys[rows].tolist(), part.retracts[rows].tolist(), strict=True
    ):
        if key != last:
            there, last = [], key
        if not retracts:
            there.append(row)
        elif there:
            gone[there.pop()] = arrivals[row]
        else:
            unmatched.append(row)
    part.gone = gone
    return part, np.array(unmatched, np.int64)


def together(parts: Iterable[RecordColumns]) -> Records:
    """Records that were read in several places, without those that were taken back."""
    by_form: dict[RecordForm, list[RecordColumns]] = {}
    for part in parts:
        by_form.setdefault(part.form, []).append(part)
    relations: dict[RecordForm, RecordColumns] = {}
    for form, alike in by_form.items():
        part, _ = resolve(one_below_the_other(alike))
        if part.retracts is not None:
            kept = ~part.retracts
            kept &= True if part.gone is None else part.gone == INFINITE
            part = replace(part.take(kept), retracts=None, gone=None)
        relations[form] = part.take(np.argsort(part.places, kind="stable"))
    return Records(relations, count=sum(map(len, relations.values())))


def _keys(part: RecordColumns) -> Integers:
    """Equal numbers for records that are equal in all but their arrival."""
    keys = np.zeros(len(part), np.int64)
    chances = [] if part.chances is None else [part.chances]
    for column in [*part.times[1:], *part.columns, *chances]:
        own, count = numbered(column)
        keys, _ = numbered(keys * max(count, 1) + own)
    return keys
