"""Diagnostics as text with a caret, as JSON, and as annotations of a code review."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from unicodedata import combining, east_asian_width

from cernis.errors import Diagnostic, Severity
from cernis.source import Place, Source, Sources, Span

_WIDEST = 110
"""Longer lines are shown in part, around the place that matters."""

_MISSING = "C022"
_NAMED = 4
"""How many of the places of which the same is said are named."""

_PAINT = {
    Severity.ERROR: "\x1b[1;31m",
    Severity.WARNING: "\x1b[1;33m",
    Severity.NOTE: "\x1b[1;36m",
}
_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def as_text(diagnostics: Iterable[Diagnostic], sources: Sources, colour: bool = False) -> str:
    """Each diagnostic with its place, the line it is about, a caret, its notes and its help.

    A missing predicate is shown where it is first called, with the other places named.
    """
    alike: dict[tuple[object, ...], list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        rest = () if diagnostic.code == _MISSING else (diagnostic.span,)
        alike.setdefault((diagnostic.code, diagnostic.message, *rest), []).append(diagnostic)
    blocks = ["\n".join(_block(group[0], group[1:], sources, colour)) for group in alike.values()]
    return "\n\n".join(blocks)


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """How many of what, in words.

    >>> summary([])
    'no problems'
    """
    counts: dict[Severity, int] = {}
    for diagnostic in diagnostics:
        counts[diagnostic.severity] = counts.get(diagnostic.severity, 0) + 1
    parts = [
        f"{counts[severity]} {severity}{'s' if counts[severity] != 1 else ''}"
        for severity in Severity
        if severity in counts
    ]
    return ", ".join(parts) or "no problems"


def _block(
    diagnostic: Diagnostic, others: list[Diagnostic], sources: Sources, colour: bool
) -> Iterator[str]:
    paint, bold, plain = (_PAINT[diagnostic.severity], _BOLD, _PLAIN) if colour else ("", "", "")
    title = f"{diagnostic.severity}[{diagnostic.code}]"
    yield f"{paint}{title}{plain}{bold}: {diagnostic.message}{plain}"
    yield from _excerpt(diagnostic.span, sources, "^", paint, plain)
    place = sources.place(diagnostic.span)
    margin = " " * len(str(place.line if place else 0))
    for note in diagnostic.notes:
        yield f" {margin} = note: {note.message}"
        yield from _excerpt(note.span, sources, "-", _DIM if colour else "", plain)
    places = [str(found) for other in others if (found := sources.place(other.span))]
    if places:
        more = f" and {len(places) - _NAMED} more places" if len(places) > _NAMED else ""
        yield f" {margin} = note: also at {', '.join(places[:_NAMED])}{more}"
    if diagnostic.help:
        yield f" {margin} = help: {diagnostic.help}"
    if corrected := diagnostic.corrected_line(sources):
        yield f" {margin} = write: {corrected}"


def _excerpt(span: Span, sources: Sources, mark: str, paint: str, plain: str) -> Iterator[str]:
    """The place, the line, and marks under what the span covers of it."""
    source = sources.source_at(span[0])
    if source is None:
        return
    place = source.place(span[0])
    number = str(place.line)
    margin = " " * len(number)
    text, start, length = _clipped(source, place, span)
    yield f" {margin}--> {place}"
    yield f" {margin} |"
    yield f" {number} | {text}"
    yield f" {margin} | {' ' * start}{paint}{mark * max(length, 1)}{plain}"


def _clipped(source: Source, place: Place, span: Span) -> tuple[str, int, int]:
    """The line as shown, and where in it the marks begin and how long they are."""
    line = source.line_at(place.line)
    start = place.column - 1
    length = max(1, min(span[1] - span[0], len(line) - start))
    if len(line) > _WIDEST:
        left = max(0, min(start - 20, len(line) - _WIDEST))
        right = left + _WIDEST
        before, after = ("..." if left else ""), ("..." if right < len(line) else "")
        line = before + line[left:right] + after
        start = start - left + len(before)
        length = min(length, _WIDEST - (start - len(before)))
    shown = "".join(c if c.isprintable() else " " for c in line)
    return shown, _width(shown[:start]), _width(shown[start : start + length])


def _width(text: str) -> int:
    """The columns a text takes on a terminal: marks must stand under the characters they mean."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(c) in "WF" else not combining(c) for c in text)


def as_json(diagnostics: Iterable[Diagnostic], sources: Sources) -> str:
    """A JSON list of objects: code, severity, message, place, notes, help and corrected line."""
    entries = [
        {
            "code": diagnostic.code,
            "severity": str(diagnostic.severity),
            "message": diagnostic.message,
            **_range(diagnostic.span, sources),
            "notes": [
                {"message": note.message, **_range(note.span, sources)} for note in diagnostic.notes
            ],
            "help": diagnostic.help,
            "corrected": diagnostic.corrected_line(sources) or None,
        }
        for diagnostic in diagnostics
    ]
    return json.dumps(entries, indent=2, ensure_ascii=False)


def _range(span: Span, sources: Sources) -> dict[str, object]:
    source = sources.source_at(span[0])
    if source is None:
        return {"file": None, "line": None, "column": None, "end_line": None, "end_column": None}
    start, end = source.place(span[0]), source.place(max(span[0], span[1]))
    return {
        "file": source.name,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
    }


_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def as_github(diagnostics: Iterable[Diagnostic], sources: Sources) -> str:
    """Workflow commands, which a code review shows beside the lines they are about."""
    lines = []
    for diagnostic in diagnostics:
        place = _range(diagnostic.span, sources)
        where = "".join(
            f"{name}={_property(str(place[key]))},"
            for name, key in (
                ("file", "file"), ("line", "line"), ("endLine", "end_line"), ("col", "column"),
            )
            if place[key] is not None
        )  # fmt: skip
        message = diagnostic.message + (f"\nhelp: {diagnostic.help}" if diagnostic.help else "")
        if corrected := diagnostic.corrected_line(sources):
            message += f"\nwrite: {corrected}"
        command = _COMMANDS[diagnostic.severity]
        lines.append(f"::{command} {where}title={diagnostic.code}::{_data(message)}")
    return "\n".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
