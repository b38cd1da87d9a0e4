"""All thirteen relations between two intervals can be said in patterns, and part all pairs."""

from __future__ import annotations

from random import Random

import pytest

import cernis

P, Q = "p(I)=true", "q(J)=true"
PATTERNS = {
    "before": "{0} seq {1}", "meets": "{0} meets {1}", "starts": "{0} starts {1}",
    "during": "{0} during {1}", "finishes": "{0} finishes {1}", "equal": "{0} equals {1}",
    "overlaps": "{1} finishes ({0} starts ({0} par {1}))",
}  # fmt: skip
RULES = "\n".join(
    f"{name}(I, J) <- {pattern.format(P, Q)} within 1000.\n"
    + (f"{name}_inverse(I, J) <- {pattern.format(Q, P)} within 1000.\n" if name != "equal" else "")
    for name, pattern in PATTERNS.items()
)


def relation(a: int, b: int, c: int, d: int) -> str:
    """The relation of two closed intervals that are no points."""
    found = {
        "before": b < c, "meets": b == c, "overlaps": a < c < b < d, "starts": a == c and b < d,
        "during": c < a and b < d, "finishes": c < a and b == d, "equal": (a, b) == (c, d),
    }  # fmt: skip
    (name,) = [name for name, is_so in found.items() if is_so] or [""]
    return name or f"{relation(c, d, a, b)}_inverse"


@pytest.mark.parametrize("seed", range(6))
def test_all_relations(seed: int) -> None:
    random = Random(seed)
    intervals = {
        f"{name}{at}": (start := random.randint(1, 9), start + random.randint(1, 7))
        for name in "pq" for at in range(12)
    }  # fmt: skip
    # A fluent on [s, e) held at the points from s to e - 1.
    lines = [f"{own[0]}|{s}|{s}|{e + 1}|true|{own}" for own, (s, e) in intervals.items()]
    events = cernis.load(RULES).run(lines, end=100).answer.events
    found = {
        (name.name, *pair)
        for name, table in events.items()
        for pair in zip(*(d.decode(c) for c, d in zip(table.arguments, table.domains, strict=True)),
                        strict=True)
    }  # type: ignore[union-attr]  # fmt: skip
    expected = {
        (relation(*intervals[p], *intervals[q]), p, q)
        for p in intervals if p[0] == "p" for q in intervals if q[0] == "q"
    }  # fmt: skip
    assert found == expected, f"seed {seed}\n" + "\n".join(lines)
