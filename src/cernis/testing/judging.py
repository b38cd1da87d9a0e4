"""Judges a case: which expectations are not met, what was there instead, and what to explain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from cernis.check.model import Relation
from cernis.testing.case_answers import AnswerRow, CaseChange, HappenedRow, HeldRow
from cernis.testing.case_files import CaseBlock
from cernis.testing.case_runs import CaseEvidence, PreparedCase
from cernis.testing.case_terms import EntityPattern, entity_shown
from cernis.testing.case_times import CaseClock, TimeStyle
from cernis.testing.expectations import Claim, Expectation, Span

_COUNTED: Final = re.compile(r"(exactly|at least|at most)\s+\d+")
_LASTING: Final = re.compile(r"for\s+(exactly|at least|at most)\s+.*")


@dataclass(frozen=True, slots=True)
class Miss:
    """An expectation that is not met.

    `question` is a pair or an event and a time-point, of which the explanation helps; `as_of` is
    the query up to which it is asked. `instead` has the lines that would be met.
    """

    line: int
    expected: str
    was: tuple[str, ...]
    expectation: Expectation | None = None
    question: tuple[str, int] | None = None
    as_of: int | None = None
    instead: tuple[str, ...] = ()


@dataclass(slots=True)
class Judge:
    """Compares what came of a case with what it expects."""

    prepared: PreparedCase
    evidence: CaseEvidence
    shown: RowTexts = field(init=False)

    def __post_init__(self) -> None:
        self.shown = RowTexts(self.prepared.clock, self.prepared.tick)

    def misses(self) -> list[Miss]:
        """All that is not as expected, in the order of the file."""
        misses = [
            miss
            for block, expectations in self.prepared.expectations
            for miss in self._of_block(block, expectations)
        ]
        misses += self._whole_answer()
        return [*misses, *self._disagreement()]

    def _of_block(self, block: CaseBlock, expectations: list[Expectation]) -> Iterator[Miss]:
        covered: set[AnswerRow] = set()
        named: set[Relation] = set()
        for expectation in expectations:
            miss = self._judge(expectation)
            if miss is not None:
                yield miss
            if expectation.pattern is not None and expectation.query is None:
                named.add(expectation.pattern.relation)
                covered |= set(self._rows(expectation.pattern))
        if block.is_exact:
            yield from self._uncovered(block, named, covered)

    def _uncovered(
        self, block: CaseBlock, named: set[Relation], covered: set[AnswerRow]
    ) -> Iterator[Miss]:
        """What an exact block does not name of the fluents and events that it is about."""
        answer = self.evidence.answer
        for relation in sorted(named):
            rows: list[AnswerRow] = [*answer.held[relation], *answer.happened[relation]]
            more = sorted(set(rows) - covered, key=str)
            if more:
                texts = tuple(self.shown.row(row) for row in more)
                yield Miss(
                    block.line, f"nothing else of {relation}", texts,
                    question=self._question_of(more[0]), instead=tuple(self.shown.joined(more)),
                )  # fmt: skip

    def _rows(self, pattern: EntityPattern) -> list[AnswerRow]:
        answer = self.evidence.answer
        if pattern.is_event:
            return [*answer.happened_to(pattern)]
        return [*answer.held_by(pattern)]

    def _judge(self, expectation: Expectation) -> Miss | None:
        judges = {
            Claim.SPANS: self._spans, Claim.POINTS: self._points, Claim.NOT_AT: self._not_at,
            Claim.THROUGHOUT: self._throughout, Claim.NEVER: self._count,
            Claim.COUNT: self._count, Claim.LENGTH: self._length, Claim.CHANGE: self._change,
            Claim.NO_CHANGE: self._no_change, Claim.UNUSED: self._unused,
        }  # fmt: skip
        return judges[expectation.claim](expectation)

    # -- the answer ----------------------------------------------------------------------------

    def _spans(self, claim: Expectation) -> Miss | None:
        rows = self._rows(_pattern(claim))
        spans = [_span_of(row) for row in rows]
        missing = [span for span in claim.spans if span not in spans]
        more = [span for span in spans if span not in claim.spans]
        # What a line says of one pair is said of all its intervals.
        is_whole = claim.is_exact or _pattern(claim).is_ground
        if not missing and not (more and is_whole):
            return None
        point = self._differing(claim.spans, [s for s in spans if s is not None])
        return self._miss(claim, rows, point)

    def _differing(self, wanted: tuple[Span, ...], spans: list[Span]) -> int:
        """The first point that is in the expected intervals or in those that are there only."""
        edges = {time for span in (*wanted, *spans) for time in span if time is not None}
        for point in sorted(edges):
            if _covers(wanted, point) != _covers(spans, point):
                return min(point, self.evidence.end)
        return self.evidence.end

    def _points(self, claim: Expectation) -> Miss | None:
        rows = self._rows(_pattern(claim))
        missing = [p for p in claim.points if not any(_is_at(row, p) for row in rows)]
        times = [row.time for row in rows if isinstance(row, HappenedRow)]
        more = [time for time in times if time not in claim.points] if claim.is_exact else []
        if not missing and not more:
            return None
        return self._miss(claim, rows, (missing or more)[0])

    def _not_at(self, claim: Expectation) -> Miss | None:
        rows = self._rows(_pattern(claim))
        points = [p for p in claim.points if any(_is_at(row, p) for row in rows)]
        if not points:
            return None
        there = [row for row in rows if _is_at(row, points[0])]
        return self._miss(claim, there, points[0], there[0])

    def _throughout(self, claim: Expectation) -> Miss | None:
        assert claim.within is not None
        first, last = claim.within
        rows = self._rows(_pattern(claim))
        spans = [_span_of(row) for row in rows]
        if any(_covers([s], first) and _covers([s], last) for s in spans if s is not None):
            return None
        point = next((p for p in (first, last) if not _covers([s for s in spans if s], p)), first)
        if _covers([s for s in spans if s], point):
            ends = [s[1] for s in spans if s is not None and s[1] is not None and s[1] > first]
            point = min(ends, default=first)
        return self._miss(claim, rows, point)

    def _count(self, claim: Expectation) -> Miss | None:
        rows = [row for row in self._rows(_pattern(claim)) if _is_within(row, claim.within)]
        most = 0 if claim.claim is Claim.NEVER else claim.most
        if claim.least <= len(rows) and (most is None or len(rows) <= most):
            return None
        return self._miss(claim, rows, None, rows[0] if rows else None)

    def _length(self, claim: Expectation) -> Miss | None:
        rows = [row for row in self._rows(_pattern(claim)) if isinstance(row, HeldRow)]
        tick = self.prepared.tick
        ends = [self.evidence.end + tick if row.span[1] is None else row.span[1] for row in rows]
        ticks = sum(end - row.span[0] for row, end in zip(rows, ends, strict=True))
        if claim.least <= ticks and (claim.most is None or ticks <= claim.most):
            return None
        miss = self._miss(claim, rows, None, rows[-1] if rows else None)
        is_number = self.prepared.clock.style is TimeStyle.NUMBER
        total = str(ticks) if is_number else self.prepared.clock.length_text(ticks)
        instead = _LASTING.sub(f"for exactly {total}", claim.line.text)
        return Miss(
            miss.line, miss.expected, (f"{total} in all", *miss.was), claim, miss.question,
            instead=(instead,),
        )  # fmt: skip

    def _unused(self, claim: Expectation) -> Miss | None:
        number = self.evidence.unused[claim.verb]
        if number == claim.least:
            return None
        word = "record" if number == 1 else "records"
        text = f"{number} {word} {claim.verb}"
        return Miss(claim.line.number, claim.line.text, (text,), claim, instead=(text,))

    def _miss(
        self, claim: Expectation, rows: list[AnswerRow] | list[HeldRow], point: int | None,
        row: AnswerRow | None = None,
    ) -> Miss:  # fmt: skip
        """What was there in place of what a line claims: if nothing, what is near to it."""
        pattern = _pattern(claim)
        texts = self.shown.joined(rows)
        if not rows:
            texts = [f"none of {pattern.written}"]
            open_value = EntityPattern(pattern.relation, pattern.args, (), "")
            others = [] if pattern.is_event else self._rows(open_value)
            texts += [f"but {text}" for text in self.shown.joined(others)]
        question = None
        if row is not None:
            question = self._question_of(row, point)
        elif pattern.is_ground and point is not None:
            question = _question(pattern), point
        elif pattern.is_ground and claim.within:
            question = _question(pattern), claim.within[1]
        return Miss(
            claim.line.number, claim.line.text, tuple(texts), claim, question,
            instead=self._instead(claim, rows),
        )  # fmt: skip

    def _instead(
        self, claim: Expectation, rows: list[AnswerRow] | list[HeldRow]
    ) -> tuple[str, ...]:
        """The lines to write in place of a claim about the answer."""
        if claim.claim is Claim.COUNT:
            return (_COUNTED.sub(f"exactly {len(rows)}", claim.line.text, count=1),)
        if claim.claim is Claim.NOT_AT:
            rows = self._rows(_pattern(claim))
        return tuple(self.shown.joined(rows)) or (f"never {_pattern(claim).written}",)

    def _question_of(self, row: AnswerRow, point: int | None = None) -> tuple[str, int]:
        if isinstance(row, HeldRow):
            start = row.span[0] if point is None else point
            return entity_shown(row.relation, row.args, row.held), start
        return entity_shown(row.relation, row.args, None), row.time

    # -- the feed ------------------------------------------------------------------------------

    def _change(self, claim: Expectation) -> Miss | None:
        changes = self._changes_at(claim)
        if isinstance(changes, Miss):
            return changes
        pattern = _pattern(claim)
        fitting = [each for each in changes if _is_about(each.row, pattern)]
        wanted: list[Span | None] = [*claim.spans, *((p, p) for p in claim.points)] or [None]
        if all(_does(claim.verb, fitting, span) for span in wanted):
            return None
        start = claim.spans[0][0] if claim.spans else next(iter(claim.points), claim.query)
        question = (_question(pattern), start) if pattern.is_ground and start is not None else None
        return Miss(
            claim.line.number, claim.line.text, self._feed_texts(claim, changes), claim, question,
            claim.query, self._feed_lines(claim, fitting),
        )  # fmt: skip

    def _no_change(self, claim: Expectation) -> Miss | None:
        changes = self._changes_at(claim)
        if isinstance(changes, Miss):
            return changes
        if claim.pattern is not None:
            changes = [each for each in changes if _is_about(each.row, claim.pattern)]
        if not changes:
            return None
        return Miss(
            claim.line.number, claim.line.text, self._feed_texts(claim, changes), claim,
            instead=self._feed_lines(claim, changes),
        )  # fmt: skip

    def _feed_lines(self, claim: Expectation, changes: list[CaseChange]) -> tuple[str, ...]:
        """The lines that say what a query reports."""
        assert claim.query is not None
        prefix = f"at {self.shown.clock.show(claim.query)}"
        lines = [f"{prefix} {verb} {self.shown.row(row)}" for verb, row in verbs_of(changes)]
        nothing = f" of {claim.pattern.written}" if claim.pattern else ""
        return tuple(lines) or (f"{prefix} reports nothing{nothing}",)

    def _changes_at(self, claim: Expectation) -> list[CaseChange] | Miss:
        assert claim.query is not None
        changes = self.evidence.feeds.get(claim.query)
        if changes is not None:
            return changes
        near = sorted(self.evidence.feeds, key=lambda query: abs(query - (claim.query or 0)))[:3]
        texts = " and ".join(self.shown.clock.show(query) for query in sorted(near))
        return Miss(
            claim.line.number, claim.line.text,
            (f"no query at that time; the nearest are at {texts} (see window, step and start)",),
            claim,
        )  # fmt: skip

    def _feed_texts(self, claim: Expectation, changes: list[CaseChange]) -> tuple[str, ...]:
        """What the query reports of the relation that is meant; and when that is reported."""
        pattern = claim.pattern
        related = [
            each for each in changes if pattern is None or each.row.relation == pattern.relation
        ]
        texts = [self.shown.change(each) for each in related]
        if texts:
            return tuple(texts)
        elsewhere = [
            f"but at {self.shown.clock.show(query)} {self.shown.change(each)}"
            for query, others in self.evidence.feeds.items()
            for each in others
            if pattern is not None and _is_about(each.row, pattern)
        ]
        return ("nothing of it is reported then", *elsewhere)

    # -- the whole -----------------------------------------------------------------------------

    def _whole_answer(self) -> Iterator[Miss]:
        line = self.prepared.case.settings.get("answer")
        if line is None:
            return
        path = self.prepared.file.beside(line.text)
        expected = path.read_text("utf-8").splitlines() if path.is_file() else []
        there = self.evidence.text.splitlines()
        missing = [text for text in expected if text.strip() and text not in set(there)]
        more = [text for text in there if text not in set(expected)]
        if missing or more or not path.is_file():
            texts = [*(f"missing: {text}" for text in missing), *(f"new: {text}" for text in more)]
            if not path.is_file():
                texts = [f"there is no file {path}; --update writes it"]
            yield Miss(line.number, f"the answer is that of {line.text}", tuple(texts))

    def _disagreement(self) -> Iterator[Miss]:
        only_run, only_session = self.evidence.disagreement()
        if only_run or only_session:
            texts = [f"only the run: {self.shown.row(row)}" for row in only_run]
            texts += [f"only the session: {self.shown.row(row)}" for row in only_session]
            yield Miss(
                self.prepared.case.line, "a run and a session give the same answer", tuple(texts)
            )


def _pattern(claim: Expectation) -> EntityPattern:
    assert claim.pattern is not None
    return claim.pattern


def _question(pattern: EntityPattern) -> str:
    return pattern.written


def _span_of(row: AnswerRow) -> Span | None:
    """The interval of a pair, or of an occurrence of a pattern; a happening has none."""
    if isinstance(row, HeldRow):
        return row.span
    return None if row.start is None else (row.start, row.time)


def _covers(spans: tuple[Span, ...] | list[Span], point: int) -> bool:
    return any(start <= point and (end is None or point < end) for start, end in spans)


def _is_at(row: AnswerRow, point: int) -> bool:
    return row.time == point if isinstance(row, HappenedRow) else _covers([row.span], point)


def _is_within(row: AnswerRow, within: tuple[int, int] | None) -> bool:
    if within is None:
        return True
    first, last = within
    if isinstance(row, HappenedRow):
        return first <= row.time <= last
    start, end = row.span
    return start <= last and (end is None or end > first)


def _is_about(row: AnswerRow, pattern: EntityPattern) -> bool:
    if row.relation != pattern.relation or isinstance(row, HeldRow) is pattern.is_event:
        return False
    return pattern.fits(row.args, row.held if isinstance(row, HeldRow) else None)


def _does(verb: str, changes: list[CaseChange], span: Span | None) -> bool:
    """Does a query do what a verb says, to an interval or happening (None for any)?"""
    inserted = [each.row for each in changes if each.is_insertion]
    deleted = [each.row for each in changes if not each.is_insertion]
    if verb == "withdraws":
        return any(
            _is_span(row, span) and not any(_replaces(new, row) for new in inserted)
            for row in deleted
        )
    for row in inserted:
        before = [old for old in deleted if _replaces(row, old)]
        if _is_span(row, span) and _is_done(verb, row, before):
            return True
    return False


def verbs_of(changes: list[CaseChange]) -> Iterator[tuple[str, AnswerRow]]:
    """What a query does to each interval or happening: reports, ends, corrects, withdraws."""
    inserted = [each.row for each in changes if each.is_insertion]
    deleted = [each.row for each in changes if not each.is_insertion]
    for row in inserted:
        before = [old for old in deleted if _replaces(row, old)]
        verbs = ("reports", "ends", "corrects")
        yield next(verb for verb in verbs if _is_done(verb, row, before)), row
    for row in deleted:
        if not any(_replaces(new, row) for new in inserted):
            yield "withdraws", row


def _is_done(verb: str, row: AnswerRow, before: list[AnswerRow]) -> bool:
    if verb == "reports":
        return not before
    if verb == "corrects" or not isinstance(row, HeldRow):
        return bool(before)
    starts = [old.span for old in before if isinstance(old, HeldRow)]
    return row.span[1] is not None and (row.span[0], None) in starts


def _is_span(row: AnswerRow, span: Span | None) -> bool:
    if span is None:
        return True
    if isinstance(row, HeldRow):
        return row.span == span
    return (row.start if row.start is not None else row.time, row.time) == span or (
        span == (row.time, row.time)
    )


def _replaces(new: AnswerRow, old: AnswerRow) -> bool:
    """Is one row of a pair there in place of another, which it overlaps or meets?"""
    if not isinstance(new, HeldRow) or not isinstance(old, HeldRow):
        return False
    if (new.relation, new.args, new.held) != (old.relation, old.args, old.held):
        return False
    ends_before = old.span[1] is not None and old.span[1] < new.span[0]
    begins_after = new.span[1] is not None and new.span[1] < old.span[0]
    return not ends_before and not begins_after


@dataclass(frozen=True, slots=True)
class RowTexts:
    """Writes rows of answers as case files have them."""

    clock: CaseClock
    tick: int

    def row(self, row: AnswerRow) -> str:
        """An interval or happening as the line that expects it."""
        return f"{self.entity(row)} {self.when(row)}"

    def change(self, change: CaseChange) -> str:
        """What a feed says of a row."""
        return f"{'inserted' if change.is_insertion else 'deleted'}  {self.row(change.row)}"

    def joined(self, rows: list[AnswerRow] | list[HeldRow]) -> list[str]:
        """A line for each pair or event, with all its intervals or points."""
        texts: dict[str, list[str]] = {}
        for row in rows:
            texts.setdefault(self.entity(row), []).append(self.when(row))
        return [f"{entity} {joined_times(times)}" for entity, times in texts.items()]

    def entity(self, row: AnswerRow) -> str:
        """The pair or event that a row is about."""
        held = row.held if isinstance(row, HeldRow) else None
        return entity_shown(row.relation, row.args, held)

    def when(self, row: AnswerRow) -> str:
        """The interval or time of a row, in the words of expectations."""
        show = self.clock.show
        if isinstance(row, HappenedRow):
            if row.start is None:
                return f"at {show(row.time)}"
            return f"from {show(row.start)} to {show(row.time)}"
        start, end = row.span
        if self.clock.style is TimeStyle.NUMBER:
            return f"from {start}" + ("" if end is None else f" to {end}")
        until = "" if end is None else f" until {show(end - self.tick)}"
        return f"after {show(start - self.tick)}{until}"


def joined_times(times: list[str]) -> str:
    """Intervals or points in one line.

    >>> joined_times(["from 1 to 2", "from 4"]), joined_times(["at 3", "at 5"])
    ('from 1 to 2 and from 4', 'at 3, 5')
    """
    if times[0].startswith("at "):
        return "at " + ", ".join(time.removeprefix("at ") for time in times)
    return " and ".join(times)
