"""Moves of records in time."""

from __future__ import annotations

import cernis
from cernis.explain.histories import NamedRecord
from cernis.explain.record_moves import RecordMove, smallest_move


def test_a_move_changes_one_record() -> None:
    records = cernis.load("happensAt(e, T) :- happensAt(a, T).").records("a|1|1\na|5|5\n")
    record = NamedRecord("a|5|5", "", (), None, 5, 6, 2)
    (part,) = RecordMove(record, -3).apply(records).relations.values()
    assert part.times[1].tolist() == [1, 2]
    (before,) = records.relations.values()
    assert before.times[1].tolist() == [1, 5]
    assert callable(smallest_move)
