"""Streams: recognition on Structured Streaming, from streaming DataFrames to a feed of changes.

Each micro-batch is one job: its rows become records, which go to the buckets of their entities,
stage by stage, as in the batch job. A bucket reads its state as the micro-batch before has written
it, answers the queries that are due, and writes its state under the number of this micro-batch. The
input of a micro-batch is in Spark's checkpoint before it begins, and state and changes are written
under its number. So a micro-batch that was interrupted is done again, and nothing is lost or there
twice.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from cernis.answers.time_output import TimeOutput
from cernis.check.loading.program_origin import FactSources
from cernis.errors import DataError, warn_of_program
from cernis.evaluate.columns.strata import refuse_unsupported
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings, uncertain_settings
from cernis.explain.traces.traced_rules import traced
from cernis.plan.builder import Plan, make_plan
from cernis.plan.properties.definition_diff import fact_digests
from cernis.plan.properties.foreign_domains import foreign_domains
from cernis.program import Program
from cernis.records.mapping import Mappings, read_mappings, read_names
from cernis.records.record_columns import RecordColumns, SetAside
from cernis.session.caused_session import check_policy
from cernis.session.feed import FEED, POLICIES
from cernis.session.settings import Length, Point, Settings, length, settings
from cernis.session.uncertain_session import UncertainSession
from cernis.spark.batch.batch_run import program_with_facts
from cernis.spark.batch.uncertain_stages import may_be_apart_on_streams
from cernis.spark.exchange.batch_job import Job, job_of, plan_in_zone
from cernis.spark.exchange.blobs import loads, unpacked_records
from cernis.spark.exchange.exchange_rows import DDL, LAST, Kind, Row, batches
from cernis.spark.exchange.record_places import FIRST_LINES
from cernis.spark.input.batch_input import partition_number
from cernis.spark.metrics import GAUGES, Metrics, MetricsListener
from cernis.spark.sinks import Sink, sink_of, stream_name
from cernis.spark.spark_session import cores_of, zone_of_session
from cernis.spark.streaming.bucket_store import Checkpoint
from cernis.spark.streaming.file_source import Feeder, FolderSource
from cernis.spark.streaming.notices import Notices
from cernis.spark.streaming.stream_input import Input, RowKind, input_of, read, with_heartbeat
from cernis.spark.streaming.stream_job import StreamJob, packed
from cernis.spark.streaming.stream_stage import evaluate
from cernis.spark.worker_collection import exclude_what_lasts
from cernis.spark.worker_errors import explained
from cernis.spark.worker_setup import prepare_workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from cernis.explain.explanation_tree import Explanation
    from cernis.records.record_sources import Events

Batches = Iterator[pa.RecordBatch]

_KEPT: Final = 1000
"""How many of the records set aside are listed; all are counted."""


def stream(
    program: Program | str | Path, events: Any, *, checkpoint: str | Path, window: Length,
    step: Length | None = None, lateness: Length | int = 0, policy: str = "early",
    sink: Any = "memory", start: Point | None = None, tick: int | None = None,
    ties: str | None = None, future: Length | None = None, facts: FactSources = (),
    mapping: str | Path | Mapping[str, Any] | None = None, partitions: int | None = None,
    every: str | None = None, until_done: bool = False, heartbeat: Length | None = None,
    ids: str | None = None,
    uncertain: bool | Mapping[str, Any] = False, epoch: bool = False, causes: bool = False,
    on_changes: Callable[[pa.Table, TimeOutput], None] | None = None,
    on_records: Callable[[Sequence[RecordColumns]], None] | None = None,
) -> Stream:  # fmt: skip
    """Recognise on a stream: start it, and give a handle to it.

    Events are a streaming DataFrame of records (with a column `name`), of text records (`value`)
    or of files (`cernis.spark.files`), or a mapping from names of relations to streaming
    DataFrames. Queries are a step apart, at multiples of it unless a `start` is given. Each is
    answered when some record has arrived that is later by more than `lateness`. What comes later
    still is used as long as it is in the window; else it is set aside. A record more than `future`
    ahead of the others is too.

    Changes go to the sink: see `cernis.spark.sinks.sink_of`. The checkpoint is a folder that all
    workers see. A stream that is started again with it goes on where it ended.

    A micro-batch begins when the one before is done, or `every` so often (`"10 seconds"`). With
    `until_done` the stream ends when it has read all that is there. With a `heartbeat`, the clock
    goes on where no records come: all is taken to have come that arrived longer ago than that, by
    the clock on the wall. Times must count from 1970 then.

    `ids` is the title of a column that identifies the records of one relation; in text
    records it is the last field. A record whose id is in the window is ignored, and a retraction
    takes back the record of its id.

    If records are `uncertain`, changes have the mean probability of their intervals. Settings
    may be given: `{"threshold": 0.6, "memory": 60, "durations": "durations.toml"}`, and those that
    `Program.uncertain_session` has besides.

    Times without a zone are in `spark.sql.session.timeZone`, unless the program says a zone. If the
    first records with changes had dates or timestamps as times, all changes have timestamps, or
    whole numbers if `epoch` asks for these.

    With `causes`, each change names the records that began the interval, and those that ended it:
    by their ids, if they have such, and else by their texts. All is evaluated in one bucket then.

    `on_changes` is called after each micro-batch with its changes, whose times are whole numbers,
    and with how times come out; `on_records` before that, with the newest records of the input.
    """
    loaded = program_with_facts(program, facts)
    warn_of_program(loaded.plan.diagnostics, loaded.sources, 2)
    folder = Checkpoint(Path(checkpoint).absolute())
    feeder = None
    if isinstance(events, FolderSource):
        _see_files(folder)
        feeder = events.feeder(folder.files)
    rows = events if feeder is None else events.frame(feeder)
    source, frame = _input(loaded.plan, rows, mapping, ids, are_files=feeder is not None)
    prepare_workers(frame.sparkSession)
    plan = plan_in_zone(loaded.plan, zone_of_session(frame.sparkSession))
    scale = plan.checked.definitions.settings.time
    how = _How(
        settings(window, step or window, start, None, tick, ties, scale, epoch),
        0 if lateness == 0 else length(lateness, "lateness", scale), policy,
        None if future is None else length(future, "future", scale),
        likely_of(uncertain, loaded), causes,
    )  # fmt: skip
    source = replace(source, uncertain=how.likely is not None)
    if heartbeat is not None:
        delay = length(heartbeat, "heartbeat", scale)
        frame = with_heartbeat(source, frame, delay, scale)
    target = sink_of(sink, stream_name(folder.folder), frame.sparkSession)
    job = _job(plan, how, source, frame, folder, partitions)
    job = replace(job, shows_records=on_records is not None)
    made = Stream(job, target, feeder, on_changes, on_records, plan=plan)
    made.begin(frame, every, until_done)
    return made


@dataclass(frozen=True)
class _How:
    """The settings of recognition on a stream."""

    settings: Settings
    lateness: int
    policy: str
    future: int | None
    likely: UncertainSettings | None = None
    causes: bool = False

    def __post_init__(self) -> None:
        if self.causes:
            check_policy(self.policy)
        if self.causes and self.likely is not None:
            raise DataError("changes of uncertain records cannot name their causes: leave one out")
        if self.policy not in POLICIES:
            raise DataError(f"the policy is one of {', '.join(POLICIES)}, not {self.policy}")


def _input(
    plan: Plan, events: Any, mapping: str | Path | Mapping[str, Any] | None, ids: str | None,
    are_files: bool,
) -> tuple[Input, DataFrame]:  # fmt: skip
    if are_files:
        mappings = Mappings() if mapping is None else read_mappings(mapping, Path())
        return Input(RowKind.FILES, mappings=mappings, ids=ids), events
    shapes = job_of(plan, settings(), 1).loaded.shapes
    source, frame = input_of(events, shapes, ids, read_names(mapping))
    if not frame.isStreaming:
        raise DataError("events must come from readStream; for what is at rest, use recognise")
    if getattr(frame.sparkSession, "_sc", None) is None:
        raise DataError("a stream needs a session of its own process, and none of Spark Connect")
    return source, frame


def _job(
    plan: Plan, how: _How, source: Input, frame: DataFrame, folder: Checkpoint,
    partitions: int | None,
) -> StreamJob:  # fmt: skip
    """The job of every micro-batch; a checkpoint that is another stream's is a DataError."""
    chosen = how.settings
    evaluated = plan if how.likely is None else plan.over_uncertain
    claimed = folder.claim({
        "program": plan.fingerprint, "facts": fact_digests(plan.checked),
        "window": chosen.window, "step": chosen.step,
        "policy": how.policy, "start": chosen.start, "tick": chosen.tick, "ties": chosen.ties,
        "ids": source.ids or "", "epoch": chosen.epoch, "causes": how.causes,
        "partitions": _buckets(evaluated, partitions, folder, frame, how),
        "uncertain": how.likely is not None and json.loads(json.dumps(asdict(how.likely))),
    })  # fmt: skip
    _see_whole(folder)
    program = traced(plan.checked) if how.causes else None
    plan = plan if program is None else make_plan(program.checked)
    job = _spread_plan(job_of(plan, chosen, claimed["partitions"], likely=how.likely), frame)
    assert chosen.window is not None
    assert chosen.step is not None
    return StreamJob(
        job, source, folder, chosen.window, chosen.step, how.lateness, how.policy, chosen.start,
        how.future, traced=program,
    )  # fmt: skip


