import pytest

from cernis.knowledge import Knowledge, Route
from cernis.knowledge.fact_tables import table_of_rows
from tests.knowledge.programs import answers, clauses, knowledge

FACTS = "linked(1, 2). linked(2, 3). vessel(a, tug). vessel(b, pilot).\n"


@pytest.mark.parametrize(
    ("text", "route", "reason"),
    [
        ("p(1). p(2).", Route.TABLE, "2 facts"),
        ("p(1) :- true.", Route.INLINE, "1 clause"),
        ("p(f(a), [b]).", Route.TABLE, "1 fact"),
        ("p(_).", Route.INLINE, "1 clause"),
        ("p(S, Min, Max) :- S >= Min, S =< Max.", Route.INLINE, "1 clause"),
        ("p(X, Y) :- vessel(X, T), vessel(Y, T), X \\= Y.", Route.INLINE, "1 clause"),
        ("p(X) :- \\+ vessel(X, tug).", Route.INLINE, "1 clause"),
        ("p(X, a) :- X < 80, !. p(X, b) :- X < 90, !. p(_, c).", Route.INLINE, "exclusive"),
        ("p(X, Y) :- (X > 3 -> Y = big ; Y = small).", Route.INLINE, "1 clause"),
        ("p(X) :- member(X, [tug, pilot]).", Route.INLINE, "1 clause"),
        (
            "p(X, Y) :- linked(X, Y). p(X, Z) :- linked(X, Y), p(Y, Z).",
            Route.MATERIALISE,
            "2 rules",
        ),
        (
            "p(X, Y) :- p(X, Z), linked(Z, Y). p(X, Y) :- linked(X, Y).",
            Route.MATERIALISE,
            "2 rules",
        ),
        ("p(X) :- linked(X, _). p(X) :- p(Y), linked(Y, X), X > Y * 2.", Route.MATERIALISE, ""),
        ("p(X, N) :- findall(Y, linked(X, Y), L), length(L, N).", Route.RESOLVE, "findall/3"),
        ("p([], 0). p([_ | T], N) :- p(T, M), N is M + 1.", Route.RESOLVE, "takes terms apart"),
        ("p(0, 1). p(N, F) :- N > 0, M is N - 1, p(M, G), F is N * G.", Route.RESOLVE, "before N"),
        ("p(0). p(N) :- p(M), N is M + 1.", Route.RESOLVE, "computes a new N"),
        ("p(X) :- linked(X, Y), \\+ p(Y).", Route.RESOLVE, "negates its own recursion"),
        ("p(X, Y) :- vessel(X, Y), !.", Route.INLINE, "exclusive"),
        ("p(X) :- linked(X, Y), !, linked(Y, _).", Route.RESOLVE, "commits to one answer for Y"),
        ("p(X) :- atom_length(X, 3).", Route.RESOLVE, "uses atom_length/2"),
        ("p(X) :- nowhere(X).", Route.RESOLVE, "nothing defines"),
        ("p(X) :- call(X).", Route.RESOLVE, ""),
        ("p(X, Y) :- linked(X, Y). p(X, Y) :- p(Y, X), !.", Route.RESOLVE, "has a cut"),
    ],
)
def test_routes(text: str, route: Route, reason: str) -> None:
    found = next(
        predicate for key, predicate in knowledge(FACTS + text).predicates.items() if key[0] == "p"
    )
    assert found.route is route
    assert reason in found.reason


def test_a_predicate_that_calls_a_resolved_one_is_resolved() -> None:
    found = knowledge("n(X, N) :- atom_length(X, N). long(X) :- n(X, N), N > 3.").predicates
    assert found["long", 1].route is Route.RESOLVE
    assert found["long", 1].reason == "calls n/2"


