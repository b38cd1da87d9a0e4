"""Functions that a caller gives: typed, called over columns, known by what they do."""

from __future__ import annotations

import functools
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

import cernis
from cernis.errors import DataError, FunctionFault
from cernis.knowledge.user_functions import known_function, user_functions
from cernis.plan import explain
from tests.agreement.compare import Scenario, by_engine
from tests.reference import arithmetic
from tests.reference.evaluate import Settings, evaluate
from tests.reference.load import items_of
from tests.reference.program import read_program
from tests.reference.records import read_records

RULES = """\
initiatedAt(ill(B)=true, T)  :- happensAt(vital(B, H, S), T), risk(H, S) > 1.
terminatedAt(ill(B)=true, T) :- happensAt(vital(B, H, S), T), risk(H, S) =< 1.
initiatedAt(level(B)=L, T)   :- happensAt(vital(B, H, S), T), L is risk(H, S) * 10.
initiatedAt(bad(B)=true, T)  :- happensAt(vital(B, H, S), T), grave(H, S).
happensAt(alarm(B), T)       :- happensAt(vital(B, H, S), T), S > 0, risk(H, S) > 2.
grave(H, S) :- R is risk(H, S), R > 1.5.
"""


def risk(pulse: float, oxygen: float) -> float:
    return pulse / oxygen


def is_odd(number: int) -> bool:
    return number % 2 == 1


def load(rules: str = RULES, **functions: Any) -> cernis.Program:
    return cernis.load(rules, functions=functions or {"risk": risk})


def drawn(seed: int) -> tuple[str, ...]:
    """Records of a few beds, with whole numbers, floats and now and then a text."""
    chance = Random(seed)
    values = [lambda: chance.randrange(1, 9), lambda: chance.randrange(1, 18) / 2]
    lines = []
    for _ in range(40):
        time, bed = chance.randrange(30), chance.choice("ab")
        pulse, oxygen = (chance.choice(values)() for _ in range(2))
        lines.append(f"vital|{time}|{time}|{bed}|{pulse}|{oxygen}")
    return tuple(lines)


@pytest.mark.parametrize("seed", range(12))
def test_engine_and_reference_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    print("seed", seed)
    monkeypatch.setitem(arithmetic.ROW_FUNCTIONS, "risk", lambda pulse, oxygen: pulse / oxygen)
    window = {"window": 9, "step": 5} if seed % 2 else {}
    scenario = Scenario(tuple(RULES.splitlines()), drawn(seed), window)  # type: ignore[arg-type]
    items = items_of(scenario.rules)
    records = read_records("\n".join(scenario.lines), read_program(items))
    expected = evaluate(items, records, Settings(**window))
    answer = by_engine(scenario, load())
    assert sorted(answer.text().splitlines()) == sorted(expected.text().splitlines())


def test_sessions_give_what_runs_give() -> None:
    lines = drawn(7)
    program = load()
    session = program.session()
    for start in range(0, len(lines), 10):
        session.insert(list(lines[start : start + 10]))
    assert len(session.query(40)) > 0
    assert session.query(41).query == 41


def test_a_function_is_called_for_many_rows_at_once() -> None:
    sizes = []

    def seen(number: float) -> float:
        sizes.append(np.shape(number))
        return number

    rules = "initiatedAt(high(B)=true, T) :- happensAt(vital(B, H, _), T), seen(H) > 4."
    load(rules, seen=seen).run(list(drawn(1)))
    assert len(sizes) == 1


def test_truth_values_are_conditions_and_can_be_negated() -> None:
    rules = """
    initiatedAt(odd(B)=true, T)  :- happensAt(vital(B, H, _), T), is_odd(H).
    initiatedAt(even(B)=true, T) :- happensAt(vital(B, H, _), T), \\+ is_odd(H).
    """
    result = load(rules, is_odd=is_odd).run("vital|1|1|a|3|1\nvital|2|2|b|4|1\nvital|3|3|c|2.5|1\n")
    assert result.text().splitlines() == [
        "holdsFor(even(b)=true, [(3,inf)]).", "holdsFor(even(c)=true, [(4,inf)]).",
        "holdsFor(odd(a)=true, [(2,inf)]).",
    ]  # fmt: skip


