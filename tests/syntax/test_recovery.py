"""A fault is reported at its place, with advice, and hides nothing else."""

import pytest

from cernis.syntax import parse, show

BROKEN = {
    "a missing parenthesis": "f(a :- b.",
    "a missing term": "f :- .",
    "an unknown sign": "f :- a # b.",
    "two terms": "f :- a b.",
    "a comma too much": "f(a,, b).",
    "an open quote": "f('a).",
    "an open string": 'f("a, b).  ',
    "a variable as head": "X :- a.",
    "a bracket too much": "f(a)).",
    "nothing": ".",
    "a pattern with a comma": "e <- a, b.",
    "no probability": "7::f.",
    "an operator too much": "f :- a = = b.",
    "a deep term": f"f({'(' * 200}a{')' * 200}).",
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_clause_does_not_hide_others(broken: str) -> None:
    parsed = parse(f"before(1).\n{broken}\nafter :- x.\n{broken}\nlast(X) :- y(X).\n")
    shown = [show(item) for item in parsed.items]
    assert shown == ["before(1).", "after :- x.", "last(X) :- y(X)."]
    assert len(parsed.diagnostics) >= 2
    lines = {place.line for d in parsed.diagnostics if (place := parsed.sources.place(d.span))}
    assert min(lines) == 2


def test_all_faults_are_reported_in_the_order_of_the_text() -> None:
    parsed = parse("a b.\nf(.\n'x.\n#.\nok.\n")
    assert [fault.code for fault in parsed.diagnostics] == ["C001", "C001", "C004", "C005"]
    assert [fault.span for fault in parsed.diagnostics] == sorted(
        fault.span for fault in parsed.diagnostics
    )


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("a :- b c.", "C001", "c"),
        ("a :- f(b, c.", "C002", "("),
        ("a :- b", "C003", "b"),
        ("a :- f('b).", "C004", "'b)."),
        ("a. /* b", "C004", "/*"),
        ("a :- b # c.", "C005", "#"),
        ("1.5::a.", "C011", "1.5"),
    ],
)
def test_a_fault_is_at_its_place(text: str, code: str, at: str) -> None:
    parsed = parse(text)
    (fault,) = parsed.diagnostics
    assert fault.code == code
    assert parsed.sources.text(fault.span) == at


@pytest.mark.parametrize(
    ("text", "help_"),
    [
        ("a :- f (b).", "write f( without a blank before the parenthesis"),
        ("a :- b c.", "is a comma or an operator missing before it?"),
    ],
)
def test_a_fault_comes_with_advice(text: str, help_: str) -> None:
    (fault,) = parse(text).diagnostics
    assert fault.help == help_
