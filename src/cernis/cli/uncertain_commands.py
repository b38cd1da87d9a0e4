"""Commands about uncertain records: durations, noise, accuracy; and what `run` says of them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from cernis.cli.console import say, stop
from cernis.cli.input_arguments import input_option
from cernis.cli.program_arguments import (
    Columns,
    Config,
    Dialect,
    Facts,
    Rules,
    load_program,
    mapping_of,
)
from cernis.errors import DataError, UnsupportedError

if TYPE_CHECKING:
    from cernis.answers.accuracy import Accuracy
    from cernis.answers.duration_choice import DurationChoice
    from cernis.answers.scores import Score
    from cernis.answers.uncertain_result import UncertainResult
    from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
    from cernis.records.record_columns import SetAside

Threshold: TypeAlias = Annotated[
    float, typer.Option(help="The mean probability that an interval must have.")
]
MaybeThreshold: TypeAlias = Annotated[
    float | None,
    typer.Option(help="The mean probability that an interval must have; 0.5 if none."),
]
Durations: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", readable=False,
        help="How long intervals last, by which a memory forgets: see learn-durations.",
    ),
]  # fmt: skip
Uncertain: TypeAlias = Annotated[
    bool,
    typer.Option("--uncertain", help="Records may have probabilities; give likely intervals."),
]
Memory: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Find intervals point by point, with at most this many possible starts for each pair."
    ),
]
Probabilities: TypeAlias = Annotated[
    bool, typer.Option("--probabilities", help="Give the probability at each point, too.")
]
Relations: TypeAlias = Annotated[
    str,
    typer.Option(
        "--uncertain-input", metavar="NAMES",
        help="The relations of the input that may be uncertain, by commas; all if none.",
    ),
]  # fmt: skip
MeanChange: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--mean-change",
        help="Report an interval again when its mean has moved by more than this; 0.05 if none.",
    ),
]
Seed: TypeAlias = Annotated[int, typer.Option(help="The seed of whatever is left to chance.")]
MaybeSeed: TypeAlias = Annotated[
    int | None, typer.Option(help="The seed of whatever is left to chance; 0 if none.")
]
Inputs: TypeAlias = Annotated[
    list[Path],
    input_option("Records: text, Parquet, JSON lines or CSV; files, folders, or patterns."),
]  # fmt: skip
Output: TypeAlias = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Else it is printed.")
]


@dataclass(frozen=True, kw_only=True)
class UncertainOptions:
    """The options of a run or stream over uncertain records."""

    uncertain: Uncertain = False
    threshold: MaybeThreshold = None
    memory: Memory = None
    durations: Durations = None
    seed: MaybeSeed = None
    probabilities: Probabilities = False

    def settings(
        self, relations: str = "", more: Mapping[str, object] | None = None
    ) -> UncertainSettings | None:
        """The settings of a run over uncertain records; None for certain ones.

        `relations` are the names of the relations of the input that may be uncertain. Options about
        uncertain records without `--uncertain` are a DataError; `more` has those of one command.
        """
        from cernis.evaluate.probabilities.uncertain_settings import uncertain_settings

        if not self.uncertain:
            self._refuse(relations, more or {})
            return None
        names = names_of(relations)
        return uncertain_settings(
            0.5 if self.threshold is None else self.threshold, None, self.memory, self.durations,
            self.seed or 0, names,
        )  # fmt: skip

    def _refuse(self, relations: str, more: Mapping[str, object]) -> None:
        options: dict[str, object] = {
            "--threshold": self.threshold, "--memory": self.memory, "--durations": self.durations,
            "--seed": self.seed, "--probabilities": self.probabilities or None,
            "--uncertain-input": relations or None, **more,
        }  # fmt: skip
        for name, value in options.items():
            if value is not None:
                raise DataError(f"{name} is about uncertain records: say --uncertain, too")


def names_of(relations: str) -> list[str] | None:
    """The relations of the input that may be uncertain; None if nothing is said."""
    return _split(relations) or None


def refuse_probabilities(set_aside: Iterable[SetAside]) -> None:
    """End with 2 if records have probabilities, in a run of certain ones."""
    from cernis.records.gathering import UNCERTAIN

    count = sum(each.reason == UNCERTAIN for each in set_aside)
    if count:
        some = "1 record has a" if count == 1 else f"{count:,} records have a"
        stop(f"{some} probability: say --uncertain to recognise from uncertain records", 2)


def write_likely(
    result: UncertainResult, output: Path | None, format_: str, probabilities: bool
) -> None:
    """Print a result of uncertain records or write it into a folder; say what came of it."""
    from cernis.answers.writers import OutputFormat, write_uncertain
    from cernis.cli.run_command import found_lines, record_lines, say_set_aside, say_summary

    began = time.perf_counter()
    if output is None:
        say(result.text() + (result.probability_text() if probabilities else ""), newline=False)
        say_set_aside(result.summary)
    else:
        try:
            written = write_uncertain(result, output, OutputFormat(format_), probabilities)
        except OSError as error:
            stop(f"{output} cannot be written: {error.strerror}", 2)
    tables = result.answer.fluents.values()
    count, pairs = sum(len(table.starts) for table in tables), sum(map(len, tables))
    writing = time.perf_counter() - began
    say_summary([
        *record_lines(result.summary, result.times),
        ("circuits", f"{result.answer.circuits:,}"),
        *found_lines(result.summary, count, pairs, None, writing),
    ])  # fmt: skip
    if output is not None:
        say(f"{len(written)} file{'s' if len(written) != 1 else ''} in {output}", err=True)


_LISTED: Final = 5
"""So many pairs are listed with their deviations."""


def say_deviations(result: UncertainResult) -> None:
    """Say how far the assumption of independence is off, and for which pairs most."""
    from cernis.answers.independence import deviation_lines

    try:
        table = result.deviations
    except UnsupportedError as error:
        say(f"how far probabilities are off is not known: {error}", err=True)
        return
    for line in deviation_lines(table, _LISTED):
        say(line, err=True)


def learn_durations(
    rules: Rules,
    inputs: Inputs,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write them, as TOML.")
    ],
    facts: Facts = [],  # noqa: B006 - the command line makes a new one for each call
    dialect: Dialect = None,
    threshold: Threshold = 0.5,
    memory: Annotated[int, typer.Option(help="The size of the memory they are for.")] = 60,
    estimate: Annotated[
        str | None,
        typer.Option(
            help="How to estimate them: weighted, plain, longest, upper, shrunken or mixture; else "
            "the one is taken that does best, if any does."
        ),
    ] = None,
    seed: Seed = 0,
    tick: Annotated[int | None, typer.Option(help="How far apart time-points are.")] = None,
    config: Config = None,
    columns: Columns = [],  # noqa: B006 - as above
) -> None:  # fmt: skip
    """Learn from a training stream how long the intervals of each fluent last."""
    from cernis.answers.duration_choice import ESTIMATES, choose_durations
    from cernis.evaluate.probabilities.uncertain_settings import (
        uncertain_settings,
        write_durations,
    )

    if estimate is not None and estimate not in ESTIMATES:
        stop(f"--estimate is one of {', '.join(ESTIMATES)}, not {estimate}", 2)
    try:
        chosen = uncertain_settings(threshold, None, memory, None, seed)
    except DataError as error:
        stop(str(error), 2)
    program = load_program(rules, facts, dialect)
    mapping = mapping_of(config, columns)
    result = program.run_uncertain(inputs, threshold=threshold, tick=tick, mapping=mapping)
    own_tick = tick or program.checked.definitions.settings.tick
    bounds = (result.summary.start, result.summary.end, own_tick)
    choices = choose_durations(result.answer, bounds, chosen, memory, estimate)
    learnt = {
        name: (choice.durations, choice.intervals)
        for name, choice in choices.items()
        if choice.durations is not None
    }
    try:
        write_durations(output, learnt)
    except OSError as error:
        stop(f"{output} cannot be written: {error.strerror}", 2)
    for name, choice in sorted(choices.items()):
        say(f"{name}: {_choice_text(choice)}")


def _choice_text(choice: DurationChoice) -> str:
    spans = f"{choice.spans.f1:.3f} by interval"
    if choice.durations is None:
        return (
            f"no durations, of {choice.intervals} intervals: a memory does best without, "
            f"f1 {choice.points.f1:.3f} by point, {spans}"
        )
    law = choice.durations
    return (
        f"{law.mean:.1f} points, deviation {law.deviation:.1f}, of {choice.intervals} intervals "
        f"({choice.estimate}): f1 {choice.points.f1:.3f} by point, {spans}; "
        f"without durations {choice.without.f1:.3f}"
    )


def noise(
    inputs: Annotated[
        Path,
        typer.Option(
            "--input", "-i", metavar="FILE", readable=False, help="Text records; - is a pipe."
        ),
    ],
    output: Output = None,
    events: Annotated[
        str, typer.Option(help="The events that get confidences, by commas; all if none.")
    ] = "",
    context: Annotated[
        str, typer.Option(help="Further records that get confidences, by commas.")
    ] = "",
    mean: Annotated[
        str, typer.Option(help="The mean of gamma noise at the first and the last record.")
    ] = "0.5:8",
    spurious: Annotated[
        float, typer.Option(help="A share of events that is copied under another's name.")
    ] = 0.0,
    distance: Annotated[
        int | None, typer.Option(help="The argument, from 1, whose distance decides instead.")
    ] = None,
    scale: Annotated[
        float, typer.Option(help="The distance at which the confidence is one half.")
    ] = 10_000.0,
    seed: Seed = 0,
) -> None:
    """Make records uncertain, to see what rules still recognise."""
    from cernis.answers.noisy_text import Noise, with_noise

    try:
        low, _, high = mean.partition(":")
        first, last = float(low), float(high or low)
    except ValueError:
        stop(f"--mean is a number or two, like 0.5:8, not {mean}", 2)
    if not (first > 0 and last > 0 and 0 <= spurious <= 1 and scale > 0):
        stop("--mean and --scale must be above 0, --spurious a share from 0 to 1", 2)
    chosen = Noise(_split(events), _split(context), first, last, spurious, distance, scale, seed)
    noisy = with_noise(_lines(inputs), chosen)
    _write(output, "".join(f"{line}\n" for line in noisy))


def score(
    rules: Rules,
    inputs: Inputs,
    facts: Facts = [],  # noqa: B006 - the command line makes a new one for each call
    dialect: Dialect = None,
    truth: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", readable=False,
            help="What is true: intervals as run writes them; else what the whole stream says.",
        ),
    ] = None,
    threshold: Threshold = 0.5,
    memory: Annotated[
        str, typer.Option(help="Sizes of the memory: 60, or 10:150:10 for each tenth.")
    ] = "10:150:10",
    durations: Durations = None,
    seed: Seed = 0,
    tick: Annotated[int | None, typer.Option(help="How far apart time-points are.")] = None,
    config: Config = None,
    columns: Columns = [],  # noqa: B006 - as above
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw f1 against the size of the memory, as SVG."),
    ] = None,
) -> None:  # fmt: skip
    """Say how accurate recognition in bounded memory is, fluent by fluent."""
    from cernis.answers.accuracy import compare, read_intervals
    from cernis.evaluate.probabilities.uncertain_settings import uncertain_settings

    try:
        sizes = _sizes(memory)
        chosen = uncertain_settings(threshold, None, max(sizes), durations, seed)
        true = None if truth is None else read_intervals(truth)
    except DataError as error:
        stop(str(error), 2)
    program = load_program(rules, facts, dialect)
    chosen.check_names(program.fluents)
    mapping = mapping_of(config, columns)
    result = program.run_uncertain(inputs, threshold=threshold, tick=tick, mapping=mapping)
    own_tick = tick or program.checked.definitions.settings.tick
    bounds = (result.summary.start, result.summary.end, own_tick)
    accuracies = compare(result.answer, bounds, chosen, sizes, true)
    say("\n".join(_table(accuracies)))
    if picture is not None:
        _write(picture, _picture(accuracies))


def _sizes(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(":")]
        low, high, step = (*numbers, numbers[0], 1)[:3] if len(numbers) < 3 else numbers
        return list(range(low, high + 1, step)) if low >= 0 and step > 0 else []
    except ValueError:
        raise DataError(f"--memory is a size, or like 10:150:10, not {text}") from None


def _table(accuracies: Iterable[Accuracy]) -> Iterator[str]:
    from cernis.answers.accuracy import micro_averages

    yield (
        f"{'fluent':<20} {'way':<6} {'memory':>6}  {'by point: precision':>19} {'recall':>7} "
        f"{'f1':>6} {'right':>7} {'wrong':>7} {'missed':>7}  "
        f"{'by interval: precision':>22} {'recall':>7} {'f1':>6} "
        f"{'right':>6} {'wrong':>6} {'missed':>6}"
    )
    every = list(accuracies)
    for each in [*every, *micro_averages(every)]:
        memory = "-" if each.memory is None else str(each.memory)
        points, intervals = each.points, each.intervals
        yield (
            f"{each.fluent:<20} {each.variant:<6} {memory:>6}  {points.precision:>19.3f} "
            f"{points.recall:>7.3f} {points.f1:>6.3f} {_counts(points, 7)}  "
            f"{intervals.precision:>22.3f} {intervals.recall:>7.3f} {intervals.f1:>6.3f} "
            f"{_counts(intervals, 6)}"
        )


def _counts(score: Score, width: int) -> str:
    return " ".join(f"{count:>{width}}" for count in (score.right, score.wrong, score.missed))


def _picture(accuracies: Iterable[Accuracy]) -> str:
    from cernis.report.chart import chart

    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for each in accuracies:
        if each.memory is not None:
            lines = panels.setdefault(each.fluent, {})
            lines.setdefault(each.variant, []).append((each.memory, each.points.f1))
    return chart(panels, "memory", "f1")


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _lines(file: Path) -> list[str]:
    if str(file) == "-":
        return list(sys.stdin)
    try:
        return file.read_text("utf-8").splitlines()
    except OSError as error:
        stop(f"{file}: cannot be read: {error.strerror}", 2)
    except UnicodeDecodeError:
        stop(f"{file}: is not UTF-8 text", 2)


def _write(file: Path | None, text: str) -> None:
    if file is None:
        say(text, newline=False)
        return
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        stop(f"{file} cannot be written: {error.strerror}", 2)
