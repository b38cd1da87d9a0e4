"""`cernis explain`: why a pair held or an event happened at a time, or why not."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cernis.cli.console import is_coloured, say
from cernis.cli.program_arguments import Columns, Dialect, Facts, Rules, load_program, mapping_of


class ExplanationFormat(StrEnum):
    """How explanations are written."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


def explain(
    rules: Rules,
    question: Annotated[
        str,
        typer.Argument(metavar="PAIR", help="What to explain: level(b7)=critical, or an event."),
    ],
    inputs: Annotated[
        list[Path],
        typer.Option("--input", "-i", metavar="FILE", readable=False, help="Records."),
    ],
    time: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="When; else when it last held.")
    ] = None,
    facts: Facts = [],  # noqa: B006 - the command line makes a new one for each call
    dialect: Dialect = None,
    depth: Annotated[int | None, typer.Option(help="Fold what lies deeper in the tree.")] = None,
    format_: Annotated[
        ExplanationFormat, typer.Option("--format", help="How to write it.")
    ] = ExplanationFormat.TEXT,
    window: Annotated[str | None, typer.Option(help="How far back a query sees.")] = None,
    step: Annotated[str | None, typer.Option(help="The time from query to query.")] = None,
    start: Annotated[str | None, typer.Option(help="Only later records count.")] = None,
    end: Annotated[str | None, typer.Option(help="The time of the last query.")] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", readable=False, help="Which columns of files are what."),
    ] = None,
    columns: Columns = [],  # noqa: B006 - as above
) -> None:
    """Say why something held or happened, down to the records; or why it did not."""
    program = load_program(rules, facts, dialect)
    explanation = program.explain(
        inputs,
        question,
        time,
        window=window,
        step=step,
        start=start,
        end=end,
        mapping=mapping_of(config, columns),
    )
    if format_ is ExplanationFormat.JSON:
        say(explanation.json())
    elif format_ is ExplanationFormat.HTML:
        say(explanation.html() if depth is None else explanation.html(depth), newline=False)
    else:
        say(explanation.text(depth, is_coloured(sys.stdout)), newline=False)
