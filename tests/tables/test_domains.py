"""Codes of values: each value has one, whatever the way it is encoded."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cernis.tables.domains import Domain, Value

VALUES: list[Value] = [3, 3.0, "3", 0, 0.0, 7, 2.5, "a", "", 100_000, -1, 1 << 70, float("inf")]


@pytest.mark.parametrize("seed", range(40))
def test_each_value_has_one_code(seed: int) -> None:
    random = Random(seed)
    domain = Domain()
    for _ in range(12):
        kinds = random.choice([(int,), (float,), (str,), (int, str), (int, float, str)])
        some = [value for value in VALUES if type(value) in kinds]
        given = random.choices(some, k=random.randrange(8))
        way = random.randrange(4)
        if way == 0:
            codes = np.array([domain.code(value) for value in given], np.int64)
        elif way == 1 and kinds == (float,):
            codes = domain.encode_numbers(np.array(given, np.float64))
        elif way == 2 and kinds == (int,):
            given = [value for value in given if value != 1 << 70]
            codes = domain.encode_integers(np.array(given, np.int64))
        else:
            codes = domain.encode(given)
        found = domain.decode(codes)
        assert [(type(v), v) for v in found] == [(type(v), v) for v in given], f"seed {seed}"
    assert len({(type(value), value) for value in domain.values}) == len(domain), f"seed {seed}"
