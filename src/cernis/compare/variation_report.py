"""What values of facts would have found, as tables with bars, as JSON, and as a picture."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from cernis.compare.variations import Variation, VariedRelation

_BARS: Final = " ▏▎▍▌▋▊▉█"
_BAR_WIDTH: Final = 30
_WIDTH, _HEIGHT, _MARGIN = 640, 200, 56


class VariationReport:
    """Writes a variation; `per_hour` is how many time-points make an hour."""

    def __init__(self, variation: Variation, per_hour: int) -> None:
        self.variation = variation
        self.per_hour = per_hour

    def text(self) -> str:
        """For a terminal: a table for each relation, with bars."""
        variation = self.variation
        lines = [self._headline()]
        if variation.note:
            lines.append(f"each value was run from the start: {variation.note}")
        for varied in variation.relations:
            lines += ["", str(varied.relation), *self._table(varied)]
        if not variation.relations:
            lines += ["", "nothing depends on it"]
        return "\n".join(lines) + "\n"

    def json(self) -> str:
        """For programs; lengths of time are in time-points."""
        variation = self.variation
        return json.dumps(
            {
                "facts": variation.titles, "current": variation.current,
                "records": variation.records, "note": variation.note,
                "relations": [
                    {
                        "relation": str(varied.relation),
                        "kind": "event" if varied.is_event else "fluent",
                        "values": [
                            {"values": values, "count": count, "time": ticks}
                            for values, count, ticks in zip(
                                variation.values, varied.counts, varied.ticks, strict=True
                            )
                        ],
                    }
                    for varied in variation.relations
                ],
            },
            indent=2, ensure_ascii=False,
        )  # fmt: skip

    def svg(self) -> str:
        """A picture: a panel for each relation, with a bar for each value."""
        panels = [
            panel
            for number, varied in enumerate(self.variation.relations)
            for panel in self._panel(varied, number * (_HEIGHT + _MARGIN) + _MARGIN)
        ]
        height = len(self.variation.relations) * (_HEIGHT + _MARGIN) + _MARGIN
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
            f'width="{_WIDTH}" height="{height}" font-family="sans-serif" font-size="12">',
            f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
            f'<text x="12" y="24" font-size="15">{escape(self._headline())}</text>',
            *panels, "</svg>", "",
        ])  # fmt: skip

    def html(self) -> str:
        """A page with the picture and the tables; it needs no network."""
        tables = "".join(
            f"<h2>{escape(str(varied.relation))}</h2><pre>"
            + escape("\n".join(self._table(varied))) + "</pre>"
            for varied in self.variation.relations
        )  # fmt: skip
        title = escape(self._headline())
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            "<style>body{font-family:sans-serif;max-width:60em;margin:2em auto}</style></head>"
            f"<body>{self.svg()}{tables}</body></html>\n"
        )

    def _headline(self) -> str:
        variation = self.variation
        facts = " and ".join(variation.titles)
        names = f"{len(variation.relations)} fluents and events depend on {facts}"
        return f"{names}, over {variation.records:,} records; {variation.unchanged} do not"

    def _hours(self, varied: VariedRelation) -> list[float]:
        return [ticks / self.per_hour for ticks in varied.ticks]

    def _table(self, varied: VariedRelation) -> Iterator[str]:
        """A line for each combination of values; the one that the program has is marked."""
        sizes: Sequence[float] = varied.counts if varied.is_event else self._hours(varied)
        names = ["X"] if len(self.variation.titles) == 1 else list(self.variation.titles)
        rows = [[*names, "happenings" if varied.is_event else "intervals"]]
        for values, count in zip(self.variation.values, varied.counts, strict=True):
            rows.append([*map(_number, values), f"{count:,}"])
        if not varied.is_event:
            rows[0].append("hours")
            for row, hours in zip(rows[1:], sizes, strict=True):
                row.append(f"{hours:,.2f}")
        widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
        bars = ["", *(_bar(size, max(sizes, default=0.0)) for size in sizes)]
        marks = ["  ", *("* " if values == self.variation.current else "  "
                         for values in self.variation.values)]  # fmt: skip
        for mark, row, bar in zip(marks, rows, bars, strict=True):
            cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
            yield f"{mark}{'  '.join(cells)}  {bar}".rstrip()

    def _panel(self, varied: VariedRelation, top: int) -> Iterator[str]:
        sizes: Sequence[float] = varied.counts if varied.is_event else self._hours(varied)
        unit = "happenings" if varied.is_event else "hours"
        most, count = max(sizes, default=0.0) or 1.0, len(sizes)
        left, width = _MARGIN, (_WIDTH - 2 * _MARGIN) / count
        title = f"{escape(str(varied.relation))}: {unit}, up to {most:,.2f}"
        yield f'<text x="{left}" y="{top - 8}">{title}</text>'
        for place, (values, size) in enumerate(zip(self.variation.values, sizes, strict=True)):
            height = size / most * (_HEIGHT - 30)
            colour = "#c0504d" if values == self.variation.current else "#4f81bd"
            label = ", ".join(map(_number, values))
            x = left + place * width
            y = top + _HEIGHT - 30 - height
            yield (
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width * 0.8:.1f}" height="{height:.1f}" '
                f'fill="{colour}"><title>{escape(label)}: {size:,.2f}</title></rect>'
            )
            if place % (count // 16 + 1) == 0:
                below = top + _HEIGHT - 12
                yield f'<text x="{x:.1f}" y="{below}" font-size="10">{escape(label)}</text>'


def _bar(size: float, most: float) -> str:
    """A bar of blocks, to an eighth of a block."""
    eighths = round(size / most * _BAR_WIDTH * 8) if most else 0
    return "█" * (eighths // 8) + _BARS[eighths % 8].strip()


def _number(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
