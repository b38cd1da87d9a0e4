"""The words random programs are made of: types, input relations and background knowledge."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

T = TypeVar("T")

CONSTANTS = {
    "person": ("ann", "bob", "'Far Out'"),
    "colour": ("red", "green", "blue"),
    "number": ("0", "1", "2", "3", "-1"),
    "amount": ("0.5", "1.5", "2.5"),
    "truth": ("true",),
}
"""The values of each type. Amounts are floats throughout, so that no column mixes the two."""

LETTERS = {"person": "P", "colour": "C", "number": "N", "amount": "A", "truth": "B"}


@dataclass(frozen=True)
class Signature:
    """A relation: its arguments' types, and its value's type if it is a fluent.

    `form` is how it is written, with `{}` for each argument; nested functors are part of it.
    """

    form: str
    slots: tuple[str, ...] = ()
    value: str | None = None
    shape: str = ""

    @property
    def name(self) -> str:
        """The outermost functor."""
        return self.form.partition("(")[0]

    @property
    def fields(self) -> list[str]:
        """How each outer argument is written: `{}`, or a compound term with `{}` in it."""
        inside = self.form[len(self.name) + 1 : -1]
        return re.findall(r"\w+\([^()]*\)|\{\}", inside)

    def text(self, args: Sequence[str], value: str | None = None) -> str:
        """The event, or the fluent-value pair."""
        entity = self.form.format(*args)
        return entity if value is None else f"{entity}={value}"


def flat(name: str, slots: Sequence[str], value: str | None = None, shape: str = "") -> Signature:
    """A relation without nested functors."""
    form = f"{name}({', '.join('{}' for _ in slots)})" if slots else name
    return Signature(form, tuple(slots), value, shape)


EVENTS = (
    flat("alarm", ()),
    flat("ping", ("person",)),
    flat("drop", ("person",)),
    flat("meet", ("person", "person")),
    flat("speed", ("person", "number")),
    flat("paint", ("person", "colour")),
    flat("gauge", ("number",)),
    flat("pour", ("person", "amount")),
    flat("sell", ("person", "colour", "number")),
    Signature("order(bill({}), {})", ("person", "number")),
    Signature("tip(of({}, {}))", ("person", "number")),
)

FLUENTS = (
    flat("near", ("person", "person"), "truth", "intervals"),
    flat("mode", ("person",), "colour", "points"),
    flat("level", ("person",), "number", "intervals"),
    flat("weather", (), "colour", "points"),
    flat("grip", ("person", "number"), "truth", "points"),
    flat("dose", ("person",), "amount", "either"),
)


@dataclass(frozen=True)
class Predicate:
    """A background predicate.

    `needs` are the places that must have a value before, `gives` those that must not: what a
    predicate with a cut answers depends on that.
    """

    name: str
    slots: tuple[str, ...]
    needs: frozenset[int] = frozenset()
    rules: str = ""
    uses: tuple[str, ...] = ()
    gives: frozenset[int] = frozenset()


FACTS = (
    Predicate("friend", ("person", "person")),
    Predicate("limit", ("person", "number")),
    Predicate("adult", ("person",)),
    Predicate("taste", ("person", "colour")),
    Predicate("rank", ("colour", "number")),
)

RULES = (
    Predicate("linked", ("person", "person"), frozenset(), """
        linked(X, Y) :- friend(X, Y).
        linked(X, Z) :- friend(X, Y), linked(Y, Z).""", ("friend",)),
    Predicate("pal", ("person", "person"), frozenset(), """
        pal(X, Y) :- friend(X, Y) ; friend(Y, X).""", ("friend",)),
    Predicate("minor", ("person",), frozenset({0}), r"""
        minor(X) :- \+ adult(X).""", ("adult",)),
    Predicate("class", ("number", "colour"), frozenset({0}), """
        class(N, red) :- N < 1, !.
        class(N, green) :- N < 2, !.
        class(_, blue).""", (), frozenset({1})),
    Predicate("between_them", ("number", "number", "number"), frozenset({0, 1, 2}), """
        between_them(N, L, H) :- N >= L, N =< H."""),
    Predicate("beyond", ("person", "number"), frozenset({1}), """
        beyond(X, N) :- limit(X, L), N > L.""", ("limit",)),
    Predicate("next", ("number", "number"), frozenset({0}), """
        next(N, M) :- M is N + 1."""),
    Predicate("suits", ("person", "number"), frozenset(), """
        suits(X, N) :- taste(X, C), rank(C, N).""", ("taste", "rank")),
)  # fmt: skip
"""Background rules of each kind: recursive, with a cut, negated, computed."""


def background(
    predicates: Sequence[Predicate], random: Random,
    constants: Mapping[str, Sequence[str]] = CONSTANTS,
) -> list[str]:  # fmt: skip
    """The clauses of the predicates named and of those they use, facts drawn at random."""
    known = {predicate.name: predicate for predicate in (*FACTS, *RULES)}
    wanted = {predicate.name for predicate in predicates}
    wanted |= {name for predicate in predicates for name in predicate.uses}
    clauses: list[str] = []
    for name in sorted(wanted):
        predicate = known[name]
        if predicate.rules:
            clauses += [line.strip() for line in predicate.rules.strip().splitlines()]
        else:
            clauses += facts(predicate, random, constants)
    return clauses


def facts(
    predicate: Predicate, random: Random, constants: Mapping[str, Sequence[str]] = CONSTANTS
) -> list[str]:
    """One to six different facts. Limits are small numbers: delays are computed from them."""
    constants = CONSTANTS if predicate.name == "limit" else constants
    drawn = {
        tuple(random.choice(constants[slot]) for slot in predicate.slots)
        for _ in range(random.randint(1, 6))
    }
    return [f"{predicate.name}({', '.join(args)})." for args in sorted(drawn)]


BASES = (0, 0, 0, 0, 0, 0, -10, -1000, 1_700_000_000, 2**40 + 3, -(2**61), 2**61)
"""Where on the time-line a stream lies."""


def chance(random: Random, share: float) -> bool:
    """True in about that share of the calls."""
    return random.random() < share
