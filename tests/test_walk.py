"""docs/walk.md: its session prints what is shown, and its rules are those of the example."""

import doctest
import re
from pathlib import Path

from cernis.syntax import parse
from cernis.syntax.tree import Item

ROOT = Path(__file__).parent.parent
WALK = ROOT / "docs" / "walk.md"
MARITIME = ROOT / "examples" / "maritime"


def items(path: Path) -> tuple[Item, ...]:
    """What a file of rules or facts says."""
    return parse(path.read_text("utf-8"), path.name).items


def program() -> tuple[Item, ...]:
    """The program that the walk follows."""
    shown = re.search(r'^>>> text = """\\\n(.*?)^\.\.\. """$', WALK.read_text("utf-8"), re.M | re.S)
    assert shown
    return parse(re.sub(r"^\.\.\. ?", "", shown[1], flags=re.MULTILINE)).items


def test_the_session_prints_what_is_shown() -> None:
    result = doctest.testfile(str(WALK), module_relative=False, encoding="utf-8")
    assert result.attempted > 30
    assert result.failed == 0


def test_the_rules_are_those_of_the_example() -> None:
    known = items(MARITIME / "rules.cer") + items(MARITIME / "facts.cer")
    assert len(program()) == 7
    assert [item for item in program() if item not in known] == []


def test_the_rule_shown_first_is_the_one_followed() -> None:
    shown = re.search(r"^```cer\n(.*?)^```$", WALK.read_text("utf-8"), re.M | re.S)
    assert shown
    assert parse(shown[1]).items == program()[2:3]
