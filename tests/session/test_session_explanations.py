"""Sessions explain their answers from the records of their window."""

from __future__ import annotations

import pytest

import cernis
from cernis.errors import DataError
from cernis.session.session_explanations import window_records

RULES = """
initiatedAt(level(B)=critical, T)  :- happensAt(hr(B, R), T), R > 120.
terminatedAt(level(B)=critical, T) :- happensAt(hr(B, R), T), R < 100.
alone(B)=true iff level(B)=critical, not near(B)=true.
"""


def test_records_of_the_window_explain_what_holds() -> None:
    session = cernis.load(RULES).session()
    session.insert("hr|2|2|b7|130\nhr|3|3|b9|90\n")
    session.query(5)
    explanation = session.explain("level(b7)=critical", 4)
    assert explanation.holds
    assert "record hr|2|2|b7|130  (window)" in explanation.text()
    assert not session.explain("level(b9)=critical", 4).holds


def test_without_a_time_it_is_the_last_point() -> None:
    session = cernis.load(RULES).session()
    session.insert("hr|2|2|b7|130\nhr|4|4|b7|90\n")
    session.query(9)
    assert session.explain("level(b7)=critical").time == 4


def test_what_rests_on_forgotten_records_is_said_to() -> None:
    session = cernis.load(RULES).session(window=10, start=0)
    session.insert("hr|2|2|b7|130\n")
    session.query(10)
    session.insert("hr|15|15|b7|125\nhr|16|16|b7|90\n")
    session.query(20)
    text = session.explain("level(b7)=critical", 12).text()
    assert "level(b7)=critical holds on [3,17)" in text
    assert "records up to 10, which the window has forgotten" in text
    later = session.explain("level(b7)=critical", 16).text()
    assert "since 3 in the answer of the session" in later


def test_late_and_retracted_records_count() -> None:
    session = cernis.load(RULES).session()
    session.insert("hr|2|2|b7|130\nhr|3|3|b7|140\n")
    session.query(5)
    session.retract("hr|2|2|b7|130\n")
    session.query(6)
    assert "began at 3" in session.explain("level(b7)=critical", 5).text()


def test_input_on_intervals_and_at_points_is_told_apart() -> None:
    session = cernis.load(RULES).session()
    session.insert("hr|2|2|b7|130\nnear|3|3|true|b7\nnear|9|5|8|true|b7\n")
    session.query(9)
    kinds = [str(form.kind) for form in window_records(session.memory).relations]
    assert sorted(kinds) == ["event", "fluent at a point", "fluent on an interval"]
    assert (
        "near(b7)=true holds, and the rule takes it away" in session.explain("alone(b7)", 6).text()
    )


def test_a_session_without_a_query_has_nothing_to_explain() -> None:
    with pytest.raises(DataError, match="ask after `query`"):
        cernis.load(RULES).session().explain("level(b7)=critical")
