"""The saved state of uncertain fluents with delayed effects: enough to carry them to any edge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.probabilities.composites.delayed_courses import DelayedRun
from cernis.evaluate.relation_layout import RelationLayout
from cernis.kernels.state_chances import EffectBits, PointWorlds, StateRows
from cernis.session.saved.column_shapes import CHANCES, CODED_COLUMN
from cernis.session.saved.plain_trees import Tree
from cernis.session.saved.saved_state import ColumnReader, ColumnWriter
from cernis.session.saved.saved_values import plain_relation, relation_of
from cernis.session.saved.tree_shapes import Integers, Listed, Shape, Table, Whole, offsets_fit
from cernis.tables.domains import Domain

_TABLES: Final = ("delays", "initiates", "terminates", "postponable")


def plain_delays(runs: Mapping[Relation, DelayedRun], writer: ColumnWriter) -> Tree:
    """What is known of each fluent."""
    return [_plain_run(relation, run, writer) for relation, run in runs.items()]


def delays_of(trees: Tree, reader: ColumnReader) -> dict[Relation, DelayedRun]:
    """What is known of each fluent, in the codes of the session that reads it."""
    return dict(_run_of(tree, reader) for tree in trees)


def _plain_run(relation: Relation, run: DelayedRun, writer: ColumnWriter) -> Tree:
    domains, domain = _domains(relation, writer.layout)
    arguments = zip(run.arguments, domains, strict=True)
    effects, first = run.effects, run.first
    return {
        "relation": plain_relation(relation),
        "arguments": [writer.column(*each) for each in arguments],
        "values": writer.column(run.values, domain), "sources": writer.column(run.sources, domain),
        "points": run.points._asdict(),
        "first": {**first._asdict(), "onsets": first.onsets.ravel()},
        "effects": {
            **effects._asdict(), **{name: getattr(effects, name).ravel() for name in _TABLES},
        },
        "tick": run.tick, "has_breaks": run.has_breaks,
    }  # fmt: skip


def _run_of(tree: Tree, reader: ColumnReader) -> tuple[Relation, DelayedRun]:
    relation = relation_of(tree["relation"])
    domains, domain = _domains(relation, reader.layout)
    arguments = zip(tree["arguments"], domains, strict=True)
    first, effects = dict(tree["first"]), dict(tree["effects"])
    slots = len(effects["sources"])
    first["onsets"] = first["onsets"].reshape(-1, slots)
    for name in _TABLES:
        effects[name] = effects[name].reshape(-1, slots)
    return relation, DelayedRun(
        [reader.column(*each) for each in arguments], reader.column(tree["values"], domain),
        reader.column(tree["sources"], domain), PointWorlds(**tree["points"]), StateRows(**first),
        EffectBits(**effects), tree["tick"], tree["has_breaks"],
    )  # fmt: skip


def _domains(relation: Relation, layout: RelationLayout) -> tuple[list[Domain | None], Domain]:
    """The domains of arguments, and the codes that identify values."""
    domains, value = layout.context.encoding.relations[relation]
    coded = layout.context.encoding.domains.value_domain(relation) if value is None else value
    return domains, coded


def delays_shape(fluent: Shape) -> Shape:
    """The shape of what is saved; `fluent` is that of a relation."""
    numbers = Integers()
    points = dict.fromkeys(PointWorlds._fields, numbers) | {"chances": CHANCES}
    first = dict.fromkeys(StateRows._fields, numbers) | {"chances": CHANCES}
    effects = dict.fromkeys(EffectBits._fields, numbers) | {"ending": Whole()}
    return Listed(
        Table(
            {
                "relation": fluent, "arguments": Listed(CODED_COLUMN), "values": CODED_COLUMN,
                "sources": CODED_COLUMN, "points": Table(points), "first": Table(first),
                "effects": Table(effects), "tick": Whole(1), "has_breaks": Whole(0, 1),
            },
            (_run_fits,),
        )
    )  # fmt: skip


def _run_fits(tree: Tree) -> str | None:
    """A complaint if points, states or effects are not those of so many instances and values."""
    points, first, effects = tree["points"], tree["first"], tree["effects"]
    count, slots = len(points["point_offsets"]) - 1, len(effects["sources"])
    values = len(tree["values"]["rows"])
    if len(tree["arguments"]) != tree["relation"][1]:
        return f"{tree['relation'][0]} has another number of arguments"
    if any(len(each["rows"]) != count for each in tree["arguments"]):
        return "its columns have different lengths"
    if not slots or len(tree["sources"]["rows"]) != slots:
        return "it has not one delay for each value that has effects"
    if not _are_within(effects["sources"], values):
        return "an effect is of a value that it does not know"
    return _points_fit(points, count) or _states_fit(first, count, slots) or _lines_fit(tree, count)


def _are_within(numbers: np.ndarray, bound: int) -> bool:
    return not len(numbers) or bool(numbers.min() >= 0 and numbers.max() < bound)


def _points_fit(points: Tree, count: int) -> str | None:
    if not offsets_fit(points["point_offsets"], count, len(points["times"])):
        return "its points are not divided among its instances"
    worlds = len(points["chances"])
    if not offsets_fit(points["world_offsets"], len(points["times"]), worlds):
        return "its worlds are not divided among its points"
    if {len(points["initiated"]), len(points["terminated"])} != {worlds}:
        return "its worlds have different numbers of changes"
    return None


def _states_fit(first: Tree, count: int, slots: int) -> str | None:
    states = len(first["chances"])
    if not offsets_fit(first["offsets"], count, states):
        return "its states are not divided among its instances"
    if len(first["held"]) != states or len(first["onsets"]) != states * slots:
        return "its states have different numbers of values"
    return None


def _lines_fit(tree: Tree, count: int) -> str | None:
    effects, slots = tree["effects"], len(tree["effects"]["sources"])
    sizes = {len(effects[name]) for name in _TABLES}
    size = sizes.pop()
    if sizes or size % slots or not _are_within(effects["lines"], size // slots):
        return "its effects are not divided among its instances"
    if len(effects["lines"]) != count or len(effects["allowed"]) != count:
        return "its instances have not one line of effects each"
    return None
