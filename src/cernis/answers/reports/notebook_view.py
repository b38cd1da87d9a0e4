"""What notebooks show of results and programs: a small timeline and a table, without any script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

import numpy as np

from cernis.answers.reports.report_lanes import LaneRows, Lanes, is_open, lanes_of, rows_of
from cernis.answers.reports.text_codes import coded_texts
from cernis.answers.time_output import TimeOutput
from cernis.check.catalogue import Catalogue
from cernis.check.model import FluentKind, Relation
from cernis.evaluate.answer import Answer
from cernis.kernels.array_types import Floats, Integers

_ROWS: Final = 14
"""So many lanes are drawn: those with most intervals."""
_WIDTH, _LABELS, _ROW, _AXIS = 760, 210, 18, 20
_COLOURS: Final = (
    "#4c7fc4", "#dd8a35", "#4aa869", "#c85c58", "#8c74c0", "#35a5a5", "#c96fa6", "#978648",
)  # fmt: skip
_STYLE: Final = "font:12px system-ui,sans-serif"


def result_view(answer: Answer, times: TimeOutput, relations: Iterable[Relation]) -> str:
    """A result as HTML: the lanes with most intervals as a picture, and a table of all fluents."""
    shown = [relation for relation in relations if relation in answer.fluents]
    rows = rows_of([(n, answer.fluents[relation], None) for n, relation in enumerate(shown)])
    picture = _picture(rows, shown, times) if len(rows.starts) else "<p>Nothing held.</p>"
    counts = np.bincount(rows.relations[rows.groups], minlength=len(shown))
    pairs = np.bincount(rows.relations, minlength=len(shown))
    lines = [
        (str(relation), f"{int(pairs[n]):,}", f"{int(counts[n]):,}")
        for n, relation in enumerate(shown)
    ]
    happened = [(str(each), "", f"{len(table):,}") for each, table in answer.events.items()]
    return (
        f'<div style="{_STYLE}">{picture}'
        f"{table_html(('fluent or event', 'pairs', 'intervals'), [*lines, *happened])}</div>"
    )


def _picture(rows: LaneRows, relations: list[Relation], times: TimeOutput) -> str:
    entities, entity_codes = coded_texts([rows.entities])
    rests, rest_codes = coded_texts([rows.rests])
    values, value_codes = coded_texts([rows.values])
    lanes = lanes_of(rows, entity_codes[0], rest_codes[0], value_codes[0])
    first = int(lanes.starts.min())
    closed = lanes.ends[~is_open(lanes.ends)]
    last = max(int(lanes.starts.max()) + 1, int(closed.max(initial=first + 1)))
    chosen = np.sort(np.argsort(-lanes.counts, kind="stable")[:_ROWS])
    height = _AXIS + _ROW * len(chosen) + 4
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'style="max-width:100%;{_STYLE}" role="img" aria-label="A timeline">',
        _edge_labels(first, last, times),
    ]
    offsets = np.concatenate([[0], np.cumsum(lanes.counts)])
    for row, lane in enumerate(chosen.tolist()):
        name = relations[int(lanes.relations[lane])].name
        arguments = [entities[int(lanes.entities[lane])], rests[int(lanes.rests[lane])]]
        label = f"{name}({', '.join(filter(None, arguments))})".replace("()", "")
        top = _AXIS + row * _ROW
        parts.append(
            f'<text x="0" y="{top + 13}" fill="currentColor" font-size="11">'
            f"{escape(_short(label))}<title>{escape(label)}</title></text>"
        )
        places = slice(int(offsets[lane]), int(offsets[lane + 1]))
        parts += _bars(lanes, places, values, (first, last), top)
    left = len(lanes.counts) - len(chosen)
    more = f"<p>and {left:,} more rows</p>" if left else ""
    return "".join([*parts, "</svg>", more])


def _edge_labels(first: int, last: int, times: TimeOutput) -> str:
    return (
        f'<text x="{_LABELS}" y="12" fill="currentColor" font-size="10">'
        f"{escape(times.text(first))}</text>"
        f'<text x="{_WIDTH}" y="12" fill="currentColor" font-size="10" text-anchor="end">'
        f"{escape(times.text(last))}</text>"
        f'<line x1="{_LABELS}" x2="{_WIDTH}" y1="{_AXIS - 3}" y2="{_AXIS - 3}" '
        'stroke="currentColor" opacity="0.3"/>'
    )


def _bars(
    lanes: Lanes, places: slice, values: list[str], bounds: tuple[int, int], top: int
) -> Iterator[str]:
    """One lane: the intervals that fall on the same pixels are drawn as one."""
    first, last = bounds
    scale = (_WIDTH - _LABELS) / (last - first)
    starts, ends, codes = lanes.starts[places], lanes.ends[places], lanes.row_values[places]
    left = np.asarray(_LABELS + (starts - first) * scale, np.float64)
    right = np.asarray(_LABELS + (np.minimum(ends, last) - first) * scale, np.float64)
    colours = int(lanes.relations[lanes.row_lanes[places][0]]) + codes
    keep = _apart(left, right)
    for place in keep.tolist():
        value = values[int(codes[place])]
        width = max(float(right[place] - left[place]), 1.0)
        yield (
            f'<rect x="{left[place]:.1f}" y="{top + 3}" width="{width:.1f}" '
            f'height="{_ROW - 6}" rx="2" fill="{_COLOURS[int(colours[place]) % len(_COLOURS)]}">'
            f"<title>{escape(value)}</title></rect>"
        )


def _apart(left: Floats, right: Floats) -> Integers:
    """The first interval of each pixel, and those that are wider than one."""
    pixels = np.floor(left).astype(np.int64)
    is_first = np.append(True, pixels[1:] != pixels[:-1])
    return np.flatnonzero(is_first | (right - left > 1))


def _short(text: str) -> str:
    return text if len(text) <= 34 else text[:33] + "…"


def table_html(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of texts."""
    head = "".join(f'<th style="text-align:left">{escape(each)}</th>' for each in titles)
    body = "".join(
        "<tr>"
        + "".join(f'<td style="text-align:left">{escape(each)}</td>' for each in row)
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


_KINDS: Final = {
    FluentKind.INPUT: "input fluent", FluentKind.SIMPLE: "simple fluent",
    FluentKind.STATIC: "statically determined fluent",
}  # fmt: skip


def program_view(catalogue: Catalogue, hidden: set[Relation]) -> str:
    """A program as HTML: a table of its events and fluents, with arguments and values."""
    rows = [
        (relation.name, ", ".join(entry.argument_names), "",
         "input event" if entry.is_input else "derived event")
        for relation, entry in catalogue.events.items() if relation not in hidden
    ]  # fmt: skip
    rows += [
        (relation.name, ", ".join(fluent.argument_names), ", ".join(fluent.values),
         _KINDS[fluent.kind])
        for relation, fluent in catalogue.fluents.items() if relation not in hidden
    ]  # fmt: skip
    table = table_html(("name", "arguments", "values", "kind"), rows)
    return f'<div style="{_STYLE}">{table}</div>'
