"""Random event patterns and streams for them, and the reference's answer."""

from __future__ import annotations

import re
from random import Random

from cernis.syntax.tree import Atom, Clause, Compound, PatternRule, Term
from tests.reference.answer_cache import kept
from tests.reference.patterns import (
    Interval,
    answer_text,
    consumption_of,
    occurrences,
    read_program,
    read_records,
)
from tests.reference.solve import Solver

INPUT = {"a": 1, "b": 1, "c": 2, "d": 0}
"""Input events and how many arguments each has. The second of `c` is a number."""

OPERATORS = (
    "seq", "seq", "seq", "seq", "and", "and", "par", "or", "equals", "meets", "during", "starts",
    "finishes",
)  # fmt: skip
POLICIES = ("unrestricted", "unrestricted", "recent", "chronological")
PREFERRED = ("longer", "longer", "shorter", "greatest({})", "least({})")
BACKGROUND = (
    "combine(A, B, C) :- C is A * B.",
    "near(x, y).",
    "near(y, z).",
    "near(x, x).",
    "size(x, 3).",
    "size(y, 5).",
)


def with_preference(clauses: list[str], random: Random) -> list[str]:
    """The rules under one policy that prefers some matches to others."""
    rules = [clause for clause in clauses if not clause.startswith(":- consumption")]
    text = " ".join(rule.partition("<-")[2] for rule in rules)
    names = [name for name in ("N", "X", "Y") if re.search(rf"\b{name}\b", text)]
    preferred = random.choice(PREFERRED) if names else "longer"
    preferred = preferred.format(random.choice(names or [""]))
    return [f":- consumption({random.choice(POLICIES[2:])}({preferred})).", *rules]


