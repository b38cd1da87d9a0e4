"""docs/diagnostics.md has one section a code, and its examples give the diagnostics they show."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from cernis.check import check
from cernis.errors import Diagnostic
from cernis.plan import make_plan
from cernis.syntax import tokens
from cernis.syntax.load import load_files
from tests.test_documents import Block, blocks, split

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "diagnostics.md"
SOURCE = ROOT / "src" / "cernis"

HEADING = re.compile(r"^## (C\d{3}) (\S.*)$")
SEVERITY = re.compile(r"^Severity: (.*)\.$", re.MULTILINE)
CODE = re.compile(r'"(C\d{3})"')
MANY = 400
"""How often a line is repeated for the `...` behind it."""
SHORT_CLAUSE = 1000
"""Tokens a clause may have here: a text of two million is as slow as it is long."""


@dataclass(frozen=True)
class Section:
    """One code of the page."""

    code: str
    text: str

    @property
    def severities(self) -> set[str]:
        """The severities the section gives its code."""
        found = SEVERITY.search(self.text)
        assert found, f"{self.code} has no line on its severity"
        return set(re.findall(r"\b(error|warning|note)\b", found[1]))

    @property
    def broken(self) -> list[dict[str, str]]:
        """The programs that give the code, as files; blocks with file names make one program."""
        shown = [block for block in blocks(self.text) if block.is_a("cer", "broken")]
        alone = [{"rules.cer": block.text} for block in shown if _file(block) is None]
        return [*alone, *_together(shown)]

    @property
    def corrected(self) -> list[dict[str, str]]:
        """The programs without it; one file of several is corrected beside the others."""
        shown = [
            block for block in blocks(self.text) if block.is_a("cer") and "broken" not in block.info
        ]
        others = next(iter(_together(blocks(self.text))), {})
        return [{**(others if _file(block) else {}), **_named(block)} for block in shown]


def _file(block: Block) -> str | None:
    names = [word.removeprefix("file=") for word in block.info if word.startswith("file=")]
    return names[0] if names else None


def _named(block: Block) -> dict[str, str]:
    return {_file(block) or "rules.cer": block.text}


def _together(shown: Iterable[Block]) -> Iterator[dict[str, str]]:
    files = [_named(block) for block in shown if "broken" in block.info and _file(block)]
    if files:
        yield {name: text for file in files for name, text in file.items()}


def sections(text: str) -> list[Section]:
    """The sections of a page, from one heading to the next."""
    starts = [at.start() for at in re.finditer(r"^## ", text, re.MULTILINE)]
    parts = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    headings = [HEADING.match(part.partition("\n")[0]) for part in parts]
    assert all(headings), "a heading is not a code and a title"
    return [Section(found[1], part) for found, part in zip(headings, parts, strict=True) if found]


def unfolded(text: str) -> str:
    """The text with each line of three dots replaced by many lines like the one before it."""
    lines: list[str] = []
    for line in text.splitlines():
        lines += [lines[-1]] * MANY if line.strip() == "..." else [line]
    return "\n".join(lines) + "\n"


def diagnosed(files: dict[str, str], folder: Path) -> list[Diagnostic]:
    """All that loading, checking and planning have to say; the first file is the program."""
    for name, text in files.items():
        (folder / name).write_text(unfolded(text), "utf-8")
    checked = check(load_files([folder / next(iter(files))]))
    if checked.has_errors:
        return list(checked.diagnostics)
    return [*checked.diagnostics, *make_plan(checked).diagnostics]


def codes_in_source() -> set[str]:
    """The codes that some module gives."""
    texts = (path.read_text("utf-8") for path in SOURCE.rglob("*.py"))
    return {code for text in texts for code in CODE.findall(text)}


SECTIONS = sections(PAGE.read_text("utf-8"))
each_section = pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.code)


@pytest.fixture(autouse=True)
def _short_clauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_LONGEST_CLAUSE", SHORT_CLAUSE)


def test_every_code_has_a_section_and_every_section_a_code() -> None:
    documented = [section.code for section in SECTIONS]
    assert set(documented) == codes_in_source()
    assert documented == sorted(set(documented))


@each_section
def test_broken_examples_give_the_code(section: Section, tmp_path: Path) -> None:
    assert section.broken
    given: set[str] = set()
    for at, files in enumerate(section.broken):
        folder = tmp_path / str(at)
        folder.mkdir()
        found = diagnosed(files, folder)
        own = {str(diagnostic.severity) for diagnostic in found if diagnostic.code == section.code}
        assert own, f"example {at + 1} gives {[diagnostic.code for diagnostic in found]}"
        given |= own
    assert given == section.severities


@each_section
def test_a_broken_example_has_no_other_error(section: Section, tmp_path: Path) -> None:
    for files in section.broken:
        found = diagnosed(files, tmp_path)
        assert {diagnostic.code for diagnostic in found if diagnostic.is_error} <= {section.code}


@each_section
def test_corrected_examples_are_correct(section: Section, tmp_path: Path) -> None:
    for files in section.corrected:
        found = diagnosed(files, tmp_path)
        assert section.code not in {diagnostic.code for diagnostic in found}
        assert not [diagnostic.message for diagnostic in found if diagnostic.is_error]


@each_section
def test_a_section_stands_alone(section: Section) -> None:
    assert not re.search(r"\]\(|\babove\b|\bbelow\b", split(section.text)[0])


def test_the_page_names_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    from cernis.syntax.clause_parser import DEEPEST

    monkeypatch.undo()
    texts = {section.code: section.text for section in SECTIONS}
    assert f"{DEEPEST} levels" in texts["C006"]
    assert f"{tokens._LONGEST_CLAUSE:,} tokens" in texts["C010"]
    assert f"{tokens._MOST_FAULTS} such characters" in texts["C005"]


# The checks above can fail.


def test_a_section_is_read() -> None:
    (section,) = sections("## C001 title\n\nSeverity: error, or note.\n\n```cer broken\na\n```\n")
    assert section.severities == {"error", "note"}
    assert section.broken == [{"rules.cer": "a\n"}]
    assert section.corrected == []


def test_files_make_one_program() -> None:
    text = (
        "## C007 title\n```cer broken file=a.cer\na.\n```\n"
        "```cer broken file=b.cer\nb.\n```\n```cer file=b.cer\nc.\n```\n"
    )
    (section,) = sections(text)
    assert section.broken == [{"a.cer": "a.\n", "b.cer": "b.\n"}]
    assert section.corrected == [{"a.cer": "a.\n", "b.cer": "c.\n"}]


def test_dots_stand_for_the_line_before() -> None:
    assert unfolded("a\n  ...\nb\n").count("a\n") == MANY + 1
