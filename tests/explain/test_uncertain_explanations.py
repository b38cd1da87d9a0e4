"""Explanations of uncertain records have the probability, and the share of each record in it."""

from __future__ import annotations

from random import Random

import pytest

import cernis
from cernis.evaluate.probabilities.shares import MOST_RECORDS
from cernis.program import Program

RULES = """
initiatedAt(level(B)=critical, T) :-
    happensAt(hr(B, R), T), R > 120, not happensAt(mute(B), T).
terminatedAt(level(B)=critical, T) :- happensAt(hr(B, R), T), R < 100.
initiatedAt(watched(B)=true, T) :- happensAt(look(B), T), holdsAt(level(B)=critical, T).
happensAt(alarm(B), T) :- happensAt(look(B), T), holdsAt(level(B)=critical, T).
holdsFor(long(B)=true, I) :- holdsFor(level(B)=critical, J), intDurGreater(J, 3, I).
"""
RECORDS = [
    "0.7::hr|5|5|b7|131", "0.2::mute|5|5|b7", "0.5::hr|7|7|b7|140", "0.1::hr|8|8|b7|90",
    "0.9::look|9|9|b7", "0.4::hr|3|3|b9|150",
]  # fmt: skip


def test_each_record_has_its_share() -> None:
    program = cernis.load(RULES)
    explanation = program.explain(RECORDS, "level(b7)=critical", 10, uncertain=True)
    assert explanation.holds
    assert explanation.probability == pytest.approx(0.702)
    assert explanation.as_dict()["probability"] == explanation.probability
    assert explanation.text().splitlines() == [
        "level(b7)=critical has probability 0.702 at 10",
        "├─ level(b7)=critical holds on [6,inf), if these records are true",
        "│  ├─ began at 5: by the rule with B=b7, R=131  (<text>:2)",
        "│  │  ├─ record 0.7::hr|5|5|b7|131, share +0.252  (record:1)",
        "│  │  ├─ 131 > 120",
        "│  │  └─ no mute(b7) at 5",
        "│  └─ kept going: nothing ended it before 10",
        "├─ against it",
        "│  ├─ record 0.1::hr|8|8|b7|90, share -0.078  (record:4)",
        "│  └─ record 0.2::mute|5|5|b7, share -0.063  (record:2)",
        "└─ for it, too",
        "   └─ record 0.5::hr|7|7|b7|140, share +0.198  (record:3)",
    ]


def test_what_cannot_be_has_probability_0() -> None:
    program = cernis.load(RULES)
    explanation = program.explain(RECORDS, "level(b9)=critical", 3, uncertain=True)
    assert not explanation.holds
    assert explanation.probability == 0
    assert "the rule did not fire" in explanation.text()


@pytest.mark.parametrize(
    ("question", "time", "why"),
    [("alarm(b7)", 9, "an event has no probability"), ("long(b7)", 10, "credible intervals")],
)
def test_what_has_no_probability_is_explained_as_if_certain(
    question: str, time: int, why: str
) -> None:
    records = [each for each in RECORDS if "mute" not in each and "|90" not in each]
    explanation = cernis.load(RULES).explain(records, question, time, end=15, uncertain=True)
    assert explanation.holds
    assert explanation.probability is None
    assert why in explanation.tree.reasons[-1].text


def test_of_too_many_records_only_those_named_have_shares() -> None:
    many = [f"0.1::hr|{time}|{time}|b7|130" for time in range(1, MOST_RECORDS + 5)]
    explanation = cernis.load(RULES).explain(many, "level(b7)=critical", 600, uncertain=True)
    assert "there are too many" in explanation.text()
    assert ", share +" in explanation.text()


def test_sessions_explain_uncertain_records_of_their_window() -> None:
    session = cernis.load(RULES).uncertain_session(window=20, start=0)
    session.insert(RECORDS)
    session.query(10)
    explanation = session.explain("level(b7)=critical", 10)
    assert explanation.probability == pytest.approx(0.702)
    assert "record 0.7::hr|5|5|b7|131, share +0.252  (window)" in explanation.text()


@pytest.mark.parametrize("seed", range(12))
def test_shares_are_what_goes_with_the_record(seed: int) -> None:
    """A run without a record shows its share; the tree holds where its records are true."""
    random, program = Random(seed), cernis.load(RULES)
    lines = []
    for time in range(1, 9):
        sure = f"{random.choice((0.2, 0.5, 0.8))}::" if random.random() < 0.8 else ""
        name = random.choice(("hr", "hr", "hr", "mute", "look"))
        rate = f"|{random.choice((90, 130, 140))}" if name == "hr" else ""
        lines.append(f"{sure}{name}|{time}|{time}|b7{rate}")
    question = random.choice(("level(b7)=critical", "watched(b7)=true"))
    explanation = program.explain(lines, question, 9, start=0, end=9, uncertain=True)
    whole = _probability(program, lines, question)
    told = f"seed {seed}\n" + "\n".join(lines) + f"\n{explanation}"
    assert explanation.probability == pytest.approx(whole, abs=1e-9), told
    for reason in explanation.tree.walk():
        if reason.kind in ("record", "share"):
            text, share = reason.text.removeprefix("record ").split(", share ")
            rest = list(lines)
            rest.remove(text)
            without = _probability(program, rest, question)
            assert float(share) == pytest.approx(whole - without, abs=1e-3), told
    if explanation.holds:
        sure_ones = [record.text.split("::")[-1] for record in explanation.records]
        assert program.explain(sure_ones, question, 9, start=0, end=9).holds, told


def _probability(program: Program, lines: list[str], question: str) -> float:
    """The probability at 9, from a run."""
    fluent = question.split("(", 1)[0]
    rows = program.run_uncertain(lines, start=0, end=9).probabilities.to_pylist()
    return sum(
        row["probability"] for row in rows
        if row["fluent"] == fluent and row["start"] <= 9 and (row["end"] or 99) > 9
    )  # fmt: skip
