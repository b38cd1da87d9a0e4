"""Rewriting of terms: substitution and fresh names."""

from __future__ import annotations

from cernis.knowledge.terms import Names, spoken, substitute
from cernis.syntax import parse, show
from cernis.syntax.tree import Atom, Clause, Term, Variable


def term(text: str) -> Term:
    (clause,) = parse(f"h :- {text}.").items
    assert isinstance(clause, Clause)
    return clause.body[0]


def test_variables_are_replaced_once_and_everywhere() -> None:
    bindings = {"X": Variable("Y"), "Y": Atom("a")}
    assert show(substitute(term("p(X, f(Y), [X|Y])"), bindings)) == "p(Y, f(a), [Y|a])"


def test_without_bindings_a_term_is_itself() -> None:
    given = term("p(X, _)")
    assert substitute(given, {}) is given


def test_fresh_names_are_free_and_never_given_twice() -> None:
    names = Names(["Speed", "Speed_1"])
    given = [names.fresh(name).name for name in ("Speed", "Speed", "Speed_7", "_", "_Speed")]
    assert given[0] == "Speed_2"
    assert len(set(given)) == len(given)
    assert all(name[0].isupper() for name in given)


def test_variables_are_spoken_of_as_their_author_wrote_them() -> None:
    assert spoken(["Speed_3"]) == "Speed"
    assert spoken(["B", "A_1"]) == "A"
