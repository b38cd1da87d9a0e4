"""Records are signed with the bits of the conditions that they fulfil."""

from pathlib import Path

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
