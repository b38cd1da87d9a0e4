"""Buckets that workers keep: streams tell the same, whoever has which bucket, and since when."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.evaluate.sweep.sweep_then_columns import SweepThenColumns
from cernis.spark.streaming import bucket_progress
from cernis.spark.streaming.live_buckets import LiveBucket, LiveBuckets
from cernis.spark.streaming.stream_state import BucketState
from tests.spark.keyed import PROGRAMS, stream
from tests.spark.streaming.local_stream import LocalStream, stream_of
from tests.spark.streaming.test_local_stream import InProcess, arrival, as_changes, pieces

ONE = PROGRAMS["one"].rules
STEADY = [f"{name}|{time}|{time}|{who}" for time, name, who in (
    (2, "win", "ann"), (3, "win", "bob"), (4, "go", "ann|pub"), (7, "lose", "bob"),
    (9, "win", "eve"), (12, "win", "bob"), (13, "lose", "ann"), (17, "win", "zoe"),
)]  # fmt: skip
STEADY += [f"win|18|18|somebody {number}" for number in range(40)]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How sessions came about: made anew, or caught up from a log of so many micro-batches."""
    counts: Counter[str] = Counter()
    new, catch_up = BucketState._new_session, BucketState._caught_up

    def noted_new(state, *rest):  # type: ignore[no-untyped-def]
        counts["new"] += 1
        return new(state, *rest)

    def noted(state, session, log):  # type: ignore[no-untyped-def]
        counts["behind" if log else "at hand"] += session.last is not None
        return catch_up(state, session, log)

    monkeypatch.setattr(BucketState, "_new_session", noted_new)
    monkeypatch.setattr(BucketState, "_caught_up", noted)
    return counts


