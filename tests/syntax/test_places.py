"""Every node knows the text it was read from."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from cernis.source import Sources
from cernis.syntax import parse, parse_term
from cernis.syntax.load import load_text
from cernis.syntax.tree import (
    Absence,
    Binary,
    Clause,
    Compound,
    Directive,
    Duration,
    EventAtom,
    Item,
    Pattern,
    PatternRule,
    Term,
    Where,
    Within,
    walk,
)
from tests.syntax.careless import Writer
from tests.syntax.programs import Grower
from tests.syntax.test_parser import pattern
from tests.syntax.test_round_trip import FILES


def terms_of(item: Item) -> Iterator[Term]:
    """All terms of an item, at any depth; durations in two words are no terms by themselves."""
    if isinstance(item, Directive):
        yield from walk(item.goal)
        return
    yield from walk(item.head)
    if isinstance(item, Clause):
        for goal in item.body:
            yield from walk(goal)
    else:
        yield from _terms_of_pattern(item.pattern)


def _terms_of_pattern(part: Pattern) -> Iterator[Term]:
    if isinstance(part, EventAtom):
        yield from walk(part.term)
    elif isinstance(part, Where):
        yield from _terms_of_pattern(part.pattern)
        for condition in part.conditions:
            yield from walk(condition)
    elif isinstance(part, Within):
        yield from _terms_of_pattern(part.pattern)
        yield from () if isinstance(part.duration, Duration) else walk(part.duration)
    elif isinstance(part, Binary):
        yield from _terms_of_pattern(part.left)
        yield from _terms_of_pattern(part.right)
    elif isinstance(part, Absence):
        for inner in (part.absent, part.first, part.last):
            yield from _terms_of_pattern(inner)


def patterns_of(part: Pattern) -> Iterator[Pattern]:
    """A pattern and all its parts."""
    yield part
    if isinstance(part, (Where, Within)):
        yield from patterns_of(part.pattern)
    elif isinstance(part, Binary):
        yield from patterns_of(part.left)
        yield from patterns_of(part.right)
    elif isinstance(part, Absence):
        for inner in (part.absent, part.first, part.last):
            yield from patterns_of(inner)


def assert_spans_are_right(items: tuple[Item, ...], sources: Sources) -> None:
    """The text at the span of each node must read as that node."""
    for item in items:
        assert parse(sources.text(item.span)).items == (item,)
        for term in terms_of(item):
            assert parse_term(sources.text(term.span)) == term
        if isinstance(item, PatternRule):
            for part in patterns_of(item.pattern):
                assert pattern(sources.text(part.span)) == part


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name + "/" + file.name)
def test_spans_of_files(file: Path) -> None:
    parsed = parse(file.read_text("utf-8"))
    assert_spans_are_right(parsed.items, parsed.sources)


def test_spans_of_random_programs() -> None:
    for seed in range(400):
        items = Grower(Random(seed), deepest=3).program()
        writer = Writer(Random(seed))
        parsed = parse("\n".join(writer.item(item) for item in items))
        assert parsed.items == items
        assert_spans_are_right(parsed.items, parsed.sources)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("f((a + b) * c).", "(a + b) * c"),
        ("f(c * (a + b)).", "c * (a + b)"),
        ("f(- (a)).", "- (a)"),
        ("f((a, (b))).", "a, (b)"),
        ("f( [a | T] ).", "[a | T]"),
    ],
)
def test_a_span_includes_the_parentheses_inside(text: str, part: str) -> None:
    parsed = parse(text)
    (item,) = parsed.items
    assert isinstance(item, Clause)
    assert isinstance(item.head, Compound)
    assert parsed.sources.text(item.head.args[0].span) == part


def test_spans_of_included_files_lie_in_those(tmp_path: Path) -> None:
    (tmp_path / "more.cer").write_text("b(x).\n")
    parsed = load_text("a.\n:- [more].\nc.", "main.cer", tmp_path)
    places = [parsed.sources.place(item.span) for item in parsed.items]
    shown = [(Path(place.name).name, place.line, place.column) for place in places if place]
    assert shown == [("main.cer", 1, 1), ("more.cer", 1, 1), ("main.cer", 3, 1)]
    assert parsed.sources.text(parsed.items[1].span) == "b(x)."
