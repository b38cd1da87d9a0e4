"""How far a bucket has come, and when its session need not be written."""

from __future__ import annotations

import pytest

from cernis.errors import DataError
from cernis.session.saved.saved_shapes import MOST_REPLAYED, STANDING
from cernis.session.saved.tree_shapes import check
from cernis.spark.streaming import bucket_progress
from cernis.spark.streaming.bucket_progress import BucketProgress, LoggedBatch
from cernis.spark.streaming.stream_clock import Clock

LOG = (LoggedBatch(7, 0, 40, "a"), LoggedBatch(8, 2, 10, "b"), LoggedBatch(9, 1, 0, "c"))
PROGRESS = BucketProgress(Clock(0, 61, 60), 1000, 7, 0, LOG)


def test_it_comes_back_as_it_was() -> None:
    tree = PROGRESS.tree()
    check(tree, STANDING, "standing")
    assert BucketProgress.of(tree) == PROGRESS


def test_states_of_earlier_versions_have_no_log() -> None:
    tree = {name: value for name, value in PROGRESS.tree().items() if name not in ("log", "kept")}
    check(tree, STANDING, "standing")
    assert BucketProgress.of(tree).log == ()


def test_a_log_of_more_queries_than_are_ever_logged_is_refused() -> None:
    tree = {**PROGRESS.tree(), "log": [[7, MOST_REPLAYED + 1, 4, "a"]]}
    with pytest.raises(DataError):
        check(tree, STANDING, "standing")


def test_a_log_goes_on_from_a_version_by_its_digest() -> None:
    assert PROGRESS.since("b") == LOG[1:]
    assert PROGRESS.since("a") == LOG
    assert PROGRESS.since("d") is None


@pytest.mark.parametrize(
    ("queries", "records", "held", "may"),
    [(1, 150, 800, True), (1, 151, 800, False), (13, 0, 800, True), (14, 0, 800, False)],
)
def test_few_records_and_queries_are_logged(
    queries: int, records: int, held: int, may: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = LoggedBatch(10, queries, records, "d")
    assert PROGRESS.may_log(batch, held) == (queries < 14)
    monkeypatch.setattr(bucket_progress, "FEW", 0)
    assert PROGRESS.may_log(batch, held) == may
