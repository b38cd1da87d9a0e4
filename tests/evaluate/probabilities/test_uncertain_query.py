"""Runs over uncertain records: input of all kinds, intervals, statically determined fluents."""

from __future__ import annotations

import functools
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import cernis
from cernis.errors import CernisError, DataError, UnsupportedError
from cernis.evaluate.probabilities.circuits import Circuits
from tests.reference import credible as plain

SWITCH = """
    initiatedAt(on(X)=true, T) :- happensAt(up(X), T).
    terminatedAt(on(X)=true, T) :- happensAt(down(X), T).
"""
RECORDS = [(0.8, "up", 1, "lamp"), (0.5, "down", 3, "lamp"), (1.0, "up", 4, "door")]
TEXT = "".join(f"{p}::{name}|{t}|{t}|{x}\n" for p, name, t, x in RECORDS)
COURSES = [("door", 5, None, 1.0), ("lamp", 2, 4, 0.8), ("lamp", 4, None, 0.4)]


def courses(result: Any) -> list[tuple[str, int, int | None, float]]:
    return [
        (*row["args"], row["start"], row["end"], pytest.approx(row["probability"]))
        for row in result.probabilities.to_pylist()
    ]


def tables() -> dict[str, pa.Table]:
    return {
        name: pa.table({
            "occurrence": [t for _, n, t, _ in RECORDS if n == name],
            "thing": [x for _, n, _, x in RECORDS if n == name],
            "probability": [p for p, n, _, _ in RECORDS if n == name],
        })
        for name in ("up", "down")
    }  # fmt: skip


def test_text() -> None:
    result = cernis.load(SWITCH).run_uncertain(TEXT)
    assert courses(result) == COURSES
    assert result.probability_text() == (
        "probability(on(door)=true, [(5,1)]).\nprobability(on(lamp)=true, [(2,0.8),(4,0.4)]).\n"
    )
    assert result.summary.used == 3


def test_rows_and_mappings() -> None:
    program = cernis.load(SWITCH)
    rows = [(f"{p}::{name}", t, t, x) for p, name, t, x in RECORDS]
    assert courses(program.run_uncertain(rows)) == COURSES
    mappings = [
        {"name": name, "occurrence": t, "args": [x], "probability": p} for p, name, t, x in RECORDS
    ]
    assert courses(program.run_uncertain(mappings)) == COURSES


def test_tables_and_files(tmp_path: Path) -> None:
    program = cernis.load(SWITCH)
    assert courses(program.run_uncertain(tables())) == COURSES
    for name, table in tables().items():
        parquet.write_table(table, tmp_path / f"{name}.parquet")
    files = [tmp_path / "up.parquet", tmp_path / "down.parquet"]
    assert courses(program.run_uncertain(files)) == COURSES
    lines = [
        json.dumps({"name": n, "occurrence": t, "args": [x], "probability": p})
        for p, n, t, x in RECORDS
    ]
    (tmp_path / "all.jsonl").write_text("\n".join(lines))
    assert courses(program.run_uncertain(tmp_path / "all.jsonl")) == COURSES


def test_csv_with_a_mapping(tmp_path: Path) -> None:
    for name in ("up", "down"):
        own = [f"{x},{t},{p}" for p, n, t, x in RECORDS if n == name]
        (tmp_path / f"{name}.csv").write_text("\n".join(["thing,at,sure", *own]))
    mapping = {
        "input": [
            {"file": f"{name}.csv", "relation": name, "occurrence": "at", "arguments": ["thing"],
             "probability": "sure"}
            for name in ("up", "down")
        ]
    }  # fmt: skip
    files = [tmp_path / "up.csv", tmp_path / "down.csv"]
    result = cernis.load(SWITCH).run_uncertain(files, mapping=mapping)
    assert courses(result) == COURSES


