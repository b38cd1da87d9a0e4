"""One entity with very many instances, few of which hold at a time: work follows the answer."""

from __future__ import annotations

import random
import time
import tracemalloc

import pytest

import cernis
from cernis.operators import fluent_lookups as fluents
from cernis.operators.definitions import simple_fluents as simple

MISSED = "happensAt(missed(X, Y), T) :- happensAt(no call(X, _Z) within 10 after call(X, Y), T)."
UNANSWERED = (
    "happensAt(missed(X, Y), T) :- happensAt(no answer(X, _) within 3 after call(X, Y), T)."
)
VALUES = """
initiatedAt(last(X)=Y, T) :- happensAt(call(X, Y), T).
happensAt(reply(X, Y), T) :- happensAt(answer(X, _), T), holdsAt(last(X)=Y, T).
"""
EXPIRING = """
initiatedAt(waiting(X, Y)=true, T) :- happensAt(call(X, Y), T).
waiting(_X, _Y)=true expires after 4.
happensAt(reply(X, Y), T) :- happensAt(answer(X, _), T), holdsAt(waiting(X, Y)=true, T).
happensAt(idle(X), T) :- happensAt(answer(X, _), T), \\+ holdsAt(waiting(X, _)=true, T).
"""
ENDING = """
initiatedAt(waiting(X, Y)=true, T) :- happensAt(call(X, Y), T).
terminatedAt(waiting(X, _Y)=true, T) :- happensAt(answer(X, _), T).
happensAt(long(X, Y), T) :- happensAt(waiting(X, Y)=true for at least 3, T).
"""
PROGRAMS = {
    "missed": MISSED, "unanswered": UNANSWERED, "values": VALUES, "expiring": EXPIRING,
    "ending": ENDING,
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_time_does_not_follow_all_pairs_of_events(name: str) -> None:
    lines = [
        f"call|{3 * at}|{3 * at}|x|y{at}\nanswer|{3 * at + 1}|{3 * at + 1}|x|z{at}"
        for at in range(1, 10_000)
    ]
    program = cernis.load(PROGRAMS[name])
    program.run("\n".join(lines[:100]))
    begun = time.perf_counter()
    program.run("\n".join(lines))
    # With a look at each pair it takes more than ten seconds and two gigabytes.
    assert time.perf_counter() - begun < 4


@pytest.mark.parametrize("name", ["missed", "unanswered"])
def test_absences_after_16_000_events_of_one_entity(name: str) -> None:
    """About 20 ms of one core, reading included, and 12 MB; by pairs it was 15 s and 6 GB."""
    records = "".join(f"call|{3 * at}|{3 * at}|x|y{at}\n" for at in range(1, 16_001))
    program = cernis.load(PROGRAMS[name])
    assert len(program.run(records).happenings) == (15_999 if name == "unanswered" else 0)
    assert min(_processor_time(program, records) for _ in range(5)) < 0.1
    tracemalloc.start()
    program.run(records)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 40e6


def _processor_time(program: cernis.Program, records: str) -> float:
    begun = time.process_time()
    program.run(records)
    return time.process_time() - begun


def _answer(rules: str, records: str, **settings: int) -> list[str]:
    result = cernis.load(rules).run(records, **settings)
    happenings = result.happenings.to_pylist()
    return sorted(map(str, [*result.intervals.to_pylist(), *happenings]))


TIED = """
initiatedAt(f(X, Y)=V, T) :- happensAt(call(X, Y, V), T).
terminatedAt(f(X, _Y)=1, T) :- happensAt(answer(X, _), T).
terminatedAt(f(X, _Y)=V, T) :- happensAt(stop(X, V), T).
terminatedAt(f(_X, Y)=_V, T) :- happensAt(end(Y), T).
initially(f(x1, y1)=1).
happensAt(g(X, Y, V), T) :- happensAt(answer(X, _), T), holdsAt(f(X, Y)=V, T).
happensAt(h(X, V), T) :- happensAt(answer(X, _), T), holdsAt(f(X, X)=V, T).
happensAt(i(X), T) :- happensAt(answer(X, _), T), \\+ holdsAt(f(X, _)=1, T).
"""


@pytest.mark.parametrize("ties", ["break", "initiation"])
@pytest.mark.parametrize("seed", range(6))
def test_both_ways_of_looking_at_instances_agree(
    seed: int, ties: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    lines = []
    for _ in range(120):
        at, x, y = chance.randrange(1, 60), f"x{chance.randrange(2)}", f"y{chance.randrange(5)}"
        y = x if chance.random() < 0.2 else y
        kind = chance.choice(["call", "call", "answer", "stop", "end"])
        rest = {"call": [x, y, chance.randrange(3)], "answer": [x, 0],
                "stop": [x, chance.randrange(3)], "end": [y]}[kind]  # fmt: skip
        lines.append("|".join(map(str, [kind, at, at, *rest])))
    rules = f":- ties({ties}).\n{TIED}"
    answers = []
    for few in (-1, 1_000_000):
        monkeypatch.setattr(fluents, "_FEW", few)
        monkeypatch.setattr(simple, "_FEW", few)
        answers.append(_answer(rules, "\n".join(lines)))
        answers.append(_answer(rules, "\n".join(lines), window=20, step=10))
    assert answers[0] == answers[2]
    assert answers[1] == answers[3]
