"""`cernis report`: the page it writes, and what it says of options that do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import run
from tests.records.support import TOY, TOY_RECORDS


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with the toy rules and records."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.cer").write_text(TOY)
    (tmp_path / "toy.txt").write_text(TOY_RECORDS)
    return tmp_path


def test_a_page_is_written() -> None:
    done = run("report", "toy.cer", "-i", "toy.txt", "-o", "toy.html", "--title", "A <b>toy</b>")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("toy.html: 5 intervals, 0.1 MB")
    assert "<title>A &lt;b&gt;toy&lt;/b&gt;</title>" in Path("toy.html").read_text()


def test_corrections_and_probabilities() -> None:
    page = ("report", "toy.cer", "-i", "toy.txt", "-o", "toy.html")
    assert run(*page, "--corrections", "--window", "8", "--step", "4").code == 0
    assert run(*page, "--uncertain").code == 0
    done = run(*page, "--corrections")
    assert (done.code, done.err) == (
        2, "cernis: --corrections needs several queries: say --window and --step\n",
    )  # fmt: skip
    done = run(*page, "--corrections", "--window", "8", "--uncertain")
    assert "does not go with --uncertain" in done.err


def test_the_name_of_a_page_ends_in_html() -> None:
    done = run("report", "toy.cer", "-i", "toy.txt", "-o", "toy.pdf")
    assert (done.code, done.err) == (
        2, "cernis: toy.pdf must end in .html: it is a page for a browser\n",
    )  # fmt: skip
