"""Folders and patterns of files in the commands that read records in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from cernis.cli.input_arguments import files_of
from tests.cli.command import run as command

RULES = """
limit(3).
initiatedAt(on(X)=true, T) :- happensAt(up(X, V), T), limit(L), V > L.
terminatedAt(on(X)=true, T) :- happensAt(down(X), T).
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.cer").write_text(RULES)
    records = tmp_path / "records"
    records.mkdir()
    (records / "one.txt").write_text("up|1|1|a|5\n")
    (records / "two.txt").write_text("down|9|9|a\n")
    (records / "_hidden.txt").write_text("up|20|20|a|5\n")
    return tmp_path


@pytest.mark.parametrize("name", ["records", "records/*.txt"])
def test_commands_take_folders_and_patterns(folder: Path, name: str) -> None:
    if name == "records/*.txt":
        (folder / "records" / "_hidden.txt").unlink()
    rules, given = str(folder / "rules.cer"), ["--input", str(folder / name)]
    ran = command("run", rules, *given)
    assert ran.out == "holdsFor(on(a)=true, [(2,10)]).\n"
    explained = command("explain", rules, "on(a)=true", *given, "--at", "5")
    assert "on(a)=true holds on [2,10)" in explained.out
    page = folder / "page.html"
    assert command("report", rules, *given, "-o", str(page)).code == 0
    assert page.exists()
    cut = command("generate-test", rules, *given, "--entity", "a")
    assert "1  up(a, 5)" in cut.out
    compared = command("diff", rules, rules, *given)
    assert compared.code == 0, compared.said
    varied = command("vary", rules, "--fact", "limit(3..4)", *given)
    assert varied.code == 0, varied.said
    planned = command("plan", rules, "--analyze", *given)
    assert planned.code == 0, planned.said
    likely = command("learn-durations", rules, *given, "-o", str(folder / "d.toml"))
    assert likely.code == 0, likely.said


@pytest.mark.parametrize("name", ["none.txt", "none/*.txt", "empty"])
def test_what_is_not_there_is_an_error_of_one_line(folder: Path, name: str) -> None:
    (folder / "empty").mkdir()
    rules, given = str(folder / "rules.cer"), ["--input", str(folder / name)]
    for words in (
        ["run", rules], ["report", rules, "-o", str(folder / "p.html")], ["diff", rules, rules],
        ["explain", rules, "on(a)=true", "--at", "5"], ["vary", rules, "--fact", "limit(3..4)"],
    ):  # fmt: skip
        done = command(*words, *given)
        assert done.code in (1, 2)
        assert "there is no such file" in done.said or "no files of records" in done.said


def test_files_come_once_and_a_pipe_stays(folder: Path) -> None:
    records = folder / "records"
    paths = [records / "two.txt", records, Path("-")]
    assert files_of(paths) == [records / "two.txt", records / "one.txt", Path("-")]
