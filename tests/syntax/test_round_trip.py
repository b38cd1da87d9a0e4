"""What is printed reads back as the same tree; what is formatted stays as it is."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cernis import syntax
from cernis.syntax import formatter, parse_term, show
from cernis.syntax.formatter import format_text
from cernis.syntax.tree import Item, Pattern, PatternRule, Term, Variable
from tests.syntax.careless import Writer, sprinkled
from tests.syntax.programs import Grower, patterns, programs, terms

ROOT = Path(__file__).parents[2]
FILES = sorted([*ROOT.glob("examples/**/*.cer"), *ROOT.glob("tests/cases/**/*.cer")])
BATCHES = 20
BATCH = 500

each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
each_batch = pytest.mark.parametrize("batch", range(BATCHES))


parse = lru_cache(maxsize=4)(syntax.parse)
"""What a text is read as, which depends on the text alone; the formatter asks for the same again.
"""


@pytest.fixture(autouse=True, scope="module")
def a_text_is_read_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formatter, "parse", parse)
        yield


def program(seed: int) -> tuple[Item, ...]:
    """The random program of a seed."""
    return Grower(Random(seed)).program()


def printed(items: tuple[Item, ...]) -> str:
    """A line an item."""
    return "".join(f"{show(item)}\n" for item in items)


def assert_reads_as(text: str, items: tuple[Item, ...], what: object = "") -> None:
    """The text must read as these items, without a word."""
    parsed = parse(text)
    assert not parsed.diagnostics, f"{what}: {parsed.diagnostics[0].message} in\n{text}"
    assert parsed.items == items, f"{what} reads otherwise:\n{text}\nas\n{printed(parsed.items)}"


def comments(text: str) -> list[str]:
    """The comments of a text, in order."""
    parsed = parse(text)
    return [parsed.sources.text(span).rstrip() for span in parsed.comments]


def test_there_are_files() -> None:
    assert len(FILES) > 20


@each_file
def test_a_file_reads_without_a_word(file: Path) -> None:
    assert not parse(file.read_text("utf-8"), file.name).diagnostics


@each_file
def test_a_file_survives_printing(file: Path) -> None:
    items = parse(file.read_text("utf-8")).items
    assert_reads_as(printed(items), items)


@each_file
def test_a_file_survives_formatting(file: Path) -> None:
    text = file.read_text("utf-8")
    formatted = format_text(text)
    assert format_text(formatted) == formatted
    assert_reads_as(formatted, parse(text).items)
    assert comments(formatted) == comments(text)


@each_batch
def test_random_programs_survive_printing_and_formatting(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        items = program(seed)
        text = printed(items)
        assert_reads_as(text, items, f"the program of seed {seed}")
        formatted = format_text(text)
        assert_reads_as(formatted, items, f"the program of seed {seed}, formatted,")
        assert format_text(formatted) == formatted, f"the program of seed {seed}"


@pytest.mark.parametrize("batch", range(4))
def test_careless_writing_reads_as_the_same_program(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        items = program(seed)
        writer = Writer(Random(seed))
        text = "\n".join(writer.item(item) for item in items) + "\n"
        assert_reads_as(text, items, f"the program of seed {seed}")


@pytest.mark.parametrize("batch", range(4))
def test_comments_survive_formatting(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        items = program(seed)
        text, sprinkles = sprinkled(printed(items), Random(seed))
        assert_reads_as(text, items, f"the program of seed {seed}")
        formatted = format_text(text)
        assert comments(formatted) == sprinkles, f"the program of seed {seed}"
        assert_reads_as(formatted, items, f"the program of seed {seed}")
        assert format_text(formatted) == formatted, f"the program of seed {seed}"


# The same again with fewer examples, which shrink when they fail.


@given(terms())
def test_a_term_survives_printing(term: Term) -> None:
    assert parse_term(show(term)) == term


@given(patterns())
def test_a_pattern_survives_printing(pattern: Pattern) -> None:
    rule = PatternRule(parse_term("e"), pattern)
    assert_reads_as(show(rule), (rule,))


@given(programs(), st.randoms(use_true_random=False))
def test_a_commented_program_survives_formatting(items: tuple[Item, ...], random: Random) -> None:
    text, sprinkles = sprinkled(printed(items), random, percent=10)
    formatted = format_text(text)
    assert comments(formatted) == sprinkles
    assert format_text(formatted) == formatted


@given(st.text(max_size=40))
def test_any_text_can_be_a_name(name: str) -> None:
    items = parse(f"f({in_quotes(name)}).").items
    assert_reads_as(printed(items), items)


def in_quotes(name: str) -> str:
    """A name in quotes, by the rules of the language and not by those of the printer."""
    plain = name.replace("\\", "\\\\").replace("'", "''")
    return "'" + plain.replace("\n", "\\n") + "'"


@settings(max_examples=50)
@given(st.floats(allow_nan=False) | st.integers(-(10**300), 10**300))
def test_any_number_survives_printing(value: float) -> None:
    for text in (f"f({value!r}).", f"f(X) :- X > {value!r}."):
        items = parse(text).items if "inf" not in text else ()
        assert_reads_as(printed(items), items)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a:-b,c;d.", "a :- (b, c ; d)."),
        ("f( 'b' ,[ ] , [x|[y]] ).", "f(b, [], [x, y])."),
        ("f('B', 'two words', 'it''s').", "f('B', 'two words', 'it''s')."),
        ("holdsFor(f(X)=true,I):-true.", "holdsFor(f(X)=true, I) :- true."),
        ("a:-X=3,X\\==Y,Z is X+1.", "a :- X = 3, X \\== Y, Z is X + 1."),
        (":-dynamic a/1,b/2.", ":- dynamic a/1, b/2."),
        ("e<-(a SEQ b).30min.", "e <- a seq b within 30min."),
        ("e ← a WHERE X>3.", "e <- a where (X > 3)."),
        ("0.70::a.", "0.7::a."),
        ("f('\\0', \"\\x1b\\\").", "f('\\x0\\', \"\\x1b\\\")."),
        ("f('\\x41\\', '\\x42').", "f('A', 'B')."),
        ("f([[a]|T], [[a], [b]|T]).", "f([[a]|T], [[a], [b]|T])."),
        ("or(or(a, b), c).", "a or b or c."),
        ("e <- not(c)[(a where X > 1), b].", "e <- not(c)[(a where (X > 1)), b]."),
        ("e <- 'seq'(X) seq f((a or b)).", "e <- 'seq'(X) seq f(a or b)."),
    ],
)
def test_the_canonical_text(text: str, shown: str) -> None:
    (item,) = parse(text).items
    assert show(item) == shown


def test_variables_of_the_text_are_kept_apart_from_names() -> None:
    assert show(parse_term("f('X', X)")) == "f('X', X)"
    assert parse_term("'X'") != Variable("X")
