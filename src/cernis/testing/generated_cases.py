"""Cuts a case out of recorded data: the records that matter to an entity, and what came of them.

What is to be shown are the intervals and happenings of an entity between two times. Explanations
of these name records. If a run over these alone gives the same, they are where the search begins;
else it begins with all records that rules can reach. Then as many records as possible are taken
away, in ever smaller pieces, as long as the run over the rest gives the same. The case is run
before it is given.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from cernis.answers.answer_lines import argument_text, template, value_text
from cernis.check.model import Relation
from cernis.errors import CernisError, DataError
from cernis.evaluate.run import Run
from cernis.explain.explaining import RunLimits, explain
from cernis.explain.questions import read_question
from cernis.explain.reachable_records import reachable
from cernis.explain.replays import only
from cernis.knowledge.ground_values import Value
from cernis.program import Program
from cernis.records.record_columns import INFINITE, RecordColumns, RecordKind, Records, cell
from cernis.session.recognise import bounds
from cernis.session.settings import Settings
from cernis.testing.case_answers import AnswerRow, HappenedRow, HeldRow, answer_of
from cernis.testing.case_files import case_file
from cernis.testing.case_sessions import CaseSession
from cernis.testing.case_terms import entity_shown
from cernis.testing.case_times import CaseClock, TimeStyle
from cernis.testing.judging import RowTexts

MOST_RUNS: Final = 600
"""So often a run over fewer records is tried."""

_EXPLAINED: Final = 40
"""So many intervals and happenings are explained to find where to begin."""


@dataclass(slots=True)
class CaseCut:
    """A case to be cut out: whose, and from when to when; both ends belong to it."""

    program: Program
    records: Records
    entities: tuple[str, ...]
    first: int | None
    last: int | None
    settings: Settings
    start: int = field(init=False)
    end: int = field(init=False)
    runs: int = 0

    def __post_init__(self) -> None:
        chosen = self.settings if self.last is None else replace(self.settings, end=self.last)
        self.start, self.end = bounds(self.records, chosen, self.tick)

    @property
    def tick(self) -> int:
        """How far apart time-points are."""
        return self.settings.tick or self.program.checked.definitions.settings.tick

    def wanted(self, records: Records) -> frozenset[AnswerRow]:
        """What comes of the entities in the stretch of time, if these are all records."""
        self.runs += 1
        run = Run(self.program.plan, self.settings.tick, self.settings.ties)
        answer = run.over(records, self.start, self.end, self.settings.window, self.settings.step)
        return frozenset(row for row in answer_of(answer).rows() if self._is_wanted(row))

    def _is_wanted(self, row: AnswerRow) -> bool:
        if self.entities and not {*self.entities} <= {*row.args}:
            return False
        # What is initiated at a point holds from the next one on.
        begin = row.span[0] - self.tick if isinstance(row, HeldRow) else row.time
        ends = row.span[1] if isinstance(row, HeldRow) else row.time + 1
        return begin <= self.end and (self.first is None or ends is None or ends > self.first)


def cut_records(cut: CaseCut) -> tuple[Records, list[AnswerRow]]:
    """The records that matter, as few as could be found, and what comes of them."""
    rows = cut.wanted(cut.records)
    if not rows:
        whose = f" of {' and '.join(cut.entities)}" if cut.entities else ""
        raise DataError(
            f"nothing{whose} holds or happens in that time; name another entity, or other times"
        )
    near = _reached(cut, rows)
    if cut.wanted(near) != rows:
        # Collections and aggregates may look at records that no argument leads to.
        near = cut.records
    numbers = _numbers(near)
    named = _named(cut, near, rows) & numbers

    def gives_the_same(chosen: frozenset[int]) -> bool:
        return cut.wanted(only(near, set(chosen))) == rows

    begin = named if named and gives_the_same(named) else numbers
    least = fewest(begin, gives_the_same, lambda: cut.runs < MOST_RUNS)
    return only(near, set(least)), sorted(rows, key=_order)


def fewest(
    items: frozenset[int], is_enough: Callable[[frozenset[int]], bool],
    goes_on: Callable[[], bool] = lambda: True,
) -> frozenset[int]:  # fmt: skip
    """A smallest part of some items that is enough: without any one of it, it no longer is.

    Parts are taken away in ever smaller pieces, so that few trials are needed if most may go.

    >>> sorted(fewest(frozenset(range(100)), lambda part: {3, 57} <= part))
    [3, 57]
    """
    kept, size = sorted(items), max(len(items) // 2, 1)
    while kept:
        place, is_smaller = 0, False
        while place < len(kept) and goes_on():
            rest = kept[:place] + kept[place + size :]
            if is_enough(frozenset(rest)):
                kept, is_smaller = rest, True
            else:
                place += size
        if not goes_on() or (size == 1 and not is_smaller):
            break
        size = max(size // 2, 1)
    return frozenset(kept)


def _reached(cut: CaseCut, rows: Iterable[AnswerRow]) -> Records:
    """The records that rules can reach from what is to be shown."""
    numbers: set[int] = set()
    questions = {_question(row) for row in rows}
    for text in questions:
        question = read_question(text, cut.program.checked)
        near = reachable(cut.program.plan, cut.records, question)
        numbers |= _numbers(near)
    return only(cut.records, numbers)


def _question(row: AnswerRow) -> str:
    return entity_shown(row.relation, row.args, row.held if isinstance(row, HeldRow) else None)


def _numbers(records: Records) -> frozenset[int]:
    return frozenset(n for part in records.relations.values() for n in part.places.tolist())


def _named(cut: CaseCut, records: Records, rows: Iterable[AnswerRow]) -> frozenset[int]:
    """The records that the explanations of what is to be shown name."""
    limits = RunLimits(
        cut.settings.window, cut.settings.step, cut.start, cut.end, cut.settings.tick,
        cut.settings.ties,
    )  # fmt: skip
    numbers: set[int] = set()
    for row in sorted(rows, key=_order)[:_EXPLAINED]:
        point = row.span[0] if isinstance(row, HeldRow) else row.time
        try:
            explanation = explain(cut.program.plan, records, _question(row), point, limits)
        except CernisError:
            return frozenset()
        numbers |= {record.number for record in explanation.records}
    return frozenset(numbers)


def _order(row: AnswerRow) -> tuple[object, ...]:
    is_event = isinstance(row, HappenedRow)
    begin = row.time if isinstance(row, HappenedRow) else row.span[0]
    return is_event, row.relation, row.args, begin


# -- as text -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CaseHeading:
    """The settings of a generated case: its name, and the files as they are named beside it."""

    name: str
    rules: Path
    facts: tuple[Path, ...]
    dialect: str | None = None


def generated_case(cut: CaseCut, heading: CaseHeading, beside: Path) -> str:
    """The text of a case that passes; it is run before it is given."""
    records, rows = cut_records(cut)
    style = TimeStyle.DATE if cut.records.dated else TimeStyle.NUMBER
    clock = CaseClock(cut.program.time_scale, cut.start, style)
    lines = [
        f"test: {heading.name}",
        *(f"  {line}" for line in _settings(cut, heading, beside, clock)),
    ]
    lines += ["  given", *(f"    {line}" for line in record_lines(records, clock))]
    lines += ["  expect", *(f"    {line}" for line in RowTexts(clock, cut.tick).joined(rows))]
    text = "\n".join(lines) + "\n"
    _verify(text, beside)
    return text


def _settings(cut: CaseCut, heading: CaseHeading, beside: Path, clock: CaseClock) -> Iterator[str]:
    def named(path: Path) -> str:
        return os.path.relpath(path, beside.parent)

    yield f"rules: {named(heading.rules)}"
    if heading.facts:
        yield "facts: " + ", ".join(map(named, heading.facts))
    if heading.dialect is not None:
        yield f"dialect: {heading.dialect}"
    chosen = cut.settings
    if chosen.window is not None or chosen.step is not None or _begins_with_facts(cut):
        yield f"start: {clock.show(cut.start)}"
    for name in ("window", "step", "tick", "ties"):
        if getattr(chosen, name) is not None:
            yield f"{name}: {getattr(chosen, name)}"
    yield f"end: {clock.show(cut.end)}"


def _begins_with_facts(cut: CaseCut) -> bool:
    """Does something hold from the start of a run on?"""
    return bool(cut.program.checked.definitions.initials)


def record_lines(records: Records, clock: CaseClock) -> list[str]:
    """Records as lines of a `given` block, in the order of time."""
    lines = [line for part in records.relations.values() for line in _part_lines(part, clock)]
    return [text for _, _, text in sorted(lines)]


def _part_lines(part: RecordColumns, clock: CaseClock) -> Iterator[tuple[int, int, str]]:
    is_event = part.form.kind is RecordKind.EVENT
    is_interval = part.form.kind is RecordKind.INTERVAL
    for row in range(len(part)):
        arrival, start, *ends = (int(time[row]) for time in part.times)
        line = clock.show(start)
        if is_interval:
            line += f" to {'inf' if ends[0] == INFINITE else clock.show(ends[0])}"
        values = [cell(column, row) for column in part.columns]
        line += "  " + _record_text(part.form.relation, values, is_event)
        if arrival != start:
            line += f"  arrives {clock.show(arrival)}"
        if part.gone is not None and part.gone[row] != INFINITE:
            line += f"  retracted {clock.show(int(part.gone[row]))}"
        yield start, int(part.places[row]), line


def _record_text(relation: Relation, values: list[Value], is_event: bool) -> str:
    """An event, or a fluent with its value, which comes first among the values."""
    held, args = ([], values) if is_event else (values[:1], values[1:])
    pieces = template(relation)
    text = pieces[0] + "".join(
        argument_text(arg) + piece for arg, piece in zip(args, pieces[1:], strict=True)
    )
    return text + "".join(f"={value_text(value)}" for value in held)


def _verify(text: str, path: Path) -> None:
    """Run a case; one that does not pass is of no use, and an error says what it misses."""
    file = case_file(text, path)
    (case,) = file.cases
    outcome = CaseSession().outcome(file, case)
    if not outcome.is_passed:
        reason = outcome.error or "; ".join(
            f"{miss.expected}: there was {', '.join(miss.was)}" for miss in outcome.misses[:3]
        )
        raise DataError(f"the case that was cut out does not pass by itself: {reason}\n{text}")
