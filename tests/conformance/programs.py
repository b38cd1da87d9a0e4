"""Random programs that RTEC and cernis both read, with streams for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from tests.conformance.rtec import Windows

UNITS = ("a", "b", "c")
VALUES = ("low", "mid", "high")
RELATIONS = ("before", "meets", "starts", "finishes", "during", "overlaps", "equal")
MODES = (
    "source", "target", "union", "intersection", "relative_complement",
    "relative_complement_inverse",
)  # fmt: skip
END = 60


@dataclass(frozen=True)
class Scenario:
    """The text of a program, its records, and the windows it is run in."""

    rules: str
    records: tuple[str, ...]
    windows: tuple[Windows, ...]
    has_ties_in_cycles: bool
    """May a fluent of a cycle be initiated and terminated at one point?"""
    has_values_outside: bool
    """Has a fluent with deadlines values that no deadline is about?"""
    has_relations: bool
    """Are there relations between intervals?"""

    def __str__(self) -> str:
        return f"{self.rules}\n" + "\n".join(self.records)


def drawn(seed: int) -> Scenario:
    """The scenario of a seed: one window over all, and two windowings whose windows overlap."""
    random = Random(seed)
    author = _Author(random)
    rules = author.program()
    is_late = random.random() < 0.3
    step, long = random.choice((5, 6, 10, 12)), random.choice((15, 20, 30))
    windows = (
        Windows(END, END, END), Windows(END, step, step),
        Windows(END, max(long, step), random.choice((step, 5))),
    )  # fmt: skip
    records = _records(random, author.has_stays, is_late)
    return Scenario(
        rules, records, windows, author.has_ties_in_cycles, author.has_values_outside,
        author.has_relations,
    )  # fmt: skip


def _records(random: Random, has_stays: bool, is_late: bool) -> tuple[str, ...]:
    rows: list[tuple[int, str]] = []
    for _ in range(random.randint(8, 40)):
        name, unit, time = random.choice("ABCN"), random.choice(UNITS), random.randint(1, END - 1)
        arrival = time + random.choice((0, 0, 1, 4)) if is_late else time
        args = {"N": f"|{random.randint(0, 9)}", "C": f"|{random.choice(VALUES)}"}.get(name, "")
        rows.append((arrival, f"{_EVENTS[name]}|{arrival}|{time}|{unit}{args}"))
    for unit in UNITS if has_stays else ():
        # In order and apart from one another, as RTEC wants them.
        time = random.randint(1, 10)
        while time < END - 12:
            end = time + random.randint(1, 9)
            rows.append((end, f"stay|{end}|{time}|{end}|true|{unit}"))
            time = end + random.randint(2, 15)
    return tuple(line for _, line in sorted(rows))


_EVENTS = {"A": "go", "B": "stop", "C": "set", "N": "read"}


@dataclass
class _Author:
    """Writes one program."""

    random: Random
    clauses: list[str] = field(default_factory=list)
    fluents: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    """Those that later rules may ask for, by name and values."""
    simple: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    has_stays: bool = False
    has_ties_in_cycles: bool = False
    has_values_outside: bool = False
    has_relations: bool = False

    def program(self) -> str:
        random = self.random
        self.has_stays = random.random() < 0.3
        if self.has_stays:
            self.clauses += [
                "collectIntervals(stay(_)=true).",
                "grounding(stay(X)=true) :- unit(X).",
            ]
        for number in range(random.randint(1, 3)):
            self._simple(f"f{number}")
        if random.random() < 0.3:
            self._cycle()
        if self.has_stays:
            self.fluents.append(("stay", ("true",)))
        for number in range(random.choice((0, 1, 1, 2))):
            self._static(f"s{number}")
        facts = [f"unit({unit})." for unit in UNITS] + [f"value({value})." for value in VALUES]
        facts += [f"weight({unit}, {random.randint(1, 9)})." for unit in UNITS]
        inputs = [
            "grounding(go(X)) :- unit(X).", "grounding(stop(X)) :- unit(X).",
            "grounding(set(X, V)) :- unit(X), value(V).", "grounding(read(X, _)) :- unit(X).",
        ]  # fmt: skip
        return "\n".join([*self.clauses, *inputs, *facts]) + "\n"

    # -- simple fluents ---------------------------------------------------------------------

    def _simple(self, name: str) -> None:
        random = self.random
        values = random.choice((("true",), ("true", "false"), ("low", "mid", "high")))
        is_open = values == VALUES and random.random() < 0.3
        if is_open:
            self.clauses.append(
                f"initiatedAt({name}(X)=V, T) :- happensAt(set(X, V), T){self._conditions()}."
            )
        for value in () if is_open and random.random() < 0.5 else values:
            for _ in range(random.choice((1, 1, 2))):
                self._change("initiatedAt", name, value)
        for value in values if random.random() < 0.6 else ():
            self._change("terminatedAt", name, value)
        if random.random() < 0.25:
            unit = random.choice(("X", *UNITS))
            body = " :- unit(X)" if unit == "X" else ""
            self.clauses.append(f"initially({name}({unit})={random.choice(values)}){body}.")
        self._grounding(name, values)
        if len(values) > 1 and random.random() < 0.5:
            self._deadlines(name, values)
        self.fluents.append((name, values))
        self.simple.append((name, values))

    def _grounding(self, name: str, values: tuple[str, ...]) -> None:
        self.clauses += [f"grounding({name}(X)={value}) :- unit(X)." for value in values]

    def _change(self, head: str, name: str, value: str) -> None:
        body = self._trigger() + self._conditions()
        self.clauses.append(f"{head}({name}(X)={value}, T) :- {body}.")

    def _trigger(self) -> str:
        random = self.random
        if self.simple and random.random() < 0.2:
            name, values = random.choice(self.simple)
            edge = random.choice(("start", "end"))
            return f"happensAt({edge}({name}(X)={random.choice(values)}), T)"
        number = f"N {random.choice(('>', '<', '>=', '=<'))} {random.randint(2, 7)}"
        return random.choice((
            "happensAt(go(X), T)", "happensAt(stop(X), T)",
            f"happensAt(set(X, {random.choice(VALUES)}), T)",
            f"happensAt(read(X, N), T), {number}",
            "happensAt(read(X, N), T), weight(X, W), N > W",
        ))  # fmt: skip

    def _conditions(self) -> str:
        random = self.random
        found = ""
        for _ in range(random.choice((0, 0, 1, 1, 2))):
            sign = random.choice(("", "\\+ "))
            if self.fluents and random.random() < 0.7:
                name, values = random.choice(self.fluents)
                found += f", {sign}holdsAt({name}(X)={random.choice(values)}, T)"
            elif random.random() < 0.5:
                found += f", {sign}happensAt({random.choice(('go', 'stop'))}(X), T)"
        return found

    def _deadlines(self, name: str, values: tuple[str, ...]) -> None:
        """A chain of deadlines; RTEC finds no end where they are a cycle."""
        random = self.random
        order = random.sample(values, len(values))
        links = list(pairwise(order))[: random.randint(1, 2)]
        self.has_values_outside |= len(values) > 2
        for source, target in links:
            delay = random.choice((2, 3, 5, 8, 14))
            self.clauses.append(f"fi({name}(X)={source}, {name}(X)={target}, {delay}).")
            if random.random() < 0.5:
                self.clauses.append(f"p({name}(_)={source}).")
            # RTEC finds grounding by heads of rules.
            self.clauses.append(
                f"initiatedAt({name}(X)={target}, T) :- happensAt(set(X, mid), T), "
                f"happensAt(set(X, high), T)."
            )

    def _cycle(self) -> None:
        """Two fluents, each of which depends on what held of the other."""
        sign = self.random.choice(("", "\\+ "))
        self.has_ties_in_cycles = self.random.random() < 0.3
        begin, end = "happensAt(go(X), T)", "happensAt(stop(X), T), \\+ happensAt(go(X), T)"
        if self.has_ties_in_cycles:
            begin, end = self._trigger(), self._trigger()
        self.clauses += [
            f"initiatedAt(c0(X)=true, T) :- {begin}, {sign}holdsAt(c1(X)=true, T).",
            f"terminatedAt(c0(X)=true, T) :- {end}, holdsAt(c1(X)=true, T).",
            f"initiatedAt(c1(X)=true, T) :- {begin}, holdsAt(c0(X)=true, T).",
            f"terminatedAt(c1(X)=true, T) :- {end}.",
        ]
        for name in ("c0", "c1"):
            self._grounding(name, ("true",))
            self.fluents.append((name, ("true",)))

    # -- statically determined fluents ------------------------------------------------------

    def _static(self, name: str) -> None:
        random = self.random
        lists = []
        body = []
        for at in range(random.randint(1, 3)):
            fluent, values = random.choice(self.fluents)
            body.append(f"holdsFor({fluent}(X)={random.choice(values)}, I{at})")
            lists.append(f"I{at}")
        if random.random() < 0.15:
            body.append(f"\\+ {lists[0]}=[]")
        first = lists[0]
        if Random("".join((*self.clauses, *body))).random() < 0.3:
            self.has_relations = True
            relation, mode = random.choice(RELATIONS), random.choice(MODES)
            body.append(f"{relation}({first}, {lists[-1]}, {mode}, I)")
        else:
            body.append(self._operation(first, lists))
        self.clauses.append(f"holdsFor({name}(X)=true, I) :- {', '.join(body)}.")
        if random.random() < 0.1:
            fluent, values = random.choice(self.fluents)
            self.clauses.append(
                f"holdsFor({name}(X)=true, I) :- holdsFor({fluent}(X)={values[0]}, I)."
            )
        self._grounding(name, ("true",))
        self.fluents.append((name, ("true",)))

    def _operation(self, first: str, lists: list[str]) -> str:
        all_ = ", ".join(lists)
        return self.random.choice((
            f"union_all([{all_}], I)", f"intersect_all([{all_}], I)",
            f"relative_complement_all({first}, [{', '.join(lists[1:]) or first}], I)",
        ))  # fmt: skip
