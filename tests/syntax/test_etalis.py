"""Rule files of ETALIS: what they say in the words of cernis, and what is refused by name."""

from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.errors import Diagnostic, ProgramError
from cernis.program import check_source
from cernis.syntax import parse, show
from cernis.syntax.formatter import format_text
from cernis.syntax.tree import (
    PATTERN_OPERATORS,
    Absence,
    Atom,
    Binary,
    Compound,
    EventAtom,
    Number,
    Pattern,
    PatternRule,
    Where,
    Within,
)


def shown(text: str) -> list[str]:
    """The clauses of a rule file of ETALIS, as they are printed."""
    parsed = parse(text, "rules.event")
    assert not parsed.diagnostics, parsed.diagnostics
    return [show(item) for item in parsed.items]


def fault(text: str) -> Diagnostic:
    """The one thing that is wrong with a rule file of ETALIS."""
    (found,) = parse(text, "rules.event").diagnostics
    return found


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a and b seq c", "a and (b seq c)"),
        ("a seq b and c", "(a seq b) and c"),
        ("a or b and c par d", "a or ((b and c) par d)"),
        ("a or b or c and d seq e", "a or b or (c and (d seq e))"),
        ("a seq b during c", "(a seq b) during c"),
        ("a seq b or c within 5", "(a seq b) or c within 5"),
        ("a seq b or c where (X > 1)", "(a seq b) or c where (X > 1)"),
        ("a 'seq' b 'AND' c", "(a seq b) and c"),
        ("a seq b cnot c and d", "not(c)[a, b] and d"),
        ("a seq b seq c cnot d", "not(d)[a seq b, c]"),
        ("a(X) seq db(p(X)) seq b", "(a(X) where (p(X))) seq b"),
        ("db(p(X)) seq a(X)", "a(X) where (p(X))"),
        ("a(X) seq prolog((p(X), q(X)))", "a(X) where (p(X), q(X))"),
        ("a(X) event_multiply p(X, Y)", "a(X) where (p(X, Y))"),
        ("a check (t1(S), t2(E), S < E)", "a where (S = start, E = end, S < E)"),
        ("a where (<(1, X))", "a where (1 < X)"),
    ],
)
def test_operators_have_the_ranks_of_etalis(text: str, meaning: str) -> None:
    assert shown(f"e <- {text}.") == [f"e <- {meaning}."]
    assert shown(f"e <- {meaning}.") == [f"e <- {meaning}."]
    assert [show(item) for item in parse(f"e <- {meaning}.").items] == [f"e <- {meaning}."]


def test_the_same_text_means_something_else_in_a_rule_file_of_cernis() -> None:
    (item,) = parse("e <- a and b seq c.", "rules.cer").items
    assert show(item) == "e <- (a and b) seq c."


def test_labels_and_windows() -> None:
    assert shown("r1 'rule:' e <- a seq b. r2 : f <- a.") == [
        "r1 'rule:' e <- a seq b.",
        "r2 'rule:' f <- a.",
    ]
    assert shown("r([property(event_rule_window, 3)]) 'rule:' e <- a.") == [
        "r 'rule:' e <- a within 3."
    ]
    assert shown("event_rule_property(r, window, 4). r 'rule:' e <- a seq b.") == [
        "r 'rule:' e <- a seq b within 4."
    ]


def test_facts_flags_and_arrows() -> None:
    assert shown("db(p(1, 2)). static(q(a)). prolog(r).") == ["p(1, 2).", "q(a).", "r."]
    assert shown(":- set_etalis_flag(event_consumption_policy, recent).") == [
        ":- consumption(recent)."
    ]
    assert shown("e iff a seq b. f 'IFF' a.") == ["e <- a seq b.", "f <- a."]


def test_what_is_about_printing_has_no_meaning(tmp_path: Path) -> None:
    file = tmp_path / "rules.event"
    file.write_text(
        ":- set_etalis_flag(event_consumption_policy, recent).\n"
        ":- set_etalis_flag(logging, on).\n"
        "print_trigger(_/_). print_trigger(all_defined_events). print_event(a/1).\n"
        "external_trigger(a/0). persistent_event(e).\n"
        "e <- a seq b.\n"
    )
    assert [d.message for d in check_source(file).diagnostics] == []
    assert cernis.load(str(file)).run("a|1|1\nb|2|2").text() == "occurs(e, [(1,2)]).\n"


