"""Phrases: terms that read as words, for deadlines, durations and absence.

    F=V for at least D              also: holds F=V for at least D
    no E within D after A
    F=V expires after D             also: F=V expires after D unless renewed

A phrase is a compound term whose functor is its words, so passes treat it like any other term.
Its words are names elsewhere: only where no other term could go on do they make a phrase.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from cernis.source import Span
from cernis.syntax.operators import INFIX
from cernis.syntax.tokens import NAME, QUOTED
from cernis.syntax.tree import Compound, Term

if TYPE_CHECKING:
    from cernis.syntax.clause_parser import ClauseParser

PHRASE: Final = 710
"""The priority of phrases: looser than `F=V`, tighter than negation."""

AT_LEAST: Final = "for at least"
HOLDS_AT_LEAST: Final = "holds for at least"
NO_WITHIN: Final = "no within after"
EXPIRES: Final = "expires after"
EXPIRES_UNLESS: Final = "expires after unless renewed"

PHRASES: Final[dict[str, str]] = {
    AT_LEAST: "{} for at least {}",
    HOLDS_AT_LEAST: "holds {} for at least {}",
    NO_WITHIN: "no {} within {} after {}",
    EXPIRES: "{} expires after {}",
    EXPIRES_UNLESS: "{} expires after {} unless renewed",
}
"""Each phrase by its functor: its text, with a gap for each argument."""

_BETWEEN: Final = ("for", "expires", "within", "after", "unless")
_PAIR, _PART = 700, 699


def gaps(functor: str) -> tuple[int, ...]:
    """The most each argument of a phrase may bind by, to stand in it without parentheses."""
    return (_PART, _PART, _PART) if functor == NO_WITHIN else (_PAIR, _PART)


def is_phrase(term: Term) -> bool:
    """Is the term itself, not a part of it, a phrase?"""
    return (
        isinstance(term, Compound)
        and term.functor in PHRASES
        and len(term.args) == PHRASES[term.functor].count("{}")
    )


def continues_phrase(text: str) -> bool:
    """Would the text of a term, after `no` or `holds`, go on with the phrase?"""
    if text[0] == "'":
        return True
    word = re.match(r"\w*", text)[0]  # type: ignore[index]
    return text[0].islower() and word not in INFIX and word not in _BETWEEN


def begins_phrase(parser: ClauseParser, position: int) -> bool:
    """Does `no` or `holds` begin a phrase here, and is not a name?"""
    if parser.values[position] not in ("no", "holds") or not parser.words_are_infix:
        return False
    follow = parser.values[position + 1]
    if parser.kinds[position + 1] == QUOTED:
        return True
    return parser.kinds[position + 1] == NAME and follow not in INFIX and follow not in _BETWEEN


def goes_on(parser: ClauseParser) -> bool:
    """Does a phrase go on here whose first part has been read?"""
    position = parser.position
    return parser.kinds[position] == NAME and parser.values[position] in ("for", "expires")


def phrase(parser: ClauseParser) -> Term:
    """The phrase that begins here, with `no` or `holds`."""
    start = parser.spans[parser.position][0]
    word = parser.values[parser.position]
    parser.position += 1
    if word == "holds":
        pair = parser.expression(_PAIR)
        _words(parser, "for at least", "holds F=V for at least D")
        return Compound(HOLDS_AT_LEAST, (pair, parser.expression(_PART)), _span(parser, start))
    absent = parser.expression(_PART)
    _words(parser, "within", "no E within D after A")
    duration = parser.expression(_PART)
    _words(parser, "after", "no E within D after A")
    first = parser.expression(_PART)
    return Compound(NO_WITHIN, (absent, duration, first), _span(parser, start))


def continued(parser: ClauseParser, pair: Term, start: int) -> Term:
    """The phrase whose first part has been read, from its next word on."""
    if parser.values[parser.position] == "for":
        _words(parser, "for at least", "F=V for at least D")
        return Compound(AT_LEAST, (pair, parser.expression(_PART)), _span(parser, start))
    _words(parser, "expires after", "F=V expires after D")
    duration = parser.expression(_PART)
    functor = EXPIRES
    if parser.values[parser.position] == "unless" and parser.kinds[parser.position] == NAME:
        _words(parser, "unless renewed", "F=V expires after D unless renewed")
        functor = EXPIRES_UNLESS
    return Compound(functor, (pair, duration), _span(parser, start))


def _span(parser: ClauseParser, start: int) -> Span:
    return (start, parser.spans[parser.position - 1][1])


def _words(parser: ClauseParser, words: str, form: str) -> None:
    """Pass over the words, which must stand here."""
    for word in words.split():
        if parser.values[parser.position] != word or parser.kinds[parser.position] != NAME:
            raise parser.unexpected(f"`{word}`", f"the phrase is `{form}`")
        parser.position += 1
