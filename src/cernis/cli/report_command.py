"""`cernis report`: recognise, and write a page for a browser to look at what held when."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cernis.cli.console import say, stop
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
from cernis.cli.uncertain_commands import Inputs, UncertainOptions
from cernis.errors import DataError

if TYPE_CHECKING:
    from cernis.answers.result import Result
    from cernis.answers.uncertain_result import UncertainResult
    from cernis.program import Program


@dataclass(frozen=True, kw_only=True)
class ReportCommand:
    """The options of `cernis report`."""

    rules: Rules
    inputs: Inputs
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The page: a .html file.")
    ]
    facts: Facts = field(default_factory=list)
    dialect: Dialect = None
    title: Annotated[str | None, typer.Option(help="The title of the page.")] = None
    events: Annotated[
        bool, typer.Option(help="Show events and their attributes, beside what held.")
    ] = True
    causes: Annotated[
        bool | None,
        typer.Option(
            "--causes/--no-causes",
            help="Which rules and records began and ended intervals; up to 1,000,000 unless said.",
        ),
    ] = None
    explain: Annotated[
        list[str],
        typer.Option(metavar="FLUENT", help="Explain the intervals of this fluent as a whole."),
    ] = field(default_factory=list)
    areas: Annotated[
        Path | None,
        typer.Option(metavar="FILE", readable=False, help="Areas for the map, as GeoJSON."),
    ] = None
    window: Annotated[str | None, typer.Option(help="How far back a query sees: 7200, or 2h.")] = (
        None
    )
    step: Annotated[str | None, typer.Option(help="The time from query to query.")] = None
    start: Annotated[str | None, typer.Option(help="Only later records count.")] = None
    end: Annotated[str | None, typer.Option(help="The time of the last query.")] = None
    time_unit: TimeUnit = None
    timezone: Timezone = None
    round_times: RoundTimes = False
    epoch: Epoch = False
    corrections: Annotated[
        bool,
        typer.Option("--corrections", help="Show what later queries have corrected."),
    ] = False
    columns: ColumnOptions
    likely: UncertainOptions


@takes(ReportCommand)
def report(options: ReportCommand) -> None:
    """Recognise, and write a page to look at: a timeline of what held when, and why."""
    program = load_program(
        options.rules, options.facts, options.dialect, options.time_unit, options.timezone,
        options.round_times,
    )  # fmt: skip
    if options.output.suffix.lower() not in (".html", ".htm"):
        stop(f"{options.output} must end in .html: it is a page for a browser", 2)
    try:
        result = _recognised(program, options)
        title = options.title or f"{options.rules.stem}: {', '.join(_names(options.inputs))}"
        page = _write(result, options, title)
    except DataError as error:
        stop(str(error), 2)
    count = sum(len(table.starts) for table in result.answer.fluents.values())
    size = page.stat().st_size / 1e6
    say(f"{page}: {count:,} intervals, {size:.1f} MB; open it in a browser")


def _write(result: Result | UncertainResult, options: ReportCommand, title: str) -> Path:
    from cernis.answers.result import Result

    if isinstance(result, Result):
        return result.report(
            options.output, title=title, events=options.events, areas=options.areas,
            causes=options.causes, explain=options.explain,
        )  # fmt: skip
    if options.explain:
        raise DataError("--explain is about certain records, and not --uncertain")
    return result.report(
        options.output, title=title, events=options.events, areas=options.areas,
        causes=options.causes,
    )  # fmt: skip


def _recognised(program: Program, options: ReportCommand) -> Result | UncertainResult:
    from cernis.session.recognise import recognise, recognise_uncertain
    from cernis.session.settings import settings

    chosen = settings(
        options.window, options.step, options.start, options.end, None, None, program.time_scale,
        options.epoch,
    )  # fmt: skip
    if options.corrections and options.window is None and options.step is None:
        raise DataError("--corrections needs several queries: say --window and --step")
    likely = options.likely.settings()
    if likely is None:
        return recognise(
            program.plan, options.inputs, chosen, mapping=options.columns.mapping,
            per_query=options.corrections,
        )  # fmt: skip
    if options.corrections:
        raise DataError("--corrections is about certain records: it does not go with --uncertain")
    return recognise_uncertain(
        program.plan, options.inputs, chosen, likely, mapping=options.columns.mapping
    )


def _names(inputs: list[Path]) -> list[str]:
    """The names of some inputs, for a title."""
    names = [each.name for each in inputs[:3]]
    return [*names, "…"] if len(inputs) > 3 else names
