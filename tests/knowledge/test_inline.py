import pytest

from cernis.knowledge import Knowledge
from cernis.syntax import parse_term, show
from tests.knowledge.programs import answers, knowledge

# From the papers: shades of the heat index, areas of coordinates, distances.
WEATHER = """
shade(Index, 'Caution') :- 80 =< Index, Index < 90, !.
shade(Index, 'ExtremeCaution') :- 90 =< Index, Index < 105, !.
shade(Index, 'Danger') :- 105 =< Index, Index < 130, !.
shade(Index, 'ExtremeDanger') :- 130 =< Index, !.
area(loc('N', X, 'W', Y), area1) :- 4042 < X, X < 4049, 7358 < Y, Y < 7370, !.
area(loc('N', X, 'W', Y), area2) :- 4034 < X, X < 4040, 7368 < Y, Y < 7399, !.
rad(Deg, Rad) :- Temp is Deg * pi, Rad is Temp / 180.
turn(A, B, D) :- rad(A, X), rad(B, Y), D is X - Y.
"""

RULES = """
vessel(a, tug). vessel(b, pilot). vessel(b, tug).
class(X, a) :- X < 80, !.
class(X, b) :- X < 90, !.
class(_, c).
range(S, Min, Max) :- S >= Min, S < Max.
tug(V, yes) :- vessel(V, tug), !.
tug(_, no).
dispatch(a, B) :- !, B = 1.
dispatch(_, 2).
one(V, W, T) :- vessel(V, T).
one(V, W, T) :- vessel(W, T).
size(X, Y) :- ( X > 3 -> Y = big ; X > 1 -> Y = mid ; Y = small ).
kind(T) :- member(T, [cargo, tanker]).
same(X, X).
outer(V) :- one(V, V, _), tug(V, K), K = no.
none(X) :- fail.
any(_).
"""


def expanded(found: Knowledge, goal: str, bound: str = "") -> str:
    return show(found.inline(parse_term(goal), bound.split()))


@pytest.mark.parametrize(
    ("goal", "bound", "expected"),
    [
        ("range(S, 1, Max)", "S Max", "S >= 1, S < Max"),
        ("class(X, C)", "X", "C = a, X < 80 ; \\+ X < 80, C = b, X < 90 ; "
            "\\+ X < 80, \\+ X < 90, C = c"),
        ("class(X, C)", "X C", "C = a, X < 80 ; C = b, X < 90 ; C = c"),
        ("class(X, b)", "X", "X < 90"),
        ("class(X, C)", "", "class(X, C)"),
        ("tug(V, A)", "V", "A = yes, vessel(V, tug) ; \\+ vessel(V, tug), A = no"),
        ("tug(V, A)", "", "tug(V, A)"),
        ("dispatch(X, B)", "X", "X = a, B = 1 ; \\+ X = a, B = 2"),
        ("dispatch(X, B)", "", "X = a, B = 1"),
        ("dispatch(b, B)", "", "B = 2"),
        ("one(V, _, pilot)", "V", "vessel(V, pilot) ; vessel(X_1, pilot)"),
        ("size(X, Y)", "X", "X > 3, Y = big ; \\+ X > 3, (X > 1, Y = mid ; \\+ X > 1, Y = small)"),
        ("kind(T)", "", "T = cargo ; T = tanker"),
        ("same(A, B)", "A", "B = A"),
        ("same(a, b)", "", "fail"),
        ("same(f(X, b), f(a, Y))", "", "f(a, Y)=f(X, b)"),
        ("none(1)", "", "fail"),
        ("any(1)", "", "true"),
        ("outer(V)", "V", "(vessel(V, X_1) ; vessel(V, X_1)), "
            "(K_1 = yes, vessel(V, tug) ; \\+ vessel(V, tug), K_1 = no), K_1 = no"),
        ("\\+ range(S, 1, 2)", "S", "\\+ (S >= 1, S < 2)"),
        ("vessel(V, T), X = 3, class(X, C)", "", "vessel(V, T), X = 3, (C = a, X < 80 ; "
            "\\+ X < 80, C = b, X < 90 ; \\+ X < 80, \\+ X < 90, C = c)"),
        ("findall(T, kind(T), L)", "", "findall(T, (T = cargo ; T = tanker), L)"),
        ("vessel(V, tug)", "", "vessel(V, tug)"),
        ("unheard_of(V)", "", "unheard_of(V)"),
    ],
)  # fmt: skip
def test_expansions(goal: str, bound: str, expected: str) -> None:
    assert expanded(knowledge(RULES), goal, bound) == expected


def test_tests_that_exclude_each_other_need_no_negation() -> None:
    assert expanded(knowledge(WEATHER), "shade(I, N)", "I") == (
        "N = 'Caution', 80 =< I, I < 90 ; N = 'ExtremeCaution', 90 =< I, I < 105 ; "
        "N = 'Danger', 105 =< I, I < 130 ; N = 'ExtremeDanger', 130 =< I"
    )


def test_nested_definitions_have_names_of_their_own() -> None:
    assert expanded(knowledge(WEATHER), "turn(X, Temp, D)", "X Temp") == (
        "Temp_1 is X * pi, X_1 is Temp_1 / 180, Temp_2 is Temp * pi, Y_1 is Temp_2 / 180, "
        "D is X_1 - Y_1"
    )


def test_names_to_avoid() -> None:
    goal = parse_term("rad(D, R)")
    found = knowledge(WEATHER).inline(goal, ["D"], avoid=["Temp_1", "Temp_2"])
    assert show(found) == "Temp_3 is D * pi, R is Temp_3 / 180"


@pytest.mark.parametrize("index", [79, 80, 89, 90, 104, 105, 129, 130, 200])
def test_an_expansion_has_the_answers_of_its_goal(index: int) -> None:
    found = knowledge(WEATHER)
    direct = answers(found, f"I = {index}, shade(I, N)")
    assert direct == answers(found, f"I = {index}, ({expanded(found, 'shade(I, N)', 'I')})")


def test_a_compound_argument_is_taken_apart() -> None:
    found = knowledge(WEATHER)
    body = expanded(found, "area(L, A)", "L")
    for place in ("loc('N', 4045, 'W', 7360)", "loc('N', 4036, 'W', 7370)", "loc('N', 1, 'W', 1)"):
        direct = answers(found, f"area({place}, A)")
        through = answers(found, f"L = {place}, findall(A, ({body}), As), member(A, As)")
        assert [each.split()[0] for each in direct] == [
            next(part for part in each.split() if part.startswith("A=")) for each in through
        ]


def test_what_may_or_may_not_be_bound_is_left_to_resolution() -> None:
    found = knowledge(RULES + "half(X, Y) :- any(X), Y = X.\n")
    assert expanded(found, "half(P, C), class(5, C)").endswith("class(5, C)")
