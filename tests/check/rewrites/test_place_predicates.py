"""`inBox`: places in boxes, those that cross the date line among them."""

from __future__ import annotations

import pytest

import cernis
from cernis.check.model import Relation
from cernis.check.rewrites.place_predicates import IN_BOX, predicates_of_places
from cernis.syntax.tree import Compound, Number

RULES = "happensAt(in(V), T) :- happensAt(at(V, A, O), T), inBox(A, O, {box}).\n"


def inside(box: str, latitude: float, longitude: float) -> bool:
    program = cernis.load(RULES.format(box=box))
    return "in(x)" in program.run(f"at|1|1|x|{latitude}|{longitude}\n").text()


@pytest.mark.parametrize(
    ("latitude", "longitude", "is_inside"),
    [(45.0, 5.0, True), (40.0, 0.0, True), (50.0, 10.0, True), (39.9, 5.0, False),
     (45.0, 10.1, False), (45.0, -0.1, False)],
)  # fmt: skip
def test_edges_belong_to_a_box(latitude: float, longitude: float, is_inside: bool) -> None:
    assert inside("40, 0, 50, 10", latitude, longitude) == is_inside


@pytest.mark.parametrize(
    ("longitude", "is_inside"), [(175.0, True), (-175.0, True), (170.0, True), (0.0, False)]
)
def test_a_box_may_cross_the_date_line(longitude: float, is_inside: bool) -> None:
    assert inside("-10, 170, 10, -170", 0.0, longitude) == is_inside


def test_a_program_may_define_its_own() -> None:
    goal = Compound("inBox", tuple(map(Number, range(6))))
    assert predicates_of_places([goal], []).keys() == {IN_BOX}
    assert predicates_of_places([goal], [Relation("inBox", 6)]) == {}
    assert predicates_of_places([], []) == {}
