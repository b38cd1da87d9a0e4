"""Runs on Spark as pipelines, and the DataFrames that are made of what they give."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from cernis.answers.answer_tables import all_happenings, all_intervals
from cernis.answers.relation_files import write_answer
from cernis.answers.reports.report_content import RunOrigin
from cernis.answers.result import Result, Summary
from cernis.answers.selection import selected_answer
from cernis.answers.time_output import TimeOutput
from cernis.answers.unused_records import missing_fluents, warn_of_input
from cernis.check.catalogue import Catalogue
from cernis.check.model import FluentKind, Relation
from cernis.errors import CernisError
from cernis.evaluate.answer import Answer
from cernis.plan.builder import Plan
from cernis.records.record_columns import Records, SetAside
from cernis.session.run_origin import run_origin
from cernis.spark.exchange.batch_job import Job
from cernis.spark.exchange.blobs import loads
from cernis.spark.exchange.exchange_rows import DDL, LAST, Kind, Row, batches
from cernis.spark.exchange.exchange_stats import Exchanged, exchanged
from cernis.spark.exchange.pack import title_of
from cernis.spark.exchange.packed_answers import answer_of
from cernis.spark.input.batch_input import BatchInput
from cernis.spark.input.typed_frames import (
    Columns,
    dated_ddl,
    frame_times,
    typed_event,
    typed_fluent,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cernis.answers.uncertain_result import UncertainResult
    from cernis.explain.explanation_tree import Explanation

Batches = Iterator[pa.RecordBatch]
Step = Callable[[Batches], Batches]

_INTERVALS: Final = (
    "fluent string, args array<string>, value string, start bigint, end bigint, open boolean"
)
_PROBABILITY: Final = "probability double"
_HAPPENINGS: Final = "event string, args array<string>, start bigint, occurrence bigint"
MOST_SHOWN: Final = 1_000_000
"""So many records come to the driver for a report unless one asks for all."""
_SET_ASIDE: Final = "source string, line bigint, reason string, text string"


Outcome = TypeVar("Outcome", bound="Result | UncertainResult")
"""The result of a run in this process."""


@dataclass
class Computation(ABC, Generic[Outcome]):
    """A run on Spark. Nothing is computed before a DataFrame is used.

    Each of its DataFrames, used by itself, computes the whole run. `persist` keeps the result of
    the run when it is first computed, for all of them.
    """

    pipeline: Callable[[Job], tuple[DataFrame, Step]]
    """The rows that the last step of a job starts from, and the last step.

    What reads the result is done in the same task.
    """
    plan: Plan
    source: BatchInput
    job: Job
    exchanges: int
    """How many times rows are exchanged between workers."""
    _kept: DataFrame | None = None

    @cached_property
    def _ends(self) -> tuple[DataFrame, Step]:
        return self.pipeline(self.job)

    @property
    def base(self) -> DataFrame:
        """The rows that the last step starts from; the result itself, where it is kept."""
        return self._ends[0] if self._kept is None else self._kept

    @property
    def finish(self) -> Step:
        """The last step."""
        return self._ends[1] if self._kept is None else _as_it_is

    @property
    def rows(self) -> DataFrame:
        """The result as it is: answers and reports as blobs."""
        return self.base.mapInArrow(self.finish, DDL)

    def written_into(self, folder: str, selected: frozenset[Relation] | None = None) -> DataFrame:
        """Rows about answers that the tasks which derive them write into a folder.

        If the result is kept, it is written from there. There are reports among the rows too.
        """
        if self._kept is not None:
            times = self.times
            return self.through(lambda rows: batches(_written(rows, folder, times, selected)), DDL)
        base, finish = self.pipeline(
            replace(self.job, folder=folder, times=self.times, selected=selected)
        )
        return base.mapInArrow(finish, DDL)

    def through(self, work: Callable[[Batches], Batches], ddl: str) -> DataFrame:
        """The DataFrame that some work makes of the rows of the result."""
        finish = self.finish

        def run(rows: Batches) -> Batches:
            yield from work(finish(rows))

        return self.base.mapInArrow(run, ddl)

    @property
    def events(self) -> DataFrame:
        """All happenings of derived events: `event, args, start, occurrence`, in no order.

        Only occurrences of patterns have a start.
        """
        return self.from_answers(all_happenings, _HAPPENINGS)

    @cached_property
    def times(self) -> TimeOutput:
        """How times come out: as timestamps if the input has dates, or as whole numbers."""
        scale = self.plan.checked.definitions.settings.time
        is_dated = not self.job.settings.epoch and self.source.has_dates(self.job.loaded.shapes)
        return TimeOutput(scale, is_dated)

    def _times_known(self, reports: Iterable[Mapping[str, Any]]) -> TimeOutput:
        """How times come out, when all of the input has been read."""
        scale = self.plan.checked.definitions.settings.time
        is_dated = any(report.get("dated", False) for report in reports)
        return TimeOutput(scale, is_dated and not self.job.settings.epoch)

    def event(self, name: str) -> DataFrame:
        """The happenings of one derived event: its arguments, then `occurrence`.

        Occurrences of a pattern also have a `start`.
        """
        relation = _find(name, self.defined(False), "event")
        columns = self._columns().of_event(relation)
        return self.from_answers(lambda answer: typed_event(answer, relation, columns), columns.ddl)

    @property
    def set_aside(self) -> DataFrame:
        """Records that were not used: `source, line, reason, text`."""

        def run(rows: Batches) -> Batches:
            for report in _contents(rows, Kind.REPORT):
                entries = list(_aside(report))
                if entries:
                    yield pa.RecordBatch.from_pylist(entries, _ASIDE)

        return self.through(run, _SET_ASIDE)

    def read(self) -> int:
        """How many records have been read so far, by tasks that are done; 0 with Connect."""
        return 0 if self.job.counter is None else int(self.job.counter.value)

    def persist(self) -> Self:
        """Keep the result of the run once it is computed."""
        self._kept = self.rows.persist()
        return self

    def unpersist(self) -> Self:
        """Keep it no longer."""
        if self._kept is not None:
            self._kept.unpersist()
            self._kept = None
        return self

    def collect(self, seconds: float = 0.0) -> Outcome:
        """The whole result in this process, as a run in it gives it, and with its warnings."""
        result, summary, _ = self.gathered(seconds)
        warn_of_input(summary, self.plan.checked.catalogue)
        return result

    def gathered(self, seconds: float = 0.0) -> tuple[Outcome, Summary, Exchanged]:
        """The whole result in this process, and what was moved between workers for it."""
        answers: list[Any] = []
        reports: list[Any] = []
        for row in self.rows.select("kind", "blob").collect():
            (answers if row.kind == Kind.ANSWER else reports).append(loads(row.blob))
        summary = summary_of(reports, self.plan.checked.catalogue, seconds)
        times = self._times_known(reports)
        result = self._result(self._complete(answer_of(answers)), summary, times)
        return result, summary, exchanged(reports)

    def report(
        self, path: str | Path, *, title: str | None = None, events: bool | None = None,
        positions: pa.Table | None = None, areas: str | Path | Mapping[str, Any] | None = None,
        causes: bool | None = None, explain: Iterable[str] = (),
    ) -> Path:  # fmt: skip
        """Write a page for a browser, as `ResultFrames.report` says."""
        result = self.collect()
        shown = result.summary.used <= MOST_SHOWN if events is None else events
        if shown:
            result.origin = self._origin_with_records(result.summary)
        options: dict[str, Any] = {"positions": positions, "areas": areas}
        if causes is not None or explain:
            options |= self._cause_options(causes, explain)
        return result.report(path, title=title, events=shown, **options)

    def _origin_with_records(self, summary: Summary) -> RunOrigin:
        from cernis.spark.batch.driver_records import collect_records

        def read() -> Records:
            return collect_records(self.source, self.job, lambda records, _: records).records

        limits = summary.start, summary.end
        return run_origin(self.plan, read, self.job.settings, limits, self.job.likely)

    @property
    def _origin(self) -> RunOrigin:
        return RunOrigin(self.plan.checked, lambda: None)

    @abstractmethod
    def _cause_options(self, causes: bool | None, explain: Iterable[str]) -> dict[str, Any]:
        """The options of a report about causes; an error if the result has none."""

    @abstractmethod
    def _result(self, answer: Answer, summary: Summary, times: TimeOutput) -> Outcome:
        """The result in this process."""

    def summary(self) -> Summary:
        """What became of the records."""

        def run(received: Batches) -> Batches:
            for batch in received:
                yield batch.filter(pc.equal(batch.column(2), str(Kind.REPORT)))

        rows = self.through(run, DDL).select("blob").collect()
        catalogue = self.plan.checked.catalogue
        summary = summary_of([loads(row.blob) for row in rows], catalogue)
        warn_of_input(summary, catalogue)
        return summary

    def _complete(self, answer: Answer) -> Answer:
        """The answer with empty tables of the other relations, in the order of the program."""
        from cernis.evaluate.run import Run

        settings, likely = self.job.settings, self.job.likely
        nothing = Run(self.plan, settings.tick, settings.ties, uncertain_settings=likely).over(
            {}, 0, 0
        )
        answer.fluents = {**nothing.fluents, **answer.fluents}
        answer.events = {**nothing.events, **answer.events}
        return answer

    def _columns(self) -> Columns:
        return Columns(self.plan, self.source.schemas, self.source.mappings.names)

    def defined(self, fluents: bool) -> list[Relation]:
        """The fluents, or the events, that rules define."""
        catalogue, hidden = self.plan.checked.catalogue, self.plan.checked.definitions.auxiliary
        if fluents:
            relations = [r for r, e in catalogue.fluents.items() if e.kind is not FluentKind.INPUT]
        else:
            relations = [relation for relation, e in catalogue.events.items() if not e.is_input]
        return [relation for relation in relations if relation not in hidden]

    def from_answers(self, table_of: Callable[[Answer], pa.Table], ddl: str) -> DataFrame:
        """The DataFrame of the tables that a function makes of the answer of each bucket.

        The function gives times as whole numbers.
        """
        times = frame_times(self.times)

        def run(rows: Batches) -> Batches:
            for content in _contents(rows, Kind.ANSWER):
                yield from times.table(table_of(answer_of([content]))).to_batches()

        return self.through(run, dated_ddl(ddl, times))


class CertainComputation(Computation[Result]):
    """The result of a run over certain records."""

    @property
    def intervals(self) -> DataFrame:
        """All intervals: `fluent, args, value, start, end, open`, as `Result.intervals`.

        Rows are in no order. The end of an open interval is null.
        """
        return self.from_answers(all_intervals, _INTERVALS)

    def fluent(self, name: str) -> DataFrame:
        """The intervals of one fluent: its arguments, then `value, start, end, open`.

        Arguments are whole numbers or floats where the types of the input's columns say so, and
        text else.
        """
        relation = _find(name, self.defined(True), "fluent")
        columns = self._columns().of_fluent(relation)
        return self.from_answers(
            lambda answer: typed_fluent(answer, relation, columns), columns.ddl
        )

    def explain(self, question: str, time: Any = None) -> Explanation:
        """Why a pair such as `level(b7)=critical` held at a time, or why not; or an event.

        The input is read once more. Only the records that rules can reach from the question come to
        the driver, where they are evaluated again. Without a time, it is the last point at which it
        held.
        """
        from cernis.spark.batch.spark_explanations import explain_on_spark

        return explain_on_spark(self, question, time)

    def _cause_options(self, causes: bool | None, explain: Iterable[str]) -> dict[str, Any]:
        return {"causes": causes, "explain": explain}

    def _result(self, answer: Answer, summary: Summary, times: TimeOutput) -> Result:
        return Result(
            answer, self.plan.checked.catalogue, summary, times=times, origin=self._origin
        )


class UncertainComputation(Computation["UncertainResult"]):
    """The result of a run over uncertain records."""

    @property
    def intervals(self) -> DataFrame:
        """`fluent, args, value, start, end, open, probability`, as of the in-process result.

        Rows are in no order.
        """
        return self._tables(lambda result: result.intervals, f"{_INTERVALS}, {_PROBABILITY}")

    @property
    def probabilities(self) -> DataFrame:
        """`fluent, args, value, start, end, probability`, as of the in-process result."""
        columns = f"{_INTERVALS.removesuffix(', open boolean')}, {_PROBABILITY}"
        return self._tables(lambda result: result.probabilities, columns)

    @property
    def occurrences(self) -> DataFrame:
        """`event, args, start, occurrence, probability`, as of the in-process result."""
        return self._tables(lambda result: result.occurrences, f"{_HAPPENINGS}, {_PROBABILITY}")

    def _cause_options(self, causes: bool | None, explain: Iterable[str]) -> dict[str, Any]:
        if explain:
            raise CernisError("explanations are about certain records, not uncertain ones")
        return {"causes": causes}

    def _tables(self, table_of: Callable[[UncertainResult], pa.Table], ddl: str) -> DataFrame:
        catalogue = self.plan.checked.catalogue

        def table(answer: Answer) -> pa.Table:
            from cernis.answers.uncertain_result import UncertainResult

            return table_of(UncertainResult(answer, catalogue, Summary(0, 0)))

        return self.from_answers(table, ddl)

    def _result(self, answer: Answer, summary: Summary, times: TimeOutput) -> UncertainResult:
        from cernis.answers.uncertain_result import UncertainResult

        return UncertainResult(answer, self.plan.checked.catalogue, summary, times, self._origin)


def _as_it_is(rows: Batches) -> Batches:
    yield from rows


def _written(
    rows: Batches, folder: str, times: TimeOutput, selected: frozenset[Relation] | None
) -> Iterator[Row]:
    """Write answers that were kept; reports, and counts of what was written, go to the driver."""
    part = 0
    for batch in rows:
        buckets, kinds, blobs = (batch.column(place) for place in (0, 2, 3))
        for place, kind in enumerate(kinds.to_pylist()):
            content = loads(blobs[place].as_buffer())
            if kind == Kind.ANSWER:
                name = f"{buckets[place].as_py():05}-{part}"
                answer = answer_of([content])
                if selected is not None:
                    answer = selected_answer(answer, selected)
                content = write_answer(answer, Path(folder), name, times)
                part += 1
            yield Row(0, LAST, Kind.WRITTEN if kind == Kind.ANSWER else Kind.REPORT, content)


_ASIDE: Final = pa.schema([
    ("source", pa.string()), ("line", pa.int64()), ("reason", pa.string()), ("text", pa.string()),
])  # fmt: skip


def _contents(rows: Batches, kind: Kind) -> Iterator[Any]:
    """The contents of the blobs of one kind."""
    for batch in rows:
        for place, each in enumerate(batch.column(2).to_pylist()):
            if each == kind:
                yield loads(batch.column(3)[place].as_buffer())


def _aside(report: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for each in (*report.get("set_aside", ()), *report.get("too_late", ())):
        yield {
            "source": each.source, "line": each.line, "reason": each.reason,
            "text": each.text.encode("utf-8", "backslashreplace").decode(),
        }  # fmt: skip


def _find(name: str, relations: list[Relation], noun: str) -> Relation:
    matches = [r for r in relations if name in (r.name, str(r), r.name.partition("(")[0])]
    if len(matches) == 1:
        return matches[0]
    known = ", ".join(map(str, matches or relations)) or "none"
    if matches:
        raise CernisError(f"there are several: {known}")
    raise CernisError(f"there is no {noun} {name}; there are {known}")


# -- the summary -------------------------------------------------------------------------------


@dataclass
class _Sums:
    records: int = 0
    used: int = 0
    outside: int = 0
    conflicts: int = 0
    queries: int = 0
    bounds: tuple[int, int] = (0, 0)
    ignored: dict[str, int] = field(default_factory=dict)
    set_aside: list[SetAside] = field(default_factory=list)
    too_late: list[SetAside] = field(default_factory=list)
    texts: dict[Any, tuple[int, int]] = field(default_factory=dict)
    warnings: dict[str, None] = field(default_factory=dict)
    fluents: set[Relation] = field(default_factory=set)
    """The input fluents of which there are records."""


def summary_of(
    reports: Iterable[Mapping[str, Any]], catalogue: Catalogue, seconds: float = 0.0
) -> Summary:
    """The reports of all tasks as one summary."""
    sums = _Sums()
    for report in reports:
        _add(sums, report)
    remarks = missing_fluents(sums.fluents, catalogue)
    remarks += [
        f"{title_of(form, position)} of {form.relation} is text in {count} of {total} records, "
        "where rules compare it as a number"
        for (form, position), (count, total) in sums.texts.items()
        if count
    ]
    by_place = lambda each: (each.source, each.line)  # noqa: E731 - used twice, here only
    return Summary(
        sums.records, sums.used, dict(sorted(sums.ignored.items())),
        tuple(sorted(sums.set_aside, key=by_place)), tuple(sorted(sums.too_late, key=by_place)),
        sums.outside, tuple(remarks), *sums.bounds, sums.queries, sums.conflicts, seconds,
        tuple(sums.warnings),
    )  # fmt: skip


def _add(sums: _Sums, report: Mapping[str, Any]) -> None:
    sums.records += report.get("records", 0)
    sums.used += report.get("used", 0)
    sums.outside += report.get("outside", 0)
    sums.conflicts += report.get("conflicts", 0)
    sums.queries = max(sums.queries, report.get("queries", 0))
    if "start" in report:
        sums.bounds = report["start"], report["end"]
    for name, count in report.get("ignored", {}).items():
        sums.ignored[name] = sums.ignored.get(name, 0) + count
    sums.set_aside += report.get("set_aside", ())
    sums.too_late += report.get("too_late", ())
    sums.warnings |= dict.fromkeys(report.get("warnings", ()))
    sums.fluents |= report.get("fluents", frozenset())
    for key, (count, total) in report.get("texts", {}).items():
        known = sums.texts.get(key, (0, 0))
        sums.texts[key] = known[0] + count, known[1] + total