@pytest.mark.parametrize("chance", ["1.5", "-0.1", "nan", "x", "", "0.5::0.5"])
def test_a_probability_that_cannot_be_is_set_aside(chance: str) -> None:
    program = cernis.load(SWITCH)
    for text in (f"{chance}::up|2|2|lamp\nup|3|3|lamp\n", f"up|3|3|lamp\n {chance} ::up|2|2|lamp"):
        for records in (text, text.splitlines()):
            result = program.run_uncertain(records)
            assert [aside.reason for aside in result.summary.set_aside] == [
                "a probability must be a number from 0 to 1"
            ]
            assert result.probability_text() == "probability(on(lamp)=true, [(4,1)]).\n"


def test_bad_probabilities_of_tables_and_rows() -> None:
    program = cernis.load(SWITCH)
    table = pa.table({"occurrence": [1, 2, 3, 4], "x": ["a"] * 4,
                      "probability": [0.5, 1.5, float("nan"), None]})  # fmt: skip
    result = program.run_uncertain({"up": table, "down": []})
    assert len(result.summary.set_aside) == 3
    assert result.probability_text() == "probability(on(a)=true, [(2,0.5)]).\n"
    rows = [{"name": "up", "occurrence": 1, "args": ["a"], "probability": p} for p in (2, "x", 1)]
    assert len(program.run_uncertain(rows).summary.set_aside) == 2
    bad = table.set_column(2, "probability", pa.array(["much"] * 4))
    with pytest.raises(DataError, match="probability of up must hold numbers"):
        program.run_uncertain({"up": bad})


def test_a_certain_run_sets_uncertain_records_aside() -> None:
    result = cernis.load(SWITCH).run(TEXT)
    assert [aside.line for aside in result.summary.set_aside] == [1, 2]
    assert "uncertain" in result.summary.set_aside[0].reason
    assert result.summary.set_aside[0].text == "0.8::up|1|1|lamp"
    assert result.text() == "holdsFor(on(door)=true, [(5,inf)]).\n"
    rows = [(f"{p}::{name}", t, t, x) for p, name, t, x in RECORDS]
    assert len(cernis.load(SWITCH).run(rows).summary.set_aside) == 2


def test_what_holds_initially_by_chance_needs_an_uncertain_run() -> None:
    with pytest.raises(UnsupportedError, match="initially has a probability"):
        cernis.load("0.3::initially(on(a)=true)." + SWITCH).run(TEXT)


def test_a_retraction_takes_back_the_record_of_its_probability() -> None:
    text = "0.5::up|1|1|a\n0.8::up|1|1|a\n0.5::-up|3|1|a\n"
    result = cernis.load(SWITCH).run_uncertain(text)
    assert result.probability_text() == "probability(on(a)=true, [(2,0.8)]).\n"


@pytest.mark.parametrize("seed", range(6))
def test_intervals_are_the_most_credible_of_the_course(seed: int) -> None:
    chance = random.Random(seed)
    print(f"seed {seed}")
    lines = [
        f"{chance.choice([0.2, 0.5, 0.9])}::{chance.choice(['up', 'down'])}|{time}|{time}|a\n"
        for time in sorted(chance.sample(range(1, 60), 14))
    ]
    result = cernis.load(SWITCH).run_uncertain("".join([*lines, "up|60|60|b\n"]), start=0)
    course = [0.0] * 61
    for row in result.probabilities.to_pylist():
        if row["args"] == ["a"]:
            for time in range(row["start"], min(row["end"] or 62, 62)):
                course[time - 1] = row["probability"]
    expected = plain.most_credible(plain.maximal_intervals(course, 0.5), course)
    found = [row for row in result.intervals.to_pylist() if row["args"] == ["a"]]
    assert [(row["start"], (row["end"] or 62) - 1) for row in found] == expected
    means = [float(plain.mean(course, each)) for each in expected]
    assert [row["probability"] for row in found] == pytest.approx(means, abs=1e-9)
    assert [row["open"] for row in found] == [end == 61 for _, end in expected]


