"""Lines of fifty million characters are read or refused in bounded time and memory."""

import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
SECONDS = 20
BYTES = 1_500_000_000
M = 50_000_000

CHILD = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({BYTES}, {BYTES}))
from cernis.syntax import parse
before, repeated, times, after = eval(sys.argv[1])
parsed = parse(before + repeated * times + after + "\\nlast.\\n")
for diagnostic in parsed.diagnostics:
    start, end = diagnostic.span
    assert 0 <= start <= end <= parsed.sources.end, diagnostic
sys.stdout.write(" ".join([str(len(parsed.items)), *(d.code for d in parsed.diagnostics[:3])]))
"""

# before, repeated, how often, after; then the number of items and the first codes
LINES = {
    "a name": (("", "a", M, "."), "2"),
    "an open quote": (("f('", "a", M, ")."), "1 C004"),
    "a quoted name": (("f('", "a", M, "')."), "2"),
    "arguments": (("f(", "a,", M // 2, "b)."), "1 C010"),
    "goals": (("f :- ", "a,", M // 2, "b."), "1 C010"),
    "brackets": (("", "(", M, "."), "1 C010"),
    "a comment": (("", "%", M, ""), "1"),
    "unreadable characters": (("", "\1", M, ""), "0 C005 C005 C005"),
    # Shorter ones, as they take longer.
    "digits": (("f(", "1", M // 10, ")."), "1 C001"),
    "quotes": (("", "'", M // 10, ""), "2 C013"),
    "empty clauses": (("", ". ", M // 10, ""), "0 C001 C001 C001"),
    "broken facts": (("", "f(a b). ", M // 10, ""), "0 C001 C001 C001"),
    "escapes": (("f('", "\\n", M // 20, "')."), "2"),
    "blanks": (("f(", " ", M // 10, "a)."), "2"),
    "comments": (("", "/* */", M // 50, "a."), "2"),
    "open comments": (("", "/* ", M // 10, ""), "0 C004"),
}


@pytest.mark.parametrize(("line", "outcome"), LINES.values(), ids=LINES.keys())
def test_a_long_line(line: tuple[str, str, int, str], outcome: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, repr(line)],
        env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == outcome
