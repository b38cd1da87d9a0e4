"""Recognition as a step of a chain of DataFrames: `df.transform(recogniser(program))`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cernis.program import Program
from cernis.spark.batch.batch_run import recognise

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def recogniser(
    program: Program | str | Path, *, relation: str | None = None, select: str | None = None,
    **settings: Any,
) -> Callable[[DataFrame], DataFrame]:  # fmt: skip
    """A function from a DataFrame of events to one of what rules make of them.

    Events have a column `name`, or are all of one `relation`. What comes is the DataFrame of all
    intervals, or that of the fluent or event to `select`. The other settings are those of
    `recognise`.
    """

    def recognised(events: DataFrame) -> DataFrame:
        given = events if relation is None else {relation: events}
        found = recognise(program, given, **settings)
        return found.intervals if select is None else found[select]

    return recognised
