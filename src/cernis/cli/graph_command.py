"""`cernis graph`: draw what depends on what, as DOT, as a picture, or as a page."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cernis.cli.console import say, stop
from cernis.cli.input_arguments import input_option
from cernis.cli.option_groups import takes
from cernis.cli.program_arguments import ColumnOptions, Dialect, Facts, Rules, load_program
from cernis.errors import DataError

if TYPE_CHECKING:
    from cernis.answers.result import Result
    from cernis.check.model import Relation
    from cernis.program import Program
    from cernis.records.record_columns import Records
    from cernis.report.graph_page import LastRun


@dataclass(frozen=True, kw_only=True)
class GraphOptions:
    """The options of `cernis graph`."""

    rules: Rules
    facts: Facts = field(default_factory=list)
    dialect: Dialect = None
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", readable=False,
            help="A .html page, or a .svg or .dot file; else DOT is printed.",
        ),
    ] = None  # fmt: skip
    inputs: Annotated[bool, typer.Option(help="Draw the input too.")] = True
    records: Annotated[
        list[Path],
        input_option("Records: a page then shows what there was, and what rules cost."),
    ] = field(default_factory=list)  # fmt: skip
    window: Annotated[str | None, typer.Option(help="How far back a query sees.")] = None
    step: Annotated[str | None, typer.Option(help="The time from query to query.")] = None
    columns: ColumnOptions


@takes(GraphOptions)
def graph(options: GraphOptions) -> None:
    """Draw what depends on what, immediately and with a delay, level by level."""
    from cernis.report.dependency_graph import as_dot, as_svg

    program = load_program(options.rules, options.facts, options.dialect)
    checked, output = program.checked, options.output
    if output is None:
        say(as_dot(checked.dependencies, checked.catalogue, options.inputs), newline=False)
        return
    writers = {".svg": as_svg, ".dot": as_dot, ".gv": as_dot}
    if options.records and output.suffix != ".html":
        stop("--input is for a page: the name of the output must end in .html", 2)
    if output.suffix == ".html":
        text = _page(program, options)
    elif output.suffix in writers:
        writer = writers[output.suffix]
        text = writer(checked.dependencies, checked.catalogue, options.inputs)
    else:
        stop(f"{output} must end in .html, .svg or .dot", 2)
    try:
        output.write_text(text, "utf-8")
    except OSError as error:
        stop(f"{output} cannot be written: {error.strerror}", 2)
    count = len(checked.dependencies.vertices)
    say(f"{output}: {count} {'vertex' if count == 1 else 'vertices'}")


def _page(program: Program, options: GraphOptions) -> str:
    from cernis.report.graph_page import as_page

    try:
        run = _last_run(program, options) if options.records else None
    except DataError as error:
        stop(str(error), 2)
    return as_page(program.plan, options.inputs, run, options.rules.name)


def _last_run(program: Program, options: GraphOptions) -> LastRun:
    """Recognise on the records, and measure what each rule costs."""
    from cernis.operators.context.measuring import Profile
    from cernis.report.graph_page import LastRun
    from cernis.session.recognise import recognise
    from cernis.session.settings import settings

    costs, read = Profile(), Counter[str]()

    def count(records: Records) -> None:
        for form, part in records.relations.items():
            read[form.relation.name] += len(part)

    chosen = settings(options.window, options.step, scale=program.time_scale)
    result = recognise(
        program.plan, options.records, chosen, mapping=options.columns.mapping, profile=costs,
        on_read=count,
    )  # fmt: skip
    measured = tuple((name, span, cost) for (name, span), cost in costs.costs.items())
    return LastRun(_counts(result), dict(read), measured)


def _counts(result: Result) -> dict[tuple[Relation, str | None], int]:
    """How many intervals each pair has, and how often each event happened."""
    import pyarrow.compute as pc

    counts: dict[tuple[Relation, str | None], int] = {}
    for relation in result.answer.fluents:
        values = pc.value_counts(result.fluent(str(relation))["value"].cast("string"))
        for entry in values.to_pylist():
            counts[relation, entry["values"]] = entry["counts"]
    for relation, happenings in result.answer.events.items():
        counts[relation, None] = len(happenings)
    return counts
