"""`cernis run` on Spark: starts it, shows its progress, and says what came of it."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cernis.cli.console import say, stop
from cernis.errors import CernisError, DataError

if TYPE_CHECKING:
    from cernis.answers.result import Result, Summary
    from cernis.answers.uncertain_result import UncertainResult
    from cernis.cli.run_command import ResultFormat
    from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
    from cernis.program import Program
    from cernis.records.record_columns import SetAside
    from cernis.session.settings import Settings
    from cernis.spark.batch.answer_files import Written
    from cernis.spark.batch.spark_results import CertainComputation, Computation
    from cernis.spark.exchange.exchange_stats import Exchanged

Outcome = TypeVar("Outcome")
Selectable = TypeVar("Selectable", "Result", "UncertainResult")

SESSION_ZONE = "spark.sql.session.timeZone"
"""The setting of Spark's for the zone of times without one."""

_EVERY = 0.2
"""Seconds between two looks at Spark's progress."""


@dataclass(frozen=True)
class RunRequest:
    """What is to be run."""

    program: Program
    inputs: list[Path]
    settings: Settings
    config: Path | Mapping[str, Any] | None
    strict: bool
    partitioned: bool = False
    """Is each entity in one part of the input?"""
    likely: UncertainSettings | None = None
    """How likely intervals are recognised; None if records are certain."""
    probabilities: bool = False
    selected: tuple[str, ...] = ()
    """The fluents and events that are printed or written; all if none are named."""

    def chosen(self, result: Selectable) -> Selectable:
        """The part of a result that is printed or written."""
        return result.select(*self.selected) if self.selected else result


def spark_settings(options: list[str]) -> dict[str, str]:
    """Settings of Spark's from `--conf` options; one without `=` is a DataError."""
    values = {}
    for each in options:
        key, equals, value = each.partition("=")
        if not equals or not key.strip():
            raise DataError(f"--conf {each} must be like spark.driver.memory=4g")
        values[key.strip()] = value.strip()
    return values


def see_all(inputs: list[Path]) -> None:
    """Raise a DataError unless each path names files: one, a folder of them, or a pattern."""
    from cernis.records.record_sources import input_files

    input_files(inputs)


def run_on_spark(
    request: RunRequest,
    output: Path | None,
    format_: ResultFormat,
    master: str,
    conf: dict[str, str],
) -> Summary:
    """Recognise on Spark, and print or write the result; gives what became of the records."""
    began = time.perf_counter()
    with said(), quiet():
        from cernis.spark.spark_session import session

        spark = session(master, conf)
    started = time.perf_counter() - began
    try:
        return _run(request, output, format_, spark, f"{master}, started in {started:.1f} s")
    finally:
        spark.stop()


def _run(
    request: RunRequest, output: Path | None, format_: ResultFormat, spark: Any, where: str
) -> Summary:
    from cernis.cli.run_command import ResultFormat, write_result
    from cernis.cli.uncertain_commands import refuse_probabilities
    from cernis.spark.batch.batch_run import recognise_plan

    if request.likely is not None:
        return _run_uncertain(request, request.likely, output, format_, spark, where)
    began = time.perf_counter()
    with said():
        recognised = recognise_plan(
            request.program.plan,
            request.inputs,
            request.settings,
            request.config,
            spark=spark,
            partitioned=request.partitioned or None,
        )
        if output is not None and format_ is ResultFormat.PARQUET:
            written = _watched(spark, lambda: _write(recognised, output, request), recognised.read)
            _say_written(written, recognised, output, where, time.perf_counter() - began)
            return written.summary
        result, summary, moved = _watched(spark, recognised.gathered, recognised.read)
        if request.strict:
            _refuse(summary.records, summary.set_aside)
    result.summary = replace(summary, seconds=time.perf_counter() - began)
    say(f"spark: {where}; {_exchanges(recognised, moved)}", err=True)
    refuse_probabilities(result.summary.set_aside)
    write_result(request.chosen(result), output, format_)
    return result.summary


def _run_uncertain(
    request: RunRequest, likely: UncertainSettings, output: Path | None, format_: ResultFormat,
    spark: Any, where: str,
) -> Summary:  # fmt: skip
    from cernis.cli.uncertain_commands import write_likely
    from cernis.spark.batch.batch_run import recognise_uncertain_plan

    began = time.perf_counter()
    with said():
        recognised = recognise_uncertain_plan(
            request.program.plan,
            request.inputs,
            request.settings,
            likely,
            request.config,
            spark=spark,
            partitioned=request.partitioned or None,
        )
        result, summary, moved = _watched(spark, recognised.gathered, recognised.read)
        if request.strict:
            _refuse(summary.records, summary.set_aside)
    result.summary = replace(summary, seconds=time.perf_counter() - began)
    say(f"spark: {where}; {_exchanges(recognised, moved)}", err=True)
    write_likely(request.chosen(result), output, format_, request.probabilities)
    return result.summary


def _write(recognised: CertainComputation, output: Path, request: RunRequest) -> Written:
    from cernis.answers.selection import selected_relations
    from cernis.spark.batch.answer_files import write

    def refuse(summary: Summary) -> None:
        if request.strict:
            _refuse(summary.records, summary.set_aside)

    selected = None
    if request.selected:
        checked = recognised.plan.checked
        hidden = checked.definitions.auxiliary
        selected = selected_relations(request.selected, checked.catalogue, hidden)
    return write(recognised, output, refuse, selected)


