"""`cernis diff` and `vary`: what another version, another engine, other values would change."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cernis.cli.console import say, stop
from cernis.cli.input_arguments import input_option
from cernis.cli.option_groups import takes
from cernis.cli.program_arguments import ColumnOptions, Dialect, Facts, Rules, load_program
from cernis.cli.run_command import Engine
from cernis.errors import DataError

if TYPE_CHECKING:
    from cernis.answers.result import Summary
    from cernis.compare.program_differences import ProgramDifferences
    from cernis.compare.version_runs import Evaluation
    from cernis.evaluate.answer import Answer
    from cernis.plan import Plan
    from cernis.program import Program
    from cernis.records.record_columns import Records
    from cernis.session.settings import Settings


class DifferenceFormat(StrEnum):
    """How differences are written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


@dataclass(frozen=True, kw_only=True)
class RunBounds:
    """How the runs that are compared go."""

    window: Annotated[str | None, typer.Option(help="How far back a query sees.")] = None
    step: Annotated[str | None, typer.Option(help="The time from query to query.")] = None
    start: Annotated[str | None, typer.Option(help="Only later records count.")] = None
    end: Annotated[str | None, typer.Option(help="The time of the last query.")] = None
    columns: ColumnOptions

    def settings(self, program: Program) -> Settings:
        """The settings of a run."""
        from cernis.session.settings import settings

        return settings(self.window, self.step, self.start, self.end, scale=program.time_scale)


Inputs = Annotated[list[Path], input_option("Records: files, folders, or patterns.")]


@dataclass(frozen=True, kw_only=True)
class DiffOptions:
    """The options of `cernis diff`."""

    old: Annotated[
        Path, typer.Argument(metavar="OLD", readable=False, help="The file of rules before.")
    ]
    new: Annotated[
        Path | None,
        typer.Argument(metavar="[NEW]", readable=False, help="Those after; else the same."),
    ] = None
    inputs: Inputs
    facts: Facts = field(default_factory=list)
    facts_old: Annotated[
        list[Path], typer.Option(metavar="FILE", readable=False, help="Facts of the old version.")
    ] = field(default_factory=list)
    facts_new: Annotated[
        list[Path], typer.Option(metavar="FILE", readable=False, help="Facts of the new version.")
    ] = field(default_factory=list)
    dialect: Dialect = None
    bounds: RunBounds
    engine: Annotated[Engine, typer.Option(help="Where to run: in this process, or on Spark.")] = (
        Engine.LOCAL
    )
    master: Annotated[
        str | None, typer.Option(help="The master of Spark; local[*] unless it is said.")
    ] = None
    conf: Annotated[list[str], typer.Option(metavar="KEY=VALUE", help="A setting of Spark's.")] = (
        field(default_factory=list)
    )
    engines: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Compare two engines on one program: local,spark."),
    ] = None
    format_: Annotated[DifferenceFormat, typer.Option("--format", help="How to write it.")] = (
        DifferenceFormat.TEXT
    )
    examples: Annotated[int, typer.Option(min=0, help="So many examples of each kind.")] = 2
    explained: Annotated[
        bool, typer.Option("--explain/--no-explain", help="Say why for the first example.")
    ] = True


@takes(DiffOptions)
def diff(options: DiffOptions) -> None:
    """Say what another version of the rules or facts changes in the answer; exit with 1 if any."""
    old = load_program(options.old, [*options.facts, *options.facts_old], options.dialect)
    is_one = options.new is None and not options.facts_old and not options.facts_new
    if is_one and options.engines is None:
        stop("there is nothing to compare: name NEW, or --facts-new, or --engines local,spark", 2)
    new = old
    if not is_one:
        rules = options.new or options.old
        new = load_program(rules, [*options.facts, *options.facts_new], options.dialect)
    try:
        result = _compared(old, new, options)
    except DataError as error:
        stop(str(error), 2)
    _say(result, old, options)
    raise typer.Exit(0 if result.is_same else 1)


