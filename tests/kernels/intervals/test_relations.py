"""Intervals of two lists that stand in some relation, or overlap."""

from hypothesis import given
from hypothesis import strategies as st

from cernis.kernels.array_types import Integers
from cernis.kernels.inertia.plain_inertia import INFINITY
from cernis.kernels.intervals.allen import RELATIONS, related, related_plain
from cernis.kernels.intervals.list_operations import Lists, pack
from cernis.kernels.intervals.overlap import overlaps, overlaps_plain
from tests.kernels.drawn import bases, collections, integers, sized, unpacked


@st.composite
def pairs_of_lists(draw: st.DrawFn) -> tuple[Lists, Lists]:
    base, number = draw(bases()), draw(st.integers(0, 4))
    one = collections(base, least=number).map(lambda found: pack(unpacked(found)[:number]))
    return draw(one), draw(one)


@given(pairs_of_lists(), st.integers(0, len(RELATIONS) - 1))
def test_related_equals_its_twin(lists: tuple[Lists, Lists], relation: int) -> None:
    found = related(*lists[0], *lists[1], relation)
    expected = related_plain(*lists[0], *lists[1], relation)
    assert [own.tolist() for own in found] == [own.tolist() for own in expected]


@st.composite
def by_start(draw: st.DrawFn, base: int) -> tuple[Integers, Integers]:
    """Intervals sorted by start, overlapping or not."""
    one = st.tuples(st.integers(0, 20), st.integers(1, 9) | st.none())
    found = sorted(draw(sized(one, 12)), key=lambda own: own[0])
    starts = base + integers([start for start, _ in found])
    ends = [INFINITY if length is None else base + start + length for start, length in found]
    return starts, integers(ends)


@given(bases().flatmap(lambda base: st.tuples(by_start(base), by_start(base))))
def test_overlaps_equals_its_twin(
    lists: tuple[tuple[Integers, Integers], tuple[Integers, Integers]],
) -> None:
    found = overlaps(*lists[0], *lists[1])
    expected = overlaps_plain(*lists[0], *lists[1])
    pairs = [
        sorted(zip(*(own.tolist() for own in each), strict=True)) for each in (found, expected)
    ]
    assert pairs[0] == pairs[1]
