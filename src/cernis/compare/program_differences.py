"""What another version of a program, or another engine, changes, relation by relation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from cernis.check.checker import Checked
from cernis.check.model import Relation
from cernis.compare.merged_programs import (
    affected_relations,
    changed_predicates,
    changed_relations,
    defined_relations,
)
from cernis.compare.row_differences import (
    RowDifferences,
    TimedRows,
    differences,
    happening_rows,
    interval_rows,
)
from cernis.evaluate.answer import Answer
from cernis.kernels.array_types import Booleans
from cernis.records.record_columns import shown


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """An interval or happening that is in one answer only: gone, new, or moved (from, to)."""

    kind: str
    args: tuple[str, ...]
    value: str | None
    before: tuple[int, int] | None
    after: tuple[int, int] | None

    @property
    def point(self) -> int:
        """The first point at which the answers differ."""
        if self.before is None or self.after is None:
            interval = self.before or self.after
            assert interval is not None
            return interval[0]
        if self.before[0] != self.after[0]:
            return min(self.before[0], self.after[0])
        return min(self.before[1], self.after[1])


@dataclass(frozen=True, slots=True)
class RelationDifference:
    """How the intervals of a fluent, or the happenings of an event, differ.

    `before` and `after` count all; `gone`, `new` and `moved` those that differ. Lengths of time are
    in time-points, of fluents only.
    """

    relation: Relation
    is_event: bool
    before: int
    after: int
    gone: int
    new: int
    moved: int
    time_before: int
    time_after: int
    gained: int
    lost: int
    rows: tuple[ChangedRow, ...] = ()
    """Some of what differs."""

    @property
    def is_same(self) -> bool:
        """Is nothing different?"""
        return not (self.gone or self.new or self.moved)


@dataclass(slots=True)
class ProgramDifferences:
    """All that differs between two answers.

    `changed` are the definitions that differ, `affected` those that depend on them, `added` and
    `removed` those that only one version has.
    """

    relations: list[RelationDifference]
    changed: tuple[Relation, ...] = ()
    affected: tuple[Relation, ...] = ()
    added: tuple[Relation, ...] = ()
    removed: tuple[Relation, ...] = ()
    predicates: tuple[Relation, ...] = ()
    unchanged: int = 0
    records: int = 0
    start: int = 0
    end: int = 0
    note: str = ""
    dated: bool = False
    """Had the input dates and times?"""
    explanations: dict[tuple[Relation, ChangedRow], tuple[tuple[str, str], ...]] = field(
        default_factory=dict
    )
    """Of some rows that differ: `before` or `after`, and the explanation of that version."""

    @property
    def is_same(self) -> bool:
        """Do both give the same answer?"""
        return all(each.is_same for each in self.relations)


def answer_differences(
    old: Answer, new: Answer, run_end: int, examples: int = 3
) -> Iterator[RelationDifference]:
    """How two answers differ, by relation; relations whose tables are one are not looked at."""
    for relation in sorted({*old.fluents, *new.fluents}):
        before, after = old.fluents.get(relation), new.fluents.get(relation)
        if before is after and before is not None:
            yield _same(relation, False, len(before.starts))
            continue
        first = interval_rows(before, relation.arity)
        second = interval_rows(after, relation.arity)
        yield _difference(relation, False, first, second, run_end, examples)
    for relation in sorted({*old.events, *new.events}):
        one, other = old.events.get(relation), new.events.get(relation)
        if one is other and one is not None:
            yield _same(relation, True, len(one))
            continue
        first, second = (happening_rows(each, relation.arity) for each in (one, other))
        yield _difference(relation, True, first, second, run_end, examples)


def _same(relation: Relation, is_event: bool, count: int) -> RelationDifference:
    return RelationDifference(relation, is_event, count, count, 0, 0, 0, 0, 0, 0, 0)


def _difference(
    relation: Relation, is_event: bool, old: TimedRows, new: TimedRows, run_end: int, examples: int
) -> RelationDifference:
    masks = differences(old, new, run_end)
    rows = tuple(_examples(old, new, masks, is_event, examples))
    gone = int((masks.only_old & ~masks.old_moved).sum())
    added = int((masks.only_new & ~masks.new_moved).sum())
    lengths = (0, 0, 0, 0) if is_event else (
        masks.time_before, masks.time_after, masks.gained, masks.lost
    )  # fmt: skip
    return RelationDifference(
        relation, is_event, len(old), len(new), gone, added, int(masks.new_moved.sum()), *lengths,
        rows,
    )  # fmt: skip


def _examples(
    old: TimedRows, new: TimedRows, masks: RowDifferences, is_event: bool, most: int
) -> Iterator[ChangedRow]:
    """Some rows that differ, the first of each kind."""
    for row in _first(old, masks.only_old & ~masks.old_moved, most):
        yield ChangedRow("gone", *_texts(old, row, is_event), _span(old, row), None)
    for row in _first(new, masks.only_new & ~masks.new_moved, most):
        yield ChangedRow("new", *_texts(new, row, is_event), None, _span(new, row))
    for row in _first(new, masks.new_moved, most):
        args, value = _texts(new, row, is_event)
        span = _span(new, row)
        overlapping = masks.old_moved & (old.starts < span[1]) & (old.ends > span[0])
        for other in np.flatnonzero(overlapping).tolist():
            if _texts(old, other, is_event) == (args, value):
                yield ChangedRow("moved", args, value, _span(old, other), span)
                break


def _first(rows: TimedRows, mask: Booleans, most: int) -> list[int]:
    """The rows of a mask that start first."""
    places = np.flatnonzero(mask)
    if len(places) > most:
        places = places[np.argpartition(rows.starts[places], most)[:most]]
    return sorted(places.tolist(), key=lambda row: int(rows.starts[row]))


def _texts(rows: TimedRows, row: int, is_event: bool) -> tuple[tuple[str, ...], str | None]:
    texts = [
        shown(codes[row].item() if domain is None else domain.decode(codes[row : row + 1])[0])
        for codes, domain in rows.columns
    ]
    return (tuple(texts), None) if is_event else (tuple(texts[:-1]), texts[-1])


def _span(rows: TimedRows, row: int) -> tuple[int, int]:
    return int(rows.starts[row]), int(rows.ends[row])


def definition_changes(old: Checked, new: Checked) -> ProgramDifferences:
    """Which definitions differ, before anything is run."""
    hidden = old.definitions.auxiliary | new.definitions.auxiliary
    before, after = defined_relations(old) - hidden, defined_relations(new) - hidden
    both = before & after
    changed = changed_relations(old, new) & both
    affected = (affected_relations(old, new) & both) - changed
    return ProgramDifferences(
        [], _sorted(changed), _sorted(affected), _sorted(after - before), _sorted(before - after),
        _sorted(changed_predicates(old, new)), len(both) - len(changed) - len(affected),
    )  # fmt: skip


def _sorted(relations: frozenset[Relation]) -> tuple[Relation, ...]:
    return tuple(sorted(relations))
