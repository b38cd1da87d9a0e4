import pickle
import re

import pytest

from cernis.errors import KnowledgeError
from cernis.knowledge import FactTable, Knowledge
from cernis.knowledge.fact_tables import table_of_rows
from cernis.syntax import parse_term
from tests.knowledge.programs import answers, clauses, knowledge, resolver


@pytest.mark.parametrize(
    ("text", "goal", "named"),
    [
        ("p(X) :- p(X).", "p(1)", "p/1"),
        ("p(X) :- p(f(X)).", "p(1)", "p/1"),
        ("p(X) :- p(X), q(X). q(1).", "p(1)", "p/1"),
        ("p(X) :- q(X), p(X). q(_).", "p(1)", "p/1"),
        ("p(X) :- q(X). q(X) :- p(X).", "p(1)", "[pq]/1"),
        ("p :- \\+ p.", "p", "p/0"),
        ("p(X) :- findall(Y, p(Y), X).", "p(X)", "p/1"),
        ("p(N) :- M is N + 1, p(M). p(_) :- fail.", "p(0)", "p/1"),
        ("n(0). n(M) :- n(N), M is N + 1. p :- n(X), X < 0.", "p", "n/1"),
    ],
)
def test_a_recursion_without_end_ends_and_is_named(text: str, goal: str, named: str) -> None:
    with pytest.raises(KnowledgeError, match=f"^{named}: no end in sight"):
        answers(resolver(text, steps=50_000, depth=20_000), goal)


def test_the_clock_ends_it_too() -> None:
    with pytest.raises(KnowledgeError, match=r"p/1: no end in sight after 0\.05 s"):
        answers(resolver("p(X) :- p(X).", seconds=0.05), "p(1)")


def test_only_the_time_of_the_proof_counts() -> None:
    from time import sleep

    found = resolver("", seconds=0.2).solve(parse_term("between(1, 10000, X)"))
    next(found)
    sleep(0.3)
    assert sum(1 for _ in found) == 9_999


def test_generating_without_end_inside_a_collection() -> None:
    with pytest.raises(KnowledgeError, match="no end in sight"):
        answers(resolver("p(L) :- findall(X, between(1, inf, X), L).", steps=20_000), "p(L)")


@pytest.mark.parametrize(
    ("text", "goal", "message"),
    [
        ("p(X, Y) :- Y is 1 / X.", "p(0, Y)", "p/2: `Y is 1 / 0` divides by zero"),
        (
            "p(Y) :- Y is X + 1, q(X). q(1).",
            "p(Y)",
            "p/1: `Y is X + 1` needs a number where a vari",
        ),
        ("p(X) :- X > 3.", "p(_)", "p/1: `X > 3` needs a number"),
        ("p(X) :- X > a.", "p(3)", "p/1: `3 > a` needs a number and has `a`"),
        ("p(X) :- G = 3, call(G).", "p(1)", "p/1: `call(3)` calls what is not a goal"),
        ("p(X) :- call(X).", "p(_)", "calls a goal where a variable has no value"),
        ("p(N) :- length(a, N).", "p(N), N = x", None),
        ("p(X) :- sum_list([1, a], X).", "p(X)", "p/1: `sum_list([1, a], X)` needs a number"),
        ("p(X) :- member(X, Y).", "p(X)", "needs a list and gets one without an end"),
        ("p(X) :- nth1(a, [b], X).", "p(X)", "needs an integer and gets `a`"),
        ("p(X) :- aggregate_all(median(Y), q(Y), X). q(1).", "p(X)", "is none of count, sum"),
        ("p(X) :- X = f(X), copy_term(X, Y).", "p(Z)", "has no end"),
    ],
)
def test_what_cannot_be_evaluated(text: str, goal: str, message: str | None) -> None:
    if message is None:
        assert answers(resolver(text), goal) == []
        return
    with pytest.raises(KnowledgeError, match=re.escape(message)):
        answers(resolver(text), goal)


LINKS = "linked(1, 2). port(brest)."


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ("linkd(1, X)", "linkd/2: is not defined; did you mean linked/2?"),
        ("linked(1, 2, 3)", "linked/3: is not defined; there is linked/2"),
        ("linked", "linked/0: is not defined; there is linked/2"),
        ("wholly_other(1)", "wholly_other/1: is not defined; define it, or give it as a table"),
        ("membr(X, [a])", "membr/2: is not defined; did you mean member/2"),
        ("findall(X, linked(1, X))", "findall/2: is not defined; there is findall/3 or findall/4"),
        ("assertz(port(rhu))", "assertz/1: changes the program"),
        ("format(hello)", "format/1: acts on the outside"),
    ],
)
def test_an_unknown_predicate_brings_near_names(goal: str, message: str) -> None:
    with pytest.raises(KnowledgeError, match=re.escape(message)):
        answers(knowledge(LINKS), goal)


def test_an_unknown_predicate_matters_only_when_it_is_called() -> None:
    found = knowledge("p(1) :- linkd(1, 2). p(2).")
    assert found.predicates["p", 1].missing == (("linkd", 2),)
    assert answers(found, "p(2)") == ["true"]
    with pytest.raises(KnowledgeError, match="linkd/2"):
        answers(found, "p(1)")


def test_a_table_that_is_none() -> None:
    found = knowledge("p(X) :- X > 3. q(X, N) :- findall(Y, r(Y, X), L), length(L, N). r(1, 2).")
    with pytest.raises(KnowledgeError, match="p/1: has no table .*expand it"):
        found.table("p", 1)
    with pytest.raises(KnowledgeError, match="q/2: has no table .*solve it"):
        found.table("q", 2)
    with pytest.raises(KnowledgeError, match="rr/2: is not defined"):
        found.table("rr", 2)


def test_a_table_of_the_wrong_width() -> None:
    table: FactTable = table_of_rows(("port", 1), [("brest",)])
    with pytest.raises(KnowledgeError, match="port/2: is given a table of 1 column"):
        Knowledge([], {("port", 2): table})


def test_an_answer_has_to_be_bound() -> None:
    with pytest.raises(KnowledgeError, match="leaves Y without a value"):
        knowledge("p(_, _).").solve_many(parse_term("p(X, Y)"), ["X"], [(1,)])


def test_a_head_has_to_be_a_predicate() -> None:
    from cernis.syntax.tree import Clause, Number

    with pytest.raises(KnowledgeError, match="no predicate"):
        Knowledge([Clause(Number(3))])


def test_a_probability_is_refused_when_it_is_met() -> None:
    found = knowledge("0.3::wet(a). p(X) :- wet(X). q(1).")
    assert answers(found, "q(X)") == ["X=1"]
    with pytest.raises(KnowledgeError, match="wet/1: has facts with a probability"):
        answers(found, "p(X)")
    with pytest.raises(KnowledgeError, match="dry/1: has rules with a probability"):
        answers(knowledge("0.3::dry(X) :- q(X). q(1)."), "dry(X)")


def test_errors_survive_pickling() -> None:
    with pytest.raises(KnowledgeError) as caught:
        answers(resolver("p(X) :- X > a."), "p(3)")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.predicate) == (str(caught.value), "p/1")


def test_clauses_that_are_read_are_never_run() -> None:
    assert knowledge("p :- halt. q :- shell(ls).").predicates["p", 0].missing == (("halt", 0),)
    assert clauses("p :- halt.")
