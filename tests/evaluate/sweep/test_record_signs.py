"""Records are signed with the bits of the conditions that they fulfil."""

from pathlib import Path
from random import Random

import numpy as np
import pytest

import cernis
from cernis.check.model import Event, Relation
from cernis.evaluate.relation_layout import context_of
from cernis.evaluate.run import Run
from cernis.evaluate.sweep.record_signs import RecordSigns, RecordTest
from cernis.evaluate.windows import Window
from cernis.plan.builder import Plan
from cernis.plan.logical import (
    Compute,
    Except,
    Exclude,
    Filter,
    Lookup,
    PointOperator,
    PointRule,
    Resolve,
    Scan,
)
from cernis.records.record_sources import read_events
from tests.evaluate.sweep.test_sweep_then_columns import answers

EXAMPLES = Path(__file__).parents[3] / "examples"


def leading_conditions(rule: PointRule) -> tuple[PointOperator, ...]:
    """The scan of a rule and the conditions that follow it at once."""
    steps = [rule.steps[0]]
    for step in rule.steps[1:]:
        if not isinstance(step, Filter | Compute | Lookup | Exclude | Resolve | Except):
            break
        steps.append(step)
    return tuple(steps)


def conditions_by_event(plan: Plan) -> dict[Relation, list[RecordTest]]:
    """For each input event, the conditions of all rules that begin with it."""
    tests: dict[Relation, list[RecordTest]] = {}
    for stage in plan.stages:
        for stratum in stage.strata:
            for definition in stratum.definitions:
                for rule in definition.rules:
                    if not isinstance(rule, PointRule) or not isinstance(rule.steps[0], Scan):
                        continue
                    event = rule.steps[0].occurrence
                    if isinstance(event, Event):
                        known = tests.setdefault(event.relation, [])
                        if len(known) < 64:
                            known.append(RecordTest(len(known), leading_conditions(rule)))
    return tests


@pytest.mark.parametrize(
    "name", ["maritime", "fleet", "feedback", "voting", "netbill", "surveillance", "toy"]
)
def test_signs_are_what_operators_decide(name: str) -> None:
    """In two batches, so that tables grow with the values that the second one brings."""
    folder = EXAMPLES / name
    plan = cernis.load(folder / "rules.cer", [folder / "facts.cer"]).plan
    records = read_events(folder / "events.txt", plan.checked)
    run = Run(plan)
    run.enter_workspace(run.forms_of(records))
    context = context_of(plan, run.domains, run.memo, run.tick, run.ties, Window(0, 1 << 40, 0), 0)
    encoded = run.encoder.encode_records(records)
    run.begin(0)
    population = run.make_population()
    population.update({}, run.memory, context)
    compared = 0
    for relation, tests in conditions_by_event(plan).items():
        if relation not in encoded.events:
            continue
        events = encoded.events[relation]
        signs, operators = (RecordSigns(tests, events.domains) for _ in range(2))
        operators.decide_by_operators()
        half = len(events.times) // 2
        for part in (slice(0, half), slice(half, None)):
            given = [column[part] for column in events.arguments], events.times[part], context
            assert signs.words(*given).tolist() == operators.words(*given).tolist(), relation
        compared += len(events.times)
    assert compared


ANGLES = """
far(one, 16.5). far(two, 1.0e9). far(three, 3).
initiatedAt(slow(V)=true, T) :- happensAt(at(V, Speed, _, _), T), Speed < inf, Speed >= 0.
initiatedAt(far(V)=true, T) :- happensAt(at(V, Speed, _, _), T), far(V, Most), Speed > Most,
    Speed < inf.
initiatedAt(turned(V)=true, T) :- happensAt(at(V, _, Course, Heading), T), Heading =\\= 511,
    A is Course - Heading + 180, M is A - floor(A / 360) * 360, abs(M - 180) > 45.
initiatedAt(halved(V)=true, T) :- happensAt(at(V, _, Course, Heading), T),
    floor(Course / 2) * 2 =:= Course, floor(Heading / -8) < Heading / 3.5.
initiatedAt(shared(V)=true, T) :- happensAt(at(V, Speed, Course, _), T), Course / Speed > 2.
"""
NUMBERS = [0, 1, -1, 3, 7, 8, 359, 360, 361, 511, 2**31, 0.5, -0.25, 179.75, 360.0, 511.0, 1e9]
LARGE = [2**50, 2**50 + 1, 2**53 + 1, -(2**60), 1e17, 2.0**52]


@pytest.mark.parametrize("seed", range(6))
def test_quotients_and_numbers_without_end(seed: int) -> None:
    random = Random(seed)
    plan = cernis.load(ANGLES).plan
    numbers = [each for each in NUMBERS if seed % 3 or isinstance(each, int)]
    numbers += LARGE if seed > 3 else []
    lines = [
        f"at|{time}|{time}|{random.choice(['one', 'two', 'three'])}|"
        + "|".join(repr(random.choice(numbers)) for _ in range(3))
        for time in range(1, 200)
    ]
    walked, by_columns = answers(plan, "\n".join(lines) + "\n", 50, 20)
    assert walked == by_columns


def test_of_quotients_all_are_decided_in_one_pass() -> None:
    plan = cernis.load(ANGLES).plan
    run = Run(plan)
    run.over(read_events("at|1|1|one|2|3|4\n", plan.checked))
    context = run.context(Window(0, 9, 0))
    (tests,) = conditions_by_event(plan).values()
    signs = RecordSigns(tests, context.encoding.event(Relation("at", 4)))
    columns = [np.zeros(1, np.int64), *(np.array([each]) for each in (2, 3, 4))]
    signs.words(columns, np.ones(1, np.int64), context)
    assert [test.bit for test in signs._others] == [len(tests) - 1]
