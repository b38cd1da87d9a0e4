"""Line charts as SVG: one panel a title, one line a name, plain text all through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final, TypeAlias

Line: TypeAlias = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT, _EDGE = 320, 220, 44
_COLOURS: Final = ("#7b3fb5", "#e08214", "#1b7837", "#2166ac", "#b2182b")
_STEPS: Final = 5


def chart(panels: Mapping[str, Mapping[str, Line]], across: str, upwards: str) -> str:
    """Panels beside one another; values from 0 to 1 go upwards, others across from the least on.

    A panel without points is drawn empty.
    """
    width = max(len(panels), 1) * (_WIDTH + _EDGE) + _EDGE
    height = _HEIGHT + 3 * _EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, (title, lines) in enumerate(panels.items()):
        parts += _panel(title, lines, _EDGE + number * (_WIDTH + _EDGE), across, upwards)
    return "\n".join([*parts, "</svg>\n"])


def _panel(
    title: str, lines: Mapping[str, Line], left: int, across: str, upwards: str
) -> list[str]:
    every = [x for line in lines.values() for x, _ in line]
    low, high = min(every, default=0.0), max(every, default=1.0)
    high = high if high > low else low + 1

    def place(x: float, y: float) -> tuple[float, float]:
        return left + (x - low) / (high - low) * _WIDTH, _EDGE + (1 - y) * _HEIGHT

    middle, bottom = left + _WIDTH / 2, _EDGE + _HEIGHT
    parts = [
        _text(middle, _EDGE - 16, title, "middle", "bold"),
        _text(middle, bottom + 34, across, "middle"),
        _text(left, _EDGE - 4, upwards, "start"),
        f'<rect x="{left}" y="{_EDGE}" width="{_WIDTH}" height="{_HEIGHT}" fill="none" '
        'stroke="#888"/>',
    ]
    for step in range(_STEPS + 1):
        share = step / _STEPS
        x, y = place(low + share * (high - low), share)
        parts.append(_text(left - 4, y + 4, f"{share:g}", "end"))
        parts.append(_text(x, bottom + 16, f"{low + share * (high - low):g}", "middle"))
    for index, (name, line) in enumerate(lines.items()):
        colour = _COLOURS[index % len(_COLOURS)]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*each) for each in sorted(line)))
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        parts.append(_text(left + 8, bottom - 10 - 16 * index, name, "start", colour=colour))
    return parts


def _text(
    x: float, y: float, text: str, anchor: str, weight: str = "normal", colour: str = "black"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" '
        f'fill="{colour}">{escape(text)}</text>'
    )
