"""Matches of traced patterns, row by row: what was bound, and which happenings matched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cernis.evaluate.answer import Answer
from cernis.explain.body_proofs import Bindings, terms
from cernis.explain.histories import decoded_rows
from cernis.explain.traces.traced_rules import TracedPart, TracedRule
from cernis.kernels.array_types import Integers
from cernis.knowledge.ground_values import is_ground, same
from cernis.syntax.tree import Number, Term, Variable
from cernis.tables.event_tables import EventTable

_LATEST = 2000
"""So many matches, the latest ones, are looked at one by one."""


@dataclass(frozen=True, slots=True)
class MatchedPart:
    """A row of a match: what it is, and from when to when."""

    part: TracedPart
    args: tuple[Term, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """One match: its variables, its closed interval, and its rows in the order of the pattern."""

    bindings: Bindings
    head: tuple[Term, ...]
    start: int
    end: int
    rows: tuple[MatchedPart, ...]


def matches_at(
    answer: Answer, trace: TracedRule, args: tuple[Term, ...], start: int, time: int
) -> list[PatternMatch]:
    """The matches of a pattern that make an occurrence of its head."""
    table = _table(answer, trace)
    if table is None:
        return []
    starts = table.times if table.starts is None else table.starts
    rows = np.flatnonzero((table.times == time) & (starts == start))
    made = (_match(table, trace, values, int(row)) for values, row in _rows(table, rows))
    return [each for each in made if all(map(same, each.head, args))]


def latest_matches(
    answer: Answer, trace: TracedRule, known: Bindings, time: int
) -> list[PatternMatch]:
    """The matches up to a time that agree with what is known, the latest last."""
    table = _table(answer, trace)
    if table is None:
        return []
    rows = np.flatnonzero(table.times <= time)
    rows = rows[np.argsort(table.times[rows], kind="stable")]
    made = (_match(table, trace, values, int(row)) for values, row in _rows(table, rows[-_LATEST:]))
    return [each for each in made if agree(known, each.bindings)]


def agree(left: Bindings, right: Bindings) -> bool:
    """Have two bindings the same values for all that both bind?"""
    return all(same(term, right[name]) for name, term in left.items() if name in right)


def _table(answer: Answer, trace: TracedRule) -> EventTable | None:
    return None if trace.event is None else answer.events.get(trace.event)


def _rows(table: EventTable, rows: Integers) -> Iterator[tuple[tuple[Term, ...], int]]:
    columns = [
        (column[rows], domain)
        for column, domain in zip(table.arguments, table.domains, strict=True)
    ]
    for values, row in zip(decoded_rows(columns, len(rows)), rows.tolist(), strict=True):
        yield terms(values), row


def _match(
    table: EventTable, trace: TracedRule, values: tuple[Term, ...], row: int
) -> PatternMatch:
    bindings = {
        name.name: value for name, value in zip(trace.terms, values, strict=True)
        if isinstance(name, Variable) and is_written(name.name)
    }  # fmt: skip
    end = int(table.times[row])
    start = end if table.starts is None else int(table.starts[row])
    parts = []
    for part in trace.parts:
        first = end if part.start is None else _whole(values[part.start])
        last = end if part.end is None else _whole(values[part.end])
        args = tuple(at_place(place, values) for place in part.columns)
        parts.append(MatchedPart(part, args, first, last))
    head = tuple(at_place(place, values) for place in trace.head)
    return PatternMatch(bindings, head, start, end, tuple(parts))


def at_place(place: int | Term | None, values: tuple[Term, ...]) -> Term:
    """What stands at a place of a trace."""
    if isinstance(place, int):
        return values[place]
    assert place is not None
    assert is_ground(place)
    return place


def _whole(term: Term) -> int:
    assert isinstance(term, Number)
    return int(term.value)


def is_written(name: str) -> bool:
    """Does a variable stand in the text of a rule, and not only in its trace?"""
    return not name.startswith(("From ", "To ", "Any ", "<", "_"))
