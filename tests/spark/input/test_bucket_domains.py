"""Members of domains, determined from all of the input: since which query, and until when."""

from __future__ import annotations

import cernis
from cernis.evaluate.windows import windows
from cernis.records.record_sources import read_events
from cernis.spark.input.bucket_domains import FOREVER, join_spans, members_at, members_of

RULES = """
dynamicDomain(ship(_)).
grounding(enter(X)) :- ship(X).
initiatedAt(inside(X)=true, T) :- happensAt(enter(X), T), ship(X).
"""
SHIP = ("ship", 1)


def test_a_value_is_a_member_from_the_first_query_that_sees_it() -> None:
    checked = cernis.load(RULES).plan.checked
    records = read_events("enter|5|5|anna\nenter|15|15|bella\n", checked)
    queries = list(windows(0, 20, 10, 10))
    members = members_of(records, checked.definitions, {SHIP}, queries, 1)[SHIP]
    assert members_at(members, 0) == [("anna",)]
    assert members_at(members, 1) == [("anna",), ("bella",)]


def test_further_spans_join_those_that_are_known() -> None:
    member = (("str", "anna"),)
    members = {member: ((1, 3.0),)}
    join_spans(members, member, ((5, FOREVER),))
    join_spans(members, member, ((7, FOREVER),))
    assert members[member] == ((1, 3.0), (5, FOREVER))
