"""`cernis run`: recognise, write the result, and say what became of the records."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from cernis.cli.console import say, stop
from cernis.cli.program_arguments import Dialect, Facts, Rules, load_program
from cernis.cli.spark_command import RunRequest, run_on_spark, see_all, spark_settings
from cernis.cli.uncertain_commands import (
    Durations,
    Memory,
    Probabilities,
    Seed,
    Threshold,
    Uncertain,
    likely_settings,
    write_likely,
)
from cernis.errors import DataError

if TYPE_CHECKING:
    from cernis.answers.result import Result, Summary
    from cernis.operators.measuring import Profile
    from cernis.program import Program

_SHOWN = 5
"""How many of the records set aside are shown where no file lists them."""


class ResultFormat(StrEnum):
    """How results are written."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    TEXT = "text"


class Engine(StrEnum):
    """Where programs run."""

    SPARK = "spark"
    LOCAL = "local"


def _file(*names: str, help: str, metavar: str = "FILE") -> Any:
    return typer.Option(*names, metavar=metavar, readable=False, help=help)


def run(
    rules: Rules,
    inputs: Annotated[
        list[Path],
        _file("--input", "-i", help="Records: text, Parquet, JSON lines or CSV; - is a pipe."),
    ],
    facts: Facts = [],  # noqa: B006 - the command line makes a new one for each call
    dialect: Dialect = None,
    output: Annotated[
        Path | None,
        _file("--output", "-o", help="A folder for the result; else it is printed.", metavar="DIR"),
    ] = None,
    format_: Annotated[
        ResultFormat | None,
        typer.Option("--format", help="How to write it; into a folder, parquet unless said."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the result in a folder that exists.")
    ] = False,
    window: Annotated[
        str | None, typer.Option(help="How far back a query sees: 7200, or 2h.")
    ] = None,
    step: Annotated[str | None, typer.Option(help="The time from query to query.")] = None,
    start: Annotated[
        str | None, typer.Option(help="Only later records count: 0, or 2025-01-31T12:00.")
    ] = None,
    end: Annotated[str | None, typer.Option(help="The time of the last query.")] = None,
    tick: Annotated[int | None, typer.Option(help="How far apart time-points are.")] = None,
    per_query: Annotated[
        bool, typer.Option("--per-query", help="Give the answer as of each query.")
    ] = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Say what each rule costs, operator by operator.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Records that cannot be read are an error.")
    ] = False,
    config: Annotated[
        Path | None,
        _file("--config", help="Which columns are what; else cernis.toml by the input, or here."),
    ] = None,
    allow_unused: Annotated[
        bool,
        typer.Option(
            "--allow-unused", help="All is well, too, if most of the records are not used."
        ),
    ] = False,
    uncertain: Uncertain = False,
    threshold: Threshold = 0.5,
    memory: Memory = None,
    durations: Durations = None,
    seed: Seed = 0,
    probabilities: Probabilities = False,
    engine: Annotated[
        Engine | None,
        typer.Option(
            envvar="CERNIS_ENGINE",
            help="Where to run: on Spark, or in this process, as a pipe, --per-query and --profile "
            "need.",
        ),
    ] = None,
    master: Annotated[
        str, typer.Option(help="Where Spark runs: local[*], or the address of a cluster.")
    ] = "local[*]",
    conf: Annotated[
        list[str], typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark's.")
    ] = [],  # noqa: B006 - the command line makes a new one for each call
    partitioned: Annotated[
        bool,
        typer.Option(
            "--partitioned",
            help="On Spark: all records of an entity are in one folder of the input (checked).",
        ),
    ] = False,
) -> None:
    """Recognise: when did what hold, given these records?"""
    wanted = format_ or (ResultFormat.PARQUET if output else ResultFormat.TEXT)
    if output is None and wanted is not ResultFormat.TEXT:
        stop(f"--format {wanted} needs --output, a folder for the result", 2)
    program = load_program(rules, facts, dialect)
    tell_of_compilation()
    from cernis.operators.measuring import Profile
    from cernis.session.recognise import recognise
    from cernis.session.settings import settings

    try:
        chosen = settings(window, step, start, end, tick)
        likely = likely_settings(uncertain, threshold, memory, durations, seed, probabilities, "")
        if uncertain and per_query:
            raise DataError("--per-query is about certain records: it does not go with --uncertain")
        on_spark = _is_for_spark(engine, inputs, per_query, profile)
        more = spark_settings(conf)
        _look_ahead(inputs, output, overwrite, on_spark)
    except DataError as error:
        stop(str(error), 2)
    if on_spark:
        request = RunRequest(
            program, inputs, chosen, config, strict, partitioned, likely, probabilities
        )
        summary = run_on_spark(request, output, wanted, master, more)
        conclude(summary, program, allow_unused)
        return
    costs = Profile() if profile else None
    if likely is not None:
        from cernis.session.recognise import recognise_uncertain

        with _progress(inputs) as (progress, read):
            likely_result = recognise_uncertain(
                program.plan, inputs, chosen, likely, mapping=config, strict=strict,
                profile=costs, progress=progress, on_read=read,
            )  # fmt: skip
        write_likely(likely_result, output, wanted, probabilities)
        if costs is not None:
            say_costs(costs, program)
        conclude(likely_result.summary, program, allow_unused)
        return
    with _progress(inputs) as (progress, read):
        result = recognise(
            program.plan, inputs, chosen, mapping=config, strict=strict, per_query=per_query,
            profile=costs, progress=progress, on_read=read,
        )  # fmt: skip
    write_result(result, output, wanted)
    if costs is not None:
        say_costs(costs, program)
    conclude(result.summary, program, allow_unused)


