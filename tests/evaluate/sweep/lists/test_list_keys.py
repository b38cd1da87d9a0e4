"""Conditions on keys of several values are decided by tables as operators decide them."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

import cernis
from cernis.evaluate.run import Run
from cernis.evaluate.sweep.key_numbers import KeyNumbers
from cernis.evaluate.sweep.lane_keys import fulfilling
from cernis.evaluate.sweep.lists.list_keys import KeyConditions
from cernis.evaluate.windows import Window
from cernis.operators.context.query_context import Context
from cernis.plan.sweep.lanes import ListCondition
from cernis.records.record_sources import read_events
from tests.evaluate.sweep.test_sweep_then_columns import answers

RULES = """
kind(a, tug). kind(b, pilot). kind(c, tug). kind(d, cargo). kind(c, cargo).
size(a, 3). size(b, 9). size(c, 4). size(d, 9).
near(a, b). near(c, d).
large(X) :- size(X, S), S > 3.
tug_or_large(X) :- kind(X, tug).
tug_or_large(X) :- large(X).
"""
HEADS = """
holdsFor(both(X, Y)=true, I) :- holdsFor(close(X, Y)=true, I), BODY.
collectIntervals(close(_, _)=true).
grounding(close(X, Y)=true) :- kind(X, _), kind(Y, _).
grounding(both(X, Y)=true) :- kind(X, _), kind(Y, _).
"""
BODIES = [
    "\\+ (kind(X, tug), kind(Y, _))",
    "(kind(X, tug) ; kind(Y, tug))",
    "(kind(X, tug), size(Y, 9) ; kind(Y, tug), large(X))",
    "\\+ (kind(X, tug) ; kind(Y, tug))",
    "\\+ (kind(X, K), kind(Y, K))",
    "size(X, S), size(Y, S)",
    "near(X, Y)",
    "kind(X, tug), \\+ large(Y)",
    "size(X, S), S > 3, (kind(Y, tug) ; large(Y))",
    "size(X, S), \\+ (size(Y, R), R > S)",
    "tug_or_large(X), \\+ tug_or_large(Y)",
]


def _conditions(body: str) -> tuple[list[ListCondition], Context]:
    program = cernis.load(RULES + HEADS.replace("BODY", body))
    run = Run(program.plan)
    run.over(read_events("close|2|1|2|true|a|b\n", program.checked))
    conditions = [c for lists in program.plan.list_programs.values() for c in lists.conditions]
    return conditions, run.context(Window(0, 9, 0))


@pytest.mark.parametrize("body", BODIES)
def test_tables_and_operators_agree(body: str) -> None:
    conditions, context = _conditions(body)
    assert conditions
    domain = context.encoding.predicate("kind", 2)[0]
    assert domain is not None
    codes = domain.encode(["a", "b", "c", "d", "e"]).tolist()
    width = len(conditions[0].variables)
    keys = KeyNumbers([domain] * width)
    values = np.array(list(product(codes, repeat=width)), np.int64)
    numbers = keys.enter(list(values.T), len(values))
    is_met = KeyConditions(conditions, [domain] * width).decide(keys, numbers, context)
    for row, condition in enumerate(conditions):
        steps = condition.steps
        expected = fulfilling(condition.variables, steps, keys, numbers, context)
        decided = numbers[np.flatnonzero(is_met[row])]
        assert sorted(decided.tolist()) == sorted(set(numbers[expected].tolist()))


@pytest.mark.parametrize("body", BODIES)
def test_pairs_are_walked_as_by_columns(body: str) -> None:
    random = Random(BODIES.index(body))
    plan = cernis.load(RULES + HEADS.replace("BODY", body)).plan
    lines = []
    for _ in range(40):
        start = random.randint(1, 50)
        end = start + random.randint(1, 9)
        lines.append(
            f"close|{end}|{start}|{end}|true|{random.choice('abcd')}|{random.choice('abcd')}"
        )
    walked, by_columns = answers(plan, "\n".join(lines) + "\n", 20, 7)
    assert walked == by_columns
