"""`cernis series`: the credible intervals of a ready-made series of probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cernis.cli.console import say, stop
from cernis.cli.uncertain_commands import Memory, Seed, Threshold
from cernis.errors import DataError


def series(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", readable=False,
            help="A number on each line, or a column of CSV, Parquet or JSON lines.",
        ),
    ],
    column: Annotated[
        str | None, typer.Option(help="The column; else the only one, or `probability`.")
    ] = None,
    threshold: Threshold = 0.5,
    memory: Memory = None,
    durations: Annotated[
        str | None,
        typer.Option(
            metavar="MEAN:DEVIATION", help="How many points intervals last, for --memory."
        ),
    ] = None,
    seed: Seed = 0,
    first: Annotated[int, typer.Option(help="The time of the first number.")] = 1,
    tick: Annotated[int, typer.Option(help="How far apart time-points are.")] = 1,
    overlapping: Annotated[
        bool, typer.Option("--overlapping", help="Give all maximal intervals.")
    ] = False,
) -> None:  # fmt: skip
    """Find the likely intervals of a series of probabilities that something else has computed."""
    from cernis.answers.probability_series import intervals_of_series, read_series

    try:
        intervals = intervals_of_series(
            read_series(file, column), threshold=threshold, memory=memory,
            durations=_durations(durations), seed=seed, first=first, tick=tick,
            overlapping=overlapping,
        )  # fmt: skip
    except DataError as error:
        stop(str(error), 2)
    say("start,end,probability")
    for row in intervals.to_pylist():
        say(f"{row['start']},{row['end']},{row['probability']:.9g}")


def _durations(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    mean, _, deviation = text.partition(":")
    try:
        return float(mean), float(deviation)
    except ValueError:
        raise DataError(
            f"--durations is a mean and a deviation, like 4.3:2.4, not {text}"
        ) from None
