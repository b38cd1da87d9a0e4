"""Columns of constants, and columns in the codes of another domain."""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Array
from cernis.knowledge.ground_values import value
from cernis.syntax.tree import Duration, Term
from cernis.tables.columns import Column, constant
from cernis.tables.domains import Domain, Value, numbers


def constant_column(term: Term, domain: Domain | None) -> Column:
    """A ground term as a column of one value."""
    if domain is None:
        return constant(_value(term), None)
    known = domain.constants.get(term)
    if known is None:
        known = domain.constants[term] = constant(_value(term), domain)
    return known  # type: ignore[return-value]


def _value(term: Term) -> Value:
    if isinstance(term, Duration):
        from cernis.syntax.tokens import DURATION_UNITS

        return term.amount * DURATION_UNITS[term.unit]
    return value(term)  # type: ignore[return-value]


def recoded(column: Column, domain: Domain | None, length: int) -> Array:
    """The values of a column row by row, as codes of another domain or as numbers."""
    if not length:
        # An empty column has no type of its own; as integers, it turns no other column into floats.
        return np.empty(0, np.int64)
    values = column.expanded(length)
    if column.domain is domain:
        return values
    if column.domain is None:
        assert domain is not None
        return domain.encode_numbers(values)
    if domain is None:
        used, places = np.unique(values, return_inverse=True)
        return numbers(column.domain.decode(used))[places]
    known = column.domain.values
    table = domain.encode(known)
    return table[values] if len(known) else values
