"""What lasts is left out of garbage collection at the end of a task, and garbage is not."""

from __future__ import annotations

import gc
import weakref

import pytest

from cernis.spark.worker_collection import exclude_what_lasts


class Node:
    """One of two that refer to each other."""

    def __init__(self) -> None:
        self.other: Node | None = None


def test_what_lasts_is_excluded_and_what_is_garbage_is_collected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cernis.spark.worker_collection._MANY", 100)
    lasting = [[number] for number in range(200)]
    one, other = Node(), Node()
    one.other, other.other = other, one
    gone = weakref.ref(one)
    del one, other
    before = gc.get_freeze_count()
    try:
        exclude_what_lasts()
        assert gc.get_freeze_count() >= before + len(lasting)
        assert gone() is None
    finally:
        gc.unfreeze()


def test_a_little_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cernis.spark.worker_collection._MANY", 1 << 40)
    before = gc.get_freeze_count()
    exclude_what_lasts()
    assert gc.get_freeze_count() == before
