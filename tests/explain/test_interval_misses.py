"""Why rules over intervals do not give a point."""

from __future__ import annotations

import cernis
from cernis.explain.interval_misses import interval_misses


def test_what_is_taken_away_is_told() -> None:
    rules = """
    initiatedAt(f(X)=true, T) :- happensAt(a(X), T).
    initiatedAt(g(X)=true, T) :- happensAt(b(X), T).
    h(X)=true iff f(X)=true, not g(X)=true.
    """
    text = cernis.load(rules).explain("a|1|1|x\nb|2|2|x\n", "h(x)", 3).text()
    assert "g(x)=true holds, and the rule takes it away" in text
    assert callable(interval_misses)
