"""Types of arguments and values: inferred from constants, facts and declarations, and checked."""

import pytest

from cernis.check.model import Relation
from tests.check.checking import checked, errors, found, places

RULE = "initiatedAt(f(X)=true, T) :- happensAt(e(X), T), {}. "


def type_of(text: str, kind: str, name: str, position: int | str) -> str:
    """The type of an argument or value, in a text."""
    relation, _, arity = name.partition("/")
    return checked(text).types.of(kind, Relation(relation, int(arity)), position)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("happensAt(e(a), T)", "text"),
        ('happensAt(e("a b"), T)', "text"),
        ("happensAt(e(3), T)", "integer"),
        ("happensAt(e(3.5), T)", "float"),
        ("happensAt(e(true), T)", "boolean"),
        ("happensAt(e(_), T)", "any"),
        ("happensAt(e(3), T), happensAt(e(3.5), T)", "float"),
        ("happensAt(e(3), T), happensAt(e(a), T)", "mixed"),
        ("happensAt(e(true), T), happensAt(e(a), T)", "text"),
        ("happensAt(e(X), T), X == a", "text"),
        ("happensAt(e(X), T), X = 3", "integer"),
        ("happensAt(e(X), T), X > 3", "float"),
        ("happensAt(e(X), T), p(X)", "integer"),
        ("happensAt(e(X), T), holdsAt(h(X)=1, T), holdsAt(h(abc)=1, T)", "text"),
        ("(happensAt(e(a), T) ; happensAt(e(b), T))", "text"),
        ("happensAt(d, T), \\+ happensAt(e(a), T)", "text"),
    ],
)
def test_the_type_of_an_event_argument(text: str, type_: str) -> None:
    program = f"initiatedAt(g=true, T) :- {text}. p(1). p(2)."
    assert type_of(program, "event", "e/1", 0) == type_


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("initially(f=true). initially(f=false).", "boolean"),
        ("initially(f=true). initially(f=maybe).", "text"),
        ("initially(f=3).", "integer"),
        ("initiatedAt(f=V, T) :- happensAt(e(V), T), V > 2.", "float"),
        ("initiatedAt(f=V, T) :- happensAt(e(X), T), V is X + 1.", "float"),
        ("f=3 iff g=true.", "integer"),
    ],
)
def test_the_type_of_a_value(text: str, type_: str) -> None:
    assert type_of(text, "fluent", "f/0", "value") == type_


def test_types_travel_through_rules() -> None:
    text = (
        "happensAt(d(X), T) :- happensAt(e(X), T). "
        "initiatedAt(f(X)=1, T) :- happensAt(d(X), T), p(X). g(X)=1 iff f(X)=1. "
        "p(X) :- q(X, _). q(3, a). q(4, b)."
    )
    for kind, name in (("event", "e/1"), ("event", "d/1"), ("fluent", "f/1"), ("fluent", "g/1"),
                       ("predicate", "p/1"), ("predicate", "q/2")):  # fmt: skip
        assert type_of(text, kind, name, 0) == "integer"
    assert type_of(text, "predicate", "q/2", 1) == "text"


def test_variables_of_one_name_in_two_clauses_are_two() -> None:
    text = "initiatedAt(f(X)=1, T) :- happensAt(e(X), T), X > 3. initially(g(X)=1) :- p(X). p(a)."
    assert not errors(text)
    assert type_of(text, "fluent", "g/1", 0) == "text"


@pytest.mark.parametrize(
    ("goal", "at"),
    [
        ("X > 3, X == abc", "X"),
        ("X > abc", "abc"),
        ("X =< 'high'", "'high'"),
        ("_Y is X + abc", "abc"),
        ("p(X), X > 3", "X"),
        ("X = abc, _Y is X * 2", "X"),
        ("p(Y), X > Y", "Y"),
    ],
)
def test_a_number_is_needed_and_text_is_there(goal: str, at: str) -> None:
    text = RULE.format(goal) + "p(abc)."
    assert errors(text) == {"C050"}
    assert places(text, "C050") == [at]


@pytest.mark.parametrize(
    "goal",
    [
        "X > 3",
        "X > pi",
        "X < inf",
        "X @< abc",
        "X \\= abc",
        "X == abc",
        "mixed(X), X > 3",
        "_Y is sqrt(abs(X)) + min(X, 2) ** 2 mod 5",
        "_Y is cos(X * pi / 180)",
    ],
)
def test_goals_without_a_clash(goal: str) -> None:
    assert not errors(RULE.format(goal) + "mixed(1). mixed(a).")


def test_declared_types() -> None:
    declaration = ":- event([e(integer), d(speed:float, text)]). "
    text = declaration + "initiatedAt(f=1, T) :- happensAt(e(X), T), {}."
    assert not errors(text.format("X > 3"))
    assert not errors(text.format("happensAt(d(X, _), T)"))
    assert errors(text.format("X == abc")) == {"C050"}
    assert errors(text.format("happensAt(d(_, Y), T), Y > 3")) == {"C050"}


def test_the_clash_names_both_sides() -> None:
    text = RULE.format("p(X), X > 3") + "p(abc)."
    (error,) = found(text, "C050")
    assert "compares numbers" in error.message
    assert error.notes[0].message == "argument 1 of the facts of p/1 is text"
    assert checked(text).sources.text(error.notes[0].span) == "p(abc)"


def test_durations_need_numbers() -> None:
    text = "holdsFor(f=1, I) :- holdsFor(g=1, J), intDurGreater(J, {}, I)."
    assert not errors(text.format("10"))
    assert not errors(text.format("30min"))
    assert errors(text.format("long")) == {"C050"}
