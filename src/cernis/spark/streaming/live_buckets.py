"""Buckets that a worker has evaluated last, which need not be restored for the next micro-batch.

A worker that evaluates a bucket may have done so in the micro-batch before. Then it still has the
session, and restoring it would only make the same again. If another worker has evaluated the bucket
since, the session can go on from the records that the checkpoint has of the micro-batches between.

Nothing depends on that: a state is written in every micro-batch, and a session that is kept counts
only if the checkpoint goes on from the very version that this session has written, by the digest of
its checksums. A task that is tried again, that runs twice, or that runs in another worker finds no
such session and restores the state. A session is taken out while it is at work, so one that fails
is not met again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from cernis.spark.streaming.bucket_store import PartPlace
from cernis.spark.streaming.stream_demands import Demands

if TYPE_CHECKING:
    from cernis.plan.builder import Plan
    from cernis.spark.streaming.bucket_progress import BucketProgress
    from cernis.spark.streaming.stream_session import StageSession

BucketKey: TypeAlias = tuple[Path, int, int]
"""The folder of a checkpoint, a step, and a bucket."""

_MOST_RECORDS: Final = 8_000_000
"""So many records in all are in the windows of the sessions that a worker keeps."""

_LEAST_SIZE: Final = 10_000
"""A session takes at least as much memory as so many records."""


@dataclass(slots=True)
class LiveBucket:
    """A bucket as a micro-batch has left it, in memory and in the checkpoint."""

    digest: str
    """The digest of the version that was written."""
    places: Mapping[str, PartPlace]
    progress: BucketProgress
    demands: Demands
    session: StageSession

    @property
    def size(self) -> int:
        """How much memory it takes, counted in records."""
        return max(self.progress.held, _LEAST_SIZE)

    def end(self) -> None:
        """Leave the codes of its values to another session."""
        self.session.leave_workspace()


@dataclass(slots=True)
class LiveBuckets:
    """The buckets that a worker keeps; those that have waited longest are given up first."""

    most_records: int = _MOST_RECORDS
    _buckets: OrderedDict[BucketKey, LiveBucket] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, key: BucketKey, plan: Plan) -> LiveBucket | None:
        """Take a bucket out."""
        live = self._buckets.pop(key, None)
        return live if live is not None and live.session.plan is plan else None

    def keep(self, key: BucketKey, live: LiveBucket) -> None:
        """Keep a bucket for the next micro-batch."""
        self._buckets[key] = live
        size = sum(each.size for each in self._buckets.values())
        while size > self.most_records:
            _, first = self._buckets.popitem(last=False)
            size -= first.size
            first.end()


LIVE: Final = LiveBuckets()
"""The buckets that this worker keeps."""
