"""The answer of a case, and what each query of its session has changed, as plain rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.kernels.array_types import Array
from cernis.records.record_columns import shown
from cernis.session.feed import Feed
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import INFINITY
from cernis.testing.case_terms import EntityPattern, Texts
from cernis.testing.expectations import Span


@dataclass(frozen=True, slots=True, order=True)
class HeldRow:
    """An interval of a pair."""

    relation: Relation
    args: Texts
    held: str
    span: Span


@dataclass(frozen=True, slots=True, order=True)
class HappenedRow:
    """A happening of a derived event; occurrences of patterns have a start."""

    relation: Relation
    args: Texts
    start: int | None
    time: int


AnswerRow: TypeAlias = HeldRow | HappenedRow


@dataclass(slots=True)
class CaseAnswer:
    """All intervals and happenings of an answer."""

    held: dict[Relation, list[HeldRow]] = field(default_factory=lambda: defaultdict(list))
    happened: dict[Relation, list[HappenedRow]] = field(default_factory=lambda: defaultdict(list))

    def rows(self) -> Iterator[AnswerRow]:
        """All of it."""
        for held in self.held.values():
            yield from held
        for happened in self.happened.values():
            yield from happened

    def held_by(self, pattern: EntityPattern) -> list[HeldRow]:
        """The intervals of the pairs that a pattern means, in order."""
        rows = self.held.get(pattern.relation, [])
        return sorted(row for row in rows if pattern.fits(row.args, row.held))

    def happened_to(self, pattern: EntityPattern) -> list[HappenedRow]:
        """The happenings that a pattern means, in the order of time."""
        rows = [
            row for row in self.happened.get(pattern.relation, []) if pattern.fits(row.args, None)
        ]
        return sorted(rows, key=lambda row: (row.time, row.args))


@dataclass(frozen=True, slots=True)
class CaseChange:
    """A row that a query has inserted, or deleted."""

    is_insertion: bool
    row: AnswerRow


def answer_of(answer: Answer) -> CaseAnswer:
    """The rows of the answer of a run."""
    rows = CaseAnswer()
    for relation, table in answer.fluents.items():
        groups = np.repeat(np.arange(len(table)), np.diff(table.offsets))
        columns = [(column[groups], domain) for column, domain in table.columns()]
        rows.held[relation] = list(_held_rows(relation, columns, table.starts, table.ends))
    for relation, event in answer.events.items():
        columns = list(zip(event.arguments, event.domains, strict=True))
        rows.happened[relation] = list(_happened_rows(relation, columns, event.times, event.starts))
    return rows


def changes_of(feed: Feed) -> list[CaseChange]:
    """The rows of a feed, deletions first."""
    changes: list[CaseChange] = []
    for is_insertion in (False, True):
        for relation, change in feed.fluents.items():
            rows = change.added if is_insertion else change.removed
            domains, value_domain = feed.encoding[relation]
            starts, ends, values = rows.columns[:3]
            columns = [*zip(rows.arguments, domains, strict=True), (values, value_domain)]
            held = _held_rows(relation, columns, starts, ends)
            changes += [CaseChange(is_insertion, row) for row in held]
        for relation, change in feed.events.items():
            rows = change.added if is_insertion else change.removed
            times, *begins = rows.columns
            columns = list(zip(rows.arguments, feed.encoding[relation][0], strict=True))
            happened = _happened_rows(relation, columns, times, begins[0] if begins else None)
            changes += [CaseChange(is_insertion, row) for row in happened]
    return changes


_Columns: TypeAlias = list[tuple[Array, Domain | None]]


def _held_rows(
    relation: Relation, columns: _Columns, starts: Array, ends: Array
) -> Iterator[HeldRow]:
    texts = zip(*map(_texts, columns), strict=True)
    for (*args, held), start, end in zip(texts, starts.tolist(), ends.tolist(), strict=True):
        yield HeldRow(relation, tuple(args), held, (start, None if end == INFINITY else end))


def _happened_rows(
    relation: Relation, columns: _Columns, times: Array, starts: Array | None
) -> Iterator[HappenedRow]:
    texts = zip(*map(_texts, columns), strict=True) if columns else [()] * len(times)
    begins = [None] * len(times) if starts is None else starts.tolist()
    for args, start, time in zip(texts, begins, times.tolist(), strict=True):
        yield HappenedRow(relation, tuple(args), start, time)


def _texts(column: tuple[Array, Domain | None]) -> list[str]:
    codes, domain = column
    return [shown(each) for each in (codes.tolist() if domain is None else domain.decode(codes))]


def sum_of(feeds: Iterable[list[CaseChange]]) -> set[AnswerRow]:
    """What is left when all deletions and insertions were made."""
    rows: set[AnswerRow] = set()
    for changes in feeds:
        rows -= {change.row for change in changes if not change.is_insertion}
        rows |= {change.row for change in changes if change.is_insertion}
    return rows