def _refuse(count: int, set_aside: Iterable[SetAside]) -> None:
    from cernis.records.record_columns import Records
    from cernis.records.record_sources import refuse_set_aside

    refuse_set_aside(Records(set_aside=list(set_aside), count=count))


@contextmanager
def said() -> Iterator[None]:
    """Say in a line what went wrong, here or on a worker."""
    from cernis.spark.spark_session import SparkError
    from cernis.spark.worker_errors import explained

    try:
        with explained():
            yield
    except SparkError as error:
        stop(str(error), 2)
    except CernisError as error:
        stop(str(error))
    except OSError as error:
        stop(f"the result cannot be written: {error.strerror}", 2)


# -- the summary -------------------------------------------------------------------------------


def _say_written(
    written: Written, recognised: CertainComputation, output: Path, where: str, seconds: float
) -> None:
    from cernis.cli.run_command import found_lines, record_lines, say_summary

    summary = replace(written.summary, seconds=seconds)
    _say_table(written.intervals)
    say_summary([
        *record_lines(summary, recognised.times),
        ("spark", where),
        ("stages", _stages(recognised)),
        ("exchange", _exchanges(recognised, written.exchanged)),
        *found_lines(summary, sum(written.intervals.values()), written.pairs,
                     written.happenings or None, 0.0),
    ])  # fmt: skip
    say(f"{written.files} file{'s' if written.files != 1 else ''} in {output}", err=True)


def _say_table(intervals: dict[str, int]) -> None:
    """How many intervals each fluent has, most first."""
    if not intervals:
        return
    width = max(len(name) for name in intervals)
    for name, count in sorted(intervals.items(), key=lambda pair: -pair[1]):
        say(f"{name:<{width}}  {count:>12,}")


def _exchanges(recognised: Computation[Any], moved: Exchanged) -> str:
    if not recognised.exchanges:
        return "small input, one task"
    many = "s" if recognised.exchanges != 1 else ""
    slices = f", {moved.slices:,} slices of time" if moved.slices else ""
    return (
        f"{recognised.exchanges} exchange{many} over {recognised.job.buckets} partitions, "
        f"{moved.rows:,} rows, {moved.size / 1e6:,.1f} MB, skew {moved.skew:.2f}{slices}"
    )


def _stages(recognised: CertainComputation) -> str:
    """The stages, each with its key."""
    return ", ".join(
        f"{stage.number} by {', '.join(stage.key)}" if stage.key else f"{stage.number} in one piece"
        for stage in recognised.plan.stages
    )


# -- quiet and progress ------------------------------------------------------------------------


@contextmanager
def quiet() -> Iterator[None]:
    """Lead what the Java machine says while it starts, and later, to a file; show it on failure."""
    with tempfile.TemporaryFile() as messages:
        kept = os.dup(2)
        os.dup2(messages.fileno(), 2)
        try:
            yield
        except BaseException:
            os.dup2(kept, 2)
            messages.seek(0)
            lines = messages.read().decode("utf-8", "replace").splitlines()
            for line in [each for each in lines if "ERROR" in each][-5:]:
                say(line, err=True)
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _watched(spark: Any, work: Callable[[], Outcome], read: Callable[[], int]) -> Outcome:
    """Do some work in Spark; on a terminal, a bar shows how far its tasks are.

    `read` gives how many records have been read by tasks that are done.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        return work()
    outcome: list[Outcome] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is waited for
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    _show_tasks(spark, thread, read)
    if errors:
        raise errors[0]
    return outcome[0]


def _show_tasks(spark: Any, thread: threading.Thread, read: Callable[[], int]) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    tracker = spark.sparkContext.statusTracker()
    began, speed = time.perf_counter(), Speed()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("recognising", total=None)
        while thread.is_alive():
            thread.join(_EVERY)
            done, total = _tasks(tracker)
            if total:
                description = (
                    f"{done}/{total} tasks{speed.in_words(read(), time.perf_counter() - began)}"
                )
                bar.update(task, completed=done, total=total, description=description)


@dataclass(slots=True)
class Speed:
    """Events a second, over the time it took to read them: it stands when all are read."""

    records: int = 0
    seconds: float = 0.0

    def in_words(self, records: int, seconds: float) -> str:
        """The speed as of now, in words; nothing before the first task is done.

        >>> speed = Speed()
        >>> speed.in_words(0, 1.0), speed.in_words(3000, 2.0), speed.in_words(3000, 4.0)
        ('', ', 1,500 events a second', ', 1,500 events a second')
        """
        if records > self.records:
            self.records, self.seconds = records, seconds
        return f", {self.records / self.seconds:,.0f} events a second" if self.records else ""


def _tasks(tracker: Any) -> tuple[int, int]:
    """Tasks done and tasks in all of the jobs that are running."""
    done = total = 0
    for job in tracker.getActiveJobsIds():
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info else ():
            progress = tracker.getStageInfo(stage)
            if progress is not None:
                done += progress.numCompletedTasks
                total += progress.numTasks
    return done, total
