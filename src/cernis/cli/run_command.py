"""`cernis run`: recognise, write the result, and say what became of the records."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from cernis.cli.console import say, stop
from cernis.cli.input_arguments import files_of
from cernis.cli.option_groups import takes
from cernis.cli.program_arguments import (
    ColumnOptions,
    Dialect,
    Epoch,
    Facts,
    RoundTimes,
    Rules,
    TimeUnit,
    Timezone,
    load_program,
)
from cernis.cli.spark_command import (
    SESSION_ZONE,
    RunRequest,
    run_on_spark,
    see_all,
    spark_settings,
)
from cernis.cli.uncertain_commands import (
    UncertainOptions,
    refuse_probabilities,
    say_deviations,
    write_likely,
)
from cernis.errors import DataError

if TYPE_CHECKING:
    from cernis.answers.result import Result, Summary
    from cernis.answers.time_output import TimeOutput
    from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
    from cernis.operators.context.measuring import Profile
    from cernis.program import Program

_KERNELS = "cernis.kernels"
"""Whose log says which kernels are compiled."""

IN_PROCESS_BYTES = 64_000_000
"""The size of the input up to which a run is made in this process, unless an engine is named.

What decides is memory: so much Parquet may take some 3.5 GB. On one machine, Spark was not faster
at any size that was tried; docs/running.md has figures.
"""

_SHOWN = 5
"""How many of the records set aside are shown where no file lists them."""


_HERE = "local[*]"
"""Where Spark runs unless that is said."""


class ResultFormat(StrEnum):
    """How results are written."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    TEXT = "text"
    DELTA = "delta"


class Engine(StrEnum):
    """Where programs run; `auto` chooses by the size of the input."""

    AUTO = "auto"
    SPARK = "spark"
    LOCAL = "local"


