"""Rules that speak of two times get advice that fits how the times are ordered."""

from __future__ import annotations

import pytest

from tests.check.checking import checked


def advice(body: str) -> str:
    result = checked(f"initiatedAt(a(X)=true, T) :- happensAt(e(X), T), {body}.")
    return " ".join(diagnostic.help for diagnostic in result.diagnostics if diagnostic.is_error)


@pytest.mark.parametrize("order", ["S < T", "T > S", "S =< T"])
def test_an_earlier_event_is_the_first_of_a_sequence(order: str) -> None:
    assert "both(X) <- f(X) seq e(X)." in advice(f"happensAt(f(X), S), {order}")


def test_what_held_earlier_is_remembered_by_a_fluent() -> None:
    found = advice("holdsAt(b(X)=true, S), S < T")
    assert "initiatedAt(held(X)=true, T) :- happensAt(start(b(X)=true), T)." in found


def test_what_comes_later_is_not_known_yet() -> None:
    assert "write the rule for S" in advice("happensAt(f(X), S), S > T")


def test_times_that_are_not_compared() -> None:
    assert "is a fluent of its own" in advice("happensAt(f(X), S)")
