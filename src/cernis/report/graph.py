"""The dependency graph as DOT and as SVG: levels from left to right, both kinds of edges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape

from cernis.check.catalogue import Catalogue
from cernis.check.dependencies import Component, Dependencies, Edge, EdgeKind, Vertex
from cernis.check.model import FluentKind

_WIDTH, _HEIGHT = 190, 26
_COLUMN, _ROW = 290, 38
_MARGIN, _TOP = 30, 64

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


# -- DOT -------------------------------------------------------------------------------------


def as_dot(graph: Dependencies, catalogue: Catalogue, inputs: bool = True) -> str:
    """The graph in the language of Graphviz; delayed edges are dashed, components are boxes."""
    drawing = _drawing(graph, catalogue, inputs)
    names = {vertex: f"v{at}" for at, vertex in enumerate(drawing.kinds)}
    lines = [
        "digraph dependencies {",
        "  rankdir=LR;",
        '  node [shape=box, style="filled,rounded"];',
    ]
    for vertex, name in names.items():
        fill, line = _FILL[drawing.kinds[vertex]]
        label = str(vertex).replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'  {name} [label="{label}", fillcolor="{fill}", color="{line}"];')
    for at, component in enumerate(drawing.components):
        if len(component.vertices) > 1:
            members = "; ".join(names[vertex] for vertex in component.vertices)
            label = "cyclic" if component.cyclic else ""
            lines.append(f'  subgraph cluster_{at} {{ style=dotted; label="{label}"; {members}; }}')
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


def as_svg(graph: Dependencies, catalogue: Catalogue, inputs: bool = True) -> str:
    """A picture of the graph that needs nothing but a browser."""
    drawing = _drawing(graph, catalogue, inputs)
    places = _places(drawing)
    width = max((x for x, _ in places.values()), default=0) + _WIDTH + _MARGIN
    height = max((y for _, y in places.values()), default=0) + _HEIGHT + _MARGIN
    width = max(width, 760)
    body = [
        *_headings(drawing, places),
        *_boxes(drawing, places),
        *(_curve(edge, places) for edge in drawing.edges),
        *(_vertex(vertex, drawing.kinds[vertex], places[vertex]) for vertex in drawing.kinds),
    ]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="Helvetica, Arial, sans-serif">',
        "<title>What depends on what</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#718096"/></marker></defs>',
        '<rect width="100%" height="100%" fill="white"/>',
        *_legend(),
        *body,
        "</svg>\n",
    ])  # fmt: skip


def _places(drawing: _Drawing) -> dict[Vertex, tuple[int, int]]:
    """Columns by level; rows so that neighbours lie near each other, components together."""
    columns: dict[int, list[Vertex]] = defaultdict(list)
    for vertex, level in drawing.levels.items():
        columns[level].append(vertex)
    rank = {v: at for column in columns.values() for at, v in enumerate(column)}
    group = {v: at for at, c in enumerate(drawing.components) for v in c.vertices}
    for _ in range(8):
        for level in sorted(columns):
            _reorder(columns[level], rank, group, drawing.edges)
    tallest = max(map(len, columns.values()), default=0)
    first = min(columns, default=0)
    return {
        vertex: (
            _MARGIN + (level - first) * _COLUMN,
            _TOP + row * _ROW + (tallest - len(column)) * _ROW // 2,
        )
        for level, column in columns.items()
        for row, vertex in enumerate(column)
    }


def _reorder(
    column: list[Vertex], rank: dict[Vertex, int], group: dict[Vertex, int], edges: Iterable[Edge]
) -> None:
    """Sort a column by the mean rank of its neighbours, keeping components in one piece."""
    near: dict[Vertex, list[int]] = defaultdict(list)
    for edge in edges:
        near[edge.source].append(rank[edge.target])
        near[edge.target].append(rank[edge.source])

    def middle(vertex: Vertex) -> float:
        own = near[vertex]
        return sum(own) / len(own) if own else rank[vertex]

    mean: dict[object, list[float]] = defaultdict(list)
    for vertex in column:
        mean[group.get(vertex, vertex)].append(middle(vertex))
    middles = {key: sum(values) / len(values) for key, values in mean.items()}
    column.sort(key=lambda v: (middles[group.get(v, v)], str(group.get(v, "")), middle(v)))
    rank.update({vertex: at for at, vertex in enumerate(column)})


def _headings(drawing: _Drawing, places: dict[Vertex, tuple[int, int]]) -> list[str]:
    columns = {places[vertex][0]: level for vertex, level in drawing.levels.items()}
    return [
        f'<text x="{x + _WIDTH // 2}" y="{_TOP - 12}" text-anchor="middle" font-size="11" '
        f'fill="#718096">{"input" if level == 0 else f"level {level}"}</text>'
        for x, level in columns.items()
    ]


def _boxes(drawing: _Drawing, places: dict[Vertex, tuple[int, int]]) -> list[str]:
    """A dotted line around the vertices of each component of several."""
    boxes = []
    for component in drawing.components:
        if len(component.vertices) < 2:
            continue
        xs = [places[vertex][0] for vertex in component.vertices]
        ys = [places[vertex][1] for vertex in component.vertices]
        top, height = min(ys) - 6, max(ys) - min(ys) + _HEIGHT + 12
        dash = "" if component.cyclic else ' stroke-dasharray="2 3"'
        word = "cyclic component" if component.cyclic else "component"
        boxes.append(
            f'<rect x="{min(xs) - 8}" y="{top}" width="{_WIDTH + 16}" height="{height}" rx="8" '
            f'fill="none" stroke="#a0aec0"{dash}><title>{word}</title></rect>'
        )
    return boxes


def _curve(edge: Edge, places: dict[Vertex, tuple[int, int]]) -> str:
    (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
    delayed = edge.kind is EdgeKind.DELAYED
    style = ' stroke-dasharray="5 4" stroke="#c05621"' if delayed else ' stroke="#a0aec0"'
    title = f"{edge.source} to {edge.target}{', delayed' if delayed else ''}"
    sx, sy, ey = x1 + _WIDTH, y1 + _HEIGHT // 2, y2 + _HEIGHT // 2
    if x1 == x2:
        # Inside one column the curve leaves and enters on the right, where there is room.
        ex, bend = x2 + _WIDTH + 1, 40 + min(abs(y2 - y1) // 6, 60)
        path = f"M{sx} {sy} C{sx + bend} {sy} {ex + bend} {ey} {ex} {ey}"
    else:
        ex = x2 - 1
        middle = (ex - sx) // 2
        path = f"M{sx} {sy} C{sx + middle} {sy} {ex - middle} {ey} {ex} {ey}"
    return (
        f'<path d="{path}" fill="none" stroke-width="1.3"{style} marker-end="url(#tip)">'
        f"<title>{escape(title)}</title></path>"
    )


def _vertex(vertex: Vertex, kind: str, place: tuple[int, int]) -> str:
    x, y = place
    fill, line = _FILL[kind]
    label = str(vertex)
    shown = label if len(label) <= 29 else label[:28] + "…"
    return (
        f'<g><title>{escape(label)}</title><rect x="{x}" y="{y}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" rx="5" fill="{fill}" stroke="{line}"/>'
        f'<text x="{x + _WIDTH // 2}" y="{y + 17}" text-anchor="middle" font-size="12" '
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
        x += 40 + 7 * len(words)
    parts.append(
        f'<line x1="{x}" y1="19" x2="{x + 30}" y2="19" stroke="#c05621" stroke-dasharray="5 4"/>'
        f'<text x="{x + 36}" y="24" font-size="12" fill="#4a5568">delayed effect</text>'
    )
    return parts
