"""Patterns and fluents in one program, both ways, and what is asked of their results."""

from __future__ import annotations

import pytest

import cernis
from cernis.errors import CernisError

GAPS = """
initiatedAt(gap(V)=true, T)  :- happensAt(gap_start(V), T).
terminatedAt(gap(V)=true, T) :- happensAt(gap_end(V), T).
"""


def run(rules: str, records: str, **settings: int) -> list[str]:
    lines = [line.strip() for line in records.split() if line.strip()]
    return cernis.load(rules).run(lines, **settings).text().splitlines()  # type: ignore[arg-type]


def test_a_pattern_over_starts_and_ends() -> None:
    rules = GAPS + "short(V) <- start(gap(V)=true) seq end(gap(V)=true) within 5."
    found = run(rules, "gap_start|3|3|v gap_end|7|7|v gap_start|9|9|v gap_end|20|20|v")
    assert found == ["holdsFor(gap(v)=true, [(4,8),(10,21)]).", "occurs(short(v), [(3,7)])."]


def test_a_pattern_over_intervals_has_the_points_at_which_they_held() -> None:
    rules = GAPS + "unseen(V) <- sees(V) during gap(V)=true. whole(V) <- gap(V)=true."
    found = run(rules, "gap_start|3|3|v sees|4|4|v sees|5|5|v gap_end|7|7|v sees|9|9|v")
    # At 4 the interval begins, so that what is seen there is not strictly inside.
    assert found[1:] == ["occurs(unseen(v), [(4,7)]).", "occurs(whole(v), [(4,7)])."]


def test_what_still_holds_has_not_occurred() -> None:
    rules = GAPS + "unseen(V) <- sees(V) during gap(V)=true."
    assert run(rules, "gap_start|3|3|v sees|5|5|v") == ["holdsFor(gap(v)=true, [(4,inf)])."]


def test_a_fluent_initiated_by_a_pattern_at_its_end() -> None:
    rules = """
        both(X) <- a(X) seq b(X) within 10.
        initiatedAt(warned(X)=true, T) :- happensAt(both(X), T).
        terminatedAt(warned(X)=true, T) :- happensAt(c(X), T).
    """
    found = run(rules, "a|1|1|x a|2|2|x b|4|4|x c|6|6|x")
    assert found == ["holdsFor(warned(x)=true, [(5,7)]).", "occurs(both(x), [(1,4),(2,4)])."]


def test_what_occurs_twice_up_to_a_point_happens_once() -> None:
    rules = """
        both <- a(_) seq b within 10.
        initiatedAt(many=true, T) :-
            happensAt(tick, T), aggregate_all(count, happensAt(both, T), N), N > 1.
        initiatedAt(any=true, T) :-
            happensAt(tick, T), aggregate_all(count, happensAt(both, T), N), N > 0.
    """
    found = run(rules, "a|1|1|x a|2|2|y b|4|4 tick|4|4")
    assert found == ["holdsFor(any=true, [(5,inf)]).", "occurs(both, [(1,4),(2,4)])."]


def test_strata_alternate() -> None:
    rules = """
        pair(X) <- a(X) seq b(X) within 10.
        initiatedAt(on(X)=true, T)  :- happensAt(pair(X), T).
        terminatedAt(on(X)=true, T) :- happensAt(off(X), T).
        long(X) <- c(X) during on(X)=true.
        initiatedAt(told(X)=true, T) :- happensAt(long(X), T).
    """
    found = run(rules, "a|1|1|x b|2|2|x c|5|5|x off|8|8|x")
    assert "holdsFor(told(x)=true, [(9,inf)])." in found


def test_an_event_of_rules_and_of_patterns() -> None:
    rules = "e(X) <- a(X) seq b(X). happensAt(e(X), T) :- happensAt(c(X), T)."
    assert run(rules, "a|1|1|x b|3|3|x c|7|7|x") == ["occurs(e(x), [(1,3),(7,7)])."]


def test_a_cycle_of_a_pattern_and_a_fluent_by_time() -> None:
    """Each pair counts only while the door is not shut, and shuts it."""
    rules = """
        happensAt(counts(X), T) :- happensAt(b(X), T), \\+ holdsAt(shut(X)=true, T).
        pair(X) <- a(X) seq counts(X).
        initiatedAt(shut(X)=true, T) :- happensAt(pair(X), T).
        terminatedAt(shut(X)=true, T) :- happensAt(opens(X), T).
    """
    found = run(rules, "a|1|1|x b|3|3|x b|5|5|x opens|6|6|x b|8|8|x b|9|9|x")
    assert found == [
        "happensAt(counts(x), [3,8]).",
        "holdsFor(shut(x)=true, [(4,7),(9,inf)]).",
        "occurs(pair(x), [(1,3),(1,8)]).",
    ]


def test_tables_of_a_pattern_have_its_start() -> None:
    result = cernis.load("e(X) <- a(X) seq b(X).").run([("a", 1, 1, "x"), ("b", 3, 3, "x")])
    assert result.event("e").to_pydict() == {"x": ["x"], "start": [1], "occurrence": [3]}
    assert result.happenings.to_pydict() == {
        "event": ["e"], "args": [["x"]], "start": [1], "occurrence": [3],
    }  # fmt: skip


def test_a_step_that_extends_no_interval_does_not_count() -> None:
    assert run("n(1) <- a. n(K + 1) <- n(K) meets a.", "a|1|1") == ["occurs(n(1), [(1,1)])."]


def test_a_wrong_window_is_an_error() -> None:
    with pytest.raises(CernisError, match="C066"):
        cernis.load("e(A) <- a(P) where A = sum(P, last(0)).")
