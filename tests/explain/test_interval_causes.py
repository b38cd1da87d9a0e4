"""Explanations of rules over intervals: relations, filters, collections."""

from __future__ import annotations

import pytest

import cernis
from cernis.explain.static_proofs import is_related
from tests.cli.command import ROOT

RULES = """
initiatedAt(f(X)=true, T)  :- happensAt(a(X), T).
terminatedAt(f(X)=true, T) :- happensAt(b(X), T).
initiatedAt(g(X)=true, T)  :- happensAt(c(X), T).
terminatedAt(g(X)=true, T) :- happensAt(d(X), T).
"""
EVENTS = "a|1|1|x\nc|3|3|x\nb|5|5|x\nd|9|9|x\na|20|20|x\nb|22|22|x\n"


def why(body: str, time: int) -> str:
    rules = RULES + f"holdsFor(o(X)=true, I) :- holdsFor(f(X)=true, I1), {body}."
    return cernis.load(rules).explain(EVENTS, "o(x)", time).text()


@pytest.mark.parametrize(
    ("mode", "time"),
    [("source", 2), ("target", 9), ("union", 2), ("intersect", 4), ("complement", 2),
     ("complement_inv", 8)],
)  # fmt: skip
def test_a_relation_has_the_two_intervals(mode: str, time: int) -> None:
    text = why(f"holdsFor(g(X)=true, I2), allen(overlaps, I1, I2, {mode}, I)", time)
    assert "[2,6) overlaps [4,10)" in text
    assert "record b|5|5|x" in text
    assert "rules also ask" not in text


def test_a_relation_that_no_interval_stands_in() -> None:
    text = why("holdsFor(g(X)=true, I2), allen(overlaps, I1, I2, source, I)", 22)
    assert "failed: [21,23) overlaps no interval of [4,10)" in text


def test_a_filter_says_which_interval_it_chose() -> None:
    assert "[2,6) is one of findall" in why("findall((S,E), (member((S,E), I1), E - S > 2), I)", 3)


def test_a_filter_says_which_condition_failed() -> None:
    text = why("findall((S,E), (member((S,E), I1), E - S > 2), I)", 22)
    assert "failed: E - S > 2 is not true of [21,23)" in text


def test_a_duration_says_how_long_it_was() -> None:
    assert "[21,23) is 2 long, not longer than 3" in why("intDurGreater(I1, 3, I)", 22)


def test_a_collection_says_what_it_was_made_of() -> None:
    rules = """
    initiatedAt(in(X)=true, T) :- happensAt(enter(X), T).
    initiatedAt(full=true, T) :-
        happensAt(tick, T), aggregate_all(count, holdsAt(in(_)=true, T), N), N >= 2.
    """
    events = "enter|1|1|x\nenter|2|2|y\ntick|2|2\ntick|5|5\n"
    program = cernis.load(rules)
    explanation = program.explain(events, "full", 6)
    assert "gives 2 at 5" in explanation.text()
    assert len(explanation.records) == 3
    assert "closest 1 at 2" in program.explain(events, "full", 3).text()


@pytest.mark.parametrize(
    ("relation", "source", "target"),
    [("before", (1, 3), (4, 5)), ("meets", (1, 3), (3, 5)), ("starts", (1, 3), (1, 5)),
     ("finishes", (3, 5), (1, 5)), ("during", (2, 3), (1, 5)), ("overlaps", (1, 3), (2, 5)),
     ("equal", (1, 3), (1, 3))],
)  # fmt: skip
def test_relations_of_intervals(
    relation: str, source: tuple[int, int], target: tuple[int, int]
) -> None:
    assert is_related(relation, source, target)
    assert not is_related(relation, target, source) or relation == "equal"


def test_conditions_on_instances_that_nothing_binds_are_left_out() -> None:
    """A rule may also be about instances of which there is nothing; that has no distance."""
    rules = """
    holdsFor(close(A, B)=true, I) :- holdsFor(place(A, X)=true, J), holdsFor(place(B, Y)=true, K),
        abs(X - Y) < 10, X < Y, intersect_all([J, K], I).
    """
    events = "place|1|1|9|true|a|3\nplace|1|1|9|true|b|7\nplace|20|20|29|true|a|30\n"
    explanation = cernis.load(rules).explain(events, "close(a, b)", 5)
    assert "abs(3 - 7) < 10" in explanation.text() or "3 - 7" in explanation.text()
    assert "not explained yet" not in explanation.text()
    assert "not explained yet" not in cernis.load(rules).explain(events, "close(a, b)", 25).text()


@pytest.mark.parametrize("question", ["leaving_object(id5, id0)", "meeting(id1, id2)"])
def test_the_surveillance_example_is_explained(question: str) -> None:
    folder = ROOT / "examples" / "surveillance"
    program = cernis.load(folder / "rules.cer", [folder / "facts.cer"])
    records = program.records(folder / "events.txt")
    explanation = program.explain(records, question)
    assert explanation.holds
    assert "not explained yet" not in explanation.text()
    why_not = program.explain(records, question, 1200)
    assert not why_not.holds
    assert "not explained yet" not in why_not.text()
