"""Options of commands are the fields of a dataclass, also those of groups in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from typer.testing import CliRunner

from cernis.cli.option_groups import takes


@dataclass(frozen=True, kw_only=True)
class Size:
    """A group of options."""

    width: Annotated[int, typer.Option(help="How wide.")]
    depth: Annotated[int, typer.Option("--deep", help="How deep.")] = 2


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a command, with a group."""

    file: Annotated[Path, typer.Argument(metavar="FILE")]
    size: Size
    names: Annotated[list[str], typer.Option("--name")] = field(default_factory=list)


def _run(*args: str) -> tuple[list[Options], str]:
    taken: list[Options] = []

    def command(options: Options) -> None:
        """What the command does."""
        taken.append(options)

    app = typer.Typer()
    app.command()(takes(Options)(command))
    return taken, CliRunner().invoke(app, [*args]).output


def test_options_of_a_group_are_options_of_the_command() -> None:
    taken, _ = _run("a.txt", "--width", "3", "--name", "x", "--name", "y", "--deep", "5")
    assert taken == [Options(file=Path("a.txt"), size=Size(width=3, depth=5), names=["x", "y"])]


def test_defaults_are_those_of_the_fields() -> None:
    taken, _ = _run("a.txt", "--width", "3")
    assert taken == [Options(file=Path("a.txt"), size=Size(width=3), names=[])]


def test_a_field_without_default_is_required() -> None:
    taken, text = _run("a.txt")
    assert taken == []
    assert "--width" in text


def test_the_docstring_of_the_function_is_that_of_the_command() -> None:
    assert "What the command does." in _run("--help")[1]
