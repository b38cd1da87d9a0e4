"""Aggregates over windows of uncertain matches: the sum over worlds, and counts of many."""

from __future__ import annotations

import re
from math import comb
from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.errors import UnsupportedError
from tests.agreement.test_uncertain_patterns import (
    DOUBTED,
    Chances,
    by_worlds,
    compare,
    of_occurrences,
    of_result,
    run,
)

PROGRAMS = (
    "e(N) <- a(_) where N = count(past(3)). k <- e(2) seq b(_).",
    "e(X, N) <- c(X, _) where N = count(X, last(2)).",
    "e(X, S) <- c(X, P) where S = sum(P, X, past(4)), S > 2.",
    "e(A) <- c(_, P) where A = avg(P, last(3)).",
    "e(A) <- c(_, P) where A = max(P, all).",
    "e <- c(_, P) where P < avg(P, past(5)).",
    "m(A) <- c(_, P) where A = fold(times, P, last(3)). times(A, B, C) :- C is A*B.",
    "e(N) <- (a(X) seq b(X) within 6) where N = count(past(6)).",
    "e(X, D) <- c(X, P) where D = max(P, X, past(5)) - min(P, last(2)), D > 0.",
    "e(M) <- (c(_, P) where P > 1) where M = min(P / 2, past(4)).",
)


def records(random: Random, most: int, names: str = "aabccc") -> str:
    lines = []
    for time in sorted(random.choices(range(1, 10), k=most)):
        name, who = random.choice(names), random.choice("xxy")
        rest = f"|{random.randint(1, 4)}" if name == "c" else ""
        lines.append(f"{random.choice(['', '0.3::', '0.8::'])}{name}|{time}|{time}|{who}{rest}")
    return "\n".join([*lines, *DOUBTED.splitlines()[:3]]) + "\n"


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("rules", PROGRAMS)
def test_as_the_sum_over_worlds(rules: str, seed: int) -> None:
    random = Random(f"{rules} {seed}")
    text = records(random, 8)
    print(text)
    compare(of_result(run(rules, text)), by_worlds(rules, text))


@pytest.mark.parametrize("rules", PROGRAMS)
def test_certain_records_are_as_in_the_certain_engine(rules: str) -> None:
    text = records(Random(rules), 14)
    certain = re.sub(r"0\.[1-9]::", "", text)
    rows = cernis.load(rules).run(certain, start=-1).happenings.to_pylist()
    expected = {
        (f"{row['event']}({','.join(row['args'])})".replace("()", ""), row["start"],
         row["occurrence"])
        for row in rows
    }  # fmt: skip
    assert of_result(run(rules, certain)) == dict.fromkeys(expected, 1.0)


@pytest.mark.parametrize("rules", PROGRAMS[:4])
def test_windows_and_sessions_are_as_the_whole(rules: str, tmp_path: Path) -> None:
    """Matches of records are the facts that they are, whatever window they were in."""
    program, text = cernis.load(rules), records(Random(rules), 10)
    text = text.replace("|0|0", "|1|1")
    names = [str(relation) for relation in program.uncertain_session(start=0).uncertain]
    whole = of_result(program.run_uncertain(text, start=0, end=12, uncertain=names))
    given = {"window": 4, "step": 3, "start": 0}
    cut = program.run_uncertain(text, end=12, uncertain=names, **given)
    session = program.uncertain_session(**given)
    session.insert(text)
    told: Chances = {}
    for time in range(3, 15, 3):
        session.query(time)
        told |= of_occurrences(session.occurrences())
        session.save(tmp_path / "session")
        session = program.restore(tmp_path / "session")  # type: ignore[assignment]
    # A match of matches counts as an independent fact once the edge has passed it.
    for key, chance in whole.items():
        if key[0] != "k":
            assert of_result(cut).get(key, 0.0) == pytest.approx(chance, abs=1e-9)
    compare(told, of_result(cut))


def test_counts_of_many_records_are_binomial() -> None:
    """Their outcomes exclude each other, also for rules that ask for several of them."""
    text = "\n".join(f"0.5::a|{time}|{time}" for time in range(1, 31))
    rules = "e(N) <- a where N = count(past(29))."
    rules += " initiatedAt(f=true, T) :- happensAt(e(N), T), N > 15."
    result = cernis.load(rules).run_uncertain(text)
    found = {key: p for key, p in of_result(result).items() if key[2] == 30}
    assert found == pytest.approx(
        {(f"e({k + 1})", 30, 30): 0.5 * comb(29, k) / 2**29 for k in range(30)}, abs=1e-10
    )
    # What initiates at different points counts as independent.
    none = 1.0
    for time in range(1, 31):
        none *= 1 - 0.5 * sum(comb(time - 1, k) for k in range(15, time)) / 2 ** (time - 1)
    last = result.probabilities.to_pylist()[-1]
    assert last["probability"] == pytest.approx(1 - none, abs=1e-9)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("e(S) <- a(P) where S = sum(P, all).", "sum over a window of 14 uncertain matches"),
        ("e(N) <- a(_) where N = count(last(3)).", "count over a window of 10 uncertain matches"),
        ("e <- a(P) where max(P, all) - min(P, all) > 2.", "over a window of 14 uncertain"),
    ],
)
def test_what_has_too_many_worlds_is_refused(rules: str, message: str) -> None:
    text = "\n".join(f"0.5::a|{time}|{time}|{time}" for time in range(1, 20))
    with pytest.raises(UnsupportedError, match=message):
        run(rules, text)