def conclude(summary: Summary, program: Program, allow_unused: bool) -> None:
    """Say what about the input is probably not meant; exit with 3 if most of it is not used."""
    from cernis.answers.unused_records import unused_records

    for text in summary.warnings:
        say(f"cernis: warning: {text}", err=True)
    lines = unused_records(summary, program.checked.catalogue)
    if not lines or allow_unused:
        return
    say(f"cernis: warning: {lines[0]}; --allow-unused accepts that", err=True)
    say("\n".join(f"  {line}" for line in lines[1:]), err=True)
    raise typer.Exit(3)


def _is_for_spark(
    engine: Engine | None, inputs: list[Path], per_query: bool, profile: bool
) -> bool:
    """Spark, unless it is said otherwise, or the process itself can do what Spark cannot."""
    from cernis.records.record_sources import STANDARD_INPUT

    piped = any(str(file) == STANDARD_INPUT for file in inputs)
    local_only = {"a pipe": piped, "--per-query": per_query, "--profile": profile}
    reason = next((name for name, is_asked in local_only.items() if is_asked), None)
    if engine is Engine.SPARK and reason is not None:
        raise DataError(f"{reason} needs --engine local")
    return engine is not Engine.LOCAL and reason is None


def _look_ahead(inputs: list[Path], output: Path | None, overwrite: bool, on_spark: bool) -> None:
    """Find out before the work whether there is input, and a place for the result."""
    from cernis.answers.writers import claim
    from cernis.records.record_sources import STANDARD_INPUT, see

    if on_spark:
        see_all(inputs)
    for file in inputs:
        if not on_spark and str(file) != STANDARD_INPUT:
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
    yield from record_lines(result.summary)
    yield from found_lines(result.summary, intervals, pairs, happenings, writing)


def record_lines(summary: Summary) -> Iterator[tuple[str, str]]:
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
    for remark in summary.remarks:
        yield "note", remark
    yield "run", f"from {summary.start} to {summary.end}, queries: {summary.queries:,}"


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


# -- the first run -----------------------------------------------------------------------------


def tell_of_compilation() -> None:
    """Say why the first run takes longer, if this looks like the first."""
    if not kernels_are_compiled():
        say("cernis: compiling its kernels, which happens once and takes some seconds", err=True)


def kernels_are_compiled() -> bool:
    """Has numba compiled most of the kernels before, and kept them where it would look?

    Looks at file names only, so it may be wrong; all it decides is what is said.
    """
    from importlib.util import find_spec

    spec = find_spec("cernis.kernels")
    if spec is None or not spec.submodule_search_locations:
        return True
    folder = Path(next(iter(spec.submodule_search_locations)))
    kept = {index for place in _caches(folder) for index in os.listdir(place)}
    names = [name for module in folder.glob("*.py") for name in _indexes(module)]
    # Some may be for programs that nobody here has run.
    return sum(name in kept for name in names) >= len(names) / 2


def _caches(folder: Path) -> list[Path]:
    """Where numba may have put compiled code: beside a module, or else in a folder of its own."""
    own = os.environ.get("NUMBA_CACHE_DIR")
    if own:
        return [*Path(own).glob(f"{folder.name}_*")]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "numba")
    places = (folder / "__pycache__", *home.glob(f"{folder.name}_*"))
    return [place for place in places if place.is_dir()]


def _indexes(module: Path) -> Iterator[str]:
    """The names of the index files of a module's kernels: function, line and version of Python."""
    text = module.read_text("utf-8", "replace")
    version = f"py{sys.version_info[0]}{sys.version_info[1]}"
    for match in re.finditer(r"^@kernel\(.*?^def (\w+)", text, re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, match.start()) + 1
        yield f"{module.stem}.{match[1]}-{line}.{version}.nbi"
