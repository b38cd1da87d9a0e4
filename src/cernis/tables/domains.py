"""Domains: the values an argument takes, numbered densely as they are met.

Columns that can be compared hold codes of one domain, so that joining and grouping are about
small integers whatever the values are. Columns of numbers of one form that rules compare or compute
with stay numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.errors import InternalError
from cernis.kernels.array_types import Array, Bytes, Floats, Integers
from cernis.kernels.hashing import Numbering
from cernis.kernels.integer_codes import look_up

Value: TypeAlias = int | float | str

INFINITE = frozenset({"inf", "infinite"})
"""Texts that are numbers wherever a number is meant."""

EXACT = 1 << 53
"""Whole numbers up to this size are exact as floats."""

_LARGEST = (1 << 63) - 1

_DENSE = 4
"""Integers are numbered through a table if their range is at most this many times their count."""


class Texts(Sequence[Value]):
    """Texts as Arrow has them; they become Python's only when they are asked for."""

    def __init__(self, array: pa.LargeStringArray) -> None:
        self.array = array
        self._list: list[Value] | None = None

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, index: int) -> Value: ...
    @overload
    def __getitem__(self, index: slice) -> list[Value]: ...
    def __getitem__(self, index: int | slice) -> Value | list[Value]:
        if self._list is None:
            self._list = self.array.to_pylist()
        return self._list[index]

    def __iter__(self) -> Iterator[Value]:
        return iter(self[:])


NO_NUMBER, WHOLE, FRACTION, OVERFLOW = range(4)
"""Kinds of values as numbers: none, a whole number, a float; or a whole number of too many bits."""


@dataclass(frozen=True, slots=True)
class NumericValues:
    """Numbers of any form, row by row: `ints` where `kinds` is WHOLE, `floats` where FRACTION.

    Elsewhere `floats` is not a number.
    """

    kinds: Bytes
    ints: Integers
    floats: Floats

    def __len__(self) -> int:
        return len(self.kinds)

    def take(self, rows: Array) -> NumericValues:
        """The numbers of some rows."""
        return NumericValues(self.kinds[rows], self.ints[rows], self.floats[rows])

    def as_floats(self) -> Floats | None:
        """All as floats that compare as the numbers do; None if a whole number has none."""
        whole = self.kinds == WHOLE
        ints = self.ints[whole]
        if len(ints) and (int(ints.max()) > EXACT or int(ints.min()) < -EXACT):
            return None
        if (self.kinds == OVERFLOW).any():
            return None
        return np.where(whole, self.ints.astype(np.float64), self.floats)


def numbers_of(values: Sequence[Any]) -> NumericValues:
    """Values as numbers, as far as they are such.

    >>> numbers_of([2, 2.5, "inf", "red"]).kinds.tolist()
    [1, 2, 2, 0]
    """
    kinds = np.fromiter(map(_kind, values), np.uint8, len(values))
    ints = [value if kind == WHOLE else 0 for value, kind in zip(values, kinds, strict=True)]
    floats = np.full(len(values), np.nan)
    for at in np.flatnonzero(kinds == FRACTION).tolist():
        floats[at] = values[at] if isinstance(values[at], float) else np.inf
    return NumericValues(kinds, np.array(ints, np.int64), floats)


def _kind(value: Any) -> int:
    if isinstance(value, int):
        return WHOLE if value + 1 >= -_LARGEST and value <= _LARGEST else OVERFLOW
    return FRACTION if isinstance(value, float) or value in INFINITE else NO_NUMBER


