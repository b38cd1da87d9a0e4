"""The records of a command: files, folders and patterns on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from cernis.cli.console import stop
from cernis.errors import DataError


def input_option(text: str) -> Any:
    """The option `--input` of a command that reads files of records in this process."""
    return typer.Option(
        "--input", "-i", metavar="FILE", readable=False, help=text, callback=_listed_files
    )


def files_of(inputs: Sequence[Path]) -> list[Path]:
    """The files that paths, folders and patterns name; a pipe stays what it is."""
    from cernis.records.record_sources import STANDARD_INPUT, input_files

    named = [path for path in inputs if str(path) != STANDARD_INPUT]
    return [*input_files(named), *(path for path in inputs if path not in named)]


def _listed_files(inputs: list[Path]) -> list[Path]:
    try:
        return files_of(inputs)
    except DataError as error:
        stop(str(error), 2)
