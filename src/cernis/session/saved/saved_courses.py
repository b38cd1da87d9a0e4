"""The saved state that only sessions over uncertain records have: courses and tracks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields

from cernis.check.model import Relation
from cernis.evaluate.probabilities.courses import Courses, Pairs
from cernis.evaluate.probabilities.credible.course_tracks import Tracks
from cernis.evaluate.probabilities.credible.credible_intervals import Intervals, SupportSets
from cernis.evaluate.probabilities.credible.support_pool import SupportPool
from cernis.evaluate.probabilities.tracked_probabilities import TrackedProbabilities
from cernis.evaluate.relation_layout import RelationLayout
from cernis.evaluate.stores import StoredRows
from cernis.plan.properties.pattern_needs import Key
from cernis.session.saved.plain_trees import Tree
from cernis.session.saved.saved_delays import delays_of, plain_delays
from cernis.session.saved.saved_state import ColumnReader, ColumnWriter
from cernis.session.saved.saved_values import plain_relation, relation_of
from cernis.tables.domains import Domain


def plain_uncertain(evaluator: TrackedProbabilities, writer: ColumnWriter) -> Tree:
    """The courses and tracks of all fluents, and the intervals that became final last."""
    return {
        "thresholded": sorted(map(plain_relation, evaluator.thresholded)),
        "courses": [_plain_courses(*each, writer) for each in evaluator.carried_courses.items()],
        "tracks": [_plain_tracks(*each, writer) for each in evaluator.credible.tracks.items()],
        "let_go": writer.all_rows(evaluator.final_intervals),
        "occurred": [
            [_plain_occurrences(*each, writer) for each in rows.items()]
            for rows in (evaluator.occurred.kept, evaluator.occurred.last)
        ],
        "delayed": plain_delays(evaluator.delayed_runs, writer),
    }


def fill_uncertain(
    evaluator: TrackedProbabilities, tree: Tree, reader: ColumnReader,
    kept: Collection[Relation] | None = None,
) -> None:  # fmt: skip
    """Let an evaluator that has seen no query go on from saved courses and tracks.

    They are those of all fluents, or of those that are kept.
    """
    courses = dict(_courses_of(each, reader) for each in _of_kept(tree["courses"], kept))
    thresholded = frozenset(map(relation_of, tree["thresholded"]))
    tracks = {}
    for tracks_tree in _of_kept(tree["tracks"], kept):
        relation = relation_of(tracks_tree["relation"])
        tracks[relation] = _fill_tracks(
            evaluator.credible.new_tracks(relation, tracks_tree["first"]), tracks_tree, reader
        )
    final_intervals = reader.all_rows(tree["let_go"], tracks)
    thresholded = thresholded if kept is None else thresholded.intersection(kept)
    evaluator.go_on_from(courses, thresholded, tracks, final_intervals)
    evaluator.delayed_runs = delays_of(tree["delayed"], reader)
    evaluator.occurred.resume(
        *(dict(_occurrences_of(each, reader) for each in trees) for trees in tree["occurred"])
    )


def _plain_occurrences(key: Key, rows: StoredRows, writer: ColumnWriter) -> Tree:
    *times, chances = rows.columns
    return {"rows": writer.occurrences(key, StoredRows(rows.arguments, times)), "chances": chances}


def _occurrences_of(tree: Tree, reader: ColumnReader) -> tuple[Key, StoredRows]:
    key, rows = reader.occurrences(tree["rows"])
    return key, StoredRows(rows.arguments, [*rows.columns, tree["chances"]])


def _of_kept(trees: Iterable[Tree], kept: Collection[Relation] | None) -> list[Tree]:
    return [tree for tree in trees if kept is None or relation_of(tree["relation"]) in kept]


def likely_at(
    tree: Tree, reader: ColumnReader, relations: Collection[Relation], time: int
) -> list[Relation]:
    """The fluents among some relations of which a pair is likely at a time, by saved courses."""
    courses = dict(_courses_of(each, reader) for each in _of_kept(tree["courses"], relations))
    return sorted(r for r, course in courses.items() if course.probabilities_at(time).any())


def _plain_courses(relation: Relation, courses: Courses, writer: ColumnWriter) -> Tree:
    return {
        "relation": plain_relation(relation),
        "pairs": _plain_pairs(relation, courses.pairs, writer),
        "offsets": courses.offsets, "times": courses.times, "chances": courses.chances,
    }  # fmt: skip


def _courses_of(tree: Tree, reader: ColumnReader) -> tuple[Relation, Courses]:
    relation = relation_of(tree["relation"])
    pairs = _pairs_of(relation, tree["pairs"], reader)
    return relation, Courses(pairs, tree["offsets"], tree["times"], tree["chances"])


def _plain_pairs(relation: Relation, pairs: Pairs, writer: ColumnWriter) -> Tree:
    arguments = zip(pairs.arguments, pairs.domains, strict=True)
    return {
        "arguments": [writer.column(*each) for each in arguments],
        "values": writer.column(pairs.values, pairs.value_domain),
        "is_coded": pairs.value_domain is not None,
        "initial": pairs.initial,
    }


def _pairs_of(relation: Relation, tree: Tree, reader: ColumnReader) -> Pairs:
    domains, value = _domains(relation, reader.layout, bool(tree["is_coded"]))
    arguments = zip(tree["arguments"], domains, strict=True)
    return Pairs(
        [reader.column(*each) for each in arguments], reader.column(tree["values"], value), domains,
        value, tree["initial"],
    )  # fmt: skip


def _domains(
    relation: Relation, layout: RelationLayout, is_coded: bool
) -> tuple[list[Domain | None], Domain | None]:
    domains, value = layout.context.encoding.relations[relation]
    if is_coded and value is None:
        value = layout.context.encoding.domains.value_domain(relation)
    return domains, value


def _plain_tracks(relation: Relation, tracks: Tracks, writer: ColumnWriter) -> Tree:
    courses = tracks.courses
    return {
        "relation": plain_relation(relation), "first": tracks.first, "settled": tracks.settled,
        "pairs": None if tracks.pairs is None else _plain_pairs(relation, tracks.pairs, writer),
        "memory": _fields(tracks.memory.whole()), "found": _fields(tracks.ended_intervals),
        "courses": None if courses is None else _plain_courses(relation, courses, writer),
        "numbers": tracks.numbers,
    }  # fmt: skip


def _fill_tracks(tracks: Tracks, tree: Tree, reader: ColumnReader) -> Tracks:
    relation = relation_of(tree["relation"])
    tracks.settled, tracks.numbers = tree["settled"], tree["numbers"]
    if tree["pairs"] is not None:
        tracks.pairs = _pairs_of(relation, tree["pairs"], reader)
    tracks.memory = SupportPool(SupportSets(**_fields_of_tree(SupportSets, tree["memory"])))
    tracks.ended_intervals = Intervals(**_fields_of_tree(Intervals, tree["found"]))
    if tree["courses"] is not None:
        tracks.courses = _courses_of(tree["courses"], reader)[1]
    return tracks


def _fields(record: SupportSets | Intervals) -> dict[str, Tree]:
    return {attribute.name: getattr(record, attribute.name) for attribute in fields(record)}


def _fields_of_tree(
    kind: type[SupportSets | Intervals], tree: Mapping[str, Tree]
) -> dict[str, Tree]:
    return {attribute.name: tree[attribute.name] for attribute in fields(kind)}
