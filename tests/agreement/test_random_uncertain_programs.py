"""Random programs over uncertain records: against worlds, ProbLog, and the crisp engine."""

from __future__ import annotations

import random
import warnings

import pytest

import cernis
from cernis.answers.uncertain_result import UncertainResult
from cernis.syntax import parse_term
from tests.agreement.test_uncertain_cases import run
from tests.reference.patterns import compact, read_program
from tests.reference.uncertain import Record, probabilities

EVENTS = ("a", "b", "c")
FLUENTS = ("f", "g", "h")
VALUES = ("on", "off")


class Drawn:
    """A program and its records, drawn with a seed."""

    def __init__(self, seed: int, cyclic: bool, static: bool = False) -> None:
        self.chance = random.Random(seed)
        self.cyclic = cyclic
        ties = self.chance.choice(["", ":- ties(break).", ":- ties(initiation)."])
        clauses = [ties, *self._derived()]
        for place, fluent in enumerate(FLUENTS):
            clauses += self._fluent(fluent, FLUENTS if cyclic else FLUENTS[:place])
        # Rules may leave a relation without a rule that mentions it.
        clauses.append("initiatedAt(seen(X)=true, T) :- happensAt(a(X), T), happensAt(c(X), T).")
        self.records = self._records()
        self.rules = "\n".join([*clauses, *(self._statics() if static else [])])

    def _derived(self) -> list[str]:
        bodies = [self._body(EVENTS, ()) for _ in range(2)]
        return [f"happensAt(d(X), T) :- {body}." for body in bodies]

    def _fluent(self, fluent: str, below: tuple[str, ...]) -> list[str]:
        clauses = []
        if self.chance.random() < 0.3:
            value = self.chance.choice(VALUES)
            clauses.append(f"{self.chance.choice(['', '0.3::'])}initially({fluent}(x)={value}).")
        for _ in range(self.chance.choice([1, 2, 3])):
            body = self._body((*EVENTS, "d"), below)
            clauses.append(f"initiatedAt({fluent}(X)={self.chance.choice(VALUES)}, T) :- {body}.")
        for _ in range(self.chance.choice([0, 1, 2])):
            body = self._body((*EVENTS, "d"), below)
            value = self.chance.choice([*VALUES, "_"])
            clauses.append(f"terminatedAt({fluent}(X)={value}, T) :- {body}.")
        return clauses

    def _body(self, events: tuple[str, ...], below: tuple[str, ...]) -> str:
        chance = self.chance
        literals = [f"happensAt({chance.choice(events)}(X), T)"]
        for _ in range(chance.choice([0, 1, 2])):
            kind = chance.random()
            sign = chance.choice(["", "\\+ "])
            if kind < 0.4 or not below:
                literals.append(f"{sign}happensAt({chance.choice(events)}(X), T)")
            elif kind < 0.7:
                value = chance.choice(VALUES)
                literals.append(f"{sign}holdsAt({chance.choice(below)}(X)={value}, T)")
            elif kind < 0.85:
                literals.append(f"{sign}holdsAt(near(X)=true, T)")
            else:
                two = [f"happensAt({chance.choice(EVENTS)}(X), T)" for _ in range(2)]
                literals.append(chance.choice(["({}; {})", "\\+ ({}, {})"]).format(*two))
        return ", ".join(literals)

    def _statics(self) -> list[str]:
        """Fluents that are statically determined, of one another too, and a rule that asks them."""
        parts = [f"{fluent}(X)={value}" for fluent in FLUENTS for value in VALUES]
        parts.append("near(X)=true")
        clauses = []
        for name in ("s1", "s2", "s3"):
            for _ in range(self.chance.choice([1, 1, 2])):
                clauses.append(f"{name}(X)=true iff {self._formula(parts, 2)}.")
            parts.append(f"{name}(X)=true")
        clauses.append(f"some=true iff {self.chance.choice(parts)}.")
        first, second = self.chance.sample(parts, 2)
        clauses.append(
            f"holdsFor(free(X)=true, I) :- holdsFor({first}, A), holdsFor({second}, B), "
            "complement_all([A], C), union_all([B, C], I)."
        )
        sign = self.chance.choice(["", "\\+ "])
        clauses.append(
            f"initiatedAt(top(X)=true, T) :- happensAt(a(X), T), holdsAt(s1(X)=true, T), "
            f"{sign}holdsAt({self.chance.choice(parts)}, T)."
        )
        return clauses

    def _formula(self, parts: list[str], depth: int) -> str:
        chance = self.chance
        if depth == 0 or chance.random() < 0.2:
            return chance.choice(parts)
        one, other = (self._formula(parts, depth - 1) for _ in range(2))
        return chance.choice(["({}, {})", "({} or {})", "({}, not {})"]).format(one, other)

    def _records(self) -> list[tuple[float, str, int]]:
        chance = self.chance
        found = []
        for _ in range(chance.choice([3, 6, 9])):
            name = chance.choice([*EVENTS, "near"])
            entity = chance.choice(["x", "x", "y"])
            what = f"near({entity})=true" if name == "near" else f"{name}({entity})"
            found.append((chance.choice([0.1, 0.5, 0.8, 1.0]), what, chance.randrange(1, 6)))
        return found

    def reference(self) -> dict[str, dict[int, float]]:
        records: list[Record] = [(p, parse_term(what), t) for p, what, t in self.records]
        found = probabilities(read_program(self.rules, "drawn"), records)
        return {compact(pair): series for pair, series in found.items()}

    def text(self, certain: bool = False) -> str:
        lines = []
        for chance, what, time in self.records:
            name, _, rest = what.partition("(")
            entity = rest[0]
            value = "true|" if name == "near" else ""
            lines.append(f"{1 if certain else chance}::{name}|{time}|{time}|{value}{entity}\n")
        return "".join(lines)


