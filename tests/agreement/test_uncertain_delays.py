"""Delayed effects over uncertain records: the engine, the reference, and the sum over all worlds.

In each world the certain engine runs, which other tests compare with the reference.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.answers.uncertain_result import UncertainResult
from cernis.errors import UnsupportedError
from cernis.syntax.tree import Atom, Compound
from tests.agreement.test_random_uncertain_programs import courses_of
from tests.reference.patterns import compact, read_program, read_records
from tests.reference.uncertain import Record, probabilities
from tests.reference.uncertain_windows import Told, Windows

VALUES = ("a", "b", "c")
END = 12


def drawn_rules(random: Random, postpones: str = "p(f(X)={}).") -> str:
    """A fluent whose values are initiated and terminated by events, and lead to one another."""
    clauses = [random.choice([":- ties(break).", ":- ties(initiation)."])]
    for value in VALUES:
        negated = random.choice(["", f", \\+ happensAt(end_{random.choice(VALUES)}(X), T)"])
        clauses.append(f"initiatedAt(f(X)={value}, T) :- happensAt(begin_{value}(X), T){negated}.")
        if random.random() < 0.6:
            clauses.append(f"terminatedAt(f(X)={value}, T) :- happensAt(end_{value}(X), T).")
        for other in random.sample([v for v in VALUES if v != value], random.randint(0, 2)):
            clauses.append(f"fi(f(X)={value}, f(X)={other}, {random.randint(1, 5)}).")
        if random.random() < 0.25:
            clauses.append(f"ft(f(X)={value}, {random.randint(1, 6)}).")
        if random.random() < 0.4:
            clauses.append(postpones.format(value))
    if not any(clause.startswith("f") for clause in clauses):
        clauses.append("fi(f(X)=a, f(X)=b, 3).")
    if random.random() < 0.3:
        clauses.append(f"terminatedAt(f(X)=_, T) :- happensAt(end_{random.choice(VALUES)}(X), T).")
    if random.random() < 0.4:
        clauses.append(f"initially(f(x)={random.choice(VALUES)}).")
    if random.random() < 0.2:
        clauses += ["grounding(f(X)=V) :- v(V), e(X).", "v(a).", "v(b).", "e(x).", "e(y)."]
    return "\n".join(clauses)


def drawn_records(random: Random, most: int) -> str:
    lines = []
    for _ in range(random.randint(2, most)):
        time, name = random.randint(1, 9), random.choice(["begin", "begin", "end"])
        chance = random.choice(["0.3", "0.5", "0.9", "1"])
        lines.append(
            f"{chance}::{name}_{random.choice(VALUES)}|{time}|{time}|{random.choice('xxy')}"
        )
    # Records that cannot be, so that all of the input is uncertain.
    lines += [f"0::{kind}_{value}|1|1|x" for kind in ("begin", "end") for value in VALUES]
    return "\n".join(lines) + "\n"


def records_of(text: str) -> list[Record]:
    return [(p, Compound(name, args) if args else Atom(name), time)
            for p, name, time, args in read_records(text)]  # fmt: skip


def by_worlds(rules: str, text: str, ties: str | None = None) -> dict[str, dict[int, float]]:
    program = cernis.load(rules)
    lines = [line.partition("::")[::2] for line in text.splitlines()]
    doubtful = [(float(p), line) for p, line in lines if 0 < float(p) < 1]
    found: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for truths in itertools.product([True, False], repeat=len(doubtful)):
        weight, world = 1.0, [line for p, line in lines if float(p) == 1]
        for truth, (chance, line) in zip(truths, doubtful, strict=True):
            weight *= chance if truth else 1 - chance
            world += [line] if truth else []
        result = program.run(world, start=0, end=END, ties=ties)
        for row in result.intervals.to_pylist():
            args = f"({','.join(row['args'])})" if row["args"] else ""
            pair = f"{row['fluent']}{args}={row['value']}"
            for time in range(row["start"], row["end"] or END + 2):
                found[pair][time] += weight
    return found


def assert_same(
    found: dict[str, dict[int, float]], expected: dict[str, dict[int, float]], last: int = END + 1
) -> None:
    for pair in found.keys() | expected.keys():
        for time in range(1, last + 1):
            chance = expected.get(pair, {}).get(time, 0.0)
            assert found.get(pair, {}).get(time, 0.0) == pytest.approx(chance, abs=1e-9), (
                pair, time,
            )  # fmt: skip


def run(rules: str, text: str, **settings: int) -> UncertainResult:
    program = cernis.load(rules)
    known = {each.name for each in program.uncertain_session(start=0).uncertain}
    return program.run_uncertain(text, start=0, end=END, uncertain=sorted(known), **settings)


@pytest.mark.parametrize("seed", range(40))
def test_as_the_sum_over_worlds(seed: int) -> None:
    random = Random(seed)
    rules, text = drawn_rules(random), drawn_records(random, 7)
    print(f"seed {seed}\n{rules}\n{text}")
    expected = by_worlds(rules, text)
    assert_same(courses_of(run(rules, text)), expected)
    window = random.choice([2, 3, 5, 8])
    step = random.randint(1, window)
    assert_same(courses_of(run(rules, text, window=window, step=step)), expected)


@pytest.mark.parametrize("seed", range(15))
def test_as_the_reference(seed: int) -> None:
    random = Random(100 + seed)
    rules, text = drawn_rules(random) + MORE, drawn_records(random, 5)
    print(f"seed {seed}\n{rules}\n{text}")
    items = read_program(rules, "drawn")
    found = probabilities(items, records_of(text), start=0, end=END)
    expected = {compact(pair): series for pair, series in found.items()}
    assert_same(courses_of(run(rules, text)), expected)


MORE = """
initiatedAt(g(X)=true, T) :- happensAt(begin_a(X), T), holdsAt(f(X)=a, T).
terminatedAt(g(X)=true, T) :- happensAt(begin_b(X), T), \\+ holdsAt(f(X)=b, T).
h(X)=true iff g(X)=true, not f(X)=c.
initiatedAt(over(X)=V, T) :- happensAt(end(f(X)=V), T), \\+ happensAt(begin_c(X), T).
terminatedAt(over(X)=a, T) :- happensAt(start(f(X)=a), T).
"""


@pytest.mark.parametrize("head", [":- dialect(rtec).", ""])
@pytest.mark.parametrize("seed", range(12))
def test_effects_that_initiations_postpone(seed: int, head: str) -> None:
    """At their very point in the dialect rtec; and of some instances only."""
    random = Random(500 + seed)
    of_some = random.random() < 0.5 or not head
    postpones = "p(f(X)={}) :- vip(X)." if of_some else "p(f(X)={})."
    more = ["vip(x).", "vip(z).", "fi(f(X)=a, f(X)=b, 3).", *([] if of_some else ["p(f(_)=a)."])]
    rules = "\n".join([head, drawn_rules(random, postpones), *more])
    text = drawn_records(random, 6) + "0.5::begin_a|2|2|x\n0.6::begin_a|5|5|x\n"
    print(f"seed {seed}\n{rules}\n{text}")
    expected = by_worlds(rules, text)
    found = probabilities(read_program(rules, "drawn"), records_of(text), start=0, end=END)
    assert_same({compact(pair): series for pair, series in found.items()}, expected)
    assert_same(courses_of(run(rules, text)), expected)
    window = random.choice([2, 3, 5, 8])
    step = random.randint(1, window)
    assert_same(courses_of(run(rules, text, window=window, step=step)), expected)


@pytest.mark.parametrize("seed", range(8))
def test_windows_are_as_the_reference(seed: int) -> None:
    """With other fluents, which windows begin with as independent facts."""
    random = Random(200 + seed)
    rules, text = drawn_rules(random) + MORE, drawn_records(random, 5)
    window = random.choice([2, 3, 5])
    step = random.randint(1, window)
    print(f"seed {seed}: {window}, {step}\n{rules}\n{text}")
    told = [Told(record, record[2]) for record in records_of(text)]
    ties = "break" if "ties(break)" in rules else "initiation"
    windows = Windows(read_program(rules, "drawn"), told, window, 0, ties=ties)
    for time in [*range(step, END, step), END]:
        windows.query(time)
    expected = {compact(pair): course for pair, course in windows.courses.items()}
    assert_same(courses_of(run(rules, text, window=window, step=step)), expected)


@pytest.mark.parametrize("seed", range(8))
def test_certain_records_are_as_in_the_certain_engine(seed: int) -> None:
    random = Random(300 + seed)
    rules, text = drawn_rules(random), drawn_records(random, 20)
    certain = text.replace("0.3::", "1::").replace("0.5::", "1::").replace("0.9::", "1::")
    print(f"seed {seed}\n{rules}\n{certain}")
    found = courses_of(run(rules, certain))
    assert {chance for series in found.values() for chance in series.values()} <= {1.0}
    assert_same(found, by_worlds(rules, certain))


@pytest.mark.parametrize("seed", range(6))
def test_a_session_that_is_saved_and_restored(seed: int, tmp_path: Path) -> None:
    random = Random(400 + seed)
    rules = drawn_rules(random, "p(f(X)={}) :- vip(X).") + "\nvip(x)."
    text = drawn_records(random, 6)
    print(f"seed {seed}\n{rules}\n{text}")
    program = cernis.load(rules)
    session = program.uncertain_session(window=3, step=2, start=0)
    session.insert(text)
    expected = by_worlds(rules, text)
    for time in range(2, END + 1, 2):
        session.save(tmp_path / "session")
        session = program.restore(tmp_path / "session")  # type: ignore[assignment]
        session.query(time)
        found = courses_of(session._result())
        for pair in found.keys() | expected.keys():
            for point in range(max(1, time - 2), time + 2):
                chance = expected.get(pair, {}).get(point, 0.0)
                assert found.get(pair, {}).get(point, 0.0) == pytest.approx(chance, abs=1e-9), (
                    time, pair, point,
                )  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("initiatedAt(g=true, T) :- terminatedAt(f=on, T).", "its initiations and"),
        ("initiatedAt(f=off, T) :- happensAt(b, T), holdsAt(f=on, T).", "asks? for itself"),
    ],
)
def test_what_is_not_defined_is_named(rules: str, message: str) -> None:
    rules = f"initiatedAt(f=on, T) :- happensAt(a, T). fi(f=on, f=off, 3). {rules}"
    with pytest.raises(UnsupportedError, match=message):
        cernis.load(rules).run_uncertain("0.5::a|1|1\n0.5::b|2|2\n")
