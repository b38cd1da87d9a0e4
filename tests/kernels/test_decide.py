"""Conditions decided in one pass."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cernis.kernels import decide as machine
from cernis.kernels.decide import BLOCK, decide, decide_plain, held_constants, sign, sign_plain

ARITHMETIC = (
    machine.ADD, machine.SUBTRACT, machine.MULTIPLY, machine.LEAST, machine.GREATEST,
    machine.ABSOLUTE, machine.NEGATE, machine.DIVIDE, machine.FLOOR,
)  # fmt: skip
TESTS = (
    machine.LESS, machine.LESS_OR_EQUAL, machine.EQUAL, machine.UNEQUAL, machine.IS_NUMBER,
)  # fmt: skip
NUMBERS = [-2.0, -1.0, 0.0, 0.5, 1.0, 3.0, np.nan, np.inf]


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    """Some loads, some arithmetic, some tests; registers 0 and 1 are constants."""
    code = [
        (machine.LOAD, 2, 0, 0), (machine.LOAD_INTEGER, 3, 1, 0), (machine.PICK, 4, 2, 3),
        (machine.PICK_INTEGER, 5, 4, 3),
    ]  # fmt: skip
    for _ in range(draw(st.integers(0, 4))):
        known = st.integers(0, len(code) + 1)
        code.append((draw(st.sampled_from(ARITHMETIC)), len(code) + 2, draw(known), draw(known)))
    known = st.integers(0, len(code) + 1)
    test = st.tuples(st.sampled_from(TESTS), st.integers(0, 1), known, known)
    flags = st.just((machine.IS_SET, 0, 5, 0))
    groups = st.sampled_from([(machine.BEGIN, 0, 0, 0), (machine.NOT_ALL, 0, 0, 0)])
    # Mask 1 means something only once it has begun.
    return [*code, (machine.BEGIN, 0, 0, 0), *draw(st.lists(test | flags | groups, max_size=6))]


@given(programs(), st.integers(0, 3 * BLOCK), st.integers(0, 2**32 - 1))
def test_decide_equals_its_twin(
    code: list[tuple[int, int, int, int]], rows: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    columns = [
        rng.choice(NUMBERS, rows), rng.integers(-2, 3, rows), rng.choice(NUMBERS, 7),
        rng.integers(0, 7, rows), rng.integers(-2, 3, 7), rng.random(rows) < 0.8,
    ]  # fmt: skip
    given_input = np.array(code), columns, {0: 1.0, 1: -0.5}, len(code) + 2, rows
    with np.errstate(all="ignore"):
        expected = decide_plain(*given_input)
    found = decide(*given_input)
    assert found[0].tolist() == expected[0].tolist()
    assert found[1] == expected[1]


@given(st.lists(programs(), min_size=1, max_size=3), st.integers(0, 3 * BLOCK), st.integers(0, 99))
def test_sign_equals_its_twin(
    parts: list[list[tuple[int, int, int, int]]], rows: int, seed: int
) -> None:
    """Each part is a condition of its own, and signs with a bit of its own, the highest too."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.choice(NUMBERS, rows), rng.integers(-2, 3, rows), rng.choice(NUMBERS, 7),
        rng.integers(0, 7, rows), rng.integers(-2, 3, 7), rng.random(rows) < 0.8,
        rng.random(7) < 0.5,
    ]  # fmt: skip
    code: list[tuple[int, int, int, int]] = []
    for bit, part in zip((0, 40, 63), parts, strict=False):
        code += [(machine.RESTART, 0, 0, 0), (machine.IS_SET_AT, 0, 6, 3), *part]
        code.append((machine.SIGN, bit, 0, 0))
    program, registers, constants = np.array(code), len(code) + 2, {0: 1.0, 1: -0.5}
    words = np.zeros(rows, np.int64)
    sign(program, columns, held_constants(constants, registers), words)
    with np.errstate(all="ignore"):
        expected = sign_plain(program, columns, constants, registers, rows)
    assert words.tolist() == expected.tolist()
