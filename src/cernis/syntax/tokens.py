"""Text to tokens, one clause at a time.

A clause is the unit of recovery: a fault in one is reported and the next is read as if nothing
had happened. It is also the unit of memory: only one clause's tokens exist at any moment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from cernis.errors import Diagnostic, Severity
from cernis.source import Source, Span
from cernis.syntax.slips import meant

NAME: Final = 1
VARIABLE: Final = 2
PUNCTUATION: Final = 3
END: Final = 4
DATE_TIME: Final = 5
DURATION: Final = 6
NUMBER: Final = 7
COMMENT: Final = 8
SYMBOL: Final = 9
QUOTED: Final = 10
STRING: Final = 11
SLIP: Final = 12
FAULT: Final = 13
"""What a token is: the number of its group in the token expression below."""

DURATION_UNITS = {
    "ms": 0.001, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
    "min": 60, "mins": 60, "minute": 60, "minutes": 60,
    "h": 3600, "hour": 3600, "hours": 3600,
    "d": 86400, "day": 86400, "days": 86400,
    "week": 604800, "weeks": 604800,
}  # fmt: skip
"""Seconds in each unit a duration can be written in."""


def ticks_of(amount: float, unit: str, per_second: int = 1) -> float:
    """A duration in time-points of which so many make a second; whole if it can be.

    >>> ticks_of(10, "min"), ticks_of(250, "ms", 1000), ticks_of(250, "ms")
    (600, 250, 0.25)
    """
    if unit == "ms":
        ticks = amount * per_second / 1000
        return int(ticks) if per_second > 1 and ticks == int(ticks) else ticks
    return amount * int(DURATION_UNITS[unit]) * per_second


# A character by its number, closed by a backslash: `\x41\` is `A`.
_CODE = r"\\x[0-9a-fA-F]{1,6}\\?"
_QUOTES = {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00b4": "'", "\u2013": "-"}
"""What word processors write in place of the characters of the language."""
_UNITS = "|".join(sorted(DURATION_UNITS, key=len, reverse=True))

# Operators are listed longest first instead of taking any run of symbol characters, so that
# `X=-1` and `\+\+a` mean what they look like.
_TOKEN = re.compile(
    rf"""\s*+(?:
      ([^\W\d_A-Z]\w*|!(?![=\w])|\[\])
    | ([A-Z_]\w*)
    | ([(),\[\]{{}}]|\|(?!\|))
    | (\.(?=[\s%]|\Z))
    | (\d{{4}}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?(?!\w))
    | (\d+(?:\.\d+)?(?:{_UNITS})\b)
    | (0x[0-9a-fA-F]+|0'(?:{_CODE}|\\[^\n]|''|[^'\\\n])
       |\d+(?:\.\d+)?[eE][+-]?\d+|\d+\.\d+|\d+)
    | (%[^\n]*|/\*.*?\*/)
    | (=\.\.|=:=|=\\=|@=<|@>=|\\==|-->|:-|<-|->|::|==|\\=|\\\+|=<|>=|@<|@>|\*\*|//|/\\|\\/|<<|>>
       |/(?!\*)|<(?!=)|[=>+\-*;:^\\.?]|←)
    | ('(?:[^'\\\n]|''|{_CODE}|\\.)*+')
    | ("(?:[^"\\\n]|""|{_CODE}|\\.)*+")
    | (<=|!=|!|&&|\|\||\#(?=[\s\w\#!-])[^\n]*)
    | (\S)
    | \Z)""",
    re.VERBOSE | re.DOTALL,
)

_LONGEST_CLAUSE = 2_000_000
"""Tokens in one clause beyond which it is set aside: at some 150 bytes a token this is 300 MB."""

MOST_DIAGNOSTICS = 1000
"""Faults of a text after which the rest of it is not read: nobody looks at so many."""

_MOST_FAULTS = 50
"""Unreadable characters reported one by one before the rest of a text is given up."""


@dataclass(slots=True)
class Tokens:
    """The tokens of one clause, in three parallel lists, without the `.` that ends it.

    `ended` says whether there was a `.`; it is None while the clause is being read.
    """

    kinds: list[int] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    end: Span = (0, 0)
    ended: bool | None = None
    faulty: bool = False


class Lexer:
    """Splits a source into clauses of tokens; collects comments and faults on the way."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.comments: list[Span] = []
        self.diagnostics: list[Diagnostic] = []
        self._faults = 0

    def clause(self, position: int) -> tuple[Tokens, int]:
        """The tokens of the clause that begins at a position of the text, and where it ends.

        A clause without tokens is nothing but blanks and comments: the text is at its end.
        """
        tokens = Tokens()
        resume: int | None = position
        while resume is not None and tokens.ended is None:
            position, resume = self._scan(resume, tokens)
        return tokens, position

    def _scan(self, position: int, tokens: Tokens) -> tuple[int, int | None]:
        """Collect tokens; gives where reading stopped, and where to go on if a fault stopped it."""
        text, base = self._source.text, self._source.base
        kinds, values, spans = tokens.kinds, tokens.values, tokens.spans
        for match in _TOKEN.finditer(text, position):
            kind = match.lastindex
            if kind is None:
                break
            start, end = match.span(kind)
            if kind == END:
                tokens.end = (start + base, end + base)
                tokens.ended = True
                return end, None
            if kind == COMMENT:
                self.comments.append((start + base, end + base))
            elif kind == SLIP and (slip := meant(text, start, end)):
                self.diagnostics.append(slip.diagnostic(base))
                if slip.token is not None:
                    kinds.append(PUNCTUATION if slip.token == "," else SYMBOL)
                    values.append(slip.token)
                    spans.append((start + base, end + base))
            elif kind in (SLIP, FAULT):
                tokens.faulty = True
                return start + 1, self._fault(start)
            else:
                value = match[kind]
                kinds.append(VARIABLE if kind == NAME and value[0].isupper() else kind)
                values.append(value)
                spans.append((start + base, end + base))
                if len(kinds) > _LONGEST_CLAUSE:
                    return end, self._too_long(tokens, end)
        tokens.end = (base + len(text), base + len(text))
        tokens.ended = False
        return len(text), None

    def _too_long(self, tokens: Tokens, position: int) -> int:
        """Give the clause up and go on at the next thing that looks like its end."""
        self._report(
            "C010",
            f"a clause of more than {_LONGEST_CLAUSE:,} tokens is too long to read",
            tokens.spans[0],
            "end each clause with a `.`; split a very long list into facts",
        )
        tokens.faulty = True
        for column in (tokens.kinds, tokens.values, tokens.spans):
            column.clear()
        end = re.compile(r"\.(?=[\s%]|\Z)").search(self._source.text, position)
        return end.start() if end else len(self._source.text)

    def _fault(self, start: int) -> int:
        """Report what stands at `start` and say where to go on reading."""
        text, base = self._source.text, self._source.base
        character = text[start]
        if len(self.diagnostics) >= MOST_DIAGNOSTICS:
            return len(text)
        if character in "'\"":
            line_end = text.find("\n", start)
            line_end = len(text) if line_end < 0 else line_end
            self._report(
                "C004",
                f"this {'quoted atom' if character == chr(39) else 'string'} is not closed",
                (start + base, line_end + base),
                f"close it with {character} on the same line; write {character * 2} "
                f"for a {character} inside it",
            )
            # A `.` at the end of the line ends the clause: what follows is another one.
            line = text[start:line_end].rstrip()
            return start + len(line) - 1 if line.endswith(".") else line_end
        if text.startswith("/*", start):
            self._report(
                "C004", "this comment is not closed", (start + base, start + base + 2),
                "close it with */",
            )  # fmt: skip
            return len(text)
        self._faults += 1
        if self._faults > _MOST_FAULTS:
            self._report(
                "C005", "too many unreadable characters; the rest of the file is not read",
                (start + base, start + base + 1), "is this a text file?",
            )  # fmt: skip
            return len(text)
        quote = _QUOTES.get(character)
        self._report(
            "C005",
            f"the character {character!r} (U+{ord(character):04X}) means nothing here",
            (start + base, start + base + 1),
            f"write {quote} in its place"
            if quote
            else "remove it, or quote the atom it belongs to",
        )
        return start + 1

    def _report(self, code: str, message: str, span: Span, help_: str) -> None:
        self.diagnostics.append(Diagnostic(code, Severity.ERROR, message, span, help=help_))
