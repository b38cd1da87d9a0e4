"""Files to one tree: reads a program's files and the files they include, each once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cernis.errors import Diagnostic, Note, Severity
from cernis.source import NOWHERE, Sources, Span
from cernis.syntax.parser import Parsed, parse_source
from cernis.syntax.tree import Atom, Compound, Directive, Item, Term, Text, functor
from cernis.syntax.tree import Sequence as ListTerm

ENDINGS = (".cer", ".prolog", ".pl", ".event")
"""Endings of rule files, in the order they are tried for an include without one."""

DEEPEST_INCLUDE = 50
"""Files that may be open at a time, each including the next."""

_INCLUDES = frozenset({("consult", 1), ("include", 1), ("ensure_loaded", 1), ("load_files", 2)})


@dataclass(frozen=True, slots=True)
class NamedText:
    """Facts that stand in no file of their own; the name is for their places."""

    name: str
    text: str


def load_files(paths: Iterable[Path], facts: Iterable[Path | NamedText] = ()) -> Parsed:
    """Read files and all they include, in order. Never raises: trouble is in the diagnostics."""
    loader = _Loader()
    for path in paths:
        loader.file(path, NOWHERE)
    return loader.result(facts)


def load_text(
    text: str, name: str = "<text>", directory: Path | None = None,
    facts: Iterable[Path | NamedText] = (),
) -> Parsed:  # fmt: skip
    """Read a text; what it includes is looked for in the directory, by default the current one."""
    loader = _Loader()
    loader.text(text, name, directory or Path())
    return loader.result(facts)


@dataclass(slots=True)
class _Loader:
    """The state of one load: what has been read, and the files being read right now."""

    sources: Sources = field(default_factory=Sources)
    items: list[Item] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    comments: list[Span] = field(default_factory=list)
    seen: set[Path] = field(default_factory=set)
    open: list[Path] = field(default_factory=list)

    def result(self, facts: Iterable[Path | NamedText]) -> Parsed:
        """All that was read, after reading the facts too."""
        begin = self.sources.end
        for each in facts:
            if isinstance(each, NamedText):
                self.text(each.text, each.name, Path())
            else:
                self.file(each, NOWHERE)
        return Parsed(
            tuple(self.items), tuple(self.diagnostics), self.sources, tuple(self.comments), begin
        )

    def file(self, path: Path, asked_at: Span) -> None:
        """Read one file, unless it has been read."""
        try:
            resolved = path.resolve()
        except (OSError, RuntimeError, ValueError) as error:
            # Links that lead in a circle, and names no file can have.
            self._unreadable(path, f"cannot be read: {error}", asked_at, "")
            return
        if resolved in self.open:
            self._circle(path, resolved, asked_at)
            return
        if resolved in self.seen:
            return
        if len(self.open) >= DEEPEST_INCLUDE:
            self._error("C008", f"more than {DEEPEST_INCLUDE} files include one another in a row",
                        asked_at, "include them from one file")  # fmt: skip
            return
        self.seen.add(resolved)
        text = self._read(path, asked_at)
        if text is None:
            return
        self.open.append(resolved)
        self.text(text, str(path), path.parent)
        self.open.pop()

    def text(self, text: str, name: str, directory: Path) -> None:
        """Take over the clauses of a text, and of the files it includes in their place."""
        parsed = parse_source(self.sources.add(name, text), self.sources)
        self.diagnostics.extend(parsed.diagnostics)
        self.comments.extend(parsed.comments)
        for item in parsed.items:
            included = _included(item) if isinstance(item, Directive) else None
            if included is None:
                self.items.append(item)
                continue
            for term in included:
                self._include(term, directory)

    def _include(self, term: Term, directory: Path) -> None:
        if not isinstance(term, (Atom, Text)):
            if functor(term) != ("library", 1):
                self._error("C007", "the name of a file is expected here", term.span,
                            "write an atom in quotes: :- ['facts.cer'].")  # fmt: skip
            return
        name = term.name if isinstance(term, Atom) else term.value
        self.file(_with_ending(directory / name), term.span)

    def _read(self, path: Path, asked_at: Span) -> str | None:
        """The text of a file, or None and a diagnostic."""
        try:
            data = path.read_bytes()
        except IsADirectoryError:
            return self._unreadable(path, "is a directory", asked_at, "name a file in it")
        except FileNotFoundError:
            return self._unreadable(path, "does not exist", asked_at, _near(path))
        except OSError as error:
            return self._unreadable(path, f"cannot be read: {error.strerror}", asked_at, "")
        if b"\0" in data[:65536]:
            return self._unreadable(
                path, "is no text file", asked_at, "rules and facts are plain UTF-8 text"
            )
        # Old rule files have accents in other encodings in their comments, where they do no harm;
        # outside of comments and quotes the replacement character is reported with its place.
        return data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")

    def _unreadable(self, path: Path, trouble: str, span: Span, help_: str) -> str | None:
        self._error("C007", f"{path} {trouble}", span, help_)
        return None

    def _circle(self, path: Path, resolved: Path, asked_at: Span) -> None:
        chain = [*self.open[self.open.index(resolved) :], resolved]
        shown = " includes ".join(step.name for step in chain)
        self.diagnostics.append(
            Diagnostic(
                "C008", Severity.ERROR, f"{path.name} is included while it is being read",
                asked_at, (Note(shown),), "remove one of these includes",
            )
        )  # fmt: skip

    def _error(self, code: str, message: str, span: Span, help_: str) -> None:
        self.diagnostics.append(Diagnostic(code, Severity.ERROR, message, span, help=help_))


def _included(directive: Directive) -> Sequence[Term] | None:
    """The files a directive includes, or None if it is another kind of directive."""
    goal = directive.goal
    if isinstance(goal, ListTerm):
        return goal.items
    if isinstance(goal, Compound) and functor(goal) in _INCLUDES:
        first = goal.args[0]
        return first.items if isinstance(first, ListTerm) else (first,)
    return None


def _with_ending(path: Path) -> Path:
    """The path as it is or with an ending, whichever is a file; as it is if none is."""
    try:
        candidates = [path, *(path.with_name(path.name + ending) for ending in ENDINGS)]
        return next((candidate for candidate in candidates if candidate.is_file()), path)
    except (OSError, ValueError):
        # No file can have this name: what reads it will say so.
        return path


def _near(path: Path) -> str:
    """Names beside a missing file that it may have been meant to be."""
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"there is no directory {path.parent}"
    near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else "check the name and the directory"
