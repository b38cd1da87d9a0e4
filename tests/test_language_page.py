"""docs/language.md: rules check, events give the intervals shown, the tables are complete."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cernis.check import check
from cernis.check.declarations import _ACCEPTED, _DIRECTIVES, CLAUSES, TYPES
from cernis.check.lower import _HANDLERS
from cernis.check.staticrules import ALLEN_MODES, ALLEN_RELATIONS
from cernis.knowledge.resolution.builtins import BUILTINS
from cernis.knowledge.resolution.prolog_arithmetic import FUNCTIONS
from cernis.knowledge.zone_clock import CLOCK_RANGES
from cernis.syntax.load import load_text
from cernis.syntax.tokens import DURATION_UNITS
from cernis.syntax.tree import PATTERN_OPERATORS, PatternRule
from tests.reference.cases import answer_text, read_case
from tests.test_documents import Block, blocks

PAGE = Path(__file__).parent.parent / "docs" / "language.md"
TEXT = PAGE.read_text("utf-8")
BLOCKS = blocks(TEXT)

Triple = tuple[Block, Block, Block]


def file_of(block: Block) -> str | None:
    """The name of the file that a block shows, if it shows a whole file."""
    names = [word.removeprefix("file=") for word in block.info if word.startswith("file=")]
    return names[0] if names else None


def triples(shown: list[Block]) -> Iterator[Triple]:
    """Rules, events and intervals, wherever they stand one after another."""
    for before, events, after in zip(shown, shown[1:], shown[2:], strict=False):
        if events.is_a("events"):
            yield before, events, after


def section(title: str) -> str:
    """The text of one section of the page, up to the next heading of its rank."""
    headings = [*re.finditer(r"^(#+) (.*)$", TEXT, re.MULTILINE)]
    for at, heading in enumerate(headings):
        if heading[2] == title:
            later = (h.start() for h in headings[at + 1 :] if len(h[1]) <= len(heading[1]))
            return TEXT[heading.start() : next(later, len(TEXT))]
    raise AssertionError(f"there is no section {title}")


def spans(text: str) -> set[str]:
    """The pieces of code in running text."""
    return set(re.findall(r"`([^`\n]+)`", text))


def signatures(text: str) -> set[tuple[str, int]]:
    """The pieces of code that read `name/arity`."""
    found = (re.fullmatch(r"(\S+)/(\d)", span) for span in spans(text))
    return {(match[1], int(match[2])) for match in found if match}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files that the page shows."""
    for block in BLOCKS:
        name = file_of(block)
        if name is not None:
            (tmp_path / name).write_text(block.text, "utf-8")
    return tmp_path


RULES = [block for block in BLOCKS if block.is_a("cer")]
TRIPLES = list(triples(BLOCKS))


@pytest.mark.parametrize("rules", RULES, ids=lambda block: f"line{block.line}")
def test_rules_check_without_errors(
    rules: Block, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A table is looked for beside the file that names it, and a text is no file.
    monkeypatch.chdir(folder)
    checked = check(load_text(rules.text, "rules.cer"))
    assert not [f"{d.code} {d.message}" for d in checked.diagnostics if d.is_error]


@pytest.mark.parametrize("triple", TRIPLES, ids=lambda triple: f"line{triple[0].line}")
def test_intervals_are_those_recognised(triple: Triple, folder: Path) -> None:
    rules, events, intervals = triple
    assert rules.is_a("cer")
    assert intervals.is_a("intervals")
    (folder / "rules.cer").write_text(rules.text, "utf-8")
    (folder / "events.txt").write_text(events.text, "utf-8")
    (folder / "case.toml").write_text(f'title = ""\nneeds = ["{_need(rules, events)}"]\n')
    assert answer_text(read_case(folder)) == intervals.text


def _need(rules: Block, events: Block) -> str:
    """Which of the reference evaluators a program is for."""
    if any(isinstance(item, PatternRule) for item in load_text(rules.text).items):
        return "patterns"
    return "uncertain" if "::" in events.text else "fluents"


def test_events_and_intervals_stand_behind_rules() -> None:
    assert len(TRIPLES) == sum(block.is_a("events") for block in BLOCKS)
    assert len(TRIPLES) == sum(block.is_a("intervals") for block in BLOCKS)


def test_every_built_in_predicate_is_in_its_table() -> None:
    assert signatures(section("Built-in predicates")) == set(BUILTINS)


def test_every_arithmetic_function_is_in_its_table() -> None:
    # To clocks, the zone and the unit of the program are added.
    clocks = {(name, 1) for name in CLOCK_RANGES}
    # Functions of users, which other tests load, have a blank in their names.
    builtin = {function for function in FUNCTIONS if " " not in function[0]}
    computed = {function for function in builtin if function[0] not in CLOCK_RANGES}
    assert signatures(section("Arithmetic functions")) == computed | clocks


def test_every_kind_of_head_is_on_the_page() -> None:
    for name, _ in _HANDLERS:
        assert re.search(rf"\b{name}\b", TEXT), name


def test_every_directive_is_in_its_table() -> None:
    shown = section("Declarations and directives")
    for name, _ in _DIRECTIVES:
        assert f"`:- {name}" in shown, name


def test_what_has_no_meaning_is_listed() -> None:
    shown = spans(section("Files written for RTEC")) | spans(section("Files written for ETALIS"))
    for name in _ACCEPTED:
        assert any(re.match(rf":- {name}\b", span) for span in shown), name
    for name, _ in CLAUSES:
        assert any(span.startswith(f"{name}(") for span in shown), name


def test_types_units_and_operators_are_listed() -> None:
    assert set(TYPES) <= spans(section("Declarations and directives"))
    assert set(DURATION_UNITS) <= spans(section("Terms"))
    assert {*ALLEN_RELATIONS, *ALLEN_MODES} <= spans(section("Relations between intervals"))
    pattern = section("Event patterns")
    assert all(f"`P {operator} Q`" in pattern for operator in PATTERN_OPERATORS)


def test_headings_are_unique() -> None:
    headings = re.findall(r"^#+ (.*)$", TEXT, re.MULTILINE)
    assert len(headings) == len(set(headings))


def test_the_table_of_contents_is_complete() -> None:
    titles = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)
    linked = re.findall(r"^- \[(.*)\]\(#(.*)\)$", TEXT, re.MULTILINE)
    assert [title for title, _ in linked] == titles
    anchors = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
    assert [anchor for _, anchor in linked] == anchors


# The checks above can fail.


def test_a_triple_is_found() -> None:
    page = "```cer\na.\n```\n```events\nb\n```\n```intervals\nc\n```\n```cer\nd.\n```\n"
    assert [[block.text for block in triple] for triple in triples(blocks(page))] == [
        ["a.\n", "b\n", "c\n"]
    ]


def test_a_section_ends_at_the_next_of_its_rank() -> None:
    assert "### Tables" in section("Background knowledge")
    assert "## Input records" not in section("Background knowledge")


def test_signatures_are_read() -> None:
    assert signatures("`a/1`, `//2`, `///2` and `b`") == {("a", 1), ("/", 2), ("//", 2)}
