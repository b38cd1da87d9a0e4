"""Conditions on the saved courses and tracks of uncertain fluents."""

from __future__ import annotations

from typing import Final

import numpy as np

from cernis.session.saved.plain_trees import Tree
from cernis.session.saved.tree_shapes import offsets_fit

MEMORY_FIELDS: Final = ("offsets", "points", "scores", "seen", "score", "lowest", "states")
INTERVAL_FIELDS: Final = ("offsets", "starts", "ends", "sums")


def pairs_fit(tree: Tree) -> str | None:
    """A complaint if pairs do not have one initial probability each."""
    lengths = {len(each["rows"]) for each in (*tree["arguments"], tree["values"])}
    return "its columns have different lengths" if lengths != {len(tree["initial"])} else None


def courses_fit(tree: Tree) -> str | None:
    """A complaint if the steps of courses are not in order, or not divided among their pairs."""
    pairs, offsets, times = tree["pairs"], tree["offsets"], tree["times"]
    if len(pairs["arguments"]) != tree["relation"][1]:
        return f"{tree['relation'][0]} has another number of arguments"
    if not offsets_fit(offsets, len(pairs["initial"]), len(times)):
        return "its steps are not divided among its pairs"
    if len(tree["chances"]) != len(times):
        return "its columns have different lengths"
    firsts = np.zeros(max(len(times) - 1, 0), np.bool_)
    inner = offsets[1:-1]
    firsts[inner[(inner > 0) & (inner < len(times))] - 1] = True
    return None if ((np.diff(times) > 0) | firsts).all() else "its steps are not in order"


def occurrences_fit(tree: Tree) -> str | None:
    """A complaint if occurrences do not have one probability each."""
    lengths = {len(each["rows"]) for each in tree["rows"]["columns"]}
    return None if lengths == {len(tree["chances"])} else "its columns have different lengths"


def tracks_fit(tree: Tree) -> str | None:
    """A complaint if tracks do not have a memory and intervals for each of their pairs."""
    memory, intervals, pairs = tree["memory"], tree["found"], tree["pairs"]
    count = len(memory["seen"])
    if any(len(memory[name]) != count for name in ("score", "lowest", "states")):
        return "its pairs have different numbers of scores"
    if pairs is not None and (
        len(pairs["initial"]) != count or len(pairs["arguments"]) != tree["relation"][1]
    ):
        return "it has not one memory for each pair"
    if len(memory["points"]) != len(memory["scores"]):
        return "its points have different numbers of scores"
    if not offsets_fit(memory["offsets"], count, len(memory["points"])):
        return "its points are not divided among its pairs"
    if len({len(intervals[name]) for name in ("starts", "ends", "sums")}) > 1:
        return "its intervals have different numbers of ends"
    if not offsets_fit(intervals["offsets"], count, len(intervals["starts"])):
        return "its intervals are not divided among its pairs"
    if (intervals["starts"] > intervals["ends"]).any() or (intervals["starts"] < 1).any():
        return "an interval ends before it begins"
    if count and (int(memory["seen"].min()) < 0 or int(memory["seen"].max()) > tree["settled"]):
        return "a pair has seen more points than are settled"
    return _numbers_fit(tree, count)


def _numbers_fit(tree: Tree, count: int) -> str | None:
    courses, numbers = tree["courses"], tree["numbers"]
    if courses is None:
        return None
    if len(numbers) != len(courses["pairs"]["initial"]) or len(np.unique(numbers)) != len(numbers):
        return "its courses have not one number each"
    if len(numbers) and int(numbers.max()) >= count:
        return "a course is of a pair that it does not know"
    return None
