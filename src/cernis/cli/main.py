"""The command line: `cernis check`, `fmt`, `run`, `stream`, `plan`, `graph` and others.

Exit codes: 0 all is well, 1 the program has errors (or is not formatted), 2 the command itself
is wrong, 3 most of the records were not used.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cernis import __version__
from cernis.cli.case_commands import generate_test, run_cases
from cernis.cli.compare_commands import diff, vary
from cernis.cli.console import accept_any_character, drop, is_coloured, say, say_warnings, stop
from cernis.cli.explain_command import explain
from cernis.cli.graph_command import graph
from cernis.cli.input_arguments import input_option
from cernis.cli.program_arguments import (
    Columns,
    Config,
    Dialect,
    Facts,
    Rules,
    load_program,
    mapping_of,
)
from cernis.cli.report_command import report
from cernis.cli.run_command import run
from cernis.cli.series_command import series
from cernis.cli.stream_command import replay, stream
from cernis.cli.uncertain_commands import learn_durations, noise, score
from cernis.errors import CernisError, DataError
from cernis.tables.allocation import keep_freed_memory

if TYPE_CHECKING:
    from cernis.check import Checked
    from cernis.errors import Diagnostic
    from cernis.program import Program

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Composite event recognition: when did what hold, from events and rules.",
)


class DiagnosticFormat(StrEnum):
    """How diagnostics are written."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"


def main() -> None:
    """Run the command line; what goes wrong is said in one line."""
    accept_any_character(sys.stdout)
    keep_freed_memory()
    say_warnings()
    try:
        app()
    except CernisError as error:
        stop(str(error))
    except MemoryError as error:
        stop(f"there is not enough memory: {error}; --profile shows which rule gives most rows")
    except OSError as error:
        # Commands see to the files they read and write: this is the output itself.
        drop(sys.stdout)
        stop(f"the output cannot be written: {error.strerror}", 2)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"cernis {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which it is.")
    ] = False,
) -> None:
    """Options of all commands."""


@app.command()
def check(
    rules: Rules,
    facts: Facts = [],  # noqa: B006 - the command line makes a new one for each call
    dialect: Dialect = None,
    format_: Annotated[
        DiagnosticFormat, typer.Option("--format", help="How to write it.")
    ] = DiagnosticFormat.TEXT,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings are errors.")] = False,
) -> None:
    """Say what is wrong with a program, all of it at once."""
    from cernis.program import check_source
    from cernis.report.diagnostics import as_github, as_json, as_text, summary

    checked = check_source(rules, facts, dialect, facts_follow=not facts)
    diagnostics = _all_diagnostics(checked)
    if format_ is DiagnosticFormat.JSON:
        say(as_json(diagnostics, checked.sources))
    elif format_ is DiagnosticFormat.GITHUB:
        if diagnostics:
            say(as_github(diagnostics, checked.sources))
    else:
        if diagnostics:
            say(as_text(diagnostics, checked.sources, is_coloured(sys.stdout)) + "\n")
        said = f"{rules}: {summary(diagnostics)}", _inventory(checked), _dialect(checked)
        say("; ".join(filter(None, said)))
    worst = checked.has_errors or (
        strict and any(str(d.severity) == "warning" for d in diagnostics)
    )
    raise typer.Exit(1 if worst else 0)


def _all_diagnostics(checked: Checked) -> tuple[Diagnostic, ...]:
    """What the check and, if nothing is missing, the plan have to say, by place."""
    from cernis.plan import make_plan

    if checked.has_errors or any(each.code == "C022" for each in checked.diagnostics):
        return checked.diagnostics
    planned = make_plan(checked).diagnostics
    return tuple(sorted([*checked.diagnostics, *planned], key=lambda each: (each.span, each.code)))


def _dialect(checked: Checked) -> str:
    return f"dialect {checked.definitions.settings.dialect}"


