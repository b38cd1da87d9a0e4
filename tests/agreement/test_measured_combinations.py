"""Lists that a rule combines and then measures, over uncertain records: in all ways to run.

The oracle is the reference: the probability of the combination at each point, the credible
intervals of its course, and their lengths. Over windows and on Spark it is a program in which the
combination has a name of its own.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.answers.uncertain_result import UncertainResult
from tests.agreement.test_uncertain_delays import END, records_of, run
from tests.reference.credible import maximal_intervals, most_credible
from tests.reference.patterns import compact, read_program
from tests.reference.uncertain import probabilities
from tests.spark.batch.test_uncertain_stages import in_text, job_for
from tests.spark.batch.without_spark import run_job

SWITCHES = "\n".join(
    f"initiatedAt({name}(X)=true, T) :- happensAt({name}_on(X), T).\n"
    f"terminatedAt({name}(X)=true, T) :- happensAt({name}_off(X), T)."
    for name in "abc"
)
COMBINED = (
    "union_all([A, B], D)",
    "intersect_all([A, B, C], D)",
    "relative_complement_all(A, [B, C], D)",
    "union_all([A, B], E), relative_complement_all(E, [C], D)",
    "relative_complement_all(A, [C], E), union_all([E, B], D)",
)
MEASURED = ("intDurGreater(D, {0}, I)", "intDurLess(D, {0}, I)", "before(D, B, source, I)")
PARTS = "holdsFor(a(X)=true, A), holdsFor(b(X)=true, B), holdsFor(c(X)=true, C)"


def drawn(seed: int) -> tuple[str, str, str, str]:
    """A program in one rule, the same in two, what is combined, and records."""
    random = Random(seed)
    combined, length = random.choice(COMBINED), random.randint(1, 6)
    measured = random.choice(MEASURED if seed % 2 else MEASURED[:1]).format(length)
    one = f"{SWITCHES}\nholdsFor(long(X)=true, I) :- {PARTS}, {combined}, {measured}."
    named = combined.replace(" D)", " I)")
    two = f"{SWITCHES}\nholdsFor(d(X)=true, I) :- {PARTS}, {named}.\n"
    two += "holdsFor(long(X)=true, I) :- holdsFor(d(X)=true, D), holdsFor(b(X)=true, B), "
    lines = []
    for _ in range(random.randint(4, 9)):
        time, chance = random.randint(1, 10), random.choice(["0.4", "0.6", "0.9", "1"])
        name = f"{random.choice('abc')}_{random.choice(['on', 'on', 'off'])}"
        lines.append(f"{chance}::{name}|{time}|{time}|{random.choice('xxy')}")
    lines += [f"0::{name}_{edge}|1|1|x" for name in "abc" for edge in ("on", "off")]
    return one, f"{two}{measured}.", f"{length}" if "Greater" in measured else "", "\n".join(lines)


def long_ones(result: UncertainResult) -> list[tuple[str, int, int | None]]:
    return sorted(
        (row["args"][0], row["start"], row["end"])
        for row in result.intervals.to_pylist() if row["fluent"] == "long"
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(0, 24, 2))
def test_as_the_reference(seed: int) -> None:
    one, two, length, text = drawn(seed)
    print(f"seed {seed}\n{one}\n{text}")
    rules = "\n".join(line for line in two.splitlines() if "(long(" not in line)
    found = probabilities(read_program(rules, "drawn"), records_of(text), start=0, end=END)
    expected = []
    for pair, course in found.items():
        if compact(pair).startswith("d("):
            series = [course[time] for time in range(1, END + 2)]
            for start, end in most_credible(maximal_intervals(series, 0.5), series):
                # An interval that is open is measured up to the query.
                last = None if end == END + 1 else end + 1
                if (last or END) - start > int(length):
                    expected.append((compact(pair)[2], start, last))
    assert long_ones(run(one, text)) == sorted(expected)


@pytest.mark.parametrize("seed", range(16))
def test_as_with_a_name_in_all_ways(seed: int, tmp_path: Path) -> None:
    one, two, _, text = drawn(seed)
    window, step = Random(seed).choice([(3, 2), (5, 5), (8, 3)])
    print(f"seed {seed}: {window}, {step}\n{one}\n{text}")
    found: dict[str, list[object]] = defaultdict(list)
    for rules in (one, two):
        program, lines = cernis.load(rules), text.splitlines()
        found["run"].append(long_ones(run(rules, text)))
        found["windows"].append(long_ones(run(rules, text, window=window, step=step)))
        session = program.uncertain_session(window=window, step=step, start=0)
        session.insert(text + "\n")
        for time in range(step, END + step, step):
            session.save(tmp_path / "session")
            session = program.restore(tmp_path / "session")  # type: ignore[assignment]
            session.query(time)
        found["session"].append(long_ones(session._result()))
        outcome = run_job(job_for(program, lines, 3), lines)
        alone = program.run_uncertain(text + "\n")
        assert in_text(outcome, program) == (alone.text(), alone.probability_text())
    for way, (in_one, in_two) in found.items():
        assert in_one == in_two, way


def test_the_threshold_of_the_fluent_that_measures_counts() -> None:
    one, _, _, _ = drawn(0)
    one = (
        f"{SWITCHES}\nholdsFor(long(X)=true, I) :- {PARTS}, {COMBINED[0]}, intDurGreater(D, 3, I)."
    )
    text = "0.5::a_on|1|1|x\n0.6::b_on|1|1|x\na_off|9|9|x\nb_off|9|9|x\nc_on|1|1|x\nc_off|1|1|x\n"
    program = cernis.load(one)
    assert long_ones(program.run_uncertain(text, start=0, end=12)) == [("x", 1, 13)]
    strict = program.run_uncertain(text, start=0, end=12, thresholds={"long": 0.79})
    assert long_ones(strict) == [("x", 2, 10)]
    assert long_ones(program.run_uncertain(text, start=0, end=12, thresholds={"long": 0.85})) == []
