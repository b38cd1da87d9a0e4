"""Statically determined fluents over uncertain records: by hand; and what is made of intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cernis
from cernis.evaluate.probabilities.uncertain_facts import TRUE, Facts
from cernis.evaluate.probabilities.uncertain_statics import (
    LiteralPieces,
    intersected,
    united,
    without,
)

STATIC = """
    initiatedAt(on(X)=true, T) :- happensAt(up(X), T).
    terminatedAt(on(X)=true, T) :- happensAt(down(X), T).
    initiatedAt(seen(X)=true, T) :- happensAt(see(X), T).
    lit(X)=true iff on(X)=true, not seen(X)=true.
    initiatedAt(known(X)=true, T) :- happensAt(ask(X), T), holdsAt(lit(X)=true, T).
"""
STATIC_TEXT = "0.9::up|2|2|a\n0.9::down|12|12|a\n0.6::see|6|6|a\n0.5::ask|3|3|a\nask|8|8|a\n"


def course(result: Any, fluent: str) -> list[tuple[int, int | None, float]]:
    return [
        (row["start"], row["end"], pytest.approx(row["probability"]))
        for row in result.probabilities.to_pylist() if row["fluent"] == fluent
    ]  # fmt: skip


def test_static_fluents_have_probabilities() -> None:
    result = cernis.load(STATIC).run_uncertain(STATIC_TEXT, start=0, end=20)
    assert course(result, "lit") == [(3, 7, 0.9), (7, 13, 0.36), (13, None, 0.036)]
    # What uses it takes it as a fact: asked at 3, and at 8.
    assert course(result, "known") == [(4, 9, 0.45), (9, None, 0.45 + 0.55 * 0.36)]
    lit = [row for row in result.intervals.to_pylist() if row["fluent"] == "lit"]
    assert lit
    assert all(row["probability"] >= 0.5 for row in lit)


MEASURED = (
    STATIC + "holdsFor(long(X)=true, I) :- holdsFor(lit(X)=true, J), intDurGreater(J, 3, I).\n"
)


def test_what_is_measured_is_made_of_credible_intervals() -> None:
    result = cernis.load(MEASURED).run_uncertain(STATIC_TEXT, start=0, end=20)
    rows = {row["fluent"]: row for row in result.intervals.to_pylist()}
    for name in ("start", "end"):
        assert rows["long"][name] == rows["lit"][name]
    assert rows["long"]["probability"] is None
    assert course(result, "long") == []


def test_a_union_is_measured_by_its_own_credible_intervals() -> None:
    """Neither part has a credible interval; together they are likely."""
    rules = (
        STATIC
        + """
        either(X)=true iff on(X)=true or seen(X)=true.
        holdsFor(long(X)=true, I) :- holdsFor(either(X)=true, J), intDurGreater(J, 3, I).
        holdsFor(parts(X)=true, I) :-
            holdsFor(on(X)=true, J), holdsFor(seen(X)=true, K), union_all([J, K], U),
            intDurGreater(U, 3, I).
        initiatedAt(alarm(X)=true, T) :- happensAt(ask(X), T), holdsAt(long(X)=true, T).
    """
    )
    text = "0.4::up|2|2|a\n0.4::see|2|2|a\n0.7::ask|5|5|a\n"
    result = cernis.load(rules).run_uncertain(text, start=0, end=10)
    rows = {row["fluent"]: row for row in result.intervals.to_pylist()}
    assert course(result, "either") == [(3, None, 0.64)]
    for name in ("start", "end"):
        assert rows["long"][name] == rows["parts"][name] == rows["either"][name]
    assert course(result, "alarm") == [(6, None, 0.7)]


def pieces(*rows: tuple[int, int, int]) -> LiteralPieces:
    starts, ends, literals = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return LiteralPieces(np.zeros(len(rows), np.int64), starts, ends, literals)


def shown(found: LiteralPieces) -> list[tuple[int, int, int]]:
    columns = (found.starts.tolist(), found.ends.tolist(), found.literals.tolist())
    return list(zip(*columns, strict=True))


def test_operations_on_certain_pieces() -> None:
    """A certain piece takes all away, adds all, or leaves the other as it is."""
    facts = Facts()
    (fact,) = facts.add(np.array([0.5])).tolist()
    one, sure = pieces((1, 5, fact)), pieces((3, 7, TRUE))
    assert shown(united([one, sure], facts)) == [(1, 3, fact), (3, 5, TRUE), (5, 7, TRUE)]
    assert shown(intersected([one, sure], facts)) == [(3, 5, fact)]
    assert shown(without(one, [sure], facts)) == [(1, 3, fact)]
    assert shown(without(sure, [one], facts)) == [(3, 5, fact ^ 1), (5, 7, TRUE)]
