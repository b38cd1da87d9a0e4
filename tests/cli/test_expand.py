"""`cernis plan --expand`."""

from __future__ import annotations

from pathlib import Path

from cernis.check import check
from cernis.syntax import parse
from tests.cli.command import run


def test_shows_the_rules_with_phrases_written_out(tmp_path: Path) -> None:
    rules = tmp_path / "rules.cer"
    rules.write_text(
        "% a comment\n"
        "initiatedAt(f(X)=a, T) :- happensAt(e(X), T).\n"
        "f(X)=a expires after 5 unless renewed.\n"
    )
    done = run("plan", "--expand", rules)
    assert done.code == 0
    assert done.out == (
        "initiatedAt(f(X)=a, T) :-\n"
        "    happensAt(e(X), T).\n"
        "\n"
        "% f(X)=a expires after 5 unless renewed.\n"
        "ft(f(X)=a, 5).\n"
        "p(f(X)=a).\n"
    )
    assert check(parse(done.out)).diagnostics == ()


def test_a_wrong_program_is_not_shown(tmp_path: Path) -> None:
    rules = tmp_path / "rules.cer"
    rules.write_text("f expires after 5.\n")
    done = run("plan", "--expand", rules)
    assert done.code == 1
    assert done.out == ""
    assert "C062" in done.err
