"""Event patterns over uncertain records: the engine, the reference, and the sum over all worlds."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import cernis
from cernis.answers.uncertain_result import UncertainResult
from cernis.syntax.tree import Atom, Clause, Compound, PatternRule, Term
from tests.agreement.test_random_uncertain_programs import (
    courses,
    courses_of,
    problog_probability,
)
from tests.generators.patterns import Drawing, random_records, with_preference
from tests.reference.patterns import (
    compact,
    consumption_of,
    occurrences,
    read_program,
    read_records,
)
from tests.reference.solve import Solver
from tests.reference.uncertain import Record, probabilities
from tests.reference.uncertain_patterns import occurrence_probabilities
from tests.reference.uncertain_windows import Told, Windows

Chances = dict[tuple[str, int, int], float]

NOT_DEFINED = re.compile(r"last\(|past\(|all\)|fold|count\(|\b\d+\b\) (seq|and|par|or)")


def drawn_rules(random: Random, consumption: bool = False) -> list[str]:
    """Patterns without aggregates and recursion, and a fluent that rests on them."""
    while True:
        rules = [rule for rule in Drawing(random).rules() if "consumption" not in rule]
        heads = [rule.partition(" <- ")[0].partition("(")[0] for rule in rules if "<-" in rule]
        bodies = [rule.partition(" <- ")[2] for rule in rules if "<-" in rule]
        recursive = any(
            re.search(rf"\b{head}\b", body)
            for number, head in enumerate(heads)
            for body in bodies[: number + 1]
        )
        if not recursive and not NOT_DEFINED.search(" ".join(bodies)):
            break
    if consumption:
        plain = [f":- consumption({random.choice(['recent', 'chronological'])}).", *rules]
        rules = random.choice([plain, plain, with_preference(rules, random)])
    head = next(rule for rule in rules if "<-" in rule).partition(" <- ")[0]
    return [
        *rules,
        f"initiatedAt(f=on, T) :- happensAt({head}, T).",
        "terminatedAt(f=on, T) :- happensAt(d, T), \\+ happensAt(a(x), T).",
    ]


def drawn_records(random: Random, most: int) -> str:
    lines = random_records(random)[:most] or ["d|1|1"]
    chances = [random.choice(["", "0.3::", "0.5::", "0.9::"]) for _ in lines]
    return "".join(f"{chance}{line}\n" for chance, line in zip(chances, lines, strict=True))


def records_of(text: str) -> list[Record]:
    return [
        (chance, Compound(name, args) if args else Atom(name), time)
        for chance, name, time, args in read_records(text)
    ]


def by_reference(rules: str, text: str) -> Chances:
    found = occurrence_probabilities(read_program(rules, "drawn"), records_of(text))
    return {
        (compact(event), int(start), int(end)): chance
        for event, own in found.items()
        for (start, end), chance in own.items()
    }


def by_worlds(rules: str, text: str) -> Chances:
    """Each world of the records by itself, matched by the reference for certain records."""
    items = read_program(rules, "drawn")
    patterns = [item for item in items if isinstance(item, PatternRule)]
    solver = Solver(item for item in items if isinstance(item, Clause))
    found: Chances = defaultdict(float)
    for weight, world in worlds(records_of(text)):
        events: dict[Term, list[tuple[float, float]]] = defaultdict(list)
        for event, time in world:
            events[event].append((time, time))
        found_in_world = occurrences(patterns, events, solver, consumption_of(items))
        for event, own in found_in_world.items():
            for start, end in own:
                found[compact(event), int(start), int(end)] += weight
    return found


def worlds(records: list[Record]) -> Iterator[tuple[float, list[tuple[Term, int]]]]:
    doubtful = [record for record in records if record[0] < 1]
    sure = [(event, time) for chance, event, time in records if chance == 1]
    for truths in itertools.product([True, False], repeat=len(doubtful)):
        weight, world = 1.0, list(sure)
        for truth, (chance, event, time) in zip(truths, doubtful, strict=True):
            weight *= chance if truth else 1 - chance
            world += [(event, time)] if truth else []
        yield weight, world


def of_result(result: UncertainResult) -> Chances:
    """The occurrences of a result."""
    return of_occurrences(result.occurrences)


def of_occurrences(table: pa.Table) -> Chances:
    found = {}
    for row in table.to_pylist():
        args = f"({','.join(row['args'])})" if row["args"] else ""
        found[f"{row['event']}{args}", row["start"], row["occurrence"]] = row["probability"]
    return found


def run(rules: str, text: str) -> UncertainResult:
    return cernis.load(rules).run_uncertain(text)


def compare(found: Chances, expected: Chances) -> None:
    for key, chance in expected.items():
        assert found.get(key, 0.0) == pytest.approx(chance, abs=1e-9), key
    assert {key for key, chance in found.items() if chance > 1e-12} <= expected.keys()


def in_windows(rules: str, text: str, window: int, step: int, end: int) -> tuple[Chances, Windows]:
    """What the reference gives of records on time, window by window."""
    told = [Told(record, record[2]) for record in records_of(text)]
    windows = Windows(read_program(rules, "drawn"), told, window, 0)
    for time in [*range(step, end, step), end]:
        windows.query(time)
    return {
        (compact(event), int(start), int(close)): chance
        for (event, (start, close)), chance in windows.occurrences.items()
        if chance > 1e-12
    }, windows


@pytest.mark.parametrize(
    ("seed", "consumption"), [*((seed, False) for seed in range(6)), (2, True), (3, True)]
)
def test_windows_and_sessions_are_as_the_reference(
    seed: int, consumption: bool, tmp_path: Path
) -> None:
    random = Random(seed)
    rules = MIXED if seed % 2 else "\n".join(drawn_rules(random, consumption))
    if seed % 2 and consumption:
        rules = f":- consumption({random.choice(['recent', 'chronological'])}).{rules}"
    window, step = random.choice([(3, 2), (2, 2), (4, 3)])
    if seed % 2:
        lines = [f"0.{random.randint(2, 9)}::{random.choice('ab')}|{t}|{t}|x" for t in (1, 2, 4)]
        lines.append("0.5::d|5|5")
    else:
        lines = drawn_records(random, 5).splitlines()
    text = "\n".join([*lines, *DOUBTED.splitlines()]) + "\n"
    text = text.replace("|0|0", "|1|1")
    end = max(record[2] for record in records_of(text))
    print(f"seed {seed} window {window} step {step}\n{rules}\n{text}")
    expected, windows = in_windows(rules, text, window, step, end)
    program = cernis.load(rules)
    names = ["a", "b", "c", "d"] if seed % 2 == 0 else ["a", "b", "d"]
    known = {str(r) for r in program.uncertain_session(start=0).uncertain}
    names = [name for name in names if any(each.split("/")[0] == name for each in known)]
    result = program.run_uncertain(
        text, window=window, step=step, start=0, end=end, uncertain=names
    )
    compare(of_result(result), expected)
    session = program.uncertain_session(window=window, step=step, start=0)
    session.insert(text)
    for time in [*range(step, end, step), end]:
        session.save(tmp_path / "session")
        session = program.restore(tmp_path / "session")  # type: ignore[assignment]
        session.query(time)
    last = {key: p for key, p in expected.items() if key[2] > end - window}
    own = of_occurrences(session.occurrences())
    compare(own, last)
    for pair, course in windows.courses.items():
        found = courses_of(result).get(compact(pair), {})
        for time, chance in course.items():
            assert found.get(time, 0.0) == pytest.approx(chance, abs=1e-9), (pair, time)


DOUBTED = "".join(f"0.0::{name}\n" for name in ("a|0|0|z", "b|0|0|z", "c|0|0|z|1", "d|0|0"))
"""Records that cannot be, so that all patterns are uncertain."""


@pytest.mark.parametrize("consumption", [False, True])
@pytest.mark.parametrize("seed", range(16))
def test_as_the_sum_over_worlds(seed: int, consumption: bool) -> None:
    random = Random(seed)
    rules = "\n".join(drawn_rules(random, consumption))
    text = drawn_records(random, 8 if consumption else 6) + DOUBTED
    print(f"seed {seed}\n{rules}\n{text}")
    compare(of_result(run(rules, text)), by_worlds(rules, text))


def drawn_of_all_kinds(random: Random) -> str:
    """Patterns with aggregates and recursion, where these are defined over uncertain records."""
    while True:
        rules = [rule for rule in Drawing(random).rules() if "consumption" not in rule]
        rules = random.choice([rules, with_preference(rules, random)])
        stages = cernis.load("\n".join(rules)).plan.stages
        strata = [stratum for stage in stages for stratum in stage.strata if stratum.immediate]
        if all(stratum.recursion is None or stratum.recursion.grows for stratum in strata):
            return "\n".join(rules)


@pytest.mark.parametrize("seed", range(12))
def test_patterns_of_all_kinds_are_as_the_sum_over_worlds(seed: int) -> None:
    random = Random(2000 + seed)
    rules = drawn_of_all_kinds(random)
    text = drawn_records(random, 7) + "".join(DOUBTED.splitlines(True)[:2])
    print(f"seed {seed}\n{rules}\n{text}")
    compare(of_result(run(rules, text)), by_worlds(rules, text))


@pytest.mark.parametrize("seed", range(8))
def test_as_the_reference(seed: int) -> None:
    random = Random(1000 + seed)
    rules, text = "\n".join(drawn_rules(random)), drawn_records(random, 4) + DOUBTED
    print(f"seed {seed}\n{rules}\n{text}")
    compare(by_reference(rules, text), by_worlds(rules, text))
    assert_same_courses(rules, text)


def assert_same_courses(rules: str, text: str) -> None:
    reference = {
        compact(pair): series
        for pair, series in probabilities(read_program(rules, "drawn"), records_of(text)).items()
    }
    found = courses(rules, text)
    for pair, series in reference.items():
        for time, chance in series.items():
            assert found.get(pair, {}).get(time, 0.0) == pytest.approx(chance, abs=1e-9), pair
    assert found.keys() <= reference.keys()


MIXED = """
initiatedAt(up(X)=true, T) :- happensAt(a(X), T), \\+ happensAt(d, T).
terminatedAt(up(X)=true, T) :- happensAt(b(X), T).
happensAt(both(X), T) :- happensAt(a(X), T), happensAt(b(X), T).
e(X) <- start(up(X)=true) seq end(up(X)=true).
g(X) <- not(both(_))[a(X), b(_)] within 4.
happensAt(h(X), T) :- happensAt(g(X), T), holdsAt(up(X)=true, T).
k <- (h(X) or e(X)) seq d.
initiatedAt(late(X)=true, T) :- happensAt(e(X), T), \\+ happensAt(k, T).
initiatedAt(n=N, T) :- happensAt(k, T), aggregate_all(count, happensAt(g(_), T), N).
"""


@pytest.mark.parametrize("seed", range(4))
def test_patterns_fluents_and_derived_events(seed: int) -> None:
    random = Random(seed)
    lines = [
        f"0.{random.randint(2, 9)}::{random.choice(['a', 'b', 'a', 'b', 'd'])}|{time}|{time}"
        for time in sorted(random.choices(range(1, 6), k=4))
    ]
    lines = [line if "::d" in line else f"{line}|{random.choice('xxy')}" for line in lines]
    text = "\n".join([*lines, *DOUBTED.splitlines()[:2], "0.0::d|0|0"]) + "\n"
    print(f"seed {seed}\n{text}")
    compare(of_result(run(MIXED, text)), by_reference(MIXED, text))
    assert_same_courses(MIXED, text)


@pytest.mark.parametrize("consumption", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_certain_records_are_as_in_the_certain_engine(seed: int, consumption: bool) -> None:
    random = Random(seed)
    rules, text = "\n".join(drawn_rules(random, consumption)), drawn_records(random, 20)
    certain = re.sub(r"0\.\d::", "", text)
    print(f"seed {seed}\n{rules}\n{certain}")
    program = cernis.load(rules)
    expected = {
        (f"{row['event']}({','.join(row['args'])})".replace("()", ""), row["start"], row["end"])
        for row in (
            {**row, "end": row["occurrence"]}
            for row in program.run(certain, start=-1).happenings.to_pylist()
        )
    }
    assert of_result(run(rules, certain + DOUBTED)) == dict.fromkeys(expected, 1.0)


@pytest.mark.parametrize("seed", range(4))
def test_problog_agrees(seed: int) -> None:
    random = Random(seed)
    print(f"seed {seed}")
    facts = [(round(random.random(), 3), name, time) for time in (1, 2, 3, 4) for name in "abc"]
    oracle = [f"{chance}::{name}({time})." for chance, name, time in facts]
    oracle += [
        "within(S, T) :- c(M), S < M, M < T.",
        "e(S, T) :- a(S), b(T), S < T, \\+ within(S, T).",
        "some(T) :- e(S, T).",
    ]
    text = "".join(f"{chance}::{name}|{time}|{time}\n" for chance, name, time in facts)
    rules = "e <- not(c)[a, b]. initiatedAt(f=true, T) :- happensAt(e, T)."
    found, none = run(rules, text), 1.0
    for (_, start, end), chance in of_result(found).items():
        query = f"e({start}, {end})"
        assert chance == pytest.approx(problog_probability("\n".join(oracle), query), abs=1e-9)
    for time in (2, 3, 4):
        none *= 1 - problog_probability("\n".join(oracle), f"some({time})")
        # What initiates at different points counts as independent, as inertia has it.
        course = courses(rules, text)["f=true"]
        assert course[time + 1] == pytest.approx(1 - none, abs=1e-9)


EXACT = """
:- exact(window). :- ties(initiation).
e <- a seq b within 3.
initiatedAt(f=true, T) :- happensAt(e, T).
terminatedAt(f=true, T) :- happensAt(c, T).
"""


@pytest.mark.parametrize("seed", range(4))
def test_exact_probabilities_of_what_rests_on_patterns(seed: int) -> None:
    """Records that several points share count once: as the sum over all worlds of the history."""
    random = Random(seed)
    records = [(round(random.random(), 2), name, time) for time in (1, 2, 3) for name in "abc"][:8]
    print(f"seed {seed} {records}")
    text = "".join(f"{chance}::{name}|{time}|{time}\n" for chance, name, time in records)
    program = cernis.load(EXACT)
    expected: dict[int, float] = defaultdict(float)
    for weight, world in worlds([(p, Atom(name), time) for p, name, time in records]):
        lines = [f"{compact(event)}|{time}|{time}" for event, time in world]
        for row in program.run(lines, start=0, end=3).intervals.to_pylist():
            for time in range(row["start"], row["end"] or 6):
                expected[time] += weight
    found = courses(EXACT, text)["f=true"]
    assert {time: found.get(time, 0.0) for time in (2, 3, 4, 5)} == pytest.approx(
        {time: expected[time] for time in (2, 3, 4, 5)}
    )


INTERVALS = """
:- ties(initiation).
initiatedAt(gap(X)=true, T) :- happensAt(a(X), T).
terminatedAt(gap(X)=true, T) :- happensAt(b(X), T).
initiatedAt(mode(X)=N, T) :- happensAt(c(X, N), T).
off(X)=true iff gap(X)=true or mode(X)=3.
e(X) <- a(X) during off(X)=true.
g(X) <- not(d)[gap(X)=true, a(X)] within 8.
k(X) <- mode(X)=N meets gap(X)=true where N > 1.
initiatedAt(f(X)=on, T) :- happensAt(e(X), T), holdsAt(gap(X)=true, T).
"""


def records_of_intervals(random: Random, most: int) -> str:
    lines = []
    for time in sorted(random.choices(range(1, 15), k=most)):
        name, chance = random.choice("aaabbcd"), random.choice(["", "0.9::", "0.8::", "0.3::"])
        rest = {"a": "|x", "b": "|x", "c": f"|x|{random.choice((1, 3))}", "d": ""}[name]
        lines.append(f"{chance}{name}|{time}|{time}{rest}")
    doubted = [line.replace("|0|0", "|1|1") for line in DOUBTED.splitlines()]
    return "\n".join([*doubted, *lines, "0.9::d|15|15"]) + "\n"


@pytest.mark.parametrize("seed", range(6))
def test_credible_intervals_of_fluents_in_patterns(seed: int) -> None:
    text = records_of_intervals(Random(seed), 10)
    print(f"seed {seed}\n{text}")
    compare(of_result(run(INTERVALS, text)), by_reference(INTERVALS, text))
    assert_same_courses(INTERVALS, text)


@pytest.mark.parametrize("seed", range(4))
def test_intervals_of_certain_records_are_as_in_the_certain_engine(seed: int) -> None:
    text = records_of_intervals(Random(seed), 14)
    certain = re.sub(r"0\.[1-9]::", "", text.replace("0.0::", "% "))
    certain = "".join(line for line in certain.splitlines(True) if not line.startswith("%"))
    print(f"seed {seed}\n{certain}")
    rows = cernis.load(INTERVALS).run(certain, start=0).happenings.to_pylist()
    expected = {(f"{row['event']}(x)", row["start"], row["occurrence"]) for row in rows}
    doubted = text[: text.index("d|1|1") + len("d|1|1\n")]
    # Below a threshold of 1 intervals reach a little beyond where the fluent is likely.
    found = cernis.load(INTERVALS).run_uncertain(doubted + certain, start=0, threshold=1.0)
    assert of_result(found) == dict.fromkeys(expected, 1.0)


def test_intervals_across_windows(tmp_path: Path) -> None:
    """What has ended before a window, and what began before it, is in its matches."""
    lines = ["0.9::a|2|2|x", "0.8::a|5|5|x", "0.9::b|9|9|x", "0.7::a|13|13|x"]
    program = cernis.load("""
        initiatedAt(gap(X)=true, T) :- happensAt(a(X), T).
        terminatedAt(gap(X)=true, T) :- happensAt(b(X), T).
        e(X) <- a(X) during gap(X)=true.
        g(X) <- gap(X)=true seq a(X).
    """)
    whole = of_result(program.run_uncertain(lines, start=0, end=30, threshold=0.9))
    assert whole == pytest.approx({("e(x)", 3, 9): 0.8, ("g(x)", 3, 13): 0.7})
    cut = program.run_uncertain(lines, start=0, end=30, window=4, step=3, threshold=0.9)
    compare(of_result(cut), whole)
    session = program.uncertain_session(start=0, window=4, step=3, threshold=0.9)
    session.insert("\n".join(lines))
    told: Chances = {}
    for time in range(3, 31, 3):
        session.query(time)
        told |= of_occurrences(session.occurrences())
        session.save(tmp_path / "session")
        session = program.restore(tmp_path / "session")  # type: ignore[assignment]
    compare(told, whole)


UNLIT = "e(X) <- not(a(Y) where near(X, Y))[b(X), c(X, _)] within 9."


@pytest.mark.parametrize("seed", range(6))
def test_uncertain_facts_about_what_must_be_absent(seed: int) -> None:
    """The same fact in each match: as the sum over the worlds of records and of facts."""
    random = Random(seed)
    facts = {"near(x, x).": 0.4, "near(x, y).": 0.7, "near(y, z).": 1.0}
    lines = [f"0.6::a|{random.randint(2, 5)}|{{}}|{who}" for who in random.sample("xyz", 2)]
    lines = [line.format(line.split("|")[1]) for line in lines]
    lines += ["0.5::b|1|1|x", "b|2|2|y", "0.9::c|6|6|x|1", "0.8::c|7|7|y|1", "a|4|4|z"]
    text = "\n".join(lines[seed % 2 :]) + "\n"
    print(f"seed {seed}\n{text}")
    expected: Chances = defaultdict(float)
    for truths in itertools.product([True, False], repeat=2):
        known = [fact for fact, is_true in zip(facts, truths, strict=False) if is_true]
        weight = 1.0
        for chance, is_true in zip(facts.values(), truths, strict=False):
            weight *= chance if is_true else 1 - chance
        for key, chance in by_worlds("\n".join([UNLIT, *known, "near(y, z)."]), text).items():
            expected[key] += weight * chance
    rules = "\n".join([UNLIT, *(f"{chance}::{fact}" for fact, chance in facts.items())])
    compare(of_result(run(rules, text)), expected)