def _spread_plan(job: Job, frame: DataFrame) -> Job:
    """The job with its plan sent to the workers once, and not with every task of a micro-batch."""
    return replace(job, plan=frame.sparkSession.sparkContext.broadcast(job.plan))


def likely_of(uncertain: bool | Mapping[str, Any], program: Program) -> UncertainSettings | None:
    """How likely intervals are recognised; None if records are certain."""
    if uncertain is False:
        return None
    options = {} if uncertain is True else dict(uncertain)
    known = list(signature(uncertain_settings).parameters)
    unknown = sorted(set(options) - set(known))
    if unknown:
        there = ", ".join(known)
        raise DataError(f"uncertain records have no setting {unknown[0]}; there are {there}")
    chosen = uncertain_settings(**options)
    chosen.check_names(program.fluents)
    return chosen


def _buckets(
    plan: Plan, wanted: int | None, folder: Checkpoint, frame: DataFrame, how: _How
) -> int:
    """The number of buckets for entities: one if the rules need all records in one place."""
    if how.likely is not None:
        # A query without records raises the error about rules that are not defined under
        # uncertainty.
        UncertainSession(plan, how.likely, start=0).query(0)
    else:
        for stage in plan.stages:
            for stratum in stage.strata:
                refuse_unsupported(stratum)
    if wanted is not None and wanted < 1:
        raise DataError("there must be at least one partition")
    if how.causes:
        if wanted is not None and wanted > 1:
            raise DataError("causes are named where one partition has all records: leave out "
                            f"partitions={wanted}")  # fmt: skip
        return 1
    routes = plan.stream_routes
    if how.likely is not None and not may_be_apart_on_streams(plan, how.likely):
        return 1
    if foreign_domains(plan, routes) or not routes.owned:
        return 1
    return wanted or _partitions_before(folder) or cores_of(frame.sparkSession)


