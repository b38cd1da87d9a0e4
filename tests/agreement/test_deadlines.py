"""Deadlines: what phrases mean, counted by hand; time that passes; windows of every size."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.program import Program
from tests.reference.cases import read_case

CASES = Path(__file__).parents[1] / "cases"

RULES = """
initiatedAt(f(X)=on, T)  :- happensAt(on(X), T).
terminatedAt(f(X)=on, T) :- happensAt(off(X), T).
happensAt(long(X), T) :- happensAt(f(X)=on for at least {d}, T).
lasting(X)=true iff f(X)=on for at least {d}.
happensAt(missed(X), T) :- happensAt(no off(X) within {d} after on(X), T).
happensAt(silent(X), T) :- happensAt(no on(X) within {d} after on(X), T).
"""


def stream(random: Random, end: int) -> list[tuple[str, int, int, str]]:
    """Events of three entities, each at its time."""
    count = random.randint(5, 60)
    times = sorted(random.randint(1, end) for _ in range(count))
    return [(random.choice(("on", "on", "off")), t, t, random.choice("abc")) for t in times]


def absences(
    events: list[tuple[str, int, int, str]], who: str, first: str, absent: str, delay: int, end: int
) -> list[int]:
    """The times at which nothing has come of a first event, by the definition."""
    ours = [(name, t) for name, _, t, entity in events if entity == who]
    due = {t + delay for name, t in ours if name == first and t + delay <= end}
    return sorted(
        t for t in due if not any(n == absent and t - delay < s <= t for n, s in ours)
    )  # fmt: skip


def happenings(text: str, event: str) -> dict[str, list[int]]:
    found = {}
    for line in text.splitlines():
        if line.startswith(f"happensAt({event}("):
            entity, _, times = line.removeprefix(f"happensAt({event}(").partition(")")
            found[entity] = [int(t) for t in times.strip(", [].)").split(",")]
    return found


def intervals(program: Program, events: object, name: str, end: int) -> dict[str, list[list[int]]]:
    table = program.run(events, start=0, end=end).fluent(name)  # type: ignore[arg-type]
    found: dict[str, list[list[int]]] = {}
    for row in table.to_pylist():
        found.setdefault(row["x"], []).append([row["start"], row["end"] or 10**9])
    return found


@pytest.mark.parametrize("seed", range(40))
def test_phrases_mean_what_they_say(seed: int) -> None:
    random = Random(seed)
    end, delay = random.randint(15, 80), random.randint(1, 15)
    events = stream(random, end)
    program = cernis.load(RULES.format(d=delay))
    text = program.run(events, start=0, end=end).text()
    held = intervals(program, events, "f", end)
    lasting = intervals(program, events, "lasting", end)
    for who in "abc":
        label = f"seed {seed}, {who}"
        missed = absences(events, who, "on", "off", delay, end)
        silent = absences(events, who, "on", "on", delay, end)
        assert happenings(text, "missed").get(who, []) == missed, label
        assert happenings(text, "silent").get(who, []) == silent, label
        long = [s - 1 + delay for s, e in held.get(who, []) if e - s >= delay]
        assert happenings(text, "long").get(who, []) == [t for t in long if t <= end], label
        rest = [[s + delay, e] for s, e in held.get(who, []) if e - s > delay]
        assert lasting.get(who, []) == [[s, e] for s, e in rest if s <= end + 1], label


@pytest.mark.parametrize("seed", range(4))
def test_windows_of_every_size_give_the_same(seed: int) -> None:
    random = Random(seed)
    end, delay = 30, random.randint(3, 12)
    events = stream(random, end)
    program = cernis.load(RULES.format(d=delay) + f"f(_)=on expires after {delay + 2}.\n")
    whole = program.run(events, start=0, end=end).text()
    assert whole
    for window in range(1, end + 1):
        cut = program.run(events, start=0, end=end, window=window).text()
        assert cut == whole, f"seed {seed}, window {window}"


@pytest.mark.parametrize(
    "name", ["deadline_alone", "sugar_at_least_windows", "sugar_absence_windows"]
)
def test_each_query_tells_what_the_clock_has_decided(name: str) -> None:
    case = read_case(CASES / name)
    program = cernis.load(case.rules)
    settings = case.settings
    result = program.run(
        case.events, start=settings["start"], end=settings["end"], window=settings["window"],
        step=settings["step"], per_query=True,
    )  # fmt: skip
    assert result.text() == case.expected_per_query


def test_a_deadline_comes_at_the_first_query_behind_it_and_not_before() -> None:
    program = cernis.load(
        "initiatedAt(order(X)=open, T) :- happensAt(places(X), T).\n"
        "fi(order(X)=open, order(X)=overdue, 10).\n"
    )
    result = program.run("places|2|2|a\n", start=0, end=20, step=4, window=4, per_query=True)
    answers = [(query, answer) for query, answer in result.as_of]
    texts = result.text().split("% query ")[1:]
    overdue = [int(text.split()[0]) for text in texts if "overdue" in text]
    queries = [query for query, _ in answers]
    # Initiated at 12, it holds from 13: the first query that sees 12 tells.
    assert overdue == queries[bisect_right(queries, 11) :]


@pytest.mark.parametrize(
    ("name", "count"),
    [("delays_both_kinds", 2), ("delays_shorter_wins", 1), ("delays_into_one", 0)],
)
def test_effects_that_never_come_are_warned_of(name: str, count: int) -> None:
    program = cernis.load(CASES / name / "rules.cer")
    assert [diagnostic.code for diagnostic in program.diagnostics] == ["C042"] * count


def test_what_phrases_are_made_of_is_no_result() -> None:
    program = cernis.load(RULES.format(d=5))
    result = program.run("on|1|1|a\non|20|20|a\n", end=30)
    assert set(result.intervals["fluent"].to_pylist()) == {"f", "lasting"}
    assert set(result.happenings["event"].to_pylist()) == {"long", "missed", "silent"}
