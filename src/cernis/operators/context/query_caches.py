"""Results that several rules share within one query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cernis.kernels.hashing import Numbering
from cernis.tables.columns import Rows


@dataclass(slots=True)
class QueryCaches:
    """What is worked out about the tables of a query, so that no two rules do it twice.

    Results about columns are found by the identity of the columns, which are kept beside them.
    """

    ordered: dict[tuple[int, ...], tuple[Any, ...]] = field(default_factory=dict)
    """Orders of rows by some columns and time."""
    numberings: dict[tuple[int, ...], Numbering] = field(default_factory=dict)
    """Numberings of combinations of arguments, shared by the domains of the arguments."""
    computed: dict[tuple[object, ...], tuple[Any, object]] = field(default_factory=dict)
    """Results of expressions and comparisons over whole tables."""
    matched: dict[int, list[Rows]] = field(default_factory=dict)
    """The matches of pattern steps that have been evaluated, by the identity of the step."""

    def for_other_tables(self) -> QueryCaches:
        """Caches for tables that are cut down from these, which have columns of their own."""
        return QueryCaches(numberings=self.numberings, matched=self.matched)
