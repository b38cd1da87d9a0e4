import math

import pytest

import cernis
from cernis.errors import KnowledgeError
from cernis.knowledge.resolution.prolog_arithmetic import EARTH, FUNCTIONS
from tests.knowledge.programs import answers, resolver

NOTHING = resolver("")


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("7 / 2", "3.5"), ("6 / 2", "3"), ("-6 / 4", "-1.5"), ("6.0 / 2", "3.0"),
        ("7 // 2", "3"), ("-7 // 2", "-3"), ("7 // -2", "-3"), ("-7 // -2", "3"),
        ("7 mod 3", "1"), ("-7 mod 3", "2"), ("7 mod -3", "-2"), ("-7 rem 3", "-1"),
        ("-7 div 2", "-4"), ("2 ** 3", "8"), ("2 ** -1", "0.5"), ("2 ** 0.5", str(2**0.5)),
        ("2 ^ 10", "1024"), ("abs(-3)", "3"), ("min(2, 3)", "2"), ("max(2, 3.5)", "3.5"),
        ("round(2.5)", "3"), ("round(-2.5)", "-3"), ("round(0.49999999999999994)", "0"),
        ("truncate(-2.7)", "-2"), ("floor(-2.5)", "-3"), ("ceiling(2.1)", "3"),
        ("sqrt(16)", "4.0"), ("sign(-3)", "-1"), ("atan2(1, 1)", str(math.pi / 4)),
        ("sin(0)", "0.0"), ("acos(1)", "0.0"), ("-(3) + +(4)", "1"), ("2 * pi", str(2 * math.pi)),
        ("5 /\\ 3", "1"), ("5 \\/ 3", "7"), ("5 xor 3", "6"), ("1 << 4", "16"), ("16 >> 4", "1"),
        ("gcd(12, 18)", "6"), ("3037000499 * 3037000499", "9223372030926249001"),
        ("-9223372036854775807 - 1", "-9223372036854775808"),
    ],
)  # fmt: skip
def test_is(expression: str, result: str) -> None:
    assert answers(NOTHING, f"X is {expression}") == [f"X={result}"]


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("1 / 0", "divides by zero"), ("1 / 0.0", "divides by zero"), ("1 // 0", "by zero"),
        ("1 mod 0", "by zero"), ("0 ** -1", "by zero"), ("1.5 mod 2", "integers only"),
        ("sqrt(-1)", "no value"), ("asin(2)", "no value"), ("log(0)", "no value"),
        ("inf - inf", "not a number"), ("floor(inf)", "no value"), ("exp(10000)", "no value"),
        ("10 ** 1000000000", "power too large"), ("1 << 10000000000", "shifts"),
        ("(-8) ** 0.5", "no real result"), ("a + 1", "needs a number and has `a`"),
        ('"3" + 1', "needs a number"), ("foo(1)", "not a function"), ("Y + 1", "no value"),
        ("30min + 1", "needs a number"), ("[1, 2] + 1", "not a function"),
        ("4000000000 * 4000000000", "64 bits"), ("9223372036854775807 + 1", "64 bits"),
        ("2 ** 63", "64 bits"), ("-(-9223372036854775808)", "64 bits"),
    ],
)  # fmt: skip
def test_what_has_no_value_is_an_error(expression: str, says: str) -> None:
    with pytest.raises(KnowledgeError, match=says):
        answers(NOTHING, f"X is {expression}")


@pytest.mark.parametrize("goal", ["Y > 3", "Y =:= Y", "Y =\\= 3", "_X is Y + 1", "1 < Y * 2"])
def test_what_is_no_number_compares_with_nothing(goal: str) -> None:
    assert answers(NOTHING, f"Y = a, {goal}") == []
    assert answers(NOTHING, f"Y = inf, {goal}".replace("=\\= 3", "=\\= 4")) != []


@pytest.mark.parametrize(
    "goal", ["1 + 1 =:= 2.0", "1 =\\= 2", "2 >= 2.0", "1 =< 2", "1 < 1.5", "3 > 2", "inf > 10"]
)
def test_comparisons_evaluate_both_sides(goal: str) -> None:
    assert answers(NOTHING, goal) == ["true"]


def test_a_comparison_that_does_not_hold_has_no_answer() -> None:
    assert answers(NOTHING, "1 > 1") == []


def test_distances_on_the_sphere() -> None:
    """A quarter of the way round, and nowhere; the same over columns."""
    quarter = math.pi / 2 * EARTH
    assert FUNCTIONS["haversine", 4](0, 0, 0, 90) == pytest.approx(quarter)
    assert FUNCTIONS["haversine", 4](37.6, -122.4, 37.6, -122.4) == 0
    rules = "d(D) <- at(A, B, C, E) where D = haversine(A, B, C, E)."
    found = cernis.load(rules).run(["at|1|1|0|0|90|0", "at|2|2|48.2|16.4|52.5|13.4"]).event("d")
    assert sorted(found["d"].to_pylist()) == pytest.approx([523.3, quarter], abs=1)