@dataclass(slots=True)
class Domain:
    """Values and their codes; codes count from 0 and never change.

    >>> domain = Domain()
    >>> domain.encode(["b", "a", "b"]).tolist(), domain.values
    ([0, 1, 0], ['b', 'a'])
    """

    values: list[Value] = field(default_factory=list)
    _codes: dict[Hashable, int] = field(default_factory=dict)
    _fractions: dict[float, int] = field(default_factory=dict)
    """The codes of floats: 3 and 3.0 are two values, though Python takes one for the other."""
    _table: Integers = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    _low: int = 0
    constants: dict[Hashable, object] = field(default_factory=dict, repr=False)
    """Columns of one value, by the terms they were made for."""
    _scattered: tuple[Numbering, Integers] | None = field(default=None, repr=False)
    """Numbers of integers that no table reaches, and the codes by these numbers."""
    _texts: tuple[pa.LargeStringArray, Integers, int] | None = field(default=None, repr=False)
    """The texts among the values, their codes, and how many values there were then."""
    _met: tuple[pa.LargeStringArray, Integers] | None = field(default=None, repr=False)
    """The longest list of texts so far, and its codes: tables often have the same one."""
    _numbers: NumericValues | None = field(default=None, repr=False)
    _floats: Floats | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.values)

    def code(self, value: Value) -> int:
        """The code of a value, which is added if it is new."""
        index: dict[Any, int] = self._fractions if isinstance(value, float) else self._codes
        code = index.get(value)
        if code is None:
            code = index[value] = len(self.values)
            self.values.append(value)
            if type(value) is int and 0 <= value - self._low < len(self._table):
                self._table[value - self._low] = code
        return code

    def encode(self, values: Iterable[Value]) -> Integers:
        """The codes of values one by one."""
        if isinstance(values, Texts):
            return self._encode_texts(values.array)
        listed = values if isinstance(values, list) else list(values)
        kinds = set(map(type, listed))
        if kinds - {float} and kinds - {int, str}:
            return np.fromiter(map(self.code, listed), np.int64, len(listed))
        index = self._fractions if float in kinds else self._codes
        codes = list(map(index.get, listed))
        if None in codes:
            self._add([v for v, c in zip(listed, codes, strict=True) if c is None], index)
            codes = list(map(index.get, listed))
        return np.array(codes, np.int64)

    def _add(self, values: list[Value], index: dict[Any, int]) -> None:
        """Add new values of one index, each once, in this order."""
        new, first = list(dict.fromkeys(values)), len(self.values)
        self.values.extend(new)
        index.update(zip(new, range(first, first + len(new)), strict=True))
        if len(self._table):
            low, high = self._low, self._low + len(self._table)
            for at, value in enumerate(new, first):
                if type(value) is int and low <= value < high:
                    self._table[value - low] = at

    def _encode_texts(self, texts: pa.LargeStringArray) -> Integers:
        if self._met is not None and texts.equals(self._met[0]):
            return self._met[1]
        codes = self._look_up(texts)
        if self._met is None or len(texts) >= len(self._met[0]):
            self._met = texts, codes
        return codes

    def _look_up(self, texts: pa.LargeStringArray) -> Integers:
        known, codes = self._known_texts()
        places = pc.index_in(texts, value_set=known)
        codes_of_texts = np.full(len(texts), -1, np.int64)
        is_known = places.is_valid().to_numpy(zero_copy_only=False)
        codes_of_texts[is_known] = codes[places.drop_null().to_numpy()]
        new = np.flatnonzero(~is_known)
        if len(new):
            codes_of_texts[new] = [
                self.code(text) for text in texts.take(pa.array(new)).to_pylist()
            ]
        return codes_of_texts

    def _known_texts(self) -> tuple[pa.LargeStringArray, Integers]:
        if self._texts is None or self._texts[2] != len(self.values):
            own = [(code, v) for code, v in enumerate(self.values) if type(v) is str]
            array = pa.array([text for _, text in own], pa.large_string())
            self._texts = array, np.array([code for code, _ in own], np.int64), len(self.values)
        return self._texts[:2]

    def encode_numbers(self, values: Integers | Floats) -> Integers:
        """The codes of an array of numbers, of which mostly many are the same."""
        if values.dtype.kind in "iu":
            return self.encode_integers(values.astype(np.int64, copy=False))
        distinct, inverse = np.unique(values, return_inverse=True)
        return self.encode(distinct.tolist())[inverse.ravel()]

    def encode_integers(self, values: Integers) -> Integers:
        """The codes of an array of integers."""
        if not len(values):
            return np.empty(0, np.int64)
        values = np.ascontiguousarray(values)
        codes, missing = look_up(values, self._low, self._table)
        if not missing:
            return codes
        low, high = int(values.min()), int(values.max())
        if not self._covers(low, high, len(values)):
            return self._encode_scattered(values)
        codes, missing = look_up(values, self._low, self._table)
        if missing:
            self._add_integers(np.unique(values[codes < 0]))
            codes, _ = look_up(values, self._low, self._table)
        return codes

    def _encode_scattered(self, values: Integers) -> Integers:
        """The codes of integers that lie too far apart for a table."""
        if self._scattered is None:
            self._scattered = Numbering(), np.empty(0, np.int64)
        numbering, codes = self._scattered
        numbers = numbering.of(values)
        if len(numbering) > len(codes):
            new = numbering.keys[len(codes) :].tolist()
            codes = np.concatenate([codes, np.fromiter(map(self.code, new), np.int64, len(new))])
            self._scattered = numbering, codes
        found: Integers = codes[numbers]
        return found

    def _covers(self, low: int, high: int, count: int) -> bool:
        """Let a table from integers to codes reach over a range, if that is not too large."""
        if len(self._table):
            low, high = min(low, self._low), max(high, self._low + len(self._table) - 1)
        if high - low >= _DENSE * count + 65_536:
            return False
        if not len(self._table) or low < self._low or high >= self._low + len(self._table):
            table = np.full(high - low + 1, -1, np.int64)
            known = [
                (v, c) for c, v in enumerate(self.values) if type(v) is int and low <= v <= high
            ]
            if known:
                table[np.array([v for v, _ in known]) - low] = [c for _, c in known]
            self._table, self._low = table, low
        return True

    def _add_integers(self, values: Integers) -> None:
        first = len(self.values)
        new = values.tolist()
        self.values.extend(new)
        self._codes.update(zip(new, range(first, first + len(new)), strict=True))
        self._table[values - self._low] = np.arange(first, first + len(new))

    def numbers(self) -> NumericValues:
        """The values as numbers, by their codes."""
        known = self._numbers
        if known is None:
            known = self._numbers = numbers_of(self.values)
        elif len(known) < len(self.values):
            more = numbers_of(self.values[len(known) :])
            known = self._numbers = NumericValues(
                np.concatenate([known.kinds, more.kinds]),
                np.concatenate([known.ints, more.ints]),
                np.concatenate([known.floats, more.floats]),
            )
        return known

    def floats(self) -> Floats | None:
        """The values as floats that compare as the numbers do; None if there are no such.

        The array is the same as long as the domain does not grow.
        """
        if self._floats is None or len(self._floats) != len(self.values):
            self._floats = self.numbers().as_floats()
        return self._floats

    def decode(self, codes: Integers) -> list[Value]:
        """The values of codes."""
        values = self.values
        return [values[code] for code in codes.tolist()]

    def distinct(self, codes: Integers) -> tuple[list[Value], Integers]:
        """The values that some codes stand for, each once, and which of them each code has."""
        is_used = np.zeros(len(self.values), np.bool_)
        is_used[codes] = True
        used = np.flatnonzero(is_used)
        places = np.zeros(len(self.values), np.int64)
        places[used] = np.arange(len(used))
        return self.decode(used), places[codes]


