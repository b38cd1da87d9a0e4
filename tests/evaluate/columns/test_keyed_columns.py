"""Which keys a session evaluates: those that have news, and no others."""

from __future__ import annotations

import pytest

import cernis
from cernis.evaluate.columns.key_sets import KeySet
from cernis.evaluate.columns.keyed_stores import KeyedUpdate
from cernis.evaluate.columns.keyed_strata import KeyedStrata
from cernis.session.session import Session

RULES = """
initiatedAt(on(X)=true, T) :- happensAt(start(X), T).
terminatedAt(on(X)=true, T) :- happensAt(stop(X), T).
holdsFor(seen(X)=true, I) :- holdsFor(on(X)=true, I1), holdsFor(near(X)=true, I2), union_all([I1, I2], I).
fi(warm(X)=true, warm(X)=false, 7).
initiatedAt(warm(X)=true, T) :- happensAt(heat(X), T).
"""  # noqa: E501
NAMES = [f"m{number}" for number in range(20)]

Evaluated = dict[str, list[str]]


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> Evaluated:
    """By fluent, the keys that the last query has evaluated."""
    keys_by_fluent: Evaluated = {}
    evaluate = KeyedStrata._evaluate

    def noted(self: KeyedStrata, keys: KeySet, update: KeyedUpdate) -> None:
        for relation in self.definitions:
            domain = self._stores.store_of(relation).domains[0]
            assert domain is not None
            names = ["all"] if keys.is_everything else sorted(domain.decode(keys.numbers))
            keys_by_fluent[relation.name] = names
        evaluate(self, keys, update)

    monkeypatch.setattr(KeyedStrata, "_evaluate", noted)
    return keys_by_fluent


def begun() -> Session:
    """A session by columns in which each machine is on, and two are near."""
    session = Session(cernis.load(RULES).plan, 1000, 10, 0, incremental=True)
    session.insert([f"start|1|1|{name}" for name in NAMES])
    session.insert(["near|1|2|30|true|m3", "near|1|2|9|true|m4"])
    session.query(10)
    return session


def test_only_keys_with_records_are_evaluated(evaluated: Evaluated) -> None:
    session = begun()
    evaluated.clear()
    session.insert(["stop|15|15|m3", "stop|15|4|m5"])
    assert len(session.query(20))
    assert evaluated["on"] == evaluated["seen"] == ["m3", "m5"]
    assert "warm" not in evaluated


def test_strata_above_see_only_keys_whose_answer_differs(evaluated: Evaluated) -> None:
    session = begun()
    evaluated.clear()
    session.insert(["stop|15|15|m3", "start|15|6|m7"])
    session.query(20)
    assert evaluated["on"] == ["m3", "m7"]
    assert evaluated["seen"] == ["m3"]


def test_without_news_nothing_is_evaluated_until_something_is_due(evaluated: Evaluated) -> None:
    session = begun()
    session.insert(["heat|19|19|m2"])
    session.query(20)
    evaluated.clear()
    feed = session.query(30)
    assert evaluated["warm"] == ["m2"]
    assert "on" not in evaluated
    ends = [row["end"] for row in feed.table().to_pylist() if row["value"] == "true"]
    assert ends == [None, 27]
    # The interval of m3 was known to end at 30, and what it is near is seen until then.
    assert evaluated["seen"] == ["m3"]


PAIRS = """
initiatedAt(rich(X)=true, T) :- happensAt(win(X), T).
holdsFor(both(X, Y)=true, I) :-
    holdsFor(near(X, Y)=true, N), holdsFor(happy(X)=true, A), holdsFor(rich(Y)=true, B),
    union_all([A, B], U), intersect_all([N, U], I).
initiatedAt(envies(X, Y)=true, T) :-
    happensAt(sees(X, Y), T), holdsAt(rich(Y)=true, T), \\+ holdsAt(rich(X)=true, T).
terminatedAt(envies(X, Y)=true, T) :- happensAt(end(both(X, Y)=true), T).
"""
"""`both` reads whether Y is rich, `envies` whether X or Y is, for the same keys of one stage."""


def test_strata_that_read_other_keys_of_a_relation_do_not_share_its_table() -> None:
    records = "win|5|5|eve\nnear|5|5|8|true|ann|cy\nwin|12|8|bob\nsees|29|23|bob|eve\n"
    session = Session(cernis.load(PAIRS).plan, 60, 4, 0, incremental=True)
    session.insert(records)
    for query in range(4, 44, 4):
        told = [row["fluent"] for row in session.query(query).table().to_pylist()]
        assert "envies" not in told, f"bob was rich when he saw eve: query {query}"


LAMPS = """
initiatedAt(door(X)=open, T) :- happensAt(enter(X), T), \\+ holdsAt(lit=broken, T).
initiatedAt(lit=on, T) :- happensAt(switch(_), T).
terminatedAt(lit=on, T) :- happensAt(dark(_), T).
seen(X)=true iff door(X)=open, lit=on.
"""
"""No rule is about `lit=broken`, so `door` is derived before `lit`, though it reads that fluent."""


@pytest.mark.parametrize("step", [1, 4, 8])
def test_strata_see_what_was_derived_after_others_had_read_the_relation(step: int) -> None:
    session = Session(cernis.load(LAMPS).plan, None, step, 0, incremental=True)
    session.insert("switch|1|1|a\nenter|2|2|b\ndark|3|3|a\nswitch|5|5|a\nenter|7|7|c\n")
    for query in range(step, 9, step):
        session.query(query)
    intervals = session.intervals().to_pylist()
    seen = [(r["args"], r["start"], r["end"]) for r in intervals if r["fluent"] == "seen"]
    assert sorted(seen, key=str) == [(["b"], 3, 4), (["b"], 6, None), (["c"], 8, None)]
