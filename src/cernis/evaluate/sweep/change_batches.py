"""Changes of records that wait for the next query of a lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cernis.kernels.array_types import Array, Integers, Matrix, Tags

NO_TAGS: Tags = np.zeros(0, np.uint32)
NO_PAYLOAD: Matrix = np.zeros((0, 0), np.int64)
FEW = 50_000
"""As many changes cost less in one array than in several."""


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """Records that have come, or that are taken back.

    `fired` are words, or ids of words once they are placed; `mark` is that of rows not yet walked.
    """

    keys: Integers
    times: Integers
    fired: Array
    tags: Tags
    mark: int
    payload: Matrix = field(default_factory=lambda: NO_PAYLOAD)
    """A row of values for each record, of no columns in lanes without registers."""

    def where(self, chosen: Integers) -> ChangeBatch:
        """The changes at some places."""
        tags = self.tags[chosen] if len(self.tags) else self.tags
        payload = self.payload[chosen] if self.payload.shape[1] else self.payload
        return ChangeBatch(
            self.keys[chosen], self.times[chosen], self.fired[chosen], tags, self.mark, payload
        )


def joined(batches: Sequence[ChangeBatch]) -> Sequence[ChangeBatch]:
    """All that has come in one batch, and all that has gone in another, where they are few."""
    if len(batches) < 2 or sum(len(batch.keys) for batch in batches) > FEW:
        return batches
    marks = sorted({batch.mark for batch in batches})
    return [_one([batch for batch in batches if batch.mark == mark]) for mark in marks]


def _one(batches: Sequence[ChangeBatch]) -> ChangeBatch:
    return ChangeBatch(
        np.concatenate([batch.keys for batch in batches]),
        np.concatenate([batch.times for batch in batches]),
        np.concatenate([batch.fired for batch in batches]),
        np.concatenate([batch.tags for batch in batches]),
        batches[0].mark,
        np.concatenate([batch.payload for batch in batches]),
    )
