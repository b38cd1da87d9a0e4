"""The smallest move of one record in time that would have made the answer, as runs show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from cernis.check.model import Happens, Holds, Literal
from cernis.explain.body_proofs import Bindings, match_all, terms
from cernis.explain.histories import History, NamedRecord
from cernis.knowledge.ground_values import term_of
from cernis.records.record_columns import INFINITE, RecordColumns, Records

_MOST_RECORDS = 4
_MOST_TRIED = 12
"""So many moves are tried for a rule, the smallest ones."""


@dataclass(frozen=True, slots=True)
class RecordMove:
    """A record, and by how much later it would have to be."""

    record: NamedRecord
    by: int

    def apply(self, records: Records) -> Records:
        """The records with this one moved."""
        parts = {form: _moved(part, self) for form, part in records.relations.items()}
        return replace(records, relations=parts)


def smallest_move(
    history: History, body: tuple[Literal, ...], bindings: Bindings, since: int, time: int,
    would_hold: Callable[[Records], bool],
) -> RecordMove | None:  # fmt: skip
    """The smallest move of a record of a rule with which a question would be true at a time.

    `since` is the first point at which the rule could have made it so.
    """
    targets = sorted(_targets(history, body, bindings, since, time))
    moves = {
        (record.number, target - record.start): RecordMove(record, target - record.start)
        for record in _records(history, body, bindings, time)
        for target in targets
        if target != record.start
    }
    ordered = sorted(moves.values(), key=lambda move: (abs(move.by), move.record.number))
    for move in ordered[:_MOST_TRIED]:
        if would_hold(move.apply(history.records)):
            return move
    return None


def _records(
    history: History, body: tuple[Literal, ...], bindings: Bindings, time: int
) -> Iterator[NamedRecord]:
    """The records that are nearest to a time, of the events that a rule asks for."""
    for literal in body:
        if isinstance(literal, Happens) and not literal.negated:
            fitting = [
                record for record in history.records_of(literal.event.relation)
                if match_all(literal.event.args, terms(record.args), bindings) is not None
            ]  # fmt: skip
            yield from sorted(fitting, key=lambda each: abs(each.start - time))[:_MOST_RECORDS]


def _targets(
    history: History, body: tuple[Literal, ...], bindings: Bindings, since: int, time: int
) -> set[int]:
    """The points at which something begins that a rule could need: the ends of what it asks for."""
    points = {time - history.tick, since}
    for literal in body:
        if isinstance(literal, Happens) and not literal.negated:
            points |= {
                each.time for each in history.events(literal.event.relation)
                if match_all(literal.event.args, terms(each.args), bindings) is not None
            }  # fmt: skip
        elif isinstance(literal, Holds):
            for (args, held), spans in history.fluent(literal.pair.relation).items():
                wanted = (*literal.pair.args, literal.pair.value)
                if match_all(wanted, (*terms(args), term_of(held)), bindings) is not None:
                    points |= set(_edges(spans, history.tick))
    return {point for point in points if since <= point < time}


def _edges(spans: Iterable[tuple[int, int]], tick: int) -> Iterator[int]:
    """The first and last points of intervals, and those just outside."""
    for start, end in spans:
        yield from (start - tick, start, end - tick, end)


def _moved(part: RecordColumns, move: RecordMove) -> RecordColumns:
    rows = np.flatnonzero(part.places == move.record.number)
    if not len(rows):
        return part
    times = [column.copy() for column in part.times]
    for column in times:
        closed = rows[column[rows] < INFINITE]
        column[closed] += move.by
    return replace(part, times=times)
