"""Recursive patterns over uncertain records: the sum over worlds, the reference, and ProbLog."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.errors import UnsupportedError
from tests.agreement.test_random_uncertain_programs import problog_probability
from tests.agreement.test_uncertain_patterns import (
    DOUBTED,
    Chances,
    assert_same_courses,
    by_worlds,
    compare,
    drawn_records,
    in_windows,
    of_occurrences,
    of_result,
    run,
)
from tests.generators.patterns import Drawing

COUNTED = """
g(1) <- a(_).
g(N+1) <- g(N) and b(_) within 10.
ping(1) <- a(_).
pong(N) <- ping(N) seq b(_) within 10.
ping(N+1) <- pong(N) seq a(_) within 10.
over(N) <- (g(N) seq d) where N > 1.
initiatedAt(f=on, T) :- happensAt(over(_), T).
"""


def recursion(random: Random) -> str:
    rules = Drawing(random).recursion("e0")
    fluent = "initiatedAt(f(X)=on, T) :- happensAt(e0(X), T), \\+ happensAt(a(X), T)."
    return "\n".join([*rules, "k <- e0(X) seq d within 6.", fluent])


@pytest.mark.parametrize("seed", range(12))
def test_as_the_sum_over_worlds(seed: int) -> None:
    random = Random(seed)
    rules = recursion(random) if seed % 3 else COUNTED
    text = drawn_records(random, 7) + DOUBTED
    print(f"seed {seed}\n{rules}\n{text}")
    compare(of_result(run(rules, text)), by_worlds(rules, text))


@pytest.mark.parametrize("seed", range(3))
def test_fluents_that_rest_on_recursion_are_as_in_the_reference(seed: int) -> None:
    random = Random(20 + seed)
    rules, text = recursion(random), drawn_records(random, 4) + DOUBTED
    print(f"seed {seed}\n{rules}\n{text}")
    assert_same_courses(rules, text)


@pytest.mark.parametrize("seed", range(3))
def test_windows_and_sessions_are_as_the_reference(seed: int, tmp_path: Path) -> None:
    random = Random(30 + seed)
    rules = recursion(random)
    text = "\n".join([*drawn_records(random, 5).splitlines(), *DOUBTED.splitlines()]) + "\n"
    text = text.replace("|0|0", "|1|1")
    end = max(int(line.split("|")[2]) for line in text.splitlines())
    print(f"seed {seed}\n{rules}\n{text}")
    expected, _ = in_windows(rules, text, 4, 2, end)
    session = cernis.load(rules).uncertain_session(window=4, step=2, start=0)
    session.insert(text)
    told: Chances = {}
    for time in [*range(2, end, 2), end]:
        session.query(time)
        told |= of_occurrences(session.occurrences())
        session.save(tmp_path / "session")
        session = cernis.load(rules).restore(tmp_path / "session")  # type: ignore[assignment]
    compare(told, expected)


@pytest.mark.parametrize("seed", range(4))
def test_certain_records_are_as_in_the_certain_engine(seed: int) -> None:
    random = Random(seed)
    rules, text = recursion(random), drawn_records(random, 12)
    certain = re.sub(r"0\.\d::", "", text)
    print(f"seed {seed}\n{rules}\n{certain}")
    rows = cernis.load(rules).run(certain, start=-1).happenings.to_pylist()
    expected = {
        (f"{row['event']}({','.join(row['args'])})".replace("()", ""), row["start"],
         row["occurrence"])
        for row in rows
    }  # fmt: skip
    assert of_result(run(rules, certain + DOUBTED)) == dict.fromkeys(expected, 1.0)


def test_problog_agrees() -> None:
    facts = [(0.6, "a", 1), (0.3, "b", 2), (0.7, "b", 3), (0.4, "a", 4), (0.9, "b", 5)]
    oracle = [f"{chance}::{name}({time})." for chance, name, time in facts]
    oracle += ["one(S, T) :- a(S), b(T), S < T.", "two(S, T) :- one(S, M), b(T), M < T."]
    rules = "g(1) <- a. g(N+1) <- g(N) seq b where N < 3."
    text = "".join(f"{chance}::{name}|{time}|{time}\n" for chance, name, time in facts)
    found = of_result(run(rules, text))
    for name, number in (("one", 2), ("two", 3)):
        own = {key: p for key, p in found.items() if key[0] == f"g({number})"}
        assert len(own) == (4 if name == "one" else 2)
        for (_, start, end), chance in own.items():
            query = f"{name}({start}, {end})"
            expected = problog_probability("\n".join(oracle), query)
            assert chance == pytest.approx(expected, abs=1e-9), query


def test_long_recursions_cost_no_more_than_their_circuits() -> None:
    lines = ["0.5::a|1|1", *(f"0.6::b|{time}|{time}" for time in range(2, 80))]
    found = of_result(run("e <- a. e <- e seq b within 99.", "\n".join(lines)))
    assert found == pytest.approx({("e", 1, 1): 0.5} | {("e", 1, t): 0.3 for t in range(2, 80)})


@pytest.mark.parametrize(
    "rules",
    [
        ":- consumption(recent). e <- a. e <- e seq b within 9.",
        "e <- a. e <- not(e)[a, b] within 9.",
        "e(1) <- a. e(N) <- (e(_) seq b within 9) where N = count(past(5)), N < 4.",
    ],
)
def test_what_does_not_only_grow_is_refused(rules: str) -> None:
    with pytest.raises(UnsupportedError, match="builds upon itself by a policy"):
        run(rules, "0.5::a|1|1\n0.5::b|2|2\n")