def test_bounded_memory_and_thresholds() -> None:
    text = "0.6::up|5|5|a\ndown|9|9|a\n0.6::up|20|20|a\ndown|22|22|a\nup|40|40|b\n"
    program = cernis.load(SWITCH)
    whole = program.run_uncertain(text, threshold=0.6)
    assert [(r["start"], r["end"]) for r in whole.fluent("on").to_pylist() if r["x"] == "a"] == [
        (6, 10), (21, 23),
    ]  # fmt: skip
    none = program.run_uncertain(text, thresholds={"on": 0.9})
    assert {row["x"] for row in none.fluent("on").to_pylist()} == {"b"}
    for durations in (None, {"on/1": (4.0, 2.0)}, {"on": {"mean": 4, "deviation": 2}}):
        bounded = program.run_uncertain(text, threshold=0.6, memory=2, durations=durations)
        assert bounded.text() == program.run_uncertain(
            text, threshold=0.6, memory=2, durations=durations
        ).text()  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"threshold": 1.2}, "threshold must be"),
        ({"thresholds": {"on": "high"}}, "threshold of on must be"),
        ({"memory": -1}, "memory must be"),
        ({"durations": {"on": (1, 1)}}, "say how large the memory is"),
        ({"memory": 5, "durations": {"on": (1, -1)}}, "durations are a mean"),
        ({"memory": 5, "durations": {"on": 7}}, "durations are a mean"),
        ({"memory": 5, "durations": "nowhere.toml"}, "nowhere.toml: cannot be read"),
        ({"uncertain": 5}, "named in a list"),
        ({"threshold": "half"}, "threshold must be a number from 0 to 1, not 'half'"),
        ({"thresholds": {"onn": 0.5}}, "did you mean on"),
    ],
)
def test_settings_that_make_no_sense_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        cernis.load(SWITCH).run_uncertain(TEXT, **given)


def test_background_facts_with_probabilities() -> None:
    rules = """
        0.8::tug(a). 0.5::tug(b). tug(c). 0.5::tug(b). 0.4::pilot(a, x). 0.0::tug(d).
        tows(X) :- tug(X), \\+ pilot(X, _).
        initiatedAt(towing(X)=true, T) :- happensAt(pulls(X), T), tows(X).
        initiatedAt(other(X)=true, T) :- happensAt(pulls(X), T), \\+ tug(X).
        initiatedAt(one(Y)=true, T) :- happensAt(sees(X), T), tug(Y), X \\= Y.
    """
    text = "".join(f"0.5::pulls|1|1|{x}\n" for x in "abcd") + "sees|3|3|a\n"
    result = cernis.load(rules).run_uncertain(text)
    assert result.probability_text() == (
        "probability(one(b)=true, [(4,0.75)]).\n"
        "probability(one(c)=true, [(4,1)]).\n"
        "probability(other(a)=true, [(2,0.1)]).\n"
        "probability(other(b)=true, [(2,0.125)]).\n"
        "probability(other(d)=true, [(2,0.5)]).\n"
        "probability(towing(a)=true, [(2,0.24)]).\n"
        "probability(towing(b)=true, [(2,0.375)]).\n"
        "probability(towing(c)=true, [(2,0.5)]).\n"
    )
    with pytest.raises(CernisError, match="tug/1: has facts with a probability"):
        cernis.load(rules).run("pulls|1|1|a\n")


