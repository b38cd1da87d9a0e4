"""A value has one form in every batch, on every way to evaluate, in every file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cernis
from cernis.answers.result import Result
from cernis.check.value_forms import ValueForm
from cernis.errors import CernisError, OverflowFault
from cernis.operators.column_arithmetic import OPERATIONS, applied, as_numbers, compared
from cernis.program import Program
from cernis.session.feed import Feed
from cernis.session.session import Session
from cernis.tables.domains import Domain, numbers_of

WAYS = pytest.mark.parametrize("incremental", [False, True], ids=["scratch", "changes"])


def told(feed: Feed) -> list[tuple[str, str]]:
    """Changes of intervals, as `insert` or `delete` and a text."""
    rows = feed.table().to_pylist()
    return [
        (row["change"], f"{row['fluent']}({', '.join(row['args'])})={row['value']}") for row in rows
    ]


def happened(feed: Feed) -> list[tuple[str, str, tuple[str, ...]]]:
    rows = feed.happenings().to_pylist()
    return [(row["change"], row["event"], tuple(row["args"])) for row in rows]


LEVELS = """
initiatedAt(g(X)=V, T) :- happensAt(v(X, V), T).
happensAt(high(X), T) :- happensAt(v(X, V), T), V > 5.
"""


@WAYS
def test_a_retraction_is_not_lost_when_a_float_is_in_its_batch(incremental: bool) -> None:
    session = Session(cernis.load(LEVELS).plan, incremental=incremental)
    session.insert("v|2|2|a|9\n")
    session.insert("-v|2|2|a|9\nv|5|3|b|2.5\n")
    assert told(session.query(10)) == [("insert", "g(b)=2.5")]
    assert not session.counts.set_aside


@WAYS
@pytest.mark.parametrize("other", ["2.0", "text", "2.5"])
def test_the_feed_takes_back_what_it_told(incremental: bool, other: str) -> None:
    session = Session(cernis.load(LEVELS).plan, window=100, incremental=incremental)
    session.insert("v|2|2|a|2\nv|3|3|c|7\n")
    assert told(session.query(5)) == [("insert", "g(a)=2"), ("insert", "g(c)=7")]
    session.insert(f"v|7|7|b|{other}\n")
    assert told(session.query(10)) == [("insert", f"g(b)={other}")]
    session.insert("-v|12|2|a|2\n-v|12|3|c|7\n")
    feed = session.query(15)
    assert told(feed) == [("delete", "g(a)=2"), ("delete", "g(c)=7")]
    assert happened(feed) == [("delete", "high", ("c",))]


@WAYS
def test_a_class_that_turns_mixed_takes_the_state_before_the_window_along(
    incremental: bool,
) -> None:
    session = Session(cernis.load(LEVELS).plan, window=10, incremental=incremental)
    session.insert("v|2|2|a|2\n")
    session.query(5)
    session.query(30)
    session.insert("v|35|35|b|x\nv|36|36|a|2.0\n")
    assert told(session.query(40)) == [
        ("delete", "g(a)=2"), ("insert", "g(a)=2"), ("insert", "g(a)=2.0"), ("insert", "g(b)=x"),
    ]  # fmt: skip


@WAYS
def test_a_saved_session_knows_the_forms(incremental: bool, tmp_path: Path) -> None:
    program = cernis.load(LEVELS)
    session = Session(program.plan, window=100, incremental=incremental)
    session.insert("v|2|2|a|2\nv|3|3|b|x\n")
    session.query(5)
    session.save(tmp_path / "session")
    again = program.restore(tmp_path / "session")
    again.insert("v|6|6|a|2.0\n-v|7|3|b|x\n")
    assert told(again.query(10)) == [
        ("delete", "g(a)=2"), ("delete", "g(b)=x"), ("insert", "g(a)=2"), ("insert", "g(a)=2.0"),
    ]  # fmt: skip


@WAYS
@pytest.mark.parametrize("value", ["-3", "1000000000000", "2.5", "red"])
def test_a_number_is_no_index_of_a_table(incremental: bool, value: str) -> None:
    program = cernis.load(
        "happensAt(na(X, Y), T) :- happensAt(pair(X, Y), T), X @=< Y.\n"
        "happensAt(ge(X, Y), T) :- happensAt(numbers(X, Y), T), X >= Y.\n"
    )
    session = Session(program.plan, window=20, step=5, incremental=incremental)
    lines = f"numbers|1|5|{value}|5\nnumbers|1|5|9|{value}\npair|2|3|{value}|7\n"
    session.insert(lines)
    found = {row[1:] for row in happened(session.query(10))}
    assert found == of_run(program.run(lines, start=0, end=10))


def of_run(result: Result) -> set[tuple[str, tuple[str, ...]]]:
    return {(row["event"], tuple(row["args"])) for row in result.happenings.to_pylist()}


# -- whole numbers ---------------------------------------------------------------------------

COMPUTED = "happensAt(m(Y), T) :- happensAt(v(A, B), T), Y is {}.\n"
MOST, LEAST = 2**63 - 1, -(2**63)


@pytest.mark.parametrize(
    ("expression", "a", "b", "result"),
    [
        ("A * B", 3037000499, 3037000499, 9223372030926249001), ("A + B", MOST, 0, MOST),
        ("A * B", -4294967296, 2147483648, LEAST), ("A - B", LEAST + 1, 1, LEAST),
        ("A ** B", 2, 62, 2**62), ("A ** B", -2, 63, LEAST), ("A / B", MOST, 7, MOST // 7),
        ("A // B", LEAST, 2, LEAST // 2), ("A mod B", MOST, 10, 7), ("min(A, B)", 3, 3.5, 3),
        ("max(A, B)", 3, 3.5, 3.5), ("A / B", 7, 2, 3.5), ("A / B", 6, 2, 3),
        ("abs(A) + B", -MOST, 0, MOST),
    ],
)  # fmt: skip
def test_exact_results(expression: str, a: Any, b: Any, result: Any) -> None:
    answer = cernis.load(COMPUTED.format(expression)).run(f"v|1|1|{a}|{b}\nv|2|2|x|y\n").answer
    (table,) = answer.events.values()
    (domain,) = table.domains
    codes = table.arguments[0]
    found = codes.tolist() if domain is None else domain.decode(codes)
    assert [(type(each), each) for each in found] == [(type(result), result)]


@pytest.mark.parametrize(
    ("expression", "a", "b"),
    [
        ("A * B", 4000000000, 4000000000), ("A + B", MOST, 1), ("A - B", LEAST, 1),
        ("A ** B", 2, 63), ("A ** B", 10, 10**12), ("-(A) + B", LEAST, 0), ("abs(A) - B", LEAST, 0),
        ("A // B", LEAST, -1), ("A / B", LEAST, -1), ("floor(A * 1.0) + B", MOST, 0),
    ],
)  # fmt: skip
def test_more_than_64_bits_are_an_error_that_names_the_rule(
    expression: str, a: int, b: int
) -> None:
    program = cernis.load(COMPUTED.format(expression))
    with pytest.raises(CernisError) as error:
        program.run(f"v|1|1|{a}|{b}\nv|2|2|1|1\n")
    assert isinstance(error.value, OverflowFault)
    assert "<text>:1:" in str(error.value)
    assert "a rule of m/1" in str(error.value)


@pytest.mark.parametrize("use", ["s(P, N)", "s(P, M)"])
def test_instances_of_intervals_that_compute_too_much_are_an_error(use: str) -> None:
    program = cernis.load(
        f"holdsFor({use}=true, I) :- holdsFor(near(P)=true, J), holdsFor(grip(P, N)=true, K), "
        "next(N, M), complement_all([J, K], I).\nnext(N, M) :- M is N + 1.\n"
    )
    with pytest.raises(OverflowFault, match=r"`N \+ 1` needs more than 64 bits"):
        program.run(f"grip|5|5|true|ann|{MOST}\n")


def test_a_condition_before_rules_out_what_is_too_large() -> None:
    program = cernis.load(
        "happensAt(m(Y), T) :- happensAt(v(A), T), \\+ happensAt(stop(A), T), Y is A + 1.\n"
    )
    result = program.run(f"v|1|1|{MOST}\nstop|1|1|{MOST}\nv|2|2|5\n")
    assert result.text() == "happensAt(m(6), [2]).\n"


# -- how classes are held --------------------------------------------------------------------


def held(program: Program, *lines: str) -> list[str]:
    """The classes of events that are held as arrays of numbers, by their first slot."""
    session = program.session()
    session.insert("\n".join(lines) + "\n")
    session.query(100)
    arrays = session.forms.arrays()
    types = program.checked.types
    return sorted(f"{slot[1]}.{slot[2]}" for slot in types.slots() if types.find(slot) in arrays)


def test_a_class_is_an_array_as_long_as_its_values_are_of_one_form() -> None:
    program = cernis.load("happensAt(d(X, S), T) :- happensAt(v(X, S), T), S > 5.\n")
    both = ["d/2.1", "v/2.1"]
    assert held(program, "v|1|1|a|9", "v|2|2|a|3") == both
    assert held(program, "v|1|1|a|9.5", "v|2|2|a|3.0") == both
    assert held(program, "v|1|1|a|9.5", "v|2|2|a|3") == []
    assert held(program, "v|1|1|a|9", "v|2|2|a|x") == []


def test_forms_follow_what_rules_compute() -> None:
    def form(expression: str, *lines: str) -> ValueForm:
        program = cernis.load(COMPUTED.format(expression) + "happensAt(n, T) :- happensAt(m(Y), T),"
                              " Y > 1.\n")  # fmt: skip
        session = program.session()
        session.insert("\n".join(lines) + "\n")
        session.query(10)
        (slot,) = [own for own in program.checked.types.slots() if str(own[1]) == "m/1"]
        return session.forms.of(slot)

    whole, mixed = "v|1|1|4|2", "v|2|2|4.5|2"
    assert form("A + B", whole) == ValueForm.INTEGER
    assert form("A + B", whole, mixed) == ValueForm.NUMBER
    assert form("A / B", whole) == ValueForm.NUMBER
    assert form("sqrt(A) + B", whole) == ValueForm.FLOAT
    assert form("A // B", whole, mixed) == ValueForm.INTEGER


# -- arithmetic of several forms -------------------------------------------------------------


def test_comparisons_are_exact_whatever_the_form() -> None:
    values = [2**53, 2**53 + 1, float(2**53), 0.5, MOST, LEAST, "inf", "x", -2.5, 3, 3.0]
    random = np.random.default_rng(7)
    pairs = [(values[i], values[j]) for i, j in random.integers(0, len(values), (400, 2))]
    left, right = (numbers_of(list(side)) for side in zip(*pairs, strict=True))
    python = {"<": "__lt__", "=<": "__le__", "=:=": "__eq__", ">": "__gt__", ">=": "__ge__",
              "=\\=": "__ne__"}  # fmt: skip
    for name in python:
        found = compared(name, left, right).tolist()
        assert found == [_compared(name, a, b) for a, b in pairs], name


def _compared(name: str, a: Any, b: Any) -> bool:
    a, b = (float("inf") if each == "inf" else each for each in (a, b))
    if "x" in (a, b):
        return False
    return {"<": a < b, "=<": a <= b, "=:=": a == b, ">": a > b, ">=": a >= b,
            "=\\=": a != b}[name]  # fmt: skip


@pytest.mark.parametrize("name", ["+", "-", "*", "/", "//", "mod", "min", "max", "**"])
def test_operations_on_several_forms_are_those_of_background_knowledge(name: str) -> None:
    from cernis.knowledge.resolution.prolog_arithmetic import Fault, apply

    values: list[Any] = [0, 1, 2, -3, 7, 0.5, 2.0, -1.5, 2**40, 2**53 + 1, 10**18]
    pairs = [(a, b) for a in values for b in values if name != "**" or abs(b) < 100]
    left, right = (numbers_of(list(side)) for side in zip(*pairs, strict=True))
    with np.errstate(all="ignore"):
        found = as_numbers(applied(OPERATIONS[name, 2], [left, right]), len(pairs))
    for row, (a, b) in enumerate(pairs):
        try:
            wanted: Any = apply(name, a, b)
        except Fault as fault:
            wanted = "too large" if "64 bits" in str(fault) or "too large" in str(fault) else None
        kinds = {0: None, 1: int(found.ints[row]), 2: float(found.floats[row]), 3: "too large"}
        got = kinds[int(found.kinds[row])]
        assert (type(got), got) == (type(wanted), wanted), (a, name, b)


def test_numbers_of_a_domain_follow_as_it_grows() -> None:
    domain = Domain()
    domain.encode([1, "a", 2.5])
    assert domain.numbers().kinds.tolist() == [1, 0, 2]
    domain.encode(["inf", 7])
    assert domain.numbers().kinds.tolist() == [1, 0, 2, 2, 1]
    floats = domain.floats()
    assert floats is not None
    assert floats[[0, 2, 3, 4]].tolist() == [1.0, 2.5, np.inf, 7.0]
    domain.encode([2**53 + 1])
    assert domain.floats() is None
