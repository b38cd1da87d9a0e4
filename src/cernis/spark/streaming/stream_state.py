"""The state of one bucket of one step: read as far as it is needed, and written.

Between queries records only wait. So a micro-batch in which no query is due does not read the
session at all: it adds its records to the state as a separate part, and writes the time. Where
queries are walked and few records have come, a micro-batch with queries does no more than that,
either: to restore the session, it is brought up to date by walking on. If the worker still has the
session, nothing is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from zlib import crc32

from cernis.errors import DataError
from cernis.plan.builder import Plan
from cernis.records.record_columns import Records
from cernis.session.saved.plain_trees import Layout, Tree, packed, sealed, unpacked
from cernis.session.saved.saved_shapes import STANDING, check_state, demands_shape, waiting_shape
from cernis.session.saved.saved_state import FORMAT, content_of, migrated, resume, saved_tree
from cernis.session.saved.saved_values import plain_records, records_of
from cernis.session.saved.tree_shapes import Shape, check
from cernis.spark.streaming.bucket_progress import BucketProgress, LoggedBatch
from cernis.spark.streaming.bucket_store import BucketStore, Part, PartPlace
from cernis.spark.streaming.live_buckets import BucketKey, LiveBucket, LiveBuckets
from cernis.spark.streaming.stream_clock import Clock
from cernis.spark.streaming.stream_demands import Demands
from cernis.spark.streaming.stream_job import StreamJob
from cernis.spark.streaming.stream_session import (
    CausedStageSession,
    StageSession,
    UncertainStageSession,
)

LAYOUT: Final = Layout(b"cernis-bucket", FORMAT, "state of a bucket")

_MAIN: Final = "main"
"""The part that lists what the session is made of."""

_LARGE: Final = 4096
"""Arrays of at least so many bytes are parts of their own."""

_STANDING: Final = "standing"
_DEMANDS: Final = "demands"
_WAITING: Final = "waiting-"


class BucketState:
    """The state of a bucket as the micro-batch before has written it, and as this one writes it."""

    def __init__(
        self, job: StreamJob, step: int, bucket: int, live: LiveBuckets | None = None
    ) -> None:
        """The state of a bucket, which may be among the live ones of this worker."""
        self._job = job
        self._step = step
        self._bucket = bucket
        loaded = job.job.loaded
        self._plan: Plan = loaded.plan if job.is_whole else loaded.plan.stage_plans[step]
        self._store: BucketStore = job.checkpoint.store(step, bucket)
        self._live = LiveBuckets() if live is None else live
        self._key: BucketKey = (job.checkpoint.folder, step, bucket)
        self._places: Mapping[str, PartPlace] = {}
        self._digest = ""
        self._left: LiveBucket | None = None
        self.progress = BucketProgress()
        """How far the bucket has come before this micro-batch."""
        if job.previous >= 0:
            self._begin()
        self._kept = dict(self._places)
        self._new: dict[str, Part] = {}
        self._log: tuple[LoggedBatch, ...] = ()

    def _begin(self) -> None:
        """Begin with the version before, as this worker has left it or as it is read."""
        self._digest = self._store.digest(self._job.previous)
        self._left = self._live.take(self._key, self._plan)
        if self._is_at_hand:
            assert self._left is not None
            self._places, self.progress = self._left.places, self._left.progress
        else:
            self._places = self._store.places(self._job.previous)
            self.progress = self._saved_progress()

    @property
    def _is_at_hand(self) -> bool:
        """Does this worker have the bucket as the version before says it is?"""
        return self._left is not None and self._left.digest == self._digest

    # -- reading ----------------------------------------------------------------------------

    def _saved_progress(self) -> BucketProgress:
        with _NamesBucket(self._step, self._bucket):
            if _STANDING not in self._places:
                raise DataError("it does not say how far the bucket has come")
            tree = self._read(_STANDING, STANDING)
            self._see_parts(tree)
            progress = BucketProgress.of(tree)
            self._see_clock(progress.clock)
            return progress

    def _see_parts(self, tree: Tree) -> None:
        """Refuse parts other than those that were written; earlier versions do not list them."""
        there = {name: place.check for name, place in self._places.items() if name != _STANDING}
        for name in sorted(there.keys() | tree.get("parts", there).keys()):
            if there.get(name) != tree.get("parts", there).get(name):
                raise DataError(f"its part {name} is not the one that was left")

    def _see_clock(self, clock: Clock) -> None:
        """Refuse a clock that is not the stream's."""
        for saved, other in ((clock.time, self._job.clock), (clock.start, self._job.start)):
            if None not in (saved, other) and saved != other:
                raise DataError(f"its clock says {saved} where the stream's says {other}")

    def demands(self) -> Demands:
        """The rows that other buckets demand."""
        if self._left is not None and self._is_at_hand:
            return self._left.demands
        if _DEMANDS not in self._places:
            return Demands()
        with _NamesBucket(self._step, self._bucket):
            return Demands.of(self._read(_DEMANDS, demands_shape(self._job.job.buckets)))

    def session(self) -> StageSession:
        """The session, with the records that have waited for the next query."""
        if self._left is not None:
            log = () if self._is_at_hand else self.progress.since(self._left.digest)
            if log is not None:
                return self._caught_up(self._left.session, log)
            self._left.end()
        return self._restored()

    def _restored(self) -> StageSession:
        session = self._new_session()
        if _MAIN in self._places:
            names = [name for name in self._places if not _is_apart(name)]
            parts = self._store.read({name: self._places[name] for name in names})
            with _NamesBucket(self._step, self._bucket):
                version, tree = unpacked(parts[_MAIN], LAYOUT, parts)
                tree = migrated(version, content_of(version, tree))
                check_state(tree, session, self._job.likely is not None)
                resume(session, tree)
        logged = {_waiting(each.batch) for each in self.progress.log}
        for name in sorted(name for name in self._places if name.startswith(_WAITING)):
            if name not in logged:
                # States of earlier versions have no log.
                session.insert(self._records(name))
        session = self._caught_up(session, self.progress.log)
        with _NamesBucket(self._step, self._bucket):
            if session.last != self.progress.clock.query:
                raise DataError("its session and its clock are of different queries")
        session.open_intervals = self.progress.open_intervals
        return session

    def _caught_up(self, session: StageSession, log: Sequence[LoggedBatch]) -> StageSession:
        """A session that has taken in the micro-batches of a log."""
        for each in log:
            if _waiting(each.batch) in self._places:
                session.insert(self._records(_waiting(each.batch)))
            with _NamesBucket(self._step, self._bucket):
                session.answer_again(each.queries)
        return session

    def _records(self, name: str) -> Records:
        records = Records()
        with _NamesBucket(self._step, self._bucket):
            for part in map(records_of, self._read(name, waiting_shape(self._plan))):
                records.relations[part.form] = part
                records.count += len(part)
        return records

    def _read(self, name: str, shape: Shape) -> Tree:
        part = self._store.read({name: self._places[name]})[name]
        tree = content_of(*unpacked(part, LAYOUT))
        check(tree, shape, name)
        return tree

    def _new_session(self) -> StageSession:
        """A session that has seen no query yet: of certain records, or of uncertain ones."""
        job = self._job
        step = None if job.is_whole else self._step
        if job.traced is not None:
            return CausedStageSession(self._plan, job, step, self._bucket)
        if job.likely is None:
            return StageSession(self._plan, job, step, self._bucket)
        return UncertainStageSession(self._plan, job, step, self._bucket, job.likely)

    # -- writing ----------------------------------------------------------------------------

    def put_demands(self, demands: Demands) -> None:
        """Write demands that have changed."""
        self._put(_DEMANDS, demands.tree())

    def put_waiting(self, records: Records) -> None:
        """Write records that wait for the next query."""
        if self._left is not None and self._is_at_hand:
            self._left.session.insert(records)
        self._put_records(records, self._logged(records, 0))

    def put_session(self, session: StageSession, records: Records, queries: int, held: int) -> None:
        """Write the session, or only the records that it has taken in, if they are few.

        They are compared with those that the window holds. A session that walks is brought up to
        date by walking on, so it is not written each time.
        """
        batch = self._logged(records, queries)
        is_there = _MAIN in self._places and session.can_be_replayed
        if is_there and self.progress.may_log(batch, held):
            self._put_records(records, batch)
        else:
            self._put_whole(session)

    def _logged(self, records: Records, queries: int) -> LoggedBatch:
        return LoggedBatch(self._job.batch, queries, records.count, self._digest)

    def _put_records(self, records: Records, batch: LoggedBatch) -> None:
        if records.count:
            waiting = [plain_records(part) for part in records.relations.values()]
            self._put(_waiting(batch.batch), waiting, True)
        self._log = (*self.progress.log, batch)

    def _put_whole(self, session: StageSession) -> None:
        main, parts = packed(sealed(saved_tree(session)), LAYOUT, _LARGE)
        parts[_MAIN] = main
        self._log = ()
        self._kept = {
            name: place
            for name, place in self._kept.items()
            if name in parts or name in (_DEMANDS, _STANDING)
        }
        self._kept.pop(_MAIN, None)
        if self._store.is_wasteful(self._kept):
            self._kept = {name: place for name, place in self._kept.items() if name == _DEMANDS}
        for name, content in parts.items():
            if name not in self._kept:
                self._new[name] = Part(content, name != _MAIN)

    def _put(self, name: str, tree: Tree, lasting: bool = False) -> None:
        self._kept.pop(name, None)
        self._new[name] = Part(packed(sealed(tree), LAYOUT)[0], lasting)

    def leave(
        self, progress: BucketProgress, demands: Demands, session: StageSession | None = None
    ) -> dict[str, int]:
        """Write the state; gives its size, and how much of that is new.

        The session is kept for the next micro-batch.
        """
        progress = replace(progress, log=self._log)
        kept = {name: place.check for name, place in self._kept.items() if name != _STANDING}
        parts = kept | {name: crc32(part.content) for name, part in self._new.items()}
        self._put(_STANDING, {**progress.tree(), "parts": parts})
        places = self._store.write(self._job.batch, self._new, self._kept)
        self._store.forget({self._job.previous: self._places, self._job.batch: places})
        if session is None and self._left is not None and self._is_at_hand:
            session = self._left.session
        if session is not None:
            digest = self._store.digest(self._job.batch)
            self._live.keep(self._key, LiveBucket(digest, places, progress, demands, session))
        return {
            "state_bytes": sum(place.size for place in places.values()),
            "written_bytes": sum(places[name].size for name in self._new),
        }


def _waiting(batch: int) -> str:
    """The part with the records of a micro-batch."""
    return f"{_WAITING}{batch:012}"


def _is_apart(name: str) -> bool:
    """Is a part not one of the session?"""
    return name in (_STANDING, _DEMANDS) or name.startswith(_WAITING)


@dataclass(frozen=True, slots=True)
class _NamesBucket:
    """A context that adds the bucket to errors about a state that cannot be used."""

    step: int
    bucket: int

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, DataError | KeyError | TypeError | ValueError | IndexError):
            where = f"the state of bucket {self.bucket} of stage {self.step} cannot be used"
            if str(error).startswith(where):
                return
            raise DataError(
                f"{where}: {error}. Restore the checkpoint from a copy, or start with a new one"
            ) from error
