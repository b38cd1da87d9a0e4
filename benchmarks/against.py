"""This version against an earlier one, on programs without delayed effects and cycles.

    python benchmarks/against.py COMMIT [fleet maritime] [--events 1000000] [--rounds 5]

The earlier version is checked out into a temporary folder. Both evaluate the examples as the
earlier one has them, in processes of their own that take turns, from Arrow tables to tables of
intervals, in one window and in several. Prints the shortest processor time of each version over
all rounds, and their ratio; times by the clock beside.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ENTITIES = {"fleet": 2000, "maritime": 5000}
WINDOWS = 12
WITHOUT = {
    "maritime": r"\b(trawl\w*|sar\w*|inSAR)\b",
    "fleet": r"\bdangerousDriving\b",
}
"""Clauses that speak of these are left out: they have delayed effects, or rest on what has."""

REPEATS = 5
"""How often a process does the work; the shortest time counts."""


# -- in a process of one version ---------------------------------------------------------------


def rules_of(name: str, text: str) -> str:
    """The rules of an example without those that have delayed effects."""
    if name not in WITHOUT:
        return text
    without = re.sub(r"%.*", "", text)
    clauses = re.split(r"(?<=\.)\s*\n", without)
    return "\n".join(own for own in clauses if not re.search(WITHOUT[name], own)) + "\n"


def best(work: Callable[[], object]) -> tuple[float, float]:
    """The shortest time of some work, of the processor and by the clock."""
    work()
    found = []
    for _ in range(REPEATS):
        begun, clock = time.process_time(), time.perf_counter()
        work()
        found.append((time.process_time() - begun, time.perf_counter() - clock))
    return min(own for own, _ in found), min(own for _, own in found)


def _run_class() -> Any:
    """The class `Run`, which stood in another module once."""
    try:
        return import_module("cernis.evaluate.run").Run
    except ModuleNotFoundError:
        return import_module("cernis.runtime.run").Run


def measure(name: str, events: int) -> dict[str, tuple[float, float]]:
    """How long this version takes, in one window and in several."""
    import cernis

    run_class = _run_class()
    generator = import_module(f"examples.{name}.generate")
    folder = Path(generator.__file__ or "").parent
    text = rules_of(name, (folder / "rules.cer").read_text("utf-8"))
    plan = cernis.load(text + generator.facts(ENTITIES[name])).plan
    tables = generator.generate(events, ENTITIES[name], 7)
    columns = [table[own] for table in tables.values() for own in ("occurrence", "end")
               if own in table.column_names and len(table)]  # fmt: skip
    step = max(int(column.to_numpy().max()) for column in columns) // WINDOWS + 1
    return {
        "one window": best(lambda: run_class(plan).over(tables)),
        f"{WINDOWS} windows": best(lambda: run_class(plan).over(tables, window=step, step=step)),
    }


# -- both --------------------------------------------------------------------------------------


def measured(source: Path, examples: Path, name: str, events: int) -> dict[str, list[float]]:
    """What a process of the version at `source` measures."""
    paths = os.pathsep.join([str(source / "src"), str(examples)])
    command = [sys.executable, __file__, "--measure", name, "--events", str(events)]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{source}: {name} failed\n{done.stderr}")
    found: dict[str, list[float]] = json.loads(done.stdout)
    return found


def compare(earlier: Path, name: str, events: int, rounds: int) -> None:
    """Print how long both versions take."""
    shortest: dict[tuple[int, str, int], float] = {}
    for _ in range(rounds):
        for version, source in enumerate((earlier, ROOT)):
            for title, pair in measured(source, earlier, name, events).items():
                for kind, seconds in enumerate(pair):
                    key = (version, title, kind)
                    shortest[key] = min(seconds, shortest.get(key, seconds))
    for title in dict.fromkeys(title for _, title, _ in shortest):
        before, now = shortest[0, title, 0], shortest[1, title, 0]
        clock, clock_now = shortest[0, title, 1], shortest[1, title, 1]
        print(
            f"{name}, {events:,} events, {title}: {before * 1e3:.0f} ms then, {now * 1e3:.0f} ms "
            f"now, {now / before:.2f} x (by the clock {clock_now / clock:.2f} x)",
            flush=True,
        )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("what", nargs="*", help="the commit, then names of examples")
    arguments.add_argument("--measure", help=argparse.SUPPRESS)
    arguments.add_argument("--events", type=int, default=1_000_000)
    arguments.add_argument("--rounds", type=int, default=5)
    given = arguments.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure, given.events)))
        return
    if not given.what:
        arguments.error("which commit?")
    commit, *names = given.what
    git = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        earlier = Path(folder) / "earlier"
        subprocess.run([*git, "add", "--detach", "-q", str(earlier), commit], check=True)
        try:
            for name in names or ENTITIES:
                compare(earlier, name, given.events, given.rounds)
        finally:
            subprocess.run([*git, "remove", "--force", str(earlier)], check=True)


if __name__ == "__main__":
    main()
