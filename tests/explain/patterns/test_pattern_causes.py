"""Explanations of what patterns match, and of what they miss."""

from __future__ import annotations

from random import Random

import pytest

import cernis
from cernis.answers.answer_lines import argument_text
from cernis.explain.explaining import RunLimits, explain
from cernis.explain.replays import only
from cernis.knowledge.ground_values import field_value
from tests.generators.patterns import Drawing, random_records

UNPAID = "unpaid(X) <- not(pay(X))[take(X), leave(X)] within 100."
THEFT = "theft(X) <- take(X) seq leave(X) within 3."
SPREE = "spree(X, S) <- buys(X, A) seq buys(X, B) where S = A + B, S > 100 within 10."
SHOP = "take|1|1|book\ntake|2|2|pen\npay|4|4|pen\nleave|6|6|book\nleave|7|7|pen\n"


def why(rules: str, events: str, question: str, time: int) -> str:
    return cernis.load(rules).explain(events, question, time).text()


def test_the_rows_of_a_match_and_what_was_absent() -> None:
    text = why(UNPAID, SHOP, "unpaid(book)", 6)
    assert "record take|1|1|book" in text
    assert "no pay(book) after 1 and before 6" in text
    assert "from 1 to 6 is within 100" in text


def test_what_lies_between_is_named() -> None:
    assert "failed: it lies between them: record pay|4|4|pen" in why(UNPAID, SHOP, "unpaid(pen)", 7)


def test_what_did_not_come_is_named() -> None:
    assert "no take(cap) up to 7" in why(UNPAID, SHOP, "unpaid(cap)", 7)


def test_a_match_that_took_too_long() -> None:
    text = why(THEFT, "take|1|1|book\nleave|9|9|book\n", "theft(book)", 9)
    assert "failed: that is 8 long, not within 3" in text


def test_a_condition_that_failed_has_its_values() -> None:
    events = "buys|4|4|kim|30\nbuys|5|5|kim|60\n"
    assert "failed: 30 + 60 > 100 is not true" in why(SPREE, events, "spree(kim, 90)", 5)


def test_a_condition_that_was_true_has_its_values() -> None:
    text = why(SPREE, "buys|1|1|chris|80\nbuys|3|3|chris|30\n", "spree(chris, 110)", 3)
    assert "110 > 100" in text


def test_an_aggregate_has_the_rows_of_its_window() -> None:
    rules = "average(X, A) <- price(X, P) where A = avg(P, X, last(2))."
    events = "price|1|1|x|10\nprice|2|2|y|7\nprice|3|3|x|20\nprice|4|4|y|9\nprice|9|9|x|40\n"
    explanation = cernis.load(rules).explain(events, "average(x, 30.0)", 9)
    assert [record.text for record in explanation.records] == ["price|3|3|x|20", "price|9|9|x|40"]


def test_an_interval_in_a_pattern_has_what_began_and_ended_it() -> None:
    rules = """
    initiatedAt(gap(V)=true, T) :- happensAt(gap_start(V), T).
    terminatedAt(gap(V)=true, T) :- happensAt(gap_end(V), T).
    met(V) <- meets_vessel(V) during gap(V)=true within 12hours.
    """
    text = why(rules, "gap_start|1|1|v\nmeets_vessel|5|5|v\ngap_end|9|9|v\n", "met(v)", 9)
    assert "gap(v)=true held on [2,10)" in text
    assert "ended at 9" in text


def test_the_match_that_a_policy_chose() -> None:
    rules = ":- consumption(chronological). ie <- a seq b. e <- ie seq c."
    events = "a|1|1\na|2|2\na|3|3\nb|4|4\nb|5|5\nc|6|6\n"
    explanation = cernis.load(rules).explain(events, "e", 6)
    assert [record.text for record in explanation.records] == ["a|1|1", "b|4|4", "c|6|6"]


@pytest.mark.filterwarnings("ignore::cernis.errors.InputWarning")
@pytest.mark.parametrize("seed", range(40))
def test_the_records_that_are_named_match_again(seed: int) -> None:
    """In a random program, the records of an explanation alone give the occurrence again."""
    random = Random(seed)
    program = cernis.load("\n".join(Drawing(random).rules()) + "\n")
    lines = random_records(random)
    records = program.records(lines) if lines else program.records({"none": []})
    result = program.run(records)
    limits = RunLimits(start=result.summary.start, end=result.summary.end)
    rows = result.happenings.to_pylist()
    random.shuffle(rows)
    for row in rows[:3]:
        inside = ", ".join(argument_text(field_value(arg)) for arg in row["args"])
        question = f"{row['event']}({inside})" if inside else row["event"]
        explanation = explain(program.plan, records, question, row["occurrence"], limits)
        assert explanation.holds, f"seed {seed}: {question} at {row['occurrence']}"
        numbers = {record.number for record in explanation.records}
        again = program.run(only(records, numbers), start=limits.start, end=limits.end)
        found = [(each["event"], each["args"], each["occurrence"])
                 for each in again.happenings.to_pylist()]  # fmt: skip
        assert (row["event"], row["args"], row["occurrence"]) in found, f"seed {seed}: {question}"
        assert "not explained yet" not in explanation.text(), f"seed {seed}: {question}"
