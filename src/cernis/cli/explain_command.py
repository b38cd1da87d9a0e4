"""`cernis explain`: why a pair held or an event happened at a time, or why not."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cernis.cli.console import is_coloured, say, stop
from cernis.cli.input_arguments import input_option
from cernis.cli.program_arguments import (
    Columns,
    Config,
    Dialect,
    Facts,
    Rules,
    Timezone,
    load_program,
    mapping_of,
)

if TYPE_CHECKING:
    from cernis.explain.explanation_tree import Explanation
    from cernis.program import Program
    from cernis.records.record_columns import Records


class ExplanationFormat(StrEnum):
    """How explanations are written."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


def explain(
    rules: Rules,
    question: Annotated[
        str,
        typer.Argument(metavar="PAIR", help="A pair, level(b7)=critical, an event, or an entity."),
    ],
    inputs: Annotated[
        list[Path],
        input_option("Records: files, folders, or patterns."),
    ] = [],  # noqa: B006 - the command line makes a new one for each call
    time: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="When; else when it last held.")
    ] = None,
    first: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="All since then, each by itself.")
    ] = None,
    last: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="All up to then, each by itself.")
    ] = None,
    facts: Facts = [],  # noqa: B006 - the command line makes a new one for each call
    dialect: Dialect = None,
    depth: Annotated[
        int | None, typer.Option(min=0, help="Fold what lies deeper in the tree.")
    ] = None,
    format_: Annotated[
        ExplanationFormat, typer.Option("--format", help="How to write it.")
    ] = ExplanationFormat.TEXT,
    window: Annotated[str | None, typer.Option(help="How far back a query sees.")] = None,
    step: Annotated[str | None, typer.Option(help="The time from query to query.")] = None,
    start: Annotated[str | None, typer.Option(help="Only later records count.")] = None,
    end: Annotated[str | None, typer.Option(help="The time of the last query.")] = None,
    config: Config = None,
    columns: Columns = [],  # noqa: B006 - as above
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            readable=False,
            help="Explain the stream of this checkpoint: from the records of its window, or from "
            "all that it has read, if that is the input.",
        ),
    ] = None,
    timezone: Timezone = None,
    uncertain: Annotated[
        bool,
        typer.Option("--uncertain", help="Records may have probabilities; give their shares, too."),
    ] = False,
) -> None:
    """Say why something held or happened, down to the records; or why it did not."""
    from cernis.explain.wider_questions import is_entity

    if checkpoint is not None:
        if any(each is not None for each in (first, last, window, step, start, end)):
            stop(
                "with --checkpoint, --from, --to and the settings of a run have no meaning: the "
                "stream has its own; say a time with --at",
                2,
            )
        program = load_program(rules, facts, dialect)
        explanations = [
            _of_stream(program, checkpoint, question, time, inputs, mapping_of(config, columns),
                       timezone)
        ]  # fmt: skip
        _write(explanations, question, format_, depth)
        return
    if not inputs:
        stop("there is nothing to explain from: give records with --input, or a --checkpoint", 2)
    program = load_program(rules, facts, dialect, timezone=timezone)
    records = _read(program, inputs, mapping_of(config, columns), uncertain)
    limits: dict[str, Any] = {
        "window": window, "step": step, "start": start, "end": end, "uncertain": uncertain,
    }  # fmt: skip
    if first is None and last is None and not is_entity(program.plan, question):
        explanations = [program.explain(records, question, time, **limits)]
    else:
        bounds = (time, time) if time is not None else (first, last)
        explanations = program.explain_all(records, question, *bounds, **limits)
        if not explanations:
            stop(_nothing(program, records, question))
    _write(explanations, question, format_, depth)


def _read(
    program: Program, inputs: list[Path], mapping: Path | dict[str, Any] | None, uncertain: bool
) -> Records:
    """The records of the input; it stops if rules can use none of them."""
    from cernis.records.record_sources import read_events

    records = read_events(inputs, program.checked, mapping, uncertain=uncertain)
    if not records.used:
        reasons = [f"{records.count:,} were read"]
        if records.set_aside:
            reasons.append(f"{len(records.set_aside):,} set aside, first {records.set_aside[0]}")
        if records.ignored:
            reasons.append(f"no rule mentions {', '.join(list(records.ignored)[:5])}")
        names = ", ".join(map(str, inputs))
        stop(f"{names}: there are no records that the rules can use: {'; '.join(reasons)}")
    return records


def _nothing(program: Program, records: Records, entity: str) -> str:
    """Why there is nothing to explain about an entity."""
    from cernis.explain.question_faults import unnamed_arguments
    from cernis.syntax import parse_term

    unnamed = next(unnamed_arguments(records, program.checked, [parse_term(entity)]), None)
    reason = unnamed.text if unnamed else "nothing that rules define held or happened then"
    return (
        f"there is nothing to explain about {entity}: {reason}. "
        "Name a pair, such as level(b7)=critical, to ask why it does not hold"
    )


def _of_stream(
    program: Program, checkpoint: Path, question: str, time: str | None, inputs: list[Path],
    mapping: Path | dict[str, Any] | None, zone: str | None,
) -> Explanation:  # fmt: skip
    from cernis.spark.streaming.stream_explanations import explain_stream

    return explain_stream(
        program, checkpoint, question, time, events=inputs or None, mapping=mapping, zone=zone
    )


def _write(
    explanations: list[Explanation], question: str, format_: ExplanationFormat, depth: int | None
) -> None:
    """Write explanations in one of the formats."""
    from cernis.explain.explanation_pages import explanation_page

    if format_ is ExplanationFormat.JSON:
        whole = [each.as_dict() for each in explanations]
        content = whole[0] if len(whole) == 1 else whole
        say(json.dumps(content, indent=2, ensure_ascii=False))
    elif format_ is ExplanationFormat.HTML:
        say(explanation_page(explanations, 4 if depth is None else depth), newline=False)
    else:
        coloured = is_coloured(sys.stdout)
        texts = [each.text(depth, coloured) for each in explanations]
        say("\n".join(texts), newline=False)
