"""Pages with commands: their files are written down, their commands print what is shown."""

import re
from pathlib import Path

import pytest

from tests.cli.command import run
from tests.test_documents import ROOT, blocks

PAGES = ["testing.md", "comparing.md"]


def shown_commands(text: str) -> list[tuple[list[str], str]]:
    """Each command of a console block, and what it prints."""
    commands = []
    for part in re.split(r"^\$ cernis ", text, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        commands.append((re.findall(r'"[^"]*"|\S+', command), printed))
    return commands


def settled(text: str) -> str:
    """What a command prints, without its time, and without the branches of explanations.

    What these say is for the tests of explanations.
    """
    text = re.sub(r"=+( .*) in \d+\.\d\d s =+", r"=\1 =", text)
    lines = text.strip().splitlines()
    return "\n".join(line for line in lines if line.lstrip()[:1] not in tuple("├│└…"))


@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_is_shown(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    ran = 0
    for block in blocks((ROOT / "docs" / page).read_text("utf-8")):
        if any(word.startswith("file=") for word in block.info):
            (tmp_path / block.file).write_text(block.text, "utf-8")
        if block.is_a("console"):
            for args, printed in shown_commands(block.text):
                outcome = run(*(arg.strip('"') for arg in args))
                assert settled(outcome.out) == settled(printed), args
                ran += 1
    assert ran
