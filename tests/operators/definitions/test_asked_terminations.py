"""Terminations asked for in bodies: the reference, runs and sessions agree on random programs.

Heads leave values and arguments open, literals ask for one value, for any, and for which it is.

`python -m tests.operators.definitions.test_asked_terminations FIRST LAST` compares other seeds.
"""

from __future__ import annotations

import sys
from random import Random

import pytest

import cernis
from tests.agreement.compare import Scenario, by_engine, difference, shrunk
from tests.generators.streams import Settings
from tests.session.feeds import difference as session_difference

SEEDS = range(120)
COLOURS = ("red", "green", "blue")
ROOMS = ("a", "b", "c")

BEGINNINGS = (
    "initiatedAt(lamp(X)=V, T) :- happensAt(set(X, V), T).",
    "initiatedAt(lamp(X)=red, T) :- happensAt(look(X), T).",
    "initiatedAt(lamp(_)=green, T) :- happensAt(all, T).",
    "initiatedAt(lamp(X)=V, T) :- happensAt(set(X, V), T), holdsAt(memo(X)=V, T).",
    "initially(lamp(a)=blue).",
)
ENDINGS = (
    "terminatedAt(lamp(X)=_V, T) :- happensAt(cut(X), T).",
    "terminatedAt(lamp(_X)=_V, T) :- happensAt(all, T).",
    "terminatedAt(lamp(_)=red, T) :- happensAt(all, T).",
    "terminatedAt(lamp(X)=V, T) :- happensAt(pick(X, V), T).",
    "terminatedAt(lamp(_)=V, T) :- happensAt(pick(_, V), T).",
    "terminatedAt(lamp(X)=_, T) :- happensAt(cut(X), T), holdsAt(memo(X)=red, T).",
    "ft(lamp(_)=red, 3).",
    "fi(lamp(X)=red, lamp(X)=green, 2).",
    "fi(lamp(X)=green, lamp(X)=blue, 4).\np(lamp(_)=green).",
)
ASKING = (
    "happensAt(out(X), T) :- terminatedAt(lamp(X)=green, T).",
    "happensAt(out(X, V), T) :- terminatedAt(lamp(X)=V, T).",
    "happensAt(out(X), T) :- happensAt(look(X), T), terminatedAt(lamp(X)=_, T).",
    "happensAt(out(X), T) :- happensAt(look(X), T), \\+ terminatedAt(lamp(X)=_, T).",
    "happensAt(out(X, V), T) :- happensAt(set(X, V), T), \\+ terminatedAt(lamp(X)=V, T).",
    "happensAt(out(X, V), T) :- happensAt(set(X, V), T), terminatedAt(lamp(X)=V, T).",
    "happensAt(out(X, V), T) :- terminatedAt(lamp(X)=V, T), happensAt(set(_, V), T).",
    "happensAt(out(X, V), T) :- terminatedAt(lamp(X)=V, T), liked(V).",
    "happensAt(out(X, V), T) :- terminatedAt(lamp(X)=V, T), \\+ liked(V).",
    "happensAt(out(V), T) :- happensAt(all, T), (terminatedAt(lamp(_)=V, T) ; liked(V)).",
    "initiatedAt(memo(X)=V, T) :- terminatedAt(lamp(X)=V, T).",
    "initiatedAt(memo(X)=V, T) :- terminatedAt(lamp(X)=V, T), holdsAt(wish(X)=V, T).",
    "initiatedAt(dark=true, T) :- terminatedAt(lamp(_)=_, T).\n"
    "terminatedAt(dark=true, T) :- initiatedAt(lamp(_)=_, T).",
    "initiatedAt(some=N, T) :- happensAt(all, T), "
    "findall(X, terminatedAt(lamp(X)=red, T), L), length(L, N).",
)
GROUNDINGS = (
    "grounding(lamp(X)=V) :- room(X), colour(V).\nroom(a). room(b).\ncolour(red). colour(green).",
    "grounding(lamp(X)=V) :- member(X, [a, b]), colour(V).\ndynamicDomain(colour(_)).\n"
    "grounding(set(_, V)) :- colour(V).",
)


