"""Delayed effects and cycles do not depend on windows: every size gives the same joined result.

Records that arrive when they happen lack nothing in a window of any size. What is under way at an
edge, deadlines, causes and suspensions, has to be carried over it. Operators that look at whole
intervals, and input given at points, are not among the rules: a window may cut those.
"""

from __future__ import annotations

from random import Random

import pytest

import cernis
from cernis.program import Program
from tests.agreement.backend import FEATURES
from tests.operators.definitions.test_postponing import scenario
from tests.reference.cases import Case
from tests.test_cases import CASES

OF_TIME = [
    case for case in CASES
    if case.needs & {"delays", "cycles"} and not case.needs - FEATURES
    and not {"window", "step"} & case.settings.keys() and case.name != "large_times"
]  # fmt: skip


def test_there_are_such_cases() -> None:
    assert len(OF_TIME) > 25


@pytest.mark.parametrize("case", OF_TIME, ids=lambda case: case.name)
def test_cases_with_windows_of_every_size(case: Case) -> None:
    program = cernis.load(case.rules)
    tick = case.settings.get("tick") or program.checked.definitions.settings.tick
    lines = case.events.splitlines()
    assert all(line.split("|")[1] == line.split("|")[2] for line in lines if line)
    whole = program.run(lines, **case.settings)
    start, end = whole.summary.start, whole.summary.end
    for window in range(tick, end - start + 1, tick):
        chosen = {**case.settings, "start": start, "end": end, "window": window}
        assert program.run(lines, **chosen).text() == case.expected, f"window {window}"


CYCLE = """
initiatedAt(lent(X, Y)=true, T) :-
    happensAt(e(X, Y), T), \\+ holdsAt(barred(X)=true, T), \\+ holdsAt(barred(Y)=true, T).
fi(lent(X, Y)=true, lent(X, Y)=overdue, 7).
initiatedAt(lent(X, Y)=back, T) :- happensAt(o(X, Y), T).
initiatedAt(barred(Y)=true, T) :- initiatedAt(lent(X, Y)=overdue, T).
fi(barred(X)=true, barred(X)=false, 9).
p(barred(a)=true).
happensAt(spared(X), T) :- happensAt(no b(X) within 4 after b(X), T).
"""


def assert_same(program: Program, lines: list[str], label: str) -> None:
    random = Random(label)
    whole = program.run(lines, start=0, end=32).text()
    for window in range(1, 33):
        step = random.choice((window, random.randint(1, window)))
        cut = program.run(lines, start=0, end=32, window=window, step=step).text()
        assert cut == whole, f"seed {label}, window {window}, step {step}\n" + "\n".join(lines)


@pytest.mark.parametrize("seed", range(3))
def test_random_streams_with_windows_of_every_size(seed: int) -> None:
    own = scenario(Random(seed))
    lines = [_on_time(line) for line in own.lines]
    assert_same(cernis.load(own.rules), lines, f"{seed}")
    assert_same(cernis.load(CYCLE), lines, f"{seed}")


def _on_time(line: str) -> str:
    name, _, time, *args = line.split("|")
    return "|".join([name, time, time, *args])