def _inventory(checked: Checked) -> str:
    from cernis.check.model import FluentKind

    events = checked.catalogue.events.values()
    kinds = [fluent.kind for fluent in checked.catalogue.fluents.values()]
    counts = [
        (sum(event.is_input for event in events) + kinds.count(FluentKind.INPUT), "input"),
        (sum(not event.is_input for event in events), "derived event"),
        (kinds.count(FluentKind.SIMPLE), "simple fluent"),
        (kinds.count(FluentKind.STATIC), "statically determined fluent"),
        (len(checked.clauses) + len(checked.tables), "predicate"),
    ]
    return ", ".join(f"{n} {word}{'s' if n != 1 else ''}" for n, word in counts if n)


@app.command()
def fmt(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", readable=False, help="Files of rules or facts."),
    ],
    check_: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 1 if any would.")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Change nothing; show what would.")] = False,
) -> None:
    """Lay files out in the one way there is. Comments stay."""
    from cernis.cli.formatting import format_file

    changed = failed = False
    for file in files:
        try:
            changed |= format_file(file, write=not (check_ or diff), diff=diff)
        except CernisError as error:
            failed = True
            say(f"cernis: {error}", err=True)
    raise typer.Exit(1 if failed or (check_ and changed) else 0)


app.command()(run)
app.command()(graph)
app.command()(report)
app.command()(explain)
app.command("test")(run_cases)
app.command("generate-test")(generate_test)
app.command()(diff)
app.command()(vary)
app.command()(stream)
app.command()(replay)
app.command("learn-durations")(learn_durations)
app.command()(noise)
app.command()(score)
app.command()(series)


@app.command()
def plan(
    rules: Rules,
    facts: Facts = [],  # noqa: B006 - as above
    dialect: Dialect = None,
    expand: Annotated[
        bool, typer.Option("--expand", help="Show the rules with phrases written out instead.")
    ] = False,
    analyze: Annotated[
        bool,
        typer.Option("--analyze", help="Recognise on the input, and show what each stratum costs."),
    ] = False,
    inputs: Annotated[
        list[Path],
        input_option("Records, for --analyze."),
    ] = [],  # noqa: B006 - as above
    window: Annotated[str | None, typer.Option(help="How far back a query sees.")] = None,
    step: Annotated[str | None, typer.Option(help="The time from query to query.")] = None,
    config: Config = None,
    columns: Columns = [],  # noqa: B006 - as above
) -> None:
    """Show how a program is evaluated: stages, strata, operators; or what that costs."""
    from cernis.plan import explain as plan_text
    from cernis.report.diagnostics import as_text

    program = load_program(rules, facts, dialect)
    if expand:
        say(_expanded(rules), newline=False)
        return
    if analyze:
        if not inputs:
            stop("--analyze needs records: name files with --input", 2)
        mapping = mapping_of(config, columns)
        say(_analysed(program, inputs, window, step, mapping), newline=False)
        return
    say(plan_text(program.plan), newline=False)
    if diagnostics := _all_diagnostics(program.checked):
        text = as_text(diagnostics, program.sources, is_coloured(sys.stderr))
        say("\n" + text, err=True)


def _analysed(
    program: Program, inputs: list[Path], window: str | None, step: str | None,
    mapping: Path | dict[str, Any] | None,
) -> str:  # fmt: skip
    from cernis.report.session_analysis import as_text
    from cernis.session.replayed_session import analyze
    from cernis.session.settings import settings

    try:
        analysis = analyze(
            program.plan, inputs, settings(window, step, scale=program.time_scale), mapping
        )
    except DataError as error:
        stop(str(error), 2)
    return as_text(analysis, program.plan)


def _expanded(rules: Path) -> str:
    from cernis.check.rewrites.phrase_rules import expanded_text
    from cernis.syntax.load import load_files

    return expanded_text(load_files([rules]).items)


@app.command("explain-code")
def explain_code(
    code: Annotated[str, typer.Argument(metavar="CODE", help="Such as C030.")],
) -> None:
    """Explain a diagnostic, with an example that gives it."""
    from cernis.report.diagnostic_pages import section

    text = section(code.upper())
    if text is None:
        stop(f"there is no diagnostic {code}", 2)
    say(text)


if __name__ == "__main__":
    main()
