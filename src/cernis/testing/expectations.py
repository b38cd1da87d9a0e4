"""What a case expects: each line of an `expect` block, read into one expectation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from cernis.check.checker import Checked
from cernis.errors import DataError
from cernis.testing.case_files import CaseFault, CaseLine
from cernis.testing.case_terms import EntityPattern, read_entity
from cernis.testing.case_times import TIME, CaseClock

Span: TypeAlias = tuple[int, int | None]
"""The first point and the first point after; None while open."""


class Claim(StrEnum):
    """What kind of thing a line claims."""

    SPANS = "has these intervals"
    POINTS = "holds or happens at these points"
    NOT_AT = "does not hold or happen at these points"
    THROUGHOUT = "holds throughout"
    NEVER = "never holds or happens"
    COUNT = "is there so often"
    LENGTH = "holds for so long in all"
    CHANGE = "a query reports it"
    NO_CHANGE = "a query reports nothing"
    UNUSED = "so many records are not used"


@dataclass(frozen=True, slots=True)
class Expectation:
    """One line of what is expected.

    `is_exact` says that the intervals or points are all there are. `least` and `most` bound a count
    or a length. `within` is a stretch of time, its end included. `query` is the time of the query
    whose feed is meant, and `verb` what it does.
    """

    line: CaseLine
    claim: Claim
    pattern: EntityPattern | None = None
    spans: tuple[Span, ...] = ()
    points: tuple[int, ...] = ()
    is_exact: bool = False
    least: int = 0
    most: int | None = None
    within: tuple[int, int] | None = None
    query: int | None = None
    verb: str = ""

    def times(self) -> list[int]:
        """The times that it names, up to which a run has to go."""
        named = [*self.points, *(time for span in self.spans for time in span if time is not None)]
        named += [] if self.query is None else [self.query]
        return named + list(self.within or ())


EXPECTATION_HELP: Final = (
    "write a pair or an event and `from T to T`, `after T until T`, `at T`, `throughout T to T` or "
    "`for at least D`; or begin with never, not, exactly, at least N, at most N, or `at T reports`"
)

_UNUSED: Final = re.compile(r"(\d+|no) records? (too late|set aside|ignored)")
_FEED: Final = re.compile(rf"at\s+({TIME})\s+(reports|ends|corrects|withdraws)\s+(.+)")
_COUNT: Final = re.compile(r"(exactly|at least|at most)\s+(\d+)\s+(.+)")
_NOTHING: Final = re.compile(r"nothing(?:\s+of\s+(.+))?")
_WORDS: Final = re.compile(r"(from|after|at|throughout|for|between)\s")
_SPAN: Final = re.compile(rf"(from|after)\s+({TIME})(?:\s+(to|until)\s+({TIME}|inf))?")
_BETWEEN: Final = re.compile(rf"(?:between|from|throughout)\s+({TIME})\s+(?:and|to)\s+({TIME})")
_LASTS: Final = re.compile(r"for\s+(exactly|at least|at most)\s+(\S.*)")


def read_expectation(line: CaseLine, checked: Checked, clock: CaseClock, tick: int) -> Expectation:
    """What a line expects; a CaseFault says what is wrong with it."""
    try:
        return _Lines(line, checked, clock, tick).read()
    except DataError as error:
        if isinstance(error, CaseFault):
            raise
        raise CaseFault(line.number, str(error)) from None


def split_subject(text: str) -> tuple[str, str]:
    """The pair or event that a line is about, and what it says of it.

    >>> split_subject("f('at 3', a)=x from 3 to 4")
    ("f('at 3', a)=x", 'from 3 to 4')
    """
    depth, quote = 0, ""
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif character.isspace() and not depth and _WORDS.match(text, place + 1):
            return text[:place].strip(), text[place + 1 :].strip()
    return text.strip(), ""


@dataclass(frozen=True, slots=True)
class _Lines:
    """Reads one line."""

    line: CaseLine
    checked: Checked
    clock: CaseClock
    tick: int

    def read(self) -> Expectation:
        text = self.line.text
        if unused := _UNUSED.fullmatch(text):
            count = 0 if unused[1] == "no" else int(unused[1])
            return Expectation(self.line, Claim.UNUSED, least=count, most=count, verb=unused[2])
        if feed := _FEED.fullmatch(text):
            return self._change(self.clock.read(feed[1]), feed[2], feed[3])
        if count_words := _COUNT.fullmatch(text):
            return self._count(count_words[1], int(count_words[2]), count_words[3])
        word, _, rest = text.partition(" ")
        if word == "never":
            return self._never(rest.strip())
        if word in ("not", "exactly"):
            return self._plain(rest.strip(), word)
        return self._plain(text, "")

    def _plain(self, text: str, word: str) -> Expectation:
        subject, rest = split_subject(text)
        pattern = read_entity(subject, self.checked)
        if lasts := _LASTS.fullmatch(rest):
            ticks = self.clock.ticks(lasts[2])
            return Expectation(
                self.line, Claim.LENGTH, pattern,
                least=0 if lasts[1] == "at most" else ticks,
                most=None if lasts[1] == "at least" else ticks,
            )  # fmt: skip
        if rest.startswith("at "):
            claim = Claim.NOT_AT if word == "not" else Claim.POINTS
            points = tuple(self._points(rest[3:]))
            return Expectation(self.line, claim, pattern, points=points, is_exact=word == "exactly")
        if rest.startswith("throughout") and (between := _BETWEEN.fullmatch(rest)):
            return Expectation(self.line, Claim.THROUGHOUT, pattern, within=self._within(between))
        if word == "not" or not rest:
            raise self._unclear("it does not say when" if word != "not" else "`not` needs `at T`")
        return Expectation(
            self.line, Claim.SPANS, pattern, tuple(self._spans(rest, pattern)),
            is_exact=word == "exactly",
        )  # fmt: skip

    def _never(self, text: str) -> Expectation:
        subject, rest = split_subject(text)
        pattern = read_entity(subject, self.checked)
        if not rest:
            return Expectation(self.line, Claim.NEVER, pattern)
        between = _BETWEEN.fullmatch(rest)
        if between is None:
            raise self._unclear("`never` may be followed by `between T and T`")
        return Expectation(self.line, Claim.NEVER, pattern, within=self._within(between))

    def _count(self, word: str, number: int, text: str) -> Expectation:
        subject, rest = split_subject(text)
        pattern = read_entity(subject, self.checked)
        between = _BETWEEN.fullmatch(rest) if rest else None
        if rest and between is None:
            raise self._unclear("a count may be followed by `between T and T`")
        return Expectation(
            self.line, Claim.COUNT, pattern,
            least=0 if word == "at most" else number,
            most=None if word == "at least" else number,
            within=self._within(between) if between else None,
        )  # fmt: skip

    def _change(self, query: int, verb: str, text: str) -> Expectation:
        if verb == "reports" and (nothing := _NOTHING.fullmatch(text)):
            pattern = read_entity(nothing[1], self.checked) if nothing[1] else None
            return Expectation(self.line, Claim.NO_CHANGE, pattern, query=query, verb=verb)
        subject, rest = split_subject(text)
        pattern = read_entity(subject, self.checked)
        spans: tuple[Span, ...] = ()
        points: tuple[int, ...] = ()
        if rest.startswith("at "):
            points = tuple(self._points(rest[3:]))
        elif rest:
            spans = tuple(self._spans(rest, pattern))
        if pattern.is_event and verb in ("ends", "corrects"):
            raise self._unclear(f"an event is reported or withdrawn; only intervals {verb[:-1]}")
        return Expectation(self.line, Claim.CHANGE, pattern, spans, points, query=query, verb=verb)

    def _points(self, text: str) -> list[int]:
        return [self.clock.read(part) for part in re.split(r"\s*,\s*|\s+and\s+", text.strip())]

    def _within(self, between: re.Match[str]) -> tuple[int, int]:
        first, last = self.clock.read(between[1]), self.clock.read(between[2])
        if last < first:
            raise self._unclear("the stretch of time ends before it begins")
        return first, last

    def _spans(self, text: str, pattern: EntityPattern) -> list[Span]:
        spans = []
        for part in re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", text.strip()):
            parts = _SPAN.fullmatch(part)
            if parts is None:
                raise self._unclear(f"{part!r} is no interval")
            spans.append(self._span(parts, pattern))
        return spans

    def _span(self, parts: re.Match[str], pattern: EntityPattern) -> Span:
        """An interval: `from` its first point `to` the first point that is no longer in it.

        `after` and `until` are the points that begin and end it.
        """
        is_after = parts[1] == "after"
        if parts[3] is not None and (parts[3] == "until") is not is_after:
            raise self._unclear("write `from T to T`, or `after T until T`")
        shift = self.tick if is_after else 0
        start = self.clock.read(parts[2]) + shift
        is_open = parts[4] in (None, "inf")
        if is_open and pattern.is_event:
            raise self._unclear("an event happens `at T`; that of a pattern also `from T to T`")
        end = None if is_open else self.clock.read(parts[4]) + shift
        if end is not None and end < start + (not pattern.is_event):
            raise self._unclear("the interval ends before it begins")
        return start, end

    def _unclear(self, reason: str) -> CaseFault:
        return CaseFault(
            self.line.number, f"{self.line.text!r} cannot be read: {reason}; {EXPECTATION_HELP}"
        )
