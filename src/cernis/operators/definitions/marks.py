"""Points kept as marks on the rows of the events they come from, where that can be done.

A rule whose head takes its arguments straight from the event it scans, with a value that is a
constant (or any), gives rows of that event's table, in their order. Rules that do so over the same
table share one column of marks, and nothing has to be sorted or merged.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cernis.check.model import Pair
from cernis.kernels.array_types import Array, Booleans, Bytes, Integers
from cernis.kernels.inertia.marked_rows import MOST_ACTIONS, Stretches, mark, stretches
from cernis.kernels.order import order_by
from cernis.operators.context.query_caches import QueryCaches
from cernis.operators.definitions.instance_keys import InstanceKeys
from cernis.syntax.tree import Variable
from cernis.tables.columns import Rows
from cernis.tables.domains import Domain


@dataclass(slots=True)
class Marked:
    """A rule's rows in the table they come from: all of them if `rows` is None."""

    times: Integers
    arguments: list[Array]
    rows: Integers | None
    mask: Booleans | None
    action: int

    def chosen(self) -> Integers:
        """The positions of the rows in their table."""
        if self.mask is None:
            return self.rows if self.rows is not None else np.arange(len(self.times))
        own = np.flatnonzero(self.mask)
        return own if self.rows is None else self.rows[own]


def marked(head: Pair, rows: Rows, domains: list[Domain | None], action: int) -> Marked | None:
    """The rows of a rule as marks; None if its head takes more than the event's own columns."""
    if rows.times is None or not domains:
        return None
    arguments = []
    for arg, domain in zip(head.args, domains, strict=True):
        if not isinstance(arg, Variable) or domain is None:
            return None
        column = rows.columns[arg.name]
        if column.index is not rows.times.index or column.domain is not domain:
            return None
        if column.constant or len(column.data) != len(rows.times.data):
            return None
        arguments.append(column.data)
    return Marked(rows.times.data, arguments, rows.times.index, rows.mask, action)


@dataclass(slots=True)
class Marks:
    """Marks of several rules on one table."""

    times: Integers
    arguments: list[Array]
    flags: Bytes = field(init=False)
    actions: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.flags = np.zeros(len(self.times), np.uint8)

    def fits(self, rule: Marked) -> bool:
        """Is the rule about the same rows, and is there a bit for its action?"""
        return (
            rule.times is self.times
            and all(a is b for a, b in zip(rule.arguments, self.arguments, strict=True))
            and (rule.action in self.actions or len(self.actions) < MOST_ACTIONS)
        )

    def _bit(self, action: int) -> int:
        if action not in self.actions:
            self.actions.append(action)
        return self.actions.index(action)

    def add_rule(self, rule: Marked) -> None:
        """Mark the rows of a rule; equal actions share a bit."""
        if rule.rows is not None:
            self.add(rule.chosen(), rule.action)
            return
        flag = np.uint8(1 << self._bit(rule.action))
        if rule.mask is None:
            self.flags |= flag
        else:
            self.flags |= rule.mask.view(np.uint8) * flag

    def add(self, rows: Integers, action: int) -> None:
        """Mark rows with an action."""
        mark(self.flags, np.ascontiguousarray(rows), self._bit(action))


def by_instance(
    marks: Marks, keys: InstanceKeys, caches: QueryCaches
) -> tuple[Stretches, Integers, Bytes]:
    """The rows of a table sorted by instance and time, and their marks.

    How a table is sorted is found out once for all fluents. Mostly it is in this order.
    """
    known = caches.ordered
    # How keys are made changes when a domain grows.
    name = (id(marks.times), *(id(column) for column in marks.arguments), *keys.shape)
    if name not in known:
        groups = np.ascontiguousarray(keys.of(marks.arguments, len(marks.times)))
        times = np.ascontiguousarray(marks.times)
        rows, order = stretches(groups, times), None
        if rows is None:
            order = order_by(groups, times)
            groups, times = groups[order], times[order]
            rows = stretches(groups, times)
        # The columns are kept beside the result, so that their identities stay theirs.
        known[name] = (rows, times, order, marks.times, marks.arguments)
    rows, times, order = known[name][:3]
    return rows, times, marks.flags if order is None else marks.flags[order]
