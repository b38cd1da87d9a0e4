"""Words for the standard streams, and the end of a command that cannot go on."""

from __future__ import annotations

import os
import sys
import warnings
from typing import NoReturn, TextIO

import typer

from cernis.errors import InputWarning, ProgramWarning


def say(text: str, *, newline: bool = True, err: bool = False) -> None:
    """Write to standard output, or to standard error.

    When nobody reads it any more, this and all that follows is dropped: the exit code is the one
    the command would have had.
    """
    try:
        typer.echo(text, nl=newline, err=err)
    except BrokenPipeError:
        drop(sys.stderr if err else sys.stdout)


def say_warnings() -> None:
    """Let warnings about input and program be said in a line, and not with their origin."""
    show = warnings.showwarning

    def shown(
        message: Warning | str, category: type[Warning], filename: str, lineno: int,
        file: TextIO | None = None, line: str | None = None,
    ) -> None:  # fmt: skip
        if issubclass(category, (InputWarning, ProgramWarning)):
            say(f"cernis: warning: {message}", err=True)
        else:
            show(message, category, filename, lineno, file, line)

    warnings.showwarning = shown


def stop(message: str, code: int = 1) -> NoReturn:
    """Say in one line why the command ends here."""
    say(f"cernis: {message}", err=True)
    raise SystemExit(code)


def is_coloured(stream: TextIO | None) -> bool:
    """May what goes to a stream be coloured?"""
    return stream is not None and stream.isatty() and "NO_COLOR" not in os.environ


def accept_any_character(stream: TextIO | None) -> None:
    """Let a stream write characters its encoding lacks, or that no encoding has, as escapes."""
    if stream is not None and hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")


def drop(stream: TextIO | None) -> None:
    """Lead a stream that cannot be written to nowhere, or its last flush would complain again."""
    if stream is None:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
