"""Formatting of files in place."""

from __future__ import annotations

import difflib
import os
import tempfile
from pathlib import Path

import typer

from cernis.errors import CernisError, ProgramError
from cernis.report.diagnostics import as_text
from cernis.syntax.formatter import format_text


def format_file(file: Path, write: bool, diff: bool) -> bool:
    """Format one file; says whether that changes anything."""
    before = _read(file)
    try:
        after = format_text(before, str(file))
    except ProgramError as error:
        typer.echo(as_text(error.diagnostics, error.sources), err=True)
        raise CernisError(f"{file} is left as it was: it does not parse") from None
    if after == before:
        return False
    if diff:
        lines = difflib.unified_diff(
            before.splitlines(True), after.splitlines(True), str(file), f"{file} (formatted)"
        )
        typer.echo("".join(lines), nl=False)
    else:
        typer.echo(f"{file}: {'formatted' if write else 'would be formatted'}")
    if write:
        _replace(file, after)
    return True


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise CernisError(f"{file} is no UTF-8 text: byte {error.start}") from None
    except OSError as error:
        raise CernisError(f"{file} cannot be read: {error.strerror}") from None


def _replace(file: Path, text: str) -> None:
    """Write beside the file and rename, so that no moment has half a file."""
    try:
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
        os.chmod(name, file.stat().st_mode & 0o7777)
        os.replace(name, file)
    except OSError as error:
        raise CernisError(f"{file} cannot be written: {error.strerror}") from None
