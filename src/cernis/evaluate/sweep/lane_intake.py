"""Takes records of a lane in: numbers their keys, and signs them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.stores import StoredRows
from cernis.evaluate.sweep.lane_keys import LaneKeys, key_domains
from cernis.evaluate.sweep.record_signs import RecordSigns, RecordTest
from cernis.kernels.array_types import Integers, Words
from cernis.operators.context.query_context import Context
from cernis.plan.sweep.lanes import FiredKind, Lane


class SignedRecords(NamedTuple):
    """Records as a lane sees them: the number of the key, the time, and what is fired."""

    keys: Integers
    times: Integers
    words: Words


class LaneIntake:
    """What is known of the keys and values of a lane. It outlives runs of the same plan."""

    def __init__(self, lane: Lane, context: Context) -> None:
        self.keys = LaneKeys(lane, key_domains(lane, context))
        self._signs = {
            relation: RecordSigns(list(_tests(lane, relation)), context.encoding.event(relation))
            for relation in lane.events
        }

    def signed(self, relation: Relation, rows: StoredRows, context: Context) -> SignedRecords:
        """The records of an event."""
        times = rows.columns[0]
        words = self._signs[relation].words(rows.arguments, times, context)
        numbers = self.keys.numbers(relation, rows.arguments, len(times))
        return SignedRecords(numbers, times, words.view(np.uint64))


def _tests(lane: Lane, relation: Relation) -> Iterator[RecordTest]:
    """What records of an event may fire."""
    for number, bit in enumerate(lane.fired):
        if bit.kind is FiredKind.RECORD and bit.relation == relation:
            yield RecordTest(number, bit.steps, bit.values)
