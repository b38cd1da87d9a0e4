"""Event patterns: what stands after `<-`.

Operators are left-associative; the grammar of the file says how tight each binds. In cernis's own
all have one rank, so `where` and `within` close over all that stands to their left, up to the
enclosing parenthesis. Keywords are read in either case.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cernis.errors import Diagnostic, Severity
from cernis.source import Span
from cernis.syntax.faults import Unexpected
from cernis.syntax.tokens import DURATION_UNITS, NAME, NUMBER, PUNCTUATION, QUOTED
from cernis.syntax.tree import (
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
    from cernis.syntax.clause_parser import ClauseParser

_HIGHEST_ATOM = 700
_HIGHEST_CONDITION = 1000


def pattern_rule(
    parser: ClauseParser, head: Term, start: int, label: Term | None
) -> PatternRule:  # fmt: skip
    """The rule whose head has been read, from after its arrow to its `.`."""
    parser.words_are_infix = False
    body = _whole(parser)
    if parser.values[parser.position] == "," and parser.kinds[parser.position] == PUNCTUATION:
        raise _comma(parser)
    parser.expect_end()
    return PatternRule(head, body, (start, parser.spans[-1][1]), label)


def _comma(parser: ClauseParser) -> Unexpected:
    return Unexpected(
        Diagnostic(
            "C001", Severity.ERROR, "a pattern has no `,`", parser.spans[parser.position],
            help="join patterns with seq, and, par, or ...; rules with conditions use `:-`",
        )
    )  # fmt: skip


def _keyword(parser: ClauseParser) -> str:
    """The keyword that stands here, in lower case, or nothing."""
    word = parser.grammar.word(parser.kinds[parser.position], parser.values[parser.position])
    return word if word == "not" or word in parser.grammar.ranks else ""


def pattern(parser: ClauseParser, limit: int) -> Pattern:
    """The pattern that begins here, as far as its operators have at most the given rank."""
    depth = parser.depth
    start = parser.spans[parser.position][0]
    left, left_rank = _primary(parser), 0
    ranks = parser.grammar.ranks
    while True:
        # Each round nests the pattern one level deeper to the left.
        parser.enter()
        word = _keyword(parser)
        rank = ranks.get(word, limit + 1)
        if rank > limit:
            parser.depth = depth
            return left
        if rank < left_rank:
            raise _looser(parser, word)
        parser.position += 1
        left, left_rank = _operation(parser, word, left, start, rank), rank


def _operation(
    parser: ClauseParser, word: str, left: Pattern, start: int, rank: int
) -> Pattern:  # fmt: skip
    """What a word makes of the pattern before it and of what stands after the word."""
    further = parser.grammar.further.get(word)
    if further is not None:
        return further(parser, left, start, rank)
    if word == "where":
        goals = conditions(parser)
        return Where(left, goals, (start, parser.spans[parser.position - 1][1]))
    if word == "within":
        duration = _duration(parser)
        return Within(left, duration, (start, parser.spans[parser.position - 1][1]))
    right = pattern(parser, rank - 1)
    return Binary(word, left, right, (start, parser.spans[parser.position - 1][1]))


def _looser(parser: ClauseParser, word: str) -> Unexpected:
    """What stands before the word binds looser than the word, so the two cannot be joined."""
    return Unexpected(
        Diagnostic(
            "C001", Severity.ERROR, f"`{word}` binds tighter than what stands before it",
            parser.spans[parser.position],
            help="put brackets around the part that belongs together",
        )
    )  # fmt: skip


def _primary(parser: ClauseParser) -> Pattern:
    position = parser.position
    span = parser.spans[position]
    is_quoted = parser.kinds[position] == QUOTED
    if _keyword(parser) == "not" and not is_quoted:
        return _absence(parser)
    if parser.values[position] == "(" and parser.kinds[position] == PUNCTUATION:
        return _parenthesis(parser)
    if parser.kinds[position] == NUMBER:
        number = parser.expression(0)
        assert isinstance(number, Number)
        return TimePoint(number.value, number.span)
    if _keyword(parser) and not is_quoted:
        raise parser.unexpected("an event pattern")
    term = parser.expression(_HIGHEST_ATOM)
    return EventAtom(term, (span[0], parser.spans[parser.position - 1][1]))


def _parenthesis(parser: ClauseParser) -> Pattern:
    opening = parser.position
    parser.position += 1
    parser.enter(3)
    inner = _whole(parser)
    parser.depth -= 3
    _close(parser, ")", opening)
    if parser.values[parser.position] != ".":
        return inner
    parser.position += 1
    duration = _duration(parser)
    return Within(inner, duration, (parser.spans[opening][0], parser.spans[parser.position - 1][1]))


def _absence(parser: ClauseParser) -> Pattern:
    """`not(P1)[P2, P3]`, also with a dot before the square bracket."""
    start = parser.spans[parser.position][0]
    parser.position += 1
    opening = parser.position
    if parser.values[opening] != "(":
        raise parser.unexpected("`(` after `not`, as in not(c)[a, b],")
    parser.position += 1
    parser.enter(3)
    absent = _whole(parser)
    _close(parser, ")", opening)
    if parser.values[parser.position] == ".":
        parser.position += 1
    opening = parser.position
    if parser.values[opening] != "[":
        raise parser.unexpected("`[` and the two patterns between which nothing may happen,")
    parser.position += 1
    first = _whole(parser)
    _close(parser, ",", opening)
    last = _whole(parser)
    parser.depth -= 3
    _close(parser, "]", opening)
    return Absence(absent, first, last, (start, parser.spans[parser.position - 1][1]))


def _whole(parser: ClauseParser) -> Pattern:
    """The pattern that begins here, up to a bracket, a comma or the end."""
    return pattern(parser, parser.grammar.loosest)


def _close(parser: ClauseParser, closing: str, opening: int) -> None:
    if parser.values[parser.position] != closing or parser.kinds[parser.position] != PUNCTUATION:
        raise parser.unclosed(closing, parser.spans[opening])
    parser.position += 1


def conditions(parser: ClauseParser) -> tuple[Term, ...]:
    """What stands after `where`: a conjunction, in parentheses, in braces or bare."""
    if parser.values[parser.position] == "{" and parser.kinds[parser.position] == PUNCTUATION:
        braces = parser.expression(0)
        return conjuncts(braces.args[0])  # type: ignore[union-attr]
    return conjuncts(parser.expression(_HIGHEST_CONDITION))


def _duration(parser: ClauseParser) -> Term:
    """A number, a number with a unit (attached or not), a variable or a sum of these."""
    term = parser.expression(_HIGHEST_ATOM - 1)
    unit = parser.values[parser.position]
    if (
        isinstance(term, Number)
        and parser.kinds[parser.position] == NAME
        and unit in DURATION_UNITS
    ):
        parser.position += 1
        whole = (term.span[0], parser.spans[parser.position - 1][1])
        if not 0 <= term.value < math.inf:
            raise _no_duration(whole)
        return Duration(term.value, unit, whole)
    return term


def _no_duration(span: Span) -> Unexpected:
    return Unexpected(
        Diagnostic(
            "C001", Severity.ERROR, "a duration is neither negative nor infinite", span,
            help="write a number from 0 on, as in within 30 min",
        )
    )  # fmt: skip
