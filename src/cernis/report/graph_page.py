"""The dependency graph as a page: what feeds what, with the rules, keys and costs of each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cernis.check.dependencies import Vertex
from cernis.check.model import Relation
from cernis.pages.page_text import graph_page_text
from cernis.plan.builder import Plan
from cernis.plan.plan_text import division
from cernis.report.dependency_graph import Picture, picture_of
from cernis.report.profile_table import Measured, seconds_by_rule
from cernis.source import Span

if TYPE_CHECKING:
    from cernis.check.checker import Checked


@dataclass(frozen=True, slots=True)
class LastRun:
    """What a run of the program has shown: how much there was of each vertex, and what rules cost.

    `counts` are of intervals and happenings, by fluent and value or by event; `records` are those
    of the input, by name.
    """

    counts: Mapping[tuple[Relation, str | None], int] = field(default_factory=dict)
    records: Mapping[str, int] = field(default_factory=dict)
    costs: tuple[tuple[str, Span, Measured], ...] = ()


def as_page(plan: Plan, inputs: bool = True, run: LastRun | None = None, title: str = "") -> str:
    """The page of a program. With a run, definitions have counts and times, too."""
    checked = plan.checked
    folded = picture_of(checked.dependencies, checked.catalogue, inputs, helpers_of(checked))
    pictures = [folded]
    if helpers_of(checked):
        pictures.append(picture_of(checked.dependencies, checked.catalogue, inputs))
    facts = {
        "title": title or "Dependencies",
        "pictures": [picture.svg for picture in pictures],
        "vertices": [_vertices(picture, plan, run) for picture in pictures],
        "edges": [picture.edges for picture in pictures],
        "hasRun": run is not None,
    }
    return graph_page_text(facts["title"], json.dumps(facts))  # type: ignore[arg-type]


def helpers_of(checked: Checked) -> frozenset[Relation]:
    """Fluents and events that the rules do not name: phrases are made of them."""
    return frozenset(checked.definitions.auxiliary)


def _vertices(picture: Picture, plan: Plan, run: LastRun | None) -> list[dict[str, Any]]:
    stages = _stages(plan)
    seconds = _seconds(plan, run)
    return [
        {
            "label": str(vertex), "kind": picture.kinds[vertex],
            "level": picture.levels[vertex], **stages.get(vertex.relation, {}),
            "arguments": _arguments(vertex, plan),
            "count": None if run is None else _count(vertex, picture.kinds[vertex], run),
            "rules": [
                _rule(span, plan, seconds) for span in sorted(set(_spans(vertex, plan)))
            ],
        }
        for vertex in picture.kinds
    ]  # fmt: skip


def _count(vertex: Vertex, kind: str, run: LastRun) -> int:
    if kind == "input":
        return run.records.get(vertex.relation.name, 0)
    return run.counts.get((vertex.relation, vertex.value), 0)


def _rule(span: Span, plan: Plan, seconds: Mapping[Span, float]) -> dict[str, Any]:
    sources = plan.checked.sources
    place = sources.place(span)
    where = f"{Path(place.name).name}:{place.line}" if place else ""
    return {"text": sources.text(span), "place": where, "seconds": seconds.get(span)}


def _seconds(plan: Plan, run: LastRun | None) -> Mapping[Span, float]:
    if run is None:
        return {}
    definitions = plan.checked.definitions
    spans: set[Span] = {rule.span for rule in definitions.changes}
    spans |= {rule.span for rule in definitions.events}
    spans |= {rule.span for rule in definitions.statics}
    spans |= {rule.span for rule in definitions.patterns}
    return seconds_by_rule(run.costs, spans)


def _stages(plan: Plan) -> dict[Relation, dict[str, Any]]:
    """Of each relation the stage that evaluates it, and by which key."""
    return {
        relation: {"stage": stage.number, "key": division(stage), "cyclic": stratum.cyclic}
        for stage in plan.stages for stratum in stage.strata for relation in stratum.relations
    }  # fmt: skip


def _arguments(vertex: Vertex, plan: Plan) -> list[str]:
    catalogue = plan.checked.catalogue
    entry = (catalogue.events if vertex.value is None else catalogue.fluents).get(vertex.relation)
    return list(entry.argument_names) if entry else []


def _spans(vertex: Vertex, plan: Plan) -> Iterator[Span]:
    """The rules that define a vertex; those with a variable as value define all values."""
    definitions = plan.checked.definitions
    if vertex.value is None:
        events = [rule.span for rule in definitions.events if _defines(rule.event, vertex)]
        patterns = plan.checked.catalogue.events.get(vertex.relation)
        heads = {event.span for event in patterns.definitions} if patterns else set()
        yield from events
        yield from (rule.span for rule in definitions.patterns if rule.head.span in heads)
        return
    yield from _of_value(definitions.changes, vertex)
    yield from _of_value(definitions.statics, vertex)
    yield from _of_value(definitions.initials, vertex)


def _of_value(rules: Iterable[Any], vertex: Vertex) -> Iterator[Span]:
    for rule in rules:
        if _defines(rule.pair, vertex) and rule.pair.value_name in (vertex.value, "*"):
            yield rule.span


def _defines(head: Any, vertex: Vertex) -> bool:
    return bool(head.relation == vertex.relation)
