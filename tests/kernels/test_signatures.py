"""Kernels take structures: named tuples of arrays and numbers."""

import inspect
from typing import NamedTuple

import numpy as np
import pytest

from cernis.kernels import compile as compiling
from cernis.kernels.array_types import Floats, Integers, Words
from cernis.kernels.compile import kernel, part
from cernis.kernels.signatures import flattened, read_signature

WORDS = "(integers words word) integer (floats writable-floats)"


class Columns(NamedTuple):
    """Two columns and a number that is cut off as words are."""

    left: Integers
    right: Words
    mask: int


class Weights(NamedTuple):
    """What rows weigh, and where they are written."""

    by_row: Floats
    to: Floats


@part
def _masked(columns: Columns, row: int) -> np.uint64:
    return np.uint64(columns.left[row]) + (columns.right[row] & np.uint64(columns.mask))


@kernel(WORDS, "integer", counted=(4,))
def _weigh(columns: Columns, first: int, weights: Weights) -> int:
    total = 0
    for row in range(first, len(columns.left)):
        total += int(_masked(columns, row))
        weights.to[row] = weights.by_row[row] * columns.left[row]
    return total


def _arguments() -> tuple[Columns, Weights]:
    left, right = np.array([1, 2, 3]), np.array([4, 5, 6], np.uint64)
    # What is only read may be an array that cannot be written to.
    left.flags.writeable = False
    return Columns(left, right, 6), Weights(np.array([0.5, 1.0, 2.0]), np.zeros(3))


def test_structures_are_the_same_compiled_and_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "PLAIN_ROWS", 0)
    columns, weights = _arguments()
    compiled = _weigh(columns, 1, weights)
    monkeypatch.setattr(compiling, "PLAIN_ROWS", 1000)
    again = kernel(WORDS, "integer")(_weigh.__wrapped__)  # type: ignore[attr-defined]
    more_columns, more_weights = _arguments()
    assert again(more_columns, 1, more_weights) == compiled == 2 + 4 + 3 + 6
    assert weights.to.tolist() == more_weights.to.tolist() == [0.0, 2.0, 6.0]


def test_fields_stand_one_after_the_other_and_go_together_again() -> None:
    signature = read_signature(inspect.unwrap(_weigh), WORDS)
    columns, weights = _arguments()
    fields = flattened((columns, 1, weights))
    assert len(fields) == len(signature.words) == 6
    assert [type(each) for each in signature.regrouped(fields)] == [Columns, int, Weights]


def test_words_must_be_those_of_the_structure() -> None:
    with pytest.raises(TypeError, match="columns has 3 fields, not 2"):
        read_signature(inspect.unwrap(_weigh), "(integers words) integer (floats writable-floats)")