class Workers:
    """Workers that take buckets at random, fail, begin anew, and do the same task twice."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.workers = [LiveBuckets() for _ in range(3)]

    def __call__(self) -> Sequence[LiveBuckets]:
        if self.random.random() < 0.1:
            self.workers[self.random.randrange(3)] = LiveBuckets()
        return self.random.choices(self.workers, k=self.random.choice((1, 1, 1, 2)))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", [1, 2])
def test_whichever_worker_has_which_bucket(
    name: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(f"workers {name} {seed}")
    monkeypatch.setattr(bucket_progress, "FEW", random.choice((0, 0, 2000)))
    keyed = PROGRAMS[name]
    lines = stream(keyed, random, 60, retractions=seed % 2 == 0)
    lines = sorted(lines, key=lambda line: arrival(line) + random.choice((0, 0, 0, 5)))
    own = stream_of(
        keyed.rules, tmp_path, random.choice((15, 60)), random.choice((3, 8)),
        buckets=1 if name == "foreign domain" else random.choice((1, 2, 3)),
        lateness=random.choice((0, 4)), start=0, tries=Workers(random),
        policy=random.choice(("early", "partial", "final")),
    )  # fmt: skip
    there = InProcess(own)
    for batch in [*pieces(lines, random), ["$clock|120"]]:
        told = f"{name} {seed}: micro-batch {own.batch}"
        before = own.batch, own.state, own.clock
        changes = as_changes(own.take(batch))
        if random.random() < 0.3:
            # The whole micro-batch is done again, as after a failure.
            own.batch, own.state, own.clock = before
            assert as_changes(own.take(batch)) == changes, told
        assert changes == as_changes(there.take(batch)), told


def steady(folder: Path, **more: object) -> LocalStream:
    """A stream that is walked, after micro-batches of which the last ones were logged."""
    own = stream_of(ONE, folder, 60, 2, buckets=1, start=0, **more)
    own.take([*STEADY, "$clock|20"])
    return own


def test_a_bucket_that_the_worker_has_is_not_read(tmp_path: Path, made: Counter[str]) -> None:
    own = steady(tmp_path)
    assert own.program.plan.is_swept
    for time in range(22, 40, 2):
        own.take([f"win|{time}|{time}|ann", f"$clock|{time + 1}"])
    assert made["new"] == 1
    assert made["at hand"] == 9


def test_a_worker_that_missed_a_micro_batch_walks_on(tmp_path: Path, made: Counter[str]) -> None:
    one, other = LiveBuckets(), LiveBuckets()
    own = steady(tmp_path, tries=lambda: [one])
    there = InProcess(own)
    there.take([*STEADY, "$clock|20"])
    turns = iter([other, one, other, one])
    own.tries = lambda: [next(turns)]
    for time in (22, 24, 26, 28):
        batch = [f"lose|{time}|{time}|eve", f"$clock|{time + 1}"]
        assert as_changes(own.take(batch)) == as_changes(there.take(batch))
    assert made["new"] == 2
    assert made["behind"] == 3


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_stage_that_reads_another_one_walks_on(tmp_path: Path, is_kept: bool) -> None:
    """Also after it has been restored."""
    own = stream_of(PROGRAMS["walked pairs"].rules, tmp_path, 20, 5, buckets=2, start=0)
    there = InProcess(own)
    for time in range(0, 80, 8):
        lines = [
            f"win|{time}|{time}|ann", f"lose|{time + 6}|{time + 6}|ann",
            f"win|{time}|{time}|bob", f"near|{time}|{time}|{time + 9}|true|ann|bob",
        ]  # fmt: skip
        own.live = own.live if is_kept else LiveBuckets()
        assert as_changes(own.take(lines)) == as_changes(there.take(lines)), time
        sessions = {key[1]: live.session for key, live in own.live._buckets.items()}
        assert sessions[2].may_walk
        assert not sessions[2].can_be_replayed
        assert sessions[2].last is None or isinstance(sessions[2].evaluator, SweepThenColumns)


def test_a_checkpoint_that_was_put_back_is_read(tmp_path: Path, made: Counter[str]) -> None:
    """A version of the same number with other content does not pass for what the worker has."""
    own = steady(tmp_path / "c")
    shutil.copytree(tmp_path / "c", tmp_path / "copy")
    own.take(["win|22|22|ann", "$clock|23"])
    shutil.rmtree(tmp_path / "c")
    shutil.copytree(tmp_path / "copy", tmp_path / "c")
    anew = stream_of(ONE, tmp_path / "c", 60, 2, buckets=1, start=0)
    anew.batch, anew.state, anew.clock = own.batch - 1, own.state - 1, 21
    anew.take(["win|22|22|dan", "$clock|23"])
    changes = own.take(["lose|24|24|dan", "$clock|25"])
    assert any(row["args"] == ["dan"] for row in changes)
    assert made["new"] == 3


def test_what_has_failed_is_not_met_again(
    tmp_path: Path, made: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = steady(tmp_path)
    before = own.batch, own.state, own.clock
    with monkeypatch.context() as patch:
        patch.setattr(BucketState, "put_session", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            own.take(["win|22|22|dan", "$clock|23"])
    own.batch, own.state, own.clock = before
    assert any(row["args"] == ["dan"] for row in own.take(["win|22|22|dan", "$clock|23"]))
    assert made["new"] == 2


def test_sessions_that_have_waited_longest_are_given_up(tmp_path: Path) -> None:
    own = stream_of(ONE, tmp_path, 60, 2, buckets=1, start=0)
    own.take([*STEADY, "$clock|20"])
    live = own.live._buckets.popitem()[1]
    assert isinstance(live, LiveBucket)
    worker = LiveBuckets(most_records=25_000)
    for bucket in range(3):
        worker.keep((tmp_path, 1, bucket), live)
    assert len(worker) == 2
    plan = live.session.plan
    assert worker.take((tmp_path, 1, 0), plan) is None
    assert worker.take((tmp_path, 1, 2), plan) is live
    assert worker.take((tmp_path, 1, 1), cernis.load(ONE).plan) is None
    assert len(worker) == 0
