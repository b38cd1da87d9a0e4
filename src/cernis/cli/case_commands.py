"""`cernis test`: run the tests of rules, and say what is not as expected."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cernis.cli.console import is_coloured, say, stop
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
from cernis.errors import DataError

if TYPE_CHECKING:
    from cernis.testing.case_report import CaseReport
    from cernis.testing.case_sessions import CaseOutcome, CaseSession


def run_cases(
    places: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[DIR]...", help="Files of tests, or folders of such; else the current one."
        ),
    ] = None,
    words: Annotated[
        str, typer.Option("-k", metavar="WORDS", help="Only tests whose names have these words.")
    ] = "",
    first_only: Annotated[
        bool, typer.Option("-x", "--exitfirst", help="Stop at the first that does not pass.")
    ] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="A line for each test.")] = False,
    update: Annotated[
        bool,
        typer.Option("--update", help="Write what came into the files, where it was not expected."),
    ] = False,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Say which rules never fired, and the like.")
    ] = False,
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", readable=False, help="Write JUnit XML, too."),
    ] = None,
) -> None:
    """Run the tests of rules: files ending in .certest, each test as a run and as a session."""
    from cernis.testing.case_report import CaseReport
    from cernis.testing.case_sessions import CaseSession, case_paths, chooser
    from cernis.testing.rule_coverage import RuleCoverage

    began = time.perf_counter()
    try:
        paths = case_paths(places or [Path()])
        chosen = chooser(words) if words else lambda name: True
    except DataError as error:
        stop(str(error), 2)
    if not paths:
        stop("there are no tests: no file ends in .certest", 2)
    report = CaseReport(verbose, is_coloured(sys.stdout))
    session = CaseSession(coverage=RuleCoverage() if coverage else None)
    outcomes = _outcomes(session, paths, chosen, report, first_only)
    seconds = time.perf_counter() - began
    for line in report.end(outcomes, seconds):
        say(line)
    for line in session.coverage.lines() if session.coverage else ():
        say(line)
    if junit is not None:
        _write_junit(junit, outcomes, seconds)
    if update:
        _update(outcomes)
    raise typer.Exit(_exit_code(outcomes))


def _outcomes(
    session: CaseSession, paths: list[Path], chosen: Callable[[str], bool], report: CaseReport,
    first_only: bool,
) -> list[CaseOutcome]:  # fmt: skip
    outcomes = []
    for outcome in session.outcomes(paths, chosen):
        say(report.mark(outcome), newline=False)
        outcomes.append(outcome)
        if first_only and not outcome.is_passed:
            break
    return outcomes


def _write_junit(path: Path, outcomes: list[CaseOutcome], seconds: float) -> None:
    from cernis.testing.junit import junit_xml

    try:
        path.write_text(junit_xml(outcomes, seconds), "utf-8")
    except OSError as error:
        stop(f"{path} cannot be written: {error.strerror}", 2)


def _update(outcomes: list[CaseOutcome]) -> None:
    from cernis.testing.case_updates import update_files

    try:
        done = update_files(outcomes)
    except OSError as error:
        stop(f"{error.filename} cannot be written: {error.strerror}", 2)
    names = ", ".join(dict.fromkeys(map(str, done.paths)))
    say(
        f"updated: {done.changed} in {names}; look at the difference"
        if names
        else "nothing updated"
    )
    for place in dict.fromkeys(done.left):
        say(f"left as it is, as several tests share it or it has errors: {place}")


def generate_test(
    rules: Rules,
    inputs: Annotated[
        list[Path],
        input_option("Records: files, folders, or patterns."),
    ],
    entities: Annotated[
        list[str] | None,
        typer.Option("--entity", metavar="NAME", help="Whom it is about, such as b7."),
    ] = None,
    first: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="What holds from then on.")
    ] = None,
    last: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Up to then, where its run ends.")
    ] = None,
    facts: Facts = [],  # noqa: B006 - the command line makes a new one for each call
    dialect: Dialect = None,
    window: Annotated[str | None, typer.Option(help="How far back a query sees.")] = None,
    step: Annotated[str | None, typer.Option(help="The time from query to query.")] = None,
    start: Annotated[str | None, typer.Option(help="Only later records count.")] = None,
    config: Config = None,
    columns: Columns = [],  # noqa: B006 - as above
    name: Annotated[str | None, typer.Option(help="The name of the test.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to add it; else it is printed."),
    ] = None,
) -> None:
    """Cut a test out of records: those that matter to an entity, and what came of them."""
    from cernis.session.settings import point, settings
    from cernis.testing.generated_cases import CaseCut, CaseHeading, generated_case

    program = load_program(rules, facts, dialect)
    try:
        chosen = settings(window, step, start, scale=program.time_scale)
        first_point, last_point = (
            None if text is None else point(text, option, program.time_scale)
            for text, option in ((first, "--from"), (last, "--to"))
        )
        records = program.records(inputs, mapping_of(config, columns))
        cut = CaseCut(program, records, tuple(entities or ()), first_point, last_point, chosen)
        title = name or _title(entities, first, last)
        heading = CaseHeading(title, rules, tuple(facts), dialect)
        text = generated_case(cut, heading, output or Path("generated.certest"))
    except DataError as error:
        stop(str(error), 2)
    _add_test(text, output)
    count = sum(map(len, records.relations.values()))
    left = text[text.index("  given") : text.index("  expect")].count("\n") - 1
    say(f"{left} of {count:,} records matter; tried {cut.runs} runs", err=True)


def _title(entities: list[str] | None, first: str | None, last: str | None) -> str:
    whose = " and ".join(entities or ["all"])
    return whose + (f" from {first}" if first else "") + (f" to {last}" if last else "")


def _add_test(text: str, output: Path | None) -> None:
    if output is None:
        say(text, newline=False)
        return
    try:
        before = output.read_text("utf-8").rstrip("\n") + "\n\n" if output.exists() else ""
        output.write_text(before + text, "utf-8")
    except OSError as error:
        stop(f"{output} cannot be written: {error.strerror}", 2)
    say(f"{output}: a test was {'added' if before else 'written'}")


def _exit_code(outcomes: list[CaseOutcome]) -> int:
    """0 if all pass, 1 if any does not, 2 if any cannot be run, or none was chosen."""
    if not outcomes or any(outcome.error for outcome in outcomes):
        return 2
    return 0 if all(outcome.is_passed for outcome in outcomes) else 1
