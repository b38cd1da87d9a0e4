"""docs/from-rtec.md and docs/from-etalis.md: the commands they show print what they show."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import run
from tests.test_documents import ROOT, blocks

PAGES = [ROOT / "docs" / "from-rtec.md", ROOT / "docs" / "from-etalis.md"]

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def commands(text: str) -> Iterator[tuple[list[str], str]]:
    """The commands of a page, each with what it prints."""
    for block in blocks(text):
        if block.is_a("console"):
            first, _, printed = block.text.partition("\n")
            yield shlex.split(first.removeprefix("$ ")), printed


def write_files(text: str, folder: Path) -> None:
    """Write the files that a page shows."""
    for block in blocks(text):
        names = [word.removeprefix("file=") for word in block.info if word.startswith("file=")]
        for name in names:
            (folder / name).write_text(block.text, "utf-8")


@each_page
def test_commands_print_what_is_shown(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page.read_text("utf-8")
    write_files(text, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(os.environ, "CERNIS_ENGINE", "local")
    shown = list(commands(text))
    assert len(shown) > 2
    for (name, *arguments), printed in shown:
        assert name == "cernis"
        assert run(*arguments).out == printed, arguments


def test_the_formatted_rules_are_those_shown(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "from-etalis.md").read_text("utf-8")
    write_files(text, tmp_path)
    assert run("fmt", tmp_path / "cold.event").code == 0
    formatted = (tmp_path / "cold.event").read_text("utf-8")
    shown = (tmp_path / "cold.cer").read_text("utf-8")
    rules = [line for line in formatted.splitlines() if not line.startswith(("%", "print_trigger"))]
    assert rules == shown.splitlines()
