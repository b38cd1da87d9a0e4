"""Background knowledge during a query: the tables of predicates, in codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cernis.errors import KnowledgeError
from cernis.kernels.array_types import Array
from cernis.knowledge import Knowledge
from cernis.knowledge.ground_values import Value as KnownValue
from cernis.operators.context.lasting_results import Background, Memo
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.syntax.tree import Term
from cernis.tables.domains import Domain, numbers


@dataclass(slots=True)
class BackgroundTables:
    """What is known beside the records: facts, rules, and the members of dynamic domains."""

    knowledge: Knowledge
    encoding: ValueEncoding
    memo: Memo = field(default_factory=Memo)
    filled: dict[tuple[str, int], list[Array]] = field(default_factory=dict)
    """Encoded rows that the run itself adds to predicates: members of domains."""
    fillings: dict[tuple[str, int], int] = field(default_factory=dict)
    """For each such predicate, how often it has been filled, counted from 1."""

    def table(self, name: str, arity: int) -> Background:
        """The table of a predicate, encoded when it is first asked for."""
        key = (name, arity)
        filling = self.filling(key)
        known = self.memo.tables.get(key)
        if known is None or known[0] != filling:
            known = self.memo.tables[key] = (filling, self._encode(key))
        return known[1]

    def filling(self, key: tuple[str, int]) -> int:
        """How often the run has filled a table; 0 for a table that it does not fill."""
        if key in self.fillings:
            return self.fillings[key]
        predicate = self.knowledge.predicates.get(key)
        return self.all_fillings if predicate is not None and predicate.grows else 0

    @property
    def all_fillings(self) -> int:
        """A number that changes whenever any table is filled again."""
        return sum(self.fillings.values())

    def knowing(self, goal: Term) -> Knowledge:
        """The knowledge that answers a goal; members of dynamic domains are in it if needed."""
        grows = self.memo.once("grows", goal, lambda: self.knowledge.grows(goal))
        return self._filled_knowledge() if grows else self.knowledge

    def _filled_knowledge(self) -> Knowledge:
        known = self.memo.filled
        if known is None or known[0] != self.all_fillings:
            rows = {key: self._rows(key, columns) for key, columns in self.filled.items()}
            known = self.memo.filled = (self.all_fillings, self.knowledge.filled(rows))
        return known[1]

    def _rows(self, key: tuple[str, int], columns: list[Array]) -> list[tuple[Any, ...]]:
        decoded = [
            column.tolist() if domain is None else domain.decode(column)
            for column, domain in zip(columns, self.encoding.predicate(*key), strict=True)
        ]
        return list(zip(*decoded, strict=True))

    def fill(
        self, key: tuple[str, int], rows: Sequence[tuple[KnownValue, ...]], filling: int
    ) -> None:
        """Fill a table of background knowledge."""
        values = list(zip(*rows, strict=True)) if rows else [()] * key[1]
        domains = self.encoding.predicate(*key)
        self.filled[key] = _encoded_rows(key, values, domains)
        self.fillings[key] = filling

    def _encode(self, key: tuple[str, int]) -> Background:
        domains = self.encoding.predicate(*key)
        columns, count = self._known_rows(key, domains)
        filled = self.filled.get(key)
        if filled:
            count += len(filled[0])
            columns = [
                np.concatenate(both) if len(both[0]) else both[1]
                for both in zip(columns, filled, strict=True)
            ]
        return Background(columns, domains, count)

    def _known_rows(
        self, key: tuple[str, int], domains: list[Domain | None]
    ) -> tuple[list[Array], int]:
        """The rows of a predicate that follow from facts and rules, and how many they are."""
        predicate = self.knowledge.predicates.get(key)
        is_derived = predicate is not None and predicate.grows and key not in self.filled
        knowledge = self._filled_knowledge() if is_derived else self.knowledge
        table = knowledge.table(*key) if predicate is not None else None
        if table is None:
            return [np.empty(0, np.int64)] * key[1], 0
        values = [tuple(column.values) for column in table.columns]
        return _encoded_rows(key, values, domains), len(table)


def _encoded_rows(
    key: tuple[str, int], columns: Sequence[tuple[KnownValue, ...]],
    domains: Sequence[Domain | None],
) -> list[Array]:  # fmt: skip
    """The columns of a predicate; whole numbers of more than 64 bits are an error."""
    try:
        return [_encoded(*each) for each in zip(columns, domains, strict=True)]
    except OverflowError:
        far = next(v for own in columns for v in own if isinstance(v, int) and v.bit_length() > 63)
        raise KnowledgeError(
            f"{key[0]}/{key[1]}",
            f"{far} is a whole number of more than 64 bits; write it with a "
            "decimal point if it is one to compute with, or in quotes if it is a name",
        ) from None


def _encoded(values: tuple[KnownValue, ...], domain: Domain | None) -> Array:
    if domain is None:
        return numbers(values)
    if values and type(values[0]) is int and set(map(type, values)) == {int}:
        return domain.encode_integers(np.array(values, np.int64))
    return domain.encode(values)  # type: ignore[arg-type]
