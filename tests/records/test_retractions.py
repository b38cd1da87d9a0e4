"""Which record a retraction takes back, and when."""

from __future__ import annotations

import io

import cernis
from cernis.records.gathering import Gathering
from cernis.records.record_columns import INFINITE, Records
from cernis.records.record_shapes import Shapes
from cernis.records.retractions import resolve
from cernis.records.text_records import read_stream

RULES = "initiatedAt(a(X)=true, T) :- happensAt(e(X), T).\n"


def unresolved(lines: list[str]) -> Records:
    """Records with retractions among them."""
    gathering = Gathering(Shapes(cernis.load(RULES).checked))
    read_stream(io.BytesIO("\n".join(lines).encode()), "", gathering)
    return gathering.unresolved()


def taken_back(lines: list[str]) -> tuple[list[int | None], list[int]]:
    """When each record is gone, by line, and the lines of retractions that find nothing."""
    (part,) = unresolved(lines).relations.values()
    found, unmatched = resolve(part)
    assert found.gone is not None or not len(unmatched)
    times = [INFINITE] * len(found) if found.gone is None else found.gone.tolist()
    gone = [None if time == INFINITE else time for time in times]
    by_line = sorted(zip(found.places.tolist(), gone, strict=True))
    return [time for _, time in by_line], sorted(found.places[unmatched].tolist())


def test_one_of_equal_records_that_came_before_is_taken_back() -> None:
    assert taken_back(["e|5|5|x", "e|6|5|x", "-e|8|5|x"]) == ([None, 8, None], [])
    assert taken_back(["e|5|5|x", "-e|8|5|x", "-e|9|5|x"]) == ([8, None, None], [3])


def test_what_differs_in_a_value_or_its_time_is_not_taken_back() -> None:
    assert taken_back(["e|5|5|x", "-e|8|5|y", "-e|8|4|x"]) == ([None] * 3, [2, 3])


def test_a_retraction_that_arrives_before_its_record_finds_nothing() -> None:
    assert taken_back(["e|9|5|x", "-e|8|5|x"]) == ([None, None], [2])


def test_at_one_time_the_place_decides() -> None:
    assert taken_back(["-e|8|5|x", "e|8|5|x"]) == ([None, None], [1])
    assert taken_back(["e|8|5|x", "-e|8|5|x"]) == ([8, None], [])


def test_records_without_retractions_stay_as_they_are() -> None:
    assert taken_back(["e|5|5|x", "e|5|5|x"]) == ([None, None], [])
