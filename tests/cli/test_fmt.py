"""`cernis fmt`: what it writes, and what it leaves alone."""

import os
from pathlib import Path

import pytest

from cernis.syntax import parse
from tests.cli.command import MARITIME, run

pytestmark = pytest.mark.usefixtures("folder")

MESSY = "a(X):-b(X),c. % why\nb( 1 ).\n"
NEAT = "a(X) :-\n    b(X),\n    c. % why\nb(1).\n"


@pytest.fixture
def messy() -> Path:
    file = Path("messy.cer")
    file.write_text(MESSY, "utf-8")
    return file


def test_it_formats_in_place(messy: Path) -> None:
    done = run("fmt", messy)
    assert (done.code, done.out) == (0, "messy.cer: formatted\n")
    assert messy.read_text("utf-8") == NEAT
    assert [path.name for path in Path().iterdir() if path.name.startswith(".")] == []


def test_it_says_nothing_of_what_is_formatted() -> None:
    before = Path("toy.cer").stat().st_mtime_ns
    done = run("fmt", "toy.cer")
    assert (done.code, done.said) == (0, "")
    assert Path("toy.cer").stat().st_mtime_ns == before


def test_formatting_twice_changes_nothing(messy: Path) -> None:
    run("fmt", messy)
    assert run("fmt", "--check", messy).code == 0


def test_check_only_looks(messy: Path) -> None:
    done = run("fmt", "--check", messy)
    assert (done.code, done.out) == (1, "messy.cer: would be formatted\n")
    assert messy.read_text("utf-8") == MESSY
    assert run("fmt", "--check", "toy.cer").code == 0


def test_diff_only_shows(messy: Path) -> None:
    done = run("fmt", "--diff", messy)
    assert done.code == 0
    assert done.out.startswith("--- messy.cer\n+++ messy.cer (formatted)\n@@ -1,2 +1,4 @@\n")
    assert "+a(X) :-\n+    b(X),\n+    c. % why\n+b(1).\n" in done.out
    assert messy.read_text("utf-8") == MESSY


def test_check_and_diff_show_and_fail(messy: Path) -> None:
    done = run("fmt", "--check", "--diff", messy)
    assert (done.code, done.out[:3]) == (1, "---")
    assert run("fmt", "--check", "--diff", "toy.cer").said == ""


def test_a_diff_says_where_the_last_line_has_no_end(messy: Path) -> None:
    messy.write_text("a:-b.", "utf-8")
    done = run("fmt", "--diff", messy)
    assert done.out.splitlines()[3:] == ["-a:-b.", "\\ No newline at end of file",
                                         "+a :-", "+    b."]  # fmt: skip


@pytest.mark.parametrize("options", [[], ["--check"], ["--diff"]])
@pytest.mark.parametrize("text", ["a(X) :- b(X", "a :- b c.\nd:-e.\n", "a('open).\n"])
def test_a_file_that_does_not_parse_is_left_untouched(text: str, options: list[str]) -> None:
    file = Path("broken.cer")
    file.write_text(text, "utf-8")
    done = run("fmt", *options, file)
    assert (done.code, done.out) == (1, "")
    assert "error[C00" in done.err
    assert "cernis: broken.cer is left as it was: it does not parse\n" in done.err
    assert file.read_text("utf-8") == text


def test_one_bad_file_does_not_keep_the_others_from_being_formatted(messy: Path) -> None:
    Path("broken.cer").write_text("a(", "utf-8")
    done = run("fmt", "gone.cer", "broken.cer", messy)
    assert done.code == 1
    assert "gone.cer cannot be read: No such file or directory" in done.err
    assert messy.read_text("utf-8") == NEAT


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_the_mode_of_a_file_is_kept(messy: Path, mode: int) -> None:
    messy.chmod(mode)
    run("fmt", messy)
    assert messy.read_text("utf-8") == NEAT
    assert messy.stat().st_mode & 0o7777 == mode


def test_a_link_stays_a_link(messy: Path) -> None:
    link = Path("link.cer")
    link.symlink_to(messy)
    assert run("fmt", link).out == "link.cer: formatted\n"
    assert link.is_symlink()
    assert messy.read_text("utf-8") == NEAT


def test_lines_end_in_a_line_feed_and_no_byte_order_mark_stays() -> None:
    file = Path("foreign.cer")
    file.write_bytes(b"\xef\xbb\xbfa.\r\nb.\r\n")
    assert run("fmt", "--check", file).code == 1
    run("fmt", file)
    assert file.read_bytes() == b"a.\nb.\n"


def test_what_utf8_cannot_hold_stays_an_escape() -> None:
    file = Path("surrogate.cer")
    file.write_text("a( '\\ud800' ).\n", "utf-8")
    before = parse(file.read_text("utf-8")).items
    assert run("fmt", file).code == 0
    assert parse(file.read_text("utf-8")).items == before
    assert run("fmt", "--check", file).code == 0


def test_other_encodings_are_refused() -> None:
    file = Path("latin.cer")
    file.write_bytes("% caf\u00e9\na:-b.\n".encode("latin-1"))
    done = run("fmt", file)
    assert (done.code, done.err) == (1, "cernis: latin.cer is no UTF-8 text: byte 5\n")
    assert file.read_bytes().startswith(b"% caf\xe9")


def test_a_file_that_cannot_be_written_is_left_whole(
    messy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    done = run("fmt", messy)
    assert (done.code, done.out) == (1, "")
    assert done.err == "cernis: messy.cer cannot be written: No space left on device\n"
    assert messy.read_text("utf-8") == MESSY
    assert sorted(path.name for path in Path().iterdir()) == ["messy.cer", "toy.cer"]


def test_an_empty_file_stays_empty() -> None:
    Path("empty.cer").write_text("", "utf-8")
    assert run("fmt", "empty.cer").said == ""
    assert Path("empty.cer").read_text("utf-8") == ""


def test_formatting_keeps_what_a_program_means() -> None:
    Path("rules.cer").write_text((MARITIME / "rules.cer").read_text("utf-8"), "utf-8")
    before = run("plan", "rules.cer", "--facts", MARITIME / "facts.cer")
    run("fmt", "rules.cer")
    after = run("plan", "rules.cer", "--facts", MARITIME / "facts.cer")
    assert (before.code, after.code) == (0, 0)
    assert _without_lines(before.out) == _without_lines(after.out)


def _without_lines(plan: str) -> list[str]:
    """A plan without the numbers of lines, which formatting may change."""
    return [line.rpartition("  ")[0].rstrip() if "cer:" in line else line
            for line in plan.splitlines()]  # fmt: skip