def courses(rules: str, text: str) -> dict[str, dict[int, float]]:
    """The steps of each pair, by its text."""
    return courses_of(run(rules, text))


def courses_of(result: UncertainResult) -> dict[str, dict[int, float]]:
    """The probability of each pair of a result, by its text and point by point."""
    table = result.probabilities.to_pylist()
    found: dict[str, dict[int, float]] = {}
    for row in table:
        args = f"({','.join(row['args'])})" if row["args"] else ""
        pair = f"{row['fluent']}{args}={row['value']}"
        end = row["end"] if row["end"] is not None else 99
        for time in range(row["start"], end):
            found.setdefault(pair, {})[time] = row["probability"]
    return found


EDGES = """
initiatedAt(begun(X)=true, T) :- happensAt(start(f(X)=on), T), happensAt(a(X), T).
terminatedAt(begun(X)=true, T) :- happensAt(end(f(X)=on), T).
initiatedAt(over(X)=V, T) :- happensAt(end(g(X)=V), T), \\+ holdsAt(f(X)=on, T).
initiatedAt(quiet(X)=true, T) :- happensAt(b(X), T), \\+ happensAt(start(h(X)=_), T).
initiatedAt(met(X)=true, T) :- happensAt(start(near(X)=true), T), \\+ holdsAt(f(X)=on, T).
terminatedAt(met(X)=true, T) :- happensAt(end(near(X)=true), T), holdsAt(near(X)=true, T).
"""


DECLARED = "points(near(_)=_).\n"


@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_as_the_sum_over_possible_worlds(seed: int, cyclic: bool) -> None:
    drawn = Drawn(seed, cyclic)
    print(f"seed {seed}\n{drawn.rules}\n{drawn.text()}")
    _compare(courses(DECLARED + drawn.rules, drawn.text()), drawn.reference())


@pytest.mark.parametrize("seed", [*range(60), 442])
def test_statically_determined_fluents(seed: int) -> None:
    drawn = Drawn(seed, cyclic=seed % 3 == 0, static=True)
    print(f"seed {seed}\n{drawn.rules}\n{drawn.text()}")
    _compare(courses(DECLARED + drawn.rules, drawn.text()), drawn.reference())


@pytest.mark.parametrize("seed", [*range(16), 411])
def test_starts_and_ends(seed: int) -> None:
    drawn = Drawn(seed, cyclic=seed % 2 == 1)
    drawn.rules += EDGES
    print(f"seed {seed}\n{drawn.rules}\n{drawn.text()}")
    _compare(courses(DECLARED + drawn.rules, drawn.text()), drawn.reference())


class EventsInCycles(Drawn):
    """Events whose rules ask for the fluents that they initiate and terminate."""

    def _derived(self) -> list[str]:
        return [f"happensAt(d(X), T) :- {self._body(EVENTS, FLUENTS)}." for _ in range(2)]


