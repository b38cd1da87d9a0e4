"""What must be true of the engine whatever it is asked, on random programs and streams."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from random import Random

import pyarrow as pa
import pytest

import cernis
from cernis.answers.result import as_text
from cernis.check.model import FluentKind, Relation
from cernis.evaluate.answer import Answer
from cernis.evaluate.run import Run
from cernis.knowledge.scope import COLLECTIONS
from cernis.program import Program
from cernis.syntax import parse, show
from cernis.syntax.tree import Clause, Term, functor, walk
from tests.agreement.compare import Scenario, by_engine, scenarios, with_bounds
from tests.generators.programs import Text, random_program
from tests.generators.statics import MODES, fluents_of
from tests.generators.streams import SPAN, Habits, Settings, random_settings, random_stream
from tests.generators.vocabulary import FLUENTS

SEEDS = range(5000, 5060)
"""Not those that are compared with the reference."""


def text_of(scenario: Scenario, program: Program) -> str:
    return as_text(by_engine(scenario, program).answer)


def some(seed: int) -> Iterator[tuple[Scenario, Program]]:
    """Scenarios with their bounds written out, so that what is left out does not move them."""
    return ((with_bounds(scenario), program) for scenario, program in scenarios(seed, 3))


def on_time(
    seed: int, keep: Callable[[Text], bool]
) -> tuple[Random, Text, Program, tuple[str, ...]]:
    """A program, and a stream in which every record arrives as it occurs."""
    random = Random(seed)
    while True:
        text, program = random_program(random)
        if keep(text):
            stream = random_stream(random, text, Habits())
            return random, text, program, tuple(_arriving(line, 0) for line in stream)


def _arriving(line: str, lag: int) -> str:
    """The record, arriving so much after the first point it tells of."""
    name, _, occurrence, *rest = line.split("|")
    return "|".join([name, str(int(occurrence) + lag), occurrence, *rest])


def _tolerant(random: Random, text: Text) -> tuple[Settings, int]:
    """A window with a smaller step, and the lag up to which nothing is lost by it.

    A point is last evaluated at the last query before it is forgotten, at least window - step
    after it, so a record that lags no more than that is there. One tick less, because a fluent
    that is given at a point starts one tick before.
    """
    step = random.randint(1, 6)
    spare = random.randint(1, 6)
    start, tick = text.base, text.tick
    end = start + tick * (SPAN + 2 * spare + step + 9)
    window = tick * (step + spare + 1)
    return {"start": start, "end": end, "window": window, "step": tick * step}, tick * spare


def _looks_no_further(text: Text) -> bool:
    """Can every rule be decided from what holds at one point, for instances known there?

    Then what it says of a point does not depend on when it is asked. Not so with domains that
    grow with the input, with whole intervals, and with instances that other points give, as they
    do for an initiation that leaves an argument open.
    """
    heads = [clause.partition(":-")[0] for clause in text.clauses if clause.startswith("initiat")]
    if any("_" in head for head in heads):
        return False
    further = r"dynamicDomain|intDur|\bcomplement_all|\[\]|" + "|".join(MODES)
    if re.search(further, str(text)):
        return False
    rules = [rule for rule in text.clauses if "holdsFor(" in rule or " iff " in rule]
    return all(_is_about_one_instance(rule) for rule in rules)


def _is_about_one_instance(rule: str) -> bool:
    """Has each fluent of the body all the variables there are?"""
    _, _, body = rule.replace(" iff ", " :- ").partition(" :- ")
    pairs = [frozenset(names) for names in fluents_of(body)]
    everywhere = set(re.findall(r"\b[A-HJ-Z]\d+\b|\b_(?!\w)", rule))
    return all(names == everywhere for names in pairs)


@pytest.mark.parametrize("seed", SEEDS)
def test_any_order_of_arrival_within_tolerance_gives_the_same(seed: int) -> None:
    random, text, program, lines = on_time(seed, _looks_no_further)
    settings, spare = _tolerant(random, text)
    expected = text_of(Scenario(text.clauses, lines, settings), program)
    for _ in range(3):
        late = [_arriving(line, random.randint(0, spare)) for line in lines]
        random.shuffle(late)
        assert text_of(Scenario(text.clauses, tuple(late), settings), program) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_windowed_equals_whole_stream(seed: int) -> None:
    random, text, program, lines = on_time(seed, _looks_no_further)
    settings, spare = _tolerant(random, text)
    whole: Settings = {"start": settings["start"], "end": settings["end"]}
    expected = text_of(Scenario(text.clauses, lines, whole), program)
    late = tuple(_arriving(line, random.randint(0, spare)) for line in lines)
    assert text_of(Scenario(text.clauses, late, settings), program) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_one_value_at_a_time_under_break(seed: int) -> None:
    for scenario, program in some(seed):
        settings: Settings = {**scenario.settings, "ties": "break"}
        answer = by_engine(replace(scenario, settings=settings), program).answer
        # In the dialect rtec values that nothing names hold beside others.
        apart = program.checked.definitions.ending_values
        for relation in (_simple(program) & answer.fluents.keys()) - apart.keys():
            spans: dict[tuple[object, ...], list[tuple[int, int]]] = defaultdict(list)
            for arguments, _, start, end in _intervals(answer, relation):
                spans[arguments].append((start, end))
            for own in spans.values():
                own.sort()
                assert all(first[1] <= second[0] for first, second in pairwise(own)), relation


def _simple(program: Program) -> set[Relation]:
    fluents = program.fluents.items()
    return {relation for relation, entry in fluents if entry.kind is FluentKind.SIMPLE}


Held = tuple[tuple[object, ...], object, int, int]
"""Arguments, value, start and end."""


def _intervals(answer: Answer, relation: Relation) -> Iterator[Held]:
    table = answer.fluents[relation]
    columns = [
        domain.decode(data) if domain is not None else data.tolist()
        for data, domain in table.columns()
    ]
    offsets = table.offsets.tolist()
    for group in range(len(table)):
        *arguments, value = (column[group] for column in columns)
        for at in range(offsets[group], offsets[group + 1]):
            yield tuple(arguments), value, int(table.starts[at]), int(table.ends[at])


@pytest.mark.parametrize("seed", SEEDS)
def test_intervals_are_sorted_disjoint_and_not_adjacent(seed: int) -> None:
    for scenario, program in some(seed):
        answer = by_engine(scenario, program).answer
        first = scenario.settings["start"]
        for relation in answer.fluents:
            before: dict[tuple[object, ...], int] = {}
            for arguments, value, start, end in _intervals(answer, relation):
                assert first < start < end
                assert start > before.get((*arguments, value), first)
                before[*arguments, value] = end


@pytest.mark.parametrize("seed", SEEDS)
def test_events_happen_inside_the_run_and_once_each(seed: int) -> None:
    for scenario, program in some(seed):
        first, last = scenario.settings["start"], scenario.settings["end"]
        for line in text_of(scenario, program).splitlines():
            if line.startswith("happensAt("):
                times = [int(time) for time in line.rpartition("[")[2][:-3].split(",")]
                assert times == sorted(set(times))
                assert first < times[0]
                assert times[-1] <= last


@pytest.mark.parametrize("seed", SEEDS)
def test_order_of_lines_does_not_matter(seed: int) -> None:
    random = Random(seed)
    for scenario, program in some(seed):
        kept = [line for line in scenario.lines if not line.startswith("-")]
        expected = text_of(replace(scenario, lines=tuple(kept)), program)
        random.shuffle(kept)
        assert text_of(replace(scenario, lines=tuple(kept)), program) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_order_of_conditions_does_not_matter(seed: int) -> None:
    random = Random(seed)
    for scenario, program in some(seed):
        shuffled = tuple(_shuffled(clause, random) for clause in scenario.clauses)
        other = replace(scenario, clauses=shuffled)
        assert text_of(other, cernis.load(other.rules)) == text_of(scenario, program)


def _shuffled(clause: str, random: Random) -> str:
    """A rule about points with its conditions in another order.

    What a collection shares with the rule is what stands before it, so that all that comes after
    the first collection stays where it is.
    """
    (item,) = parse(clause).items
    if not isinstance(item, Clause) or not clause.startswith(("initiatedAt", "terminatedAt")):
        return clause
    body = list(item.body)
    count = next((at for at, goal in enumerate(body) if _collects(goal)), len(body))
    before = random.sample(body[:count], count)
    return show(replace(item, body=(*before, *body[count:])))


def _collects(goal: Term) -> bool:
    return any(functor(each) in (*COLLECTIONS, ("forall", 2)) for each in walk(goal))


@pytest.mark.parametrize("seed", SEEDS)
def test_unknown_relations_are_ignored_and_counted(seed: int) -> None:
    random = Random(seed)
    for scenario, program in some(seed):
        times = [random.randint(1, SPAN) for _ in range(5)]
        strangers = [f"strange|{time}|{time}|x" for time in times]
        strangers += [f"strange|{time}|{time}|{time + 3}|true|x|y" for time in times[:2]]
        lines = (*scenario.lines, *strangers)
        answer = by_engine(replace(scenario, lines=lines), program).answer
        assert as_text(answer) == text_of(scenario, program)
        assert answer.ignored["strange"] == len(strangers)


@pytest.mark.parametrize("seed", SEEDS)
def test_programs_do_not_disturb_each_other(seed: int) -> None:
    """A program says the same before another one, after it, and on a run used twice."""
    first, program = next(some(seed))
    second, other = next(some(seed + 1000))
    expected = text_of(first, program)
    text_of(second, other)
    assert text_of(first, program) == expected
    assert text_of(first, cernis.load(first.rules)) == expected
    again = next(some(seed))[0]
    assert text_of(again, program) == expected


# -- Arrow --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_say_the_same_as_text(seed: int) -> None:
    random, text, program, _ = on_time(seed, lambda text: True)
    habits = Habits(late=0.3, shuffled=True)
    # One table has one shape, so a fluent that comes in both is left out. Text in a table is text.
    fluents = tuple(fluent for fluent in text.fluents if fluent.shape != "either")
    events = tuple(event for event in text.events if set(event.fields) <= {"{}"})
    stream = random_stream(random, replace(text, events=events, fluents=fluents), habits)
    settings = random_settings(random, text)
    expected = text_of(Scenario(text.clauses, stream, settings), program)
    run = Run(program.plan, settings.get("tick"), settings.get("ties"))
    answer = run.over(
        as_tables(stream), settings.get("start"), settings.get("end"),
        settings.get("window"), settings.get("step"),
    )  # fmt: skip
    assert as_text(answer) == expected


def as_tables(lines: tuple[str, ...]) -> dict[str, pa.Table]:
    """The records of each relation as a table, by the columns that generators use."""
    rows: dict[str, list[list[str]]] = defaultdict(list)
    for line in lines:
        name, *fields = line.split("|")
        rows[name].append(fields)
    return {name: _table(name, own) for name, own in rows.items()}


def _table(name: str, rows: list[list[str]]) -> pa.Table:
    shapes = {fluent.name: fluent.shape for fluent in FLUENTS}
    times = ["arrival", "start", "end"] if shapes.get(name) == "intervals" else [
        "arrival", "occurrence"
    ]  # fmt: skip
    titles = [*times, *(["value"] if name in shapes else [])]
    titles += [f"argument_{at}" for at in range(len(rows[0]) - len(titles))]
    columns = {
        title: _column([row[at] for row in rows], time=title in times)
        for at, title in enumerate(titles)
    }
    return pa.table(columns)


def _column(fields: list[str], time: bool) -> pa.Array:
    if time:
        open_end = (1 << 63) - 1
        return pa.array([open_end if text == "inf" else int(text) for text in fields], pa.int64())
    if all(re.fullmatch(r"-?\d+", text) for text in fields):
        return pa.array([int(text) for text in fields], pa.int64())
    if all(re.fullmatch(r"-?\d+\.\d+", text) for text in fields):
        return pa.array([float(text) for text in fields], pa.float64())
    return pa.array(fields, pa.string())
