"""Random programs with open values, walked and by columns: `python -m tests.fuzz.open_values 0 99`.

Each seed is a program with fluents that take any value, and guards that compare them. It is run in
one window, in windows side by side, overlapping and with gaps, and in a session with late records
and retractions, one that is saved and restored after each query too. Whatever columns say, walks
must say.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path
from random import Random

import cernis
from cernis.errors import ProgramError
from cernis.evaluate.sweep.sweep_then_columns import SweepThenColumns
from cernis.plan.builder import Plan
from cernis.session.session import Session
from tests.evaluate.sweep.test_sweep_then_columns import answers
from tests.plan.sweep.lane_programs import LaneAuthor
from tests.session.test_walked_sessions import feed

WINDOWS = ((None, None), (6, 6), (10, 4), (4, 7))


def late_records(author: LaneAuthor, tick: int = 1) -> str:
    """Records of which some arrive late and some are taken back; some numbers are floats."""
    random, lines = author.random, []
    form = random.choice(["{}", "{}", "{}.5"])
    for line in author.stream():
        name, time, _, *args = line.split("|")
        arrival = int(time) + tick * random.choice([0, 0, 0, 2, 5])
        if name == "b":
            args[-1] = form.format(args[-1])
        lines.append("|".join([name, str(arrival), time, *args]))
        if random.random() < 0.1:
            lines.append("|".join([f"-{name}", str(arrival + 2 * tick), time, *args]))
    return "\n".join(lines) + "\n"


def check_windows(plan: Plan, author: LaneAuthor, seed: int) -> None:
    """Walk a program in windows of all kinds.

    Conflicts are not compared: columns miss some in overlapping windows (seed 35).
    """
    for window, step in WINDOWS:
        walked, by_columns = answers(plan, late_records(author), window, step, False)
        assert walked == by_columns, f"seed {seed}, window {window}, step {step}"


def check_session(program: cernis.Program, author: LaneAuthor, seed: int, tick: int = 1) -> None:
    """Walk a program in a session, if all of it can be walked."""
    random, step = author.random, 5 * tick
    window = random.choice([None, step, 12 * tick])
    policy = random.choice(["early", "partial", "final"])
    walked, restored, columns = (
        Session(program.plan, window, step, 0, policy=policy, incremental=incremental)
        for incremental in (None, None, False)
    )
    if not isinstance(walked.evaluator, SweepThenColumns):
        return
    lines = [line for line in late_records(author, tick).splitlines() if not line.startswith("-")]
    there: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for query in range(step, 36 * tick, step):
            come = [each for each in lines if query - step < int(each.split("|")[1]) <= query]
            gone = [each for each in there if random.random() < 0.06]
            there = [each for each in there if each not in gone] + come
            expected = feed(columns, query, come, gone)
            place = f"seed {seed}, query {query}"
            assert feed(walked, query, come, gone) == expected, place
            assert feed(restored, query, come, gone) == expected, f"{place}, restored"
            restored.save(Path(folder) / "session")
            restored = program.restore(Path(folder) / "session")


def check_seed(seed: int) -> bool:
    """Compare the program of a seed; gives whether it has registers."""
    author = LaneAuthor(Random(seed), has_open_values=True)
    try:
        program = cernis.load(author.program())
    except ProgramError:
        return False
    if not any(lane.registers for lane in program.plan.lanes):
        return False
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
    print(f"seeds {first} to {last}: {count} with registers, {wrong} differ", flush=True)
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    settings = parser.parse_args()
    sys.exit(1 if main(settings.first, settings.last) else 0)
