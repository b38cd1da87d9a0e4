"""What lanes find in a run is what columns find, in one window and in many."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.answers.result import as_text
from cernis.evaluate.answer import Answer
from cernis.evaluate.run import Run
from cernis.evaluate.windows import Window
from cernis.plan.builder import Plan
from cernis.records.record_sources import read_events

EXAMPLES = Path(__file__).parents[3] / "examples"

WINDOWS = [(None, None), (600, 600), (900, 300), (300, 450)]
"""Window and step: all at once, side by side, overlapping, with gaps."""

RULES = """
:- dynamic machine/1.
initiatedAt(state(M)=on, T) :- happensAt(start(M, Power), T), Power > 10.
initiatedAt(state(M)=idle, T) :- happensAt(rest(M), T), holdsAt(state(M)=on, T).
terminatedAt(state(M)=_, T) :- happensAt(stop(M), T).
initiatedAt(hot(M)=true, T) :- happensAt(start(state(M)=on), T), \\+ holdsAt(cooled(M)=true, T).
fi(hot(M)=true, hot(M)=false, 30).
p(hot(_)=true).
initiatedAt(cooled(M)=true, T) :- happensAt(cool(M), T).
terminatedAt(cooled(M)=true, T) :- happensAt(end(hot(M)=true), T).
happensAt(alarm(M), T) :- happensAt(start(hot(M)=true), T), happensAt(rest(M), T).
holdsFor(busy(M)=true, I) :- holdsFor(state(M)=on, A), holdsFor(hot(M)=true, B),
    union_all([A, B], I).
initially(state(M)=idle) :- spare(M).
spare(7).
grounding(start(M, _)) :- machine(M).
grounding(rest(M)) :- machine(M).
"""


class WalkedRun(Run):
    """A run that walks lanes, also where columns are evaluated above them."""

    @property
    def may_walk(self) -> bool:
        return True


class ColumnsRun(Run):
    """A run that walks no lanes."""

    @property
    def may_walk(self) -> bool:
        return False


def answers(
    plan: Plan, events: str | Path, window: int | None, step: int | None,
    has_conflicts: bool = True,
) -> tuple[list[str], list[str]]:  # fmt: skip
    """The answers of all queries, by lanes and by columns; conflicts may be compared, too."""
    texts: tuple[list[str], list[str]] = ([], [])
    conflicts = []
    for kind, found in zip((WalkedRun, ColumnsRun), texts, strict=True):

        def keep(window: Window, answer: Answer, found: list[str] = found) -> None:
            found.append(as_text(answer))

        run = kind(plan)
        whole = run.over(read_events(events, plan.checked), window=window, step=step, on_query=keep)
        conflicts.append(whole.conflicts)
    assert not has_conflicts or conflicts[0] == conflicts[1]
    return texts


@pytest.mark.parametrize(("window", "step"), WINDOWS)
@pytest.mark.parametrize("name", ["maritime", "fleet", "feedback", "toy"])
def test_examples(name: str, window: int | None, step: int | None) -> None:
    folder = EXAMPLES / name
    plan = cernis.load(folder / "rules.cer", [folder / "facts.cer"]).plan
    assert plan.lanes
    walked, by_columns = answers(plan, folder / "events.txt", window, step)
    assert walked == by_columns


def records(seed: int, count: int = 60) -> str:
    """Records of some machines, of which some arrive late and some are taken back."""
    random, lines = Random(seed), []
    for _ in range(count):
        time, machine = random.randint(1, 200), random.choice([3, 7, 11, -2])
        arrival = time + random.choice([0, 0, 0, 5, 40])
        name = random.choice(["start", "start", "rest", "stop", "cool"])
        power = f"|{random.choice([5, 20, 10.5])}" if name == "start" else ""
        lines.append(f"{name}|{arrival}|{time}|{machine}{power}")
        if random.random() < 0.1:
            lines.append(f"-{name}|{arrival + 20}|{time}|{machine}{power}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("window", "step"), [(None, None), (40, 20), (30, 30), (20, 35)])
@pytest.mark.parametrize("ties", ["break", "initiation"])
def test_late_and_retracted_records(
    seed: int, window: int | None, step: int | None, ties: str
) -> None:
    """Keys are numbers here, and the groundings of some events say who is a machine."""
    plan = cernis.load(f":- ties({ties}).\n{RULES}").plan
    assert plan.lanes, [verdict for stage in plan.sweep for verdict in stage.verdicts]
    walked, by_columns = answers(plan, records(seed), window, step)
    assert walked == by_columns, f"seed {seed}"
