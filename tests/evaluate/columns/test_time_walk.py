"""Cycles decided in one walk through time: the same as by rounds, and as the reference says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest

import cernis
from cernis.answers.result import as_text
from cernis.check.model import Relation
from cernis.errors import CernisError
from cernis.evaluate.columns import cycle_rounds as cycles
from cernis.evaluate.columns.cycle_instances import CycleInstances
from cernis.evaluate.columns.time_walk import walk_cycle
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.simple_fluents import Carried
from cernis.plan.logical import Stratum
from cernis.plan.properties.cycle_causes import UnfitError
from cernis.program import Program
from cernis.tables.domains import Domain
from tests.agreement.backend import FEATURES, engine_text
from tests.agreement.compare import Scenario, Skip, by_engine, difference
from tests.reference.cases import Case, read_cases

CASES = [
    case for case in read_cases(Path(__file__).parents[2] / "cases")
    if case.needs <= FEATURES and "cycles" in case.needs
]  # fmt: skip


class Ways:
    """Counts by which way cycles were evaluated."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts: Counter[str] = Counter()
        self._patch = monkeypatch
        self.by_walk()

    def _counted(
        self, stratum: Stratum, context: Context, carried: dict[Relation, Carried]
    ) -> int | None:
        found = walk_cycle(stratum, context, carried)
        self.counts["rounds" if found is None else "walk"] += 1
        return found

    def by_rounds(self) -> None:
        self._patch.setattr(cycles, "try_walk", lambda *_: None)

    def by_walk(self) -> None:
        self._patch.setattr(cycles, "try_walk", self._counted)


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Ways:
    return Ways(monkeypatch)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases_by_rounds(case: Case, ways: Ways) -> None:
    ways.by_rounds()
    assert engine_text(case) == case.expected


def test_most_cases_are_walked_through(ways: Ways) -> None:
    walked = 0
    for case in CASES:
        ways.counts.clear()
        engine_text(case)
        walked += not ways.counts["rounds"]
    assert 2 * walked > len(CASES)


# -- random cycles ---------------------------------------------------------------------------

EVENTS = ("e1", "e2", "e3")
FLUENTS = ("f", "g", "h")
VALUES = ("a", "b", "c")


class Drawn:
    """A random cycle over entities and pairs of them, with its conditions, effects and events."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.has_pairs = random.random() < 0.5
        self.has_edges = random.random() < 0.4
        self.has_outside = random.random() < 0.4

    def head(self, fluent: str, one: str, other: str) -> str:
        """A fluent of an entity; `h` may be of two."""
        return f"h({one}, {other})" if fluent == "h" and self.has_pairs else f"{fluent}({one})"

    def pair(self, rank: int | None = None) -> str:
        """A pair of X; with a rank, one whose initiation may depend on lower ranks only."""
        fluent = self.random.choice(FLUENTS)
        value = self.random.choice(VALUES) if rank is None else VALUES[rank]
        return f"{self.head(fluent, 'X', 'Y')}={value}"

    def condition(self, rank: int) -> str:
        """A condition on what holds, or on what happens at the same point."""
        negation = self.random.choice(("", "", "\\+ "))
        choice = self.random.random()
        if choice < 0.15 and self.has_edges:
            return f"{negation}holdsAt(k(X)=a, T)"
        if choice < 0.3 and self.has_outside:
            return f"{negation}holdsAt(outside(X)={self.random.choice('ab')}, T)"
        if choice < 0.6:
            return f"{negation}holdsAt({self.pair()}, T)"
        if choice < 0.7:
            fluent = self.head(self.random.choice(FLUENTS), "X", "Y")
            return f"\\+ holdsAt({fluent}=_Any, T)"
        if choice < 0.8 or not rank:
            return f"{negation}happensAt({self.random.choice(EVENTS)}(X, Y), T)"
        return f"{negation}initiatedAt({self.pair(self.random.randrange(rank))}, T)"

    def body(self, rank: int) -> str:
        event = f"happensAt({self.random.choice(EVENTS)}(X, Y), T)"
        if rank and self.has_pairs and self.random.random() < 0.5:
            event = f"initiatedAt(h(X, Y)={VALUES[self.random.randrange(rank)]}, T)"
        elif rank and self.random.random() < 0.3:
            event = "happensAt(shown(X, Y), T)"
        parts = [event, *(self.condition(rank) for _ in range(self.random.randrange(3)))]
        return ", ".join(parts)

    def clauses(self) -> tuple[str, ...]:
        found = [":- event([e1(x:text, y:text), e2(x:text, y:text), e3(x:text, y:text)])."]
        found.append(f"happensAt(shown(X, Y), T) :- {self.body(0)}, holdsAt({self.pair()}, T).")
        if self.has_edges:
            start, end = (self.random.choice(("f(X)=a", "f(X)=b", "g(X)=_V")) for _ in range(2))
            found.append(f"initiatedAt(k(X)=a, T) :- happensAt(start({start}), T).")
            found.append(
                f"terminatedAt(k(X)=a, T) :- happensAt(end({end}), T), "
                "\\+ happensAt(start(g(X)=c), T)."
            )
        if self.has_outside:
            found.append("initiatedAt(outside(X)=a, T) :- happensAt(e1(X, _), T).")
            found.append("initiatedAt(outside(X)=b, T) :- happensAt(e2(X, _), T).")
            found.append("terminatedAt(outside(X)=_V, T) :- happensAt(e3(X, X), T).")
        for fluent in FLUENTS:
            own = self.head(fluent, "X", "Y")
            for rank in range(len(VALUES)):
                found.append(f"initiatedAt({own}={VALUES[rank]}, T) :- {self.body(rank)}.")
            value = self.random.choice((*VALUES, "_V"))
            found.append(f"terminatedAt({own}={value}, T) :- {self.body(0)}.")
            found += self.effects(own)
        return tuple(found)

    def effects(self, own: str) -> list[str]:
        found = []
        for at, value in enumerate(VALUES):
            if self.random.random() < 0.5:
                delay = self.random.randint(1, 9)
                target = VALUES[(at + 1) % 3]
                found.append(
                    f"fi({own}={value}, {own}={target}, {delay})."
                    if self.random.random() < 0.6 else f"ft({own}={value}, {delay})."
                )  # fmt: skip
                if self.random.random() < 0.4:
                    found.append(f"p({own}={value}).")
        return found

    def lines(self) -> tuple[str, ...]:
        entities = [f"x{number}" for number in range(self.random.randint(1, 4))]
        found = []
        for _ in range(self.random.randint(5, 40)):
            time = self.random.randint(1, 40)
            one, other = self.random.choice(entities), self.random.choice(entities)
            found.append(f"{self.random.choice(EVENTS)}|{time}|{time}|{one}|{other}")
        return tuple(found)


class Numbered(Drawn):
    """The same with entities that are numbers, which rules compute with: whole ones, or not."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.type = random.choice(("integer", "float", "number"))

    def body(self, rank: int) -> str:
        return f"{super().body(rank)}, X + Y > 1"

    def clauses(self) -> tuple[str, ...]:
        return tuple(clause.replace(":text", f":{self.type}") for clause in super().clauses())

    def lines(self) -> tuple[str, ...]:
        ending = {"integer": "", "float": ".5"}.get(self.type, self.random.choice(("", ".0")))
        found = []
        for line in super().lines():
            event, one, other = line.rsplit("|", 2)
            found.append(f"{event}|{one[1:]}{ending}|{other[1:]}{ending}")
        return tuple(found)