def test_input_fluents_on_intervals_that_overlap() -> None:
    rules = """
        collectIntervals(near(_)=true).
        initiatedAt(met(X)=true, T) :- happensAt(see(X), T), holdsAt(near(X)=true, T).
        initiatedAt(lost(X)=true, T) :- happensAt(see(X), T), \\+ holdsAt(near(X)=true, T).
        both(X)=true iff near(X)=true, met(X)=true.
    """
    text = "0.5::near|9|2|6|true|a\n0.5::near|9|4|9|true|a\nsee|5|5|a\nnear|9|12|14|true|a\n"
    result = cernis.load(rules).run_uncertain(text + "0.5::see|13|13|a\nsee|1|1|b\n")
    assert result.probability_text() == (
        "probability(both(a)=true, [(6,0.375),(9,0),(12,0.75),(14,0)]).\n"
        "probability(lost(a)=true, [(6,0.25)]).\n"
        "probability(lost(b)=true, [(2,1)]).\n"
        "probability(met(a)=true, [(6,0.75),(14,0.875)]).\n"
    )
    assert [row["fluent"] for row in result.intervals.to_pylist()].count("both") >= 1


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (
            "initiatedAt(f=true, T) :- happensAt(startI(on(a)=true), T)." + SWITCH,
            "is not defined over",
        ),
        (
            "fi(on(X)=true, on(X)=false, 10). "
            "initiatedAt(f=true, T) :- terminatedAt(on(a)=true, T)." + SWITCH,
            "it has delayed effects, and its initiations",
        ),
    ],
)
def test_what_is_not_defined_is_refused(rules: str, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        cernis.load(rules).run_uncertain(TEXT)


CROWD = """
    initiatedAt(crowd(N)=true, T) :-
        happensAt(tick, T), findall(P, happensAt(seen(P), T), L), length(L, N), N >= 2.
    initiatedAt(weight=true, T) :-
        happensAt(tick, T), findall(W, (happensAt(seen(P), T), weighs(P, W)), L),
        length(L, N), N =:= 1.
    initiatedAt(alone(P)=true, T) :-
        happensAt(seen(P), T), findall(Q, happensAt(seen(Q), T), L), length(L, N), N =:= 1.
    weighs(x, 2). weighs(z, 5).
"""


def test_delayed_effects_of_what_is_made_of_intervals() -> None:
    """What is said to do in place of what is not defined."""
    rules = (
        SWITCH
        + """
        lit(X)=true iff on(X)=true.
        initiatedAt(warm(X)=true, T) :- happensAt(start(lit(X)=true), T).
        ft(warm(_)=true, 5).
    """
    )
    result = cernis.load(rules).run_uncertain("0.9::up|10|10|a\n", start=0, end=20)
    (warm,) = result.fluent("warm").to_pylist()
    (lit,) = result.fluent("lit").to_pylist()
    assert (warm["start"], warm["end"]) == (lit["start"], lit["start"] + 5)


def test_patterns_over_certain_events() -> None:
    rules = """
        both(X) <- (a(X) seq b(X)) within 10.
        initiatedAt(f(X)=true, T) :- happensAt(both(X), T), happensAt(c(X), T).
    """
    program = cernis.load(rules)
    certain = program.run_uncertain("a|1|1|x\nb|4|4|x\n0.5::c|4|4|x\n")
    assert certain.probability_text() == "probability(f(x)=true, [(5,0.5)]).\n"
    doubted = program.run_uncertain("0.5::a|1|1|x\nb|4|4|x\n0.5::c|4|4|x\n")
    assert doubted.probability_text() == "probability(f(x)=true, [(5,0.25)]).\n"


def test_counting_in_every_possible_world() -> None:
    text = "tick|1|1\n" + "".join(f"{p}::seen|1|1|{x}\n" for p, x in
                                  ((0.5, "x"), (0.2, "y"), (0.5, "z"), (0.5, "z")))  # fmt: skip
    found = cernis.load(CROWD).run_uncertain(text + "tick|2|2\nseen|2|2|x\nseen|2|2|y\n")
    # z is seen with 0.75, however often it is told.
    x, y, z = 0.5, 0.2, 0.75
    two = x * y * (1 - z) + x * (1 - y) * z + (1 - x) * y * z
    expected = {
        "crowd(2)=true": [two, 1.0],
        "crowd(3)=true": [x * y * z],
        "weight=true": [x * (1 - z) + (1 - x) * z, 1.0],
        "alone(x)=true": [x * (1 - y) * (1 - z)],
        "alone(y)=true": [(1 - x) * y * (1 - z)],
        "alone(z)=true": [(1 - x) * (1 - y) * z],
    }
    rows: dict[str, list[float]] = {}
    for row in found.probabilities.to_pylist():
        args = f"({','.join(row['args'])})" if row["args"] else ""
        rows.setdefault(f"{row['fluent']}{args}=true", []).append(row["probability"])
    assert rows == {pair: pytest.approx(own) for pair, own in expected.items()}


def test_too_many_possible_worlds_are_refused() -> None:
    text = "tick|1|1\n" + "".join(f"0.5::seen|1|1|{x}\n" for x in range(13))
    with pytest.raises(UnsupportedError, match="over 13 uncertain"):
        cernis.load(CROWD).run_uncertain(text)


def test_a_large_circuit_names_its_fluent(monkeypatch: pytest.MonkeyPatch) -> None:
    small = functools.partial(Circuits, most=3)
    monkeypatch.setattr("cernis.evaluate.probabilities.whole_probabilities.Circuits", small)
    rules = "initiatedAt(f=true, T) :- happensAt(a(X), T), happensAt(b(X), T)."
    text = "".join(f"0.5::{name}|1|1|{x}\n" for name in "ab" for x in range(6))
    with pytest.raises(CernisError, match="f/0: at one point its rules rest on 12 uncertain"):
        cernis.load(rules).run_uncertain(text)


def test_runs_over_long_times() -> None:
    text = "0.9::up|1000000000000|1000000000000|a\n0.9::down|1000000000100|1000000000100|a\n"
    program = cernis.load(SWITCH)
    text += "0.9::up|5|5|b\n0.9::down|20|20|b\n"
    found = program.run_uncertain(text, end=2_000_000_000_000)
    # It reaches as far before and behind as what is above the threshold makes up for.
    (row,) = [row for row in found.intervals.to_pylist() if row["args"] == ["a"]]
    assert row["start"] <= 1_000_000_000_001 < 1_000_000_000_101 <= row["end"]
    assert row["end"] - row["start"] < 250
    assert row["probability"] >= 0.5
    with pytest.raises(DataError, match="choose a longer tick"):
        program.run_uncertain(text, memory=5)
    with pytest.raises(DataError, match="choose a longer tick"):
        program.run_uncertain(text + "up|30|30|b\n0.5::down|31|31|b\n")


def test_no_records() -> None:
    result = cernis.load(SWITCH).run_uncertain([])
    assert result.text() == result.probability_text() == ""
    assert len(result.intervals) == len(result.probabilities) == 0


@pytest.mark.parametrize(("settings", "said"), [
    ({"memory": "60"}, "the memory must be a whole number of starts, not '60'"),
    ({"memory": 1.5}, "whole number of starts"),
    ({"seed": "a"}, "the seed must be a whole number"),
    ({"thresholds": {"alrm": 0.95}}, "of alrm: there is no such fluent; did you mean alarm"),
    ({"thresholds": {"alarm/3": 0.95}}, "there is no such fluent; did you mean alarm"),
    ({"thresholds": {"fire": 0.95}}, "there is no such fluent; there are alarm/1"),
    ({"thresholds": [0.95]}, "thresholds are given by fluent"),
    ({"durations": {"x": (3, 1)}, "memory": 2}, "durations of x: there is no such fluent"),
    ({"durations": [3, 1], "memory": 2}, "durations are a file, or are given by fluent"),
    ({"tick": 1 << 63}, "the tick must be a positive whole number below 2"),
    ({"tick": "5"}, "the tick must be a positive whole number"),
])  # fmt: skip
def test_settings_that_make_no_sense(settings: dict[str, Any], said: str) -> None:
    program = cernis.load("initiatedAt(alarm(X)=true, T) :- happensAt(smoke(X), T).\n")
    with pytest.raises(DataError, match=said):
        program.run_uncertain("0.5::smoke|1|1|a\n", **settings)
    with pytest.raises(DataError, match=said):
        program.uncertain_session(**settings)
