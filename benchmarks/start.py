"""What it costs to start: `cernis run --engine local` in processes of their own.

Prints the processor time, and the time by the clock, of the toy example's first run ever (nothing
of cernis is compiled, neither its modules nor its kernels) and of later ones; and the same for a
run over more records, which compiles the kernels it needs. Later runs are the best of several.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from text import RULES, records

ROOT = Path(__file__).parents[1]
TOY = ROOT / "examples" / "toy"


OWN_RULES = """\
initiatedAt(low(Bed)=true, T)  :- happensAt(spo2(Bed, Value), T), Value < 90.
terminatedAt(low(Bed)=true, T) :- happensAt(spo2(Bed, Value), T), Value >= 90.
"""
OWN_CSV = f"""\
import cernis
program = cernis.load({OWN_RULES!r})
result = program.run({{folder!r}} + "/spo2.csv")
assert str(result.intervals.schema.field("start").type) == "timestamp[us, tz=UTC]"
assert len(result.intervals) > 0
"""
"""From a newcomer's prompt: own rules, own CSV with timestamps, the first answer."""


def vitals(count: int) -> str:
    """Records of a CSV with timestamps, one a minute."""
    begin = datetime(2026, 3, 29)
    lines = (
        f"b{each % 7},{80 + each * 7 % 20},{begin + timedelta(minutes=each)}"
        for each in range(count)
    )
    return "\n".join(["bed,value,occurrence", *lines]) + "\n"


def cost(command: Sequence[str], folder: Path) -> tuple[float, float]:
    """The processor time and the time by the clock that a process of Python takes, in seconds.

    What it compiles is kept in the folder, and found there.
    """
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    environment |= {
        "NUMBA_CACHE_DIR": str(folder / "kernels"),
        "PYTHONPYCACHEPREFIX": str(folder / "modules"),
        "PYTHONPATH": str(ROOT / "src"),
    }
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, capture_output=True, env=environment)
    clock, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock


def run(rules: Path, events: Path, facts: Path | None = None) -> list[str]:
    """The command that recognises in one process."""
    command = ["-m", "cernis", "run", str(rules), "--input", str(events), "--engine", "local"]
    return command if facts is None else [*command, "--facts", str(facts)]


def line(name: str, seconds: tuple[float, float]) -> str:
    return f"{name:<34} {seconds[0]:6.2f} s of processor time {seconds[1]:6.2f} s by the clock"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rules.cer").write_text(RULES)
        (folder / "records.txt").write_text(records(options.records))
        (folder / "spo2.csv").write_text(vitals(1_000))
        commands = {
            "the toy": run(TOY / "rules.cer", TOY / "events.txt", TOY / "facts.cer"),
            f"{options.records:,} records": run(folder / "rules.cer", folder / "records.txt"),
            "a CSV of one's own, in Python": ["-c", OWN_CSV.format(folder=str(folder))],
            "import cernis": ["-c", "import cernis"],
            "import numba": ["-c", "import numba"],
        }
        for work, command in commands.items():
            print(line(f"{work}, first", cost(command, folder)), flush=True)
            later = [cost(command, folder) for _ in range(options.runs)]
            print(line(f"{work}, later", min(later)), flush=True)


if __name__ == "__main__":
    from sorts import pin_sort

    pin_sort()
    main()
