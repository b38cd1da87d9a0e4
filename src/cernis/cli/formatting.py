"""Formatting of files in place."""

from __future__ import annotations

import difflib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cernis.cli.console import is_coloured, say
from cernis.errors import CernisError, ProgramError
from cernis.report.diagnostics import as_text
from cernis.syntax.formatter import format_text


def format_file(file: Path, write: bool, diff: bool) -> bool:
    """Format one file; says whether that changes anything.

    Lines end in a line feed afterwards, and a byte order mark is gone. Raises CernisError for a
    file that cannot be read, does not parse or cannot be written, and leaves it as it was.
    """
    before = _read(file)
    after = _formatted(before.removeprefix("\ufeff").replace("\r\n", "\n"), file)
    if after == before:
        return False
    if write:
        _replace(file, after)
    if diff:
        say("".join(_difference(file, before, after)), newline=False)
    else:
        say(f"{file}: {'formatted' if write else 'would be formatted'}")
    return True


def _formatted(text: str, file: Path) -> str:
    try:
        formatted = format_text(text, str(file))
    except ProgramError as error:
        say(as_text(error.diagnostics, error.sources, is_coloured(sys.stderr)), err=True)
        raise CernisError(f"{file} is left as it was: it does not parse") from None
    # A quoted atom may hold what UTF-8 cannot; written as an escape it reads back the same.
    return formatted.encode("utf-8", "backslashreplace").decode("utf-8")


def _difference(file: Path, before: str, after: str) -> Iterator[str]:
    old, new = before.splitlines(True), after.splitlines(True)
    for line in difflib.unified_diff(old, new, str(file), f"{file} (formatted)"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise CernisError(f"{file} is no UTF-8 text: byte {error.start}") from None
    except OSError as error:
        raise CernisError(f"{file} cannot be read: {error.strerror}") from None


def _replace(file: Path, text: str) -> None:
    """Write beside the file and rename, so that no moment has half a file; links stay links."""
    target = file.resolve()
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(text)
            os.chmod(name, target.stat().st_mode & 0o7777)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise CernisError(f"{file} cannot be written: {error.strerror}") from None