def test_groups_that_call_each_other() -> None:
    found = knowledge(
        FACTS + "even(1). even(Y) :- odd(X), linked(X, Y). odd(Y) :- even(X), linked(X, Y)."
    )
    assert {each.key for each in found.predicates.values() if each.recursive} == {
        ("even", 1), ("odd", 1),
    }  # fmt: skip
    assert set(found.table("even", 1).rows()) == {(1,), (3,)}
    assert set(found.table("odd", 1).rows()) == {(2,)}


def test_negation_of_a_lower_stratum() -> None:
    found = knowledge(
        FACTS
        + "reach(X, Y) :- linked(X, Y). reach(X, Z) :- linked(X, Y), reach(Y, Z).\n"
        + "apart(X, Y) :- linked(X, _), linked(_, Y), \\+ reach(X, Y).\n"
        + "chain(X, Y) :- apart(X, Y). chain(X, Z) :- apart(X, Y), chain(Y, Z)."
    )
    assert found.predicates["chain", 2].route is Route.MATERIALISE
    assert set(found.table("chain", 2).rows()) == {(2, 2)}


def test_many_facts_beside_a_rule_are_not_a_disjunction() -> None:
    text = "\n".join(f"p({at})." for at in range(20)) + "\np(X) :- q(X).\nq(99)."
    found = knowledge(text)
    assert found.predicates["p", 1].route is Route.MATERIALISE
    assert len(found.table("p", 1)) == 21


def test_many_branches_are_not_expanded() -> None:
    text = "\n".join(f"p(X, Y, {at}) :- X > {at}, Y < X, !." for at in range(60))
    assert knowledge(text).predicates["p", 3].route is Route.RESOLVE
    deep = "p0(X) :- X > 0.\n" + "\n".join(
        f"p{at}(X) :- p{at - 1}(X), p{at - 1}(X)." for at in range(1, 30)
    )
    reasons = [each.reason for each in knowledge(deep).predicates.values()]
    assert reasons[9:12] == [reasons[0], "its expansion has more than 2,000 goals", "calls p10/1"]


def test_what_has_to_be_bound_and_what_gets_bound() -> None:
    found = knowledge(
        FACTS + "range(S, Min, Max) :- S >= Min, S =< Max.\n"
        "twice(X, Y) :- Y is X * 2.\n"
        "kind(V, yes) :- vessel(V, tug), !. kind(_, no).\n"
        "pair(X, _) :- vessel(X, _).\n"
        "fac(0, 1) :- !. fac(N, F) :- M is N - 1, fac(M, G), F is N * G."
    ).predicates
    modes = {key[0]: (each.needs, each.binds) for key, each in found.items()}
    assert modes["linked"] == ((), (0, 1))
    assert modes["range"] == ((0, 1, 2), ())
    assert modes["twice"] == ((0,), (1,))
    assert modes["kind"] == ((0,), (1,))
    assert modes["pair"] == ((), (0,))
    assert modes["fac"] == ((0,), (1,))


def test_rows_and_rules_of_one_predicate() -> None:
    given = {("is_a", 2): table_of_rows(("is_a", 2), [("o1", "diablo")])}
    text = "sub(diablo, wind). sub(wind, weather). is_a(A, Y) :- sub(X, Y), is_a(A, X)."
    found = Knowledge(clauses(text), given)
    assert found.predicates["is_a", 2].route is Route.MATERIALISE
    assert list(found.table("is_a", 2).rows()) == [
        ("o1", "diablo"), ("o1", "wind"), ("o1", "weather"),
    ]  # fmt: skip


def test_a_long_chain_of_definitions() -> None:
    text = "q(1). p0(X) :- q(X).\n" + "\n".join(
        f"p{at}(X) :- p{at - 1}(X)." for at in range(1, 200)
    )
    found = knowledge(text)
    assert {each.route for each in found.predicates.values()} == {
        Route.TABLE, Route.INLINE, Route.MATERIALISE,
    }  # fmt: skip
    assert answers(found, "p199(X)") == ["X=1"]
