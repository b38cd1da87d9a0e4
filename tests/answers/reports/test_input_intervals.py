"""Input fluents on intervals, as lanes of a report: united where they touch."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import cernis
from cernis.answers.answer_tables import values_of
from cernis.answers.reports.input_intervals import input_intervals
from cernis.check.model import Relation
from cernis.tables.interval_tables import INFINITY

RULES = "collectIntervals(near(_)=_).\nmeeting(X)=true iff near(X)=yes."


def shown(text: str) -> dict[tuple[Any, Any], list[tuple[int, int]]]:
    """The intervals of each pair, from records as lines of text."""
    (found,) = input_intervals(cernis.load(RULES).records(text)).values()
    table = found.table
    names, held = (values_of(*column).to_pylist() for column in table.columns())
    intervals = list(zip(table.starts.tolist(), table.ends.tolist(), strict=True))
    cuts = table.offsets.tolist()
    return {
        (name, value): intervals[first:last]
        for name, value, (first, last) in zip(names, held, pairwise(cuts), strict=True)
    }


def test_what_touches_is_one_interval_and_pairs_stay_apart() -> None:
    lines = "near|1|1|5|yes|a\nnear|1|5|7|yes|a\nnear|1|9|inf|yes|a\nnear|1|2|6|no|a\n"
    assert shown(lines) == {("a", "yes"): [(1, 7), (9, INFINITY)], ("a", "no"): [(2, 6)]}


def test_what_was_taken_back_is_left_out() -> None:
    assert shown("near|1|1|5|yes|a\nnear|1|7|8|yes|a\n-near|9|1|5|yes|a\n") == {
        ("a", "yes"): [(7, 8)]
    }


def test_nothing_given_is_nothing_shown() -> None:
    assert input_intervals(None) == {}
    assert input_intervals(cernis.load(RULES).records([])) == {}


def test_random_intervals_cover_the_points_of_their_records() -> None:
    seed = 11
    random = Random(seed)
    for _ in range(30):
        records = []
        for _ in range(random.randrange(1, 25)):
            start = random.randrange(40)
            records.append((random.choice("ab"), start, start + random.randrange(1, 9)))
        lines = "".join(f"near|{end}|{start}|{end}|yes|{x}\n" for x, start, end in records)
        records_read = cernis.load(RULES).records(lines)
        found = input_intervals(records_read)[Relation("near", 1)]
        for name, intervals in shown(lines).items():
            points = {p for x, start, end in records if x == name[0] for p in range(start, end)}
            assert {p for s, e in intervals for p in range(s, e)} == points, seed
            assert all(end < start for (_, end), (start, _) in pairwise(intervals)), seed
        (part,) = records_read.relations.values()
        assert (found.table.starts[found.rows] <= part.times[1]).all(), seed
        assert (found.table.ends[found.rows] >= part.times[2]).all(), seed