def _compared(old: Program, new: Program, options: DiffOptions) -> ProgramDifferences:
    from cernis.compare.program_diff import diff, diff_evaluations

    chosen = options.bounds.settings(old)
    if options.engines is not None:
        names = [name.strip() for name in options.engines.split(",")]
        if len(names) != 2 or not {*names} <= {"local", "spark"}:
            raise DataError("--engines takes two of local and spark, as in --engines local,spark")
        evaluations = [_evaluation(options, name == "spark") for name in names]
        return diff_evaluations(old.checked, evaluations, chosen, examples=options.examples)
    evaluate = _evaluation(options, options.engine is Engine.SPARK)
    return diff(
        old.checked, new.checked, evaluate, chosen, examples=options.examples,
        explains=options.explained and options.format_ is not None,
    )  # fmt: skip


def _evaluation(options: DiffOptions, on_spark: bool) -> Evaluation:
    from cernis.compare.version_runs import in_process

    if on_spark:
        return _spark_evaluation(options)
    return in_process(options.inputs, options.bounds.columns.mapping)


def _spark_evaluation(options: DiffOptions) -> Evaluation:
    """The evaluation on Spark; answers are compared here, so they must fit into this process."""
    from cernis.cli.spark_command import quiet, said, see_all, spark_settings

    see_all(options.inputs)
    conf = spark_settings(options.conf)

    def evaluate(plan: Plan, chosen: Settings) -> tuple[Answer, Summary, Records | None]:
        from cernis.spark.batch.batch_run import recognise_plan
        from cernis.spark.spark_session import session

        mapping = options.bounds.columns.mapping
        with said(), quiet():
            spark = session(options.master, conf)
            result = recognise_plan(plan, options.inputs, chosen, mapping, spark=spark).collect()
        return result.answer, result.summary, None

    return evaluate


def _say(result: ProgramDifferences, program: Program, options: DiffOptions) -> None:
    from cernis.answers.time_output import TimeOutput
    from cernis.compare.difference_report import DifferenceReport

    report = DifferenceReport(result, TimeOutput(program.time_scale, result.dated))
    second = options.new or (options.engines or ", ".join(map(str, options.facts_new)))
    names = f"{options.old} against {second}"
    if options.format_ is DifferenceFormat.JSON:
        say(report.json())
    elif options.format_ is DifferenceFormat.MARKDOWN:
        say(report.markdown(names), newline=False)
    else:
        say(report.text(names), newline=False)


class VariationFormat(StrEnum):
    """How variations are written."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, kw_only=True)
class VaryOptions:
    """The options of `cernis vary`."""

    rules: Rules
    varied: Annotated[
        list[str],
        typer.Option("--fact", metavar="FACT", help='Such as "limit(high, 100..140 by 10)".'),
    ]
    inputs: Inputs
    facts: Facts = field(default_factory=list)
    dialect: Dialect = None
    bounds: RunBounds
    format_: Annotated[VariationFormat, typer.Option("--format", help="How to write it.")] = (
        VariationFormat.TEXT
    )
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A picture: a .html or .svg file."),
    ] = None


@takes(VaryOptions)
def vary(options: VaryOptions) -> None:
    """Say what each value of a fact would have found."""
    from cernis.compare.variation_report import VariationReport
    from cernis.compare.variations import vary as varied
    from cernis.compare.varied_facts import read_varied_fact
    from cernis.compare.version_runs import in_process

    if options.output is not None and options.output.suffix not in (".html", ".svg"):
        stop(f"{options.output} must end in .html or .svg", 2)
    program = load_program(options.rules, options.facts, options.dialect)
    try:
        facts = [read_varied_fact(text, program.checked) for text in options.varied]
        evaluate = in_process(options.inputs, options.bounds.columns.mapping)
        variation = varied(program.checked, facts, evaluate, options.bounds.settings(program))
    except DataError as error:
        stop(str(error), 2)
    report = VariationReport(variation, 3600 * program.time_scale.per_second)
    is_json = options.format_ is VariationFormat.JSON
    say(report.json() + "\n" if is_json else report.text(), newline=False)
    if options.output is not None:
        _write(options.output, report.svg() if options.output.suffix == ".svg" else report.html())


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        stop(f"{path} cannot be written: {error.strerror}", 2)
    say(f"the picture is in {path}", err=True)
