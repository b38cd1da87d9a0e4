"""What stands where it has no place: odd delays, durations, atoms, heads and probabilities."""

import pytest

from tests.check.checking import codes, errors

RULE = "initiatedAt(f=a, T) :- happensAt(e, T). "


@pytest.mark.parametrize("name", ["member", "among"])
def test_a_list_predicate_of_the_program(name: str) -> None:
    text = (
        f"initiatedAt(f(X)=1, T) :- happensAt(e, T), {name}(X, [a, b]). "
        f"{name}(X, [X|_]). {name}(X, [_|L]) :- {name}(X, L)."
    )
    assert not errors(text)


@pytest.mark.parametrize("delay", ["0", "-5", "soon", '"5"', "[1]"])
def test_a_delay_is_a_number_above_0(delay: str) -> None:
    assert errors(f"{RULE} fi(f=a, f=b, {delay}).")


@pytest.mark.parametrize("duration", ["-5", "soon", "D"])
def test_a_duration_is_a_number_that_has_a_value(duration: str) -> None:
    assert errors(f"d <- a seq b within {duration}.")


@pytest.mark.parametrize("atom", ["X", '"text"', "[a]", "X=true", "30min"])
def test_a_pattern_is_made_of_events_and_fluents(atom: str) -> None:
    assert errors(f"d <- a seq {atom} within 5.")


@pytest.mark.parametrize(
    "clause", ["f(x)=true.", "a, b.", "(a ; b).", "X = 3.", "\\+ a.", "length(a, 3)."]
)
def test_a_definition_of_a_builtin_is_noted(clause: str) -> None:
    assert codes(clause)


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


def test_a_start_that_breaks_what_starts() -> None:
    # f=b starts at T, which initiates f=a at T, which breaks f=b at T, which then does not start.
    text = (
        "initiatedAt(f=a, T) :- happensAt(start(f=b), T). initiatedAt(f=b, T) :- happensAt(e, T)."
    )
    assert errors(text) == {"C045"}


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


def test_start_and_end_are_not_defined_by_rules() -> None:
    assert errors("happensAt(start(f=a), T) :- happensAt(e, T). " + RULE)


def test_intervals_are_for_operations_on_intervals() -> None:
    assert errors("holdsFor(f=1, I) :- holdsFor(g=1, I), I = [_|_].")
