"""The program a command is about: its arguments on the command line, and loading it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cernis.cli.console import is_coloured, say, stop

if TYPE_CHECKING:
    from cernis.program import Program

# A file that may not be read is reported like one that is not there, and not as wrong usage: so
# `readable=False`, which leaves it to the command to find out.
Rules = Annotated[Path, typer.Argument(metavar="RULES", readable=False, help="The file of rules.")]
Facts = Annotated[
    list[Path],
    typer.Option(
        "--facts",
        metavar="FILE",
        readable=False,
        help="Background facts: rule text, CSV or Parquet.",
    ),
]
Dialect = Annotated[
    str | None,
    typer.Option(
        "--dialect",
        metavar="NAME",
        help="How the rules are read: cernis, or rtec, which is usual for files ending in .prolog.",
    ),
]
TimeUnit = Annotated[
    str | None,
    typer.Option("--time-unit", metavar="UNIT", help="What times count: s, ms, us or ns."),
]
Timezone = Annotated[
    str | None,
    typer.Option(
        "--timezone", metavar="ZONE", help="The zone of times without one: Europe/Athens."
    ),
]
RoundTimes = Annotated[
    bool,
    typer.Option("--round-times", help="Round times down that are finer than the unit."),
]
Epoch = Annotated[
    bool, typer.Option("--epoch", help="Give times as whole numbers, though the input has dates.")
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        readable=False,
        help="Which columns are what; else cernis.toml by the input, or here.",
    ),
]
Columns = Annotated[
    list[str],
    typer.Option(
        "--map",
        metavar="WHAT=COLUMN",
        help="The column of a role or argument: occurrence=time, or of one relation: "
        "spo2.value=sat. Also delimiter=; and encoding=latin-1.",
    ),
]


def mapping_of(config: Path | None, columns: list[str]) -> Path | dict[str, Any] | None:
    """What `--config` and `--map` say of columns, the latter first."""
    from cernis.errors import DataError
    from cernis.records.column_names import names_of_options
    from cernis.records.mapping import said_in

    if not columns:
        return config
    try:
        names = {"defaults": names_of_options(columns)}
        return names if config is None else said_in(config, names["defaults"])
    except DataError as error:
        stop(str(error), 2)


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """The options about columns, of commands that read records."""

    config: Config = None
    columns: Columns = field(default_factory=list)

    @property
    def mapping(self) -> Path | dict[str, Any] | None:
        """What they say."""
        return mapping_of(self.config, self.columns)


def load_program(
    rules: Path, facts: list[Path], dialect: str | None = None, time_unit: str | None = None,
    timezone: str | None = None, round_times: bool = False,
) -> Program:  # fmt: skip
    """The program, or its diagnostics and the end."""
    from cernis.errors import DataError, ProgramError
    from cernis.program import load
    from cernis.report.diagnostics import as_text, summary

    try:
        return load(
            rules, facts, dialect, time_unit=time_unit, timezone=timezone,
            round_times=round_times or None,
        )  # fmt: skip
    except ProgramError as error:
        say(as_text(error.diagnostics, error.sources, is_coloured(sys.stderr)), err=True)
        stop(f"{rules}: {summary(error.diagnostics)}")
    except DataError as error:
        stop(str(error), 2)