class ValuesInTwoStrata(Drawn):
    """A fluent that has a simple value, and one that is statically determined."""

    def __init__(self, seed: int, cyclic: bool) -> None:
        super().__init__(seed, cyclic)
        part = self.chance.choice(["holdsFor(g(X)=off, B)", "holdsFor(near(X)=true, B)"])
        self.rules += "\n" + self.chance.choice([
            "holdsFor(p(X)=no, I) :- holdsFor(f(X)=on, A), complement_all([A], I).",
            f"holdsFor(p(X)=no, I) :- holdsFor(f(X)=on, A), {part}, union_all([A, B], I).",
        ])  # fmt: skip
        for head in ("initiatedAt(p(X)=yes, T)", "terminatedAt(p(X)=yes, T)",
                     "initiatedAt(z(X)=true, T)", "initiatedAt(z(X)=false, T)"):  # fmt: skip
            self.rules += f"\n{head} :- {self._asking()}."

    def _asking(self) -> str:
        asked, signs = ["p(X)=no", "p(X)=yes", "f(X)=on"], ["", "\\+ "]
        literals = [
            f"{self.chance.choice(signs)}holdsAt({self.chance.choice(asked)}, T)"
            for _ in range(self.chance.choice([1, 2]))
        ]
        return ", ".join([f"happensAt({self.chance.choice(EVENTS)}(X), T)", *literals])


@pytest.mark.parametrize("kind", [EventsInCycles, ValuesInTwoStrata])
@pytest.mark.parametrize("seed", range(16))
def test_events_in_cycles_and_values_in_two_strata(kind: type[Drawn], seed: int) -> None:
    drawn = kind(seed, kind is EventsInCycles or seed % 2 == 1)
    print(f"seed {seed}\n{drawn.rules}\n{drawn.text()}")
    rules = DECLARED + drawn.rules
    _compare(courses(rules, drawn.text()), drawn.reference())
    whole, parts = (
        run(rules, drawn.text(), end=6),
        run(rules, drawn.text(), end=6, window=8, step=2),
    )
    assert parts.probability_text() == whole.probability_text()
    assert parts.text() == whole.text()


def test_starts_of_any_value_know_that_values_exclude_each_other() -> None:
    """A switch that is on or off: one of the two starts unless the other goes on."""
    rules = """
        initiatedAt(h(X)=on, T) :- happensAt(a(X), T).
        initiatedAt(h(X)=off, T) :- happensAt(b(X), T).
        initiatedAt(quiet(X)=true, T) :- happensAt(c(X), T), \\+ happensAt(start(h(X)=_), T).
    """
    text = "a|1|1|x\n0.8::b|2|2|x\n0.5::b|3|3|x\nc|3|3|x\n"
    # Off goes on with 0.8, and where on holds, off does not start with 0.5.
    assert courses(rules, text)["quiet(x)=true"][4] == pytest.approx(0.8 + 0.2 * 0.5)


def _compare(found: dict[str, dict[int, float]], expected: dict[str, dict[int, float]]) -> None:
    for pair, series in expected.items():
        for time, chance in series.items():
            assert found.get(pair, {}).get(time, 0) == pytest.approx(chance, abs=1e-9), pair
    assert set(found) <= expected.keys()


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("ties", ["break", "initiation"])
def test_certain_records_are_as_in_the_crisp_engine(seed: int, ties: str) -> None:
    """Fluents that rest on records which are uncertain in name only are evaluated as such."""
    drawn = Drawn(seed, cyclic=seed % 2 == 1)
    rules = DECLARED + drawn.rules.replace("0.3::", "").replace(":- ties", "% ")
    print(f"seed {seed}\n{rules}\n{drawn.text()}")
    # What cannot be told from certainty is uncertain all the same.
    doubted = drawn.text(certain=True).replace("1::", "0.9999999999999999::")
    found = run(rules, doubted, ties=ties).probabilities.to_pylist()
    crisp = cernis.load(rules).run(drawn.text(certain=True), ties=ties).intervals.to_pylist()
    held = [row for row in found if row["probability"] > 0.5]
    keys = ("fluent", "args", "value", "start", "end")
    assert _joined(held) == [tuple(str(row[key]) for key in keys) for row in crisp]


def _joined(rows: list[dict[str, object]]) -> list[tuple[str, ...]]:
    """Rows with those joined that meet: their probabilities may differ by rounding."""
    found: list[list[object]] = []
    for row in rows:
        own = [row["fluent"], row["args"], row["value"], row["start"], row["end"]]
        if found and found[-1][:3] == own[:3] and found[-1][4] == own[3]:
            found[-1][4] = own[4]
        else:
            found.append(own)
    return [tuple(map(str, row)) for row in found]


