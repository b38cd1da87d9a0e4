"""Facts that are valid for a time: looked up when a rule fires, in windows and sessions alike."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.errors import ProgramError
from tests.agreement.compare import Scenario, by_engine, difference
from tests.check.checking import errors, found
from tests.generators.patterns import by_reference
from tests.session.feeds import difference as session_difference

RULES = (
    ":- valid(price(Item, Price, From), From, by(Item)).",
    ":- valid(offer(Item, Until, From), From, Until).",
    ":- valid(known(From, Item), From).",
    "initiatedAt(dear(X)=true, T) :- happensAt(buys(X), T), costly(X), known(X).",
    "terminatedAt(dear(X)=true, T) :- happensAt(buys(X), T), (\\+ costly(X) ; offer(X)).",
    "happensAt(bargain(X, P), T) :- happensAt(buys(X), T), price(X, P), offer(X).",
    "costly(X) :- price(X, P), P > 5.",
    ":- dynamic price/3, offer/3, known/2.",
)
PATTERNS = (
    ":- valid(price(Item, Price, From), From, by(Item)).",
    "whole(X, P) <- buys(X) seq sells(X) where price(X, P) within 8.",
    "part(X, P) <- (buys(X) where costly(X), price(X, P)) seq sells(X) within 8.",
    "calm(X) <- not(buys(X) where costly(X))[sells(X), sells(X)] within 9.",
    ":- consumption(whole/2, recent).",
    "costly(X) :- price(X, P), P > 5.",
    "price(zz, 1, 0).",
)


def facts(random: Random) -> list[str]:
    found = []
    for _ in range(random.randint(1, 14)):
        item, time = random.choice("ab"), random.randint(0, 20)
        found.append(
            random.choice([
                f"price({item}, {random.randint(1, 9)}, {time}).",
                f"offer({item}, {random.choice([time + 4, time + 9, 'inf'])}, {time}).",
                f"known({time}, {item}).",
            ])
        )  # fmt: skip
    return sorted(found)


def records(random: Random, names: str) -> tuple[str, ...]:
    lines = []
    for _ in range(random.randint(1, 20)):
        time = random.randint(1, 20)
        arrival = time + random.choice([0, 0, 0, 2, 5])
        lines.append(f"{random.choice(names.split())}|{arrival}|{time}|{random.choice('ab')}")
    return tuple(lines)


@pytest.mark.parametrize("seed", range(40))
def test_rules(seed: int) -> None:
    random = Random(seed)
    clauses = (*RULES, *facts(random))
    settings = random.choice([{}, {"window": 8, "step": 4}, {"window": 20, "step": 5}])
    scenario = Scenario(clauses, records(random, "buys sells"), settings)  # type: ignore[arg-type]
    told = difference(scenario)
    assert not told, f"seed {seed}\n{scenario}\n{told}"


@pytest.mark.parametrize("incremental", [True, False])
def test_sessions(incremental: bool) -> None:
    for seed in range(100, 112):
        random = Random(seed)
        clauses = (*RULES, *facts(random))
        scenario = Scenario(clauses, records(random, "buys"), {"window": 12, "step": 4})
        program = cernis.load(scenario.rules)
        result = by_engine(scenario, program, per_query=True)
        told = session_difference(scenario, program, result, incremental)
        assert not told, f"seed {seed}\n{scenario}\n{told}"


@pytest.mark.parametrize("seed", range(40))
def test_patterns(seed: int) -> None:
    random = Random(seed)
    clauses = [*PATTERNS, *(fact for fact in facts(random) if fact.startswith("price"))]
    lines = [
        "|".join([name, time, time, item])
        for name, _, time, item in (line.split("|") for line in records(random, "buys sells"))
    ]
    program = cernis.load("\n".join(clauses))
    told = "\n".join([f"seed {seed}", *clauses, *lines])
    assert program.run(lines, start=0, end=30).text() == by_reference(clauses, lines, 30), told


def test_a_table(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("from,item,price\n0,a,3\n10,a,8\n")
    (tmp_path / "rules.cer").write_text("""
:- table(price(From, Item, Price), 'prices.csv').
:- valid(price(From, Item, Price), From, by(Item)).
happensAt(paid(X, P), T) :- happensAt(buys(X), T), price(X, P).
""")
    found = cernis.load(tmp_path / "rules.cer").run(["buys|9|9|a", "buys|10|10|a"])
    assert found.text() == "happensAt(paid(a, 3), [9]).\nhappensAt(paid(a, 8), [10]).\n"


FACT = " price(a, 3, 0)."


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        (":- valid(price(x, P, From), From)." + FACT, "C064", "a variable for each argument"),
        (":- valid(price(X, P, From), Until)." + FACT, "C064", "Until is no argument of"),
        (":- valid(price(X, P, From), From, by(Y))." + FACT, "C064", "Y is no argument of"),
        (":- valid(price(X, P, From), From). price(a, 3, soon).", "C064", "soon is no time-point"),
        (":- valid(price(X, P, From), From). price(X, P, 3) :- q(X, P). q(a, 1).", "C064",
         "is defined by a rule"),
        (":- valid(price(X, P, From), From)." + FACT + " price(a, 3).", "C060",
         "cannot be defined"),
        (":- valid(price(X, P, From), From)." + FACT + " initially(f(X)=true) :- price(X, _).",
         "C060", "this rule has no time to look it up at"),
    ],
)  # fmt: skip
def test_what_means_nothing(text: str, code: str, told: str) -> None:
    assert code in errors(text)
    assert any(told in diagnostic.message for diagnostic in found(text, code)), found(text, code)
    with pytest.raises(ProgramError):
        cernis.load(text)
