"""Records and written rows by query: those of some instances are taken out."""

from __future__ import annotations

import numpy as np
import pytest

from cernis.evaluate.linked.linked_history import InstanceFlags, RecordLog, ToldHistory
from cernis.evaluate.linked.linked_rows import FiredRows, ToldRows
from cernis.kernels.linked.linked_tables import KIND_BITS, LINE

HANDLES = [np.arange(4) * 2 * LINE, np.arange(8, 14) * LINE]
"""Four instances of two lines, and six of one line."""


def flags(*lines: int) -> InstanceFlags:
    """Those instances that begin at some lines."""
    chosen = np.zeros(14, np.bool_)
    chosen[list(lines)] = True
    return InstanceFlags(chosen, HANDLES)


def records(*rows: tuple[int, int, int]) -> FiredRows:
    """Records: time, kind and number."""
    instances = [(int(HANDLES[kind][number]) << KIND_BITS) | kind for _, kind, number in rows]
    times = [time for time, _, _ in rows]
    return FiredRows(
        np.array(times, np.int64), np.array(instances, np.int64), np.ones(len(rows), np.uint64)
    )


def told(*rows: tuple[int, int, int, int]) -> ToldRows:
    """Rows that were written: code, number, start and end."""
    return ToldRows(*np.array(rows, np.int64).reshape(-1, 4).T)


def listed(rows: ToldRows) -> list[tuple[int, ...]]:
    """The same as tuples."""
    return [tuple(map(int, row)) for row in zip(*rows, strict=True)]


def test_flags_name_instances_of_all_kinds() -> None:
    chosen = flags(2, 9)
    assert not chosen.are_all
    assert [each.tolist() for each in chosen.only or []] == [[2 * LINE], [9 * LINE]]
    assert [len(each) for each in chosen.other_handles()] == [3, 5]
    rows = told((3, 1, 0, 0), (3, 2, 0, 0), (64, 1, 0, 0), (64 + 128, 1, 0, 0), (128, 1, 0, 0))
    assert chosen.of_told(rows).tolist() == [True, False, True, True, True]
    assert chosen.of_rows(records((1, 0, 1), (1, 0, 2), (2, 1, 1))).tolist() == [True, False, True]


def test_most_instances_are_all() -> None:
    chosen = flags(*range(8))
    assert chosen.are_all
    assert chosen.only is None
    assert chosen.of_rows(records((1, 1, 5))).all()


def test_records_are_taken_out_of_all_queries() -> None:
    log = RecordLog()
    log.append(records((1, 0, 1), (2, 0, 2), (5, 1, 1)))
    log.append(records((3, 0, 1), (9, 1, 0)))
    assert log.count_up_to(3) == 3
    assert log.take_out(flags(2, 9)).times.tolist() == [1, 3, 5]
    assert log.all().times.tolist() == [2, 9]
    assert log.take_out(flags(*range(14))).times.tolist() == [2, 9]
    assert log.count == 0


def test_written_rows_are_voided_where_they_lie() -> None:
    history, first = ToldHistory("ends"), told((0, 1, 2, 8), (0, 2, 3, 9), (64, 1, 1, 4))
    history.append(first, 0)
    history.append(told((0, 1, 12, 14), (64, 3, 10, 11)), 0)
    assert listed(history.take_out(flags(2, 9), 5)) == [(0, 1, 2, 8), (0, 1, 12, 14)]
    assert listed(history.after(5)) == [(0, 2, 3, 9), (64, 3, 10, 11)]
    assert first.ends.tolist() == [8, 9, 4]
    assert listed(history.take_out(flags(*range(14)), 10)) == [(64, 3, 10, 11)]
    assert not listed(history.after(0))


@pytest.mark.parametrize("until", ["starts", "ends"])
def test_rows_of_many_queries_are_put_together(until: str) -> None:
    history = ToldHistory("starts" if until == "starts" else "ends")
    for time in range(200):
        history.append(told((0, 1, time, time)), time - 10)
    assert [row[2] for row in listed(history.after(190))] == list(range(191, 200))
