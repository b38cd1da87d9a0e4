"""Probabilities before the records of text lines."""

from __future__ import annotations

import numpy as np

from cernis.kernels.separated_text import separate
from cernis.kernels.text_fields import Fields
from cernis.records.probabilities import probability_marks, read_chances


def with_probability(lines: list[bytes]) -> list[int]:
    content = b"\n".join(lines) + b"\n"
    separated = separate(content)
    return probability_marks(content, separated.fields(np.arange(len(lines)), 0))[0].tolist()


def test_what_stands_before_the_first_bar_tells_a_probability() -> None:
    lines = [b"0.5::e|1|1|x", b"e|1|1|a::b", b".2::f|2|2", b"e|1|1|x", b"a::b::c|1|1"]
    assert with_probability(lines) == [0, 2, 4]


def test_none_has_one() -> None:
    assert with_probability([b"e|1|1|a:b", b"e|1|1|x"]) == []
    assert with_probability([b"e|1|1|a::b"]) == []


def test_lines_without_a_bar() -> None:
    assert with_probability([b"0.5::stop", b"stop"]) == [0]


def test_probabilities_are_numbers_and_anything_else_is_out_of_bounds() -> None:
    words = [b"0.5", b" 1e-1 ", b"+.25", b"half", b"", b"-0.5", b"\xff1"]
    highs = np.cumsum([len(word) for word in words])
    fields = Fields(np.frombuffer(b"".join(words), np.uint8), np.append(0, highs[:-1]), highs)
    assert read_chances(fields).tolist() == [0.5, 0.1, 0.25, -1, -1, -1, -1]
