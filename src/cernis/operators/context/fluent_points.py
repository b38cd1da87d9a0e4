"""Initiations and terminations of a fluent, and attempts at delayed effects, as rows."""

from __future__ import annotations

from dataclasses import dataclass

from cernis.kernels.array_types import Array, Integers


@dataclass(slots=True)
class Points:
    """Initiations or terminations of a fluent, one row for each: arguments, value and time.

    A termination of whatever value holds has the value -1. Where other rules have terminations as
    conditions, it is repeated for each value c that the instance had before, written as -2 - c.
    """

    arguments: list[Array]
    values: Array
    times: Integers


@dataclass(slots=True)
class Attempts:
    """Initiations whose delayed effects may be still to come: arguments, values, times, ends.

    An attempt ends when it is broken, when it has had its effects, or when another attempt replaces
    it. Most attempts need not be listed, because the table of intervals shows them: those that lie
    one tick before the start of an interval, end when it ends, and cannot be postponed.
    """

    arguments: list[Array]
    values: Integers
    times: Integers
    ends: Integers

    def take(self, rows: Integers) -> Attempts:
        """Some of them."""
        columns = [column[rows] for column in self.arguments]
        return Attempts(columns, self.values[rows], self.times[rows], self.ends[rows])
