"""What is odd about a question is said before the rules are gone through."""

from __future__ import annotations

import cernis
from cernis.explain.question_faults import unnamed_arguments
from cernis.syntax import parse_term

RULES = """
initiatedAt(lamp(X)=on, T) :- happensAt(press(X), T), wired(X, attic).
initiatedAt(lamp(X)=dim, T) :- happensAt(turn(X), T).
fi(lamp(X)=dim, lamp(X)=off, 5).
wired(spare, cellar).
wired(desk, attic).
"""
EVENTS = "press|3|3|desk\nturn|9|9|desk\n"


def why(question: str, time: int) -> str:
    return cernis.load(RULES).explain(EVENTS, question, time).text()


def test_a_time_before_the_run_needs_no_rules() -> None:
    assert why("lamp(desk)=on", 2).splitlines() == [
        "lamp(desk)=on does not hold at 2",
        "└─ the run begins after 2: nothing is known before",
    ]


def test_a_time_after_the_run_is_said_beside_the_rules() -> None:
    text = why("lamp(desk)=on", 50)
    assert "the rule did not fire" in text
    assert "the run ends at 9: no later record is known" in text
    assert "the run ends" not in why("lamp(desk)=on", 9)


def test_a_value_that_no_rule_gives() -> None:
    assert "no rule gives lamp the value red; rules give on, dim, off" in why("lamp(desk)=red", 5)
    assert "no rule gives" not in why("lamp(desk)=off", 5)


def test_names_that_only_facts_have_are_known() -> None:
    program = cernis.load(RULES)
    records = program.records(EVENTS)
    terms = [parse_term(each) for each in ("desk", "spare", "attic", "dsek")]
    texts = [each.text for each in unnamed_arguments(records, program.checked, terms)]
    assert texts == ["no record and no fact names dsek; there are desk"]
