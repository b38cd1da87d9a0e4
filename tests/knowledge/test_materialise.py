import time

import pytest

from cernis.errors import KnowledgeError
from tests.knowledge.programs import knowledge

CLOSURE = "\njet(X, Y) :- linked(X, Y).\njet(X, Z) :- linked(X, Y), jet(Y, Z)."


def links(pairs: list[tuple[int, int]]) -> str:
    return "\n".join(f"linked({x}, {y})." for x, y in pairs)


def test_closure_of_a_cycle() -> None:
    found = knowledge(links([(1, 2), (2, 3), (3, 1)]) + CLOSURE).table("jet", 2)
    assert set(found.rows()) == {(x, y) for x in (1, 2, 3) for y in (1, 2, 3)}
    assert len(found) == 9


@pytest.mark.parametrize(
    "rules",
    [
        "jet(X, Y) :- linked(X, Y). jet(X, Z) :- jet(X, Y), linked(Y, Z).",
        "jet(X, Y) :- linked(X, Y). jet(X, Z) :- jet(X, Y), jet(Y, Z).",
        "jet(X, Z) :- linked(X, Y), (Z = Y ; jet(Y, Z)).",
        "jet(X, Z) :- hop(X, Z). jet(X, Z) :- hop(X, Y), jet(Y, Z). hop(A, B) :- linked(A, B).",
    ],
)
def test_any_way_to_say_it(rules: str) -> None:
    pairs = [(1, 2), (2, 3), (3, 4), (4, 2), (7, 8)]
    expected = set(knowledge(links(pairs) + CLOSURE).table("jet", 2).rows())
    assert set(knowledge(f"{links(pairs)}\n{rules}").table("jet", 2).rows()) == expected


def test_text_numbers_and_terms_join_by_value_and_form() -> None:
    found = knowledge(
        'e(a, 1). e("a", 2.0). e(b, 3). f(1.0, x). f(2.0, f(a)). f(2, y). f(3, "x").\n'
        "p(X, Z) :- e(X, Y), f(Y, Z). p(X, Z) :- p(X, Y), e(Y, Z)."
    ).table("p", 2)
    assert [str(row[0]) for row in found.rows()] == ["a", "b"]
    assert len(found) == 2


def test_tests_computations_negations_and_constants() -> None:
    found = knowledge(
        links([(1, 2), (2, 3), (3, 4), (4, 5), (5, 9)]) + "\nclosed(4). pair(1, 1). pair(1, 2).\n"
        "way(X, Y) :- linked(X, Y), \\+ closed(Y), D is Y - X, D < 3.\n"
        "way(X, Z) :- way(X, Y), linked(Y, Z), \\+ (closed(C), C =:= Z), Z \\== 9.\n"
        "twin(X) :- pair(X, X). twin(X) :- twin(Y), pair(Y, X), X = 1."
    )
    assert set(found.table("way", 2).rows()) == {(1, 2), (2, 3), (4, 5), (1, 3)}
    assert set(found.table("twin", 1).rows()) == {(1,)}


def test_an_equation_may_wait_for_what_binds_it() -> None:
    found = knowledge(
        links([(1, 1), (1, 2)]) + "\np(X, Y) :- X = Y, linked(X, Y). p(X, X) :- p(X, X)."
    )
    assert set(found.table("p", 2).rows()) == {(1, 1)}


def test_a_predicate_without_arguments() -> None:
    found = knowledge("linked(1, 2). up :- linked(_, 2). up :- up, linked(1, _).")
    assert list(found.table("up", 0).rows()) == [()]


def test_no_facts_no_rows() -> None:
    found = knowledge("p(X) :- p(X), q(X). q(1).")
    assert found.table("p", 1).arity == 1
    assert len(found.table("p", 1)) == 0


def test_a_fault_names_the_predicate_and_shows_the_values() -> None:
    found = knowledge("n(0). n(a). p(X) :- n(X), 10 / X > 1. p(X) :- p(X).")
    with pytest.raises(KnowledgeError, match="p/1: `10 / 0 > 1` divides by zero"):
        found.table("p", 1)


def test_too_many_rows() -> None:
    ring = links([(at, (at + 1) % 100) for at in range(100)])
    with pytest.raises(KnowledgeError, match="jet/2: derives more than 500 rows"):
        knowledge(ring + CLOSURE, tuples=500).table("jet", 2)


def test_too_much_time() -> None:
    text = links([(at, at) for at in range(300)]) + (
        "\np(X) :- linked(X, _), linked(Y, _), linked(Z, _), X + Y + Z < 0. p(X) :- p(X)."
    )
    with pytest.raises(KnowledgeError, match=r"p/1: takes longer than 0\.1 s"):
        knowledge(text, materialise_seconds=0.1).table("p", 1)


def test_many_short_chains_take_seconds() -> None:
    pairs = [(chain * 6 + at, chain * 6 + at + 1) for chain in range(20_000) for at in range(5)]
    found = knowledge(links(pairs) + CLOSURE)
    start = time.process_time()
    assert len(found.table("jet", 2)) == 20_000 * 15
    assert time.process_time() - start < 10