def drawn(seed: int, kind: type[Drawn] = Drawn) -> tuple[Scenario, Program]:
    """A random cycle with a stream and, at times, windows."""
    random = Random(seed)
    cycle = kind(random)
    settings = {"end": 60}
    if random.random() < 0.5:
        settings["window"] = random.randint(3, 30)
        settings["step"] = random.randint(1, settings["window"])
    scenario = Scenario(cycle.clauses(), cycle.lines(), settings)  # type: ignore[arg-type]
    return scenario, cernis.load(scenario.rules)


@pytest.mark.parametrize("kind", [Drawn, Numbered])
@pytest.mark.parametrize("first", range(0, 100, 50))
def test_random_cycles(first: int, kind: type[Drawn], ways: Ways) -> None:
    compared = 0
    for seed in range(first, first + 50):
        try:
            scenario, program = drawn(seed, kind)
        except CernisError:
            continue
        program.plan.__dict__["linked"] = ()
        ways.by_rounds()
        expected = as_text(by_engine(scenario, program).answer)
        ways.by_walk()
        assert as_text(by_engine(scenario, program).answer) == expected, f"seed {seed}"
        compared += 1
    assert compared > 30
    assert ways.counts["walk"] > ways.counts["rounds"]


@pytest.mark.parametrize("kind", [Drawn, Numbered])
@pytest.mark.parametrize("first", range(1000, 1030, 15))
def test_random_cycles_against_the_reference(first: int, kind: type[Drawn]) -> None:
    compared = 0
    for seed in range(first, first + 15):
        try:
            scenario, program = drawn(seed, kind)
            found = difference(scenario, program)
        except (CernisError, Skip):
            continue
        assert not found, f"seed {seed}: {found}\n{scenario}"
        compared += 1
    assert compared > 7


def test_instances_of_numbers_are_numbered_as_they_are_met() -> None:
    instances = CycleInstances([None, Domain(["a", "b"]), None])
    whole, codes = np.array([7, -3, 7]), np.array([1, 0, 1])
    broken = np.array([0.5, -0.0, 0.5])
    assert instances.enter([whole, codes, broken], 3).tolist() == [0, 1, 0]
    assert [column.tolist() for column in instances.arguments(np.array([1, 0]))] == [
        [-3, 7], [0, 1], [0.0, 0.5],
    ]  # fmt: skip
    wanted = [np.array([-3, 7, 8]), np.array([0, 1, 1]), np.array([0.0, 0.5, 0.5])]
    assert instances.find(wanted, 3).tolist() == [1, 0, -1]


def test_numbers_of_two_kinds_in_one_argument_do_not_fit() -> None:
    instances = CycleInstances([None])
    instances.enter([np.array([3])], 1)
    with pytest.raises(UnfitError):
        instances.enter([np.array([3.0])], 1)
