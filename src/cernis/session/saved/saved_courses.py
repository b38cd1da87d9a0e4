"""What a session over uncertain records leaves beside what all sessions do: courses and tracks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields

from cernis.check.model import Relation
from cernis.evaluate.probabilities.course_tracks import Tracks
from cernis.evaluate.probabilities.courses import Courses, Pairs
from cernis.evaluate.probabilities.credible_intervals import Intervals, Memory
from cernis.evaluate.probabilities.tracked_probabilities import TrackedProbabilities
from cernis.evaluate.relation_layout import Spaces
from cernis.session.saved.plain_trees import Tree
from cernis.session.saved.saved_state import Incoming, Outgoing
from cernis.session.saved.saved_values import plain_relation, relation_of
from cernis.tables.domains import Domain

Made = Callable[[Relation], Tracks]
"""Gives the tracks of a fluent with nothing in them."""


def plain_uncertain(scratch: TrackedProbabilities, out: Outgoing) -> Tree:
    """Courses and tracks of all fluents, and what the last query let go."""
    return {
        "thresholded": sorted(map(plain_relation, scratch.thresholded)),
        "courses": [_plain_courses(*each, out) for each in scratch.carried_courses.items()],
        "tracks": [_plain_tracks(*each, out) for each in scratch.tracks.items()],
        "let_go": out.all_rows(scratch.let_go),
    }


def fill_uncertain(scratch: TrackedProbabilities, tree: Tree, given: Incoming) -> None:
    """Let an evaluator that has seen no query know what was left."""
    courses = dict(_courses_of(own, given) for own in tree["courses"])
    thresholded = frozenset(relation_of(each) for each in tree["thresholded"])
    tracks = {}
    for own in tree["tracks"]:
        relation = relation_of(own["relation"])
        tracks[relation] = _fill_tracks(scratch.new_tracks(relation, own["first"]), own, given)
    let_go = given.all_rows(tree["let_go"], tracks)
    scratch.go_on_from(courses, thresholded, tracks, let_go)


def _plain_courses(relation: Relation, courses: Courses, out: Outgoing) -> Tree:
    return {
        "relation": plain_relation(relation),
        "pairs": _plain_pairs(relation, courses.pairs, out),
        "offsets": courses.offsets, "times": courses.times, "chances": courses.chances,
    }  # fmt: skip


def _courses_of(tree: Tree, given: Incoming) -> tuple[Relation, Courses]:
    relation = relation_of(tree["relation"])
    pairs = _pairs_of(relation, tree["pairs"], given)
    return relation, Courses(pairs, tree["offsets"], tree["times"], tree["chances"])


def _plain_pairs(relation: Relation, pairs: Pairs, out: Outgoing) -> Tree:
    arguments = zip(pairs.arguments, pairs.domains, strict=True)
    return {
        "arguments": [out.column(*each) for each in arguments],
        "values": out.column(pairs.values, pairs.value_domain),
        "is_coded": pairs.value_domain is not None,
        "initial": pairs.initial,
    }


def _pairs_of(relation: Relation, tree: Tree, given: Incoming) -> Pairs:
    domains, value = _domains(relation, given.spaces, bool(tree["is_coded"]))
    arguments = zip(tree["arguments"], domains, strict=True)
    return Pairs(
        [given.column(*each) for each in arguments], given.column(tree["values"], value), domains,
        value, tree["initial"],
    )  # fmt: skip


def _domains(
    relation: Relation, spaces: Spaces, is_coded: bool
) -> tuple[list[Domain | None], Domain | None]:
    domains, value = spaces.encoding(relation)
    if is_coded and value is None:
        value = spaces.context.domains.value_domain(relation)
    return domains, value


def _plain_tracks(relation: Relation, tracks: Tracks, out: Outgoing) -> Tree:
    return {
        "relation": plain_relation(relation), "first": tracks.first, "settled": tracks.settled,
        "pairs": None if tracks.pairs is None else _plain_pairs(relation, tracks.pairs, out),
        "memory": _fields(tracks.memory), "found": _fields(tracks.found),
        "courses": None if (own := tracks.courses) is None else _plain_courses(relation, own, out),
        "numbers": tracks.numbers,
    }  # fmt: skip


def _fill_tracks(tracks: Tracks, tree: Tree, given: Incoming) -> Tracks:
    relation = relation_of(tree["relation"])
    tracks.settled, tracks.numbers = tree["settled"], tree["numbers"]
    if tree["pairs"] is not None:
        tracks.pairs = _pairs_of(relation, tree["pairs"], given)
    tracks.memory = Memory(**_known(Memory, tree["memory"]))
    tracks.found = Intervals(**_known(Intervals, tree["found"]))
    if tree["courses"] is not None:
        tracks.courses = _courses_of(tree["courses"], given)[1]
    return tracks


def _fields(given: Memory | Intervals) -> dict[str, Tree]:
    return {own.name: getattr(given, own.name) for own in fields(given)}


def _known(kind: type[Memory | Intervals], tree: Mapping[str, Tree]) -> dict[str, Tree]:
    return {own.name: tree[own.name] for own in fields(kind)}
