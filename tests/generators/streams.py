"""Random input for a program, and random settings of a run.

Few entities and few time-points, so that ties, adjacency and equal records are common; some
records come late, out of order, twice, or are taken back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypedDict

from tests.generators.programs import Text
from tests.generators.vocabulary import CONSTANTS, Signature, chance

SPAN = 18
"""The ticks a stream runs over."""


class Settings(TypedDict, total=False):
    """How to run a program; what is missing is left to the program or to the input."""

    tick: int
    ties: str
    start: int
    end: int
    window: int
    step: int


@dataclass(frozen=True)
class Habits:
    """What a stream is like: shares of its records."""

    late: float = 0.0
    early: float = 0.0
    """Known before they occur."""
    taken_back: float = 0.0
    noise: float = 0.0
    shuffled: bool = False
    constants: Mapping[str, Sequence[str]] = field(default_factory=lambda: CONSTANTS)
    """The values of each type."""


def random_habits(random: Random) -> Habits:
    """Half of the streams are in order and whole."""
    if chance(random, 0.5):
        return Habits()
    return Habits(
        late=random.choice((0.0, 0.2, 0.5)),
        early=random.choice((0.0, 0.0, 0.1)),
        taken_back=random.choice((0.0, 0.0, 0.15)),
        noise=random.choice((0.0, 0.0, 0.0, 0.1)),
        shuffled=chance(random, 0.3),
    )


def random_stream(random: Random, program: Text, habits: Habits) -> tuple[str, ...]:
    """The lines of a stream, by arrival unless they are shuffled."""
    writer = _Writer(random, program.tick, program.base, habits)
    relations = [*program.events, *program.fluents]
    if not relations:
        return ()
    lines = [writer.record(random.choice(relations)) for _ in range(random.randint(4, 32))]
    lines += [writer.retraction(line) for line in lines if chance(random, habits.taken_back)]
    lines += [writer.noise() for _ in lines if chance(random, habits.noise)]
    if chance(random, 0.2):
        lines.append(random.choice(lines))
    if not habits.shuffled:
        return tuple(sorted(lines, key=_arrival))
    random.shuffle(lines)
    # A retraction takes back an earlier record: among those of one arrival it comes last.
    return tuple(sorted(lines, key=lambda line: line.startswith("-")))


def _arrival(line: str) -> int:
    text = line.split("|")[1]
    return 0 if text == "x" else int(text)


class _Writer:
    def __init__(self, random: Random, tick: int, base: int, habits: Habits) -> None:
        self.random = random
        self.tick = tick
        self.base = base
        self.habits = habits

    def _time(self) -> int:
        return self.base + self.tick * self.random.randint(1, SPAN)

    def record(self, relation: Signature) -> str:
        occurrence = self._time()
        fields = self._fields(relation)
        if relation.value is None:
            return self._line(relation.name, occurrence, [str(occurrence), *fields])
        fields = [self._value(relation.value), *fields]
        if relation.shape == "points" or (relation.shape == "either" and chance(self.random, 0.5)):
            return self._line(relation.name, occurrence, [str(occurrence), *fields])
        end = occurrence + self.tick * self.random.randint(1, 8)
        known = self.random.choice((occurrence, end, end))
        shown = "inf" if chance(self.random, 0.05) else str(end)
        return self._line(relation.name, known, [str(occurrence), shown, *fields])

    def _fields(self, relation: Signature) -> list[str]:
        """The arguments as fields; inside a compound term a name keeps its quotes."""
        constants = iter(
            [self.random.choice(self.habits.constants[slot]) for slot in relation.slots]
        )
        return [
            next(constants).strip("'") if shape == "{}"
            else re.sub(r"\{\}", lambda _: next(constants), shape)
            for shape in relation.fields
        ]  # fmt: skip

    def _value(self, slot: str) -> str:
        return self.random.choice(self.habits.constants[slot]).strip("'")

    def _line(self, name: str, known: int, fields: list[str]) -> str:
        late = chance(self.random, self.habits.late)
        arrival = known + (self.tick * self.random.randint(1, 9) if late else 0)
        if chance(self.random, self.habits.early):
            arrival -= self.tick * self.random.randint(1, 6)
        return "|".join([name, str(arrival), *fields])

    def retraction(self, line: str) -> str:
        name, arrival, *rest = line.split("|")
        later = int(arrival) + self.tick * self.random.randint(0, 6)
        return "|".join([f"-{name}", str(later), *rest])

    def noise(self) -> str:
        time = self._time()
        return self.random.choice(
            (f"unheard_of|{time}|{time}|x", f"ping|x|{time}|ann", f"ping|{time}|{time}|a|b|c|d|e",
             f"-ping|{time}|{time}|nobody", f"near|{time}|{time}|{time}|true|ann|bob")
        )  # fmt: skip


def random_settings(random: Random, program: Text) -> Settings:
    """Windows of all sizes, steps smaller and larger, bounds inside and outside of the stream.

    Where there are delayed effects, ties are left alone, should they be left out.
    """
    tick, base = program.tick, program.base
    settings: Settings = {}
    if chance(random, 0.3):
        settings["ties"] = random.choice(("break", "initiation"))
    if chance(random, 0.15):
        settings["start"] = base + tick * random.randint(-2, 8)
    if chance(random, 0.2):
        settings["end"] = base + tick * random.randint(SPAN // 2, SPAN + 12)
    if chance(random, 0.6):
        settings["window"] = tick * random.randint(2, 14)
        if chance(random, 0.8):
            settings["step"] = tick * random.randint(1, max(1, settings["window"] // tick))
        elif chance(random, 0.5):
            # Between windows time passes, and nothing is seen.
            settings["step"] = settings["window"] + tick * random.randint(1, 6)
    elif chance(random, 0.2):
        settings["step"] = tick * random.randint(2, 9)
    return settings
