"""Values that end no other: each holds by itself, until it is terminated or a named one comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cernis.kernels.array_types import Booleans, Integers
from cernis.kernels.inertia.plain_inertia import hold, hold_each
from cernis.operators.context.coded_columns import constant_column
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.actions import SortedActions, sorted_actions
from cernis.operators.definitions.open_ends import first_ends
from cernis.operators.distinct import distinct
from cernis.plan.logical import Definition
from cernis.syntax.tree import Duration, Number, Term
from cernis.tables.domains import Domain

Held: TypeAlias = tuple[Integers, Integers, Integers, Integers]
"""Instances, values, starts and ends of intervals."""
Breaks: TypeAlias = tuple[Integers, Integers]
"""Instances and times at which all values that end no other are ended."""

_EVER = np.iinfo(np.int64).min
_ALL = -2


@dataclass(frozen=True, slots=True)
class EndingValues:
    """The codes of the values of a fluent that end others."""

    codes: Integers

    def among(self, values: Integers) -> Booleans:
        """For each value: is it one of these?"""
        return np.isin(values, self.codes)

    def ends(self, actions: Integers) -> Booleans:
        """For each action: is it about one of these, or about all values?"""
        return (actions < 0) | self.among(actions >> 1)

    def breaking(self, values: Integers) -> Integers:
        """Actions that only end other values. Those that end no other end what never holds."""
        return np.where(self.among(values), _ALL, values * 2)


def ending_values(
    definition: Definition, domain: Domain | None, context: Context
) -> EndingValues | None:
    """The values of a fluent that end others; None if each one does."""
    values = definition.ending_values
    if values is None:
        return None
    if domain is not None:
        columns = [constant_column(value, domain).data for value in values]
    else:
        # All values that there can be are numbers.
        numbers = [constant_column(value, None).data for value in values if _is_number(value)]
        codes = context.encoding.domains.value_domain(definition.relation)
        columns = [codes.encode_numbers(column) for column in numbers]
    return EndingValues(np.concatenate([np.empty(0, np.int64), *columns]))


def _is_number(value: Term) -> bool:
    return isinstance(value, (Number, Duration))


def hold_apart(
    actions: SortedActions, carried: SortedActions, breaks: Breaks, ties: str, tick: int
) -> Held:
    """Intervals of values that end no other, from actions on them and from breaks.

    What is carried are instances, values and starts. Breaks end all values of an instance. The
    intervals of each value of an instance are sorted by start.
    """
    instances = np.concatenate([actions[0], carried[0]])
    values = np.concatenate([actions[2] >> 1, carried[1]])
    if not len(instances):
        return instances, values, instances, instances
    # Each value of an instance is an instance by itself.
    first, which = distinct([instances, values], [None, None])
    pairs, before = which[: len(actions[0])], which[len(actions[0]) :]
    ended, times = _first_breaks(actions, pairs, carried[0], before, breaks)
    everything = sorted_actions(
        np.concatenate([pairs, ended]), np.concatenate([actions[1], times]),
        np.concatenate([actions[2], np.full(len(ended), _ALL)]), len(first),
    )  # fmt: skip
    order = np.argsort(before, kind="stable")
    kernel = hold if ties == "break" else hold_each
    held = kernel(*everything, before[order], carried[1][order], carried[2][order], tick)
    rows = first[held[0]]
    return instances[rows], values[rows], held[2], held[3]


def _first_breaks(
    actions: SortedActions, pairs: Integers, held: Integers, held_pairs: Integers, breaks: Breaks
) -> tuple[Integers, Integers]:
    """Pairs and the points at which breaks can end them.

    A pair that is initiated, or carried, ends with the first break after that point; one at the
    very point is a tie. So two for each initiation will do, however many breaks and values there
    are.
    """
    rows = np.flatnonzero(actions[2] & 1)
    initiated = np.concatenate([actions[0][rows], held])
    # What is carried was initiated before all points of the window.
    times = np.concatenate([actions[1][rows], np.full(len(held), _EVER)])
    chosen, ended = first_ends(breaks[0], initiated, breaks[1], times)
    return np.concatenate([pairs[rows], held_pairs])[chosen], breaks[1][ended]


def breaks_of(named: SortedActions, late: Integers, late_times: Integers) -> Breaks:
    """The breaks where a value that ends others is initiated, or all values are ended.

    Late are the instances, and the times, of initiations by delayed effects.
    """
    rows = np.flatnonzero((named[2] & 1) | (named[2] < 0))
    return np.concatenate([named[0][rows], late]), np.concatenate([named[1][rows], late_times])


def sorted_by_instance(one: Sequence[Integers], other: Sequence[Integers]) -> list[Integers]:
    """Intervals of two parts, by instance; those of each value stay in their order."""
    columns = [np.concatenate(both) for both in zip(one, other, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return [column[order] for column in columns]
