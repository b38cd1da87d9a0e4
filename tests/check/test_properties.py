"""Whatever the program: checking raises nothing, is in order, and does not mind the order."""

import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cernis.check import Checked, check
from cernis.source import NOWHERE, Sources
from cernis.syntax import show
from cernis.syntax.load import load_files, load_text
from cernis.syntax.tree import Item
from tests.check.programs import Author, mutated
from tests.syntax.programs import Grower, programs

ROOT = Path(__file__).parents[2]
FILES = sorted([*ROOT.glob("examples/**/*.cer"), *ROOT.glob("tests/cases/**/*.cer")])
NOWHERE_NEAR = ROOT / "no such folder"
RULES = [file for file in FILES if file.stat().st_size]


def assert_sound(result: Checked) -> None:
    """Diagnostics must be sorted, each once, with spans in the text; the graph must be one."""
    order = [(diagnostic.span, diagnostic.code) for diagnostic in result.diagnostics]
    assert order == sorted(order)
    assert len(set(result.diagnostics)) == len(result.diagnostics)
    for diagnostic in result.diagnostics:
        assert re.fullmatch(r"C\d{3}", diagnostic.code)
        assert diagnostic.message
        assert_inside(diagnostic.span, result.sources)
        for note in diagnostic.notes:
            if note.span != NOWHERE:
                assert_inside(note.span, result.sources)
    assert_ordered(result)


def assert_inside(span: tuple[int, int], sources: Sources) -> None:
    """The span must lie in one of the texts."""
    start, end = span
    source = sources.source_at(start)
    assert source is not None
    assert source.base <= start <= end <= source.base + len(source.text)


def assert_ordered(result: Checked) -> None:
    """Every vertex is in one component, and no component needs a later one."""
    graph = result.dependencies
    place = {v: at for at, part in enumerate(graph.components) for v in part.vertices}
    assert sum(len(part.vertices) for part in graph.components) == len(place)
    assert place.keys() == set(graph.vertices)
    for edge in graph.edges:
        source, target = place[edge.source], place[edge.target]
        assert source <= target
        if source < target:
            assert graph.components[source].level < graph.components[target].level


@pytest.mark.parametrize("batch", range(4))
def test_random_syntax(batch: int) -> None:
    for seed in range(batch * 500, (batch + 1) * 500):
        text = "\n".join(map(show, Grower(Random(seed)).program()))
        assert_sound(check(load_text(text, directory=NOWHERE_NEAR)))


@pytest.mark.parametrize("batch", range(4))
def test_random_rules(batch: int) -> None:
    for seed in range(batch * 500, (batch + 1) * 500):
        assert_sound(check(load_text("\n".join(Author(Random(seed)).program()))))


@pytest.mark.parametrize("batch", range(4))
def test_mutated_files(batch: int) -> None:
    random = Random(batch)
    for _ in range(250):
        text = mutated(random.choice(RULES).read_text("utf-8"), random)
        assert_sound(check(load_text(text, directory=NOWHERE_NEAR)))


@given(programs())
def test_random_syntax_that_shrinks(items: tuple[Item, ...]) -> None:
    assert_sound(check(load_text("\n".join(map(show, items)), directory=NOWHERE_NEAR)))


@given(st.randoms(use_true_random=False))
def test_random_rules_that_shrink(random: Random) -> None:
    assert_sound(check(load_text("\n".join(Author(random).program()))))


@pytest.mark.parametrize("batch", range(4))
def test_the_order_of_rules_does_not_matter(batch: int) -> None:
    for seed in range(batch * 250, (batch + 1) * 250):
        random = Random(seed)
        author = Author(random)
        rules = [author.rule() for _ in range(random.randint(2, 12))]
        codes = said(rules)
        random.shuffle(rules)
        assert said(rules) == codes, f"the rules of seed {seed}"


def said(rules: list[str]) -> set[tuple[str, str]]:
    """Codes and severities of all that is said about some rules."""
    result = check(load_text("\n".join(rules)))
    return {(diagnostic.code, str(diagnostic.severity)) for diagnostic in result.diagnostics}


@pytest.mark.parametrize("example", ["toy", "fleet", "maritime", "surveillance"])
def test_examples_are_without_a_word(example: str) -> None:
    folder = ROOT / "examples" / example
    result = check(load_files([folder / "rules.cer"], facts=[folder / "facts.cer"]))
    assert not [diagnostic.message for diagnostic in result.diagnostics]
    assert_sound(result)


def test_a_large_program_is_checked_in_reasonable_time() -> None:
    rules = [
        f"initiatedAt(f{n}(X)=true, T) :- happensAt(go{n}(X), T), holdsAt(f{n // 2}(X)=true, T)."
        for n in range(300)
    ]
    facts = [f"port(p{n}, {n})." for n in range(50_000)]
    assert_sound(check(load_text("\n".join([*rules, *facts]))))


def test_a_body_of_many_literals() -> None:
    body = ", ".join(f"holdsAt(g(X)={n}, T), p(X, {n})" for n in range(5000))
    text = f"initiatedAt(f(X)=true, T) :- happensAt(e(X), T), {body}. p(a, 1)."
    assert not check(load_text(text)).has_errors
