"""Starts and ends of uncertain input fluents: the engine, the reference, and the sum over worlds.

In each world the certain engine runs, which other tests compare with the reference.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.syntax import parse_term
from tests.agreement.test_random_uncertain_programs import courses_of
from tests.agreement.test_uncertain_delays import END, assert_same, by_worlds, run
from tests.reference.patterns import compact, read_program
from tests.reference.uncertain import Lasting, Record, probabilities
from tests.reference.uncertain_windows import Told, Windows
from tests.spark.batch.test_uncertain_stages import in_text, job_for
from tests.spark.batch.without_spark import run_job

DECLARED = "points(near(_)=_).\ncollectIntervals(inside(_)=_).\n"
EDGES = ("start(near(X)=yes)", "end(near(X)=yes)", "start(inside(X)=V)", "end(inside(X)=V)",
         "start(inside(X)=on)", "end(inside(X)=off)")  # fmt: skip
CONDITIONS = ("happensAt(a(X), T)", "holdsAt(near(X)=yes, T)", "holdsAt(inside(X)=on, T)",
              "happensAt(start(near(X)=yes), T)", "happensAt(end(inside(X)=on), T)",
              "happensAt(start(inside(X)=_), T)")  # fmt: skip


def drawn_rules(random: Random) -> str:
    """Fluents and an event that starts and ends of two input fluents bring about."""
    clauses = [random.choice([":- ties(break).", ":- ties(initiation)."])]
    for head in ("initiatedAt(f(X)=true, T)", "terminatedAt(f(X)=true, T)", "happensAt(d(X), T)",
                 "initiatedAt(g(X)=V, T)", "terminatedAt(g(X)=off, T)"):  # fmt: skip
        edges = [e for e in EDGES if "V" in e or "V" not in head]
        body = [f"happensAt({random.choice(edges)}, T)"]
        for _ in range(random.choice([0, 1, 2])):
            body.append(random.choice(["", "\\+ "]) + random.choice(CONDITIONS))
        clauses.append(f"{head} :- {', '.join(body)}.")
    clauses.append("initiatedAt(h(X)=true, T) :- happensAt(d(X), T), \\+ happensAt(a(X), T).")
    clauses.append("initiatedAt(some=true, T) :- happensAt(start(near(_X)=yes), T).")
    # So that all relations are of the input.
    clauses.append("initiatedAt(z(X)=true, T) :- happensAt(a(X), T), holdsAt(near(X)=yes, T), "
                   "holdsAt(inside(X)=on, T).")  # fmt: skip
    return DECLARED + "\n".join(clauses)


class Drawn:
    """Records drawn at random: events, an input fluent at points, and one on intervals."""

    def __init__(self, random: Random, most: int) -> None:
        self.points: list[Record] = []
        self.lasting: list[Lasting] = []
        lines = []
        for _ in range(random.randint(3, most)):
            time, chance, who = random.randint(1, 9), random.choice([0.3, 0.5, 0.9, 1.0]), "xxy"
            x, kind = random.choice(who), random.choice(["a", "near", "near", "inside", "inside"])
            if kind == "a":
                self.points.append((chance, parse_term(f"a({x})"), time))
                lines.append(f"{chance}::a|{time}|{time}|{x}")
            elif kind == "near":
                self.points.append((chance, parse_term(f"near({x})=yes"), time))
                lines.append(f"{chance}::near|{time}|{time}|yes|{x}")
            else:
                value, end = random.choice(["on", "on", "off"]), time + random.randint(1, 4)
                self.lasting.append((chance, parse_term(f"inside({x})={value}"), time, end))
                lines.append(f"{chance}::inside|{time}|{time}|{end}|{value}|{x}")
        self.text = "\n".join(lines) + "\n"
        # Records that cannot be, so that all of the input is uncertain.
        self.text += "0::a|1|1|x\n0::near|1|1|yes|x\n0::inside|1|1|2|on|x\n"


@pytest.mark.parametrize("seed", range(15))
def test_as_the_reference(seed: int) -> None:
    random = Random(seed)
    rules, drawn = drawn_rules(random), Drawn(random, 9)
    print(f"seed {seed}\n{rules}\n{drawn.text}")
    items = read_program(rules, "drawn")
    found = probabilities(items, drawn.points, start=0, end=END, lasting=drawn.lasting)
    expected = {compact(pair): series for pair, series in found.items()}
    assert_same(courses_of(run(rules, drawn.text)), expected)


@pytest.mark.parametrize("seed", range(15))
def test_exact_ones_are_the_sum_over_worlds(seed: int) -> None:
    random = Random(100 + seed)
    rules, drawn = ":- exact(window).\n" + drawn_rules(random), Drawn(random, 6)
    print(f"seed {seed}\n{rules}\n{drawn.text}")
    assert_same(courses_of(run(rules, drawn.text)), by_worlds(rules, drawn.text))


@pytest.mark.parametrize("seed", range(12))
def test_windows_and_sessions_are_as_the_reference(seed: int, tmp_path: Path) -> None:
    random = Random(200 + seed)
    rules, drawn = drawn_rules(random), Drawn(random, 9)
    window = random.choice([2, 3, 5])
    step = random.randint(1, 6)
    print(f"seed {seed}: {window}, {step}\n{rules}\n{drawn.text}")
    ties = "break" if "ties(break)" in rules else "initiation"
    told = [Told(record, record[2]) for record in drawn.points]
    windows = Windows(
        read_program(rules, "drawn"), told, window, 0, ties=ties, lasting=drawn.lasting
    )
    program = cernis.load(rules)
    session = program.uncertain_session(window=window, step=step, start=0)
    session.insert(drawn.text)
    for time in [*range(step, END, step), END]:
        windows.query(time)
        session.save(tmp_path / "session")
        session = program.restore(tmp_path / "session")  # type: ignore[assignment]
        session.query(time)
    expected = {compact(pair): dict(enumerate(windows.series(pair), 1)) for pair in windows.courses}
    assert_same(courses_of(run(rules, drawn.text, window=window, step=step)), expected)
    last = courses_of(session._result())
    for pair in last.keys() | expected.keys():
        for point in range(END - window + 1, END + 2):
            chance = expected.get(pair, {}).get(point, 0.0)
            assert last.get(pair, {}).get(point, 0.0) == pytest.approx(chance, abs=1e-9), pair


@pytest.mark.parametrize("seed", range(4))
def test_stages_on_spark(seed: int) -> None:
    random = Random(300 + seed)
    rules, drawn = drawn_rules(random), Drawn(random, 9)
    print(f"seed {seed}\n{rules}\n{drawn.text}")
    program, lines = cernis.load(rules), drawn.text.splitlines()
    outcome = run_job(job_for(program, lines, 3), lines)
    alone = program.run_uncertain(drawn.text)
    assert in_text(outcome, program) == (alone.text(), alone.probability_text())


def test_problog_agrees() -> None:
    """Of a fluent at points, whose start and end are conditions of rules."""
    from tests.agreement.test_random_uncertain_programs import problog_probability

    rules = """
        points(near=_).
        initiatedAt(s=true, T) :- happensAt(start(near=yes), T), happensAt(a, T).
        terminatedAt(s=true, T) :- happensAt(end(near=yes), T), \\+ happensAt(a, T).
    """
    random = Random(7)
    facts = [(round(random.random(), 3), n, t) for t in (1, 2, 3, 4, 5) for n in ("near", "a")]
    oracle = [f"{p}::{name}({time})." for p, name, time in facts]
    oracle.append("begins(T) :- a(T), \\+ near(T), S is T + 1, near(S).")
    oracle.append("ends(T) :- near(T), \\+ a(T), S is T + 1, \\+ near(S).")
    text = "".join(f"{p}::{n}|{t}|{t}{'|yes' if n == 'near' else ''}\n" for p, n, t in facts)
    found = courses_of(run(rules, text))["s=true"]
    chance = 0.0
    for time in (1, 2, 3, 4):
        begins, ends = (
            problog_probability("\n".join(oracle), f"{edge}({time})") for edge in ("begins", "ends")
        )
        # Of one point; both cannot be.
        chance = begins + chance * (1 - begins - ends)
        assert found.get(time + 1, 0.0) == pytest.approx(chance, abs=1e-9)
