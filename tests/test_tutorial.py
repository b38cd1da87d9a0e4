"""docs/tutorial.md: its commands and scripts print what it shows.

`python -m tests.test_tutorial` writes what they print into the page, to be read before it is kept.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.test_documents import ROOT, blocks
from tests.test_pages_from_others import write_files

PAGE = ROOT / "docs" / "tutorial.md"
LENGTH = re.compile(r"in \d+\.\d\d s")
"""How long tests took, which is another time each time."""
CONSOLE = re.compile(r"^```console\n(\$ .*?\n)(.*?)^```$", re.MULTILINE | re.DOTALL)


def rendered(text: str, folder: Path) -> str:
    """The page, with what its commands print in a folder that has the files it shows."""
    write_files(text, folder)
    return CONSOLE.sub(lambda shown: f"```console\n{shown[1]}{printed(shown[1], folder)}```", text)


def printed(line: str, folder: Path) -> str:
    """What a command of the page prints to standard output."""
    name, *arguments = shlex.split(line.removeprefix("$ "))
    command = [sys.executable, *(["-m", "cernis"] if name == "cernis" else []), *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout, done.stderr
    return LENGTH.sub("in 0.12 s", done.stdout)


def test_the_tutorial_prints_what_it_shows(tmp_path: Path) -> None:
    text = PAGE.read_text("utf-8")
    assert sum(block.is_a("console") for block in blocks(text)) > 4
    assert rendered(text, tmp_path) == text


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        PAGE.write_text(rendered(PAGE.read_text("utf-8"), Path(made)), "utf-8")
