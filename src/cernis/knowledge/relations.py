"""Rows with hash indexes, and the meter that bounds the work on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from time import monotonic
from typing import Any, Final, TypeAlias

from cernis.errors import KnowledgeError
from cernis.knowledge.ground_values import Row
from cernis.knowledge.resolution.machine import Limits

Index: TypeAlias = dict[Any, list[Row]]
_STRIDE: Final = 50_000


class IndexedRows:
    """Distinct rows in the order they came, with indexes that follow as rows are added."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.rows: dict[Row, None] = dict.fromkeys(rows)
        self._indexes: dict[tuple[tuple[int, ...], tuple[int, ...]], Index] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows that are not there yet."""
        added = list(rows)
        self.rows.update(dict.fromkeys(added))
        for (keys, kept), index in self._indexes.items():
            _fill(index, added, keys, kept)

    def index(self, keys: tuple[int, ...], kept: tuple[int, ...]) -> Index:
        """The kept columns of the rows by the key columns: one value, or a tuple of several."""
        if (keys, kept) not in self._indexes:
            _fill(self._indexes.setdefault((keys, kept), {}), self.rows, keys, kept)
        return self._indexes[keys, kept]


def _fill(index: Index, rows: Iterable[Row], keys: Sequence[int], kept: Sequence[int]) -> None:
    get, pick = key_of(keys), columns(kept)
    for row in rows:
        key = get(row)
        same_key = index.get(key)
        if same_key is None:
            index[key] = [pick(row)]
        else:
            same_key.append(pick(row))


def key_of(positions: Sequence[int]) -> Callable[[Row], Any]:
    """A row's key: the value of one position, the tuple of several, `()` of none."""
    return itemgetter(*positions) if positions else lambda row: ()


def columns(positions: Sequence[int]) -> Callable[[Row], Row]:
    """Some positions of a row, always as a tuple."""
    if len(positions) == 1:
        (only,) = positions
        return lambda row: (row[only],)
    return key_of(positions)


class Meter:
    """Counts the work of a group of predicates and ends it at the limits."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.predicate = ""
        self._work = 0
        self._next = _STRIDE
        self._deadline = monotonic() + limits.materialise_seconds

    def spend(self, work: int) -> None:
        """Note work done; look at the clock now and then."""
        self._work += work
        if self._work >= self._next:
            self._next = self._work + _STRIDE
            if monotonic() > self._deadline:
                raise self._error(f"takes longer than {self.limits.materialise_seconds:g} s")

    def see_size(self, rows: int) -> None:
        """End it if there are too many rows."""
        if rows > self.limits.tuples:
            raise self._error(f"derives more than {self.limits.tuples:,} rows")

    def _error(self, message: str) -> KnowledgeError:
        hint = "narrow its rules, or raise the limit"
        return KnowledgeError(self.predicate, f"{message} when it is computed as a table; {hint}")