def drawn(seed: int) -> Scenario:
    """A program with its records and settings."""
    random = Random(seed)
    text = [*random.sample(BEGINNINGS, random.randint(1, 3))]
    text += random.sample(ENDINGS, random.randint(1, 4))
    text += random.sample(ASKING, random.randint(1, 4))
    text += ["initiatedAt(wish(X)=V, T) :- happensAt(pick(X, V), T).", "liked(red). liked(blue)."]
    text += [":- ties(initiation)."] * (random.random() < 0.2)
    text += [random.choice(GROUNDINGS)] * (random.random() < 0.3)
    lines = sorted(_records(random), key=lambda line: int(line.split("|")[1]))
    return Scenario(tuple(text), tuple(lines), _settings(random))


def _records(random: Random) -> list[str]:
    found = []
    for _ in range(random.randint(4, 24)):
        name = random.choice(("set", "set", "cut", "all", "look", "pick"))
        time = random.randint(1, 20)
        arrival = time + random.choice((0, 0, 0, random.randint(1, 6)))
        values = [random.choice(ROOMS)] if name != "all" else []
        values += [random.choice(COLOURS)] if name in ("set", "pick") else []
        found.append("|".join([name, str(arrival), str(time), *values]))
    return found


def _settings(random: Random) -> Settings:
    settings: Settings = {"start": 0, "end": 26}
    if random.random() < 0.6:
        settings["window"] = random.randint(2, 12)
        settings["step"] = random.randint(1, settings["window"] + 3)
    return settings


def told(scenario: Scenario) -> str:
    """What differs between reference and run, or between run and sessions; empty if nothing."""
    found = difference(scenario)
    if found:
        return found
    program = cernis.load(scenario.rules)
    result = by_engine(scenario, program, per_query=True)
    for way in (True, False):
        found = session_difference(scenario, program, result, way)
        if found:
            return f"session, incremental {way}: {found}"
    return ""


@pytest.mark.parametrize("seed", SEEDS)
def test_terminations_asked_for(seed: int) -> None:
    scenario = drawn(seed)
    assert not told(scenario), f"seed {seed}\n{shrunk(scenario, tell=told)}"


@pytest.mark.parametrize("seed", range(500, 560))
def test_uncertain_terminations_asked_for(seed: int) -> None:
    """Records that may be uncertain, and are not, have the answer of certain ones."""
    scenario = drawn(seed)
    clauses = [clause for clause in scenario.clauses if not clause.startswith(("fi", "ft"))]
    ties = "initiation" if ":- ties(initiation)." in clauses else "break"
    program = cernis.load("\n".join(clauses))
    expected = program.run(list(scenario.lines), start=0, end=26)
    given = [r.name for r, event in program.checked.catalogue.events.items() if event.is_input]
    found = program.run_uncertain(list(scenario.lines), start=0, end=26, ties=ties, uncertain=given)
    rows = [row for row in found.probabilities.to_pylist() if row["probability"] > 0]
    assert {row["probability"] for row in rows} <= {1.0}
    held = expected.intervals.to_pylist()
    assert _told(rows) == _told(held), f"seed {seed}\n{scenario}"


def _told(rows: list[dict[str, object]]) -> list[str]:
    return sorted(str([row[key] for key in ("fluent", "args", "value", "start", "end")])
                  for row in rows)  # fmt: skip


def main(first: int, last: int) -> None:
    """Compare the seeds from the first to the last, and tell all that differ."""
    for seed in range(first, last + 1):
        scenario = drawn(seed)
        if told(scenario):
            small = shrunk(scenario, tell=told)
            print(f"seed {seed}\n{small}\n{told(small)}\n", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
