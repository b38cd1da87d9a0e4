"""What the documents say is true: links lead somewhere, examples parse, run and print as shown."""

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from cernis.syntax import parse

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})\s*(.*?)\s*$")
LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s*<?([^\s>]+)", re.MULTILINE)
ELSEWHERE = re.compile(r"^([a-z][a-z0-9+.-]*:|//|#)", re.IGNORECASE)
# Folders of a developer's machine, not preceded by more of a path or an address. Put together
# here, so that this file does not hold what it looks for.
MACHINE = re.compile(r"(?<![\w.~$}/-])/(?:(?:home|work|root|Users)/|tmp" + "/env)")
EMPHASISED = {"first", "last", "happens", "held", "the walk"}
"""Words of the design and the walk that are emphasised and not introduced."""
LITTER = re.compile(r"(^|/)(\.(?!ci/|gitignore$)|__pycache__/)")


@dataclass(frozen=True)
class Block:
    """A fenced block: the words after its opening fence, its text, and its first line."""

    info: tuple[str, ...]
    text: str
    line: int

    def is_a(self, *words: str) -> bool:
        """Does the fence line start with these words?"""
        return self.info[: len(words)] == words

    @property
    def file(self) -> str:
        """The name of the file it is, as the fence line says: `file=rules.event`."""
        names = [word.removeprefix("file=") for word in self.info if word.startswith("file=")]
        return names[0] if names else "rules.cer"


def split(text: str) -> tuple[str, list[Block]]:
    """A document's prose, and its fenced blocks in order. A block not closed runs to the end."""
    kept: list[str] = []
    found: list[Block] = []
    fence = ""
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        match = FENCE.match(line)
        if match and not fence:
            fence = match[1]
            found.append(Block(tuple(match[2].split()), "", number + 1))
        elif match and match[1].startswith(fence) and not match[2]:
            fence = ""
        elif fence:
            found[-1] = replace(found[-1], text=found[-1].text + line)
        else:
            kept.append(line)
    return "".join(kept), found


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a document, in order."""
    return split(text)[1]


def dead_links(document: Path) -> list[str]:
    """The relative links of a document that lead to no file."""
    prose = re.sub(r"`[^`\n]*`", "", split(document.read_text("utf-8"))[0])
    found = (match[1] or match[2] for match in LINK.finditer(prose))
    relative = [target.split("#")[0] for target in found if not ELSEWHERE.match(target)]
    return [target for target in relative if not (document.parent / target).exists()]


def broken_rules(text: str) -> list[str]:
    """One line for each diagnostic of a block of rules, but not in blocks marked as broken."""
    return [
        f"line {block.line}: {diagnostic.code} {diagnostic.message}"
        for block in blocks(text)
        if block.is_a("cer") and "broken" not in block.info
        for diagnostic in parse(block.text, block.file).diagnostics
    ]


def sessions(text: str, name: str) -> str:
    """What goes wrong in the interactive Python blocks of a document, run as one session."""
    names: dict[str, object] = {}
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    for block in blocks(text):
        if block.is_a("python") and ">>>" in block.text:
            test = doctest.DocTestParser().get_doctest(
                block.text, names, name, name, block.line - 1
            )
            runner.run(test, out=report.append, clear_globs=False)
            names = test.globs
    return "".join(report)


def recognitions(text: str) -> Iterator[tuple[Block, Block, Block]]:
    """Rules, events and intervals of a document, where it shows all three one after another."""
    shown = blocks(text)
    for triple in zip(shown, shown[1:], shown[2:], strict=False):
        rules, events, intervals = triple
        if rules.is_a("cer") and events.is_a("text", "events"):
            assert intervals.is_a("text", "intervals"), f"line {intervals.line}: not intervals"
            yield triple


def recognised(rules: str, events: str, folder: Path, name: str = "rules.cer") -> str:
    """What the reference evaluator prints for rules and events given as text."""
    (folder / name).write_text(rules, "utf-8")
    (folder / "events.txt").write_text(events, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tests.reference", folder / name, folder / "events.txt"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def project_files() -> list[Path]:
    """The files under version control or about to be; without git, all but caches and the like."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        files = (path for path in ROOT.rglob("*") if path.is_file())
        return sorted(p for p in files if not LITTER.search(p.relative_to(ROOT).as_posix()))
    listed = (ROOT / name for name in done.stdout.split("\0") if name)
    return sorted(path for path in listed if path.is_file())


