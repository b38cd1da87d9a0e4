"""Phrases: how they are read and printed, what they become, and what is said of wrong ones."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

import cernis
from cernis.check.rewrites.phrase_rules import expanded_text
from cernis.program import check_source
from cernis.syntax import parse, show
from cernis.syntax.formatter import format_text
from cernis.syntax.phrase_parser import PHRASES, is_phrase
from cernis.syntax.tree import Clause, Compound, Item, Term, walk
from tests.syntax.programs import Grower

GAP = """initiatedAt(gap(V)=true, T) :- happensAt(gap_start(V), T).
terminatedAt(gap(V)=true, T) :- happensAt(gap_end(V), T).
"""


def body(text: str) -> tuple[Term, ...]:
    (clause,) = parse(f"x :- {text}.").items
    assert isinstance(clause, Clause)
    return clause.body


# -- text ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "happensAt(gap(V)=true for at least 30min, T)",
        "happensAt(holds gap(V)=true for at least 2 * D, T)",
        "happensAt(no answer(C, _) within 10min after call(C), T)",
        "happensAt(no start(f=a) within 5 after (f=b for at least 2), T)",
        r"\+ holdsAt(gap(V)=true for at least 5, T)",
        "f(no, holds, for, expires)",
        "no",
        "no(3)",
        "holds(a, b)",
    ],
)
def test_reads_and_prints_as_it_is_written(text: str) -> None:
    assert [show(goal) for goal in body(text)] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "f(X)=a expires after 5.",
        "f(X)=a expires after 5 unless renewed.",
        "f(X)=a expires after R :-\n    limit(X, R).",
        "g(X)=a iff f(X)=a for at least 5 or h(X)=a, not k(X)=a for at least 7.",
    ],
)
def test_clauses_stay_as_they_are_laid_out(text: str) -> None:
    assert format_text(text) == f"{text}\n"


@pytest.mark.parametrize("text", ["no = X", "X = no", "(no ; holds)", "no or yes", "holds is X"])
def test_the_words_are_names_where_nothing_of_a_phrase_follows(text: str) -> None:
    assert not any(functor in PHRASES for functor in map(_functor, body(text)))


def _functor(term: Term) -> str:
    return term.functor if isinstance(term, Compound) else ""


@pytest.mark.parametrize("seed", range(300))
def test_any_phrase_reads_back_as_it_was_printed(seed: int) -> None:
    grower = Grower(Random(seed), deepest=3)
    functor = grower.pick(tuple(PHRASES))
    args = tuple(grower.term() for _ in range(PHRASES[functor].count("{}")))
    clause = Clause(Compound("x", (Compound(functor, args), Compound(functor, args[::-1]))))
    text = show(clause)
    parsed = parse(text)
    assert parsed.diagnostics == (), f"seed {seed}: {text}"
    assert parsed.items == (clause,), f"seed {seed}: {text}"


@pytest.mark.parametrize(
    ("text", "message", "help_"),
    [
        ("x :- happensAt(f=a for 5, T).", "`at` is expected", "`F=V for at least D`"),
        ("x :- happensAt(no e within 5, T).", "`after` is expected", "`no E within D after A`"),
        ("x :- happensAt(no e after a, T).", "`within` is expected", "`no E within D after A`"),
        ("f=a expires 5.", "`after` is expected", "`F=V expires after D`"),
        ("f=a expires after 5 unless b.", "`renewed` is expected", "unless renewed`"),
    ],
)
def test_a_phrase_cut_short_is_told_how_it_goes_on(text: str, message: str, help_: str) -> None:
    (diagnostic,) = parse(text).diagnostics
    assert diagnostic.code == "C001"
    assert message in diagnostic.message
    assert help_ in diagnostic.help


# -- what they become ------------------------------------------------------------------------


def test_expiry_is_a_delayed_termination_that_renewal_may_postpone() -> None:
    text = expanded_text(parse("f(X)=a expires after R unless renewed :- limit(X, R).").items)
    assert text.splitlines()[1:] == [
        "ft(f(X)=a, R) :-",
        "    limit(X, R).",
        "p(f(X)=a) :-",
        "    limit(X, R).",
    ]


def test_a_pair_that_has_held_is_a_fluent_that_counts() -> None:
    text = expanded_text(parse("happensAt(e(V), T) :- happensAt(f(V)=a for at least 5, T).").items)
    name = "'when f(A)=a for at least 5'(V)"
    assert text.splitlines()[1:] == [
        "happensAt(e(V), T) :-",
        f"    initiatedAt({name}=reached, T).",
        f"initiatedAt({name}=counting, T1) :-",
        "    happensAt(start(f(V)=a), T1).",
        f"terminatedAt({name}=counting, T2) :-",
        "    happensAt(end(f(V)=a), T2).",
        f"fi({name}=counting, {name}=reached, 5).",
        f"ft({name}=reached, 5).",
    ]


def test_rules_that_say_the_same_share_their_fluents() -> None:
    one = "happensAt(e(V), T) :- happensAt(no b(V, _) within 5 after a(V), T).\n"
    other = "happensAt(g(W), T) :- happensAt(no b(W, _Any) within 5 after a(W), T).\n"
    third = "happensAt(h(W), T) :- happensAt(no c(W) within 5 after a(W), T).\n"
    auxiliary = check_source(one).definitions.auxiliary
    assert check_source(one + other).definitions.auxiliary == auxiliary
    # The wait for `a` is the same, whatever is waited for.
    assert len(check_source(one + third).definitions.auxiliary) == len(auxiliary) + 2


def _nodes(item: Item) -> Iterator[Term]:
    assert isinstance(item, Clause)
    for term in (item.head, *item.body):
        yield from walk(term)


def test_the_expansion_is_a_program_that_says_the_same() -> None:
    rules = f"""{GAP}happensAt(lost(V), T) :- happensAt(gap(V)=true for at least 4, T).
