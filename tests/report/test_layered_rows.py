"""Rows of a layered drawing: nothing overlaps, groups stay together, lanes are shared."""

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cernis.report.layered_rows import LANE, ROW, EdgeLane, Spot, chain, rows

Levels = dict[int, int]
Edges = list[tuple[int, int]]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Levels, Edges, list[list[int]]]:
    """Vertices with levels, edges that lead up or stay, and groups of one level each."""
    levels = dict(enumerate(draw(st.lists(st.integers(0, 4), max_size=14))))
    pairs = [(s, t) for s in levels for t in levels if levels[s] <= levels[t]]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=30)) if pairs else []
    groups: dict[tuple[int, int], list[int]] = {}
    for vertex, level in levels.items():
        groups.setdefault((level, draw(st.integers(0, 2))), []).append(vertex)
    return levels, edges, list(groups.values())


def columns(levels: Levels, places: dict[Spot[int], int]) -> Iterable[list[Spot[int]]]:
    """The spots of each level, from the top down."""
    level = {spot: spot.level if isinstance(spot, EdgeLane) else levels[spot] for spot in places}
    for each in set(level.values()):
        yield sorted((spot for spot in places if level[spot] == each), key=places.__getitem__)


def height(spot: Spot[int]) -> int:
    return LANE if isinstance(spot, EdgeLane) else ROW


@given(graphs())
def test_no_two_spots_overlap(graph: tuple[Levels, Edges, list[list[int]]]) -> None:
    levels, edges, groups = graph
    places = rows(levels, edges, groups)
    for column in columns(levels, places):
        for above, below in pairwise(column):
            # Places are rounded, so two of them may come nearer by one.
            assert places[below] - places[above] >= (height(above) + height(below)) / 2 - 1


@given(graphs())
def test_everything_has_a_place_below_the_top(graph: tuple[Levels, Edges, list[list[int]]]) -> None:
    levels, edges, groups = graph
    places = rows(levels, edges, groups)
    passed = {spot for s, t in edges for spot in chain(s, t, levels)}
    assert places.keys() == passed | levels.keys()
    assert all(place >= 0 for place in places.values())


@given(graphs())
def test_groups_stay_together(graph: tuple[Levels, Edges, list[list[int]]]) -> None:
    levels, edges, groups = graph
    for column in columns(levels, rows(levels, edges, groups)):
        for group in groups:
            at = [index for index, spot in enumerate(column) if spot in group]
            assert at == list(range(min(at, default=0), min(at, default=0) + len(at)))


@given(graphs())
def test_the_same_graph_has_the_same_drawing(graph: tuple[Levels, Edges, list[list[int]]]) -> None:
    assert list(rows(*graph).items()) == list(rows(*graph).items())


def test_nothing_has_no_rows() -> None:
    assert rows({}, [], []) == {}


def test_a_line_is_straight() -> None:
    places = rows({"a": 0, "b": 1, "c": 3}, [("a", "b"), ("b", "c")], [])
    assert set(places.values()) == {ROW // 2}


def test_edges_that_cross_are_uncrossed() -> None:
    levels = {"a": 0, "b": 0, "c": 1, "d": 1}
    places = rows(levels, [("a", "d"), ("b", "c")], [])
    assert (places["a"] < places["b"]) == (places["d"] < places["c"])


@pytest.mark.parametrize("count", [1, 5])
def test_edges_of_a_vertex_share_its_lane(count: int) -> None:
    levels = {"source": 0, "between": 1, **{f"target{at}": 2 for at in range(count)}}
    places = rows(levels, [("source", f"target{at}") for at in range(count)], [])
    assert [spot for spot in places if isinstance(spot, EdgeLane)] == [EdgeLane("source", 1)]
