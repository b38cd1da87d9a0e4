"""Checks explanations: the records that a tree names, evaluated alone, must give the answer again.

Where they do not, the records that are missing are looked for and named, too. A rule may ask, say,
for arguments that only another record names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from cernis.explain.explanation_tree import Reason
from cernis.explain.histories import NamedRecord
from cernis.records.record_columns import Records

_MOST_MISSING = 8
"""So many records are added to those that a tree names."""


def only(records: Records, numbers: Collection[int]) -> Records:
    """The records with some numbers."""
    wanted = np.array(sorted(numbers), np.int64)
    parts = {
        form: part.take(np.isin(part.places, wanted)) for form, part in records.relations.items()
    }
    kept = {form: part for form, part in parts.items() if len(part)}
    count = sum(map(len, kept.values()))
    return Records(kept, count=count, sources=records.sources, dated=records.dated)


def missing_records(
    named: Collection[int], others: list[NamedRecord], gives_answer: Callable[[set[int]], bool]
) -> list[NamedRecord] | None:
    """The records to add to those named for the answer to be given again; None if that fails.

    For each, the shortest beginning of the others that is enough is looked for by halving; its
    last record is one that is missing.
    """
    numbers, missing = set(named), list[NamedRecord]()
    while not gives_answer(numbers):
        low, high = 0, len(others)
        while low < high:
            middle = (low + high) // 2
            is_enough = gives_answer(numbers | {each.number for each in others[:middle]})
            low, high = (low, middle) if is_enough else (middle + 1, high)
        if not 0 < low <= len(others) or len(missing) == _MOST_MISSING:
            return None
        missing.append(others[low - 1])
        numbers.add(others[low - 1].number)
        others = others[: low - 1]
    return missing


def missing_reason(missing: list[NamedRecord] | None) -> Reason:
    """What to say of records that the tree did not name."""
    if missing is None:
        return Reason("note", "the records named here do not give the answer by themselves")
    reason = Reason("note", "the rules also ask for what these records name")
    for each in missing:
        reason.reasons.append(Reason("record", f"record {each.text}", each.place, record=each))
    return reason
