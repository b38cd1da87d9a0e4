"""Random programs of event-calculus rules, patterns and knowledge: sensible and less sensible.

Names are few, so that rules meet, clash and form cycles.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import TypeVar

T = TypeVar("T")

EVENTS = (
    "e",
    "e(X)",
    "e(X, Y)",
    "go(X)",
    "go(X, Y)",
    "stop(Y)",
    "start(f(X)=true)",
    "end(g=V)",
    "d(X)",
)
FLUENTS = ("f(X)", "f(X, Y)", "g", "h(Y)", "k(X)", "obl(pay(X))", "s(X)")
VALUES = ("true", "true", "true", "false", "V", "1", "high", "_")
TIMES = ("T", "T", "T", "T", "T", "T", "T2", "3", "_")
GOALS = (
    "p(X)", "q(X, Y)", "p(Y)", "X > 3", "X = Y", "X \\= Y", "\\+ p(X)", "\\+ q(X, _)", "Y is X + 1",
    "r(X)", "pp(X)", "!", "true", "findall(Z, q(X, Z), L)", "length(L, N)", "N > 2", "X == a",
    "(p(X) ; q(X, Y))", "(p(X) -> true ; fail)", "call(p, X)", "\\+ (p(Z), q(Z, X))", "X < high",
)  # fmt: skip
RELATIONS = ("before", "meets", "during", "overlapz")
MODES = ("source", "target", "union", "nothing")


class Author:
    """Writes clauses from the choices of a random source."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def program(self, least: int = 1, most: int = 12) -> list[str]:
        """Some clauses."""
        return [self.clause() for _ in range(self._random.randint(least, most))]

    def clause(self) -> str:
        """A clause of any kind."""
        kinds: tuple[Callable[[], str], ...] = (
            self.change, self.change, self.change, self.change, self.event_rule, self.static,
            self.static, self.iff, self.effect, self.effect, self.declaration, self.background,
            self.pattern_rule, self.older,
        )  # fmt: skip
        return self._one(*kinds)()

    def rule(self) -> str:
        """A clause that is no directive, so that its place among others is of no account."""
        while (clause := self.clause()).startswith(":-"):
            pass
        return clause

    # -- rules over time ----------------------------------------------------------------------

    def change(self) -> str:
        head = self._one("initiatedAt", "initiatedAt", "terminatedAt")
        if self._chance(5):
            return f"{head}({self.pair()}, T1, T, T2) :- {self.body()}, T1 =< T, T < T2."
        return f"{head}({self.pair()}, T) :- {self.body()}."

    def older(self) -> str:
        head = self._one("initiates", "terminates")
        body = self._one("", f" :- {self.literal()}")
        return f"{head}({self._one(*EVENTS)}, {self.pair()}, T){body}."

    def event_rule(self) -> str:
        return f"happensAt({self._one('d(X)', 'd(Y)', 'dd', 'e(X)')}, T) :- {self.body()}."

    def body(self) -> str:
        first = f"happensAt({self._one(*EVENTS)}, T)" if self._chance(85) else self.literal()
        return ", ".join([first, *(self.literal() for _ in range(self._random.randrange(4)))])

    def literal(self) -> str:
        kind = self._random.randrange(12)
        time = self._one(*TIMES) if self._chance(10) else "T"
        if kind < 4:
            return f"{self.negation()}holdsAt({self.pair()}, {time})"
        if kind < 6:
            return f"{self.negation()}happensAt({self._one(*EVENTS)}, {time})"
        if kind == 6:
            return f"{self.negation()}initiatedAt({self.pair()}, {time})"
        if kind == 7:
            return f"({self.literal()} ; {self.literal()})"
        if kind == 8:
            return self._one(
                f"findall(X, holdsAt({self.pair()}, T), L)",
                f"aggregate_all(count, holdsAt({self.pair()}, T), N)",
                "aggregate_all(best(X), happensAt(go(X), T), N)",
                f"\\+ (holdsAt({self.pair()}, T), {self._one(*GOALS)})",
            )
        return self._one(*GOALS)

    # -- rules over intervals -----------------------------------------------------------------

    def static(self) -> str:
        goals = [f"holdsFor({self.pair()}, I1)", f"holdsFor({self.pair()}, I2)"]
        goals += [self._one(*GOALS)] if self._chance(30) else []
        goals += [self._one("\\+ I1 = []", "I2 \\= []", "!", "p(X)")] if self._chance(30) else []
        goals.append(self._one(
            "union_all([I1, I2], I)", "intersect_all([I1, I2], I)", "complement_all([I1], I)",
            "relative_complement_all(I1, [I2], I)", "intDurGreater(I1, 10, I)", "I = I1",
            "intDurLess(I1, D, I)", "union_all([I1, I3], I)", "union_all(I1, I2)",
            "holdsAt(g=1, T)",
            f"allen({self._one(*RELATIONS)}, I1, I2, {self._one(*MODES)}, I)",
            f"{self._one(*RELATIONS)}(I1, I2, {self._one(*MODES)}, I)",
        ))  # fmt: skip
        return (
            f"holdsFor({self.pair()}, {self._one('I', 'I', 'I', '[]', 'J')}) :- {', '.join(goals)}."
        )

    def iff(self) -> str:
        parts = [f"({self.pair()} or {self.pair()})", self.pair(), f"not {self.pair()}",
                 f"{self.pair()} and {self.pair()}", self._one(*GOALS)]  # fmt: skip
        chosen = [self._one(*parts) for _ in range(self._random.randint(1, 3))]
        return f"{self.pair()} iff {', '.join(chosen)}."

    # -- delayed effects, declarations, knowledge, patterns ---------------------------------------

    def effect(self) -> str:
        fluent = self._one("f(X)", "g", "h(Y)", "f(a)", "f(b)", "k(X)")
        values = (
            self._one("true", "false", "high", "V"),
            self._one("true", "false", "high", "low"),
        )
        delay = self._one("10", "20", "0", "30min", "R", "foo", "-1", "X")
        body = self._one("", "", " :- limit(R)", " :- p(X)")
        return self._one(
            f"fi({fluent}={values[0]}, {fluent}={values[1]}, {delay}){body}.",
            f"fi({fluent}={values[0]}, {fluent}={values[1]}, {delay}){body}.",
            f"ft({fluent}={values[0]}, {delay}){body}.",
            f"p({fluent}={values[0]}).",
            f"maxDurationUE({fluent}={values[0]}, {fluent}={values[1]}, {delay}).",
        )

    def declaration(self) -> str:
        return self._one(
            f"grounding({self.pair()}) :- p(X).", f"grounding({self._one(*EVENTS)}) :- p(X).",
            f"initially({self.pair()}).", f"0.4::initially({self.pair()}) :- p(X).",
            f"collectIntervals({self.pair()}).", f"buildFromPoints({self.pair()}).",
            "dynamicDomain(p(_)).", f"index({self.pair()}, X).", "needsGrounding(_, _, _) :- fail.",
            f"inputEntity({self._one(*EVENTS)}).", f"outputEntity({self.pair()}).",
            ":- event([e(text), go(integer)]).", ":- fluent(k(_)=_).", ":- fluent(k(wrong)=1).",
            ":- dynamic p/1, q/2.", ":- tick(40).", ":- tick(x).", ":- ties(initiation).",
            ":- consumption(recent).", ":- consumption(d/1, odd).", ":- nonsense.",
            ":- table(r(A), 'no such file.csv').",
        )  # fmt: skip

    def background(self) -> str:
        return self._one(
            "p(a).", "p(b).", "p(1).", "q(a, b).", "q(X, Y) :- q(Y, X).", "r(X) :- p(X), q(X, _).",
            "r(X) :- X > 3.", "r(X) :- \\+ p(X).", "limit(10).", "unused(X) :- nothing(X).",
            "r(X) :- holdsAt(g=true, T).", "intDurGreater(A, B, C) :- foo(A, B, C).", "p(X).",
            "holdsAt(g=true, T).", "p(X) :- r(X).", "pp(X) :- member(X, [a, b]), !.",
            "q(X, Y) :- Y is X * 2.", "p(f(X)) :- p(X).", "0.3::p(c).",
        )  # fmt: skip

    def pattern_rule(self) -> str:
        parts = [self._one(*EVENTS, "f(X)=true", "5", "d(X)", "c") for _ in range(3)]
        words = [self._one("seq", "and", "or", "par", "during", "meets") for _ in range(2)]
        head = self._one("d(X)", "c", "c(X, N + 1)", "dd", "e(X)")
        pattern = self._one(
            f"{parts[0]} {words[0]} {parts[1]} {words[1]} {parts[2]}",
            f"not({parts[0]})[{parts[1]}, {parts[2]}]", f"{parts[0]}",
            f"({parts[0]} {words[0]} {parts[1]} where {self._one(*GOALS)})",
        )  # fmt: skip
        return (
            f"{head} <- {pattern}{self._one('', ' within 10', ' within 1h', ' where X = N + 1')}."
        )

    # -- parts --------------------------------------------------------------------------------

    def pair(self) -> str:
        return f"{self._one(*FLUENTS)}={self._one(*VALUES)}"

    def negation(self) -> str:
        return self._one("", "", "\\+ ", "not ")

    def _one(self, *options: T) -> T:
        return options[self._random.randrange(len(options))]

    def _chance(self, percent: int) -> bool:
        return self._random.randrange(100) < percent


_TOKEN = re.compile(r"\s*(?:%[^\n]*\n\s*)*('[^'\n]*'|\"[^\"\n]*\"|\w+|[^\w\s])", re.DOTALL)


def mutated(text: str, random: Random) -> str:
    """The text with a few tokens deleted, doubled, swapped or replaced."""
    tokens = [match[0] for match in _TOKEN.finditer(text)]
    for _ in range(random.randint(1, 6)):
        at, other = random.randrange(len(tokens)), random.randrange(len(tokens))
        change = random.randrange(4)
        if change == 0 and len(tokens) > 1:
            del tokens[at]
        elif change == 1:
            tokens.insert(at, tokens[at])
        elif change == 2:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        else:
            tokens[at] = tokens[other]
    return "".join(tokens)
