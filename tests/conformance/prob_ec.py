"""Prob-EC's applications, read from a checkout of its repository: their rules in cernis's words.

Prob-EC goes from point to point. At each it computes, fluent by fluent, how likely a pair holds at
the next one, and keeps that at once. So what a rule asks of a fluent that comes earlier in its
order is already that of the next point; and a statically determined fluent applies the records of
the point to its parts a second time. To compare pair by pair, rules are translated so that they do
the same: each point becomes several, one for each layer of fluents, with records of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from cernis.syntax import parse, show
from cernis.syntax.tree import Clause, Compound, Term, children, functor, variables

LAYERS = 4
_ANSWER = re.compile(r"([\d.e-]+)::holdsAt\((.*)=(\w+),(\d+)\)\.")
_RECORD = re.compile(r"([\d.]+)::happensAt\((.*),(\d+)\)\)")


def folder() -> Path | None:
    """Where the checkout lies."""
    named = os.environ.get("CERNIS_OPIEC")
    return Path(named).resolve() if named else None


def prob_ec_answers(checkout: Path, application: str, data: str, work: Path) -> str:
    """What Prob-EC prints; it is run by ProbLog, in a copy."""
    shutil.copytree(checkout / "src", work / "src")
    shutil.copytree(checkout / "applications", work / "applications")
    loader = work / "applications" / application / "loader.pl"
    records = work / "applications" / application / "datasets" / data
    line = [sys.executable, "-m", "problog", "probec.pl", "-a", str(loader), "-a", str(records)]
    done = subprocess.run(
        line, cwd=work / "src" / "Prob-EC", capture_output=True, text=True, timeout=900, check=True
    )
    return done.stdout


def answers(printed: str) -> dict[str, list[tuple[int, float]]]:
    """For each pair the points at which its probability was printed."""
    found: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for line in printed.splitlines():
        match = _ANSWER.match(line.replace(" ", "").replace('"', ""))
        if match:
            chance, pair, value, time = match.groups()
            found[f"{pair}={value}"].append((int(time), float(chance)))
    return dict(found)


def records(text: str) -> tuple[list[str], int]:
    """The records of a data set, once for each layer; and the first time."""
    given = [
        (float(chance), parse(f"x :- {event}.").items[0], int(time))
        for chance, event, time in _RECORD.findall(text)
    ]
    first = min(time for _, _, time in given)
    lines = []
    for chance, item, time in given:
        assert isinstance(item, Clause)
        (event,) = item.body
        assert isinstance(event, Compound)
        for layer in range(LAYERS):
            at = moment(time, first) + layer
            args = "|".join(show(arg) for arg in event.args)
            lines.append(f"{chance}::{event.functor}_{layer}|{at}|{at}|{args}")
    for time in sorted({time for _, _, time in given}):
        lines += [f"look_{layer}|{moment(time, first) + layer}|{moment(time, first) + layer}"
                  for layer in range(LAYERS)]  # fmt: skip
    return lines, first


def moment(time: int, first: int) -> int:
    """The point that stands for a time, in the first layer."""
    return LAYERS * (time - first) + 1


@dataclass
class Translation:
    """Translates the rules of an application."""

    clauses: list[Clause]
    lines: list[str] = field(default_factory=list)
    _done: set[tuple[str, int, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.initiations: dict[tuple[str, int], list[Clause]] = defaultdict(list)
        self.statics: dict[tuple[str, int], list[Clause]] = defaultdict(list)
        for clause in self.clauses:
            kind = functor(clause.head)
            if kind == ("initiatedAt", 2):
                self.initiations[_fluent(clause.head)].append(clause)
            elif kind == ("holdsAt", 2):
                self.statics[_fluent(clause.head)].append(clause)

    def text(self) -> str:
        """The program: each fluent in its layer."""
        for fluent in self.initiations:
            layer = self.layer(fluent)
            args = _args(fluent[1])
            self._value_facts(fluent)
            pair, name = _call(fluent[0], [*args, "V"]), fluent[0]
            begun = _event("init", name, layer, [*args, "V"])
            other = _event("init", name, layer, [*args, "W"])
            self.lines.append(f"initiatedAt({pair}=true, T) :- happensAt({begun}, T).")
            self.lines.append(
                f"terminatedAt({pair}=true, T) :- happensAt({other}, T), value_{name}(V), V \\= W."
            )
            self._initiation(fluent, layer)
        for fluent in self.statics:
            self._static(fluent)
        return "\n".join(self.lines)

    def _value_facts(self, fluent: tuple[str, int]) -> None:
        """The values of a fluent as facts. To Prob-EC they are independent of one another, as those
        of different instances are; so each is one more argument."""
        values = {show(clause.head.args[0].args[1]) for clause in self.initiations[fluent]}  # type: ignore[union-attr]
        self.lines += [f"value_{fluent[0]}({value})." for value in sorted(values)]

    def layer(self, fluent: tuple[str, int]) -> int:
        """The layer of a fluent: above those whose kept probabilities its rules ask for."""
        below = [-1]
        for clause in self.initiations.get(fluent, []):
            for literal in clause.body:
                for term in _walk(literal):
                    if functor(term) == ("holdsAt", 1):
                        below.append(self.layer(_fluent(term)))
                    elif functor(term) == ("initiatedAt", 2) and _fluent(term) in self.initiations:
                        below.append(self.layer(_fluent(term)) - 1)
        if fluent in self.statics:
            parts = [t for clause in self.statics[fluent] for b in clause.body for t in _walk(b)]
            asked = [_fluent(t) for t in parts if functor(t) == ("holdsAt", 2)]
            below += [self.layer(each) - (each in self.statics) for each in asked]
        return max(below) + 1

    def _initiation(self, fluent: tuple[str, int], layer: int) -> None:
        """The initiations of a fluent, by the records of a layer."""
        if ("init", layer, fluent[0]) in self._done:
            return
        self._done.add(("init", layer, fluent[0]))
        for clause in self.initiations[fluent]:
            pair, body = clause.head.args[0], [self._literal(b, layer) for b in clause.body]  # type: ignore[union-attr]
            if None in body:
                continue
            bound = {v.name for literal in clause.body for v in variables(literal)}
            free = [v.name for v in variables(pair) if v.name not in bound]
            body += [f"area({name})" for name in free]
            head = _event("init", fluent[0], layer, _values(pair))
            self.lines.append(f"happensAt({head}, T) :- {', '.join(filter(None, body))}.")

    def _static(self, fluent: tuple[str, int]) -> None:
        name, arity = fluent
        layer, args = self.layer(fluent), _args(arity)
        now = _event("now", name, layer, [*args, "true"])
        self._now(fluent, layer)
        pair = f"{_call(name, [*args, 'true'])}=true"
        self.lines.append(f"initiatedAt({pair}, T) :- happensAt({now}, T).")
        self.lines.append(
            f"terminatedAt({pair}, T) :- happensAt(look_{layer}, T), holdsAt({pair}, T), "
            f"\\+ happensAt({now}, T)."
        )

    def _now(self, fluent: tuple[str, int], layer: int) -> None:
        """What holds at the next point, as an event of a layer."""
        if ("now", layer, fluent[0]) in self._done:
            return
        self._done.add(("now", layer, fluent[0]))
        name, args = fluent[0], _args(fluent[1])
        if fluent in self.statics:
            for clause in self.statics[fluent]:
                pair = clause.head.args[0]  # type: ignore[union-attr]
                head = _event("now", name, layer, _values(pair))
                body = ", ".join(self._literal(b, layer) or "" for b in clause.body)
                self.lines.append(f"happensAt({head}, T) :- happensAt(look_{layer}, T), {body}.")
            return
        self._initiation(fluent, layer)
        head = _event("now", name, layer, [*args, "V"])
        other = _event("init", name, layer, [*args, "W"])
        self.lines.append(
            f"happensAt({head}, T) :- happensAt(look_{layer}, T), "
            f"holdsAt({_call(name, [*args, 'V'])}=true, T), "
            f"\\+ (happensAt({other}, T), W \\= V)."
        )
        begun = _event("init", name, layer, [*args, "V"])
        self.lines.append(f"happensAt({head}, T) :- happensAt({begun}, T).")

    def _literal(self, term: Term, layer: int) -> str | None:
        """A literal in cernis's words; None if it can never be true."""
        kind = functor(term)
        assert isinstance(term, Compound)
        if kind in (("\\+", 1), ("not", 1)):
            return f"\\+ {self._literal(term.args[0], layer)}"
        if kind == (";", 2):
            return f"({self._literal(term.args[0], layer)}; {self._literal(term.args[1], layer)})"
        if kind == ("cached", 1):
            pair = term.args[0].args[0]  # type: ignore[union-attr]
            return f"holdsAt({_call(pair.args[0].functor, _values(pair))}=true, T)"
        if kind == ("areaType", 2):
            return f"{show(term.args[1])} = {show(term.args[0])}"
        if kind == ("happensAt", 2):
            event = term.args[0]
            assert isinstance(event, Compound)
            return f"happensAt({_call(f'{event.functor}_{layer}', list(map(show, event.args)))}, T)"
        if kind == ("initiatedAt", 2):
            return self._asked("init", term, layer)
        if kind == ("holdsAt", 2):
            return self._asked("now", term, layer)
        return show(term)

    def _asked(self, kind: str, term: Compound, layer: int) -> str | None:
        fluent, pair = _fluent(term), term.args[0]
        if kind == "init" and fluent not in self.initiations:
            return None
        (self._initiation if kind == "init" else self._now)(fluent, layer)
        return f"happensAt({_event(kind, fluent[0], layer, _values(pair))}, T)"


def _walk(term: Term) -> list[Term]:
    inner = [part for arg in getattr(term, "args", ()) for part in _walk(arg)]
    return [term, *inner]


def _fluent(term: Term) -> tuple[str, int]:
    """Name and arity of the fluent of `initiatedAt(F=V, T)`, `holdsAt(F=V)`."""
    assert isinstance(term, Compound)
    return functor(term.args[0].args[0])  # type: ignore[union-attr]


def _values(pair: Term) -> list[str]:
    """The arguments of a pair's fluent, and its value."""
    fluent, value = children(pair)
    return [*map(show, children(fluent)), show(value)]


def _args(count: int) -> list[str]:
    return [f"A{number}" for number in range(count)]


def _call(name: str, args: list[str]) -> str:
    return f"{name}({', '.join(args)})" if args else name


def _event(kind: str, name: str, layer: int, args: list[str]) -> str:
    return _call(f"{kind}_{name}_{layer}", args)
