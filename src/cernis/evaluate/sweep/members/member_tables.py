"""The members of keys, of all of whom a fluent holds together: written out when asked for."""

from __future__ import annotations

import numpy as np

from cernis.evaluate.sweep.key_numbers import KeyNumbers
from cernis.kernels.array_types import Array, Integers
from cernis.operators.collections import ROW
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.rule_heads import head_column
from cernis.operators.rule_pipeline import run_steps
from cernis.plan.sweep.members.head_members import HeadMembers
from cernis.syntax.tree import Variable
from cernis.tables.columns import Column, Rows


class MemberTable:
    """Who the members of each key are, in the order of the numbers of keys."""

    def __init__(self, members: HeadMembers) -> None:
        self.members = members
        self._known = 0
        """How many keys have been looked at."""
        self._offsets = np.zeros(1, np.int64)
        self._columns: list[Array] = [np.empty(0, np.int64) for _ in members.positions]

    def update(self, keys: KeyNumbers, count: int, context: Context) -> None:
        """Find out who the members of new keys are."""
        if count <= self._known:
            return
        numbers = np.arange(self._known, count)
        rows = members_of_keys(self.members, keys, numbers, context)
        owners = rows.columns[ROW].values
        domains = context.encoding.arguments(self.members.relation)
        columns = [
            head_column(Variable(name), rows, domains[place])
            for name, place in zip(self.members.names, self.members.positions, strict=True)
        ]
        owners, columns = _distinct(owners, columns)
        counts = np.bincount(owners - self._known, minlength=len(numbers))
        more = self._offsets[-1] + np.cumsum(counts)
        self._offsets = np.concatenate([self._offsets, more])
        both = zip(self._columns, columns, strict=True)
        self._columns = [np.concatenate(parts) for parts in both]
        self._known = count

    def of(self, keys: Integers) -> tuple[Integers, list[Array]]:
        """The members of some keys: a row for each, with the place of its key among those given."""
        first = self._offsets[keys]
        counts = self._offsets[keys + 1] - first
        rows = np.repeat(np.arange(len(keys)), counts)
        before = np.cumsum(counts) - counts
        places = np.arange(len(rows)) + np.repeat(first - before, counts)
        return rows, [column[places] for column in self._columns]


def members_of_keys(
    members: HeadMembers, keys: KeyNumbers, numbers: Integers, context: Context
) -> Rows:
    """A row for each way in which facts name members of some keys; `ROW` is the key's number."""
    coded = zip(members.key_names, keys.coded_columns(numbers), strict=True)
    rows = Rows(len(numbers), {**dict(coded), ROW: Column(numbers)})
    return run_steps(members.steps, rows, context).settled()


def _distinct(owners: Integers, columns: list[Array]) -> tuple[Integers, list[Array]]:
    """Each member of a key once, in the order of keys."""
    order = np.lexsort((*reversed(columns), owners))
    owners, columns = owners[order], [column[order] for column in columns]
    is_first = np.ones(len(owners), np.bool_)
    differs = [column[1:] != column[:-1] for column in (owners, *columns)]
    is_first[1:] = np.logical_or.reduce(differs)
    return owners[is_first], [column[is_first] for column in columns]
