"""The dependency graph as DOT and as SVG: levels from left to right, both kinds of edges."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from html import escape

from cernis.check.catalogue import Catalogue
from cernis.check.dependencies import Component, Dependencies, Edge, EdgeKind, Vertex
from cernis.check.model import FluentKind, Relation
from cernis.report.layered_rows import EdgeLane, Spot, chain, rows

_WIDTH, _HEIGHT = 190, 26
_COLUMN = 290
_MARGIN, _TOP = 30, 64
_RIGHT = 80
"""Room on the right of the last column, for curves inside it."""

_FILL = {
    "input": ("#f4f4f1", "#9a988f"),
    "event": ("#fdf0dc", "#b7791f"),
    "simple": ("#e3eefa", "#2b6cb0"),
    "static": ("#e4f3e6", "#2f855a"),
}
_LEGEND = (
    ("input", "input"), ("event", "derived event"), ("simple", "simple fluent"),
    ("static", "statically determined fluent"),
)  # fmt: skip


@dataclass(slots=True)
class _Drawing:
    """Vertices with their kinds, levels and edges, inputs included if they are wanted."""

    kinds: dict[Vertex, str] = field(default_factory=dict)
    levels: dict[Vertex, int] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    components: list[Component] = field(default_factory=list)


def _drawing(graph: Dependencies, catalogue: Catalogue, inputs: bool) -> _Drawing:
    drawing = _Drawing(components=list(graph.components))
    for component in graph.components:
        for vertex in component.vertices:
            drawing.kinds[vertex] = _kind(vertex, catalogue)
            drawing.levels[vertex] = component.level
    drawing.edges.extend(graph.edges)
    if inputs:
        for edge in graph.input_edges:
            drawing.kinds[edge.source] = "input"
            drawing.levels[edge.source] = 0
        drawing.edges.extend(graph.input_edges)
    known = (edge for edge in drawing.edges if edge.target in drawing.levels)
    distinct = {(e.source, e.target, e.kind is EdgeKind.DELAYED): e for e in known}
    drawing.edges = list(distinct.values())
    return drawing


def _kind(vertex: Vertex, catalogue: Catalogue) -> str:
    if vertex.value is None:
        return "event"
    static = catalogue.fluents[vertex.relation].kind is FluentKind.STATIC
    return "static" if static else "simple"


def _label(vertex: Vertex) -> str:
    """The vertex as text for a picture: what has no shape, or no place in XML, is escaped."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(vertex)
    )


# -- DOT -------------------------------------------------------------------------------------


def as_dot(graph: Dependencies, catalogue: Catalogue, inputs: bool = True) -> str:
    """The graph in the language of Graphviz; delayed edges are dashed, components are boxes."""
    drawing = _drawing(graph, catalogue, inputs)
    names = {vertex: f"v{number}" for number, vertex in enumerate(drawing.kinds)}
    lines = [
        "digraph dependencies {",
        "  rankdir=LR;",
        # Without it, what has a rank of its own is left out of the boxes around components.
        "  newrank=true;",
        '  node [shape=box, style="filled,rounded"];',
    ]
    for vertex, name in names.items():
        fill, line = _FILL[drawing.kinds[vertex]]
        label = _label(vertex).replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'  {name} [label="{label}", fillcolor="{fill}", color="{line}"];')
    for number, component in enumerate(drawing.components):
        if len(component.vertices) > 1:
            members = "; ".join(names[vertex] for vertex in component.vertices)
            label = "cyclic" if component.cyclic else ""
            lines.append(
                f'  subgraph cluster_{number} {{ style=dotted; label="{label}"; {members}; }}'
            )
    by_level: dict[int, list[str]] = defaultdict(list)
    for vertex, level in drawing.levels.items():
        by_level[level].append(names[vertex])
    for _, members_ in sorted(by_level.items()):
        lines.append(f"  {{ rank=same; {'; '.join(members_)}; }}")
    for edge in drawing.edges:
        style = " [style=dashed]" if edge.kind is EdgeKind.DELAYED else ""
        lines.append(f"  {names[edge.source]} -> {names[edge.target]}{style};")
    return "\n".join([*lines, "}"]) + "\n"


# -- SVG -------------------------------------------------------------------------------------


