"""Random programs with long ticks and input fluents, walked and by columns.

`python -m tests.fuzz.ticks_and_inputs 0 99` compares these seeds. Each is a program for lanes; two
thirds have a tick above 1, and most ask for fluents of the input, whose records name intervals or
points. A few records are about points between the ticks. Programs are run as `open_values` runs
them, and one run is compared with the reference, too.
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
from cernis.session.session import Session
from tests.agreement import compare
from tests.agreement.compare import Scenario, Skip
from tests.evaluate.sweep.test_sweep_then_columns import answers
from tests.fuzz.open_values import check_session, late_records
from tests.plan.sweep.lane_programs import KEYS, LaneAuthor

_UNION = """holdsFor(m(X)=u, I) :-
    holdsFor(q(X)=u, A), holdsFor(g(X)=v, B), holdsFor(h(X, red)=u, C), union_all([A, B, C], I)."""
_EFFECT = re.compile(r"^(f[it]\(.*), (\d+)\)", re.MULTILINE)
_OPEN_VALUE = re.compile(r"\b([ghq]\(X(?:, \w+)?\))=[V_]")
_OPEN_COLOUR = re.compile(r"\bh\(X, (?:K|_)\)")
_CHANGED = re.compile(r"(?:initiatedAt|terminatedAt)\(([ghqm]\(.*?\))(=\w+), T\)")
_LEAST = re.compile(r"least\((\d)\)\.")


@dataclass
class InputAuthor(LaneAuthor):
    """Writes programs that may ask for input fluents, and records that are whole ticks apart."""

    tick: int = 1
    has_input: bool = False
    off_grid: float = 0.0
    """How many of the records lie between the ticks."""

    def program(self) -> str:
        """The text of a program."""
        inputs = [("g(X)", "g"), ("h(X, {k})", "h"), ("q(X)", "q")] if self.has_input else []
        if inputs and self.random.random() < 0.6:
            self.clauses.append(_UNION)
            inputs.append(("m(X)", "m"))
        self.fluents += inputs
        text = super().program()
        text = _EFFECT.sub(lambda each: f"{each[1]}, {int(each[2]) * self.tick})", text)
        text = _LEAST.sub(lambda each: f"least({int(each[1]) * self.tick}).", text)
        if inputs:
            text += ":- fluent(g(_)=_).\n:- fluent(h(_, _)=_).\npoints(q(_)=_).\n"
        return f":- tick({self.tick}).\n{text}"

    def stream(self) -> list[str]:
        """Some records, the times of which are multiplied."""
        lines = []
        for line in super().stream():
            name, _, time, *others = line.split("|")
            lines.append("|".join([name, *[str(self._time(int(time)))] * 2, *others]))
        if self.has_input:
            lines += [self._interval() for _ in range(self.random.randint(0, 14))]
        if self.has_input and self.random.random() < 0.6:
            lines += [line for _ in range(self.random.randint(1, 6)) for line in self._points()]
        return sorted(lines, key=lambda line: int(line.split("|")[1]))

    # -- what rules ask of input ------------------------------------------------------------

    def _pair(self, head: str) -> str:
        """A pair; one of the input mostly has constants."""
        pair = super()._pair(head)
        return self._about_input(pair) if self._may_be_open() else pair

    def _condition(self, reads: list[tuple[str, str]], known: set[str]) -> str:
        condition = super()._condition(reads, known)
        return self._about_input(condition) if self._may_be_open() else condition

    def _trigger(self, known: set[str]) -> str:
        """A trigger; what initiates input is mostly not asked, as only columns say that."""
        trigger = super()._trigger(known)
        return (
            _CHANGED.sub(r"happensAt(start(\1\2), T)", trigger) if self._may_be_open() else trigger
        )

    def _may_be_open(self) -> bool:
        return self.random.random() < 0.97

    def _about_input(self, text: str) -> str:
        constants = (self.random.choice(("u", "v")), self.random.choice(("red", "green")))
        text = _OPEN_VALUE.sub(lambda each: f"{each[1]}={constants[0]}", text)
        return _OPEN_COLOUR.sub(lambda each: f"h(X, {constants[1]})", text)

    # -- records ----------------------------------------------------------------------------

    def _time(self, time: int) -> int:
        is_off = self.tick > 1 and self.random.random() < self.off_grid
        return time * self.tick + (self.random.randint(1, self.tick - 1) if is_off else 0)

    def _points(self) -> list[str]:
        """Records of some points, one tick apart."""
        first, value, key = (
            self.random.randint(1, 24),
            self.random.choice("uv"),
            self.random.choice(KEYS),
        )
        times = [self._time(first + number) for number in range(self.random.randint(1, 5))]
        return [f"q|{time}|{time}|{value}|{key}" for time in times]

    def _interval(self) -> str:
        """A record of an interval."""
        random = self.random
        start, length = random.randint(0, 24), random.randint(1, 9)
        end = self._time(start + length)
        start = self._time(start)
        others = [random.choice(("u", "v")), random.choice(KEYS)]
        others += [random.choice(("red", "green"))] if random.random() < 0.4 else []
        name = "h" if len(others) == 3 else "g"
        return "|".join([name, str(start), str(start), str(max(end, start + 1)), *others])


def author_of(seed: int) -> InputAuthor:
    """The author of a seed."""
    random = Random(seed)
    return InputAuthor(
        random, has_open_values=seed % 5 == 4, tick=(1, 3, 40)[seed % 3],
        has_input=seed % 4 != 3, off_grid=0.5 if seed % 7 == 6 else 0.0,
    )  # fmt: skip


def check_reference(author: InputAuthor, text: str, program: cernis.Program, seed: int) -> None:
    """Compare a run with the reference, where that has an answer."""
    lines = tuple(late_records(author, author.tick).splitlines())
    try:
        bounds = {"start": 0, "end": 36 * author.tick}
        difference = compare.difference(Scenario((text,), lines, bounds), program)
    except Skip:
        return
    assert not difference, f"seed {seed}, reference: {difference}"


def check_windows(program: cernis.Program, author: InputAuthor, seed: int) -> None:
    """Walk a program in windows of all kinds, most of them whole ticks long."""
    for window, step in ((None, None), (6, 6), (10, 4), (4, 7)):
        window, step = (each and each * author.tick for each in (window, step))
        if author.random.random() < author.off_grid and step:
            step += 1
        lines = late_records(author, author.tick)
        walked, by_columns = answers(program.plan, lines, window, step, False)
        assert walked == by_columns, f"seed {seed}, window {window}, step {step}"


def check_seed(seed: int) -> bool:
    """Compare the program of a seed; gives whether a session begins by walking it."""
    author = author_of(seed)
    text = author.program()
    try:
        program = cernis.load(text)
    except ProgramError:
        return False
    check_reference(author, text, program, seed)
    check_windows(program, author, seed)
    check_session(program, author, seed, author.tick)
    return Session(program.plan, None, author.tick, 0).may_walk


def main(first: int, last: int) -> int:
    """Compare seeds; gives how many differ."""
    warnings.simplefilter("ignore")
    wrong, count = 0, 0
    for seed in range(first, last + 1):
        try:
            count += check_seed(seed)
        except AssertionError as difference:
            wrong += 1
            print(f"seed {seed} differs: {str(difference)[:300]}", flush=True)
    print(f"seeds {first} to {last}: {count} are walked, {wrong} differ", flush=True)
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    settings = parser.parse_args()
    sys.exit(1 if main(settings.first, settings.last) else 0)