class Drawing:
    """Draws rules; those drawn before can be used by those that follow."""

    def __init__(self, random: Random, selects: bool = False) -> None:
        self.random = random
        self.selects = selects
        """Will a policy select among matches, whatever the rules say?"""
        self.known = dict(INPUT)
        self.count = 0

    def rules(self) -> list[str]:
        policy = self.random.choice(POLICIES)
        own = self.random.random() < 0.3
        self.selects |= own or policy != "unrestricted"
        clauses = [f":- consumption({policy})."]
        for at in range(self.random.randint(1, 4)):
            clauses += self.rule(f"e{at}")
        if own:
            head = self.random.choice(["e0/1", "e1/1", "e1/0"])
            clauses.append(f":- consumption({head}, {self.random.choice(POLICIES)}).")
        return [*clauses, *BACKGROUND]

    def rule(self, name: str) -> list[str]:
        if self.random.random() < 0.15:
            self.known[name] = 1
            return self.recursion(name)
        text, bound = self.pattern(self.random.choice([1, 2, 2, 3]))
        keys = [v for v in bound if v != "N"]
        head = f"{name}({self.random.choice(keys)})" if keys else name
        self.known[name] = 1 if keys else 0
        return [f"{head} <- {text}."]

    def recursion(self, name: str) -> list[str]:
        event = self.random.choice(["a", "b"])
        limit = self.random.choice(["", " within 4", " within 7"])
        step = self.random.choice([
            f"{name}(X) seq {event}(X)", f"{event}(X) seq {name}(X)",
            f"not({event}(_))[{name}(X), {event}(_)]", f"{name}(_) seq {event}(X)",
        ])  # fmt: skip
        if not self.selects and self.random.random() < 0.6:
            # What ends together with what it is made of has no order among matches.
            step = self.random.choice([
                f"{name}(X) and {event}(_)", f"{name}(X) meets {name}(_)",
                f"({name}(X) or {event}(X)) and {event}(_)", f"{name}(X) par {name}(X)",
                f"({event}(X) and {name}(X)) seq {event}(_)", f"{event}(X) during {name}(X)",
            ])  # fmt: skip
        if self.random.random() < 0.4:
            # Through a second event, which may be another name for the first.
            step, second = step.replace(name, f"r{name}"), f"r{name}(X) <- {self.second(name)}."
            return [f"{name}(X) <- {event}(X).", f"{name}(X) <- ({step}){limit}.", second]
        return [f"{name}(X) <- {event}(X).", f"{name}(X) <- ({step}){limit}."]

    def second(self, name: str) -> str:
        return self.random.choice([
            f"{name}(X)", f"{name}(X) seq b(_)", f"b(X) or {name}(X)", f"{name}(X) where end > 3",
            f"{name}(X) {'seq' if self.selects else 'and'} d",
        ])  # fmt: skip

    def pattern(self, depth: int) -> tuple[str, set[str]]:
        """A pattern, and the variables that it surely gives a value."""
        text, bound = self.operand(depth)
        if self.random.random() < 0.25:
            text = f"({text}) within {self.random.choice([1, 2, 3, 5, 8, 12])}"
        if self.random.random() < 0.3:
            condition = self.condition(bound)
            if condition:
                text = f"({text}) where ({condition})"
        return text, bound

    def operand(self, depth: int) -> tuple[str, set[str]]:
        if depth == 0:
            return self.atom()
        if self.random.random() < 0.2:
            return self.absence(depth)
        left, bound = self.pattern(depth - 1)
        right, more = self.pattern(self.random.choice([0, depth - 1]))
        operator = self.random.choice(OPERATORS)
        return f"({left}) {operator} ({right})", (
            bound & more if operator == "or" else bound | more
        )

    def absence(self, depth: int) -> tuple[str, set[str]]:
        first, bound = self.pattern(depth - 1)
        last, more = self.pattern(0)
        absent, _ = self.pattern(self.random.choice([0, 0, 1]))
        if self.random.random() < 0.2 and "N" in bound | more:
            absent = "c(_, M) where M > N"
        return f"not({absent})[({first}), ({last})]", bound | more

    def atom(self) -> tuple[str, set[str]]:
        if self.random.random() < 0.04:
            return str(self.random.randint(0, 9)), set()
        name = self.random.choice(list(self.known))
        arity = self.known[name]
        if arity == 0:
            return name, set()
        own = self.random.choice(["X", "X", "X", "Y", "_", "x"])
        args = [own]
        if arity == 2:
            args.append(self.random.choice(["N", "_", "2"]))
        return f"{name}({', '.join(args)})", {arg for arg in args if arg in ("X", "Y", "N")}

    def aggregates(self, value: str, key: str) -> list[str]:
        window = self.random.choice(["last(2)", "last(3)", "past(2)", "past(5)", "all"])
        by = self.random.choice([f"{key}, " if key else "", ""])
        kind = self.random.choice(["sum", "max", "min", "avg"])
        return [
            f"A = {kind}({value}, {by}{window}), A > 2", f"A = count({by}{window}), A =:= 2",
            f"A = fold(combine, {value}, {by}{window}), A > 5",
        ]  # fmt: skip

    def condition(self, bound: set[str]) -> str:
        self.count += 1
        length = f"D{self.count}"
        choices = [
            "end - start < 3", f"{length} = end - start, {length} > 1", "start > 3", "end =< 8",
            f"{length} = start, {length} > 2",
        ]  # fmt: skip
        if {"X", "Y"} <= bound:
            choices += ["near(X, Y)", "X \\= Y", "X @< Y"]
        if "X" in bound:
            choices += ["size(X, S), S > 3", "not near(X, x)", "(X = x ; X = y)"]
        if "N" in bound:
            choices += self.aggregates("N", "X" if "X" in bound else "")
            choices += ["N > 1", "M = N * 2, M < 5", "N \\= 1 + 1", "end mod 2 =:= N mod 2"]
            choices += ["N > avg(N, last(2))", "N < sum(N, all) / 2"]
            choices += ["2 * N >= max(N + start, X, past(4)) - count(last(2))"] * ("X" in bound)
        return self.random.choice(choices) if choices else ""


def random_records(random: Random) -> list[str]:
    """Input of a short time, so that much happens together."""
    span = random.choice([6, 10, 16])
    lines = []
    for _ in range(random.randint(0, 24)):
        name, time = random.choice(list(INPUT)), random.randint(1, span)
        args = [random.choice("xyz") for _ in range(min(INPUT[name], 1))]
        args += [str(random.randint(1, 3))] if INPUT[name] == 2 else []
        lines.append("|".join([name, str(time), str(time), *args]))
    return lines


def by_reference(clauses: list[str], lines: list[str], end: int) -> str:
    """The reference's answer as text, which is kept."""
    return kept(lambda: _text_by_reference(clauses, lines, end), "patterns", clauses, lines, end)


def _text_by_reference(clauses: list[str], lines: list[str], end: int) -> str:
    items = read_program("\n".join(clauses), "random")
    events: dict[Term, list[Interval]] = {}
    for _, name, time, args in read_records("\n".join(lines)):
        events.setdefault(Compound(name, args) if args else Atom(name), []).append((time, time))
    rules = [item for item in items if isinstance(item, PatternRule)]
    solver = Solver(item for item in items if isinstance(item, Clause))
    return answer_text(occurrences(rules, events, solver, consumption_of(items), end))
