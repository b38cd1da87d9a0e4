"""The program a command is about: its arguments on the command line, and loading it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cernis.cli.console import is_coloured, say, stop

if TYPE_CHECKING:
    from cernis.program import Program

# A file that may not be read is reported like one that is not there, and not as wrong usage: so
# `readable=False`, which leaves it to the command to find out.
Rules = Annotated[Path, typer.Argument(metavar="RULES", readable=False, help="The file of rules.")]
Facts = Annotated[
    list[Path],
    typer.Option(
        "--facts",
        metavar="FILE",
        readable=False,
        help="Background facts: rule text, CSV or Parquet.",
    ),
]
Dialect = Annotated[
    str | None,
    typer.Option(
        "--dialect",
        metavar="NAME",
        help="How the rules are read: cernis, or rtec, which is usual for files ending in .prolog.",
    ),
]


def load_program(rules: Path, facts: list[Path], dialect: str | None = None) -> Program:
    """The program, or its diagnostics and the end."""
    from cernis.errors import ProgramError
    from cernis.program import load
    from cernis.report.diagnostics import as_text, summary

    try:
        return load(rules, facts, dialect)
    except ProgramError as error:
        say(as_text(error.diagnostics, error.sources, is_coloured(sys.stderr)), err=True)
        stop(f"{rules}: {summary(error.diagnostics)}")
