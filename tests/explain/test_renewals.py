"""An explanation names the initiations that postponed the effect that ends a pair."""

from __future__ import annotations

import pytest

import cernis
from cernis.explain.explanation_tree import Explanation
from cernis.explain.renewals import renewals

RULES = """
initiatedAt(busy(X)=true, T) :- happensAt(call(X), T), hired(X).
ft(busy(X)=true, 10).
p(busy(X)=true).
holdsFor(long(X)=true, I) :- holdsFor(busy(X)=true, J), intDurGreater(J, 8 * 3, I).
hired(ann).
"""
CALLS = "\n".join(f"call|{time}|{time}|ann" for time in (1, 4, 9, 12, 17, 19, 40))
PLAIN = RULES.replace("p(busy(X)=true).", "")


def why(question: str, time: int, rules: str = RULES) -> Explanation:
    return cernis.load(rules).explain(CALLS, question, time)


def kept(explanation: Explanation) -> list[str]:
    return [
        reason.text for reason in explanation.tree.walk()
        if reason.text.startswith("initiated again")
    ]  # fmt: skip


def test_of_the_initiations_only_the_last_in_time_are_named() -> None:
    explanation = why("busy(ann)", 20)
    assert kept(explanation) == [
        "initiated again at 9, less than 10 after 1",
        "initiated again at 17, less than 10 after 9",
    ]
    assert "the rules also ask" not in explanation.text()
    assert [each.start for each in explanation.records] == [1, 9, 17, 19]


def test_none_is_named_before_the_first_effect_would_be_due() -> None:
    assert not kept(why("busy(ann)", 11))
    assert kept(why("busy(ann)", 12))


def test_where_nothing_postpones_the_effect_nothing_is_renewed() -> None:
    assert not kept(why("busy(ann)", 11, PLAIN))
    assert renewals.__doc__


def test_in_the_dialect_rtec_an_initiation_when_the_effect_is_due_counts() -> None:
    rules = ":- dialect(rtec).\n" + RULES
    explanation = cernis.load(rules).explain("call|1|1|ann\ncall|11|11|ann", "busy(ann)", 15)
    assert kept(explanation) == ["initiated again at 11, at most 10 after 1"]


@pytest.mark.parametrize("time", [3, 15, 29])
def test_a_long_interval_is_renewed_all_along(time: int) -> None:
    explanation = why("long(ann)", time)
    assert explanation.holds
    assert "[2,30) is longer than 24" in explanation.text()
    assert len(kept(explanation)) == 3
    assert {1, 9, 17, 19} <= {each.start for each in explanation.records}


def test_a_length_may_be_computed() -> None:
    assert "is not taken apart" not in why("long(ann)", 15).text()
