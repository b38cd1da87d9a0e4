"""To which rows the evaluation of definitions is restricted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from cernis.check.model import Relation
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.tables.domains import Domain

RowSelection: TypeAlias = Callable[[Relation, list[Array], list[Domain | None]], Integers | None]
"""Selects rows of a relation by its encoded arguments; None stands for all rows."""


class InstanceSet(Protocol):
    """Some instances of relations."""

    def mask(self, relation: Relation, arguments: list[Array]) -> Booleans | None:
        """For each row: is it one of these instances? None if that is no matter here."""


@dataclass(frozen=True, slots=True)
class Restriction:
    """Of which rows a definition is evaluated; without restriction, of all."""

    instances: InstanceSet | None = None
    """The instances for which a definition is evaluated; None for all."""
    owned: RowSelection | None = None
    """Selects the derived rows that this bucket is responsible for.

    There is no such function where no other bucket can derive the same rows.
    """
