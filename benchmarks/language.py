"""What reading, checking and formatting programs costs. Prints one line a figure.

Each figure is the best of several runs. Beside seconds it is given in *sorts*: one sort is the
time that `numpy.sort` takes for as many random 64-bit integers as the input has tokens or facts,
measured in the same run. Machines differ in seconds more than in sorts.
"""

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cernis.program import check_source
from cernis.source import Sources
from cernis.syntax import parse
from cernis.syntax.formatter import format_text
from cernis.syntax.tokens import Lexer

MARITIME = Path(__file__).parents[1] / "examples" / "maritime"
RULES, FACTS = MARITIME / "rules.cer", MARITIME / "facts.cer"
SEED = 20
COPIES = 40
FACT_COUNT = 100_000


@dataclass(frozen=True)
class Figure:
    """One line: what was measured, how long it took, the size of it, and what that is for."""

    name: str
    seconds: float
    count: int = 0
    unit: str = ""
    megabytes: float = 0.0

    def line(self) -> str:
        parts = [f"{self.name:<34}", f"{1000 * self.seconds:9.1f} ms"]
        parts.append(f"{self.megabytes / self.seconds:8.2f} MB/s" if self.megabytes else " " * 13)
        if self.count:
            sorts = self.seconds / sort_time(self.count)
            parts.append(f"{sorts:9.0f} sorts of {self.count} {self.unit}")
        return "  ".join(parts).rstrip()


def best(work: Callable[[], object], runs: int = 5) -> float:
    """The shortest time a piece of work takes, in seconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def sort_time(count: int) -> float:
    """The time to sort that many random keys."""
    keys = np.random.default_rng(SEED).integers(-(2**63), 2**63 - 1, count, np.int64)
    return best(lambda: np.sort(keys), 25)


def token_count(text: str) -> int:
    """The number of tokens of a text, those that end clauses included."""
    lexer = Lexer(Sources().add("<text>", text))
    position = count = 0
    while position < len(text):
        tokens, position = lexer.clause(position)
        count += len(tokens.kinds) + bool(tokens.ended)
    return count


def facts_text(count: int) -> str:
    """Facts of three kinds, as a register of vessels might hold them."""
    chance = random.Random(SEED)
    kinds = ["tanker", "cargo", "fishing", "tug", "'pilot boat'"]
    lines = []
    for vessel in range(count // 3 + 1):
        lines.append(f"vessel(v{vessel}).")
        lines.append(f"vesselType(v{vessel}, {chance.choice(kinds)}).")
        lines.append(f"draught(v{vessel}, {chance.uniform(1, 20):.1f}, {chance.randrange(400)}).")
    return "\n".join(lines[:count]) + "\n"


# -- what is measured ------------------------------------------------------------------------


def rules_parsed() -> Figure:
    """Text to tree, of rules with comments."""
    text = RULES.read_text("utf-8") * COPIES
    assert not parse(text).diagnostics
    tokens = token_count(text)
    return Figure("parse rules", best(lambda: parse(text)), tokens, "tokens", megabytes(text))


def rules_formatted() -> Figure:
    """Text to tree, back to text, and once more to tree, as the formatter checks itself."""
    text = RULES.read_text("utf-8") * (COPIES // 4)
    seconds = best(lambda: format_text(text), 3)
    return Figure("format rules", seconds, token_count(text), "tokens", megabytes(text))


def facts_loaded() -> Iterator[Figure]:
    """Many facts: their parsing, and their parsing and checking together."""
    text = facts_text(FACT_COUNT)
    assert not any(found.is_error for found in check_source(text).diagnostics)
    size = megabytes(text)
    yield Figure("parse facts", best(lambda: parse(text), 3), FACT_COUNT, "facts", size)
    seconds = best(lambda: check_source(text), 3)
    yield Figure("load facts (parse and check)", seconds, FACT_COUNT, "facts", size)


def maritime_checked() -> Iterator[Figure]:
    """The maritime example, in this process and as the command in one of its own."""
    tokens = token_count(RULES.read_text("utf-8") + FACTS.read_text("utf-8"))
    assert not check_source(RULES, [FACTS]).has_errors
    seconds = best(lambda: check_source(RULES, [FACTS]))
    yield Figure("check maritime, in process", seconds, tokens, "tokens")
    command = ["-m", "cernis.cli.main", "check", str(RULES), "--facts", str(FACTS)]
    yield Figure("check maritime, cold", process_time(*command), tokens, "tokens")


def imports() -> Iterator[Figure]:
    """What importing costs, beyond the start of the interpreter."""
    bare = process_time("-c", "pass")
    yield Figure("start of the interpreter", bare)
    for module in ("cernis", "cernis.program", "cernis.cli.main"):
        yield Figure(f"import {module}", max(process_time("-c", f"import {module}") - bare, 0.0))


def process_time(*args: str) -> float:
    """The time a Python process takes, files in the cache of the system and compiled."""
    command = [sys.executable, *args]
    return best(lambda: subprocess.run(command, check=True, capture_output=True), 7)


def megabytes(text: str) -> float:
    return len(text.encode("utf-8")) / 1e6


def main() -> None:
    for figures in ([rules_parsed()], facts_loaded(), [rules_formatted()], maritime_checked(),
                    imports()):  # fmt: skip
        for figure in figures:
            print(figure.line(), flush=True)


if __name__ == "__main__":
    from sorts import pin_sort

    pin_sort()
    main()
