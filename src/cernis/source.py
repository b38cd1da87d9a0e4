"""Where text came from: files laid end to end in one address space, and places in them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
"""The first character of a stretch of text and the first after it, in the address space."""

NOWHERE: Span = (-1, -1)
"""The span of what no text was read for."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line and column of a file, both counted from 1."""

    name: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.name}:{self.line}:{self.column}"


@dataclass(slots=True)
class Source:
    """One text, its name, and the offset of its first character in the address space."""

    name: str
    text: str
    base: int
    _line_starts: list[int] | None = field(default=None, repr=False)

    @property
    def line_starts(self) -> list[int]:
        """Offsets, in this text, of the first character of each line."""
        if self._line_starts is None:
            starts = [0]
            line_end = self.text.find("\n")
            while line_end >= 0:
                starts.append(line_end + 1)
                line_end = self.text.find("\n", line_end + 1)
            self._line_starts = starts
        return self._line_starts

    def place(self, offset: int) -> Place:
        """The place of an offset of the address space."""
        index = min(max(offset - self.base, 0), len(self.text))
        line = bisect_right(self.line_starts, index)
        return Place(self.name, line, index - self.line_starts[line - 1] + 1)

    def line_at(self, line: int) -> str:
        """The text of a line, without its end."""
        start = self.line_starts[line - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")


@dataclass(slots=True)
class Sources:
    r"""All texts of a program.

    >>> sources = Sources()
    >>> toy = sources.add("toy.cer", "a.\nb.")
    >>> str(sources.place((toy.base + 3, toy.base + 4)))
    'toy.cer:2:1'
    """

    _sources: list[Source] = field(default_factory=list)

    def add(self, name: str, text: str) -> Source:
        """Lay a further text after those there are."""
        source = Source(name, text, self.end)
        self._sources.append(source)
        return source

    @property
    def end(self) -> int:
        """Where the next text will begin."""
        if not self._sources:
            return 0
        return self._sources[-1].base + len(self._sources[-1].text) + 1

    def source_at(self, offset: int) -> Source | None:
        """The text that holds an offset; None for a node that no text was read for."""
        if offset < 0 or not self._sources:
            return None
        index = bisect_right(self._sources, offset, key=lambda source: source.base) - 1
        return self._sources[index]

    def place(self, span: Span) -> Place | None:
        """Where a span begins."""
        source = self.source_at(span[0])
        return source.place(span[0]) if source else None

    def text(self, span: Span) -> str:
        """The text of a span."""
        source = self.source_at(span[0])
        return source.text[span[0] - source.base : span[1] - source.base] if source else ""

    def replaced(self, span: Span, text: str) -> str:
        """The line in which a span begins, without its indent, with other text in place of it."""
        source = self.source_at(span[0])
        if source is None:
            return ""
        place = source.place(span[0])
        line, start = source.line_at(place.line), place.column - 1
        return (line[:start] + text + line[start + span[1] - span[0] :]).strip()

    def __iter__(self) -> Iterator[Source]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)