def machine_paths(text: str) -> list[int]:
    """The numbers of the lines that name a folder of a developer's machine."""
    return [
        number for number, line in enumerate(text.splitlines(), start=1) if MACHINE.search(line)
    ]


each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)


@each_document
def test_links_lead_to_files(document: Path) -> None:
    assert dead_links(document) == []


@each_document
def test_rules_parse(document: Path) -> None:
    assert broken_rules(document.read_text("utf-8")) == []


@each_document
def test_sessions_print_what_is_shown(document: Path) -> None:
    problems = sessions(document.read_text("utf-8"), document.name)
    assert not problems, problems


@each_document
def test_intervals_are_those_recognised(document: Path, tmp_path: Path) -> None:
    for rules, events, intervals in recognitions(document.read_text("utf-8")):
        assert recognised(rules.text, events.text, tmp_path, rules.file) == intervals.text


def test_the_readme_shows_a_recognition() -> None:
    assert len(list(recognitions((ROOT / "README.md").read_text("utf-8")))) == 1


@pytest.mark.parametrize("name", ["design.md", "layers.svg"])
def test_the_design_names_every_folder_of_the_package(name: str) -> None:
    text = (ROOT / "docs" / name).read_text("utf-8")
    folders = {path.parent.name for path in (ROOT / "src" / "cernis").glob("*/__init__.py")}
    assert folders
    assert [folder for folder in sorted(folders) if not re.search(rf"\b{folder}\b", text)] == []


@pytest.mark.parametrize("name", ["design.md", "walk.md"])
def test_words_that_are_introduced_are_in_the_glossary(name: str) -> None:
    prose = split((ROOT / "docs" / name).read_text("utf-8"))[0]
    words = {word.lower() for word in re.findall(r"(?<!\*)\*([A-Za-z][A-Za-z -]+)\*(?!\*)", prose)}
    known = (ROOT / "docs" / "glossary.md").read_text("utf-8").lower()
    assert len(words) > 5
    assert [word for word in sorted(words - EMPHASISED) if word.rstrip("s") not in known] == []


@each_document
def test_modules_that_are_named_exist(document: Path) -> None:
    prose = split(document.read_text("utf-8"))[0]
    named = set(re.findall(r"`([\w/]+/\w+\.py)`", prose))
    # A module is named from the root, from the package, or by the last of its folders.
    modules = [f"/{path.relative_to(ROOT)}" for path in (ROOT / "src").rglob("*.py")]
    missing = [name for name in sorted(named) if not (ROOT / name).is_file()]
    assert [n for n in missing if not any(path.endswith(f"/{n}") for path in modules)] == []


def test_no_file_names_a_folder_of_a_developers_machine() -> None:
    found = []
    for path in project_files():
        content = path.read_bytes()
        if b"\0" not in content:
            lines = machine_paths(content.decode("utf-8", errors="replace"))
            found += [f"{path.relative_to(ROOT)}:{line}" for line in lines]
    assert found == []


# The checks above can fail.


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(
        "[a](page.md#top) [b](gone.md) [c](https://example.org/x) [d](#here) `[e](code.md)`\n"
        "```\n[f](fenced.md)\n```\n[g]: lost.md\n",
        "utf-8",
    )
    assert dead_links(document) == ["gone.md", "lost.md"]


def test_a_broken_rule_is_found() -> None:
    assert broken_rules("```cer\np(X :- q.\n```\n")
    assert not broken_rules("```cer broken\np(X :- q.\n```\n")
    assert not broken_rules("```text\np(X :- q.\n```\n")


def test_a_wrong_session_is_found() -> None:
    assert "Expected" in sessions("```python\n>>> 1 + 1\n3\n```\n", "page")
    shared = "```python\n>>> x = 1\n```\n\n```python\n>>> x\n1\n```\n"
    assert not sessions(shared, "page")


@pytest.mark.parametrize("folder", ["home", "work", "root", "Users", "tmp" + "/env"])
def test_a_path_of_a_machine_is_found(folder: str) -> None:
    path = f"/{folder}/someone/x"
    assert machine_paths(f"one\nread {path}") == [2]
    assert machine_paths(f"open('{path}')") == [1]
    assert machine_paths(f"[tool]={path}") == [1]
    assert not machine_paths(f"see https://example.org{path}")
    assert not machine_paths(f"see docs{path}")
