"""Input as delimited text, one record a line (section 3 of the semantics).

    name|arrival|occurrence|args...              an event
    name|arrival|occurrence|value|args...        a fluent at a point
    name|arrival|start|end|value|args...         a fluent on an interval, [start, end)

A leading `-` on the name makes it a retraction; a probability stands before it: `0.7::name|...`.
What a name is follows from the rules. A record that cannot be read is set aside.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from cernis.errors import ProgramError
from cernis.syntax import parse_term
from cernis.syntax.tree import Atom, Compound, Number, Term, functor, walk

from .arithmetic import GREATEST, LEAST
from .program import Program, is_edge, is_pair
from .terms import is_ground, one_relation

INTEGER = re.compile(r"[+-]?\d+\Z")
FLOAT = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?\Z")
COMPOUND = re.compile(r"[a-z]\w*\(.*\)\Z")


@dataclass(frozen=True, slots=True)
class Record:
    """One readable line.

    `term` is the event or the fluent-value pair. An event or a fluent at a point occurs at
    `start`, and `end` is None; a fluent on an interval holds in `[start, end)`, where `end` is
    infinite for `inf`.
    """

    line: int
    kind: str
    arrival: int
    start: int
    term: Term
    end: float | None = None
    probability: float | None = None
    retraction: bool = False

    def last(self, tick: int) -> float:
        """The last point the record tells of."""
        return self.start if self.end is None else self.end - tick

    def same(self) -> tuple[object, ...]:
        """What a retraction has in common with what it retracts: all but the arrival."""
        return (self.kind, self.start, self.end, self.term, self.probability)


@dataclass(frozen=True, slots=True)
class SetAside:
    """A line that is not used, and why."""

    line: int
    reason: str


@dataclass(slots=True)
class Records:
    """All lines of an input, readable and not."""

    records: list[Record] = field(default_factory=list)
    set_aside: list[SetAside] = field(default_factory=list)
    ignored: list[int] = field(default_factory=list)
    """The lines with a name that no rule mentions."""


@dataclass(slots=True)
class Vocabulary:
    """What the rules make of a name: how many arguments it has, as an event and as a fluent."""

    events: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    fluents: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    on_intervals: set[tuple[str, int]] = field(default_factory=set)
    at_points: set[tuple[str, int]] = field(default_factory=set)
    defined: set[tuple[str, int]] = field(default_factory=set)
    terms: list[Term] = field(default_factory=list)
    """The events and pairs themselves, as far as they may be input."""
    texts: set[tuple[str, int, int]] = field(default_factory=set)
    """The arguments that are declared text, by name, number of arguments and place; 0 is the value
    of a fluent."""

    def knows(self, field: str) -> bool:
        """Does some rule mention the name in the first field of a record?"""
        name = field.rpartition("::")[2].strip().removeprefix("-")
        defined = {own for own, _ in self.defined}
        return name in self.events or name in self.fluents or name in defined


class Unreadable(Exception):
    """Why a line cannot be read."""


def vocabulary(program: Program) -> Vocabulary:
    """The names in happensAt are events; those in holdsAt, holdsFor, start and end are fluents.

    A fluent that no rule defines is input. Whether at points or on intervals follows from
    declarations, or else from the number of fields of each record.
    """
    result = Vocabulary()
    for rule in program.rules:
        if rule.kind == "happensAt":
            _add(result.events, rule.head)
        else:
            result.defined.add(_fluent(rule.changes))
    bodies = [goal for rule in program.rules for goal in rule.body]
    bodies += [goal for clause in program.background for goal in clause.body]
    for goal in bodies:
        for term in walk(goal):
            _mention(result, term)
    for clause in program.grounding:
        _add(result.fluents if is_pair(clause.head) else result.events, clause.head)
        result.terms.append(clause.head)
    for pair in program.on_intervals:
        _declare(result, pair, result.on_intervals)
    for pair in program.at_points:
        _declare(result, pair, result.at_points)
    for term in program.declared:
        result.texts.update(_texts(term))
    return result


def _texts(declared: Term) -> Iterator[tuple[str, int, int]]:
    """The arguments that a declaration says are text: `text`, or `name:text`."""
    fluent = declared.args[0] if isinstance(declared, Compound) and is_pair(declared) else declared
    types = fluent.args if isinstance(fluent, Compound) else ()
    value = declared.args[1] if isinstance(declared, Compound) and is_pair(declared) else None
    for place, kind in enumerate((value, *types)):
        inner = kind.args[1] if isinstance(kind, Compound) and kind.functor == ":" else kind
        if inner == Atom("text"):
            yield (*functor(fluent), place)


def _mention(result: Vocabulary, term: Term) -> None:
    if not isinstance(term, Compound) or not term.args:
        return
    what = term.args[0]
    if term.functor in ("holdsAt", "holdsFor", "start", "end", "startI") and is_pair(what):
        _add(result.fluents, what)
        result.terms.append(what)
    elif term.functor == "happensAt" and not is_edge(what):
        _add(result.events, what)
        result.terms.append(what)


def _declare(result: Vocabulary, pair: Term, where: set[tuple[str, int]]) -> None:
    if is_pair(pair):
        _add(result.fluents, pair)
        result.terms.append(pair)
        where.add(_fluent(pair))


def _add(names: dict[str, set[int]], term: Term) -> None:
    name, arity = _fluent(term) if is_pair(term) else functor(term)
    if name:
        names[name].add(arity)


def _fluent(pair: Term) -> tuple[str, int]:
    return functor(pair.args[0]) if isinstance(pair, Compound) and pair.args else ("", 0)


def read_records(text: str, program: Program) -> Records:
    """Read the lines of a text; empty lines are skipped. Lines count from 1."""
    names = vocabulary(program)
    result = Records()
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        if not names.knows(line.partition("|")[0]):
            result.ignored.append(number)
            continue
        try:
            result.records.append(_read(number, line, names))
        except Unreadable as error:
            result.set_aside.append(SetAside(number, str(error)))
    return result


def _read(number: int, line: str, names: Vocabulary) -> Record:
    fields = [field.strip() for field in line.split("|")]
    probability, fields[0] = _probability(fields[0])
    retraction = fields[0].startswith("-")
    name = fields[0].removeprefix("-")
    if len(fields) < 3:
        raise Unreadable("wrong arity")
    kind = _kind(name, len(fields), names)
    arrival, start = _time(fields[1]), _time(fields[2])
    if kind == "event":
        term: Term = _mentioned(_term(name, fields[3:], names), names)
        return Record(number, kind, arrival, start, term, None, probability, retraction)
    at = 4 if kind == "interval" else 3
    end = None if kind == "point" else math.inf if fields[3] == "inf" else _time(fields[3])
    if end is not None and start >= end:
        raise Unreadable("start not before end")
    fluent = _term(name, fields[at + 1 :], names)
    is_text = (*functor(fluent), 0) in names.texts
    pair = Compound("=", (fluent, _argument(fields[at], is_text)))
    pair = _mentioned(pair, names)
    return Record(number, kind, arrival, start, pair, end, probability, retraction)


def _mentioned(term: Term, names: Vocabulary) -> Term:
    """The term; nested functors are part of the name of a relation that rules speak of."""
    if not any(one_relation(other, term) for other in names.terms):
        raise Unreadable("other arguments")
    return term


def _probability(field: str) -> tuple[float | None, str]:
    text, separator, name = field.partition("::")
    if not separator:
        return None, field
    if not FLOAT.match(text) or not 0 <= float(text) <= 1:
        raise Unreadable("probability outside [0,1]")
    return float(text), name


def _kind(name: str, fields: int, names: Vocabulary) -> str:
    """event, point or interval, by the number of fields and the rules."""
    kinds = list(dict.fromkeys(_kinds(name, fields, names)))
    if len(kinds) == 1:
        return kinds[0]
    if kinds:
        raise Unreadable("ambiguous: could be " + " or ".join(kinds))
    if name in {own for own, _ in names.defined}:
        raise Unreadable("defined by rules")
    raise Unreadable("wrong arity")


def _kinds(name: str, fields: int, names: Vocabulary) -> Iterator[str]:
    if fields - 3 in names.events.get(name, ()):
        yield "event"
    for arity in names.fluents.get(name, ()):
        key = (name, arity)
        if key in names.defined:
            continue
        if fields == 4 + arity and key not in names.on_intervals - names.at_points:
            yield "point"
        if fields == 5 + arity and key not in names.at_points - names.on_intervals:
            yield "interval"


def _time(field: str) -> int:
    if not INTEGER.match(field) or not _fits(int(field)):
        raise Unreadable("bad time")
    return int(field)


def _term(name: str, fields: list[str], names: Vocabulary) -> Term:
    if not fields:
        return Atom(name)
    places = enumerate(fields, start=1)
    texts = ((name, len(fields), place) in names.texts for place, _ in places)
    return Compound(name, tuple(map(_argument, fields, texts)))


def _argument(field: str, is_text: bool) -> Term:
    """The term of a field; one that is declared text stays as it is."""
    term = Atom(field) if is_text else read_field(field)
    for part in walk(term):
        if isinstance(part, Number) and not _fits(part.value):
            raise Unreadable("a number of more than 64 bits")
    return term


def _fits(value: int | float) -> bool:
    return LEAST <= value <= GREATEST if isinstance(value, int) else math.isfinite(value)


def read_field(field: str) -> Term:
    """The term of a field: a number if it reads as one, a compound term if it looks like one.

    Anything else is an atom, whatever is in it.

    >>> read_field("003"), read_field("Far out")
    (Number(value=3), Atom(name='Far out'))
    """
    if INTEGER.match(field):
        return Number(int(field))
    if FLOAT.match(field):
        return Number(float(field))
    if COMPOUND.match(field):
        try:
            term = parse_term(field)
        except ProgramError:
            return Atom(field)
        return term if is_ground(term) else Atom(field)
    return Atom(field)