Places = dict[Spot[Vertex], tuple[int, int]]
"""The left end and the middle of each vertex, and of each lane that edges pass a column in."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture whose vertices and edges are numbered, by `data-vertex` and `data-edge`.

    An edge is its source, its target and whether it is delayed.
    """

    svg: str
    kinds: dict[Vertex, str]
    levels: dict[Vertex, int]
    edges: list[tuple[int, int, bool]]


def picture_of(
    graph: Dependencies, catalogue: Catalogue, inputs: bool = True,
    folded: frozenset[Relation] = frozenset(),
) -> Picture:  # fmt: skip
    """The picture of the graph; what leads through folded relations is drawn as one edge."""
    drawing = _folded(_drawing(graph, catalogue, inputs), folded)
    numbers = {vertex: number for number, vertex in enumerate(drawing.kinds)}
    edges = [
        (numbers[edge.source], numbers[edge.target], edge.kind is EdgeKind.DELAYED)
        for edge in drawing.edges
    ]
    return Picture(_svg(drawing), drawing.kinds, drawing.levels, edges)


def _folded(drawing: _Drawing, folded: frozenset[Relation]) -> _Drawing:
    """The drawing without some relations, whose sources feed their targets directly.

    An edge through a delayed one is delayed.
    """
    hidden = [vertex for vertex in drawing.kinds if vertex.relation in folded]
    edges = list(drawing.edges)
    for vertex in hidden:
        sources = [edge for edge in edges if edge.target == vertex and edge.source != vertex]
        targets = [edge for edge in edges if edge.source == vertex and edge.target != vertex]
        edges = [edge for edge in edges if vertex not in (edge.source, edge.target)]
        edges += [
            Edge(
                first.source, second.target,
                EdgeKind.DELAYED if first.kind is EdgeKind.DELAYED else second.kind,
            )
            for first in sources for second in targets
        ]  # fmt: skip
    gone = set(hidden)
    components = [
        replace(each, vertices=tuple(vertex for vertex in each.vertices if vertex not in gone))
        for each in drawing.components
    ]
    return _Drawing(
        {vertex: kind for vertex, kind in drawing.kinds.items() if vertex not in gone},
        {vertex: level for vertex, level in drawing.levels.items() if vertex not in gone},
        list({(e.source, e.target, e.kind is EdgeKind.DELAYED): e for e in edges}.values()),
        components,
    )


def as_svg(graph: Dependencies, catalogue: Catalogue, inputs: bool = True) -> str:
    """A picture of the graph that needs nothing but a browser."""
    return _svg(_drawing(graph, catalogue, inputs))


def _svg(drawing: _Drawing) -> str:
    places = _places(drawing)
    width = max((x for x, _ in places.values()), default=0) + _WIDTH + _RIGHT
    height = max((y for _, y in places.values()), default=0) + _HEIGHT // 2 + _MARGIN
    width = max(width, 760)
    body = [
        *_headings(drawing, places),
        *_boxes(drawing, places),
        *(
            _curve(number, edge, drawing.levels, places)
            for number, edge in enumerate(drawing.edges)
        ),
        *(
            _vertex(number, vertex, drawing.kinds[vertex], places[vertex])
            for number, vertex in enumerate(drawing.kinds)
        ),
    ]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="Helvetica, Arial, sans-serif">',
        "<title>What depends on what</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#718096"/></marker></defs>',
        "<style>.edge:hover { stroke: #1a202c; stroke-width: 3 }</style>",
        '<rect width="100%" height="100%" fill="white"/>',
        *_legend(),
        *body,
        "</svg>\n",
    ])  # fmt: skip


def _places(drawing: _Drawing) -> Places:
    """Columns by level; rows so that neighbours lie near each other, components together."""
    edges = [(edge.source, edge.target) for edge in drawing.edges]
    groups = [component.vertices for component in drawing.components]
    first = min(drawing.levels.values(), default=0)
    places: Places = {}
    for spot, row in rows(drawing.levels, edges, groups).items():
        level = spot.level if isinstance(spot, EdgeLane) else drawing.levels[spot]
        places[spot] = (_MARGIN + (level - first) * _COLUMN, _TOP + row)
    return places


def _headings(drawing: _Drawing, places: Places) -> list[str]:
    columns = {places[vertex][0]: level for vertex, level in drawing.levels.items()}
    return [
        f'<text x="{x + _WIDTH // 2}" y="{_TOP - 12}" text-anchor="middle" font-size="11" '
        f'fill="#718096">{"input" if level == 0 else f"level {level}"}</text>'
        for x, level in columns.items()
    ]


