"""Patterns that build upon themselves."""

from __future__ import annotations

import pytest

import cernis
from cernis.kernels import match

MANY = """
any(X) <- a(X) or b(X) or c(X).
run(X, 1) <- not(any(X))[a(X), b(X)] within 10days.
run(X, N+1) <- not(any(X))[run(X, N), b(X)] within 10days.
"""
ONE = """
run(X, 1) <- not(e(X, _))[e(X, a), e(X, b)] within 10days.
run(X, N+1) <- not(e(X, _))[run(X, N), e(X, b)] within 10days.
"""


def _records(longest: int, form: str) -> str:
    kinds = ["a", *"b" * longest, "c"]
    kinds += ["a", "b", "c"] * 1_000
    return "\n".join(form.format(at=at, kind=kind) for at, kind in enumerate(kinds, 1))


@pytest.mark.parametrize(
    ("rules", "form"), [(MANY, "{kind}|{at}|{at}|x"), (ONE, "e|{at}|{at}|x|{kind}")]
)
def test_rounds_look_at_what_is_new_only(
    rules: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is absent is sorted once, and what has been matched is not looked at again."""
    looked_at = {"pairs": 0, "bounds": 0}
    pairs, bounds = match.pairs, match.latest_start_before

    def counted_pairs(relation: int, limit: int, groups: match.Integers, *rest: object) -> object:
        looked_at["pairs"] += len(groups)
        return pairs(relation, limit, groups, *rest)  # type: ignore[arg-type]

    def counted_bounds(groups: match.Integers, *rest: object) -> object:
        looked_at["bounds"] += len(groups)
        return bounds(groups, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(match, "pairs", counted_pairs)
    monkeypatch.setattr(match, "latest_start_before", counted_bounds)
    result = cernis.load(rules).run(_records(200, form))
    runs = [row for row in result.happenings.to_pylist() if row["event"] == "run"]
    assert len(runs) == 1_200
    # With a pass in each of 200 rounds it would be 240,000.
    assert looked_at["pairs"] < 10_000
    assert looked_at["bounds"] < 10_000
