"""A stream as its checkpoint has it: its settings, its last query, and the state of its buckets.

Nothing of this needs Spark, and nothing is changed: the stream may run meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cernis.answers.time_output import TimeOutput
from cernis.check.model import Relation
from cernis.errors import DataError
from cernis.evaluate.probabilities.uncertain_settings import uncertain_settings
from cernis.explain.traces.traced_rules import traced
from cernis.knowledge.ground_values import Value
from cernis.plan.builder import Plan, make_plan
from cernis.plan.properties.definition_diff import fact_digests
from cernis.records.record_columns import Coded
from cernis.session.settings import settings
from cernis.spark.exchange.batch_job import job_of
from cernis.spark.exchange.buckets import Spread
from cernis.spark.streaming.bucket_store import Checkpoint
from cernis.spark.streaming.stream_input import Input, RowKind
from cernis.spark.streaming.stream_job import StreamJob
from cernis.spark.streaming.stream_session import StageSession
from cernis.spark.streaming.stream_state import BucketState


@dataclass(frozen=True, slots=True)
class SavedStream:
    """A stream after its last micro-batch."""

    job: StreamJob
    """The job of the micro-batch to come, which begins with the saved state."""
    start: int
    query: int
    """The last query that was answered."""
    times: TimeOutput
    plan: Plan
    """The plan of the program, without traces."""
    ids: str
    """The title of the column of ids, or nothing."""

    @classmethod
    def of(cls, folder: Path, plans: Iterable[Plan]) -> SavedStream:
        """The stream of a checkpoint, by whichever of some plans it recognises with.

        A DataError if it is a stream of other rules, if it has not answered a query yet, or if its
        files are damaged.
        """
        checkpoint = Checkpoint(folder.absolute())
        known = checkpoint.settings()
        try:
            return cls._read(folder, checkpoint, known, plans)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(
                f"the checkpoint {folder} is damaged: its settings or commits do not fit together "
                f"({type(error).__name__}: {error}). Restore the folder from a copy, or explain "
                "from the input"
            ) from error

    @classmethod
    def _read(
        cls, folder: Path, checkpoint: Checkpoint, known: dict[str, Any], plans: Iterable[Plan]
    ) -> SavedStream:
        plan = _plan_of(checkpoint, known, plans)
        last = checkpoint.last()
        commit = checkpoint.committed(last) or {"state": -1, "query": None}
        if commit["query"] is None:
            raise DataError(
                f"the stream of {folder} has answered no query yet: ask after its first"
            )
        job = _job(plan, checkpoint, known).for_batch(last + 1, commit["state"], commit["clock"])
        scale = plan.checked.definitions.settings.time
        clock = BucketState(job, job.steps[0], 0).progress.clock
        assert clock.start is not None
        times = TimeOutput(scale, commit.get("dated", False))
        return cls(job, clock.start, commit["query"], times, plan, known.get("ids", ""))

    @property
    def edge(self) -> int:
        """The last point whose records the window has forgotten."""
        return max(self.start, self.query - self.job.window)

    def sessions(self) -> Iterator[StageSession]:
        """The sessions of all buckets, step by step."""
        for step in self.job.steps:
            for bucket in range(self.job.job.buckets):
                if self.job.is_whole or self.job.routes.is_in_charge(step, bucket):
                    yield self.session(step, bucket)

    def session(self, step: int, bucket: int) -> StageSession:
        """The session of one bucket."""
        return BucketState(self.job, step, bucket).session()

    def home(self, relation: Relation, row: tuple[Value, ...]) -> tuple[int, int] | None:
        """The step and the bucket that report the rows of a derived relation; None for input.

        The row has the arguments, and the value of a pair comes last.
        """
        if self.job.is_whole:
            return 1, 0
        for step, keys in self.job.routes.owned.items():
            if relation in keys:
                columns = [
                    Coded((row[place],), np.zeros(1, np.int64)) for place in keys[relation] or ()
                ]
                return step, int(Spread(self.job.job.buckets).of(columns, 1)[0])
        return None


def _plan_of(checkpoint: Checkpoint, known: dict[str, Any], plans: Iterable[Plan]) -> Plan:
    for plan in plans:
        if plan.fingerprint == known["program"]:
            now, before = fact_digests(plan.checked), known.get("facts", {})
            others = [n for n in sorted(now | before) if now.get(n) != before.get(n)]
            if others:
                raise DataError(
                    f"the checkpoint {checkpoint.folder} is of a stream with other facts: those of "
                    f"{', '.join(others)} have changed since"
                )
            return plan
    raise DataError(
        f"the checkpoint {checkpoint.folder} is of a stream with other rules: give those it was "
        "started with, with their facts, their unit of time, and their zone"
    )


def _job(plan: Plan, checkpoint: Checkpoint, known: dict[str, Any]) -> StreamJob:
    scale = plan.checked.definitions.settings.time
    chosen = settings(
        known["window"], known["step"], known["start"], None, known["tick"], known["ties"], scale,
        known.get("epoch", False),
    )  # fmt: skip
    said = known.get("uncertain", False)
    likely = uncertain_settings(**said) if said else None
    assert chosen.window is not None
    assert chosen.step is not None
    program = traced(plan.checked) if known.get("causes") else None
    plan = plan if program is None else make_plan(program.checked)
    rows = Input(RowKind.RECORDS, ids=known.get("ids") or None, uncertain=likely is not None)
    return StreamJob(
        job_of(plan, chosen, known["partitions"], likely=likely), rows, checkpoint, chosen.window,
        chosen.step, 0, known["policy"], chosen.start, traced=program,
    )  # fmt: skip
