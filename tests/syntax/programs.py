"""Random syntax trees: every kind of term, clause, directive and pattern the parser can give.

One `Grower` makes them all, from whatever `random.Random` it is given: a seeded one where many
are wanted fast, or one of hypothesis's own, so that what fails is shrunk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

from cernis.syntax.operators import FLAT, INFIX, PREFIX
from cernis.syntax.tokens import DURATION_UNITS
from cernis.syntax.tree import (
    PATTERN_OPERATORS,
    Absence,
    Atom,
    Binary,
    Clause,
    Compound,
    Directive,
    Duration,
    EventAtom,
    Item,
    Number,
    Pattern,
    PatternRule,
    Term,
    Text,
    TimePoint,
    Variable,
    Where,
    Within,
)
from cernis.syntax.tree import Sequence as ListTerm

T = TypeVar("T")

KEYWORDS = (*PATTERN_OPERATORS, "where", "within", "not")

PLAIN_NAMES = (
    "a", "b", "c", "rich", "location", "go_to", "holdsAt", "happensAt", "initiatedAt", "holdsFor",
    "true", "pub", "x1", "camelCase", "été", "ß", "дом", "数", "grounding", "fi", "p",
)  # fmt: skip
ODD_NAMES = (
    "", " ", "Upper", "_under", "9lives", "two words", "it's", "''", '"', "\\", "\\n", "a\nb",
    "\ttab", "\r", "\x00", "\x01", "\x7f", "\x85", "\u2028", "\ud800", "\U0001f6a2", "é́", "É",
    ".", ". ", "%", "/*", "*/", "% no comment", "[]", "!", "{}", "()", "(", ")", "[", "]", "{", "}",
    "|", "::", ":-", "<-", "←", "-->", "-5", "1", "0'a", "a.b", "x" * 120, "ǅ", "²",
)  # fmt: skip
OPERATOR_NAMES = (*INFIX, *PREFIX, *KEYWORDS)
VARIABLE_NAMES = (
    "X", "Y", "T", "Vessel", "_", "_", "_Type", "_1", "X_1", "Élan", "Ü", "SEQ", "AND", "NOT",
    "WITHIN", "Or",
)  # fmt: skip
NUMBERS = (
    0, 1, 2, 7, 40, 10**18, 10**30, 10**399, -1, -5, -(10**20), 0.0, -0.0, 0.5, 1.5, -2.25, 1e-7,
    1e22, 1e300, 5e-324, -1e-9, 0.1, math.inf, -math.inf, 3.0,
)  # fmt: skip
TEXTS = (
    "", "a", "two words", '"', '""', "it's", "\\", "\\x41\\", "\n", "\t\r", "\x00", "\u2029", "é",
    "\ud83d", "\U0001f6a2", "% no comment", "/* nor this */", ". ",
)  # fmt: skip
AMOUNTS = (0, 1, 30, 9, 10**15, 0.5, 1.5, 0.0000001, 1e25)


class Grower:
    """Grows trees from the choices of a random source."""

    def __init__(self, random: Random, deepest: int = 4) -> None:
        self.random = random
        self.deepest = deepest

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.random.randrange(len(options))]

    def chance(self, percent: int) -> bool:
        """True that often."""
        return self.random.randrange(100) < percent

    def several(self, grow: Callable[[int], T], depth: int, least: int, most: int) -> list[T]:
        """From least to most new things."""
        return [grow(depth) for _ in range(self.random.randint(least, most))]

    # -- terms --------------------------------------------------------------------------------

    def name(self) -> str:
        """The name of an atom or functor, mostly a plain one."""
        if self.chance(70):
            return self.pick(PLAIN_NAMES)
        return self.pick(ODD_NAMES) if self.chance(50) else self.pick(OPERATOR_NAMES)

    def leaf(self) -> Term:
        """A term without parts."""
        kind = self.random.randrange(10)
        if kind < 3:
            return Variable(self.pick(VARIABLE_NAMES))
        if kind < 6:
            return Atom(self.name())
        if kind < 8:
            return Number(self.pick(NUMBERS))
        return Text(self.pick(TEXTS)) if kind == 8 else self.duration()

    def duration(self) -> Duration:
        """A length of time."""
        return Duration(self.pick(AMOUNTS), self.pick(tuple(DURATION_UNITS)))

    def term(self, depth: int = 0) -> Term:
        """Any term."""
        if depth >= self.deepest or self.chance(30):
            return self.leaf()
        grow = self.pick((self.compound, self.compound, self.infix, self.infix, self.prefix,
                          self.sequence, self.braces, self.chain, self.choice))  # fmt: skip
        return grow(depth + 1)

    def compound(self, depth: int = 0) -> Compound:
        """A name and its arguments."""
        return compound(self.name(), self.several(self.term, depth + 1, 1, 3))

    def infix(self, depth: int = 0) -> Compound:
        """An operator between two terms."""
        return compound(self.pick(tuple(INFIX)), [self.term(depth + 1), self.term(depth + 1)])

    def prefix(self, depth: int = 0) -> Compound:
        """An operator before a term."""
        return compound(self.pick(tuple(PREFIX)), [self.term(depth + 1)])

    def chain(self, depth: int = 0) -> Compound:
        """A flat chain: conjunction, disjunction, `or`, `and`."""
        return compound(self.pick(tuple(sorted(FLAT))), self.several(self.term, depth + 1, 2, 5))

    def choice(self, depth: int = 0) -> Compound:
        """If, then, else."""
        condition, then, otherwise = (self.term(depth + 1) for _ in range(3))
        return compound(";", [Compound("->", (condition, then)), otherwise])

    def braces(self, depth: int = 0) -> Compound:
        """A term in braces."""
        return Compound("{}", (self.term(depth + 1),))

    def sequence(self, depth: int = 0) -> Term:
        """A list, with a tail or without."""
        items = tuple(self.several(self.term, depth + 1, 1, 4))
        tail = self.term(depth + 1) if self.chance(30) else None
        if isinstance(tail, ListTerm):
            return ListTerm(items + tail.items, tail.tail)
        return ListTerm(items, None if tail == Atom("[]") else tail)

    def deep(self) -> Term:
        """One operator after the other, to one side."""
        term: Term = self.leaf()
        for _ in range(self.random.randint(5, 30)):
            name = self.pick(("+", "-", "*", "^", ":", "\\+", "-", "=", "->", "not", "mod"))
            if name in PREFIX and self.chance(50):
                term = Compound(name, (term,))
            elif name not in ("\\+", "not"):
                parts = (term, self.leaf()) if self.chance(50) else (self.leaf(), term)
                term = Compound(name, parts)
        return term

    # -- items --------------------------------------------------------------------------------

    def head(self) -> Term:
        """What a clause can define: an atom or a compound term."""
        if self.chance(20):
            return Atom(self.name())
        return self.pick((self.compound, self.compound, self.compound, self.infix, self.prefix))(1)

    def goals(self, least: int = 1, most: int = 4) -> tuple[Term, ...]:
        """A flat conjunction."""
        grown = self.several(self.goal, 0, least, most)
        return tuple(part for goal in grown for part in chained(",", goal))

    def goal(self, _depth: int = 0) -> Term:
        """A goal of a body."""
        return self.deep() if self.chance(10) else self.term()

    def clause(self) -> Clause:
        """A fact or a rule, certain or not."""
        body = self.goals() if self.chance(60) else ()
        probability = self.pick((0.0, 1.0, 0.5, 0.73, 1e-07)) if self.chance(15) else None
        return Clause(self.head(), body, probability)

    def equivalence(self) -> Clause:
        """`G=V iff B.`"""
        pair = Compound("=", (self.compound(2), self.leaf()))
        return Clause(Compound("iff", (pair, self.term())))

    def directive(self) -> Directive:
        """`:- goal.`"""
        return Directive(self.term())

    def event(self) -> EventAtom:
        """A pattern of one event: any term but a number, which is a time-point, or a keyword."""
        term = self.term(2)
        if isinstance(term, Number) and str(term.value)[0] != "-":
            return EventAtom(Atom("a"))
        if isinstance(term, Variable) and term.name.isupper() and is_keyword(term.name):
            return EventAtom(Variable("X"))
        return EventAtom(term)

    def pattern(self, depth: int = 0) -> Pattern:
        """Any pattern."""
        if depth >= self.deepest or self.chance(30):
            time = self.pick([abs(n) for n in NUMBERS])
            return TimePoint(time) if self.chance(15) else self.event()
        kind = self.random.randrange(6)
        if kind == 0:
            return Where(self.pattern(depth + 1), self.goals(1, 3))
        if kind == 1:
            limit = self.duration() if self.chance(60) else self.term(2)
            return Within(self.pattern(depth + 1), limit)
        if kind == 2:
            first, second, third = (self.pattern(depth + 1) for _ in range(3))
            return Absence(first, second, third)
        operator = self.pick(PATTERN_OPERATORS)
        return Binary(operator, self.pattern(depth + 1), self.pattern(depth + 1))

    def pattern_rule(self) -> PatternRule:
        """`head <- pattern.`"""
        return PatternRule(self.head(), self.pattern())

    def item(self) -> Item:
        """A clause, a directive or a pattern rule."""
        kind = self.random.randrange(10)
        if kind < 5:
            return self.clause()
        if kind == 5:
            return self.equivalence()
        return self.directive() if kind == 6 else self.pattern_rule()

    def program(self, most: int = 4) -> tuple[Item, ...]:
        """A few items."""
        return tuple(self.item() for _ in range(self.random.randint(1, most)))


def is_keyword(name: str) -> bool:
    """Is it a keyword of patterns, in either case?"""
    return name.lower() in KEYWORDS


def chained(functor: str, term: Term) -> tuple[Term, ...]:
    """The members of a chain of an operator; a term that is none is its own only member."""
    if isinstance(term, Compound) and term.functor == functor and len(term.args) > 1:
        return term.args
    return (term,)


def compound(functor: str, args: Sequence[Term]) -> Compound:
    """A compound term; a chain inside a chain of the same operator is part of it.

    Infix `|` is another spelling of `;`.
    """
    if functor == "|" and len(args) == 2:
        functor = ";"
    if functor in FLAT and len(args) > 1:
        args = [part for arg in args for part in chained(functor, arg)]
    return Compound(functor, tuple(args))


def _grown(grow: Callable[[Grower], T]) -> st.SearchStrategy[T]:
    return st.randoms(use_true_random=False).map(lambda random: grow(Grower(random)))


def terms() -> st.SearchStrategy[Term]:
    """Random terms."""
    return _grown(lambda grower: grower.deep() if grower.chance(10) else grower.term())


def patterns() -> st.SearchStrategy[Pattern]:
    """Random patterns."""
    return _grown(lambda grower: grower.pattern())


def programs() -> st.SearchStrategy[tuple[Item, ...]]:
    """Random programs of a few items."""
    return _grown(lambda grower: grower.program())