@dataclass(slots=True)
class Domains:
    """One domain for each class of slots that share their values."""

    arrays: frozenset[Hashable] = frozenset()
    """The classes that are held as arrays of numbers."""
    _domains: dict[Hashable, Domain] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(map(len, self._domains.values()))

    def of(self, class_: Hashable) -> Domain:
        """The domain of a class, made when it is first asked for."""
        return self._domains.setdefault(class_, Domain())

    def value_domain(self, relation: Hashable) -> Domain:
        """The domain in which the values of a fluent get codes if they are held as numbers."""
        return self.of(("values of", relation))

    def encoding(self, class_: Hashable) -> Domain | None:
        """The domain of a class; None if it is held as an array of numbers."""
        return None if class_ in self.arrays else self.of(class_)


def numbers(values: Sequence[Any]) -> Array:
    """Numbers of one form as an array: whole ones or floats. Others are an InternalError."""
    kinds = set(map(type, values))
    if kinds <= {int}:
        return np.array(values, np.int64)
    if kinds != {float}:
        raise InternalError("values of several forms are held as numbers of one")
    return np.array(values, np.float64)


def has_gaps(values: Array) -> bool:
    """May some value be no number? Their sum shows it, at less cost than looking at each."""
    with np.errstate(all="ignore"):
        return bool(np.isnan(values.sum()))
