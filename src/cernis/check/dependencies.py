"""What depends on what: the graph of pairs and events, its components, levels and order.

As in the literature on delayed effects, there is one vertex for each fluent-value pair; here there
is also one for each derived event. Conditions of rules give immediate edges, and `fi` gives delayed
ones. Components are formed in two steps: first, vertices that delayed edges connect are contracted,
and so are the values of one simple fluent, since they break one another; then the strongly
connected components of immediate edges are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from operator import itemgetter

from cernis.check.catalogue import Catalogue, covers, joined_uses, pattern_head
from cernis.check.model import (
    ANY_VALUE,
    Boundary,
    Changes,
    Definitions,
    DelayedEffect,
    Event,
    FluentKind,
    Happens,
    HoldsFor,
    Pair,
    Relation,
    temporal,
)
from cernis.check.reporter import Report
from cernis.errors import Note
from cernis.knowledge.digraphs import strong_components, topological, weak_components
from cernis.source import NOWHERE, Span
from cernis.syntax.tree import Number, Variable


@dataclass(frozen=True, slots=True, order=True)
class Vertex:
    """A fluent-value pair, or an event (which has no value)."""

    relation: Relation
    value: str | None = None

    def __str__(self) -> str:
        return self.relation.name if self.value is None else f"{self.relation.name}={self.value}"


class EdgeKind(StrEnum):
    """How a target depends on a source."""

    EARLIER = "earlier"
    """By what held at the point, which earlier points decide."""
    SAME = "same"
    """By what happens at the very same point, or by whole intervals."""
    DELAYED = "delayed"
    """By an initiation some time before."""


@dataclass(frozen=True, slots=True)
class Edge:
    """The target's definition needs the source."""

    source: Vertex
    target: Vertex
    kind: EdgeKind
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Component:
    """Vertices evaluated together, in processing order; cyclic ones are iterated by time."""

    vertices: tuple[Vertex, ...]
    level: int
    cyclic: bool
    delayed: bool
    immediate: bool = False
    """Is there an immediate edge inside? Then its rules depend on one another by time."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The whole graph and its components, in the order of evaluation."""

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]
    components: tuple[Component, ...]
    input_edges: tuple[Edge, ...] = ()

    def level(self, vertex: Vertex) -> int:
        """The level of a vertex; 0 for input."""
        for component in self.components:
            if vertex in component.vertices:
                return component.level
        return 0


def dependencies(definitions: Definitions, catalogue: Catalogue, report: Report) -> Dependencies:
    """Build the graph; report cycles that have no meaning and effects that never come."""
    builder = _Builder(catalogue)
    builder.rules(definitions)
    builder.effects(definitions, report)
    vertices = tuple(builder.vertices)
    edges = tuple(dict.fromkeys(builder.edges))
    leaders = weak_components(vertices, _together(vertices, edges, catalogue))
    components = _components(vertices, edges, leaders)
    at_once = tuple(dict.fromkeys((*edges, *builder.at_once)))
    _check_cycles(components, at_once, builder.of_patterns, catalogue, report)
    inputs = tuple(dict.fromkeys(builder.input_edges))
    return Dependencies(vertices, edges, tuple(_ordered(components, edges)), inputs)


