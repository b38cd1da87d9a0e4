"""`cernis test`: run the tests of rules, and say what is not as expected."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cernis.cli.console import is_coloured, say, stop
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
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", readable=False, help="Write JUnit XML, too."),
    ] = None,
) -> None:
    """Run the tests of rules: files ending in .certest, each test as a run and as a session."""
    from cernis.testing.case_report import CaseReport
    from cernis.testing.case_sessions import CaseSession, case_paths, chooser

    began = time.perf_counter()
    try:
        paths = case_paths(places or [Path()])
        chosen = chooser(words) if words else lambda name: True
    except DataError as error:
        stop(str(error), 2)
    if not paths:
        stop("there are no tests: no file ends in .certest", 2)
    report = CaseReport(verbose, is_coloured(sys.stdout))
    session = CaseSession()
    outcomes = _outcomes(session, paths, chosen, report, first_only)
    seconds = time.perf_counter() - began
    for line in report.end(outcomes, seconds):
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


def _exit_code(outcomes: list[CaseOutcome]) -> int:
    """0 if all pass, 1 if any does not, 2 if any cannot be run, or none was chosen."""
    if not outcomes or any(outcome.error for outcome in outcomes):
        return 2
    return 0 if all(outcome.is_passed for outcome in outcomes) else 1