def _boxes(drawing: _Drawing, places: Places) -> list[str]:
    """A dotted line around the vertices of each component of several."""
    boxes = []
    for component in drawing.components:
        if len(component.vertices) < 2:
            continue
        xs = [places[vertex][0] for vertex in component.vertices]
        ys = [places[vertex][1] for vertex in component.vertices]
        top, height = min(ys) - _HEIGHT // 2 - 6, max(ys) - min(ys) + _HEIGHT + 12
        dash = "" if component.cyclic else ' stroke-dasharray="2 3"'
        word = "cyclic component" if component.cyclic else "component"
        boxes.append(
            f'<rect x="{min(xs) - 8}" y="{top}" width="{_WIDTH + 16}" height="{height}" rx="8" '
            f'fill="none" stroke="#a0aec0"{dash}><title>{word}</title></rect>'
        )
    return boxes


def _curve(number: int, edge: Edge, levels: dict[Vertex, int], places: Places) -> str:
    delayed = edge.kind is EdgeKind.DELAYED
    style = ' stroke-dasharray="5 4" stroke="#c05621"' if delayed else ' stroke="#a0aec0"'
    title = f"{_label(edge.source)} to {_label(edge.target)}{', delayed' if delayed else ''}"
    if levels[edge.source] < levels[edge.target]:
        path = _across([places[spot] for spot in chain(edge.source, edge.target, levels)])
    else:
        path = _inside(places[edge.source], places[edge.target])
    return (
        f'<path class="edge" data-edge="{number}" d="{path}" fill="none" stroke-width="1.3"{style} '
        f'marker-end="url(#tip)"><title>{escape(title)}</title></path>'
    )


def _across(places: list[tuple[int, int]]) -> str:
    """A curve from column to column that crosses those between on a level."""
    (x, y), *others = places
    path = f"M{x + _WIDTH} {y}"
    for number, (next_x, next_y) in enumerate(others, 1):
        start, end = x + _WIDTH, next_x - (1 if number == len(others) else 0)
        bend = (end - start) // 2
        path += f" C{start + bend} {y} {end - bend} {next_y} {end} {next_y}"
        if number < len(others):
            path += f" H{next_x + _WIDTH}"
        x, y = next_x, next_y
    return path


def _inside(source: tuple[int, int], target: tuple[int, int]) -> str:
    """A curve inside a column, on the right of it, where there is room."""
    (x, y), (_, end) = source, target
    # Both ends of a curve from a vertex to itself are kept apart, or there would be none; one
    # that goes up bends further than the one that comes back.
    apart = 6 if y == end else 0
    right, bend = x + _WIDTH, 40 + min(abs(end - y) // 6, 60) + (14 if end < y else 0)
    return (
        f"M{right} {y - apart} C{right + bend} {y - 2 * apart} {right + bend} {end + 2 * apart} "
        f"{right + 1} {end + apart}"
    )


def _vertex(number: int, vertex: Vertex, kind: str, place: tuple[int, int]) -> str:
    x, y = place
    fill, line = _FILL[kind]
    label = _label(vertex)
    shown = label if len(label) <= 29 else label[:28] + "…"
    return (
        f'<g data-vertex="{number}"><title>{escape(label)}</title>'
        f'<rect x="{x}" y="{y - _HEIGHT // 2}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" '
        f'fill="{fill}" stroke="{line}"/>'
        f'<text x="{x + _WIDTH // 2}" y="{y + 4}" text-anchor="middle" font-size="12" '
        f'fill="#1a202c">{escape(shown)}</text></g>'
    )


def _legend() -> list[str]:
    parts, x = [], _MARGIN
    for kind, words in _LEGEND:
        fill, line = _FILL[kind]
        parts.append(
            f'<rect x="{x}" y="12" width="14" height="14" rx="3" fill="{fill}" stroke="{line}"/>'
            f'<text x="{x + 20}" y="24" font-size="12" fill="#4a5568">{words}</text>'
        )
        x += 44 + 6 * len(words)
    parts.append(
        f'<line x1="{x}" y1="19" x2="{x + 30}" y2="19" stroke="#c05621" stroke-dasharray="5 4"/>'
        f'<text x="{x + 36}" y="24" font-size="12" fill="#4a5568">delayed effect</text>'
    )
    return parts
