"""Provenance names, for each interval and happening, the records that it rests on."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cernis
from cernis.errors import CernisError
from cernis.session.result_provenance import PROVENANCE
from tests.agreement.compare import scenarios
from tests.generators.patterns import Drawing, random_records

RULES = """
initiatedAt(rich(X)=true, T)  :- happensAt(win_lottery(X), T).
terminatedAt(rich(X)=true, T) :- happensAt(lose_wallet(X), T).
initiatedAt(location(X)=Y, T) :- happensAt(go_to(X, Y), T).
happy(X)=true iff rich(X)=true or location(X)=pub.
sad(X)=true iff location(X)=work, not rich(X)=true.
happensAt(party(X), T) :- happensAt(go_to(X, pub), T), holdsAt(rich(X)=true, T).
initiatedAt(tired(X)=soon, T) :- happensAt(party(X), T).
fi(tired(X)=soon, tired(X)=true, 3).
trip(X) <- go_to(X, _) seq go_to(X, pub) within 10.
initially(known(chris)=true).
"""

EVENTS = """go_to|9|9|chris|work
win_lottery|13|13|chris
go_to|17|17|chris|pub
lose_wallet|19|19|chris
go_to|21|21|chris|home
go_to|3|3|ann|pub"""


def rows(name: str, role: str, rules: str = RULES, events: str = EVENTS) -> set[Any]:
    """For a fluent or event: arguments, value, start, and the line of each record."""
    table = cernis.load(rules).run(events).provenance(name)
    return {
        (*row["args"], row["value"], row["start"], row["line"])
        for row in table.to_pylist() if row["role"] == role
    }  # fmt: skip


def test_a_simple_fluent_names_what_began_and_what_ended_it() -> None:
    assert rows("rich", "began") == {("chris", "true", 14, 2)}
    assert rows("rich", "ended") == {("chris", "true", 14, 4)}


def test_another_value_ends_a_fluent() -> None:
    assert rows("location", "ended") == {("chris", "work", 10, 3), ("chris", "pub", 18, 5)}


def test_a_static_fluent_names_the_record_behind_its_edge() -> None:
    assert rows("happy", "began") == {("chris", "true", 14, 2), ("ann", "true", 4, 6)}
    assert rows("happy", "ended") == {("chris", "true", 14, 5)}


def test_what_is_taken_away_ends_a_static_fluent() -> None:
    assert rows("sad", "ended") == {("chris", "true", 10, 2)}


def test_a_delayed_effect_names_the_record_of_its_initiation() -> None:
    assert rows("tired", "began") == {("chris", "soon", 18, 3), ("chris", "true", 21, 3)}
    assert rows("tired", "ended") == {("chris", "soon", 18, 3)}


def test_a_pattern_has_all_rows_of_each_match() -> None:
    table = cernis.load(RULES).run(EVENTS).provenance("trip")
    assert [(row["match"], row["line"]) for row in table.to_pylist()] == [(0, 1), (0, 3)]


def test_matches_with_the_same_ends_are_told_apart() -> None:
    rules = "e <- a seq b(_) seq c within 10."
    table = cernis.load(rules).run("a|1|1\nb|2|2|x\nb|3|3|y\nc|4|4\n").provenance()
    matches: dict[int, set[int]] = {}
    for row in table.to_pylist():
        matches.setdefault(row["match"], set()).add(row["line"])
    assert sorted(map(sorted, matches.values())) == [[1, 2, 4], [1, 3, 4]]


def test_a_policy_selects_the_rows_of_a_match() -> None:
    rules = ":- consumption(recent). e <- a(_) seq b."
    assert rows("e", "happened", rules, "a|1|1|x\na|2|2|y\nb|3|3\n") == {(None, 2, 2), (None, 2, 3)}


def test_recursion_is_followed_to_all_records() -> None:
    rules = "rise(1, P) <- price(P). rise(N+1, Q) <- rise(N, P) seq price(Q) where Q > P within 9."
    found = rows("rise", "happened", rules, "price|1|1|5\nprice|2|2|7\nprice|4|4|9\n")
    assert {line for number, _, _, _, line in found if number == "3"} == {1, 2, 3}


def test_what_holds_initially_has_a_rule_and_no_record() -> None:
    (row,) = cernis.load(RULES).run(EVENTS).provenance("known").to_pylist()
    assert row["record"] is None
    assert row["rule"] == "<text>:11"


def test_the_table_joins_with_intervals() -> None:
    result = cernis.load(RULES).run(EVENTS)
    table = result.provenance()
    assert table.schema == PROVENANCE
    keys = {(r["fluent"], *r["args"], r["value"], r["start"]) for r in result.intervals.to_pylist()}
    named = {
        (r["name"], *r["args"], r["value"], r["start"])
        for r in table.to_pylist() if r["role"] != "happened"
    }  # fmt: skip
    assert named == keys


def test_times_come_out_as_the_input_has_them() -> None:
    times = pa.array([0, 60], pa.timestamp("s", "UTC"))
    events = {"go_to": pa.table({"occurrence": times, "X": ["a", "a"], "Y": ["x", "y"]})}
    table = cernis.load(RULES).run(events).provenance("location")
    assert pa.types.is_timestamp(table.schema.field("start").type)
    assert pa.types.is_timestamp(table.schema.field("occurrence").type)


def test_events_that_can_be_read_once_only_are_an_error() -> None:
    result = cernis.load(RULES).run(iter(EVENTS.splitlines()))
    with pytest.raises(CernisError, match="read only once"):
        result.provenance()


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(CernisError, match="no fluent or event hapy"):
        cernis.load(RULES).run(EVENTS).provenance("hapy")


@pytest.mark.parametrize("seed", range(30))
def test_what_simple_fluents_and_events_rest_on_is_named(seed: int) -> None:
    """In a random program, each edge of a simple fluent and each happening has a row."""
    scenario, program = next(iter(scenarios(seed, 1)))
    result = program.run(list(scenario.lines))
    named = Counter(
        (row["name"], *row["args"], row["value"], row["start"], row["role"])
        for row in result.provenance().to_pylist()
    )
    for row in result.intervals.to_pylist():
        kind = next(
            entry.kind for relation, entry in program.fluents.items()
            if (relation.name, relation.arity) == (row["fluent"], len(row["args"]))
        )  # fmt: skip
        key = (row["fluent"], *row["args"], row["value"], row["start"])
        if kind == "simple":
            assert named[*key, "began"], f"seed {seed}: {row}"
            assert row["open"] or named[*key, "ended"], f"seed {seed}: {row}"


@pytest.mark.filterwarnings("ignore::cernis.errors.InputWarning")
@pytest.mark.parametrize("seed", range(30))
def test_every_match_of_a_random_pattern_has_its_rows(seed: int) -> None:
    random = Random(seed)
    program = cernis.load("\n".join(Drawing(random).rules()) + "\n")
    result = program.run({"none": []} if not (lines := random_records(random)) else lines)
    named = {
        (row["name"], *row["args"], row["start"], row["end"])
        for row in result.provenance().to_pylist()
    }
    for row in result.happenings.to_pylist():
        start = row["occurrence"] if row["start"] is None else row["start"]
        key = (row["event"], *row["args"], start, row["occurrence"])
        assert key in named, f"seed {seed}: {row}"


def test_a_condition_may_compute_with_what_two_pairs_bind() -> None:
    """The edge of one pair leaves the angle of the other open, which the condition needs."""
    program = cernis.load("""
        turned(A, B, D) :- D is abs(A - B).
        initiatedAt(angle(X)=A, T) :- happensAt(turn(X, A), T).
        holdsFor(alike(X, Y)=true, I) :- holdsFor(angle(X)=A, I1), holdsFor(angle(Y)=B, I2),
            X @< Y, turned(A, B, D), D =< 10, intersect_all([I1, I2], I).
        """)
    result = program.run(["turn|1|1|a|30", "turn|4|4|b|35", "turn|9|9|b|90"])
    rows = [row for row in result.provenance().to_pylist() if row["name"] == "alike"]
    assert {(row["role"], row["occurrence"]) for row in rows} >= {("began", 4), ("ended", 9)}
    assert "holdsFor(alike(a, b)=true, [(5,10)])." in result.text()
