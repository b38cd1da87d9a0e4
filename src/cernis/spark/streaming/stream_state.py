"""The state of one bucket of one step: read as far as it is needed, and written.

Between queries records only wait. So a micro-batch in which no query is due does not read the
session at all: it adds its records to the state as a separate part, and writes the time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

from cernis.errors import DataError
from cernis.plan.builder import Plan
from cernis.records.record_columns import Records
from cernis.session.saved.plain_trees import Layout, Tree, packed, sealed, unpacked
from cernis.session.saved.saved_shapes import STANDING, check_state, demands_shape, waiting_shape
from cernis.session.saved.saved_state import FORMAT, content_of, migrated, resume, saved_tree
from cernis.session.saved.saved_values import form_of, plain_form, plain_records, records_of
from cernis.session.saved.tree_shapes import Shape, check
from cernis.spark.streaming.bucket_store import BucketStore, Part, PartPlace
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


@dataclass(frozen=True, slots=True)
class BucketProgress:
    """How far a bucket has come: its clock, and the size of its session at the last query."""

    clock: Clock = field(default_factory=Clock)
    held: int = 0
    open_intervals: int = 0
    kept: int = 0

    def tree(self) -> Tree:
        """It as plain data."""
        clock = self.clock
        return {
            "start": clock.start, "time": clock.time, "query": clock.query,
            "forms": sorted(plain_form(form) for form in clock.forms), "held": self.held,
            "open_intervals": self.open_intervals, "kept": self.kept,
        }  # fmt: skip

    @staticmethod
    def of(tree: Tree) -> BucketProgress:
        """It from plain data."""
        forms = frozenset(form_of(each) for each in tree["forms"])
        clock = Clock(tree["start"], tree["time"], tree["query"], forms)
        # States of earlier versions have no number of kept occurrences.
        return BucketProgress(clock, tree["held"], tree["open_intervals"], tree.get("kept", 0))


class BucketState:
    """The state of a bucket as the micro-batch before has written it, and as this one writes it."""

    def __init__(self, job: StreamJob, step: int, bucket: int) -> None:
        self._job = job
        self._step = step
        self._bucket = bucket
        loaded = job.job.loaded
        self._plan: Plan = loaded.plan if job.is_whole else loaded.plan.stage_plans[step]
        self._store: BucketStore = job.checkpoint.store(step, bucket)
        self._places: dict[str, PartPlace] = {}
        self.progress = BucketProgress()
        """How far the bucket has come before this micro-batch."""
        if job.previous >= 0:
            self._places = self._store.places(job.previous)
            self.progress = self._saved_progress()
        self._kept = dict(self._places)
        self._new: dict[str, Part] = {}

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
        if _DEMANDS not in self._places:
            return Demands()
        with _NamesBucket(self._step, self._bucket):
            return Demands.of(self._read(_DEMANDS, demands_shape(self._job.job.buckets)))

    def session(self) -> StageSession:
        """The session, with the records that have waited for the next query."""
        session = self._new_session()
        if _MAIN in self._places:
            names = [name for name in self._places if not _is_apart(name)]
            parts = self._store.read({name: self._places[name] for name in names})
            with _NamesBucket(self._step, self._bucket):
                version, tree = unpacked(parts[_MAIN], LAYOUT, parts)
                tree = migrated(version, content_of(version, tree))
                check_state(tree, session, self._job.likely is not None)
                if tree["last"] != self.progress.clock.query:
                    raise DataError("its session and its clock are of different queries")
                resume(session, tree)
        for name in sorted(name for name in self._places if name.startswith(_WAITING)):
            session.insert(self._records(name))
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
        if records.count:
            waiting = [plain_records(part) for part in records.relations.values()]
            self._put(f"{_WAITING}{self._job.batch:012}", waiting, True)

    def put_session(self, session: StageSession) -> None:
        """Write the session, which has taken in all records that waited."""
        main, parts = packed(sealed(saved_tree(session)), LAYOUT, _LARGE)
        parts[_MAIN] = main
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

    def leave(self, progress: BucketProgress) -> dict[str, int]:
        """Write the state; gives its size, and how much of that is new."""
        kept = {name: place.check for name, place in self._kept.items() if name != _STANDING}
        parts = kept | {name: crc32(part.content) for name, part in self._new.items()}
        self._put(_STANDING, {**progress.tree(), "parts": parts})
        places = self._store.write(self._job.batch, self._new, self._kept)
        self._store.forget({self._job.previous: self._places, self._job.batch: places})
        return {
            "state_bytes": sum(place.size for place in places.values()),
            "written_bytes": sum(places[name].size for name in self._new),
        }


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