def test_rows_that_conditions_left_out_are_not_given_to_a_function() -> None:
    def root(number: float) -> float:
        assert (np.asarray(number) >= 0).all()
        return np.sqrt(number)  # type: ignore[no-any-return]

    rules = "initiatedAt(high(B)=true, T) :- happensAt(v(B, H), T), H >= 0, root(H) > 2."
    text = load(rules, root=root).run("v|1|1|a|9\nv|2|2|b|-9\nv|3|3|c|word\n").text()
    assert text == "holdsFor(high(a)=true, [(2,inf)]).\n"


def test_columns_may_be_those_of_arrow() -> None:
    halved = cernis.column_function(lambda x: pc.divide(x, 2.0), ["float"], "float", "arrow")
    rules = "initiatedAt(high(B)=true, T) :- happensAt(v(B, H), T), halved(H) > 4."
    assert "high(a)" in load(rules, halved=halved).run("v|1|1|a|9\nv|2|2|b|8\n").text()


def fails(number: float) -> float:
    raise RuntimeError("no table of risks")


def too_few(number: float) -> float:
    return np.zeros(7)  # type: ignore[return-value]


def words(number: float) -> float:
    return np.array(["x"])  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (fails, "the function f failed: RuntimeError: no table of risks"),
        (too_few, "it gave 7 values for 1 rows"), (words, "it gave <U1, and is declared float"),
    ],
)  # fmt: skip
def test_a_fault_names_the_rule_and_the_function(function: Callable[..., Any], said: str) -> None:
    program = load("initiatedAt(x(B)=true, T) :- happensAt(v(B, H), T), f(H) > 1.", f=function)
    with pytest.raises(FunctionFault) as raised:
        program.run("v|1|1|a|9\n")
    assert str(raised.value).startswith("<text>:1:53, a rule of x/1: the function f failed: ")
    assert said in str(raised.value)
    assert pickle.loads(pickle.dumps(raised.value)).rule == raised.value.rule


@pytest.mark.parametrize(
    ("functions", "said"),
    [
        ({"risk": lambda x: x}, "argument x of the function risk must be float or int"),
        ({"Risk": risk}, "begin the name in lower case"),
        ({"risk": 7}, "the function risk is a int"),
        ([risk], "given by name"),
        ({"max": cernis.column_function(max, ["float", "float"], "float")}, "of the language"),
        ({"risk": math.hypot}, "column_function"),
    ],
)
def test_what_cannot_be_a_function_is_an_error(functions: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        cernis.load(RULES, functions=functions)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("initiatedAt(risk(B, H)=true, T) :- happensAt(v(B, H), T).", "also what this rule"),
        ("initiatedAt(x(B)=true, T) :- happensAt(risk(B, _), T).", "also what this rule"),
        ("initiatedAt(x(B)=true, T) :- happensAt(v(B, H), T), rsk(H, 1) > 2.", "no function rsk/2"),
    ],
)
def test_names_that_clash_or_are_not_there_are_errors(rule: str, said: str) -> None:
    with pytest.raises(cernis.ProgramError, match=said):
        load(rule)


def scaled(factor: float) -> Callable[[float], float]:
    def scale(number: float) -> float:
        return number * factor

    return scale


def test_the_name_in_a_program_changes_with_what_a_function_does(tmp_path: Path) -> None:
    (one,), (same,), (other,) = (user_functions({"f": scaled(factor)}) for factor in (2, 2, 3))
    assert one.functor == same.functor != other.functor
    assert known_function(one.key) == same
    partial = cernis.column_function(functools.partial(pow, 2), ["float"], "float")
    assert user_functions({"f": partial})[0].digest != one.digest
    rules = "initiatedAt(x(B)=true, T) :- happensAt(v(B, H), T), f(H) > 10."
    programs = [load(rules, f=scaled(factor)) for factor in (2, 2, 3)]
    prints = [program.plan.fingerprint for program in programs]
    assert prints[0] == prints[1] != prints[2]
    assert [len(program.run("v|1|1|a|4\n").intervals) for program in programs] == [0, 0, 1]


def test_programs_with_functions_of_modules_can_be_pickled() -> None:
    program = pickle.loads(pickle.dumps(load()))
    assert program.run(list(drawn(3))).text() == load().run(list(drawn(3))).text()


def test_texts_for_people_have_names_without_digests() -> None:
    program = load()
    shown = explain(program.plan) + str(program.explain(list(drawn(3)), "ill(a)=true"))
    assert "risk(H, S) > 1" in shown
    assert "'risk " not in shown