def problog_probability(program: str, query: str) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import problog
        from problog.program import PrologString

        model = PrologString(f"{program}\nquery({query}).")
        result = problog.get_evaluatable().create_from(model).evaluate()
    return float(next(iter(result.values()), 0.0))


@pytest.mark.parametrize("seed", range(6))
def test_problog_agrees_on_starts_and_ends(seed: int) -> None:
    """Of one fluent over records of three events."""
    chance = random.Random(seed)
    print(f"seed {seed}")
    facts = [(round(chance.random(), 3), name, time) for time in (1, 2, 3, 4) for name in EVENTS]
    rules = """
        initiatedAt(f=true, T) :- happensAt(a, T).
        terminatedAt(f=true, T) :- happensAt(b, T), \\+ happensAt(c, T).
        initiatedAt(s=true, T) :- happensAt(start(f=true), T), happensAt(c, T).
        initiatedAt(e=true, T) :- happensAt(end(f=true), T).
    """
    oracle = [f"{p}::{name}({time})." for p, name, time in facts]
    oracle.append("0.0::holds(1). broken(T) :- b(T), \\+ c(T).")
    oracle.append("holds(T) :- T > 1, P is T - 1, a(P).")
    oracle.append("holds(T) :- T > 1, P is T - 1, holds(P), \\+ broken(P).")
    oracle.append("starts(T) :- S is T + 1, \\+ holds(T), holds(S), c(T).")
    oracle.append("ends(T) :- S is T + 1, holds(T), \\+ holds(S).")
    text = "".join(f"{p}::{name}|{time}|{time}\n" for p, name, time in facts)
    found = courses(rules, text)
    for fluent, edge in (("s=true", "starts"), ("e=true", "ends")):
        none = 1.0
        for time in (1, 2, 3, 4):
            none *= 1 - problog_probability("\n".join(oracle), f"{edge}({time})")
            # Later ones count as independent of earlier ones, as inertia has it.
            assert found.get(fluent, {}).get(time + 1, 0.0) == pytest.approx(1 - none, abs=1e-9)


@pytest.mark.parametrize("seed", range(25))
def test_problog_agrees(seed: int) -> None:
    """Rules over three events and a derived one at four points, inertia written in ProbLog."""
    chance = random.Random(seed)
    print(f"seed {seed}")
    facts = [
        (round(chance.random(), 3), name, time)
        for time in (1, 2, 3, 4) for name in EVENTS if chance.random() < 0.8
    ]  # fmt: skip
    heads = [("d", "happensAt(d, T)")] * 2
    heads += [("init", "initiatedAt(f=true, T)")] * 2 + [("term", "terminatedAt(f=true, T)")] * 2
    rules, oracle = [], [f"{p}::{name}({time})." for p, name, time in facts]
    for name, head in heads:
        body = _random_body(chance, EVENTS if name == "d" else (*EVENTS, "d"))
        told = ", ".join(f"{sign}happensAt({event}, T)" for sign, event in body)
        rules.append(f"{head} :- {told}.")
        oracle.append(f"{name}(T) :- {', '.join(f'{s}{e}(T)' for s, e in body)}.")
    oracle += [f"0.0::{name}(0)." for name in EVENTS]
    oracle.append("holds(T) :- T > 1, P is T - 1, init(P).")
    oracle.append("holds(T) :- T > 1, P is T - 1, holds(P), \\+ term(P).")
    text = "".join(f"{p}::{name}|{time}|{time}\n" for p, name, time in facts)
    rules.append("initiatedAt(any=true, T) :- happensAt(a, T), happensAt(b, T), happensAt(c, T).")
    found = {row["start"]: row for row in _only_f("\n".join(rules), text)}
    current = 0.0
    for time in (2, 3, 4, 5):
        if time in found:
            current = found[time]["probability"]
        elif any(row["end"] == time for row in found.values()):
            current = 0.0
        expected = problog_probability("\n".join(oracle), f"holds({time})")
        assert current == pytest.approx(expected, abs=1e-9)


def _only_f(rules: str, text: str) -> list[dict[str, object]]:
    return [r for r in run(rules, text).probabilities.to_pylist() if r["fluent"] == "f"]


def _random_body(chance: random.Random, events: tuple[str, ...]) -> list[tuple[str, str]]:
    """A positive literal first, then others of either sign."""
    first, *others = chance.sample(events, chance.choice([1, 2, 3]))
    return [("", first), *((chance.choice(["", "\\+ "]), other) for other in others)]
