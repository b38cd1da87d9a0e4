"""The syntax tree: terms, clauses, directives and event patterns.

Every node is immutable, compares by meaning and not by place, and carries the span of text it
was read from. A span counts characters in the address space of a `Sources`, so one pair of
integers names a place in any of the files of a program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from cernis.source import NOWHERE, Span


def _span() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Variable:
    """`Vessel`, `_Type`, or `_`. Each `_` of the text is a variable of its own, named `_`."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Atom:
    """`far_from_ports`, `'Far from ports'`, `[]`. The name is stored without its quotes."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Number:
    """An integer or a float: `3` and `3.0` are different numbers."""

    value: int | float
    span: Span = _span()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Number)
            and type(self.value) is type(other.value)
            and self.value == other.value
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Text:
    """A double-quoted string."""

    value: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time with its unit: `30min` is `Duration(30, "min")`."""

    amount: int | float
    unit: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class DateTime:
    """A date and time, as it is written: `2026-03-29T03:00Z`, or without a zone."""

    text: str
    span: Span = _span()

    @property
    def has_zone(self) -> bool:
        """Does it say its zone?"""
        return self.text.endswith("Z") or self.text[-6] in "+-"


@dataclass(frozen=True, slots=True)
class Compound:
    r"""`functor(args...)`; operators too: `F=V` is `=` of two, `-X` is `-` of one.

    Conjunction `,` and disjunction `;` are flat: `(a, b, c)` is one `,` of three.
    Negation keeps the author's word: `\+` or `not`.
    """

    functor: str
    args: tuple[Term, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Sequence:
    """`[a, b | Tail]`; the tail is None for a proper list. The empty list is `Atom("[]")`."""

    items: tuple[Term, ...]
    tail: Term | None = None
    span: Span = _span()


Term: TypeAlias = Variable | Atom | Number | Text | Duration | DateTime | Compound | Sequence


@dataclass(frozen=True, slots=True)
class Clause:
    """`head.` or `head :- body.`; the body is the flat list of its conjuncts.

    A probabilistic clause `0.7::head.` carries its probability.
    """

    head: Term
    body: tuple[Term, ...] = ()
    probability: float | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Directive:
    """`:- goal.`"""

    goal: Term
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class EventAtom:
    """A pattern of one event: `wind(Loc, Speed)`, or `start(f(X)=true)`, or `f(X)=true` itself."""

    term: Term
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class TimePoint:
    """A pattern that occurs exactly at one time-point."""

    value: int | float
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Where:
    """`pattern where condition`; the conditions are a flat conjunction."""

    pattern: Pattern
    conditions: tuple[Term, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Within:
    """`pattern within duration`, also written `(pattern).duration`."""

    pattern: Pattern
    duration: Term
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Binary:
    """`left operator right`; operator is one of PATTERN_OPERATORS."""

    operator: str
    left: Pattern
    right: Pattern
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Absence:
    """`not(absent)[first, last]`: first, then last, and no absent in between."""

    absent: Pattern
    first: Pattern
    last: Pattern
    span: Span = _span()


Pattern: TypeAlias = EventAtom | TimePoint | Where | Within | Binary | Absence

PATTERN_OPERATORS = (
    "seq", "and", "par", "or", "equals", "meets", "during", "starts", "finishes",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PatternRule:
    """`head <- pattern.`, also with a name: `label 'rule:' head <- pattern.`"""

    head: Term
    pattern: Pattern
    span: Span = _span()
    label: Term | None = None


Item: TypeAlias = Clause | Directive | PatternRule


def functor(term: Term) -> tuple[str, int]:
    """Name and number of arguments of an atom or compound term; `("", 0)` for anything else.

    >>> functor(Compound("rich", (Variable("X"),)))
    ('rich', 1)
    >>> functor(Variable("X"))
    ('', 0)
    """
    if isinstance(term, Compound):
        return term.functor, len(term.args)
    if isinstance(term, Atom):
        return term.name, 0
    return "", 0


def children(term: Term) -> tuple[Term, ...]:
    """The direct sub-terms."""
    if isinstance(term, Compound):
        return term.args
    if isinstance(term, Sequence):
        return term.items if term.tail is None else (*term.items, term.tail)
    return ()


def walk(term: Term) -> Iterator[Term]:
    """The term and all below it, in reading order."""
    stack = [term]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def is_deeper(item: Item, levels: int) -> bool:
    """Are the terms and patterns of a clause nested more than so many levels deep?"""
    level: list[Term | Pattern] = list(_roots(item))
    for _ in range(levels):
        if not level:
            return False
        level = [part for node in level for part in _parts(node)]
    return bool(level)


def _roots(item: Item) -> tuple[Term | Pattern, ...]:
    if isinstance(item, Clause):
        return (item.head, *item.body)
    return (item.goal,) if isinstance(item, Directive) else (item.head, item.pattern)


def _parts(node: Term | Pattern) -> tuple[Term | Pattern, ...]:
    """What a term or a pattern is made of."""
    if isinstance(node, Where):
        return (node.pattern, *node.conditions)
    if isinstance(node, Within):
        return (node.pattern, node.duration)
    if isinstance(node, Binary):
        return (node.left, node.right)
    if isinstance(node, Absence):
        return (node.absent, node.first, node.last)
    if isinstance(node, EventAtom):
        return (node.term,)
    return () if isinstance(node, TimePoint) else children(node)


def event_atoms(pattern: Pattern) -> Iterator[EventAtom]:
    """The events that a pattern is made of, in any order."""
    stack: list[Term | Pattern] = [pattern]
    while stack:
        node = stack.pop()
        if isinstance(node, EventAtom):
            yield node
        elif isinstance(node, Where | Within | Binary | Absence):
            stack.extend(_parts(node))


def variables(term: Term) -> Iterator[Variable]:
    """Every occurrence of a variable, in reading order, `_` included."""
    return (node for node in walk(term) if isinstance(node, Variable))


def conjuncts(term: Term) -> tuple[Term, ...]:
    """The members of a conjunction; a term that is none is its own only member."""
    if isinstance(term, Compound) and term.functor == "," and len(term.args) > 1:
        return term.args
    return (term,)
