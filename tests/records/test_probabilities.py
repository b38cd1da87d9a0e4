"""Probabilities before the records of text lines."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cernis.records.probabilities import lines_with_probability, probable_lines


def with_probability(lines: list[bytes]) -> list[bool] | None:
    starts = np.cumsum([0, *(len(line) + 1 for line in lines)])[:-1]
    found = lines_with_probability(b"\n".join(lines), starts)
    return None if found is None else found.tolist()


def test_what_stands_before_the_first_bar_tells_a_probability() -> None:
    lines = [b"0.5::e|1|1|x", b"e|1|1|a::b", b".2::f|2|2", b"e|1|1|x"]
    assert with_probability(lines) == [True, False, True, False]


def test_none_has_one() -> None:
    assert with_probability([b"e|1|1|a:b", b"e|1|1|x"]) is None
    assert with_probability([b"e|1|1|a::b"]) is None


def test_lines_without_a_bar() -> None:
    assert with_probability([b"0.5::stop", b"stop"]) == [True, False]


def test_probabilities_are_numbers_and_anything_else_is_out_of_bounds() -> None:
    lines = [b"0.5::e|1", b" 1e-1 ::e|2", b"+.25::e|3", b"half::e|4", b"::e|5", b"-0.5::e|6"]
    found = probable_lines(pa.array(lines, pa.binary()))
    assert found.text == b"e|1e|2e|3e|4e|5e|6"
    assert found.chances.tolist() == [0.5, 0.1, 0.25, -1, -1, -1]
    assert found.written.to_pylist()[3] == b"half"
