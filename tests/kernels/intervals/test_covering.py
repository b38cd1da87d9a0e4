"""Points against all intervals of a key, which may overlap."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cernis.kernels.inertia.plain_inertia import INFINITY
from cernis.kernels.intervals.covering import covered, covered_plain, covering, covering_plain
from tests.kernels.drawn import bases, integers, sized


@st.composite
def questions(draw: st.DrawFn) -> tuple[Any, ...]:
    """Intervals of some keys by start, and points by key and time."""
    base, count = draw(bases()), draw(st.integers(1, 3))
    own = np.sort(integers(draw(sized(st.integers(0, count - 1), 30))))
    size = {"min_size": len(own), "max_size": len(own)}
    starts = base + integers(draw(st.lists(st.integers(0, 20), **size)))
    lengths = integers(draw(st.lists(st.integers(1, 9), **size)))
    is_open = np.array(draw(st.lists(st.booleans(), **size)), np.bool_) & (lengths > 8)
    order = np.lexsort((starts, own))
    ends = np.where(is_open, INFINITY, starts + lengths)[order]
    offsets = np.searchsorted(own, np.arange(count + 1))
    keys = integers(draw(sized(st.integers(0, count - 1), 30)))
    points = base + integers(
        draw(st.lists(st.integers(-2, 32), min_size=len(keys), max_size=len(keys)))
    )
    by_time = np.lexsort((points, keys))
    return keys[by_time], points[by_time], offsets, starts[order], ends


@given(questions())
def test_all_that_holds_is_found_as_by_its_twin(question: tuple[Any, ...]) -> None:
    pairs = zip(*(column.tolist() for column in covering(*question)), strict=True)
    plain = zip(*(column.tolist() for column in covering_plain(*question)), strict=True)
    assert sorted(pairs) == sorted(plain)


@given(questions())
def test_whether_anything_holds_is_found_as_by_its_twin(question: tuple[Any, ...]) -> None:
    assert covered(*question).tolist() == covered_plain(*question).tolist()
