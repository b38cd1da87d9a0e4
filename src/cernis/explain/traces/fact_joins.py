"""WantedFacts whose causes are wanted, as columns, and joins of them with tables.

A join compares columns that may be coded by different domains: values are compared as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard, cast

import numpy as np

from cernis.kernels.array_types import Array, Integers
from cernis.knowledge.ground_values import value
from cernis.syntax.tree import Term, Variable
from cernis.tables.domains import Domain, Value
from cernis.tables.event_tables import EventTable

Coding: TypeAlias = tuple[Array, Domain | None]
"""A column and its domain; None for one that is held as numbers."""

_NO_INTEGER = -(1 << 63)
_CODES = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class CauseRows:
    """Causes as they are found: of what, by which rule, by which of its matches, which record."""

    owners: Integers
    rules: Integers
    matches: Integers
    records: Integers

    def __len__(self) -> int:
        return len(self.owners)


@dataclass(frozen=True, slots=True)
class WantedFacts:
    """Happenings or edges whose causes are wanted, one in each row, with their columns.

    `owners` says which output each is for. `rules` and `matches` are those of the outermost rule,
    and -1 before one has been met. A column that is None may be anything. Occurrences of patterns
    have starts.
    """

    columns: list[Coding | None]
    times: Integers
    owners: Integers
    rules: Integers
    matches: Integers
    starts: Integers | None = None

    def take(self, rows: Integers) -> WantedFacts:
        """Some of the rows."""
        return WantedFacts(
            [None if each is None else (each[0][rows], each[1]) for each in self.columns],
            self.times[rows], self.owners[rows], self.rules[rows], self.matches[rows],
            None if self.starts is None else self.starts[rows],
        )  # fmt: skip


def facts_wanted(
    columns: Sequence[Coding], times: Integers, starts: Integers | None = None
) -> WantedFacts:
    """WantedFacts that are asked for, the first being owner 0."""
    none = np.full(len(times), -1, np.int64)
    return WantedFacts(list(columns), times, np.arange(len(times)), none, none, starts)


def recoded(coding: Coding, domain: Domain | None, like: Array) -> Array:
    """A column as another one has its values: in the codes of its domain, or as numbers."""
    column, own_domain = coding
    if own_domain is domain and (own_domain is not None or column.dtype == like.dtype):
        return column
    distinct, inverse = np.unique(column, return_inverse=True)
    values: list[Value] = distinct.tolist() if own_domain is None else own_domain.decode(distinct)
    if domain is not None:
        return domain.encode(values)[inverse.ravel()]
    # Two numbers are one value if they have one form; what has another one equals nothing.
    form, nothing = (int, _NO_INTEGER) if like.dtype.kind == "i" else (float, np.nan)
    numeric = [each if type(each) is form else nothing for each in values]
    return np.array(numeric, like.dtype)[inverse.ravel()]


def find_facts(
    table: EventTable, positions: Sequence[int | None], facts: WantedFacts
) -> tuple[Integers, Integers]:
    """The rows of facts that a table has at some of its columns, and those of the table."""
    if not len(table) or not len(facts.times):
        none = np.empty(0, np.int64)
        return none, none
    chosen = [
        (at, coding) for at, coding in zip(positions, facts.columns, strict=True)
        if at is not None and coding is not None
    ]  # fmt: skip
    columns = [recoded(coding, table.domains[at], table.arguments[at]) for at, coding in chosen]
    return table.index(tuple(at for at, _ in chosen)).find(columns, facts.times)


def whole_numbers(table: EventTable, column: int, rows: Integers) -> Integers:
    """Times that a trace has as an argument."""
    coding = table.arguments[column][rows], table.domains[column]
    return recoded(coding, None, np.empty(0, np.int64))


def is_constant(place: object) -> TypeGuard[Term]:
    """Does a constant stand at a place, and no column or variable?"""
    return place is not None and not isinstance(place, (int, Variable))


def fitting(facts: WantedFacts, places: Iterable[object]) -> WantedFacts:
    """The facts whose columns have the constants that stand at some places."""
    kept = np.ones(len(facts.times), np.bool_)
    for coding, place in zip(facts.columns, places, strict=False):
        if coding is not None and is_constant(place):
            domain = Domain()
            column = recoded(coding, domain, _CODES)
            kept &= column == domain.code(_held(place))
    return facts if kept.all() else facts.take(np.flatnonzero(kept))


def unlike(facts: WantedFacts, term: Term) -> WantedFacts:
    """The facts whose value is another one than a term."""
    held = facts.columns[-1]
    if isinstance(term, Variable) or held is None:
        return facts
    domain = Domain()
    column = recoded(held, domain, _CODES)
    return facts.take(np.flatnonzero(column != domain.code(_held(term))))


def constant(term: Term, length: int) -> Coding:
    """A column of one value."""
    domain = Domain()
    return np.full(length, domain.code(_held(term)), np.int64), domain


def _held(term: Term) -> Value:
    return cast(Value, value(term))


def distinct_causes(causes: list[CauseRows]) -> CauseRows:
    """All causes, each once, by what they are causes of."""
    none = np.empty(0, np.int64)
    rows = [
        np.concatenate([none, *(getattr(each, name) for each in causes)])
        for name in ("owners", "rules", "matches", "records")
    ]
    order = np.lexsort(rows[::-1])
    in_order = [row[order] for row in rows]
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = np.logical_or.reduce([row[1:] != row[:-1] for row in in_order])
    return CauseRows(*(row[is_new] for row in in_order))
