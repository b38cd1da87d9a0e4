"""Minimal sets of records, colours, and times in the form of the data."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

import cernis
from cernis.answers.answer_lines import argument_text
from cernis.explain.explaining import RunLimits, explain
from cernis.explain.explanation_tree import Explanation
from cernis.explain.replays import only
from cernis.knowledge.ground_values import field_value
from cernis.program import Program
from tests.agreement.compare import scenarios
from tests.generators.patterns import Drawing, random_records

TOY = """
initiatedAt(rich(X)=true, T)  :- happensAt(win(X), T).
terminatedAt(rich(X)=true, T) :- happensAt(lose(X), T).
"""


def test_of_several_records_those_are_kept_that_are_needed() -> None:
    explanation = cernis.load(TOY).explain("win|1|1|a\nlose|9|9|a\n", "rich(a)", 3)
    assert [record.text for record in explanation.records] == ["win|1|1|a", "lose|9|9|a"]
    assert [record.text for record in explanation.minimal_records()] == ["win|1|1|a"]


def test_colours_are_only_there_if_asked_for() -> None:
    explanation = cernis.load(TOY).explain("win|1|1|a\n", "rich(a)", 3)
    assert "\033[32m" in explanation.text(colour=True)
    assert "\033" not in explanation.text()


def test_times_are_written_as_the_input_has_them() -> None:
    times = pa.array([60, 120], pa.timestamp("s", "UTC"))
    events = {"win": pa.table({"occurrence": times, "X": ["a", "b"]})}
    program = cernis.load(TOY)
    explanation = program.explain(events, "rich(a)", "1970-01-01T00:01:30")
    assert explanation.holds
    assert "began at 1970-01-01T00:01:00Z" in explanation.text()
    assert "win|1970-01-01T00:01:00Z|1970-01-01T00:01:00Z|a" in explanation.text()
    assert program.explain(events, "rich(a)", "00:02").time == 120
    assert program.explain(events, "rich(a)", "0:01:30").time == 90


def check_minimal(program: Program, explanation: Explanation, text: str) -> None:
    """Without any record of a minimal set, the answer is not given."""
    numbers = {record.number for record in explanation.minimal_records()}
    assert explanation.check is not None, text
    assert explanation.check(numbers), text
    assert not any(explanation.check(numbers - {each}) for each in numbers), text


@pytest.mark.filterwarnings("ignore::cernis.errors.InputWarning")
@pytest.mark.parametrize("seed", range(100, 140))
def test_minimal_sets_of_random_programs(seed: int) -> None:
    """All kinds of definitions; the check runs the program, which compares with nothing of ours."""
    scenario, program = next(iter(scenarios(seed, 1)))
    records = program.records(list(scenario.lines))
    result = program.run(records)
    limits = RunLimits(start=result.summary.start, end=result.summary.end)
    rows = [row for row in result.intervals.to_pylist() if "(" not in row["fluent"]]
    Random(seed).shuffle(rows)
    for row in rows[:2]:
        question = _pair(row)
        explanation = explain(program.plan, records, question, row["start"], limits)
        assert explanation.holds, f"seed {seed}: {question}"
        check_minimal(program, explanation, f"seed {seed}: {question} at {row['start']}")
        numbers = {record.number for record in explanation.minimal_records()}
        again = program.run(only(records, numbers), start=limits.start, end=limits.end)
        holding = {_pair(each) for each in again.holds_at(row["start"]).to_pylist()}
        assert question in holding, f"seed {seed}: {question}"


@pytest.mark.filterwarnings("ignore::cernis.errors.InputWarning")
@pytest.mark.parametrize("seed", range(100, 130))
def test_minimal_sets_of_random_patterns(seed: int) -> None:
    random = Random(seed)
    program = cernis.load("\n".join(Drawing(random).rules()) + "\n")
    lines = random_records(random)
    records = program.records(lines) if lines else program.records({"none": []})
    result = program.run(records)
    limits = RunLimits(start=result.summary.start, end=result.summary.end)
    for row in result.happenings.to_pylist()[:2]:
        question = _entity(row["event"], row["args"])
        explanation = explain(program.plan, records, question, row["occurrence"], limits)
        assert explanation.holds, f"seed {seed}: {question}"
        check_minimal(program, explanation, f"seed {seed}: {question} at {row['occurrence']}")


def _entity(name: str, args: list[str]) -> str:
    inside = ", ".join(argument_text(field_value(arg)) for arg in args)
    return f"{name}({inside})" if args else name


def _pair(row: dict[str, object]) -> str:
    args = row["args"]
    assert isinstance(args, list)
    held = argument_text(field_value(str(row["value"])))
    return f"{_entity(str(row['fluent']), args)}={held}"