def _file(*names: str, help: str, metavar: str = "FILE") -> Any:
    return typer.Option(*names, metavar=metavar, readable=False, help=help)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of `cernis run`."""

    rules: Rules
    inputs: Annotated[
        list[Path],
        _file("--input", "-i", help="Records: text, Parquet, JSON lines or CSV; - is a pipe."),
    ]
    facts: Facts = field(default_factory=list)
    dialect: Dialect = None
    output: Annotated[
        Path | None,
        _file("--output", "-o", help="A folder for the result; else it is printed.", metavar="DIR"),
    ] = None
    format_: Annotated[
        ResultFormat | None,
        typer.Option("--format", help="How to write it; into a folder, parquet unless said."),
    ] = None
    select: Annotated[
        list[str],
        typer.Option(
            "--select", metavar="FLUENT,...", help="Print or write these fluents and events only."
        ),
    ] = field(default_factory=list)
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the result in a folder that exists.")
    ] = False
    window: Annotated[str | None, typer.Option(help="How far back a query sees: 7200, or 2h.")] = (
        None
    )
    step: Annotated[str | None, typer.Option(help="The time from query to query.")] = None
    start: Annotated[
        str | None, typer.Option(help="Only later records count: 0, or 2025-01-31T12:00.")
    ] = None
    end: Annotated[str | None, typer.Option(help="The time of the last query.")] = None
    tick: Annotated[int | None, typer.Option(help="How far apart time-points are.")] = None
    time_unit: TimeUnit = None
    timezone: Timezone = None
    round_times: RoundTimes = False
    epoch: Epoch = False
    per_query: Annotated[
        bool, typer.Option("--per-query", help="Give the answer as of each query.")
    ] = False
    profile: Annotated[
        bool, typer.Option("--profile", help="Say what each rule costs, operator by operator.")
    ] = False
    deviations: Annotated[
        bool,
        typer.Option(
            "--deviations",
            help="Say how far probabilities are off since rules take others as independent.",
        ),
    ] = False
    strict: Annotated[
        bool, typer.Option("--strict", help="Records that cannot be read are an error.")
    ] = False
    columns: ColumnOptions
    allow_unused: Annotated[
        bool,
        typer.Option(
            "--allow-unused", help="All is well, too, if most of the records are not used."
        ),
    ] = False
    likely: UncertainOptions
    engine: Annotated[
        Engine,
        typer.Option(
            envvar="CERNIS_ENGINE",
            help="Where to run: on Spark, or in this process, as a pipe, --per-query and --profile "
            "need; auto takes Spark for much input.",
        ),
    ] = Engine.AUTO
    master: Annotated[
        str, typer.Option(help="Where Spark runs: local[*], or the address of a cluster.")
    ] = _HERE
    conf: Annotated[
        list[str], typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark's.")
    ] = field(default_factory=list)
    partitioned: Annotated[
        bool,
        typer.Option(
            "--partitioned",
            help="On Spark: all records of an entity are in one folder of the input (checked).",
        ),
    ] = False

    @property
    def result_format(self) -> ResultFormat:
        """How the result is written: into a folder as Parquet, else as text, unless it is said."""
        return self.format_ or (ResultFormat.PARQUET if self.output else ResultFormat.TEXT)

    @property
    def selected(self) -> list[str]:
        """The names of fluents and events that are printed or written; all if there are none."""
        return [name.strip() for each in self.select for name in each.split(",") if name.strip()]

    def request(self, program: Program) -> RunRequest:
        """The run of a program with these options; a DataError if they do not fit together."""
        from cernis.answers.selection import selected_relations
        from cernis.session.settings import settings

        zone = spark_settings(self.conf).get(SESSION_ZONE)
        scale = program.time_scale if zone is None else program.time_scale.unless_said(zone)
        chosen = settings(
            self.window, self.step, self.start, self.end, self.tick, None, scale, self.epoch
        )
        if self.selected:
            checked = program.checked
            selected_relations(self.selected, checked.catalogue, checked.definitions.auxiliary)
        likely = self.likely.settings(more={"--deviations": self.deviations or None})
        if likely is not None:
            likely.check_names(program.fluents)
        if likely is not None and self.per_query:
            raise DataError("--per-query is about certain records: it does not go with --uncertain")
        return RunRequest(
            program, self.inputs, chosen, self.columns.mapping, self.strict,
            self.partitioned, likely,
            self.likely.probabilities, selected=tuple(self.selected),
        )  # fmt: skip

    def is_for_spark(self) -> bool:
        """Does it run on Spark? If no engine is named, says which it is, and why."""
        from cernis.records.record_sources import STANDARD_INPUT

        piped = any(str(file) == STANDARD_INPUT for file in self.inputs)
        if piped and self.deviations:
            raise DataError("--deviations reads the input again, which a pipe does not allow")
        local_only = {
            "a pipe": piped, "--per-query": self.per_query, "--profile": self.profile,
            "--deviations": self.deviations,
        }  # fmt: skip
        reason = next((name for name, is_used in local_only.items() if is_used), None)
        if self.engine is Engine.SPARK and reason is not None:
            raise DataError(f"{reason} needs --engine local")
        if self.engine is not Engine.AUTO:
            return self.engine is Engine.SPARK
        is_large, why = (False, f"as {reason} needs") if reason else self._size_and_why()
        say(f"cernis: running {'on Spark' if is_large else 'in this process'}, {why}", err=True)
        return is_large

    def _size_and_why(self) -> tuple[bool, str]:
        """Is the input, or an option, one for Spark? With the reason, in words."""
        spark_options = {
            "--master": self.master != _HERE, "--conf": bool(self.conf),
            "--partitioned": self.partitioned,
        }  # fmt: skip
        option = next((name for name, is_used in spark_options.items() if is_used), None)
        if option is not None:
            return True, f"as {option} is given"
        size = sum(file.stat().st_size for file in files_of(self.inputs) if file.is_file())
        limit = f"{IN_PROCESS_BYTES / 1e6:.0f} MB"
        if size > IN_PROCESS_BYTES:
            return True, f"as the input has {size / 1e6:,.0f} MB, more than {limit}"
        return False, f"as the input has no more than {limit}; --engine spark runs it on Spark"


@takes(RunOptions)
def run(options: RunOptions) -> None:
    """Recognise: when did what hold, given these records?"""
    if options.output is None and options.result_format is not ResultFormat.TEXT:
        stop(f"--format {options.result_format} needs --output, a folder for the result", 2)
    program = load_program(
        options.rules, options.facts, options.dialect, options.time_unit, options.timezone,
        options.round_times,
    )  # fmt: skip
    tell_of_compilation()
    try:
        request = options.request(program)
        on_spark, conf = options.is_for_spark(), spark_settings(options.conf)
        _look_ahead(options.inputs, options.output, options.overwrite, on_spark)
    except DataError as error:
        stop(str(error), 2)
    if on_spark:
        wanted = options.result_format
        summary = run_on_spark(request, options.output, wanted, options.master, conf)
    else:
        summary = _run_here(request, options)
    conclude(summary, program, options.allow_unused)


def _run_here(request: RunRequest, options: RunOptions) -> Summary:
    """Recognise in this process, and print or write the result."""
    from cernis.operators.context.measuring import Profile

    costs = Profile() if options.profile else None
    if request.likely is None:
        summary = _run_certain(request, options, costs)
    else:
        summary = _run_uncertain(request, request.likely, options, costs)
    if costs is not None:
        say_costs(costs, request.program)
    return summary


def _run_certain(request: RunRequest, options: RunOptions, costs: Profile | None) -> Summary:
    from cernis.session.recognise import recognise

    files = files_of(request.inputs)
    with _progress(files) as (progress, read):
        result = recognise(
            request.program.plan, files, request.settings, mapping=request.config,
            strict=request.strict, per_query=options.per_query, profile=costs, progress=progress,
            on_read=read,
        )  # fmt: skip
    refuse_probabilities(result.summary.set_aside)
    write_result(request.chosen(result), options.output, options.result_format)
    return result.summary


def _run_uncertain(
    request: RunRequest, likely: UncertainSettings, options: RunOptions, costs: Profile | None
) -> Summary:
    from cernis.session.recognise import recognise_uncertain

    files = files_of(request.inputs)
    with _progress(files) as (progress, read):
        result = recognise_uncertain(
            request.program.plan, files, request.settings, likely,
            mapping=request.config, strict=request.strict, profile=costs, progress=progress,
            on_read=read,
        )  # fmt: skip
    chosen = request.chosen(result)
    write_likely(chosen, options.output, options.result_format, request.probabilities)
    if options.deviations:
        say_deviations(chosen)
    return result.summary


def conclude(summary: Summary, program: Program, allow_unused: bool) -> None:
    """Say what about the input is probably not meant; exit with 3 if most of it is not used."""
    from cernis.answers.unused_records import unused_records

    refuse_probabilities(summary.set_aside)
    for text in summary.warnings:
        say(f"cernis: warning: {text}", err=True)
    lines = unused_records(summary, program.checked.catalogue)
    if not lines or allow_unused:
        return
    say(f"cernis: warning: {lines[0]}; --allow-unused accepts that", err=True)
    say("\n".join(f"  {line}" for line in lines[1:]), err=True)
    raise typer.Exit(3)


def _look_ahead(inputs: list[Path], output: Path | None, overwrite: bool, on_spark: bool) -> None:
    """Find out before the work whether there is input, and a place for the result."""
    from cernis.answers.writers import claim
    from cernis.records.record_sources import STANDARD_INPUT, see

    if on_spark:
        see_all(inputs)
    for file in [] if on_spark else files_of(inputs):
        if str(file) != STANDARD_INPUT:
            see(file)
    if output is not None:
        claim(output, overwrite)


def write_result(result: Result, output: Path | None, format_: ResultFormat) -> None:
    """Print a result or write it into a folder, and say what came of it."""
    from cernis.answers.writers import SET_ASIDE, OutputFormat, write

    began = time.perf_counter()
    if output is None:
        say(result.text(), newline=False)
        say_set_aside(result.summary)
    else:
        try:
            written = write(result, output, OutputFormat(format_))
        except OSError as error:
            stop(f"{output} cannot be written: {error.strerror}", 2)
    say_summary(summary_lines(result, time.perf_counter() - began))
    if output is not None:
        more = f", what was set aside in {SET_ASIDE}" if (output / SET_ASIDE) in written else ""
        count = len(written)
        say(f"{count} file{'s' if count != 1 else ''} in {output}{more}", err=True)


def say_costs(costs: Profile, program: Program) -> None:
    """Say what the rules have cost."""
    from cernis.report.profile_table import as_text

    definitions = program.plan.checked.definitions
    spans = [rule.span for rule in definitions.changes]
    spans += [rule.span for rule in definitions.events]
    spans += [rule.span for rule in definitions.statics]
    spans += [rule.span for rule in definitions.patterns]
    spans += [rule.span for rule in definitions.initials]
    spans += [rule.span for rule in definitions.groundings]
    measured = ((operator, span, cost) for (operator, span), cost in costs.costs.items())
    say("\n" + as_text(measured, spans, program.sources), err=True)


def say_set_aside(summary: Summary) -> None:
    """Show some of the records that were not used."""
    unused = [*summary.set_aside, *summary.too_late]
    for aside in unused[:_SHOWN]:
        say(f"set aside: {aside}", err=True)
    if len(unused) > _SHOWN:
        say(f"and {len(unused) - _SHOWN} more; with --output, a file lists them", err=True)


# -- the summary -------------------------------------------------------------------------------


def say_summary(lines: Iterable[tuple[str, str]]) -> None:
    """Say the closing table."""
    lines = list(lines)
    width = max(len(name) for name, _ in lines)
    if sys.stderr is not None and sys.stderr.isatty() and "NO_COLOR" not in os.environ:
        _say_in_colour(lines)
        return
    say("\n".join(f"{name:<{width}}  {figure}" for name, figure in lines), err=True)


def summary_lines(result: Result, writing: float) -> Iterator[tuple[str, str]]:
    """The closing table: what was used, what was not and why, and what came of it."""
    answer = result.answer
    pairs = sum(len(table) for table in answer.fluents.values())
    intervals = sum(len(table.starts) for table in answer.fluents.values())
    happenings = sum(len(table) for table in answer.events.values()) if answer.events else None
    yield from record_lines(result.summary, result.times)
    yield from found_lines(result.summary, intervals, pairs, happenings, writing)


def record_lines(summary: Summary, times: TimeOutput | None = None) -> Iterator[tuple[str, str]]:
    """What became of the records."""
    yield "records", f"{summary.records:,}"
    yield "used", f"{summary.used:,}"
    unused = [
        ("ignored", sum(summary.ignored.values()), _names(summary)),
        ("set aside", len(summary.set_aside), ""),
        ("too late", len(summary.too_late), ""),
        ("outside the run", summary.outside, ""),
    ]
    for name, count, more in unused:
        if count:
            yield name, f"{count:,}{more}"
    for remark in (*summary.remarks, *summary.notes):
        yield "note", remark
    start, end = (
        str(time) if times is None else times.text(time) for time in (summary.start, summary.end)
    )
    yield "run", f"from {start} to {end}, queries: {summary.queries:,}"


def found_lines(
    summary: Summary, intervals: int, pairs: int, happenings: int | None, writing: float
) -> Iterator[tuple[str, str]]:
    """What came of them."""
    seconds = summary.seconds + writing
    yield "intervals", f"{intervals:,} of {pairs:,} fluent-value pairs"
    if happenings is not None:
        yield "happenings", f"{happenings:,}"
    if summary.conflicts:
        yield "conflicts", f"{summary.conflicts:,}"
    yield "time", f"{seconds:.2f} s, {summary.records / max(seconds, 1e-9):,.0f} records a second"


def _names(summary: Summary) -> str:
    names = [f"{name or '(no name)'} {count:,}" for name, count in summary.ignored.items()]
    more = f", and {len(names) - _SHOWN} more names" if len(names) > _SHOWN else ""
    return f", no rule mentions {', '.join(names[:_SHOWN])}{more}"


def _say_in_colour(lines: list[tuple[str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None)
    table.add_column(style="bold")
    for name, figure in lines:
        table.add_row(name, Text(figure))
    Console(stderr=True).print(table)


# -- the progress bar --------------------------------------------------------------------------

_Steps: TypeAlias = "tuple[Callable[[int], None], Callable[[object], None]]"


@contextmanager
def _progress(inputs: list[Path]) -> Iterator[_Steps]:
    """A bar over the bytes of the input, and then a word on the records; on a terminal only."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield (lambda size: None), (lambda records: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    began = time.perf_counter()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        sizes = [file.stat().st_size for file in inputs if file.is_file()]
        task = bar.add_task("reading", total=sum(sizes) or None)

        def read(records: object) -> None:
            count = getattr(records, "count", 0)
            rate = count / max(time.perf_counter() - began, 1e-9)
            words = f"recognising: {count:,} records, read at {rate:,.0f} a second"
            bar.update(task, description=words, completed=0, total=None)

        yield (lambda size: bar.advance(task, size)), read


# -- the first large run -----------------------------------------------------------------------


class _CompilationNotice(logging.Handler):
    """Says once that kernels are compiled, when the first one is."""

    def emit(self, record: logging.LogRecord) -> None:
        """Say it, and listen no longer."""
        logging.getLogger(_KERNELS).removeHandler(self)
        say("cernis: compiling its kernels, which happens once and takes some seconds", err=True)


def tell_of_compilation() -> None:
    """Say why a run takes longer, if kernels have to be compiled for it."""
    logger = logging.getLogger(_KERNELS)
    logger.setLevel(logging.INFO)
    if not logger.handlers:
        logger.addHandler(_CompilationNotice())
