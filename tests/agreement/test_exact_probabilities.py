"""Random programs whose probabilities are exact over the history: worlds, and ProbLog."""

from __future__ import annotations

import re

import pytest

from cernis.errors import UnsupportedError
from cernis.kernels.joint_values import MOST_PAIRS
from cernis.syntax import parse_term
from tests.agreement.test_random_uncertain_programs import (
    DECLARED,
    Drawn,
    courses,
    problog_probability,
)
from tests.reference.exact import exact_probabilities
from tests.reference.patterns import compact, read_program

EXACT = DECLARED + ":- exact(window).\n"

INERTIA = """
holds(P, T) :- T > 1, S is T - 1, init(P, S).
holds(P, T) :- T > 1, S is T - 1, holds(P, S), \\+ broken(P, S).
broken(P, T) :- term(P, T).
broken(v(F, V), T) :- init(v(F, W), T), W \\= V.
"""
BREAKING = """
holds(P, T) :- T > 1, S is T - 1, init(P, S), \\+ broken(P, S).
holds(P, T) :- T > 1, S is T - 1, holds(P, S), \\+ broken(P, S).
broken(P, T) :- term(P, T).
broken(v(F, V), T) :- init(v(F, W), T), W \\= V.
"""


def exact_reference(drawn: Drawn) -> dict[str, dict[int, float]]:
    records = [(p, parse_term(what), t) for p, what, t in drawn.records]
    found = exact_probabilities(read_program(drawn.rules, "drawn"), records)
    return {compact(pair): series for pair, series in found.items()}


def differences(found: dict[str, dict[int, float]], expected: dict[str, dict[int, float]]) -> float:
    """The largest difference at any point; what cannot hold is absent in both."""
    assert set(found) <= expected.keys()
    return max(
        (
            abs(found.get(pair, {}).get(time, 0.0) - chance)
            for pair, series in expected.items()
            for time, chance in series.items()
        ),
        default=0.0,
    )


@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_as_the_sum_over_all_worlds_of_the_history(seed: int, cyclic: bool) -> None:
    drawn = Drawn(seed, cyclic)
    print(f"seed {seed}\n{drawn.rules}\n{drawn.text()}")
    found = courses(EXACT + drawn.rules, drawn.text())
    assert differences(found, exact_reference(drawn)) < 1e-9


def test_independence_would_be_wrong() -> None:
    """The drawn programs are such that it matters."""
    wrong = [
        seed for seed in range(6)
        if differences(
            courses(DECLARED + Drawn(seed, False).rules, Drawn(seed, False).text()),
            exact_reference(Drawn(seed, False)),
        ) > 1e-9
    ]  # fmt: skip
    assert wrong


def test_too_many_related_pairs_are_refused() -> None:
    values = "".join(f"initiatedAt(f(X)={n}, T) :- happensAt(a{n}(X), T).\n" for n in range(14))
    asked = "".join(
        f"initiatedAt(g(X)=true, T) :- happensAt(b(X), T), holdsAt(f(X)={n}, T).\n"
        for n in range(14)
    )
    text = "".join(f"0.5::a{n}|1|1|x\n" for n in range(14)) + "b|2|2|x\n"
    with pytest.raises(UnsupportedError, match=f"15 pairs are related.*{MOST_PAIRS} at most"):
        courses(EXACT.replace(DECLARED, "") + values + asked, text)


def oracle(drawn: Drawn) -> str:
    """The program in ProbLog."""
    text = drawn.rules
    ties = BREAKING if "ties(break)" in text else INERTIA
    text = re.sub(r":- ties.*", "", text)
    text = re.sub(r"happensAt\((\w)\((\w)\), T\)", r"\1(\2, T)", text)
    text = re.sub(r"initiatedAt\((\w+)\(X\)=(\w+), T\)", r"init(v(\1(X), \2), T)", text)
    text = re.sub(r"terminatedAt\((\w+)\(X\)=(\w+), T\)", r"term(v(\1(X), \2), T)", text)
    text = re.sub(r"holdsAt\(near\(X\)=true, T\)", "near(X, T)", text)
    text = re.sub(r"holdsAt\((\w+)\(X\)=(\w+), T\)", r"holds(v(\1(X), \2), T)", text)
    text = re.sub(r"initially\((\w+)\(x\)=(\w+)\)", r"holds(v(\1(x), \2), 1)", text)
    lines = [text, ties, *(f"0.0::{name}(none, 0)." for name in ("a", "b", "c", "near"))]
    lines += ["0.0::term(none, 0).", "0.0::init(v(none, none), 0)."]
    for chance, what, time in drawn.records:
        lines.append(f"{chance}::{what.replace('=true', '').replace(')', f', {time})')}.")
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(4))
def test_problog_says_the_same(seed: int) -> None:
    """ProbLog sums over the worlds of all records, whatever their points."""
    drawn = Drawn(seed, cyclic=False)
    print(f"seed {seed}\n{oracle(drawn)}")
    expected = exact_reference(drawn)
    first = min(time for _, _, time in drawn.records)
    if first != 1 and "initially" in drawn.rules:
        pytest.skip("what holds initially holds from the first point on")
    last = max(time for _, _, time in drawn.records) + 1
    for pair in [pair for pair in expected if pair[0] in "fgh"]:
        fluent, value = pair.split("=")
        found = problog_probability(oracle(drawn), f"holds(v({fluent}, {value}), {last})")
        assert found == pytest.approx(expected[pair].get(last, 0.0), abs=1e-9), pair
