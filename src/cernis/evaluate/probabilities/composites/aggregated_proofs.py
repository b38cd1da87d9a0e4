"""Aggregates over windows of uncertain matches: a match is repeated for each outcome.

In each possible world the window of a match has the matches of that world. So for each match the
worlds of the uncertain ones in its window are gone through, and worlds with the same outcome make
one row: its literal is that the match is there, in one of these worlds.

A count over many records needs no worlds: its distribution is a convolution, and its outcomes
exclude each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cernis.errors import UnsupportedError
from cernis.evaluate.probabilities.composites.selected_proofs import (
    NEGLIGIBLE,
    exclusive_literals,
)
from cernis.evaluate.probabilities.uncertain_facts import TRUE, Facts, conjunctions
from cernis.evaluate.probabilities.worlds import Worlds
from cernis.kernels.array_types import Booleans, Floats, Integers
from cernis.kernels.order import stable_order
from cernis.kernels.slide import lows_of_span
from cernis.operators.column_arithmetic import Numeric, rows_at
from cernis.operators.context.query_context import Context
from cernis.operators.distinct import distinct
from cernis.operators.expressions import as_column
from cernis.operators.patterns.sliding_windows import aggregates, in_order_of_arrival
from cernis.operators.rule_pipeline import concatenated
from cernis.plan.pattern_steps import Slide
from cernis.tables.columns import Column, Rows

MOST_DOUBTFUL: Final = 12
"""A window may have so many uncertain matches, beside its last, whose worlds are gone through."""

MOST_COUNTED: Final = 8
"""In a count there may be so many; if there are more, they must be single records."""

_MOST_MEMBERS: Final = 1 << 24
"""All worlds of all windows may have so many matches together."""


_PLACE: Final = "<place>"
"""The column with the place of a match among those that aggregates are over."""


@dataclass(frozen=True, slots=True)
class _Windows:
    """The windows of one aggregate: those from `lows` up to the match itself, by their rows."""

    step: Slide
    rows: Rows
    values: Numeric | None
    lows: Integers
    literals: Integers

    @property
    def places(self) -> Integers:
        """The place of each match."""
        return self.rows.columns[_PLACE].expanded(self.rows.length)

    def members(self, ends: Integers) -> tuple[Integers, Integers]:
        """The rows of some windows, whose last rows are given; and which window each is of."""
        sizes = ends + 1 - self.lows[ends]
        owners = np.repeat(np.arange(len(ends)), sizes)
        ranks = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self.lows[ends][owners] + ranks, owners


def slide_uncertain(
    steps: Sequence[Slide], rows: Rows, names: Sequence[str], context: Context, facts: Facts,
    literal: str,
) -> Rows:  # fmt: skip
    """Matches with the aggregates of their windows; each as often as they have outcomes.

    Each match is there once. The column of that name has the literal of each match.
    """
    rows = rows.with_columns({_PLACE: Column(np.arange(rows.length))})
    windows: list[_Windows] = []
    for step in steps:
        windows.append(_windows(step, rows, names, context, literal))
        rows = windows[-1].rows
    doubtful = windows[-1].literals != TRUE
    before = np.append(0, np.cumsum(doubtful))
    counts = before[np.arange(len(doubtful))] - before[windows[-1].lows]
    most = MOST_COUNTED if [step.kind for step in steps] == ["count"] else MOST_DOUBTFUL
    few, many = np.flatnonzero(counts <= most), np.flatnonzero(counts > most)
    parts = [_by_worlds(windows, few, context, facts, literal)]
    if len(many):
        parts.append(_by_convolution(windows, many, facts, literal))
    rows = concatenated([rows for rows in parts if rows.length] or parts[:1])
    columns = {name: column for name, column in rows.columns.items() if name != _PLACE}
    return Rows(rows.length, columns, rows.times)


def _windows(
    step: Slide, rows: Rows, names: Sequence[str], context: Context, literal: str
) -> _Windows:
    rows, values, matches = in_order_of_arrival(step, rows, names, context)
    literals = rows.columns[literal].expanded(rows.length)
    firsts = matches.offsets[matches.groups]
    lows = firsts
    if step.past is not None:
        lows = lows_of_span(firsts, matches.ends, step.past)
    elif step.last is not None:
        lows = _lows_of_last(step.last, firsts, literals == TRUE)
    return _Windows(step, rows, values, lows, literals)


def _lows_of_last(last: int, firsts: Integers, is_sure: Booleans) -> Integers:
    """The first match that may be among the last ones: enough later ones are sure to be there."""
    places = np.arange(len(firsts))
    if last == 1:
        return places
    sure = np.flatnonzero(is_sure)
    nth = np.searchsorted(sure, places) - (last - 1)
    lows = firsts.copy()
    known = np.flatnonzero(nth >= 0)
    lows[known] = np.maximum(firsts[known], sure[nth[known]])
    return lows


# -- all worlds ------------------------------------------------------------------------------


def _by_worlds(
    windows: list[_Windows], chosen: Integers, context: Context, facts: Facts, literal: str
) -> Rows:
    """The chosen matches with each of their outcomes, from all worlds of their windows."""
    last = windows[-1]
    size = int(max(each.places.max(initial=-1) for each in windows)) + 1
    members = [each.members(_ends(each, last.places[chosen], size)) for each in windows]
    literals = np.full(size, TRUE, np.int64)
    literals[last.places] = last.literals
    for each in windows:
        literals[each.places] = each.literals
    keys = [
        owners * size + each.places[rows]
        for each, (rows, owners) in zip(windows, members, strict=True)
    ]
    own_keys = np.arange(len(chosen)) * size + last.places[chosen]
    doubtful = np.setdiff1d(np.concatenate(keys), own_keys)
    doubtful = doubtful[literals[doubtful % size] != TRUE]
    counts = np.bincount(doubtful // size, minlength=len(chosen))
    _refuse_worlds(windows, members, counts)
    worlds = Worlds(counts)
    results = [
        _outcomes(each, rows, owners, _ranks(own, doubtful, worlds, owners), worlds, context)
        for each, (rows, owners), own in zip(windows, members, keys, strict=True)
    ]
    proofs = conjunctions(
        [last.literals[chosen][worlds.rows], *worlds.literals(literals[doubtful % size])],
        len(worlds.rows),
    )
    values = [column.expanded(len(worlds.rows)) for column in results]
    domains = [column.domain for column in results]
    first, which = distinct([worlds.rows, *values], [None, *domains])
    order = stable_order(which, len(first))
    added = {literal: Column(facts.any_of(which[order], proofs.take(order), len(first)))}
    for each, column, domain in zip(windows, values, domains, strict=True):
        added[each.step.result] = Column(column[first], domain)
    return last.rows.take(chosen[worlds.rows[first]]).with_columns(added)


def _ends(windows: _Windows, places: Integers, size: int) -> Integers:
    """The rows of the matches of some places."""
    row_of = np.zeros(size, np.int64)
    row_of[windows.places] = np.arange(windows.rows.length)
    return row_of[places]


def _ranks(keys: Integers, doubtful: Integers, worlds: Worlds, owners: Integers) -> Integers:
    """The bit that each member of a window has in the worlds of the window; -1 if it is sure."""
    found = np.minimum(np.searchsorted(doubtful, keys), max(len(doubtful) - 1, 0))
    is_known = doubtful[found] == keys if len(doubtful) else np.zeros(len(keys), np.bool_)
    return np.where(is_known, found - worlds.first[owners], -1)


def _outcomes(
    windows: _Windows, rows: Integers, owners: Integers, ranks: Integers, worlds: Worlds,
    context: Context,
) -> Column:  # fmt: skip
    """The aggregate in each world of each window."""
    step = windows.step
    present, world = worlds.members(owners, ranks)
    order = np.lexsort((rows[present], world))
    present, world = rows[present][order], world[order]
    # All windows in all worlds, one after the other: each ends with the match itself.
    ends = np.flatnonzero(np.append(world[1:] != world[:-1], True)[: len(world)])
    firsts = np.append(0, ends[:-1] + 1)[world] if len(ends) else ends
    lows = firsts
    if step.last is not None:
        lows = np.maximum(firsts, np.arange(len(firsts)) - step.last + 1)
    values = windows.values
    values = None if values is None else rows_at(values, windows.rows.length, present)
    totals = aggregates(step, firsts, lows, values, context)
    return as_column(rows_at(totals, len(world), ends), len(ends))[0]


def _refuse_worlds(
    windows: list[_Windows], members: list[tuple[Integers, Integers]], counts: Integers
) -> None:
    kind = windows[-1].step.kind
    if int(counts.max(initial=0)) > MOST_DOUBTFUL:
        raise _too_many(kind, int(counts.max()) + 1)
    size = sum(
        int((np.bincount(owners, minlength=len(counts)) << counts).sum()) for _, owners in members
    )
    if size > _MOST_MEMBERS:
        raise UnsupportedError(
            f"{kind} over windows of uncertain matches: all possible worlds of {len(counts):,} "
            f"windows have {size:,} matches, which is too much; choose smaller ones"
        )


def _too_many(kind: str, count: int) -> UnsupportedError:
    return UnsupportedError(
        f"{kind} over a window of {count} uncertain matches is too much: with more than "
        f"{MOST_DOUBTFUL + 1} there are too many possible worlds; a count alone, over a window of "
        "time, of matches that are single records, may have any number of them"
    )


# -- counts of many --------------------------------------------------------------------------


def _by_convolution(windows: list[_Windows], chosen: Integers, facts: Facts, literal: str) -> Rows:
    """The chosen matches with each count of their windows, of matches that are one fact each."""
    each = windows[-1]
    chances = facts.chances[each.literals >> 1]
    chances = np.where(each.literals & 1, 1 - chances, chances)
    owners, results, columns = [], [], []
    for owner in chosen.tolist():
        others = np.arange(each.lows[owner], owner)
        _refuse_many(windows, each.literals[others], chances[others])
        outcomes = count_distribution(chances[others])
        counts = np.flatnonzero(outcomes > NEGLIGIBLE)
        owners.append(np.full(len(counts), owner))
        results.append(counts + 1)
        columns.append(exclusive_literals(outcomes[counts], int(each.literals[owner]), facts))
    added = {
        each.step.result: Column(np.concatenate(results)), literal: Column(np.concatenate(columns))
    }  # fmt: skip
    return each.rows.take(np.concatenate(owners)).with_columns(added)


def _refuse_many(windows: list[_Windows], literals: Integers, chances: Floats) -> None:
    step, nodes = windows[-1].step, literals[literals != TRUE] >> 1
    is_plain = not np.isnan(chances).any() and len(np.unique(nodes)) == len(nodes)
    is_count = len(windows) == 1 and step.kind == "count" and step.last is None
    if not (is_count and is_plain):
        raise _too_many(step.kind, len(nodes) + 1)


def count_distribution(chances: Floats) -> Floats:
    """The probability of each number of independent facts that are true, from 0 on."""
    outcomes = np.ones(1)
    for chance in chances.tolist():
        outcomes = np.append(outcomes * (1 - chance), 0.0) + np.append(0.0, outcomes * chance)
    return outcomes
