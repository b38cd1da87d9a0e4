"""Deadlines, durations and absence in words, written out in the core language.

| phrase | what it becomes |
| --- | --- |
| `F=V for at least D` | a fluent that counts from each start of F=V, and is reached D later |
| `no E within D after A` | a fluent for each A that is due D later, and the time of the last E |
| `F=V expires after D [unless renewed]` | `ft(F=V, D)` and, if renewals count, `p(F=V)` |

Each phrase gets fluents and events of its own, named after it and shared by all rules that say
the same; they are no part of a program's results. All later passes see the core language only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cernis.check.model import Relation
from cernis.check.reporter import Report
from cernis.check.rewrites.phrase_literals import Rewriting, is_pair
from cernis.check.rewrites.rewriting import pattern_terms
from cernis.check.rewrites.timers import Timers
from cernis.syntax.formatter import format_text
from cernis.syntax.phrase_parser import (
    AT_LEAST,
    EXPIRES,
    EXPIRES_UNLESS,
    HOLDS_AT_LEAST,
    NO_WITHIN,
    is_phrase,
)
from cernis.syntax.printer import show
from cernis.syntax.tree import (
    Clause,
    Compound,
    Item,
    PatternRule,
    Sequence,
    Term,
    functor,
    walk,
)

_HELP = {
    AT_LEAST: "write happensAt(F=V for at least D, T), holdsAt(F=V for at least D, T) or "
              "holdsFor(F=V for at least D, I), or put it after iff",
    NO_WITHIN: "write happensAt(no E within D after A, T)",
    EXPIRES: "write F=V expires after D as a clause of its own",
}  # fmt: skip
_EXPIRIES = ((EXPIRES, 2), (EXPIRES_UNLESS, 2))
_HELP[HOLDS_AT_LEAST] = _HELP[AT_LEAST]
_HELP[EXPIRES_UNLESS] = _HELP[EXPIRES]


@dataclass(frozen=True, slots=True)
class Expanded:
    """The clauses of a program in the core language, and what they define for themselves only."""

    items: tuple[Item, ...]
    auxiliary: frozenset[Relation] = frozenset()


def expand_phrases(items: Iterable[Item], report: Report) -> Expanded:
    """Write out all phrases; one that stands where it has no meaning is reported and left out."""
    clauses = tuple(items)
    if not any(map(has_phrase, clauses)):
        return Expanded(clauses)
    expander = _Expander(clauses, report)
    expanded = [new for item in clauses for new in expander.item(item)]
    return Expanded(tuple(expanded), frozenset(expander.timers.auxiliary))


def expanded_text(items: Iterable[Item]) -> str:
    """The program in the core language, laid out; what was a phrase stands above as a comment.

    Phrases that have no meaning where they stand are left out, with their clauses.
    """
    clauses = tuple(items)
    expander = _Expander(clauses, Report())
    lines: list[str] = []
    for item in clauses:
        if has_phrase(item):
            lines += ["", f"% {show(item)}"]
            lines += [show(new) for new in expander.item(item)]
            lines += [""]
        else:
            lines.append(show(item))
    return format_text("\n".join(lines))


def has_phrase(item: Item) -> bool:
    """Does a phrase stand anywhere in the item?"""
    return any(is_phrase(node) for term in _terms(item) for node in walk(term))


def _terms(item: Item) -> Iterator[Term]:
    if isinstance(item, Clause):
        # Facts are many, and their arguments are mostly plain.
        if item.body or is_phrase(item.head) or _is_nested(item.head):
            yield item.head
            yield from item.body
    elif isinstance(item, PatternRule):
        yield item.head
        yield from pattern_terms(item.pattern)


def _is_nested(head: Term) -> bool:
    return isinstance(head, Compound) and any(
        isinstance(arg, (Compound, Sequence)) for arg in head.args
    )


@dataclass(slots=True)
class _Expander:
    """Writes out the items of one program."""

    items: tuple[Item, ...]
    report: Report
    timers: Timers = field(init=False)

    def __post_init__(self) -> None:
        self.timers = Timers(self.items)

    def item(self, item: Item) -> Iterator[Item]:
        """What the item stands for, and after it the definitions it is the first to need."""
        if not has_phrase(item):
            yield item
        elif isinstance(item, Clause) and functor(item.head) in _EXPIRIES:
            yield from self._expiry(item)
        elif isinstance(item, Clause):
            rewriting = Rewriting(item, self.timers, self.report)
            clause = rewriting.clause()
            if not self._misplaced((clause.head, *clause.body)) and rewriting.is_sound:
                yield clause
            for definition in self.timers.take():
                yield from self.item(definition)
        else:
            self._misplaced(_terms(item))

    def _expiry(self, clause: Clause) -> Iterator[Item]:
        """`F=V expires after D :- goals`, with or without `unless renewed`."""
        assert isinstance(clause.head, Compound)
        pair, duration = clause.head.args
        if self._misplaced((pair, duration, *clause.body)) or not is_pair(pair, self.report):
            return
        span = clause.head.span
        yield Clause(Compound("ft", (pair, duration), span), clause.body, None, clause.span)
        if clause.head.functor == EXPIRES_UNLESS:
            yield Clause(Compound("p", (pair,), span), clause.body, None, clause.span)

    def _misplaced(self, terms: Iterable[Term]) -> bool:
        """Report the phrases that have no meaning where they stand; are there any?"""
        phrases = [node for term in terms for node in walk(term) if is_phrase(node)]
        for phrase in phrases:
            assert isinstance(phrase, Compound)
            self.report.error("C067", f"`{show(phrase)}` has no meaning here", phrase.span,
                              help=_HELP[phrase.functor])  # fmt: skip
        return bool(phrases)