def _partitions_before(folder: Checkpoint) -> int | None:
    try:
        before = json.loads((folder.folder / "stream.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return int(before["partitions"]) if "partitions" in before else None


def _see_files(folder: Checkpoint) -> None:
    """Refuse a checkpoint that does not say which files were read: all would be read again."""
    if (folder.spark / "offsets").is_dir() and not (folder.files / "log").is_file():
        raise DataError(
            f"the checkpoint {folder.folder} has no {folder.files / 'log'}, which says what files "
            "were read: restore it, or start with a new checkpoint"
        )


def _see_whole(folder: Checkpoint) -> None:
    """Refuse a checkpoint without Spark's part: numbers of micro-batches would start again."""
    if folder.last() >= 0 and not (folder.spark / "offsets").is_dir():
        raise DataError(
            f"the checkpoint {folder.folder} has a state but no {folder.spark}: restore that, or "
            "start with a new checkpoint"
        )


@dataclass
class Stream:
    """A stream that runs: its figures, and how to wait for it or stop it."""

    job: StreamJob
    sink: Sink
    feeder: Feeder | None = None
    """The feeder that looks for files, if the input is a folder."""
    on_changes: Callable[[pa.Table, TimeOutput], None] | None = None
    on_records: Callable[[Sequence[RecordColumns]], None] | None = None
    metrics: Metrics = field(default_factory=Metrics)
    set_aside: list[SetAside] = field(default_factory=list)
    """Records that were not used, with the reason; the last thousand."""
    skipped: list[SetAside] = field(default_factory=list)
    """Files that were not read, with the reason; the last thousand."""
    plan: Plan = field(kw_only=True)
    """The plan of the program, without traces."""
    notices: Notices = field(init=False)
    """Warnings about the input, such as names that no rule mentions."""
    query: StreamingQuery = field(init=False)

    def __post_init__(self) -> None:
        self.notices = Notices(self.job.job.loaded.plan.checked.catalogue)

    def begin(self, frame: DataFrame, every: str | None, until_done: bool) -> None:
        """Start it."""
        self._streams = frame.sparkSession.streams
        self._listener = MetricsListener(self.metrics)
        self._streams.addListener(self._listener)
        writer = frame.writeStream.foreachBatch(self._batch)
        writer = writer.option("checkpointLocation", str(self.job.checkpoint.spark))
        if until_done:
            writer = writer.trigger(availableNow=True)
        elif every is not None:
            writer = writer.trigger(processingTime=every)
        folder = self.job.checkpoint
        before = folder.committed(folder.last()) or {}
        self.metrics.resume(before.get("gauges", {}))
        self.notices.resume(before.get("fluents", []))
        if self.feeder is not None:
            self.feeder.look()
        self.query = writer.start()
        self._listener.run = str(self.query.runId)
        if self.feeder is not None and until_done:
            self.feeder.stop()
        elif self.feeder is not None:
            self.feeder.begin(lambda: self.query.isActive, self.query.stop)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the stream ends; if it failed, raise why. Has it ended?"""
        try:
            with explained():
                self.query.awaitTermination(seconds)  # type: ignore[arg-type]
        finally:
            if not self.query.isActive:
                self._end()
        if self.feeder is not None:
            self.feeder.see_trouble()
        return not self.query.isActive

    def _end(self) -> None:
        self._streams.removeListener(self._listener)
        if self.feeder is not None:
            self.feeder.stop()

    def catch_up(self) -> None:
        """Wait until all input that the source has by now is processed."""
        if self.feeder is not None:
            self.feeder.see_trouble()
            self.feeder.look()
        with explained():
            self.query.processAllAvailable()

    def stop(self) -> None:
        """Stop it; a micro-batch under way will be done again."""
        self.query.stop()
        self._end()

    def explain(
        self, question: str, time: Any = None, *, events: Events | None = None,
        mapping: str | Path | Mapping[str, Any] | None = None,
    ) -> Explanation:  # fmt: skip
        """Why a pair such as `level(b7)=critical` holds at a time, or why not; or an event.

        It is the answer of the last query, explained from the records of the window, or from the
        events that the stream has read: see `cernis.spark.explain_stream`.
        """
        from cernis.spark.streaming.stream_explanations import explain_plan

        folder = self.job.checkpoint.folder
        return explain_plan([self.plan], folder, question, time, events=events, mapping=mapping)

    # -- a micro-batch ----------------------------------------------------------------------

    def _batch(self, frame: DataFrame, number: int) -> None:
        folder = self.job.checkpoint
        if folder.committed(number) is not None:
            # It was done, but the process ended before Spark recorded that.
            return
        began = time.perf_counter()
        before = folder.committed(folder.last()) or {"state": -1, "clock": None, "query": None}
        job = self.job.for_batch(number, before["state"], before["clock"])
        changes, figures = _done(frame, job)
        times = self._times(before, figures.pop("dated"))
        self.sink.write(number, times.table(changes))
        # A micro-batch without partitions reaches no bucket, so there is no new state.
        state = number if "queries" in figures else before["state"]
        known = {"clock": before["clock"], "query_time": before["query"]}
        figures |= {name: value for name, value in known.items() if figures[name] is None}
        gauges = before.get("gauges", {}) | {
            name: figures[name] for name in GAUGES if name in figures
        }
        self.notices.fluents.update(figures.pop("fluents"))
        shown = figures.pop("shown")
        folder.commit(number, {
            "state": state, "clock": figures["clock"], "query": figures["query_time"],
            "gauges": gauges, "fluents": self.notices.known(), "dated": times.dated,
            "has_changes": before.get("has_changes", False) or changes.num_rows > 0,
        })  # fmt: skip
        self._count(figures, changes, time.perf_counter() - began)
        if self.on_records is not None and shown:
            self.on_records([unpacked_records(each) for each in shown])
        if self.on_changes is not None:
            self.on_changes(changes, times)

    def _times(self, before: Mapping[str, Any], is_dated: bool) -> TimeOutput:
        """How times come out: as in the changes before, or, with the first, as in the input."""
        known = before.get("dated", False)
        if not before.get("has_changes", False):
            known = (known or is_dated) and not self.job.job.settings.epoch
        return TimeOutput(self.job.job.loaded.plan.checked.definitions.settings.time, known)

    def _count(self, figures: dict[str, Any], changes: pa.Table, seconds: float) -> None:
        aside, skipped, ignored = (figures.pop(name) for name in ("aside", "skipped", "ignored"))
        self.set_aside = [*self.set_aside, *aside][-_KEPT:]
        self.skipped = [*self.skipped, *skipped][-_KEPT:]
        self.notices.take(ignored, skipped, figures.pop("warnings"))
        figures |= {"ignored": ignored.total(), "skipped_files": len(skipped)}
        kinds = changes["change"].to_pylist()
        figures["inserted"] = kinds.count("insert")
        figures["revised"] = kinds.count("delete")
        self.metrics.add(figures, seconds)


def _done(frame: DataFrame, job: StreamJob) -> tuple[pa.Table, dict[str, Any]]:
    """The changes of a micro-batch, and its figures."""
    return outcome_of(_rows(frame, job).select("kind", "blob").toArrow(), job.schema)


def outcome_of(rows: pa.Table, schema: pa.Schema = FEED) -> tuple[pa.Table, dict[str, Any]]:
    """The changes in the rows of the last step, by query time, and the reports as one."""
    changes: list[pa.Table] = [schema.empty_table()]
    reports: list[dict[str, Any]] = []
    for kind, blob in zip(rows["kind"].to_pylist(), rows["blob"], strict=True):
        if kind == Kind.ANSWER:
            changes.append(pa.ipc.open_stream(loads(blob.as_buffer())).read_all())
        else:
            reports.append(loads(blob.as_buffer()))
    return pa.concat_tables(changes).sort_by("query_time"), _together(reports)


def _rows(frame: DataFrame, job: StreamJob) -> DataFrame:
    from pyspark.sql.functions import col

    rows = frame.mapInArrow(_read(job), DDL)
    for step in job.steps:
        spread = rows.repartitionById(job.job.buckets, col("bucket"))
        rows = spread.mapInArrow(_step(job, step), DDL)
    return rows


def _read(job: StreamJob) -> Callable[[Batches], Batches]:
    def run(rows: Batches) -> Batches:
        began = time.process_time()
        records = read(rows, job.input, partition_number(), job.job.loaded.shapes)
        yield from batches(packed(records, job))
        report = {"reading_seconds": time.process_time() - began}
        yield from batches([Row(0, LAST, Kind.REPORT, report)])
        exclude_what_lasts()

    return run


def _step(job: StreamJob, step: int) -> Callable[[Batches], Batches]:
    def run(rows: Batches) -> Batches:
        yield from evaluate(rows, job, step)
        exclude_what_lasts()

    return run


_LATEST: Final = ("clock", "query_time", "queries")


def _together(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """The reports of all tasks as one: sums, except for figures on which all buckets agree."""
    whole: dict[str, Any] = {
        "aside": [], "clock": None, "query_time": None, "skipped": [], "warnings": [],
        "ignored": Counter(), "fluents": [], "dated": False, "shown": [],
    }  # fmt: skip
    for report in reports:
        for key, value in report.items():
            if key in _LATEST:
                known = [each for each in (whole.get(key), value) if each is not None]
                whole[key] = max(known, default=None)
            elif key == "dated":
                whole[key] |= value
            else:
                whole[key] = whole[key] + value if key in whole else value
    aside, late = (_listed_once(whole.pop(key, [])) for key in ("aside", "late"))
    aside = [*whole.pop("unread", []), *aside]
    whole |= {"set_aside": len(aside), "too_late": len(late), "aside": [*aside, *late]}
    return whole


def _listed_once(set_aside: list[SetAside]) -> list[SetAside]:
    """The records that buckets have set aside, each once, with lines as the reader counted them."""
    return [replace(each, line=each.line & (FIRST_LINES - 1)) for each in dict.fromkeys(set_aside)]
