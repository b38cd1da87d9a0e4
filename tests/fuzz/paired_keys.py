"""Random programs about pairs of entities, walked and by columns: `-m tests.fuzz.paired_keys 0 99`.

Each seed is a program for lanes whose fluents and events have two entities in place of one, the
second a text or a number. A stage has the first for its key, lanes have both. Every third program
has definitions about single entities beside these. It is run as `open_values` runs programs; one
window of it is compared with the reference, too.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from dataclasses import dataclass
from random import Random

import cernis
from cernis.errors import ProgramError
from tests.agreement import compare
from tests.agreement.compare import Scenario, Skip
from tests.fuzz.open_values import check_session, check_windows, late_records
from tests.plan.sweep.lane_programs import FACTS, LaneAuthor

SECONDS = (("y1", "y2", "y3"), ("1", "2", "30"), ("1", "2.5", "y1"))
"""The second entities of a program: texts, whole numbers, or values of several kinds."""

_NAME = re.compile(r"\b([abcd]|[efos]\d+)\(")
_ENTITY = re.compile(r"\b([abcd]|[efos]\d+)\((X|x1)\b")


@dataclass
class PairAuthor(LaneAuthor):
    """Writes programs and records about pairs of entities."""

    seconds: tuple[str, ...] = SECONDS[0]

    def program(self) -> str:
        """The text of a program; groundings and some conditions ask for the second entity, too."""
        self.seconds = self.random.choice(SECONDS)
        text = super().program()
        text = _ENTITY.sub(
            lambda each: f"{each[1]}({each[2]}, {'Y' if each[2] == 'X' else self.seconds[0]}", text
        )
        text = text.replace("item(X), shade(V)", "item(X), second(Y), shade(V)")
        if self.random.random() < 0.3:
            text = text.replace("big(X)", "big(X), second(Y)", 1)
        return text + "".join(f"second({name}). " for name in self.seconds[:2]) + "\n"

    def stream(self) -> list[str]:
        """Records, with a second entity each."""
        lines = []
        for line in super().stream():
            name, arrival, time, key, *others = line.split("|")
            parts = [name, arrival, time, key, self.random.choice(self.seconds), *others]
            lines.append("|".join(parts))
        return lines


@dataclass
class TwoKeysAuthor(PairAuthor):
    """Writes programs of two parts: about pairs of entities, and about single ones."""

    single: LaneAuthor | None = None

    def program(self) -> str:
        """The text of both parts, which share facts and no more."""
        text = super().program()
        self.single = LaneAuthor(self.random, has_open_values=self.has_open_values)
        clauses = self.single.program().removesuffix(FACTS).splitlines()
        rules = [each for each in clauses if not each.startswith(":-")]
        return text + _NAME.sub(r"z\1(", "\n".join(rules)) + "\n"

    def stream(self) -> list[str]:
        """Records of both parts."""
        assert self.single is not None
        lines = super().stream() + [f"z{line}" for line in self.single.stream()]
        return sorted(lines, key=lambda line: int(line.split("|")[1]))


def check_reference(author: PairAuthor, text: str, program: cernis.Program, seed: int) -> None:
    """Compare a run with the reference, where that has an answer."""
    lines = tuple(late_records(author).splitlines())
    try:
        difference = compare.difference(Scenario((text,), lines), program)
    except Skip:
        return
    assert not difference, f"seed {seed}, reference: {difference}"


def check_seed(seed: int) -> bool:
    """Compare the program of a seed; gives whether it has lanes with two entities for a key."""
    kind = TwoKeysAuthor if seed % 3 == 2 else PairAuthor
    author = kind(Random(seed), has_open_values=seed % 2 == 1)
    text = author.program()
    try:
        program = cernis.load(text)
    except ProgramError:
        return False
    if not any(len(lane.key) == 2 for lane in program.plan.lanes):
        return False
    check_reference(author, text, program, seed)
    check_windows(program.plan, author, seed)
    check_session(program, author, seed)
    return True


def main(first: int, last: int) -> int:
    """Compare seeds; gives how many differ."""
    warnings.simplefilter("ignore")
    wrong, count = 0, 0
    for seed in range(first, last + 1):
        try:
            count += check_seed(seed)
        except AssertionError as difference:
            wrong += 1
            print(f"seed {seed} differs: {str(difference)[:200]}", flush=True)
    print(f"seeds {first} to {last}: {count} with pairs for keys, {wrong} differ", flush=True)
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    settings = parser.parse_args()
    sys.exit(1 if main(settings.first, settings.last) else 0)
