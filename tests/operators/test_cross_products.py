"""A rule that pairs everything with everything is refused by name, and soon."""

from __future__ import annotations

import pytest

import cernis
from cernis.errors import DataError
from cernis.kernels import bounds

BOTH = "initiatedAt(f(X)=true, T) :- happensAt(a(X), T).\n"
RULES = {
    "events": (
        "happensAt(c(X, Y), T) :- happensAt(a(X), T), happensAt(b(Y), T).", "happensAt(b(Y), T)",
    ),
    "a sequence": ("c(X, Y) <- a(X) seq d(Y).", "a(X) seq d(Y)"),
    "a conjunction": ("c(X, Y) <- a(X) and d(Y).", "a(X) and d(Y)"),
    "fluents": (
        "happensAt(c(X, Y), T) :- happensAt(d(Y), T), holdsAt(f(X)=true, T).",
        "holdsAt(f(X)=true, T)",
    ),
    "facts": ("happensAt(c(X, Y), T) :- happensAt(a(X), T), k(Y).", "k(Y)"),
    "intervals": (
        "initiatedAt(g(X)=true, T) :- happensAt(d(X), T).\n"
        "holdsFor(h(X, Y)=true, I) :- holdsFor(f(X)=true, J), holdsFor(g(Y)=true, K), "
        "intersect_all([J, K], I).",
        "g(Y)=true",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_too_many_pairs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule, literal = RULES[name]
    facts = "".join(f"k({n}).\n" for n in range(50))
    program = cernis.load(f"{facts}{BOTH}{rule}\n")
    events = "".join(f"a|1|1|x{n}\nb|1|1|y{n}\nd|3|3|y{n}\n" for n in range(50))
    assert len(program.run(events).text())
    monkeypatch.setattr(bounds, "MOST_PAIRS", 1000)
    with pytest.raises(DataError, match="matches too often: [0-9,]+ pairs or more") as told:
        program.run(events)
    assert literal in str(told.value)
    assert str(told.value).startswith("<text>:5")
    session = program.session(window=10)
    session.insert(events)
    with pytest.raises(DataError, match="matches too often"):
        session.query(5)
