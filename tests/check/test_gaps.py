"""What the checker should say and does not say yet. Each test that passes must leave this file."""

import pytest

from tests.check.checking import codes, errors

RULE = "initiatedAt(f=a, T) :- happensAt(e, T). "


@pytest.mark.xfail(reason="a predicate has one mode: member-like ones need their first argument")
@pytest.mark.parametrize("name", ["member", "among"])
def test_a_list_predicate_of_the_program(name: str) -> None:
    text = (
        f"initiatedAt(f(X)=1, T) :- happensAt(e, T), {name}(X, [a, b]). "
        f"{name}(X, [X|_]). {name}(X, [_|L]) :- {name}(X, L)."
    )
    assert not errors(text)


@pytest.mark.xfail(reason="delays are not looked at")
@pytest.mark.parametrize("delay", ["0", "-5", "soon", '"5"', "[1]"])
def test_a_delay_is_a_number_above_0(delay: str) -> None:
    assert errors(f"{RULE} fi(f=a, f=b, {delay}).")


@pytest.mark.xfail(reason="durations of patterns are not looked at")
@pytest.mark.parametrize("duration", ["-5", "soon", "D"])
def test_a_duration_is_a_number_that_has_a_value(duration: str) -> None:
    assert errors(f"d <- a seq b within {duration}.")


@pytest.mark.xfail(reason="atoms of patterns are not looked at")
@pytest.mark.parametrize("atom", ["X", '"text"', "[a]", "X=true", "30min"])
def test_a_pattern_is_made_of_events_and_fluents(atom: str) -> None:
    assert errors(f"d <- a seq {atom} within 5.")


@pytest.mark.xfail(reason="facts and rules for built-in predicates are dropped without a word")
@pytest.mark.parametrize(
    "clause", ["f(x)=true.", "a, b.", "(a ; b).", "X = 3.", "\\+ a.", "length(a, 3)."]
)
def test_a_definition_of_a_builtin_is_noted(clause: str) -> None:
    assert codes(clause)


@pytest.mark.xfail(reason="only initially and facts keep their probability")
@pytest.mark.parametrize(
    "rule",
    [
        "0.7::initiatedAt(f=1, T) :- happensAt(e, T).",
        "0.7::holdsFor(f=1, I) :- holdsFor(g=1, I).",
        "0.7::f=1 iff g=1.",
        "0.7::fi(f=a, f=b, 3). initiatedAt(f=a, T) :- happensAt(e, T).",
    ],
)
def test_a_probability_is_not_lost(rule: str) -> None:
    assert codes(rule)


@pytest.mark.xfail(reason="values that break one another are not seen to depend on one another")
def test_a_start_that_breaks_what_starts() -> None:
    # f=b starts at T, which initiates f=a at T, which breaks f=b at T, which then does not start.
    text = (
        "initiatedAt(f=a, T) :- happensAt(start(f=b), T). initiatedAt(f=b, T) :- happensAt(e, T)."
    )
    assert errors(text) == {"C045"}


@pytest.mark.xfail(reason="literals over time are taken for predicates outside of rules over time")
@pytest.mark.parametrize(
    "text",
    [
        "initially(f=1) :- holdsAt(g=1, _T).",
        "grounding(f=1) :- happensAt(e, _T).",
        "fi(f=a, f=b, R) :- holdsAt(g=R, _T). " + RULE,
        "d(X) <- a(X) where holdsAt(g(X)=1, _T).",
        "holdsFor(f=1, I) :- holdsFor(g=1, I), \\+ holdsFor(h=1, _J).",
    ],
)
def test_literals_over_time_have_their_place(text: str) -> None:
    assert errors(text) == {"C060"}


@pytest.mark.xfail(reason="heads with start and end are taken for events of these names")
def test_start_and_end_are_not_defined_by_rules() -> None:
    assert errors("happensAt(start(f=a), T) :- happensAt(e, T). " + RULE)


@pytest.mark.xfail(reason="intervals may stand in any condition")
def test_intervals_are_for_operations_on_intervals() -> None:
    assert errors("holdsFor(f=1, I) :- holdsFor(g=1, I), I = [_|_].")
