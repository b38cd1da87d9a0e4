"""The reference evaluator of event patterns: its cases, the vectors, and laws it must obey."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cernis.errors import KnowledgeError, UnsupportedError
from cernis.syntax import parse_term
from cernis.syntax.tree import Clause, Item, PatternRule, Term
from tests.reference.patterns import (
    OPERATORS,
    Consumption,
    Interval,
    Policy,
    compact,
    consumption_of,
    occurrences,
    read_program,
    run_pattern_case,
    sliding,
)
from tests.reference.solve import Solver

CASES = sorted((Path(__file__).parent / "cases").glob("pattern_*"))
Answer = dict[str, list[Interval]]

VECTOR = "a@1 a@2 a@3 b@4 b@5 c@6"
TWO_STEPS = "ie <- a seq b. e <- ie seq c."


def events_of(text: str) -> dict[Term, list[Interval]]:
    """`a@1` occurs at a point, `a@1-4` on an interval."""
    events: dict[Term, list[Interval]] = {}
    for word in text.split():
        name, _, at = word.rpartition("@")
        start, _, end = at.partition("-")
        events.setdefault(parse_term(name), []).append((int(start), int(end or start)))
    return events


def run(
    rules: str,
    events: str | dict[Term, list[Interval]],
    consumption: str | Consumption | None = None,
    until: int | None = None,
) -> Answer:
    items: tuple[Item, ...] = read_program(rules, "test")
    found = occurrences(
        [item for item in items if isinstance(item, PatternRule)],
        events_of(events) if isinstance(events, str) else events,
        Solver(item for item in items if isinstance(item, Clause)),
        consumption or consumption_of(items),
        until,
    )
    return {compact(event): intervals for event, intervals in found.items()}


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_case(folder: Path) -> None:
    assert run_pattern_case(folder) == (folder / "expected.txt").read_text()


@pytest.mark.parametrize(
    ("operator", "left", "right", "expected"),
    [
        ("seq", (1, 2), (3, 4), (1, 4)),
        ("seq", (1, 2), (2, 4), None),
        ("seq", (1, 1), (2, 2), (1, 2)),
        ("and", (5, 6), (1, 2), (1, 6)),
        ("and", (3, 3), (3, 3), (3, 3)),
        ("par", (1, 5), (3, 8), (1, 8)),
        ("par", (1, 3), (3, 8), None),
        ("par", (2, 2), (1, 3), None),
        ("equals", (1, 3), (1, 3), (1, 3)),
        ("equals", (1, 3), (1, 4), None),
        ("meets", (1, 3), (3, 5), (1, 5)),
        ("meets", (1, 3), (4, 5), None),
        ("meets", (3, 3), (3, 3), (3, 3)),
        ("during", (2, 3), (1, 4), (1, 4)),
        ("during", (2, 2), (1, 4), (1, 4)),
        ("during", (1, 3), (1, 4), None),
        ("during", (2, 4), (1, 4), None),
        ("starts", (1, 3), (1, 5), (1, 5)),
        ("starts", (1, 5), (1, 5), None),
        ("starts", (1, 1), (1, 5), (1, 5)),
        ("finishes", (3, 5), (1, 5), (1, 5)),
        ("finishes", (1, 5), (1, 5), None),
        ("finishes", (5, 5), (1, 5), (1, 5)),
    ],
)
def test_row_of_the_operator_table(
    operator: str, left: Interval, right: Interval, expected: Interval | None
) -> None:
    assert OPERATORS[operator](left, right) == expected


def test_longer_intervals_stand_in_one_relation_only() -> None:
    spans = [(start, end) for start in range(5) for end in range(start + 1, 5)]
    apart = ("seq", "equals", "meets", "during", "starts", "finishes")
    for left in spans:
        for right in spans:
            assert sum(OPERATORS[name](left, right) is not None for name in apart) <= 1


def test_vector_unrestricted() -> None:
    found = run(TWO_STEPS, VECTOR)
    assert found["ie"] == [(1, 4), (1, 5), (2, 4), (2, 5), (3, 4), (3, 5)]
    assert found["e"] == [(1, 6), (2, 6), (3, 6)]


def test_vector_recent() -> None:
    assert run(TWO_STEPS, VECTOR, "recent") == {"ie": [(3, 4), (3, 5)], "e": [(3, 6)]}


def test_vector_chronological() -> None:
    assert run(TWO_STEPS, VECTOR, "chronological") == {"ie": [(1, 4), (2, 5)], "e": [(1, 6)]}


def test_figure_of_operators() -> None:
    """P1 on [1,3], P2 on [2,6], P3 on [5,6] and their compositions."""
    rules = """
        bounded <- p1 within 3.
        sequence <- p1 seq p3.
        both <- p2 and p3.
        parallel <- p1 par p2.
        either <- p2 or p3.
        inside <- p1 during (0 seq 6).
        last <- p3 finishes p2.
        gap <- not(p3)[p1, p4].
    """
    found = run(rules, "p1@1-3 p2@2-6 p3@5-6 p4@7-8")
    assert found == {
        "bounded": [(1, 3)],
        "sequence": [(1, 6)],
        "both": [(2, 6)],
        "parallel": [(1, 6)],
        "either": [(2, 6), (5, 6)],
        "inside": [(0, 6)],
        "last": [(2, 6)],
    }


def test_absence_sees_the_values_around_it() -> None:
    rules = "peak(X) <- not(t(Y) where Y > X)[t(X), stop]."
    assert run(rules, "t(3)@1 t(5)@2 t(4)@3 stop@4") == {"peak(5)": [(2, 4)], "peak(4)": [(3, 4)]}


def test_absence_has_no_need_for_values_of_its_own_variables() -> None:
    assert run("e <- not(c(X))[a, b].", "a@1 c(1)@2 b@3 a@4 b@5") == {"e": [(4, 5)]}


def test_fluents_by_their_intervals() -> None:
    events: dict[Term, list[Interval]] = {
        parse_term("moored(v)=true"): [(3, 9)],
        parse_term("start(rain=true)"): [(4, 4)],
    }
    rules = "wet(V) <- start(rain=true) during moored(V)=true."
    assert run(rules, events) == {"wet(v)": [(3, 9)]}


def test_input_and_rules_may_share_an_event() -> None:
    assert run("a <- b seq b.", "a@1 b@2 b@3") == {"a": [(1, 1), (2, 3)]}


def test_nothing_occurs_without_events() -> None:
    assert run("e <- a seq b.", "") == {}


def test_end_of_the_run() -> None:
    assert run("e <- a seq b.", "a@1 b@2 b@5", until=4) == {"e": [(1, 2)]}


def test_recursion_without_end_is_noticed() -> None:
    with pytest.raises(KnowledgeError):
        run("n(1) <- a. n(K + 1) <- n(K).", "a@1")


def test_unbound_head_is_noticed() -> None:
    with pytest.raises(KnowledgeError):
        run("e(X) <- a(X) or b.", "b@1")


def test_variable_as_event_is_refused() -> None:
    with pytest.raises(UnsupportedError):
        run("iteration(A, 1) <- A.", "a@1")


def test_unknown_policy_is_refused() -> None:
    with pytest.raises(ValueError, match="oldest"):
        run(":- consumption(oldest). e <- a seq b.", "a@1 b@2")


def test_chronological_uses_an_event_up_in_its_step_only() -> None:
    rules = "e <- a seq b. f <- a seq b."
    found = run(rules, "a@1 b@2 b@3", "chronological")
    assert found == {"e": [(1, 2)], "f": [(1, 2)]}


def test_chronological_links_a_chain() -> None:
    assert run("e <- a seq a.", "a@1 a@2 a@3", "chronological") == {"e": [(1, 2), (2, 3)]}


def test_policies_with_recursion() -> None:
    rules = "n(1) <- a. n(K + 1) <- n(K) seq a."
    recent = run(rules, "a@1 a@2 a@3", "recent")
    assert recent == {
        "n(1)": [(1, 1), (2, 2), (3, 3)],
        "n(2)": [(1, 2), (2, 3)],
    }
    chronological = run(rules, "a@1 a@2 a@3", "chronological")
    assert chronological == {
        "n(1)": [(1, 1), (2, 2), (3, 3)],
        "n(2)": [(1, 2)],
        "n(3)": [(1, 3)],
    }


def test_sliding_windows() -> None:
    values: list[tuple[float, float]] = [(1, 5), (3, 2), (4, 5), (7, 2)]
    assert sliding(values, "sum", last=3) == [(1, 5), (3, 7), (4, 12), (7, 9)]
    assert sliding(values, "avg", last=2) == [(1, 5), (3, 3.5), (4, 3.5), (7, 3.5)]
    assert sliding(values, "count", span=3) == [(1, 1), (3, 2), (4, 3), (7, 2)]
    assert sliding(values, "min", span=2) == [(1, 5), (3, 2), (4, 2), (7, 2)]
    assert sliding(values, "max") == [(1, 5), (3, 5), (4, 5), (7, 5)]
    assert sliding([], "sum") == []


def test_full_length_windows_are_recursive_rules() -> None:
    rules = """
        total(1, V) <- a(V).
        total(K + 1, S + V) <- not(a(_))[a(V), total(K, S)].
    """
    values: list[tuple[float, float]] = [(1, 5), (3, 2), (4, 9), (7, 1), (8, 4)]
    found = run(rules, " ".join(f"a({value})@{time}" for time, value in values))
    by_rules = {
        (end, int(name.rstrip(")").split(",")[1]))
        for name, intervals in found.items()
        if name.startswith("total(3,")
        for _, end in intervals
    }
    assert by_rules == set(sliding(values, "sum", last=3)[2:])


point_events = st.lists(
    st.tuples(st.sampled_from(["a(x)", "a(y)", "b(x)", "b(y)", "c(x)"]), st.integers(1, 8)),
    max_size=9,
)

PROGRAMS = (
    "e(X) <- a(X) seq b(X).",
    "e(X, Y) <- a(X) and b(Y). f(X) <- e(X, X) seq c(X).",
    "e(X) <- a(X) seq b(_). f(X) <- a(X) par e(Y) where X \\= Y.",
    "e <- (a(_) seq b(_) seq c(_)) within 5.",
    "e(X) <- not(c(X))[a(X), b(X)].",
    "e <- a(X) or (b(X) seq c(X)). f <- e starts e or e meets e.",
    "p(X) <- a(X) seq b(X). q(X) <- b(X) seq a(X). e <- p(X) during q(X) or p(X) finishes q(Y).",
    "n(1) <- a(x). n(K + 1) <- n(K) seq a(_) where K < 4. e <- n(K) and b(x) where K > 1.",
)


def _events(chosen: Iterable[tuple[str, int]]) -> dict[Term, list[Interval]]:
    return events_of(" ".join(f"{name}@{time}" for name, time in dict.fromkeys(chosen)))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(PROGRAMS), point_events)
def test_one_at_a_time_is_enumeration(program: str, chosen: list[tuple[str, int]]) -> None:
    """A second rule with a policy makes all rules go step by step; unrestricted ones agree."""
    stepwise = Consumption(heads={("other", 0): Policy("recent")})
    rules = program + " other <- nothing seq nothing."
    assert run(rules, _events(chosen), stepwise) == run(program, _events(chosen))


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([program for program in PROGRAMS if "not(" not in program]),
    point_events,
    st.sampled_from(["recent", "chronological"]),
)
def test_policies_select_from_what_occurs(
    program: str, chosen: list[tuple[str, int]], policy: str
) -> None:
    every = run(program, _events(chosen))
    for event, intervals in run(program, _events(chosen), policy).items():
        assert set(intervals) <= set(every[event])


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(PROGRAMS),
    point_events,
    st.randoms(use_true_random=False),
    st.sampled_from(["unrestricted", "recent", "chronological"]),
)
def test_order_of_input_does_not_matter(
    program: str, chosen: list[tuple[str, int]], chance: object, policy: str
) -> None:
    shuffled = list(chosen)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert run(program, _events(shuffled), policy) == run(program, _events(chosen), policy)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(PROGRAMS),
    point_events,
    st.integers(1, 8),
    st.sampled_from(["unrestricted", "recent", "chronological"]),
)
def test_the_future_does_not_matter(
    program: str, chosen: list[tuple[str, int]], now: int, policy: str
) -> None:
    past = [(name, time) for name, time in chosen if time <= now]
    whole = run(program, _events(chosen), policy, until=now)
    assert run(program, _events(past), policy) == whole


@settings(max_examples=100, deadline=None)
@given(point_events)
def test_laws(chosen: list[tuple[str, int]]) -> None:
    rules = """
        left <- (a(_) seq b(_)) seq c(_).
        right <- a(_) seq (b(_) seq c(_)).
        plus <- b(_).
        plus <- plus seq b(_).
        iterated <- a(_) seq plus seq c(_).
        both <- a(_) and b(_).
        swapped <- b(_) and a(_).
        union <- (a(_) seq b(_)) or (b(_) seq a(_)) or (a(_) equals b(_)).
    """
    found = run(rules, _events(chosen))
    assert found.get("left") == found.get("right") == found.get("iterated")
    assert found.get("both") == found.get("swapped") == found.get("union")