long(V)=true iff gap(V)=true for at least D, limit(V, D).
happensAt(missed(V), T) :- happensAt(no gap_end(V) within 6 after gap_start(V), T).
limit(v1, 3).
"""
    events = "gap_start|2|2|v1\ngap_end|9|9|v1\ngap_start|11|11|v2\ngap_end|14|14|v2\n"
    short = cernis.load(rules).run(events, end=30).text().splitlines()
    text = expanded_text(parse(rules).items)
    assert not any(is_phrase(node) for item in parse(text).items for node in _nodes(item))
    assert parse(text).diagnostics == ()
    whole = cernis.load(text).run(events, end=30).text().splitlines()
    assert set(short) <= set(whole)
    assert all("'" in line for line in set(whole) - set(short))
    assert [line for line in short if "lost" in line] == ["happensAt(lost(v1), [6])."]


def test_a_program_without_phrases_is_left_alone() -> None:
    assert check_source(GAP).definitions.auxiliary == set()


# -- wrong ones ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "code", "at"),
    [
        ("happensAt(e(V), T) :- happensAt(start(gap(V)=true for at least 5), T).", "C067",
         "gap(V)=true for at least 5"),
        ("happensAt(e(V), T) :- happensAt(gap_end(V), T), gap(V)=true for at least 5.", "C067",
         "gap(V)=true for at least 5"),
        ("happensAt(e(V), T) :- holdsAt(no gap_end(V) within 5 after gap_start(V), T).", "C067",
         "no gap_end(V) within 5 after gap_start(V)"),
        ("initially(gap(v)=true for at least 5).", "C067", "gap(v)=true for at least 5"),
        ("e(V) <- gap_end(V) seq start(gap(V)=true for at least 5) within 9.", "C067",
         "gap(V)=true for at least 5"),
        ("x(V) :- gap(V)=true expires after 5.", "C067", "gap(V)=true expires after 5"),
        ("happensAt(e(V), T) :- happensAt(gap(V) for at least 5, T).", "C062", "gap(V)"),
        ("gap(V) expires after 5.", "C062", "gap(V)"),
        ("happensAt(e(V), T) :- happensAt(no V within 5 after gap_start(V), T).", "C001", "V"),
        ("happensAt(e(V), T) :- happensAt(gap(V)=true for at least soon, T).", "C044", "soon"),
        ("happensAt(e(V), T) :- happensAt(gap(V)=true for at least -5, T).", "C044", "-5"),
        ("gap(_)=true expires after 0.", "C044", "0"),
        ("happensAt(e(V), T) :- happensAt(gap(V)=true for at least D, T).", "C030", "D"),
        ("happensAt(e(V), T) :- happensAt(gap(V)=true for at least D, T), "
         "happensAt(limit(V, D), T).", "C030", "D"),
        ("happensAt(e(V, W), T) :- happensAt(no gap_end(V, W) within 5 after gap_start(V), T).",
         "C031", "W"),
    ],
)  # fmt: skip
def test_a_wrong_phrase_is_one_error_in_its_place(rule: str, code: str, at: str) -> None:
    checked = check_source(GAP.replace("gap_end(V)", "gap_end(V, _)") + rule
                           if "gap_end(V, W)" in rule else GAP + rule)  # fmt: skip
    errors = [diagnostic for diagnostic in checked.diagnostics if diagnostic.is_error]
    assert [error.code for error in errors] == [code]
    source = checked.sources.source_at(errors[0].span[0])
    assert source is not None
    start, end = (place - source.base for place in errors[0].span)
    assert source.text[start:end] == at


def test_variables_of_a_phrase_that_stand_alone_are_reported() -> None:
    rule = "happensAt(e(V), T) :- happensAt(no answer(V, Who) within 5 after gap_start(V), T).\n"
    found = [(d.code, d.message) for d in check_source(GAP + rule).diagnostics]
    assert found == [("C035", "Who occurs only once in this clause")]


def test_rules_of_a_pair_may_wait_for_it() -> None:
    own = "terminatedAt(gap(V)=true, T) :- happensAt(gap(V)=true for at least 30, T).\n"
    retry = (
        "happensAt(gap_start(V), T) :- happensAt(no gap_end(V) within 5 after gap_start(V), T).\n"
    )
    assert check_source(GAP + own).diagnostics == ()
    assert check_source(GAP + retry).diagnostics == ()
