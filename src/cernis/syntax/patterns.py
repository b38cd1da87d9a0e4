"""Event patterns: what stands behind `<-`.

Operators are left-associative and of one rank; `where` and `within` close over all that stands
to their left, up to the enclosing parenthesis. Keywords are read in either case.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cernis.errors import Diagnostic, Severity
from cernis.source import Span
from cernis.syntax.tokens import DURATION_UNITS, NAME, NUMBER, PUNCTUATION, VARIABLE
from cernis.syntax.tree import (
    PATTERN_OPERATORS,
    Absence,
    Binary,
    Duration,
    EventAtom,
    Number,
    Pattern,
    PatternRule,
    Term,
    TimePoint,
    Where,
    Within,
    conjuncts,
)

if TYPE_CHECKING:
    from cernis.syntax.parser import ClauseParser, Unexpected

_KEYWORDS = frozenset({*PATTERN_OPERATORS, "where", "within", "not"})
_HIGHEST_ATOM = 700
_HIGHEST_CONDITION = 1000


def pattern_rule(parser: ClauseParser, head: Term, start: int) -> PatternRule:
    """The rule whose head has been read, from behind its arrow to its `.`."""
    parser.words_are_infix = False
    pattern = _pattern(parser)
    if parser.values[parser.at] == "," and parser.kinds[parser.at] == PUNCTUATION:
        raise _comma(parser)
    parser.expect_end()
    return PatternRule(head, pattern, (start, parser.spans[-1][1]))


def _comma(parser: ClauseParser) -> Unexpected:
    from cernis.syntax.parser import Unexpected

    return Unexpected(
        Diagnostic(
            "C001", Severity.ERROR, "a pattern has no `,`", parser.spans[parser.at],
            help="join patterns with seq, and, par, or ...; rules with conditions use `:-`",
        )
    )  # fmt: skip


def _keyword(parser: ClauseParser) -> str:
    """The keyword that stands here, in lower case, or nothing."""
    kind, value = parser.kinds[parser.at], parser.values[parser.at]
    if kind == NAME and value in _KEYWORDS:
        return value
    if kind == VARIABLE and value.isupper() and value.lower() in _KEYWORDS:
        return value.lower()
    return ""


def _pattern(parser: ClauseParser) -> Pattern:
    depth = parser.depth
    start = parser.spans[parser.at][0]
    left = _primary(parser)
    while True:
        # Each round nests the pattern one level deeper to the left.
        parser.enter()
        word = _keyword(parser)
        if word in PATTERN_OPERATORS:
            parser.at += 1
            right = _primary(parser)
            left = Binary(word, left, right, (start, parser.spans[parser.at - 1][1]))
        elif word == "where":
            parser.at += 1
            conditions = _conditions(parser)
            left = Where(left, conditions, (start, parser.spans[parser.at - 1][1]))
        elif word == "within":
            parser.at += 1
            duration = _duration(parser)
            left = Within(left, duration, (start, parser.spans[parser.at - 1][1]))
        else:
            parser.depth = depth
            return left


def _primary(parser: ClauseParser) -> Pattern:
    at = parser.at
    span = parser.spans[at]
    if _keyword(parser) == "not":
        return _absence(parser)
    if parser.values[at] == "(" and parser.kinds[at] == PUNCTUATION:
        return _parenthesis(parser)
    if parser.kinds[at] == NUMBER:
        number = parser.expression(0)
        assert isinstance(number, Number)
        return TimePoint(number.value, number.span)
    if _keyword(parser):
        raise parser.unexpected("an event pattern")
    term = parser.expression(_HIGHEST_ATOM)
    return EventAtom(term, (span[0], parser.spans[parser.at - 1][1]))


def _parenthesis(parser: ClauseParser) -> Pattern:
    opening = parser.at
    parser.at += 1
    parser.enter(3)
    inner = _pattern(parser)
    parser.depth -= 3
    _close(parser, ")", opening)
    if parser.values[parser.at] != ".":
        return inner
    parser.at += 1
    duration = _duration(parser)
    return Within(inner, duration, (parser.spans[opening][0], parser.spans[parser.at - 1][1]))


def _absence(parser: ClauseParser) -> Pattern:
    """`not(P1)[P2, P3]`, also with a dot before the square bracket."""
    start = parser.spans[parser.at][0]
    parser.at += 1
    opening = parser.at
    if parser.values[opening] != "(":
        raise parser.unexpected("`(` after `not`, as in not(c)[a, b],")
    parser.at += 1
    parser.enter(3)
    absent = _pattern(parser)
    _close(parser, ")", opening)
    if parser.values[parser.at] == ".":
        parser.at += 1
    opening = parser.at
    if parser.values[opening] != "[":
        raise parser.unexpected("`[` and the two patterns between which nothing may happen,")
    parser.at += 1
    first = _pattern(parser)
    _close(parser, ",", opening)
    last = _pattern(parser)
    parser.depth -= 3
    _close(parser, "]", opening)
    return Absence(absent, first, last, (start, parser.spans[parser.at - 1][1]))


def _close(parser: ClauseParser, closing: str, opening: int) -> None:
    if parser.values[parser.at] != closing or parser.kinds[parser.at] != PUNCTUATION:
        raise parser.unclosed(closing, parser.spans[opening])
    parser.at += 1


def _conditions(parser: ClauseParser) -> tuple[Term, ...]:
    """What stands behind `where`: a conjunction, in parentheses, in braces or bare."""
    if parser.values[parser.at] == "{" and parser.kinds[parser.at] == PUNCTUATION:
        braces = parser.expression(0)
        return conjuncts(braces.args[0])  # type: ignore[union-attr]
    return conjuncts(parser.expression(_HIGHEST_CONDITION))


def _duration(parser: ClauseParser) -> Term:
    """A number, a number with a unit (attached or not), a variable or a sum of these."""
    term = parser.expression(_HIGHEST_ATOM - 1)
    unit = parser.values[parser.at]
    if isinstance(term, Number) and parser.kinds[parser.at] == NAME and unit in DURATION_UNITS:
        parser.at += 1
        whole = (term.span[0], parser.spans[parser.at - 1][1])
        if not 0 <= term.value < math.inf:
            raise _no_duration(whole)
        return Duration(term.value, unit, whole)
    return term


def _no_duration(span: Span) -> Unexpected:
    from cernis.syntax.parser import Unexpected

    return Unexpected(
        Diagnostic(
            "C001", Severity.ERROR, "a duration is neither negative nor infinite", span,
            help="write a number from 0 on, as in within 30 min",
        )
    )  # fmt: skip