class _Builder:
    """Collects vertices of defined pairs and events, and the edges between them."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.edges: list[Edge] = []
        self.input_edges: list[Edge] = []
        self.at_once: list[Edge] = []
        """That a value starts or ends depends on what happens to the others at that very point."""
        self.of_patterns: set[tuple[Vertex, Vertex]] = set()
        """The edges that come from patterns."""
        self.vertices: dict[Vertex, None] = {}
        self._of: dict[Relation, list[Vertex]] = defaultdict(list)
        """The vertices of each relation."""
        for relation, event in catalogue.events.items():
            if not event.is_input:
                self._add(Vertex(relation))
        for relation, fluent in catalogue.fluents.items():
            if fluent.kind is not FluentKind.INPUT:
                for value in fluent.values or (ANY_VALUE,):
                    self._add(Vertex(relation, value))

    def _add(self, vertex: Vertex) -> None:
        if vertex not in self.vertices:
            self.vertices[vertex] = None
            self._of[vertex.relation].append(vertex)

    def rules(self, definitions: Definitions) -> None:
        for rule in definitions.changes:
            if not self._pairs(rule.pair) and self._is_defined(rule.pair):
                # The termination of a value that never holds is still one that rules may ask for.
                self._add(Vertex(rule.pair.relation, rule.pair.value_name))
        for rule in definitions.changes:
            for target in self._pairs(rule.pair):
                self._conditions(target, temporal(rule.body))
        for event_rule in definitions.events:
            self._conditions(Vertex(event_rule.event.relation), temporal(event_rule.body))
        for static in definitions.statics:
            for target in self._pairs(static.pair):
                for goal in static.body:
                    if isinstance(goal, HoldsFor):
                        self._depends(target, goal.pair, EdgeKind.SAME, goal.span)
        for pattern in definitions.patterns:
            target = Vertex(pattern_head(pattern).relation)
            for use, is_joined in joined_uses(pattern.pattern):
                entity = use.pair if isinstance(use, Boundary) else use
                # A step of a recursion extends the interval, so what a pattern needs of itself
                # is shorter, and is there before.
                is_step = isinstance(use, Event) and is_joined
                kind = EdgeKind.EARLIER if is_step else EdgeKind.SAME
                before = len(self.edges)
                self._depends(target, entity, kind, use.span)
                self.of_patterns |= {(e.source, e.target) for e in self.edges[before:]}

    def _conditions(self, target: Vertex, literals: Iterable[object]) -> None:
        for literal in literals:
            if isinstance(literal, Happens):
                self._depends(target, literal.event, EdgeKind.SAME, literal.span)
            elif isinstance(literal, Boundary) and literal.edge == "startI":
                # Earlier points have settled that it holds here for the first time.
                self._depends(target, literal.pair, EdgeKind.EARLIER, literal.span)
            elif isinstance(literal, (Boundary, Changes)):
                pair = literal.pair
                is_ended = isinstance(literal, Changes) and self._is_defined(pair)
                if is_ended and not self._pairs(pair):
                    # What ends any value ends one that the fluent never has, too.
                    pair = replace(pair, value=Variable("_"))
                self._depends(target, pair, EdgeKind.SAME, literal.span)
                if isinstance(literal, Boundary):
                    self.at_once.extend(
                        Edge(vertex, target, EdgeKind.SAME, literal.span)
                        for vertex in self._of.get(literal.pair.relation, ())
                        if vertex.value is not None
                    )
            else:
                self._depends(target, literal.pair, EdgeKind.EARLIER, literal.span)  # type: ignore[attr-defined]

    def _depends(self, target: Vertex, source: Event | Pair, kind: EdgeKind, span: Span) -> None:
        if isinstance(source, Event):
            sources = [Vertex(source.relation)]
            defined = [vertex for vertex in sources if vertex in self.vertices]
        else:
            sources = [Vertex(source.relation, source.value_name)]
            defined = self._pairs(source)
        self.edges.extend(Edge(vertex, target, kind, span) for vertex in defined)
        if not defined and not self._is_defined(source):
            self.input_edges.extend(Edge(vertex, target, kind, span) for vertex in sources)

    def _is_defined(self, source: Event | Pair) -> bool:
        return source.relation in self._of

    def _pairs(self, pair: Pair) -> list[Vertex]:
        """The vertices a pair may be: all values of the fluent if its value is a variable."""
        wanted = pair.value_name
        if wanted == ANY_VALUE:
            return [vertex for vertex in self._of.get(pair.relation, ()) if vertex.value]
        candidates = (Vertex(pair.relation, value) for value in (wanted, ANY_VALUE))
        return [vertex for vertex in candidates if vertex in self.vertices]

    def effects(self, definitions: Definitions, report: Report) -> None:
        """Delayed edges; where two effects start from one pair only the shorter can ever come."""
        by_source: dict[tuple[Relation, str], list[DelayedEffect]] = defaultdict(list)
        for effect in definitions.effects:
            by_source[effect.source.relation, effect.source.value_name].append(effect)
            entry = self._catalogue.fluents.get(effect.source.relation)
            if entry is None or not entry.defined:
                report.warn("C044", f"nothing ever initiates {effect.source}", effect.source.span,
                            help="is the fluent's name right?")  # fmt: skip
        for effects in by_source.values():
            for effect in _possible(effects, report):
                if effect.target is not None:
                    for source in self._pairs(effect.source):
                        for target in self._pairs(effect.target):
                            edge = Edge(source, target, EdgeKind.DELAYED, effect.span)
                            self.edges.append(edge)
        _check_postponables(definitions, by_source.keys(), report)


def _possible(effects: list[DelayedEffect], report: Report) -> list[DelayedEffect]:
    """The effects that can come to pass, of several on one value of a fluent."""
    constant = [
        (effect.delay.value, effect) for effect in effects
        if isinstance(effect.delay, Number) and not effect.goals
    ]  # fmt: skip
    constant.sort(key=itemgetter(0))
    never: set[int] = set()
    for number, (delay, effect) in enumerate(constant):
        sooner = (
            other for other in constant[:number] if _is_as_general(other[1].source, effect.source)
        )
        shortest, first = next(sooner, (delay, effect))
        if first is not effect:
            never.add(id(effect))
            report.warn(
                "C042", f"this delayed effect never comes: another on {effect.source} comes first",
                effect.span, Note(f"this one comes after {shortest}, not {delay}", first.span),
                help="remove one of the two",
            )  # fmt: skip
    return [effect for effect in effects if id(effect) not in never]


def _is_as_general(general: Pair, special: Pair) -> bool:
    """Is every instance of the second pair one of the first?"""
    names = [arg.name for arg in general.args if isinstance(arg, Variable) and arg.name != "_"]
    if len(set(names)) < len(names):
        return general.args == special.args
    return all(
        isinstance(mine, Variable) or mine == other
        for mine, other in zip(general.args, special.args, strict=True)
    )


def _check_postponables(
    definitions: Definitions, sources: Iterable[tuple[Relation, str]], report: Report
) -> None:
    known: dict[Relation, list[str]] = defaultdict(list)
    for relation, value in sources:
        known[relation].append(value)
    for postponable in definitions.postponables:
        relation, value = postponable.pair.relation, postponable.pair.value_name
        if not any(covers([each], value) for each in known.get(relation, ())):
            report.warn(
                "C044", f"{postponable.pair} has no delayed effect to postpone",
                postponable.pair.span, help="add fi(...) or ft(...), or remove p(...)",
            )  # fmt: skip


# -- components ------------------------------------------------------------------------------


def _together(
    vertices: Iterable[Vertex], edges: Iterable[Edge], catalogue: Catalogue
) -> Iterator[tuple[Vertex, Vertex]]:
    """Vertices that belong in one component whatever the cycles."""
    for edge in edges:
        if edge.kind is EdgeKind.DELAYED:
            yield edge.source, edge.target
    first: dict[Relation, Vertex] = {}
    for vertex in vertices:
        fluent = catalogue.fluents.get(vertex.relation)
        if vertex.value is not None and fluent and fluent.kind is FluentKind.SIMPLE:
            yield first.setdefault(vertex.relation, vertex), vertex


def _components(
    vertices: tuple[Vertex, ...], edges: tuple[Edge, ...], leaders: dict[Vertex, Vertex]
) -> list[list[Vertex]]:
    """Groups of vertices, each after those it needs."""
    needs: dict[Vertex, list[Vertex]] = defaultdict(list)
    for edge in edges:
        needs[leaders[edge.target]].append(leaders[edge.source])
    groups: dict[Vertex, list[Vertex]] = defaultdict(list)
    for vertex in vertices:
        groups[leaders[vertex]].append(vertex)
    ordered = strong_components(groups, needs)
    return [[vertex for leader in component for vertex in groups[leader]] for component in ordered]


def _ordered(components: list[list[Vertex]], edges: tuple[Edge, ...]) -> list[Component]:
    """Components with their levels, by level; inside acyclic ones, delayed edges give the order."""
    of = {vertex: number for number, component in enumerate(components) for vertex in component}
    into: dict[int, list[Edge]] = defaultdict(list)
    for edge in edges:
        into[of[edge.target]].append(edge)
    levels: dict[int, int] = {}
    result: list[Component] = []
    for number, component in enumerate(components):
        inner = [edge for edge in into[number] if of[edge.source] == number]
        below = [levels[of[edge.source]] for edge in into[number] if of[edge.source] != number]
        levels[number] = 1 + max(below, default=0)
        delayed = [edge for edge in inner if edge.kind is EdgeKind.DELAYED]
        cyclic = len(delayed) < len(inner) or bool(delayed and _has_cycle(component, delayed))
        order = component if cyclic or not delayed else _processing_order(component, delayed)
        immediate = len(delayed) < len(inner)
        result.append(Component(tuple(order), levels[number], cyclic, bool(delayed), immediate))
    return sorted(result, key=lambda component: component.level)


def _processing_order(vertices: list[Vertex], delayed: list[Edge]) -> list[Vertex]:
    needs: dict[Vertex, list[Vertex]] = defaultdict(list)
    for edge in delayed:
        needs[edge.target].append(edge.source)
    return topological(vertices, needs)


def _has_cycle(vertices: list[Vertex], edges: Iterable[Edge]) -> bool:
    needs: dict[Vertex, list[Vertex]] = defaultdict(list)
    for edge in edges:
        needs[edge.target].append(edge.source)
    if any(vertex in needs[vertex] for vertex in vertices):
        return True
    return any(len(component) > 1 for component in strong_components(vertices, needs))


# -- cycles without a meaning ----------------------------------------------------------------


def _check_cycles(
    components: list[list[Vertex]], edges: tuple[Edge, ...],
    of_patterns: set[tuple[Vertex, Vertex]], catalogue: Catalogue, report: Report,
) -> None:  # fmt: skip
    of = {vertex: number for number, component in enumerate(components) for vertex in component}
    inside: dict[int, list[Edge]] = defaultdict(list)
    for edge in edges:
        if of.get(edge.source, -1) == of.get(edge.target, -2):
            inside[of[edge.target]].append(edge)
    for number, component in enumerate(components):
        inner = inside.get(number, [])
        if not inner or not _has_cycle(component, inner):
            continue
        is_pattern = all((edge.source, edge.target) in of_patterns for edge in inner)
        same = [edge for edge in inner if edge.kind is EdgeKind.SAME or (
            # Other rules make a point of an interval, so that steps need not extend anything.
            not is_pattern and edge.source != edge.target
            and (edge.source, edge.target) in of_patterns
        )]  # fmt: skip
        static = _static_cycle(component, inner, catalogue)
        if static:
            _report_cycle("C041", "a cycle goes through {}, which is statically determined",
                          static, inner, report,
                          "define it by initiatedAt/terminatedAt, or break the cycle")  # fmt: skip
            continue
        for loop in strong_components(component, _needs(same)):
            if len(loop) == 1 and loop[0] not in _needs(same)[loop[0]]:
                continue
            if is_pattern:
                _report_cycle(
                    "C065",
                    "{} is defined by itself over the same interval",
                    loop,
                    same,
                    report,
                    "let each step join it with another event: run(K) seq a",
                )
            else:
                _report_cycle("C045", "{} depends on itself at one and the same time-point",
                              loop, same, report,
                              "let one of them depend on what holds, by holdsAt")  # fmt: skip


def _needs(edges: Iterable[Edge]) -> dict[Vertex, list[Vertex]]:
    needs: dict[Vertex, list[Vertex]] = defaultdict(list)
    for edge in edges:
        needs[edge.target].append(edge.source)
    return needs


def _static_cycle(component: list[Vertex], edges: list[Edge], catalogue: Catalogue) -> list[Vertex]:
    """The cycle through a statically determined fluent, beginning with it, if there is one."""
    needs = _needs(edges)
    for loop in strong_components(component, needs):
        if len(loop) == 1 and loop[0] not in needs[loop[0]]:
            continue
        for vertex in loop:
            fluent = catalogue.fluents.get(vertex.relation)
            if vertex.value is not None and fluent and fluent.kind is FluentKind.STATIC:
                return [vertex, *(other for other in loop if other != vertex)]
    return []


def _report_cycle(
    code: str, message: str, loop: list[Vertex], edges: list[Edge], report: Report, help_: str
) -> None:
    members = set(loop)
    inner = [edge for edge in edges if edge.source in members and edge.target in members]
    first = next(edge for edge in inner if edge.target == loop[0])
    notes = [
        Note(f"{edge.target} needs {edge.source}", edge.span) for edge in inner if edge != first
    ]
    report.error(code, message.format(loop[0]), first.span, *notes[:4], help=help_)
