"""Differences between answers as text for a terminal, as Markdown for a review, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from cernis.answers.time_output import TimeOutput
from cernis.check.model import Relation
from cernis.compare.program_diff import row_text
from cernis.compare.program_differences import ChangedRow, ProgramDifferences, RelationDifference
from cernis.tables.interval_tables import INFINITY

_HEADINGS = (
    "",
    "before",
    "after",
    "gone",
    "new",
    "moved",
    "hours before",
    "after",
    "gained",
    "lost",
)
_LINES = 9
"""So many lines of an explanation are shown."""


class DifferenceReport:
    """Writes differences; times come out as those of the input do."""

    def __init__(self, result: ProgramDifferences, times: TimeOutput) -> None:
        self.result = result
        self.times = times

    def text(self, names: str = "") -> str:
        """For a terminal."""
        table = self._table() if self._differing() else []
        lines = [*self._head(names), *_columns(table)]
        for difference in self._differing():
            lines += ["", f"{difference.relation}"]
            for row in difference.rows:
                lines.append(f"  {self._row(difference.relation, row)}")
                why = self.result.explanations.get((difference.relation, row), ())
                lines += [f"    {line}" for line in _shortened(why)]
        verdict = ["", self._verdict()] if table or not names else [self._verdict()]
        return "\n".join([*lines, *verdict]) + "\n"

    def markdown(self, names: str = "") -> str:
        """For a review."""
        head, *rows = self._table()
        lines = [f"## {names or 'Differences'}", "", self._verdict(), ""]
        lines += [f"- {line}" for line in self._head("") if line]
        if rows:
            lines += ["", _cells(head), "|" + " --- |" * len(head), *map(_cells, rows)]
        for difference in self._differing():
            lines += ["", f"### `{difference.relation}`", ""]
            for row in difference.rows:
                lines.append(f"- `{self._row(difference.relation, row)}`")
                why = self.result.explanations.get((difference.relation, row), ())
                if why:
                    lines += ["", "  ```text", *(f"  {line}" for line in _shortened(why)), "  ```"]
        return "\n".join(lines) + "\n"

    def json(self) -> str:
        """For programs; lengths of time are in time-points."""
        result = self.result
        parts: dict[str, Any] = {
            "same": result.is_same, "records": result.records, "start": result.start,
            "end": result.end, "note": result.note,
        }  # fmt: skip
        for name in ("changed", "affected", "added", "removed", "predicates"):
            parts[name] = [str(relation) for relation in getattr(result, name)]
        parts["relations"] = [self._relation(each) for each in result.relations]
        return json.dumps(parts, indent=2, ensure_ascii=False)

    def _relation(self, difference: RelationDifference) -> dict[str, Any]:
        names = ("before", "after", "gone", "new", "moved", "time_before", "time_after", "gained",
                 "lost")  # fmt: skip
        return {
            "relation": str(difference.relation),
            "kind": "event" if difference.is_event else "fluent",
            **{name: getattr(difference, name) for name in names},
            "examples": [
                {
                    "kind": row.kind, "pair": row_text(difference.relation, row),
                    "before": _plain_span(row.before), "after": _plain_span(row.after),
                    "why": dict(self.result.explanations.get((difference.relation, row), ())),
                }
                for row in difference.rows
            ],
        }  # fmt: skip

    def _head(self, names: str) -> Iterator[str]:
        """What was compared, and which definitions differ."""
        result = self.result
        if names:
            yield f"{names}, over {result.records:,} records"
        yield from (
            f"{words}: {_listed(relations)}"
            for words, relations in (
                ("changed definitions", result.changed), ("affected by them", result.affected),
                ("only before", result.removed), ("only after", result.added),
                ("changed facts", result.predicates),
            )
            if relations
        )  # fmt: skip
        if not (result.changed or result.added or result.removed or result.predicates):
            yield "all definitions are the same"
        elif result.note:
            yield f"both versions were run from the start: {result.note}"
        elif result.unchanged:
            yield f"unchanged, and evaluated once: {result.unchanged}"
        if names:
            yield ""

    def _differing(self) -> list[RelationDifference]:
        return [each for each in self.result.relations if not each.is_same]

    def _table(self) -> list[tuple[str, ...]]:
        """A line for each relation that differs; lengths of time for fluents."""
        rows: list[tuple[str, ...]] = [_HEADINGS]
        for each in self._differing():
            counts = (each.before, each.after, each.gone, each.new, each.moved)
            lengths = (each.time_before, each.time_after, each.gained, each.lost)
            shown = ["" for _ in lengths] if each.is_event else [self._hours(n) for n in lengths]
            rows.append((str(each.relation), *(f"{count:,}" for count in counts), *shown))
        return rows if len(rows) > 1 else []

    def _hours(self, ticks: int) -> str:
        return f"{ticks / self.times.scale.per_second / 3600:,.2f}"

    def _row(self, relation: Relation, row: ChangedRow) -> str:
        text = f"{row.kind:<5}  {row_text(relation, row)}"
        if row.before and row.after:
            return f"{text} from {self._span(row.before, row)} to {self._span(row.after, row)}"
        interval = row.before or row.after
        assert interval is not None
        return f"{text} {'on' if row.value is not None else 'at'} {self._span(interval, row)}"

    def _span(self, span: tuple[int, int], row: ChangedRow) -> str:
        start, end = self.times.text(span[0]), self.times.text(span[1])
        if row.value is None:
            return start if span[0] == span[1] else f"[{start},{end}]"
        return f"[{start},{end})"

    def _verdict(self) -> str:
        differing = self._differing()
        if not differing:
            return "the answers are the same"
        counts = [
            sum(getattr(each, name) for each in differing) for name in ("gone", "new", "moved")
        ]
        return (
            f"{len(differing)} of {len(self.result.relations)} fluents and events differ: "
            f"{counts[0]:,} gone, {counts[1]:,} new, {counts[2]:,} moved"
        )


def _plain_span(span: tuple[int, int] | None) -> list[int | None] | None:
    """An interval; its end is null while it is open."""
    return None if span is None else [span[0], None if span[1] == INFINITY else span[1]]


def _listed(relations: tuple[Relation, ...], most: int = 12) -> str:
    texts = [str(each) for each in relations[:most]]
    more = f" and {len(relations) - most} more" if len(relations) > most else ""
    return ", ".join(texts) + more


def _shortened(parts: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """The first lines of what explains an example, in the version before and in that after."""
    for words, text in parts:
        lines = text.rstrip().splitlines()
        yield f"{words}: {lines[0]}"
        yield from lines[1:_LINES]
        if len(lines) > _LINES:
            yield f"… {len(lines) - _LINES} more lines"


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows of a table, numbers to the right."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))] if rows else []
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _cells(row: tuple[str, ...]) -> str:
    return "| " + " | ".join(row) + " |"