def test_a_file_that_says_no_policy_is_told_the_usual_one(tmp_path: Path) -> None:
    file = tmp_path / "rules.event"
    file.write_text("f <- a.\ne <- a seq b within 3.\n")
    assert [(d.code, str(d.severity)) for d in check_source(file).diagnostics] == [("C069", "note")]


@pytest.mark.parametrize(
    ("text", "word", "replacement"),
    [
        ("e <- a seq b do write(x).", "`do`", "cernis stream"),
        ("e do write(x) <- a seq b.", "`do`", "cernis stream"),
        ("e <- a 'do' ins_event_rule(x).", "`do`", "cernis stream"),
        ("e <- a seq (f <- b).", "a rule stands inside", "a rule of its own"),
        ("p :- ins_event_rule(r1 'rule:' e <- a).", "labelled rule", "ins_event_rule"),
        ("e <- b fnot a.", "`fnot`", "not(c)[a, b]"),
        ("e <- a and b cnot c.", "between two events", "not(c)[a, b]"),
        ("e <- a 'forall_seq' b.", "`forall_seq`", "count(past(60))"),
        ("e <- a seq b 'star_times'.", "`star_times`", "many(N) seq a"),
        ("e <- a ntimes 3.", "`ntimes`", "a seq a seq a"),
        ("exceptionAlarm(e, 60) <- a.", "exceptionAlarm", "no b(X) within 60 after a(X)"),
        ("e(N) <- a seq aggregate(count, b, N).", "aggregate", "count(all)"),
        ("e <- a * b.", "`*`", "write seq"),
        ("e <- a \\/ b.", "`\\/`", "write or"),
        ("e(X) :- a(X) 'seq' b(X).", "`seq`", "write <-"),
        ("e <- db(p).", "db(...)", "where p(X)"),
        ("db(X).", "holds no fact", "p(1, 2)"),
    ],
)
def test_what_cannot_be_is_said_by_name(text: str, word: str, replacement: str) -> None:
    found = fault(text)
    assert found.code == "C068"
    assert word in found.message
    assert replacement in found.help


@pytest.mark.parametrize("text", ["e <- a where (X > 1) seq b.", "e <- a within 3 or b."])
def test_what_binds_looser_needs_brackets(text: str) -> None:
    assert fault(text).code == "C001"
    assert "brackets" in fault(text).help


def test_predicates_that_change_rules_are_named() -> None:
    with pytest.raises(ProgramError, match=r"ins_event_rule/1 changes the program") as raised:
        cernis.load("e <- a where ins_event_rule(x) within 1.\n")
    assert "table" in raised.value.diagnostics[0].help


def test_formatting_makes_the_meaning_explicit() -> None:
    text = "print_trigger(_/_). % all\nr 'rule:' e<-a 'or' b 'seq' c.\n"
    formatted = format_text(text, "rules.event")
    assert formatted == "print_trigger(_ / _). % all\nr 'rule:' e <- a or (b seq c).\n"
    assert format_text(formatted, "rules.event") == formatted
    assert parse(formatted, "rules.cer").items == parse(text, "rules.event").items


def pattern(random: Random, depth: int) -> Pattern:
    """A random pattern of the operators that both have."""
    if depth == 0 or random.random() < 0.2:
        return EventAtom(Atom(random.choice("abcd")))
    kind = random.choice((*PATTERN_OPERATORS, "where", "within", "not"))
    left = pattern(random, depth - 1)
    if kind == "where":
        return Where(left, (Compound("p", (Atom("x"),)),))
    if kind == "within":
        return Within(left, Number(3))
    right = pattern(random, depth - 1)
    if kind == "not":
        return Absence(pattern(random, depth - 1), left, right)
    return Binary(kind, left, right)


def test_what_is_printed_means_the_same_to_both() -> None:
    for seed in range(500):
        rule = PatternRule(Atom("e"), pattern(Random(seed), 4))
        text = show(rule)
        for name in ("rules.cer", "rules.event"):
            parsed = parse(text, name)
            assert parsed.items == (rule,), f"seed {seed}, {name}: {text}"
