"""Relations between intervals across the edges of windows, as far back as a program says."""

from __future__ import annotations

from random import Random

import pytest

import cernis
from cernis.errors import ProgramError
from tests.agreement.compare import Scenario, by_engine, difference
from tests.generators.statics import MODES, RELATIONS

BASE = (
    "initiatedAt(lamp(X)=on, T) :- happensAt(on(X), T).",
    "terminatedAt(lamp(X)=on, T) :- happensAt(off(X), T).",
    "collectIntervals(near(_)=true).",
)


def scenario(random: Random) -> Scenario:
    """Rules with relations over given, initiated and derived fluents; late records; windows."""
    tick = random.choice((1, 1, 2, 5))
    memory = random.choice(("inf", *(tick * far for far in (0, 1, 3, 6, 12))))
    clauses = [f":- tick({tick}).", f":- memory({memory}).", *BASE]
    if random.random() < 0.5:
        clauses.append(f"ft(lamp(X)=on, {tick * random.randint(2, 9)}).")
    known = ["near(X)=true", "lamp(X)=on", "near(_)=true"]
    for number in range(random.randint(1, 3)):
        clauses.append(_rule(number, random.choice(known[:2]), random.choice(known), tick, random))
        known.append(f"found{number}(X)=true")
    size = random.randint(2, 14)
    settings = {"window": tick * size, "step": tick * random.randint(1, 2 * size)}
    lines = tuple(_line(tick, random) for _ in range(random.randint(4, 14)))
    return Scenario(tuple(clauses), lines, settings)  # type: ignore[arg-type]


def _rule(number: int, source: str, target: str, tick: int, random: Random) -> str:
    related = random.choice(("I1", "I3"))
    between = f"intDurGreater(I1, {2 * tick}, I3), " if related == "I3" else ""
    between += random.choice(("", "", "I2 \\= [], "))
    relation, mode = random.choice(RELATIONS), random.choice(MODES)
    rest = random.choice(("I).", "J), union_all([J, I2], I)."))
    return (
        f"holdsFor(found{number}(X)=true, I) :- holdsFor({source}, I1), holdsFor({target}, I2), "
        f"{between}allen({relation}, {related}, I2, {mode}, {rest}"
    )


def _line(tick: int, random: Random) -> str:
    time = tick * random.randint(1, 30)
    late = tick * random.choice((0, 0, 0, random.randint(1, 8)))
    who = random.choice("ab")
    if random.random() < 0.5:
        return f"{random.choice(('on', 'off'))}|{time + late}|{time}|{who}"
    end = time + tick * random.randint(1, 7)
    return f"near|{end + late}|{time}|{end}|true|{who}"


def test_the_engine_looks_back_as_the_reference_does() -> None:
    far_sighted = 0
    for seed in range(120):
        own = scenario(Random(seed))
        told = difference(own)
        assert not told, f"seed {seed}\n{own}\n{told}"
        blind = tuple(":- memory(0)." if c.startswith(":- memory") else c for c in own.clauses)
        answers = [by_engine(Scenario(c, own.lines, own.settings)) for c in (own.clauses, blind)]
        far_sighted += answers[0].text() != answers[1].text()
    assert far_sighted > 5


@pytest.mark.parametrize("mode", ["target", "complement_inv"])
@pytest.mark.parametrize("window", [1, 2, 3, 5, 8, 13, 40])
def test_with_all_of_the_past_every_window_finds_partners_that_came_before(
    window: int, mode: str
) -> None:
    """What such relations say of an interval rests on what was over before it began."""
    rules = "\n".join([
        ":- memory(inf).", *BASE,
        "holdsFor(later(X)=true, I) :- holdsFor(lamp(X)=on, A), holdsFor(near(X)=true, B), "
        f"before(A, B, {mode}, I).",
    ])  # fmt: skip
    lines = ["on|2|2|a", "off|5|5|a", "near|9|9|12|true|a", "near|30|30|33|true|a",
             "near|3|3|6|true|b", "on|8|8|b", "off|9|9|b", "near|25|25|28|true|b"]  # fmt: skip
    program = cernis.load(rules)
    assert program.run(lines, window=window, step=1).text() == program.run(lines).text()


@pytest.mark.parametrize("value", ["-1", "1.5", "soon", "f(x)"])
def test_a_memory_is_a_length_of_time(value: str) -> None:
    with pytest.raises(ProgramError, match="C064 a memory is a whole number from 0 to 2"):
        cernis.load(f":- memory({value}).\ninitiatedAt(a(X)=true, T) :- happensAt(e(X), T).")


def test_lengths_of_time_may_have_units() -> None:
    rules = "\ninitiatedAt(a(X)=true, T) :- happensAt(e(X), T)."
    for text, seconds in (
        (":- memory(2h).", 7200),
        (":- memory(30).", 30),
        (":- memory(inf).", None),
    ):
        assert cernis.load(text + rules).checked.definitions.settings.memory == seconds


def test_sessions_look_back_too() -> None:
    for seed in range(25):
        own = scenario(Random(seed))
        program = cernis.load(own.rules)
        result = program.run(list(own.lines), per_query=True, **own.settings)
        session = program.session(start=result.summary.start, **own.settings)  # type: ignore[arg-type]
        session.insert(list(own.lines))
        held: set[tuple[object, ...]] = set()
        for query, _ in result.as_of:
            for row in session.query(query).table().to_pylist():
                change = held.add if row["change"] == "insert" else held.discard
                change(_interval(row))
        assert held == {_interval(row) for row in result.intervals.to_pylist()}, f"seed {seed}"


def _interval(row: dict[str, object]) -> tuple[object, ...]:
    return tuple(str(row[name]) for name in ("fluent", "args", "value", "start", "end"))
