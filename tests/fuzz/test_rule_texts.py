"""Whatever a rule file says, commands end soon, and say what is wrong with it in words."""

from __future__ import annotations

import pytest

from cernis.errors import ProgramError
from cernis.program import load
from tests.fuzz.rule_texts import altered_text, failure_of, told

SEEDS = range(300)


def test_altered_rule_files_crash_no_command() -> None:
    for seed in SEEDS:
        text = altered_text(seed)
        failure = failure_of(text, seconds=60)
        assert failure is None, told(seed, text, failure)


DEEP = {
    "pairs": "initiatedAt(f=1, T) :- p(" + "t(" * 100 + "e" + "=t)" * 100 + ").",
    "sums": "p(" + "f(-" * 70 + "X" + " + 1)" * 70 + ").",
    "patterns": "e <- " + "(" * 45 + "a" + " seq b seq c seq d seq e)" * 45 + ".",
    "conditions": "e <- " + "(" * 45 + "a" + " where X > 1 within 5 within 6) or b" * 45 + ".",
}


@pytest.mark.parametrize("name", DEEP)
def test_operators_inside_of_brackets_count_as_levels(name: str) -> None:
    assert failure_of(DEEP[name], seconds=60) is None
    with pytest.raises(ProgramError, match="C006 this term is nested more than 150 levels"):
        load(f"{DEEP[name]}\n")


@pytest.mark.parametrize("rule", [
    ":- tick(9223372036854775808).", ":- tick(4611686018427387904).", ":- memory(1e309).",
    "fi(f(X)=true, f(X)=false, 1000000000000000000000000000000).", "ft(f(X)=true, 1e30).",
    "ft(f(X)=true, 99999999999999999days).", "h(X) <- (e(X) seq e(X)) within 9223372036854775808.",
    "h(X) <- 9223372036854775808 seq e(X).", "h(X) <- 0.5 seq e(X).",
    "h(A) <- e(X) where A = count(last(9223372036854775808)).",
    "h(A) <- e(X) where A = count(past(1e30)).",
])  # fmt: skip
def test_times_and_lengths_beyond_all_bounds_are_errors(rule: str) -> None:
    with pytest.raises(ProgramError, match="C0(44|64|66)"):
        load(f"initiatedAt(f(X)=true, T) :- happensAt(e(X), T).\n{rule}\n")


MANY = ", ".join(f"A{n}" for n in range(70))
FOUND = (
    "d <- not(o(Y))[e(X), end(X=V)] within 1.",
    "initiatedAt(h=e, T) :- T, \\+ [[holdsAt(e, T)]].",
    "e(X) <- a(X) where '='(X, 1, 2).",
    ":- memory(1e309).",
    "terminates(go(X), f(X)=true, T) :- "
    + "findall(X, (p(X), " * 40 + "happensAt(e(X), T)" + "), L)" * 40 + ".",
    f"initiatedAt(f({MANY})=true, T) :- happensAt(e(A1), T).\n"
    f"terminatedAt(f({MANY})=true, T) :- happensAt(g(A2), T).",
    "".join(f"e{n}(X) <- e{n + 1}(X).\n" for n in range(1000)),
    "holdsFor(f(X)=V, I) :- holdsFor(h(X)=V, I), p(X), \\+ I = [].\n" * 60,
    "".join(f"p{n}(X, Y) :- Z is X + 1, p{n + 1}(Z, Y).\n" for n in range(1000)) + "p1000(X, X).",
)  # fmt: skip
"""Texts that once crashed a command or kept it busy without end."""


@pytest.mark.parametrize("text", FOUND, ids=range(len(FOUND)))
def test_texts_that_were_found(text: str) -> None:
    failure = failure_of(text, seconds=60)
    assert failure is None, failure
