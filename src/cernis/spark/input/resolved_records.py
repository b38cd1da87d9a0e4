"""Records at their home: retractions are matched with the records that they take back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cernis.kernels.array_types import Booleans
from cernis.records.gathering import NO_RECORD
from cernis.records.record_columns import RecordColumns, Records, one_below_the_other
from cernis.records.retractions import resolve
from cernis.spark.exchange.batch_job import Job


def _all(part: RecordColumns) -> Booleans:
    return np.ones(len(part), np.bool_)


def enter(
    parts: Sequence[RecordColumns], records: Records, job: Job,
    mine: Callable[[RecordColumns], Booleans] = _all,
) -> None:  # fmt: skip
    """Match the retractions among records of one form, and add the records to `records`.

    Retractions that match no record are set aside; `mine` says which of them this task counts.
    """
    part, unmatched = resolve(one_below_the_other(parts))
    if part.retracts is not None:
        lost = part.take(unmatched)
        for row in np.flatnonzero(mine(lost)).tolist():
            aside = records.aside(int(lost.places[row]), NO_RECORD, lost.text(row))
            records.set_aside.append(aside)
        matched = part.retracts.copy()
        matched[unmatched] = False
        records.retractions.append(part.take(matched))
        part = part.take(~part.retracts)
        part.retracts = None
    records.relations[part.form] = part
